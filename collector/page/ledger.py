"""The ledger of a session: its handoffs as rows, and the table of what became of each field in each of them.

Separate from the page of the session because what an outcome is called, and by which letter it is marked, is said here alone.
"""

from __future__ import annotations

from typing import Final

import msgspec

from collector.page import words
from collector.page.links import TraceLinks
from collector.page.svg import grade_class
from collector.report import HandoffRow, Report
from orbitrelay import UNSCORED_REASONS, Analysis, HandoffScore, Outcome
from orbitrelay.inspector import is_empty

LETTERS: Final[dict[str, tuple[str, str]]] = {
    "PRESENT": ("P", "handed over with a value"),
    "EMPTY": ("E", "handed over empty"),
    "MISSING": ("M", "required, and not handed over"),
    "EXTRA": ("X", "handed over, and not asked for"),
    "UNRECORDED": ("U", "required, and nobody can know"),
    "HISTORY": ("H", "not handed over, only visible in the history"),
}
"""How an outcome is marked in the table of fields: a letter, and what it means."""


class FieldMark(msgspec.Struct, frozen=True):
    """One field of one handoff in the ledger."""

    name: str
    key: str
    outcome: str
    letter: str
    state: str


class LedgerRow(msgspec.Struct, frozen=True):
    """One handoff."""

    number: int
    handoff_id: str
    source: str
    source_role: str
    target: str
    target_role: str
    mode: str
    dropped: bool
    evidence: str
    convention: str
    reason: str
    score: str
    grade: str
    grade_class: str
    why: str
    contract: str
    latency: str
    offset: str
    weakest: bool
    fields: tuple[FieldMark, ...]
    recorded: bool
    trace_url: str
    trace_id: str


class MatrixRow(msgspec.Struct, frozen=True):
    """One field over the handoffs shown: a cell each, (class, letter, in words), "" where it has nothing to do with it."""

    name: str
    key: str
    cells: tuple[tuple[str, str, str], ...]


def ledger_row(number: int, row: HandoffRow, score: HandoffScore, report: Report, links: TraceLinks) -> LedgerRow:
    """One handoff as it is written; `number` counts from 1."""
    begun = row.start_ns - report.first_span_ns if row.start_ns and report.first_span_ns else None
    return LedgerRow(
        number=number,
        handoff_id=row.handoff_id,
        source=words.shown(row.source_agent),
        source_role=words.shown(row.source_role),
        target=words.shown(row.target_agent),
        target_role=words.shown(row.target_role),
        mode=row.mode,
        dropped=row.status == "dropped",
        evidence=row.evidence,
        convention=words.shown(row.convention),
        reason=words.shown(row.reason, 160),
        score=words.score(row.score),
        grade=row.grade,
        grade_class=grade_class(row.grade, row.contracted),
        why="" if row.score is not None else UNSCORED_REASONS.get(score.unscored_reason or "", ""),
        contract=words.shown(score.inspection.contract_role) if row.contracted else "",
        latency=words.milliseconds(row.latency_ms),
        offset="" if begun is None or begun < 0 else "+" + words.milliseconds(begun / 1_000_000),
        weakest=row.handoff_id == report.weakest_handoff,
        fields=_marks(score),
        recorded=row.recorded,
        trace_url=links(row.trace_id, row.span_id),
        trace_id=row.trace_id,
    )


def _marks(score: HandoffScore) -> tuple[FieldMark, ...]:
    inspection = score.inspection
    state = {field.name: field.state for field in inspection.handoff.fields if field.state != "full"}
    outcomes = [(name, str(outcome.value)) for name, outcome in inspection.outcomes()]
    known = {name for name, _ in outcomes}
    outcomes += [(name, "HISTORY") for name in inspection.history if name not in known]
    return tuple(
        FieldMark(words.shown(name, 40), name, outcome.lower(), LETTERS[outcome][0], state.get(name, ""))
        for name, outcome in outcomes
    )


def matrix_row(name: str, analysis: Analysis, shown: range) -> MatrixRow:
    """One field over the handoffs shown."""
    return MatrixRow(words.shown(name, 40), name, tuple(_cell(name, analysis.scores.handoffs[i]) for i in shown))


def _cell(name: str, score: HandoffScore) -> tuple[str, str, str]:
    inspection = score.inspection
    outcome = next((str(found.value) for field, found in inspection.outcomes() if field == name), "")
    if not outcome and name in inspection.history:
        outcome = "HISTORY"
    if outcome == Outcome.EXTRA and any(
        field.name == name and is_empty(field.value) for field in inspection.handoff.fields
    ):
        return "extra", "x", "handed over empty, and not asked for"
    return (outcome.lower(), *LETTERS[outcome]) if outcome else ("", "", "")
