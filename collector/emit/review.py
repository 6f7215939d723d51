"""Review spans: the verdicts of a report as spans in the traces that the handoffs are in.

Separate from delivery: a pure function of the report. In every trace that holds a handoff stands one `orbitrelay.review`
(child of the span that made the trace's first handoff, so that the trace keeps its one root), and under it one span a
handoff, linked to the span that made it.

Rules:
- ids are a hash of origin trace id, origin span id, handoff id and revision: made again, it is the same span;
- a handoff's span lasts from its request to the start of its target, where the latency is known;
- the session's totals stand on the earliest review span only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from collector import semconv
from collector.emit.metrics import UNSCORED, latency_seconds
from collector.emit.otlp import MAX_LIST, Value, attributes, derived_id
from collector.emit.text import clean
from collector.report import BottleneckRow, HandoffRow, Report

MAX_NAME = 100
"""Longest agent name in a span name."""


def review_spans(report: Report) -> list[Span]:
    """Return the review spans of one report, each trace's review before its handoffs, the earliest trace first."""
    traces: dict[str, list[HandoffRow]] = {trace_id: [] for trace_id in report.traces}
    for row in report.handoffs:
        if row.trace_id:
            traces.setdefault(row.trace_id, []).append(row)
    bottlenecks = bottlenecks_by_handoff(report)
    held = {trace_id: rows for trace_id, rows in traces.items() if rows}
    reviews = {trace_id: _review_id(report, trace_id, rows) for trace_id, rows in held.items()}
    spans: list[Span] = []
    for trace_id, rows in held.items():
        children = [_handoff(report, row, reviews[trace_id], bottlenecks[row.handoff_id]) for row in rows]
        spans.append(_review(report, trace_id, rows, children, reviews))
        spans.extend(children)
    return spans


def bottlenecks_by_handoff(report: Report) -> Mapping[str, list[BottleneckRow]]:
    """Return the bottlenecks that each handoff is part of; an empty list for one that is part of none."""
    bottlenecks: dict[str, list[BottleneckRow]] = defaultdict(list)
    for bottleneck in report.bottlenecks:
        for handoff_id in bottleneck.handoffs:
            bottlenecks[handoff_id].append(bottleneck)
    return bottlenecks


def verdict_events(row: HandoffRow, bottlenecks: Iterable[BottleneckRow], time_ns: int) -> list[Span.Event]:
    """Return the events that tell of one handoff, here and on the span that made it."""
    events = [
        Span.Event(
            name=semconv.E_COMPLETENESS,
            time_unix_nano=time_ns,
            attributes=attributes(
                {
                    semconv.HANDOFF_ID: row.handoff_id,
                    semconv.SCORE: row.score,
                    semconv.GRADE: row.grade or UNSCORED,
                    semconv.MISSING: row.missing_fields or None,
                    semconv.EMPTY: row.empty_fields or None,
                    semconv.EXTRA: row.extra_fields or None,
                    semconv.UNRECORDED: row.unrecorded_fields or None,
                }
            ),
        )
    ]
    events.extend(
        Span.Event(
            name=semconv.E_BOTTLENECK,
            time_unix_nano=time_ns,
            attributes=attributes(
                {
                    semconv.BOTTLENECK_KIND: each.kind,
                    semconv.BOTTLENECK_SUBJECT: each.subject,
                    semconv.BOTTLENECK_SEVERITY: float(each.severity),
                    semconv.BOTTLENECK_MEASURED: float(each.measured),
                    semconv.BOTTLENECK_THRESHOLD: float(each.threshold),
                }
            ),
        )
        for each in bottlenecks
    )
    return events[:MAX_LIST]


def _review(
    report: Report, trace_id: str, rows: list[HandoffRow], children: list[Span], reviews: Mapping[str, bytes]
) -> Span:
    values: dict[str, Value] = {
        semconv.SESSION_ID: report.key.value,
        semconv.SESSION_REVISION: report.revision,
        semconv.CLOSE_REASON: report.close_reason,
        semconv.SESSION_PARTIAL: report.partial or None,
    }
    if trace_id == next(iter(reviews)):
        values |= _totals(report)
    sisters = [other for other in reviews if other != trace_id]
    return Span(
        trace_id=bytes.fromhex(trace_id),
        span_id=reviews[trace_id],
        parent_span_id=bytes.fromhex(rows[0].span_id),
        name=semconv.S_REVIEW,
        kind=Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=min(child.start_time_unix_nano for child in children),
        end_time_unix_nano=max(child.end_time_unix_nano for child in children),
        attributes=attributes(values),
        links=[Span.Link(trace_id=bytes.fromhex(other), span_id=reviews[other]) for other in sisters[:MAX_LIST]],
        dropped_links_count=max(len(sisters) - MAX_LIST, 0),
    )


def _totals(report: Report) -> dict[str, Value]:
    return {
        semconv.SESSION_MEAN: report.mean_score,
        semconv.SESSION_MEAN_CONTRACTED: report.mean_contracted,
        semconv.SESSION_HANDOFFS: len(report.handoffs),
        semconv.SESSION_SCORED: report.scored,
        semconv.SESSION_UNSCORED: report.unscored,
        semconv.SESSION_WEAKEST: report.weakest_handoff or None,
        semconv.SESSION_AGENTS: report.agents,
        semconv.SESSION_TOKENS: report.tokens,
        semconv.CONTRACT_NAME: report.contract_name or None,
        semconv.CONTRACT_HASH: report.contract_hash or None,
    }


def _handoff(report: Report, row: HandoffRow, review: bytes, bottlenecks: list[BottleneckRow]) -> Span:
    start, end = _times(report, row)
    source, target = clean(row.source_agent, MAX_NAME), clean(row.target_agent, MAX_NAME)
    origin = [Span.Link(trace_id=bytes.fromhex(row.trace_id), span_id=bytes.fromhex(row.span_id))]
    return Span(
        trace_id=bytes.fromhex(row.trace_id),
        span_id=derived_id(row.trace_id, row.span_id, row.handoff_id, report.revision),
        parent_span_id=review,
        name=f"handoff {source} -> {target}",
        kind=Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=start,
        end_time_unix_nano=end,
        attributes=attributes(
            {
                semconv.HANDOFF_ID: row.handoff_id,
                semconv.SESSION_REVISION: report.revision,
                semconv.SOURCE_AGENT: row.source_agent,
                semconv.SOURCE_ROLE: row.source_role,
                semconv.TARGET_AGENT: row.target_agent,
                semconv.TARGET_ROLE: row.target_role,
                semconv.MODE: row.mode,
                semconv.STATUS: row.status,
                semconv.EVIDENCE: row.evidence or None,
                semconv.CONTRACTED: row.contracted,
                semconv.RECORDED: row.recorded,
                semconv.SCORE: row.score,
                semconv.GRADE: row.grade or UNSCORED,
                semconv.LATENCY: None if row.latency_ms is None else latency_seconds(row.latency_ms),
            }
        ),
        events=verdict_events(row, bottlenecks, end),
        links=origin if row.span_id else [],
        status=_status(row),
    )


def _status(row: HandoffRow) -> Status:
    if row.status == "dropped":
        return Status(code=Status.STATUS_CODE_ERROR, message="dropped: asked for and never taken up")
    if row.missing_fields:
        return Status(code=Status.STATUS_CODE_ERROR, message=explain("missing", row.missing_fields))
    return Status()


def explain(outcome: str, names: tuple[str, ...]) -> str:
    """Return `missing: goal, constraints`: the names bounded, and how many more there are."""
    shown = ", ".join(clean(name, MAX_NAME) for name in names[:10])
    return f"{outcome}: {shown}{f' and {len(names) - 10} more' if len(names) > 10 else ''}"


def _times(report: Report, row: HandoffRow) -> tuple[int, int]:
    """Start and end of a handoff's span; one of unknown times stands at the start of the session."""
    start = row.start_ns or row.end_ns or report.first_span_ns
    return start, max(row.end_ns, start)


def _review_id(report: Report, trace_id: str, rows: list[HandoffRow]) -> bytes:
    return derived_id(trace_id, rows[0].span_id, semconv.S_REVIEW, report.session_id, report.revision)
