"""`next_hop` over every reachable state, against the table of the specification read as a second implementation."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

import pytest

from orchestratorx.policy import ROUTING, CircuitBreaker, Conditions, assess, conditions, dispatches, next_hop, route
from orchestratorx.rules import RULES_OF
from orchestratorx.state import (
    ADVISOR,
    REPORTER,
    SUPERVISOR,
    AgentResult,
    Escalation,
    Outcome,
    Report,
    ReportStatus,
    ReviewState,
    initial_state,
)
from scripted import book, finding

SPECIFICATION = Path(__file__).parents[1] / "SPECIFICATION.md"
COLUMNS = ("reported", "halted", "required_pending", "mitigation_due", "budget_spent")


@cache
def specified_table() -> tuple[tuple[str, dict[str, bool], str, str], ...]:
    """Rule, conditions, target and reason of each row of the routing table in SPECIFICATION.md."""
    rows = []
    for line in SPECIFICATION.read_text(encoding="utf-8").splitlines():
        if re.match(r"\| R\d+ \|", line):
            rule, *cells, target, reason = [cell.strip() for cell in line.strip("|").split("|")]
            named = {name: cell == "yes" for name, cell in zip(COLUMNS, cells, strict=True) if cell != "–"}
            rows.append((rule, named, target.strip("`"), reason))
    return tuple(rows)


def specified_hop(facts: Conditions) -> str:
    """The first row of the specification that applies."""
    for _, named, target, _ in specified_table():
        if all(getattr(facts, name) == wanted for name, wanted in named.items()):
            if target == "END":
                return "__end__"
            return str(facts.pending) if target == "the pending specialist" else target
    raise AssertionError(f"no row of the specification applies to {facts}")


def report() -> Report:
    return Report("r", "p", ReportStatus.CLEAN, Escalation.CONTINUE, False, False, (), {}, (), (), "", "")


@dataclass(frozen=True)
class Node:
    """A state, with the failures that its run's breaker has counted."""

    hops: tuple[str, ...]
    escalations: tuple[Escalation, ...]
    results: tuple[AgentResult, ...]
    failures: tuple[tuple[str, int], ...]
    budget: int
    guarded: bool

    def state(self) -> ReviewState:
        return {
            **initial_state("run", book(), self.budget),
            "hops": list(self.hops),
            "escalations": list(self.escalations),
            "results": list(self.results),
            "findings": [found for result in self.results for found in result.findings],
        }

    def breaker(self) -> CircuitBreaker | None:
        if not self.guarded:
            return None
        breaker = CircuitBreaker(threshold=2)
        for agent, count in self.failures:
            for _ in range(count):
                breaker.record_failure(agent)
        return breaker


CODES = {"RiskModeler": ["RSK-001", "RSK-003", "RSK-004"], "ComplianceChecker": ["CMP-005", "CMP-002", "CMP-003"]}


def outcomes(agent: str) -> Iterator[AgentResult]:
    """Every kind of result that matters to routing: nothing, medium, high, critical, failed, dropped."""
    yield AgentResult(agent, (), RULES_OF.get(agent, ()))
    for code in CODES.get(agent, ()):
        yield AgentResult(agent, (finding(code),), RULES_OF[agent])
    yield AgentResult(agent, outcome=Outcome.FAILED, error="e")
    yield AgentResult(agent, outcome=Outcome.DROPPED, error="e")


def reachable(budget: int, guarded: bool) -> Iterator[tuple[Node, ReviewState, str]]:
    """Every state a supervisor can be in, from the start, with the escalation assessed, and the hop it makes."""
    waiting = [Node((), (), (), (), budget, guarded)]
    seen: set[tuple[object, ...]] = set()
    while waiting:
        node = waiting.pop()
        state = node.state()
        escalation = assess(state)
        assessed: ReviewState = {
            **state,
            "hops": [*node.hops, SUPERVISOR],
            "escalations": [*node.escalations, escalation],
        }
        target = next_hop(assessed, node.breaker())
        yield node, assessed, target
        if target in (REPORTER, "__end__"):
            continue
        for result in outcomes(target):
            counted = dict(node.failures)
            counted[target] = 0 if result.outcome is Outcome.COMPLETED else counted.get(target, 0) + 1
            following = Node(
                (*node.hops, SUPERVISOR, target),
                (*node.escalations, escalation),
                (*node.results, result),
                tuple(sorted(counted.items())),
                budget,
                guarded,
            )
            key = (following.hops, escalation, tuple((r.agent, r.outcome, r.findings) for r in following.results))
            if key not in seen:
                seen.add(key)
                waiting.append(following)


def test_the_table_of_the_specification_is_the_table_of_the_code() -> None:
    coded = [
        (
            row.rule,
            {name: getattr(row, name) for name in COLUMNS if getattr(row, name) is not None},
            "END" if row.target == "__end__" else row.target,
            row.reason,
        )
        for row in ROUTING
    ]
    assert list(specified_table()) == coded


@pytest.mark.parametrize(
    ("budget", "guarded"), [*itertools.product(range(1, 8), [True]), *((b, False) for b in (1, 2, 3, 4, 5))]
)
def test_next_hop_is_as_specified_in_every_reachable_state(budget: int, guarded: bool) -> None:
    visited = 0
    for node, state, target in reachable(budget, guarded):
        visited += 1
        assert target == specified_hop(conditions(state, node.breaker()))
        assert dispatches(state) < budget
    assert visited >= 1


def test_every_row_but_the_first_is_reached() -> None:
    reached = {
        route(state, node.breaker())[0].rule
        for budget in (2, 3, 4, 7)
        for node, state, _ in reachable(budget, guarded=True)
    }
    assert reached == {"R2", "R3", "R4", "R5", "R6", "R7"}


def test_a_written_report_ends_the_run() -> None:
    state: ReviewState = {**initial_state("run", book(), 12), "report": report()}
    assert next_hop(state) == "__end__"


def test_next_hop_is_total_and_as_specified_over_all_combinations_of_conditions() -> None:
    booleans = [field.name for field in fields(Conditions) if field.name != "pending"]
    assert tuple(booleans) == COLUMNS
    for values in itertools.product([True, False], repeat=len(COLUMNS)):
        facts = Conditions(**dict(zip(COLUMNS, values, strict=True)), pending="RiskModeler" if values[2] else None)
        row = next(row for row in ROUTING if row.applies(facts))
        coded = str(facts.pending) if row.target == "the pending specialist" else row.target
        assert coded == specified_hop(facts)


def test_next_hop_changes_nothing_and_repeats_itself() -> None:
    for node, state, target in reachable(6, guarded=True):
        before = {name: list(value) if isinstance(value, list) else value for name, value in state.items()}
        breaker = node.breaker()
        assert (next_hop(state, breaker), next_hop(state, breaker)) == (target, target)
        assert before == state


def test_without_a_breaker_the_hop_budget_alone_ends_a_failing_specialist() -> None:
    failed = AgentResult("RiskModeler", outcome=Outcome.FAILED, error="e")
    state = initial_state("run", book(), 4)
    hops: list[str] = []
    while next_hop({**state, "hops": hops}) == "RiskModeler":
        hops += [SUPERVISOR, "RiskModeler"]
        state["results"].append(failed)
    assert (hops.count("RiskModeler"), next_hop({**state, "hops": hops})) == (3, REPORTER)


def test_a_failing_advisor_is_not_asked_twice() -> None:
    for _, state, target in reachable(9, guarded=True):
        if ADVISOR in state["hops"]:
            assert target != ADVISOR
