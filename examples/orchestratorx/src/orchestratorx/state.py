"""The typed state of one run, and how concurrent writes to it are merged.

Separate from the policy that reads it and the graph that carries it. Its rules:

- A field that is written more than once is a list with the reducer `operator.add`: nothing is ever overwritten, so no
  specialist can lose another's findings. What is "current" (the escalation, the decision) is the last element.
- A field without a reducer is written once: by the caller at the start, or by the Reporter at the end.
- Everything in it is frozen.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, TypedDict

from orchestratorx.portfolio import Book
from orchestratorx.rules import Severity

__all__ = [
    "ADVISOR",
    "REPORTER",
    "SUPERVISOR",
    "AgentResult",
    "Decision",
    "Escalation",
    "Finding",
    "Outcome",
    "Report",
    "ReportStatus",
    "ReviewState",
    "Severity",
    "initial_state",
]

SUPERVISOR = "supervisor"
ADVISOR = "ClientAdvisor"
REPORTER = "Reporter"


class Escalation(StrEnum):
    """What the supervisor does about the findings so far."""

    CONTINUE = "continue"
    MITIGATE = "mitigate"
    HALT = "halt"


class Outcome(StrEnum):
    """How a visit to a specialist ended.

    FAILED: it answered with an error, or with an answer that was refused. DROPPED: it did not answer in time.
    """

    COMPLETED = "completed"
    FAILED = "failed"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Finding:
    """One breach of one rule. `subject` is what breached it: an issuer, a sector, an instrument or `portfolio`."""

    code: str
    severity: Severity
    message: str
    subject: str
    agent: str

    def to_dict(self) -> dict[str, str]:
        """The finding as JSON, keys in the order of the fields."""
        return {
            "code": self.code,
            "severity": self.severity.value,
            "message": self.message,
            "subject": self.subject,
            "agent": self.agent,
        }


@dataclass(frozen=True, slots=True)
class AgentResult:
    """What one visit to a specialist came to.

    `evidence` is JSON: what the specialist worked out (measures, a mitigation plan, a narrative). `evaluated` names the
    rule codes that it looked at, so that "no findings" and "did not look" are different answers. `error` is set unless
    the outcome is COMPLETED.
    """

    agent: str
    findings: tuple[Finding, ...] = ()
    evaluated: tuple[str, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)
    summary: str = ""
    notes: tuple[str, ...] = ()
    outcome: Outcome = Outcome.COMPLETED
    error: str | None = None
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision of the supervisor: the rule of the routing table that applied, and where it sends control."""

    rule: str
    target: str
    reason: str
    escalation: Escalation


class ReportStatus(StrEnum):
    """How a run ended, gravest last; only CLEAN means that nothing is wrong."""

    CLEAN = "clean"
    FINDINGS = "findings"
    INCOMPLETE = "incomplete"
    HALTED = "halted"


@dataclass(frozen=True, slots=True)
class Report:
    """What a run says at its end. Everything but `narrative` follows from the state alone.

    `incomplete` lists, in words, all that the report lacks: specialists that did not complete, a mitigation that was
    not worked out, a spent hop budget. It is filled for halted runs too.
    """

    run_id: str
    portfolio_id: str
    status: ReportStatus
    escalation: Escalation
    halted: bool
    budget_spent: bool
    findings: tuple[Finding, ...]
    outcomes: Mapping[str, str]
    incomplete: tuple[str, ...]
    mitigation: tuple[str, ...]
    narrative: str
    narrative_by: str

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON, keys in the order of the fields."""
        return {
            "run_id": self.run_id,
            "portfolio_id": self.portfolio_id,
            "status": self.status.value,
            "escalation": self.escalation.value,
            "halted": self.halted,
            "budget_spent": self.budget_spent,
            "findings": [finding.to_dict() for finding in self.findings],
            "outcomes": dict(self.outcomes),
            "incomplete": list(self.incomplete),
            "mitigation": list(self.mitigation),
            "narrative": self.narrative,
            "narrative_by": self.narrative_by,
        }


class ReviewState(TypedDict):
    """The state of one review; see the module's rules."""

    run_id: str
    book: Book
    hop_budget: int
    hops: Annotated[list[str], operator.add]
    escalations: Annotated[list[Escalation], operator.add]
    decisions: Annotated[list[Decision], operator.add]
    results: Annotated[list[AgentResult], operator.add]
    findings: Annotated[list[Finding], operator.add]
    report: Report | None


def initial_state(run_id: str, book: Book, hop_budget: int) -> ReviewState:
    """The state of a run that has not made a hop yet."""
    return ReviewState(
        run_id=run_id,
        book=book,
        hop_budget=hop_budget,
        hops=[],
        escalations=[],
        decisions=[],
        results=[],
        findings=[],
        report=None,
    )
