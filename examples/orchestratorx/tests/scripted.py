"""Specialists that do as a script says, and a clock and a deadline without waiting: the worlds of the tests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from orchestratorx.agents import ClientAdvisor, Reporter, Specialist
from orchestratorx.orchestrator import Limits, Orchestrator, Run
from orchestratorx.policy import DeadlineExceeded, RetryPolicy, Seam, escalation_policy
from orchestratorx.portfolio import Book, parse_book
from orchestratorx.rules import RULES, RULES_OF, Severity
from orchestratorx.state import ADVISOR, REPORTER, AgentResult, Finding, Outcome
from orchestratorx.telemetry import Exporter

EVIDENCE: dict[str, dict[str, Any]] = {ADVISOR: {"actions": []}, REPORTER: {"narrative": "words", "by": "script"}}

Behaviour = Callable[[str, dict[str, Any]], Any]


class Hang(BaseException):
    """A call that never returns, for `virtual_call`."""


def finding(code: str, subject: str = "x", **changes: Any) -> Finding:
    rule = RULES[code]
    made = {"code": code, "severity": rule.severity, "message": f"{code} on {subject}", "subject": subject}
    return Finding(**{**made, "agent": rule.agent, **changes})


def tells(*codes: str) -> Behaviour:
    """Answer with one finding for each code."""

    def behave(agent: str, _: dict[str, Any]) -> AgentResult:
        found = tuple(finding(code, f"s{n}") for n, code in enumerate(codes))
        return AgentResult(agent, found, RULES_OF.get(agent, ()), EVIDENCE.get(agent, {}), "done")

    return behave


def raises(error: BaseException) -> Behaviour:
    def behave(_: str, __: dict[str, Any]) -> AgentResult:
        raise error

    return behave


def spoils(_: str, brief: dict[str, Any]) -> AgentResult:
    """Destroy the brief, then fail."""
    brief.clear()
    raise ConnectionError("gone")


def answers(answer: Callable[[str], Any]) -> Behaviour:
    return lambda agent, _: answer(agent)


LIES: dict[str, Behaviour] = {
    "nothing": answers(lambda _: None),
    "text": answers(lambda _: "all is well"),
    "another's name": answers(lambda _: AgentResult("somebody", (), tuple(RULES))),
    "a silent skip": answers(lambda agent: AgentResult(agent, (), ())),
    "another's finding": answers(
        lambda agent: AgentResult(agent, (finding("CMP-003", agent="ClientAdvisor"),), tuple(RULES))
    ),
    "a softened severity": answers(
        lambda agent: AgentResult(agent, (finding("CMP-003", severity=Severity.LOW, agent=agent),), tuple(RULES))
    ),
    "an invented rule": answers(
        lambda agent: AgentResult(agent, (Finding("XXX-001", Severity.LOW, "m", "s", agent),), tuple(RULES))
    ),
    "a failure as an answer": answers(lambda agent: AgentResult(agent, (), tuple(RULES), outcome=Outcome.FAILED)),
    "evidence that is no JSON": answers(lambda agent: AgentResult(agent, (), tuple(RULES), {"x": object()})),
    "findings that are no list": answers(lambda agent: AgentResult(agent, 7, tuple(RULES))),  # type: ignore[arg-type]
}


class Scripted:
    """A specialist that behaves by a list, a list for each book: call by call, the last one for ever."""

    def __init__(self, name: str, behaviours: Sequence[Behaviour]) -> None:
        self.name = name
        self.behaviours = tuple(behaviours)
        self.calls: dict[str, int] = {}
        self.lock = threading.Lock()

    def __call__(self, brief: Mapping[str, Any]) -> AgentResult:
        with self.lock:
            call = self.calls.get(brief["portfolio_id"], 0)
            self.calls[brief["portfolio_id"]] = call + 1
        answer: AgentResult = self.behaviours[min(call, len(self.behaviours) - 1)](self.name, dict(brief))
        return answer


def virtual_call(call: Callable[[], Any], seconds: float) -> Any:
    """`call_with_deadline` without threads: a Hang is a deadline that passed."""
    try:
        return call()
    except Hang:
        raise DeadlineExceeded(f"no answer within {seconds:.3g} s") from None
    except Exception:
        raise
    except BaseException as error:
        raise RuntimeError(f"raised {type(error).__name__}") from error


class Tick:
    """A clock that moves a millisecond each time it is read."""

    def __init__(self) -> None:
        self.now = datetime(2026, 4, 17, 9, 0, tzinfo=UTC)
        self.lock = threading.Lock()

    def __call__(self) -> datetime:
        with self.lock:
            self.now += timedelta(milliseconds=1)
            return self.now


def book(portfolio_id: str = "PF-1") -> Book:
    return parse_book(
        {
            "portfolio_id": portfolio_id,
            "name": "A book",
            "equity": 1000.0,
            "mandate": {"name": "balanced", "permitted_asset_classes": ["equity"]},
            "positions": [{"instrument": "AQL-EQ", "value": 50.0}],
        }
    )


def world(
    risk: Sequence[Behaviour] = (tells(),),
    compliance: Sequence[Behaviour] = (tells(),),
    advisor: Sequence[Behaviour] | None = None,
    reporter: Sequence[Behaviour] | None = None,
    *,
    hop_budget: int = 12,
    seam: Seam = escalation_policy,
    breaker_threshold: int = 2,
    attempts: int = 2,
    exporter: Exporter | None = None,
    **options: Any,
) -> Orchestrator:
    """An orchestrator over scripted specialists that waits for nothing."""
    specialists: dict[str, Specialist] = {
        "RiskModeler": Scripted("RiskModeler", risk),
        "ComplianceChecker": Scripted("ComplianceChecker", compliance),
        ADVISOR: ClientAdvisor() if advisor is None else Scripted(ADVISOR, advisor),
        REPORTER: Reporter() if reporter is None else Scripted(REPORTER, reporter),
    }
    limits = Limits(hop_budget=hop_budget, breaker_threshold=breaker_threshold, retry=RetryPolicy(attempts=attempts))
    time: dict[str, Any] = {"call": virtual_call, "clock": Tick(), "sleep": lambda _: None, "monotonic": lambda: 0.0}
    return Orchestrator(specialists, limits=limits, seam=seam, exporter=exporter, **(time | options))


def entries(run: Run, kind: str) -> list[dict[str, Any]]:
    return [dict(entry["detail"]) for entry in run.trace.entries if entry["kind"] == kind]
