"""A review in which one specialist fails and another hangs; run in OrchestratorX's environment, with the path for its audit trail."""

import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestratorx import Orchestrator, demo_book
from orchestratorx.agents import default_specialists
from orchestratorx.orchestrator import Limits
from orchestratorx.policy import RetryPolicy
from orchestratorx.state import AgentResult


class Failing:
    """A specialist whose data source is away."""

    name = "RiskModeler"

    def __call__(self, brief: Mapping[str, Any]) -> AgentResult:
        raise ConnectionError("no prices")


class Hanging:
    """A specialist that never answers."""

    name = "ComplianceChecker"

    def __call__(self, brief: Mapping[str, Any]) -> AgentResult:
        threading.Event().wait()
        raise AssertionError("nobody sets the event")


specialists = default_specialists() | {"RiskModeler": Failing(), "ComplianceChecker": Hanging()}
limits = Limits(specialist_seconds=0.3, retry=RetryPolicy(attempts=2, base=0.01))
orchestrator = Orchestrator(specialists, limits=limits)
run = orchestrator.run(demo_book("compliant"))
orchestrator.flush()
run.trace.write_json(Path(sys.argv[1]))
