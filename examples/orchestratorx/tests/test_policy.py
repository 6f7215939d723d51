"""Tests of policy.py: retry, breaker, the seam and its bound. Routing has its own file."""

from __future__ import annotations

import inspect
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestratorx import policy
from orchestratorx.policy import (
    CircuitBreaker,
    DeadlineExceeded,
    PolicyViolationError,
    RetryPolicy,
    assess,
    call_with_retry,
    escalation_policy,
)
from orchestratorx.rules import RULES, Severity
from orchestratorx.state import ADVISOR, Escalation, ReviewState, initial_state
from scripted import book, finding


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def __call__(self) -> float:
        return self.now


def attempt(errors: list[Exception], policy: RetryPolicy, seconds: float = 10.0) -> tuple[Clock, list[int], object]:
    clock, failed = Clock(), list[int]()

    def call(_: float) -> str:
        if errors:
            raise errors.pop(0)
        return "answer"

    try:
        outcome: object = call_with_retry(
            call,
            policy,
            seconds=seconds,
            on_failure=lambda number, _: failed.append(number),
            sleep=clock.sleep,
            clock=clock,
        )
    except Exception as error:
        outcome = error
    return clock, failed, outcome


def test_a_transient_error_is_retried_after_growing_pauses() -> None:
    clock, failed, outcome = attempt([OSError("a"), OSError("b")], RetryPolicy(attempts=3, base=0.1, factor=3))
    assert (clock.slept, failed, outcome) == ([0.1, pytest.approx(0.3)], [1, 2], ("answer", 3))


def test_the_last_error_is_raised_when_the_attempts_are_used_up() -> None:
    clock, failed, outcome = attempt([OSError("a"), OSError("b"), OSError("c")], RetryPolicy(attempts=2))
    assert (failed, str(outcome), len(clock.slept)) == ([1, 2], "b", 1)


@pytest.mark.parametrize("error", [PolicyViolationError("rule"), DeadlineExceeded("late")])
def test_a_deterministic_error_and_a_missed_deadline_are_never_retried(error: Exception) -> None:
    clock, failed, outcome = attempt([error, OSError("never reached")], RetryPolicy(attempts=5))
    assert (clock.slept, failed, outcome) == ([], [1], error)


def test_no_retry_begins_that_the_visit_has_no_time_for() -> None:
    clock, failed, outcome = attempt([OSError("a"), OSError("b")], RetryPolicy(attempts=3, base=2.0), seconds=1.0)
    assert (clock.slept, failed, str(outcome)) == ([], [1], "a")


def test_pauses_grow_to_a_ceiling() -> None:
    assert RetryPolicy(attempts=6, base=0.1, factor=4, ceiling=1.0).pauses() == (0.1, 0.4, 1.0, 1.0, 1.0)


def test_the_breaker_opens_after_failures_in_a_row_and_for_that_agent_only() -> None:
    breaker = CircuitBreaker(threshold=2)
    breaker.record_failure("a")
    breaker.record_success("a")
    breaker.record_failure("a")
    before = breaker.is_open("a")
    breaker.record_failure("a")
    assert (before, breaker.is_open("a"), breaker.is_open("b"), breaker.failures()) == (False, True, False, {"a": 2})


def test_a_tripped_breaker_is_open_at_once() -> None:
    breaker = CircuitBreaker(threshold=5)
    breaker.trip("a")
    assert breaker.is_open("a")


def test_a_breaker_needs_a_threshold() -> None:
    with pytest.raises(ValueError, match="at least 1, found 0"):
        CircuitBreaker(0)


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ([], Escalation.CONTINUE),
        (["RSK-006", "RSK-001"], Escalation.CONTINUE),
        (["RSK-001", "CMP-002"], Escalation.MITIGATE),
        (["CMP-002", "CMP-003", "RSK-001"], Escalation.HALT),
    ],
)
def test_the_posture_follows_the_gravest_finding(codes: list[str], expected: Escalation) -> None:
    assert escalation_policy([finding(code) for code in codes]) is expected


def state_with(codes: list[str], hops: list[str], escalations: list[Escalation]) -> ReviewState:
    state = initial_state("run", book(), 12)
    return {**state, "findings": [finding(code) for code in codes], "hops": hops, "escalations": escalations}


def test_a_bounded_counter_turns_escalation_back_to_continue() -> None:
    before = state_with(["CMP-002"], ["supervisor"], [])
    after = state_with(["CMP-002"], ["supervisor", ADVISOR, "supervisor"], [Escalation.MITIGATE])
    assert (assess(before), assess(after)) == (Escalation.MITIGATE, Escalation.CONTINUE)


@given(st.lists(st.sampled_from(sorted(RULES))), st.sampled_from(Escalation), st.integers(0, 3))
def test_whatever_the_seam_says_mitigation_is_bounded_and_a_halt_is_final(
    codes: list[str], wanted: Escalation, visits: int
) -> None:
    hops = ["supervisor", *[ADVISOR, "supervisor"] * visits]
    found = assess(state_with(codes, hops, []), lambda _: wanted)
    assert found is (Escalation.CONTINUE if wanted is Escalation.MITIGATE and visits else wanted)
    assert assess(state_with(codes, hops, [Escalation.HALT]), lambda _: wanted) is Escalation.HALT


def test_the_seam_is_marked_and_is_one_function() -> None:
    source = inspect.getsource(policy)
    seam = re.findall(r"# === ESCALATION SEAM ===\n(.*?)# === END OF THE SEAM ===", source, re.DOTALL)
    assert len(seam) == 1
    assert seam[0].strip() == inspect.getsource(escalation_policy).strip()


def test_routing_consults_no_clock_model_or_chance() -> None:
    names = set(policy.next_hop.__code__.co_names) | set(policy.route.__code__.co_names)
    names |= set(policy.conditions.__code__.co_names) | set(policy.assess.__code__.co_names)
    assert not names & {"time", "random", "os", "environ", "open", "llm", "datetime"}


def test_severities_are_ordered() -> None:
    assert [severity.rank for severity in Severity] == [0, 1, 2, 3]
