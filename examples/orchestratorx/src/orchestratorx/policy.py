"""Who runs next, what to do about the findings, and when to stop: pure functions of the typed state.

Separate from the graph because every guarantee rests on it: nothing here consults a model, a clock, a socket or a
random number. The routing table is data (`ROUTING`), read from the top; the first row whose condition holds decides.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from orchestratorx.state import (
    ADVISOR,
    REPORTER,
    SUPERVISOR,
    AgentResult,
    Escalation,
    Finding,
    Outcome,
    ReviewState,
    Severity,
)

__all__ = [
    "DEFAULT_HOP_BUDGET",
    "END",
    "MITIGATION_LIMIT",
    "REQUIRED_SPECIALISTS",
    "ROUTING",
    "BreakerView",
    "CircuitBreaker",
    "Conditions",
    "DeadlineExceeded",
    "PolicyViolationError",
    "RetryPolicy",
    "Route",
    "assess",
    "call_with_retry",
    "conditions",
    "dispatches",
    "escalation_policy",
    "next_hop",
    "route",
]

END = "__end__"
REQUIRED_SPECIALISTS: tuple[str, ...] = ("RiskModeler", "ComplianceChecker")
DEFAULT_HOP_BUDGET = 12
MITIGATION_LIMIT = 1


class PolicyViolationError(Exception):
    """A deterministic breach of the rules of orchestration, such as an answer that is not an answer.

    Never retried: retrying a deterministic error reproduces it. It opens the agent's circuit breaker at once.
    """


class DeadlineExceeded(Exception):  # noqa: N818  (the name gRPC gives the same thing)
    """A call did not return in its time. The caller went on without it."""


# === ESCALATION SEAM ===
def escalation_policy(findings: Sequence[Finding]) -> Escalation:
    """The house's posture towards risk, in one place: replace this function and nothing else changes.

    Everything else (which specialists must run, how often a mitigation is tried, how a run ends) holds for any function
    with this signature.
    """
    worst = max((finding.severity.rank for finding in findings), default=-1)
    if worst >= Severity.CRITICAL.rank:
        return Escalation.HALT
    if worst >= Severity.HIGH.rank:
        return Escalation.MITIGATE
    return Escalation.CONTINUE


# === END OF THE SEAM ===

Seam = Callable[[Sequence[Finding]], Escalation]


def assess(state: ReviewState, seam: Seam = escalation_policy) -> Escalation:
    """The escalation of a state: the seam's answer, bounded.

    Once ClientAdvisor has been visited MITIGATION_LIMIT times, `mitigate` turns back to `continue`: the findings stay
    in the report, and nobody shops for a better opinion. A halt is final: once halted, always halted.
    """
    if Escalation.HALT in state["escalations"]:
        return Escalation.HALT
    wanted = seam(tuple(state["findings"]))
    if wanted is Escalation.MITIGATE and state["hops"].count(ADVISOR) >= MITIGATION_LIMIT:
        return Escalation.CONTINUE
    return wanted


class BreakerView(Protocol):
    """What routing needs to know of a circuit breaker."""

    def is_open(self, agent: str) -> bool:
        """Whether the agent is not to be asked again in this run."""
        ...


class CircuitBreaker:
    """Counts failed visits of one run and opens after `threshold` in a row.

    One for each run and never shared, so no run sees another's failures. It does not close again: a run is shorter than
    any sensible cool-down, and a breaker that looked at a clock would make routing depend on it.
    """

    def __init__(self, threshold: int = 2) -> None:
        if threshold < 1:
            raise ValueError(f"expected a threshold of at least 1, found {threshold}")
        self._threshold = threshold
        self._failures: dict[str, int] = {}
        self._lock = threading.Lock()

    def record_success(self, agent: str) -> None:
        """A completed visit: the count starts again."""
        with self._lock:
            self._failures[agent] = 0

    def record_failure(self, agent: str) -> None:
        """A failed visit."""
        with self._lock:
            self._failures[agent] = self._failures.get(agent, 0) + 1

    def trip(self, agent: str) -> None:
        """Open at once: the failure is known to be deterministic."""
        with self._lock:
            self._failures[agent] = self._threshold

    def is_open(self, agent: str) -> bool:
        """Whether `threshold` visits failed in a row."""
        with self._lock:
            return self._failures.get(agent, 0) >= self._threshold

    def failures(self) -> Mapping[str, int]:
        """Failed visits in a row, by agent (agents without any are left out)."""
        with self._lock:
            return {agent: count for agent, count in self._failures.items() if count}


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Attempts within one visit, and the pause before each further one: `base * factor ** n`, at most `ceiling` s."""

    attempts: int = 3
    base: float = 0.05
    factor: float = 2.0
    ceiling: float = 1.0

    def pauses(self) -> tuple[float, ...]:
        """The pause before attempt 2, 3, ..., in seconds."""
        return tuple(min(self.ceiling, self.base * self.factor**n) for n in range(self.attempts - 1))


T = TypeVar("T")


def call_with_retry(
    call: Callable[[float], T],
    policy: RetryPolicy,
    *,
    seconds: float,
    on_failure: Callable[[int, Exception], None],
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[T, int]:
    """Call until it succeeds, the attempts are used up or the time is; return the answer and the attempts made.

    `call` gets the seconds that are left and must keep to them. `seconds` bounds the visit as a whole, pauses included.
    A PolicyViolationError and a DeadlineExceeded are raised at once. `on_failure(attempt, error)` sees every failed
    attempt, also the last one, whose error is raised.
    """
    deadline = clock() + seconds
    pauses = policy.pauses()
    for attempt in range(1, policy.attempts + 1):
        left = deadline - clock()
        try:
            return call(max(left, 0.0)), attempt
        except Exception as error:
            on_failure(attempt, error)
            final = isinstance(error, PolicyViolationError | DeadlineExceeded) or attempt == policy.attempts
            if final or deadline - clock() <= pauses[attempt - 1]:
                raise
            sleep(pauses[attempt - 1])
    raise AssertionError("unreachable: a retry policy has at least one attempt")


@dataclass(frozen=True, slots=True)
class Conditions:
    """The five facts of a state that routing looks at; `pending` names the specialist behind `required_pending`."""

    reported: bool
    halted: bool
    required_pending: bool
    mitigation_due: bool
    budget_spent: bool
    pending: str | None


def dispatches(state: ReviewState) -> int:
    """How often the supervisor has sent control to someone: what the hop budget counts."""
    return sum(1 for agent in state["hops"] if agent != SUPERVISOR)


def _last_result(results: Sequence[AgentResult], agent: str) -> AgentResult | None:
    return next((result for result in reversed(results) if result.agent == agent), None)


def _pending(state: ReviewState, breaker: BreakerView | None) -> str | None:
    for agent in REQUIRED_SPECIALISTS:
        last = _last_result(state["results"], agent)
        if last is not None and last.outcome is Outcome.COMPLETED:
            continue
        if breaker is None or not breaker.is_open(agent):
            return agent
    return None


def conditions(state: ReviewState, breaker: BreakerView | None = None) -> Conditions:
    """What the routing table needs to know of a state.

    The budget is spent when one dispatch is left: that one belongs to the Reporter.
    """
    escalation = state["escalations"][-1] if state["escalations"] else Escalation.CONTINUE
    pending = _pending(state, breaker)
    advisable = breaker is None or not breaker.is_open(ADVISOR)
    return Conditions(
        reported=state["report"] is not None,
        halted=escalation is Escalation.HALT,
        required_pending=pending is not None,
        mitigation_due=escalation is Escalation.MITIGATE and advisable,
        budget_spent=dispatches(state) >= state["hop_budget"] - 1,
        pending=pending,
    )


@dataclass(frozen=True, slots=True)
class Route:
    """One row of the routing table. A condition that is None does not matter to the row."""

    rule: str
    target: str
    reason: str
    reported: bool | None = None
    halted: bool | None = None
    required_pending: bool | None = None
    mitigation_due: bool | None = None
    budget_spent: bool | None = None

    def applies(self, facts: Conditions) -> bool:
        """Whether every condition that the row names is as the row says."""
        return all(
            wanted is None or wanted == found
            for wanted, found in (
                (self.reported, facts.reported),
                (self.halted, facts.halted),
                (self.required_pending, facts.required_pending),
                (self.mitigation_due, facts.mitigation_due),
                (self.budget_spent, facts.budget_spent),
            )
        )


PENDING = "the pending specialist"

ROUTING: tuple[Route, ...] = (
    Route("R1", END, "the report is written", reported=True),
    Route("R2", REPORTER, "halted", halted=True),
    Route("R3", REPORTER, "hop budget spent", required_pending=True, budget_spent=True),
    Route("R4", PENDING, "required specialist pending", required_pending=True),
    Route("R5", REPORTER, "hop budget spent", mitigation_due=True, budget_spent=True),
    Route("R6", ADVISOR, "high finding to mitigate", mitigation_due=True),
    Route("R7", REPORTER, "nothing left to do"),
)

BUDGET_RULES = frozenset({"R3", "R5"})


def route(state: ReviewState, breaker: BreakerView | None = None) -> tuple[Route, str]:
    """The row of the routing table that applies, and the agent (or END) that it sends control to."""
    facts = conditions(state, breaker)
    row = next(row for row in ROUTING if row.applies(facts))
    if row.target == PENDING:
        assert facts.pending is not None
        return row, facts.pending
    return row, row.target


def next_hop(state: ReviewState, breaker: BreakerView | None = None) -> str:
    """The agent that runs next, or END.

    Pure: the same state and breaker give the same hop. Without a breaker a failing specialist is asked again until the
    hop budget ends it.
    """
    return route(state, breaker)[1]
