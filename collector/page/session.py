"""One session as it is shown: the verdict, the pictures, the ledger, and what stands beside them.

Separate from the report because a reader wants words, an order and a portion of it; the report says everything, and this what is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from markupsafe import Markup

from collector.page import words
from collector.page.chart import bar
from collector.page.flow import Relay, flow
from collector.page.ledger import LedgerRow, MatrixRow, ledger_row, matrix_row
from collector.page.links import TraceLinks
from collector.page.overview import MOST_AGENTS, overview
from collector.page.revisions import Change, change
from collector.page.svg import grade_class
from collector.page.trail import names_of
from collector.report import BottleneckRow, HandoffRow, Report
from collector.sessions.reasons import CLOSE_REASONS, PARTIAL_REASONS
from collector.store import RevisionRow
from orbitrelay import UNSCORED_REASONS, Analysis, HandoffScore, Turn

PORTION: Final = 100
MOST_FIELDS: Final = 60
MOST_TURNS: Final = 300
COMPARED: Final = 6
_NOTES: Final = 200


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
    ledger = tuple(ledger_row(i + 1, rows[i], scores.handoffs[i], report, links) for i in shown)
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
        weakest=None if weakest is None else ledger_row(weakest + 1, rows[weakest], scores.handoffs[weakest], report, links),
        duration=words.span(report.first_span_ns, report.last_span_ns),
        closed=words.moment(report.closed_ns),
        closed_iso=words.iso(report.closed_ns),
        tokens=words.count(report.tokens),
        overview=overview(relays, roles) if relays else None,
        agents_left_out=max(0, len(agents) - MOST_AGENTS),
        flow=flow([relays[i] for i in shown], roles) if relays else None,
        ledger=ledger,
        matrix=tuple(matrix_row(name, analysis, shown) for name in names[:MOST_FIELDS]),
        fields_left_out=max(0, len(names) - MOST_FIELDS),
        numbers=tuple(i + 1 for i in shown),
        portions=_portions(len(rows), first),
        bottlenecks=tuple(_bottleneck(found, numbers) for found in report.bottlenecks),
        timeline=timeline,
        timeline_left_out=more,
        notes=tuple((note.code.replace("_", " "), words.shown(note.message, 400), words.shown(note.where)) for note in report.notes[:_NOTES]),
        notes_left_out=max(0, len(report.notes) - _NOTES),
        changes=tuple(change(row, before, report) for row in reversed(revisions)),
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
        row.recorded,
    )  # fmt: skip


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
