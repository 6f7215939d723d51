from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector import semconv
from collector.emit.metrics import latency_seconds, plan
from collector.report import Exemplar, MetricDelta, PreviousState, Report
from tests.collector.emit.samples import START, TRACE_1, report, row

PAIR = (
    ("orbitrelay.handoff.source_role", "planner"),
    ("orbitrelay.handoff.target_role", "researcher"),
    ("orbitrelay.handoff.mode", "transfer"),
)
AT = (START + 1_000_000_000, TRACE_1, "00f067aa0ba902b7")


def after(report: Report, previous: PreviousState | None = None) -> PreviousState:
    """The state that the store gives to the next revision."""
    before = previous or PreviousState()
    marks = plan(report, before).marks
    return PreviousState(before.sampled | set(marks), {row.handoff_id: row for row in report.handoffs}, report.revision)


def counts(deltas: tuple[MetricDelta, ...]) -> list[tuple[str, float]]:
    return [(delta.instrument, delta.value) for delta in deltas]


def test_the_first_revision_samples_every_instrument_that_has_a_value() -> None:
    verdict = (
        *PAIR,
        ("orbitrelay.handoff.status", "completed"),
        ("orbitrelay.handoff.grade", "C"),
        ("orbitrelay.handoff.contracted", True),
    )
    role = ("orbitrelay.handoff.target_role", "researcher")

    def field(name: str, outcome: str) -> tuple[tuple[str, str], ...]:
        return (role, ("orbitrelay.field.name", name), ("orbitrelay.field.outcome", outcome))

    assert plan(report(), PreviousState()).deltas == (
        MetricDelta("orbitrelay.report.count", (("orbitrelay.session.close_reason", "roots_ended"),), 1),
        MetricDelta("orbitrelay.session.count", (("orbitrelay.session.close_reason", "roots_ended"),), 1),
        MetricDelta("orbitrelay.session.completeness", (("service.name", "billing-agents"),), 0.7, Exemplar(0.7, *AT)),
        MetricDelta("orbitrelay.handoff.count", verdict, 1, Exemplar(1, *AT)),
        MetricDelta(
            "orbitrelay.handoff.completeness", (*PAIR, ("service.name", "billing-agents")), 0.7, Exemplar(0.7, *AT)
        ),
        MetricDelta("orbitrelay.handoff.latency", PAIR, 0.9503, Exemplar(0.9503, *AT)),
        MetricDelta("orbitrelay.handoff.fields", field("goal", "PRESENT"), 1, Exemplar(1, *AT)),
        MetricDelta("orbitrelay.handoff.fields", field("constraints", "MISSING"), 1, Exemplar(1, *AT)),
        MetricDelta("orbitrelay.handoff.fields", (role, ("orbitrelay.field.outcome", "EXTRA")), 2, Exemplar(2, *AT)),
        MetricDelta("orbitrelay.bottleneck.count", (("orbitrelay.bottleneck.kind", "latency"),), 1),
    )


def test_the_same_verdicts_again_give_nothing_but_a_report_count() -> None:
    again = report(revision=2, close_reason="idle")
    samples = plan(again, after(report()))
    assert samples.deltas == (
        MetricDelta("orbitrelay.report.count", (("orbitrelay.session.close_reason", "idle"),), 1),
    )
    assert samples.marks == ()


@pytest.mark.parametrize(
    "change",
    [
        {"score": 0.4, "grade": "D"},
        {"latency_ms": 1.0},
        {"latency_ms": None},
        {"missing_fields": (), "empty_fields": ("constraints",)},
        {"extra_fields": ("mood",)},
        {"target_role": "engineer"},
        {"status": "dropped"},
    ],
)
def test_a_correction_counts_once_as_revised_and_samples_nothing_again(change: dict[str, Any]) -> None:
    changed = row(**change)
    samples = plan(report(changed, revision=2, bottlenecks=()), after(report()))
    assert counts(samples.deltas) == [("orbitrelay.report.count", 1), ("orbitrelay.handoff.revised", 1)]
    revised = dict(samples.deltas[1].attributes)
    assert revised["orbitrelay.handoff.grade"] == changed.grade
    assert revised["orbitrelay.handoff.target_role"] == changed.target_role


def test_a_value_known_only_later_is_a_sample_and_no_correction() -> None:
    first = report(row(latency_ms=None))
    samples = plan(report(revision=2), after(first))
    assert counts(samples.deltas) == [("orbitrelay.report.count", 1), ("orbitrelay.handoff.latency", 0.9503)]


def test_a_handoff_scored_only_later_is_sampled_then_and_counts_as_revised_because_its_grade_was_counted() -> None:
    unknown = row(score=None, grade="", recorded=False, present_fields=(), missing_fields=(), extra_fields=(),
                  unrecorded_fields=("goal", "constraints"))  # fmt: skip
    first = plan(report(unknown), PreviousState())
    assert [delta.attributes[-1][1] for delta in first.deltas if delta.instrument == semconv.M_HANDOFF_FIELDS] == [
        "UNRECORDED",
        "UNRECORDED",
    ]
    samples = plan(report(revision=2), after(report(unknown)))
    assert counts(samples.deltas) == [
        ("orbitrelay.report.count", 1),
        ("orbitrelay.session.completeness", 0.7),
        ("orbitrelay.handoff.revised", 1),
        ("orbitrelay.handoff.completeness", 0.7),
    ]


def test_a_handoff_that_is_no_more_counts_once_as_revised() -> None:
    both = report(row("h1"), row("h2"))
    state = after(both)
    second = report(row("h1"), revision=2)
    assert counts(plan(second, state).deltas) == [("orbitrelay.report.count", 1), ("orbitrelay.handoff.revised", 1)]
    third = report(row("h1"), revision=3)
    assert counts(plan(third, after(second, state)).deltas) == [("orbitrelay.report.count", 1)]


def test_an_uncontracted_or_dropped_handoff_gives_no_completeness_and_no_fields() -> None:
    free = row("h1", contracted=False, missing_fields=(), score=0.98, grade="A", latency_ms=None)
    dropped = row("h2", status="dropped", score=None, grade="", latency_ms=None)
    samples = plan(report(free, dropped, mean_contracted=None, bottlenecks=()), PreviousState())
    assert counts(samples.deltas) == [
        ("orbitrelay.report.count", 1),
        ("orbitrelay.session.count", 1),
        ("orbitrelay.handoff.count", 1),
        ("orbitrelay.handoff.count", 1),
    ]
    assert dict(samples.deltas[3].attributes)["orbitrelay.handoff.grade"] == "unscored"


def test_one_pair_at_fault_in_two_runs_is_two_bottlenecks_and_no_more_in_the_next_revision() -> None:
    twice = report().bottlenecks * 2
    first = report(bottlenecks=twice)
    deltas = plan(first, PreviousState()).deltas
    assert sum(delta.instrument == "orbitrelay.bottleneck.count" for delta in deltas) == 2
    assert counts(plan(report(revision=2, bottlenecks=twice), after(first)).deltas) == [("orbitrelay.report.count", 1)]


def test_hostile_roles_are_cut_and_made_printable() -> None:
    deltas = plan(report(row(source_role="x" * 500, target_role="a\x1b[31m\ud800\n")), PreviousState()).deltas
    pair = dict(deltas[3].attributes)
    assert pair["orbitrelay.handoff.source_role"] == "x" * 99 + "…"
    assert pair["orbitrelay.handoff.target_role"] == "a\ufffd[31m\ufffd\ufffd"


def test_no_attribute_is_outside_the_instruments_row_of_the_table_or_holds_an_id() -> None:
    made = report()
    for delta in plan(made, PreviousState()).deltas:
        assert {key for key, _ in delta.attributes} <= set(semconv.STORED_INSTRUMENTS[delta.instrument].attributes)
        assert not {str(value) for _, value in delta.attributes} & {made.session_id, made.key.value, TRACE_1, "h1"}


def test_latency_is_converted_decimally() -> None:
    assert [latency_seconds(950.3), latency_seconds(1e15), latency_seconds(7)] == [0.9503, 1e12, 0.007]


ROWS: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict,
    score=st.sampled_from([None, 0.4, 0.7, 1.0]),
    grade=st.sampled_from(["", "D", "A"]),
    latency_ms=st.sampled_from([None, 10.0, 20.0]),
    contracted=st.booleans(),
    status=st.sampled_from(["completed", "dropped"]),
    missing_fields=st.sampled_from([(), ("goal",)]),
)


@settings(deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(["h1", "h2", "h3"]), ROWS), min_size=1, max_size=5))
def test_no_history_of_revisions_samples_a_handoff_twice_or_subtracts(history: list[dict[str, dict[str, Any]]]) -> None:
    state = PreviousState()
    totals: dict[str, float] = {}
    handoffs: set[str] = set()
    for revision, rows in enumerate(history, 1):
        made = [row(handoff_id, **changes) for handoff_id, changes in rows.items()]
        random.Random(revision).shuffle(made)
        now = msgspec.structs.replace(report(row()), handoffs=tuple(made), revision=revision)
        before = len([each for each in state.handoffs if each not in rows])
        samples = plan(now, state)
        revised = sum(delta.value for delta in samples.deltas if delta.instrument == "orbitrelay.handoff.revised")
        assert revised <= len(made) + before
        for delta in samples.deltas:
            assert delta.value >= 0
            totals[delta.instrument] = totals.get(delta.instrument, 0) + (
                1
                if delta.instrument in ("orbitrelay.handoff.completeness", "orbitrelay.handoff.latency")
                else delta.value
            )
        handoffs |= set(rows)
        state = after(now, state)
        assert counts(plan(now, state).deltas) == [("orbitrelay.report.count", 1)]
    assert totals.get("orbitrelay.handoff.count", 0) == len(handoffs)
    assert totals["orbitrelay.session.count"] == 1
    assert totals["orbitrelay.report.count"] == len(history)
    assert totals.get("orbitrelay.handoff.completeness", 0) <= len(handoffs)
    assert totals.get("orbitrelay.handoff.latency", 0) <= len(handoffs)
