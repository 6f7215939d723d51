"""The guarantees of the specification as laws, over specialists that fail, hang, lie and flap at random."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from orchestratorx.orchestrator import Orchestrator, Run
from orchestratorx.policy import (
    MITIGATION_LIMIT,
    REQUIRED_SPECIALISTS,
    PolicyViolationError,
    dispatches,
    escalation_policy,
)
from orchestratorx.rules import RULES, RULES_OF, Severity
from orchestratorx.state import ADVISOR, REPORTER, Escalation, Finding, Outcome, ReportStatus
from orchestratorx.trace import verify
from scripted import LIES, Behaviour, Hang, book, entries, raises, spoils, tells, world

# more for a thorough look: ORCHESTRATORX_TEST_EXAMPLES=2000 pytest tests/test_guarantees.py
EXAMPLES = int(os.environ.get("ORCHESTRATORX_TEST_EXAMPLES", "25"))

Seam = Callable[[Sequence[Finding]], Escalation]


class Named:
    """A behaviour that prints as its name in a failing example."""

    def __init__(self, name: str, behaviour: Behaviour) -> None:
        self.name, self.behaviour = name, behaviour

    def __repr__(self) -> str:
        return self.name


def behaviours(agent: str) -> st.SearchStrategy[list[Named]]:
    codes = RULES_OF.get(agent, ())
    honest = st.lists(st.sampled_from(codes), max_size=3).map(tuple) if codes else st.just(())
    bad = [
        Named("fail", raises(ConnectionError("down"))),
        Named("refuse", raises(PolicyViolationError("no"))),
        Named("hang", raises(Hang())),
        Named("exit", raises(SystemExit(1))),
        Named("spoil", spoils),
        *(Named(f"lie: {name}", lie) for name, lie in LIES.items()),
    ]
    one = st.one_of(honest.map(lambda told: Named(f"tell{told}", tells(*told))), st.sampled_from(bad))
    return st.lists(one, min_size=1, max_size=4)


SEAMS: dict[str, Seam] = {
    "house": escalation_policy,
    "inverted": lambda found: {
        Escalation.HALT: Escalation.CONTINUE,
        Escalation.MITIGATE: Escalation.MITIGATE,
        Escalation.CONTINUE: Escalation.HALT,
    }[escalation_policy(found)],
    "always mitigate": lambda _: Escalation.MITIGATE,
    "never act": lambda _: Escalation.CONTINUE,
    "halt on anything": lambda found: Escalation.HALT if found else Escalation.CONTINUE,
}

worlds = st.fixed_dictionaries(
    {
        "risk": behaviours("RiskModeler"),
        "compliance": behaviours("ComplianceChecker"),
        "advisor": behaviours(ADVISOR),
        "reporter": behaviours(REPORTER),
        "hop_budget": st.integers(1, 10),
        "breaker_threshold": st.integers(1, 3),
        "attempts": st.integers(1, 3),
        "seam": st.just("house") | st.sampled_from(sorted(SEAMS)),
    }
)
World = dict[str, object]
Law = Callable[[World, Run], None]
HONEST: World = {"hop_budget": 12, "breaker_threshold": 2, "attempts": 1, "seam": "house"}


def build(drawn: World) -> Orchestrator:
    scripts = {
        name: [item.behaviour for item in drawn[name]]  # type: ignore[attr-defined]
        for name in ("risk", "compliance", "advisor", "reporter")
    }
    rest = {name: drawn[name] for name in ("hop_budget", "breaker_threshold", "attempts")}
    return world(**scripts, **rest, seam=SEAMS[str(drawn["seam"])])  # type: ignore[arg-type]


def run(drawn: World) -> Run:
    return build(drawn).run(book())


def honest(*risk: str, compliance: tuple[str, ...] = (), **changes: object) -> World:
    scripts = {"risk": tells(*risk), "compliance": tells(*compliance), "advisor": tells(), "reporter": tells()}
    return HONEST | {name: [Named(name, behaviour)] for name, behaviour in scripts.items()} | changes


def every_run_ends_within_its_budget_with_a_report_and_a_whole_record(drawn: World, made: Run) -> None:
    assert made.path[-1] == REPORTER
    assert made.path.count(REPORTER) == 1
    assert dispatches(made.state) <= int(str(drawn["hop_budget"]))
    assert made.trace.path() == made.path
    assert verify(made.trace.document()) == []


def a_failing_specialist_neither_vanishes_from_the_record_nor_gives_a_clean_report(drawn: World, made: Run) -> None:
    hops = entries(made, "hop")
    asked = [hop["target"] for hop in hops if hop["mode"] == "delegate"]
    back = [hop for hop in hops if hop["mode"] == "return"]
    assert asked == [hop["source"] for hop in back]
    results = made.state["results"]
    assert [result.agent for result in results] == [*asked, REPORTER]
    for hop, result in zip(back, results, strict=False):
        assert hop["status"] == result.outcome.value
        assert ("error" in hop) == (result.outcome is not Outcome.COMPLETED)
    # every failed attempt stands in the trail: all of a failed visit's, all but the last of a completed one's
    expected = [r.attempts - (r.outcome is Outcome.COMPLETED) for r in results]
    assert len(entries(made, "attempt")) == sum(expected)
    last = {result.agent: result.outcome for result in results}
    if made.report.status is ReportStatus.CLEAN:
        assert all(last.get(agent) is Outcome.COMPLETED for agent in (*REQUIRED_SPECIALISTS, REPORTER))
        assert not made.report.findings
        assert not made.report.budget_spent
        assert last.get(ADVISOR, Outcome.COMPLETED) is Outcome.COMPLETED
    for agent in (*REQUIRED_SPECIALISTS, REPORTER):
        if last.get(agent) is not Outcome.COMPLETED:
            assert any(agent in line for line in made.report.incomplete)


def the_compliance_checker_is_skipped_only_by_a_halt_or_a_spent_budget(drawn: World, made: Run) -> None:
    if "ComplianceChecker" not in made.path:
        assert made.report.halted or made.report.budget_spent
        assert "ComplianceChecker was not run" in made.report.incomplete


def high_findings_go_to_the_advisor_exactly_once_and_then_on(drawn: World, made: Run) -> None:
    assert made.path.count(ADVISOR) <= MITIGATION_LIMIT
    gravest = max((found.severity.rank for found in made.report.findings), default=-1)
    if drawn["seam"] == "house" and gravest == Severity.HIGH.rank and not made.report.budget_spent:
        assert made.path.count(ADVISOR) == 1
        assert made.report.escalation is Escalation.CONTINUE
        assert not made.report.halted


def a_critical_breach_halts_and_is_never_shopped_for_a_mitigation(drawn: World, made: Run) -> None:
    if drawn["seam"] != "house":
        return
    if any(found.severity is Severity.CRITICAL for found in made.report.findings):
        assert made.report.halted
        assert made.report.status is ReportStatus.HALTED
        halted = next(n for n, entry in enumerate(entries(made, "decision")) if entry["escalation"] == "halt")
        assert [entry["target"] for entry in entries(made, "decision")][halted:] == [REPORTER]
    else:
        assert not made.report.halted


def reducers_keep_every_finding_of_every_specialist_and_no_lie(drawn: World, made: Run) -> None:
    kept = [found for result in made.state["results"] for found in result.findings]
    assert made.state["findings"] == kept
    assert list(made.report.findings) == kept
    for found in kept:
        assert found.severity is RULES[found.code].severity
        assert found.agent == RULES[found.code].agent


def a_spent_budget_is_said_in_the_report(drawn: World, made: Run) -> None:
    said = any("hop budget" in line for line in made.report.incomplete)
    assert said == made.report.budget_spent == (entries(made, "decision")[-1]["rule"] in ("R3", "R5"))
    if made.report.budget_spent:
        assert made.report.status in (ReportStatus.INCOMPLETE, ReportStatus.HALTED)


LAWS = (
    every_run_ends_within_its_budget_with_a_report_and_a_whole_record,
    a_failing_specialist_neither_vanishes_from_the_record_nor_gives_a_clean_report,
    the_compliance_checker_is_skipped_only_by_a_halt_or_a_spent_budget,
    high_findings_go_to_the_advisor_exactly_once_and_then_on,
    a_critical_breach_halts_and_is_never_shopped_for_a_mitigation,
    reducers_keep_every_finding_of_every_specialist_and_no_lie,
    a_spent_budget_is_said_in_the_report,
)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@given(drawn=worlds)
@settings(max_examples=EXAMPLES)
@example(drawn=honest())
@example(drawn=honest("RSK-003", compliance=("CMP-002",)))
@example(drawn=honest(compliance=("CMP-003",)))
@example(drawn=honest("RSK-004", compliance=("CMP-002",)))
@example(drawn=honest("RSK-003", hop_budget=3))
def test_whatever_specialists_do(law: Law, drawn: World) -> None:
    law(drawn, run(drawn))


@given(worlds, st.sampled_from(sorted(SEAMS)))
@settings(max_examples=EXAMPLES)
def test_inverting_the_seam_changes_the_posture_and_nothing_else(drawn: World, other: str) -> None:
    ours, theirs = run(drawn | {"seam": "house"}), run(drawn | {"seam": other})
    # as far as both went, the required specialists were visited alike and found the same
    pairs = [
        [(r.agent, r.outcome, r.findings) for r in made.state["results"] if r.agent in REQUIRED_SPECIALISTS]
        for made in (ours, theirs)
    ]
    shared = min(len(pairs[0]), len(pairs[1]))
    assert pairs[0][:shared] == pairs[1][:shared]
    if not ours.report.halted and not theirs.report.halted:
        spent = ours.report.budget_spent or theirs.report.budget_spent
        assert len(pairs[0]) == len(pairs[1]) or spent


@given(worlds)
@settings(max_examples=EXAMPLES)
def test_the_same_world_gives_the_same_trail(drawn: World) -> None:
    first, second = (build(drawn).run(book(), run_id="run-1") for _ in range(2))
    assert first.trace.document() == second.trace.document()
    assert first.report == second.report
