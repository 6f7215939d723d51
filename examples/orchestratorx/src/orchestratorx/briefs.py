"""What crosses a boundary between two agents: named fields, and nothing else.

Separate from the graph because it is the contract between agents. A specialist never sees the state: it gets the
fields of its brief, as JSON values of their own, so what telemetry shows at a handoff is what was handed over, and a
specialist that runs on after its deadline has nothing to spoil. `contracts.yaml` says the same for OrbitRelay; a test
compares.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestratorx.policy import REQUIRED_SPECIALISTS
from orchestratorx.state import ADVISOR, REPORTER, SUPERVISOR, AgentResult, Finding, Outcome, ReviewState

__all__ = [
    "BRIEF_FIELDS",
    "RETURN_FIELDS",
    "Brief",
    "Handoff",
    "actions_of",
    "brief_for",
    "incomplete",
    "return_fields",
]

Brief = Mapping[str, Any]

BRIEF_FIELDS: dict[str, tuple[str, ...]] = {
    "RiskModeler": ("portfolio_id", "equity", "mandate", "positions"),
    "ComplianceChecker": ("portfolio_id", "equity", "mandate", "positions", "risk_summary"),
    ADVISOR: ("portfolio_id", "equity", "mandate", "positions", "open_findings"),
    REPORTER: ("portfolio_id", "escalation", "halted", "findings", "outcomes", "mitigation"),
}
RETURN_FIELDS: tuple[str, ...] = ("status", "findings", "evidence")


@dataclass(frozen=True, slots=True)
class Handoff:
    """One crossing: who hands what to whom, how (`delegate`, `return` or `transfer`) and why."""

    source: str
    target: str
    mode: str
    reason: str
    fields: Brief = field(default_factory=dict)


def _listed(findings: list[Finding] | tuple[Finding, ...]) -> dict[str, Any]:
    """Findings with their count, so that "none" is said and not merely an empty list."""
    return {"count": len(findings), "items": [finding.to_dict() for finding in findings]}


def _last(state: ReviewState, agent: str) -> AgentResult | None:
    return next((result for result in reversed(state["results"]) if result.agent == agent), None)


def _outcomes(state: ReviewState) -> dict[str, str]:
    named = dict.fromkeys(REQUIRED_SPECIALISTS, "not run")
    return named | {result.agent: result.outcome.value for result in state["results"]}


def actions_of(result: AgentResult) -> tuple[str, ...]:
    """The actions that a mitigation plan proposes (none where the advisor failed)."""
    return tuple(result.evidence.get("actions", ()))


def _mitigation(state: ReviewState) -> dict[str, Any]:
    result = _last(state, ADVISOR)
    if result is None:
        return {"status": "not required", "actions": []}
    return {"status": result.outcome.value, "actions": list(actions_of(result))}


def _risk_summary(state: ReviewState) -> dict[str, Any]:
    result = _last(state, "RiskModeler")
    if result is None or result.outcome is not Outcome.COMPLETED:
        return {"status": "not run" if result is None else result.outcome.value}
    return {"status": result.outcome.value, "findings": len(result.findings), **dict(result.evidence)}


_FIELD: dict[str, Callable[[ReviewState], Any]] = {
    "portfolio_id": lambda state: state["book"].portfolio_id,
    "equity": lambda state: state["book"].equity,
    "mandate": lambda state: state["book"].mandate.model_dump(mode="json"),
    "positions": lambda state: [item.model_dump(exclude_none=True) for item in state["book"].positions],
    "risk_summary": _risk_summary,
    "open_findings": lambda state: _listed([f for f in state["findings"] if f.severity.rank >= 2]),
    "findings": lambda state: _listed(state["findings"]),
    "escalation": lambda state: state["escalations"][-1].value,
    "halted": lambda state: state["escalations"][-1].value == "halt",
    "outcomes": _outcomes,
    "mitigation": _mitigation,
}


def brief_for(agent: str, state: ReviewState) -> dict[str, Any]:
    """The fields that the supervisor hands to an agent: JSON values that share nothing with the state."""
    fields = {name: _FIELD[name](state) for name in BRIEF_FIELDS[agent]}
    copied: dict[str, Any] = json.loads(json.dumps(fields))
    return copied


def return_fields(result: AgentResult) -> dict[str, Any]:
    """The fields of a specialist's way back; one that failed has no findings and no evidence to give, only an error."""
    if result.outcome is not Outcome.COMPLETED:
        return {"status": result.outcome.value, "error": result.error}
    return {
        "status": result.outcome.value,
        "findings": _listed(result.findings),
        "evidence": dict(result.evidence),
    }


def incomplete(handoff: Handoff) -> Handoff:
    """A deliberately incomplete handoff, for the demonstration: ClientAdvisor gets no mandate and an empty list.

    Leaves every other handoff as it is.
    """
    if (handoff.source, handoff.target) != (SUPERVISOR, ADVISOR):
        return handoff
    fields = {name: value for name, value in handoff.fields.items() if name != "mandate"}
    return Handoff(handoff.source, handoff.target, handoff.mode, handoff.reason, fields | {"open_findings": []})
