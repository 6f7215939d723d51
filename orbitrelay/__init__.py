"""OrbitRelay's analysis: how complete handoffs between agents are. Imports nothing but the standard library.

>>> import orbitrelay
>>> trace = orbitrelay.from_document({
...     "trace_id": "t", "metadata": {}, "contract": {"coder": ["goal", "plan"]}, "turns": [],
...     "agents": [{"agent_id": a, "role": a, "capabilities": []} for a in ("planner", "coder")],
...     "handoffs": [{"handoff_id": "h1", "source_agent": "planner", "target_agent": "coder", "tick": 1,
...                   "reason": "build", "latency_ms": 12.50,
...                   "fields": [{"name": "goal", "kind": "goal", "value": "ship"}]}],
... })
>>> orbitrelay.analyse(trace).scores.mean_score
0.7
"""

from .analysis import (
    Analysis,
    analyse,
    bottlenecks_document,
    inspect_document,
    score_document,
    summary_document,
)
from .bottleneck import DETECTORS, Bottleneck, Detector, RelayGraph, find_bottlenecks
from .exact import Number
from .inspector import Inspection, inspect
from .jsonout import contract_to_document, dumps, dumps_line, trace_to_document, trace_to_json
from .loader import TraceError, from_document, iter_traces, load, load_contract, loads, with_contract
from .model import (
    ABSENT,
    Absent,
    Agent,
    ContextField,
    Handoff,
    HandoffTrace,
    Origin,
    Outcome,
    RoleContract,
    Turn,
    Usage,
)
from .scoring import DEFAULT_WEIGHTS, GRADES, UNSCORED_REASONS, HandoffScore, ScoreReport, Weights, score

__all__ = [
    "ABSENT",
    "DEFAULT_WEIGHTS",
    "DETECTORS",
    "GRADES",
    "UNSCORED_REASONS",
    "Absent",
    "Agent",
    "Analysis",
    "Bottleneck",
    "ContextField",
    "Detector",
    "Handoff",
    "HandoffScore",
    "HandoffTrace",
    "Inspection",
    "Number",
    "Origin",
    "Outcome",
    "RelayGraph",
    "RoleContract",
    "ScoreReport",
    "TraceError",
    "Turn",
    "Usage",
    "Weights",
    "analyse",
    "bottlenecks_document",
    "contract_to_document",
    "dumps",
    "dumps_line",
    "find_bottlenecks",
    "from_document",
    "inspect",
    "inspect_document",
    "iter_traces",
    "load",
    "load_contract",
    "loads",
    "score",
    "score_document",
    "summary_document",
    "trace_to_document",
    "trace_to_json",
    "with_contract",
]
