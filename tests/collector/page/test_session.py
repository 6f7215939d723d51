"""A session as it is shown, from what the engine really reports."""

from __future__ import annotations

import pytest

from collector.page.links import TraceLinks
from collector.page.session import SessionView, session_view
from collector.report import Report
from collector.store import RevisionRow
from orbitrelay import analyse, loads
from tests.collector.page.makers import reported
from tests.collector.page.world import SECOND, incident, long_story

BEGUN = 1_800_000_000 * SECOND


@pytest.fixture(scope="module")
def reports() -> list[Report]:
    return reported(incident("INC-1", BEGUN), long_story("long", BEGUN, 130))


def view(report: Report, first: int = 1, template: str = "") -> SessionView:
    revision = RevisionRow(
        report.session_id,
        report.revision,
        1,
        report.close_reason,
        report.closed_ns,
        (),
        report.mean_score,
        report.grade,
        9,
    )
    return session_view(report, analyse(loads(report.trace_json)), [revision], {}, TraceLinks(template), first)


def test_the_verdict_and_the_ledger_say_what_the_report_says(reports: list[Report]) -> None:
    shown = view(reports[0], template="http://jaeger/trace/{trace_id}?span={span_id}")
    assert (shown.name, shown.score, shown.grade, shown.contract, shown.duration) == (
        "INC-1", "0.91", "A", "incident-desk", "14.3 s",
    )  # fmt: skip
    assert shown.weakest is not None
    row = shown.ledger[2]
    assert row == shown.weakest
    assert (row.number, row.source, row.target, row.score, row.grade, row.latency) == (
        3, "researcher", "engineer", "0.68", "C", "5 s",
    )  # fmt: skip
    assert [(field.name, field.outcome, field.letter) for field in row.fields] == [
        ("goal", "present", "P"),
        ("root_cause_hypothesis", "missing", "M"),
        ("affected_service", "present", "P"),
        ("constraints", "missing", "M"),
        ("confidence", "extra", "X"),
    ]
    assert row.trace_url == f"http://jaeger/trace/{row.trace_id}?span={reports[0].handoffs[2].span_id}"


def test_the_table_of_fields_has_a_letter_where_a_field_has_an_outcome(reports: list[Report]) -> None:
    letters = {row.name: "".join(letter or "." for _, letter, _ in row.cells) for row in view(reports[0]).matrix}
    assert letters == {
        "goal": "PPPPPPP",
        "verdict": "P.....P",
        "constraints": "XXMPEP.",
        "affected_service": ".PP.P..",
        "timeline": ".P.....",
        "root_cause_hypothesis": "..M.P..",
        "confidence": "..X....",
        "patch": "...P.P.",
        "load_evidence": "...M.P.",
    }


def test_the_timeline_has_turns_before_the_handoff_that_they_lead_to(reports: list[Report]) -> None:
    timeline = view(reports[0]).timeline
    assert [(m.tick, m.number) for m in timeline[:4]] == [(1, 0), (1, 1), (2, 0), (2, 2)]
    assert (timeline[0].agent, timeline[0].text, timeline[0].figures) == (
        "commander", "commander: hand over to planner", "360 tokens",
    )  # fmt: skip


def test_a_long_session_is_shown_in_portions(reports: list[Report]) -> None:
    first, second = view(reports[1]), view(reports[1], 101)
    assert (len(first.ledger), len(second.ledger), second.ledger[0].number) == (100, 30, 101)
    assert first.portions == ((1, 100, True), (101, 130, False))
    assert len(first.timeline) + len(second.timeline) == 130 + reports[1].turns
    assert view(reports[1], 999).ledger == first.ledger
