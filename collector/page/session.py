"""One session as it is shown: the verdict, the pictures, the ledger, and what stands beside them.

Separate from the report because a reader wants words, an order and a portion of it; the report says everything, and this what is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from markupsafe import Markup

from collector.page import words
from collector.page.chart import bar, grade_of
from collector.page.flow import Relay, flow
from collector.page.links import TraceLinks
from collector.page.overview import MOST_AGENTS, overview
from collector.page.svg import grade_class
from collector.page.trail import names_of
from collector.report import BottleneckRow, HandoffRow, Report
from collector.sessions.reasons import CLOSE_REASONS, PARTIAL_REASONS
from collector.store import RevisionRow
from orbitrelay import UNSCORED_REASONS, Analysis, HandoffScore, Outcome, Turn
from orbitrelay.inspector import is_empty

PORTION: Final = 100
MOST_FIELDS: Final = 60
MOST_TURNS: Final = 300
COMPARED: Final = 6
_NOTES: Final = 200

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
    trace_url: str
    trace_id: str


class MatrixRow(msgspec.Struct, frozen=True):
    """One field over the handoffs shown: a cell each, (class, letter, in words), "" where it has nothing to do with it."""

    name: str
    key: str
    cells: tuple[tuple[str, str, str], ...]


class Moment(msgspec.Struct, frozen=True):
    """One entry of the timeline: a turn (`number` 0) or a handoff."""

    tick: int
    number: int
    agent: str
    target: str
    text: str
    figures: str
    grade: str
    grade_class: str
    dropped: bool
    mode: str


class Change(msgspec.Struct, frozen=True):
    """A revision, and what it changed of the one before it; `changes` is None where the two were not compared."""

    revision: int
    closed: str
    closed_iso: str
    reason: str
    score: str
    grade: str
    grade_class: str
    spans: str
    changes: tuple[str, ...] | None


class Bottleneck(msgspec.Struct, frozen=True):
    """One bottleneck as it is written."""

    kind: str
    subject: str
    severity: str
    bar: Markup
    sentence: str
    numbers: tuple[int, ...]
    more: int


class SessionView(msgspec.Struct, frozen=True):
    """Everything on the page of a session."""

    session_id: str
    name: str
    revision: int
    latest: int
    report: Report
    service: str
    score: str
    grade: str
    grade_class: str
    contracted: str
    why_no_score: str
    close_reason: str
    partial: tuple[str, ...]
    contract: str
    roles_without_contract: tuple[tuple[str, int], ...]
    unscored: tuple[tuple[int, str], ...]
    weakest: LedgerRow | None
    duration: str
    closed: str
    closed_iso: str
    tokens: str
    overview: Markup | None
    agents_left_out: int
    flow: Markup | None
    ledger: tuple[LedgerRow, ...]
    matrix: tuple[MatrixRow, ...]
    fields_left_out: int
    numbers: tuple[int, ...]
    portions: tuple[tuple[int, int, bool], ...]
    bottlenecks: tuple[Bottleneck, ...]
    timeline: tuple[Moment, ...]
    timeline_left_out: int
    notes: tuple[tuple[str, str, str], ...]
    notes_left_out: int
    changes: tuple[Change, ...]
    traces: tuple[tuple[str, str], ...]


def session_view(
    report: Report,
    analysis: Analysis,
    revisions: Sequence[RevisionRow],
    before: Mapping[int, Report],
    links: TraceLinks,
    first: int = 1,
) -> SessionView:
    """Make the view. `before`: reports of revisions to compare, by number; `first`: the number of the first handoff shown."""
    rows, scores = report.handoffs, analysis.scores
    relays = [
        _relay(number, row, score) for number, (row, score) in enumerate(zip(rows, scores.handoffs, strict=True), 1)
    ]
    roles = {agent.agent_id: agent.role for agent in analysis.trace.agents}
    first = first if 1 <= first <= len(rows) else 1
    shown = range(first - 1, min(first - 1 + PORTION, len(rows)))
    ledger = tuple(_ledger_row(i + 1, rows[i], scores.handoffs[i], report, links) for i in shown)
    weakest = next((i for i, row in enumerate(rows) if row.handoff_id == report.weakest_handoff), None)
    names = names_of(analysis)
    agents = {agent for relay in relays for agent in (relay.source, relay.target)}
    timeline, more = _timeline(analysis, relays, shown)
    numbers = {row.handoff_id: number for number, row in enumerate(rows, 1)}
    without: dict[str, int] = {}
    for row in rows:
        if not row.contracted and row.mode != "return":
            without[words.shown(row.target_role)] = without.get(words.shown(row.target_role), 0) + 1
    return SessionView(
        session_id=report.session_id,
        name=words.shown(report.name, 120),
        revision=report.revision,
        latest=max((row.revision for row in revisions), default=report.revision),
        report=report,
        service=words.shown(report.service),
        score=words.score(report.mean_score),
        grade=report.grade,
        grade_class=grade_class(report.grade, report.mean_contracted is not None),
        contracted=words.score(report.mean_contracted),
        why_no_score=scores.no_score_reason or "",
        close_reason=CLOSE_REASONS.get(report.close_reason, report.close_reason),
        partial=tuple(PARTIAL_REASONS.get(reason, reason) for reason in report.partial),
        contract=words.shown(report.contract_name) or report.contract_hash[:12],
        roles_without_contract=tuple(without.items()),
        unscored=tuple((n, UNSCORED_REASONS[reason]) for reason, n in scores.unscored_reasons.items()),
        weakest=None if weakest is None else _ledger_row(weakest + 1, rows[weakest], scores.handoffs[weakest], report, links),
        duration=words.span(report.first_span_ns, report.last_span_ns),
        closed=words.moment(report.closed_ns),
        closed_iso=words.iso(report.closed_ns),
        tokens=words.count(report.tokens),
        overview=overview(relays, roles) if relays else None,
        agents_left_out=max(0, len(agents) - MOST_AGENTS),
        flow=flow([relays[i] for i in shown], roles) if relays else None,
        ledger=ledger,
        matrix=tuple(_matrix_row(name, analysis, shown) for name in names[:MOST_FIELDS]),
        fields_left_out=max(0, len(names) - MOST_FIELDS),
        numbers=tuple(i + 1 for i in shown),
        portions=_portions(len(rows), first),
        bottlenecks=tuple(_bottleneck(found, numbers) for found in report.bottlenecks),
        timeline=timeline,
        timeline_left_out=more,
        notes=tuple((note.code.replace("_", " "), words.shown(note.message, 400), words.shown(note.where)) for note in report.notes[:_NOTES]),
        notes_left_out=max(0, len(report.notes) - _NOTES),
        changes=tuple(_change(row, before, report) for row in reversed(revisions)),
        traces=tuple((trace_id, links(trace_id)) for trace_id in report.traces[:20]),
    )  # fmt: skip


def _relay(number: int, row: HandoffRow, score: HandoffScore) -> Relay:
    lost = [f"missing {', '.join(row.missing_fields)}"] if row.missing_fields else []
    lost += [f"empty {', '.join(row.empty_fields)}"] if row.empty_fields else []
    remark = "; ".join(lost) if row.score is not None else UNSCORED_REASONS.get(score.unscored_reason or "", "")
    carried = sum(field.seen_in != "history" for field in score.inspection.handoff.fields)
    return Relay(
        number, row.source_agent, row.target_agent, row.mode, row.status == "dropped", row.grade, row.score, carried,
        row.latency_ms, row.contracted, words.shown(remark, 200), bool(lost) and row.score is not None,
    )  # fmt: skip


def _ledger_row(number: int, row: HandoffRow, score: HandoffScore, report: Report, links: TraceLinks) -> LedgerRow:
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


def _matrix_row(name: str, analysis: Analysis, shown: range) -> MatrixRow:
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


def _portions(handoffs: int, first: int) -> tuple[tuple[int, int, bool], ...]:
    starts = sorted({*range(1, handoffs + 1, PORTION), first}) if handoffs > PORTION else []
    return tuple((start, min(start + PORTION - 1, handoffs), start == first) for start in starts)


def _bottleneck(found: BottleneckRow, numbers: Mapping[str, int]) -> Bottleneck:
    behind = tuple(numbers[handoff] for handoff in found.handoffs if handoff in numbers)
    return Bottleneck(
        kind=found.kind.replace("_", " "),
        subject=words.shown(found.subject, 120),
        severity=words.score(found.severity),
        bar=bar(found.severity, "severity"),
        sentence=words.shown(found.sentence, 400),
        numbers=behind[:30],
        more=max(0, len(behind) - 30),
    )


def _timeline(analysis: Analysis, relays: Sequence[Relay], shown: range) -> tuple[tuple[Moment, ...], int]:
    """Turns and handoffs by tick, of the ticks that the portion covers; of equal ticks the turn comes first: it is what hands over."""
    handoffs = analysis.trace.handoffs
    turns = list(analysis.trace.turns)
    if handoffs and len(handoffs) > len(shown):
        low = handoffs[shown.start].tick if shown.start else None
        high = handoffs[shown.stop].tick if shown.stop < len(handoffs) else None
        turns = [t for t in turns if (low is None or t.tick >= low) and (high is None or t.tick < high)]
    entries = [(turn.tick, 0, place, _turn(turn)) for place, turn in enumerate(turns[:MOST_TURNS])]
    entries += [(handoffs[i].tick, 1, i, _passed(handoffs[i].tick, relays[i])) for i in shown]
    entries.sort(key=lambda entry: entry[:3])
    return tuple(entry[3] for entry in entries), max(0, len(turns) - MOST_TURNS)


def _turn(turn: Turn) -> Moment:
    tokens = "" if turn.tokens is None else words.counted(turn.tokens, "token")
    text = "(not recorded)" if turn.text is None else words.block(turn.text, 280)
    return Moment(turn.tick, 0, words.shown(turn.agent_id), "", text, tokens, "", "", False, "turn")


def _passed(tick: int, relay: Relay) -> Moment:
    figures = words.milliseconds(relay.latency_ms) if relay.latency_ms is not None else ""
    return Moment(
        tick, relay.number, words.shown(relay.source), words.shown(relay.target), relay.remark, figures, relay.grade,
        grade_class(relay.grade, relay.contracted), relay.dropped, relay.mode,
    )  # fmt: skip


def _change(row: RevisionRow, before: Mapping[int, Report], shown: Report) -> Change:
    now, then = before.get(row.revision), before.get(row.revision - 1)
    return Change(
        revision=row.revision,
        closed=words.moment(row.closed_ns),
        closed_iso=words.iso(row.closed_ns),
        reason=CLOSE_REASONS.get(row.close_reason, row.close_reason),
        score=words.score(row.mean_score),
        grade=row.grade,
        grade_class=grade_class(row.grade, (now or shown).mean_contracted is not None),
        spans=words.count(row.spans),
        changes=None if now is None or then is None else tuple(changes(then, now)),
    )


def changes(then: Report, now: Report) -> list[str]:
    """What one revision says and the one before it did not, in sentences."""
    said = []
    if now.spans != then.spans:
        said.append(
            f"{words.counted(abs(now.spans - then.spans), 'span')} {'more' if now.spans > then.spans else 'fewer'}"
        )
    if now.contract_hash != then.contract_hash:
        said.append("held against another contract")
    old, new = ({row.handoff_id: row for row in report.handoffs} for report in (then, now))
    for verb, some, other in (("found", new, old), ("gone", old, new)):
        for row in [row for handoff, row in some.items() if handoff not in other][:5]:
            said.append(f"handoff {verb}: {words.shown(row.source_agent)} → {words.shown(row.target_agent)}")
    for handoff, row in new.items():
        was = old.get(handoff)
        if was is not None and (was.score, was.status, was.missing_fields, was.empty_fields) != (
            row.score, row.status, row.missing_fields, row.empty_fields,
        ):  # fmt: skip
            arrow = f"{words.shown(row.source_agent)} → {words.shown(row.target_agent)}"
            said.append(f"{arrow}: {_verdict(was)}, now {_verdict(row)}")
    was_slow, is_slow = ([(b.kind, b.subject) for b in report.bottlenecks] for report in (then, now))
    said += [f"new bottleneck: {_subject(found)}" for found in is_slow if found not in was_slow]
    said += [f"no longer a bottleneck: {_subject(found)}" for found in was_slow if found not in is_slow]
    if then.partial != now.partial:
        said.append("partial: " + ", ".join(now.partial).replace("_", " ") if now.partial else "no longer partial")
    return said[:20] + ([f"and {len(said) - 20} more"] if len(said) > 20 else []) or ["nothing that is shown here"]


def _subject(found: tuple[str, str]) -> str:
    return f"{found[0].replace('_', ' ')} {words.shown(found[1])}"


def _verdict(row: HandoffRow) -> str:
    lost = ", ".join(
        f"{word} {words.shown(name)}"
        for word, names in (("missing", row.missing_fields), ("empty", row.empty_fields))
        for name in names[:4]
    )
    mark = (
        "dropped" if row.status == "dropped" else f"{words.score(row.score)} {row.grade or grade_of(row.score)}".strip()
    )
    return mark + (f" ({lost})" if lost else "")
