"""Which samples a report gives to which instruments, given what its session has given before.

Separate from the state of the series: this decides once per revision, that adds up.

Rules:
- each instrument takes one sample per handoff (session, bottleneck), at the first revision that has the value; a mark
  in the session's `sampled` set says that it did;
- what a later revision says otherwise counts once in `orbitrelay.handoff.revised`, also for a handoff that is no more;
- nothing is ever subtracted; `orbitrelay.report.count` counts every revision;
- completeness is of contracted handoffs only, and field names are contract names only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

import msgspec

from collector import semconv
from collector.emit.text import clean
from collector.report import Exemplar, HandoffRow, MetricDelta, PreviousState, Report

UNSCORED = "unscored"
MAX_VALUE = 100
"""Longest value of a metric attribute; roles and service names come from telemetry."""

OF_THE_SESSION = ("session", "session.completeness")
"""Marks of what is said once of a session. The others are of its handoffs and bottlenecks, and go where these go."""

Attributes = tuple[tuple[str, str | bool], ...]


class Samples(msgspec.Struct, frozen=True):
    """What one revision gives: deltas, and the new marks."""

    deltas: tuple[MetricDelta, ...]
    marks: tuple[str, ...]


def plan(report: Report, previous: PreviousState) -> Samples:
    """Return the samples of one revision. Pure: the same report after itself gives nothing but a `report.count`."""
    taken = _Taken(previous.sampled)
    deltas = [MetricDelta(semconv.M_REPORT_COUNT, ((semconv.CLOSE_REASON, report.close_reason),), 1)]
    if taken.first(OF_THE_SESSION[0]):
        deltas.append(MetricDelta(semconv.M_SESSION_COUNT, ((semconv.CLOSE_REASON, report.close_reason),), 1))
    if report.mean_contracted is not None and taken.first(OF_THE_SESSION[1]):
        service = ((semconv.SERVICE_NAME, clean(report.service, MAX_VALUE)),)
        deltas.append(MetricDelta(semconv.M_SESSION_COMPLETENESS, service, report.mean_contracted, _weakest(report)))
    for row in report.handoffs:
        before = previous.handoffs.get(row.handoff_id)
        if before is not None and _is_correction(before, row, taken):
            deltas.append(MetricDelta(semconv.M_HANDOFF_REVISED, _verdict(row), 1, _exemplar(report, row, 1)))
        deltas.extend(_handoff(report, row, taken))
    here = {row.handoff_id for row in report.handoffs}
    for handoff_id, before in previous.handoffs.items():
        if handoff_id not in here and taken.first(f"gone:{handoff_id}"):
            deltas.append(MetricDelta(semconv.M_HANDOFF_REVISED, _verdict(before), 1, _exemplar(report, before, 1)))
    seen: Counter[tuple[str, str]] = Counter()
    for bottleneck in report.bottlenecks:
        which = (bottleneck.kind, bottleneck.subject)
        seen[which] += 1  # the same pair can be at fault in several runs
        if taken.first(f"bottleneck:{bottleneck.kind}:{seen[which]}:{bottleneck.subject}"):
            kind = ((semconv.BOTTLENECK_KIND, bottleneck.kind),)
            deltas.append(MetricDelta(semconv.M_BOTTLENECK_COUNT, kind, 1))
    return Samples(tuple(deltas), tuple(taken.new))


class _Taken:
    """The marks of the session, and those that this revision adds."""

    def __init__(self, before: frozenset[str]) -> None:
        self._before = before
        self.new: dict[str, None] = {}

    def has(self, mark: str) -> bool:
        return mark in self._before

    def first(self, mark: str) -> bool:
        if mark in self._before or mark in self.new:
            return False
        self.new[mark] = None
        return True


def _handoff(report: Report, row: HandoffRow, taken: _Taken) -> Iterator[MetricDelta]:
    """Samples of one handoff."""
    if taken.first(f"count:{row.handoff_id}"):
        yield MetricDelta(semconv.M_HANDOFF_COUNT, _verdict(row), 1, _exemplar(report, row, 1))
    if row.contracted and row.score is not None and taken.first(f"score:{row.handoff_id}"):
        attributes = (*_pair(row), (semconv.SERVICE_NAME, clean(report.service, MAX_VALUE)))
        exemplar = _exemplar(report, row, row.score)
        yield MetricDelta(semconv.M_HANDOFF_COMPLETENESS, attributes, row.score, exemplar)
    if row.latency_ms is not None and taken.first(f"latency:{row.handoff_id}"):
        seconds = latency_seconds(row.latency_ms)
        yield MetricDelta(semconv.M_HANDOFF_LATENCY, _pair(row), seconds, _exemplar(report, row, seconds))
    if row.contracted and row.status == "completed" and taken.first(f"fields:{row.handoff_id}"):
        role = (semconv.TARGET_ROLE, clean(row.target_role, MAX_VALUE))
        for outcome, names in _outcomes(row):
            for name in names:
                field = (semconv.FIELD_NAME, clean(name, MAX_VALUE))
                attributes = (role, field, (semconv.FIELD_OUTCOME, outcome))
                yield MetricDelta(semconv.M_HANDOFF_FIELDS, attributes, 1, _exemplar(report, row, 1))
        if row.extra_fields:
            extra = len(row.extra_fields)
            attributes = (role, (semconv.FIELD_OUTCOME, "EXTRA"))
            yield MetricDelta(semconv.M_HANDOFF_FIELDS, attributes, extra, _exemplar(report, row, extra))


def latency_seconds(latency_ms: float) -> float:
    """Return milliseconds as seconds, decimally: 950.3 ms is 0.9503 s, not 0.9503000000000001."""
    return float(Decimal(repr(latency_ms)) / 1000)


def _outcomes(row: HandoffRow) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return (
        ("PRESENT", row.present_fields),
        ("EMPTY", row.empty_fields),
        ("MISSING", row.missing_fields),
        ("UNRECORDED", row.unrecorded_fields),
    )


def _is_correction(before: HandoffRow, row: HandoffRow, taken: _Taken) -> bool:
    """Whether `row` says otherwise than what was sampled from this handoff; a value that was unknown till now does not."""
    return (
        _verdict(before) != _verdict(row)
        or (taken.has(f"score:{row.handoff_id}") and before.score != row.score)
        or (taken.has(f"latency:{row.handoff_id}") and before.latency_ms != row.latency_ms)
        or (
            taken.has(f"fields:{row.handoff_id}")
            and (_outcomes(before), before.extra_fields) != (_outcomes(row), row.extra_fields)
        )
    )


def _pair(row: HandoffRow) -> Attributes:
    return (
        (semconv.SOURCE_ROLE, clean(row.source_role, MAX_VALUE)),
        (semconv.TARGET_ROLE, clean(row.target_role, MAX_VALUE)),
        (semconv.MODE, row.mode),
    )


def _verdict(row: HandoffRow) -> Attributes:
    return (
        *_pair(row),
        (semconv.STATUS, row.status),
        (semconv.GRADE, row.grade or UNSCORED),
        (semconv.CONTRACTED, row.contracted),
    )


def _weakest(report: Report) -> Exemplar | None:
    """The session's mean points at its weakest handoff."""
    for row in report.handoffs:
        if row.handoff_id == report.weakest_handoff and report.mean_contracted is not None:
            return _exemplar(report, row, report.mean_contracted)
    return None


def _exemplar(report: Report, row: HandoffRow, value: float) -> Exemplar | None:
    if not row.trace_id:
        return None
    return Exemplar(value, row.end_ns or row.start_ns or report.last_span_ns, row.trace_id, row.span_id)
