"""OrchestratorX: portfolio reviews by specialist agents, under a supervisor that routes by policy, not by prompt."""

from orchestratorx.orchestrator import Limits, Orchestrator, Run
from orchestratorx.policy import (
    REQUIRED_SPECIALISTS,
    PolicyViolationError,
    escalation_policy,
    next_hop,
)
from orchestratorx.portfolio import Book, BookError, demo_book, load_book, parse_book
from orchestratorx.state import AgentResult, Escalation, Finding, Outcome, Report, ReportStatus, Severity
from orchestratorx.trace import Trace, verify

__all__ = [
    "REQUIRED_SPECIALISTS",
    "AgentResult",
    "Book",
    "BookError",
    "Escalation",
    "Finding",
    "Limits",
    "Orchestrator",
    "Outcome",
    "PolicyViolationError",
    "Report",
    "ReportStatus",
    "Run",
    "Severity",
    "Trace",
    "demo_book",
    "escalation_policy",
    "load_book",
    "next_hop",
    "parse_book",
    "verify",
]
