"""What becomes of the spans that came in: passed on as they were, or with the verdicts on the spans that made handoffs.

Separate from review spans, which tell the same in spans of our own. Messages are kept as protobuf and only added to, so
that a field which this collector does not know goes through whole.

Rules (annotated):
- spans of traces that show nothing of agents go on at once. Spans end before the spans that they stand in, so the first
  of an agent's trace come without an agent: a trace in which a convention is recognised is held until an agent shows or
  its root has ended without one. What is held is held for at most `hold_s`;
- when a report comes, the held spans of its traces go on, with its events on the spans that made the handoffs; spans of a
  session that is still open at the end of `hold_s` go on with the verdicts so far, drops excepted: they may yet be taken up;
- each original goes on once: what is learnt later stands only in the review spans, and is counted;
- a request over 3 MiB goes on in parts, because a receiver's usual limit is 4 MiB;
- what is held lives in memory, and the journal keeps the request it came in: after a crash it is held again. Entry ids
  come from the journal position, so what was delivered before the crash is not delivered again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Container, Iterable, Sequence

import msgspec
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector import semconv
from collector.conventions.registry import default_registry
from collector.emit.health import Health
from collector.emit.parts import by_size, by_trace, spans_of, to_protobuf, without_own
from collector.emit.planner import METRICS, TRACES
from collector.emit.review import bottlenecks_by_handoff, verdict_events
from collector.otlp.model import Batch
from collector.otlp.model import Span as ReceivedSpan
from collector.report import BottleneckRow, Encoding, HandoffRow, OutboxEntry, Position, Record, Report

NANO = 1_000_000_000

GLIMPSE_S = 6
"""How long before held spans must go the verdicts so far are asked for."""
MAX_TOLD = 10_000
"""Handoffs remembered as told before their report."""


def metrics_entry(body: bytes, encoding: Encoding, entry_id: str) -> OutboxEntry:
    """Return a metrics request as an entry for the downstream, of no bytes where all of it is our own.

    Raises ValueError for what is no OTLP.
    """
    try:
        payload = without_own(to_protobuf(body, encoding, "metrics"), "metrics")
    except DecodeError as error:
        raise ValueError(str(error)) from error
    return OutboxEntry(entry_id, METRICS, "metrics", payload)


class AsReceived:
    """Passes every request on at once, as it was, to those of `destinations` that are for its signal."""

    def __init__(self, destinations: Container[str]) -> None:
        self._destinations = destinations

    def on_record(self, record: Record, batch: Batch, visited: Container[str], replay: bool) -> Sequence[OutboxEntry]:
        """Return the request itself; on a replay too, because its id tells whether it has gone."""
        if record.signal not in self._destinations:
            return ()
        return _whole(record)

    def on_discarded(self, trace_ids: Sequence[str]) -> Sequence[OutboxEntry]:
        """Nothing is held."""
        return ()

    def on_report(self, report: Report) -> Sequence[OutboxEntry]:
        """Nothing is held."""
        return ()

    def wanted(self, now_ns: int) -> Sequence[str]:
        """Nothing is held."""
        return ()

    def on_glimpse(self, report: Report) -> None:
        """Nothing is held."""

    def on_tick(self, now_ns: int) -> Sequence[OutboxEntry]:
        """Nothing is held."""
        return ()

    def held_from(self) -> Position | None:
        """Nothing is held."""
        return None


_Verdicts = dict[str, list[tuple[HandoffRow, list[BottleneckRow]]]]
_Key = tuple[Position, str, int]
"""Where a held part came from: the request's position, the trace, and which part of that trace's spans in it."""


class _Held(msgspec.Struct):
    """The spans of one trace that came in one request, or a part of them."""

    key: _Key
    received_ns: int
    size: int
    request: ExportTraceServiceRequest
    asked: bool = False


class Annotated:
    """Holds the spans of traces with agents until their report, `hold_s`, or `max_bytes` of all that is held."""

    def __init__(
        self,
        destinations: Container[str],
        health: Health,
        recognises: Callable[[ReceivedSpan], bool],
        hold_s: float = 30.0,
        max_bytes: int = 64 << 20,
    ) -> None:
        self._destinations = destinations
        self._recognises = recognises
        self._health = health
        self._hold_ns = round(hold_s * NANO)
        self._max_bytes = max_bytes
        self._held: OrderedDict[_Key, _Held] = OrderedDict()  # in the order they came
        self._by_trace: dict[str, dict[_Key, None]] = {}
        self._bytes = 0
        self._glimpsed: dict[str, _Verdicts] = {}  # by trace, while something of it is held
        self._told: OrderedDict[str, HandoffRow] = OrderedDict()  # by handoff, until its report or MAX_TOLD later ones
        health.observe(semconv.H_FORWARD_HELD, lambda: [(self._bytes, {})])

    def on_record(self, record: Record, batch: Batch, visited: Container[str], replay: bool) -> Sequence[OutboxEntry]:
        """Hold what may be annotated; return the rest, and what the bound pushes out."""
        if record.signal not in self._destinations:
            return ()
        if record.signal != TRACES:
            return _whole(record)
        request = ExportTraceServiceRequest.FromString(to_protobuf(record.body, record.encoding, TRACES))
        out: list[OutboxEntry] = []
        agents = self._of_agents(batch, visited)
        for trace_id in {span.trace_id for span in batch.spans} - agents:
            out += self.on_discarded([trace_id])
        for (trace_id, number), part in by_trace(request).items():
            held = _Held((record.position, trace_id, number), record.received_ns, part.ByteSize(), part)
            if trace_id in agents:
                self._hold(held)
            else:
                out.append(_entry(held))
        while self._bytes > self._max_bytes:
            out.append(_entry(self._release(next(iter(self._held)))))
        return out

    def on_discarded(self, trace_ids: Sequence[str]) -> Sequence[OutboxEntry]:
        """Let go of traces that turned out to hold no session."""
        return [_entry(held) for trace_id in trace_ids for held in self._release_trace(trace_id)]

    def on_report(self, report: Report) -> Sequence[OutboxEntry]:
        """Let go of the report's traces, with its verdicts on the spans that made the handoffs."""
        verdicts = _verdicts(report, report.handoffs)
        out: list[OutboxEntry] = []
        for trace_id in dict.fromkeys((*report.traces, *(row.trace_id for row in report.handoffs))):
            for held in self._release_trace(trace_id):
                self._annotate(held, verdicts.get(trace_id, {}))
                out.append(_entry(held))
        untold = 0
        for row in report.handoffs:
            told = self._told.pop(row.handoff_id, None)
            untold += bool(row.trace_id) and (told is None or _verdict(told) != _verdict(row))
        if untold:
            self._health.add(semconv.H_FORWARD_EARLY, untold)
        return out

    def wanted(self, now_ns: int) -> Sequence[str]:
        """Return traces of which something goes within GLIMPSE_S, each part's once."""
        found: dict[str, None] = {}
        for held in self._held.values():
            if held.received_ns + self._hold_ns - GLIMPSE_S * NANO > now_ns:
                break
            if not held.asked:
                held.asked = True
                found[held.key[1]] = None
        return tuple(found)

    def on_glimpse(self, report: Report) -> None:
        """Keep the verdicts so far for what is held of the report's traces."""
        rows = [row for row in report.handoffs if row.status != "dropped"]
        for trace_id, verdicts in _verdicts(report, rows).items():
            if trace_id in self._by_trace:
                self._glimpsed[trace_id] = verdicts

    def on_tick(self, now_ns: int) -> Sequence[OutboxEntry]:
        """Let go of what was held long enough."""
        out: list[OutboxEntry] = []
        while self._held:
            key, held = next(iter(self._held.items()))
            if held.received_ns + self._hold_ns > now_ns:
                break
            verdicts = self._glimpsed.get(held.key[1], {})
            self._annotate(held, verdicts)
            out.append(_entry(self._release(key)))
        return out

    def held_from(self) -> Position | None:
        """Return the position of the oldest request of which something is held."""
        return min((position for position, _, _ in self._held), default=None)

    def _of_agents(self, batch: Batch, visited: Container[str]) -> set[str]:
        """Traces of a request that hold agents, or may yet turn out to."""
        ended = {span.trace_id for span in batch.spans if not span.parent_span_id and span.end_unix_nano}
        return {
            span.trace_id
            for span in batch.spans
            if span.trace_id in visited
            or (span.trace_id not in ended and (span.trace_id in self._by_trace or self._recognises(span)))
        }

    def _annotate(self, held: _Held, verdicts: _Verdicts) -> None:
        """Put events on the spans that made handoffs."""
        if not verdicts:
            return
        for span in spans_of(held.request):
            for row, bottlenecks in verdicts.get(span.span_id.hex(), ()):
                time_ns = span.end_time_unix_nano or span.start_time_unix_nano
                span.events.extend(verdict_events(row, bottlenecks, time_ns))
                self._told[row.handoff_id] = row
        while len(self._told) > MAX_TOLD:
            self._told.popitem(last=False)

    def _hold(self, held: _Held) -> None:
        if held.key in self._held:
            return
        self._held[held.key] = held
        self._by_trace.setdefault(held.key[1], {})[held.key] = None
        self._bytes += held.size

    def _release_trace(self, trace_id: str) -> list[_Held]:
        return [self._release(key) for key in list(self._by_trace.get(trace_id, ()))]

    def _release(self, key: _Key) -> _Held:
        held = self._held.pop(key)
        keys = self._by_trace[key[1]]
        del keys[key]
        if not keys:
            del self._by_trace[key[1]]
            self._glimpsed.pop(key[1], None)
        self._bytes -= held.size
        return held


def make_forwarder(mode: str, destinations: Collection[str], health: Health) -> AsReceived | Annotated | None:
    """Return the forwarder for `traces.forward` to the configured destinations; None where nothing is to be forwarded."""
    if mode == "off" or not destinations:
        return None
    if mode == "as_received":
        return AsReceived(destinations)
    registry = default_registry()
    return Annotated(destinations, health, lambda span: registry.of_span(span) is not None)


def _verdicts(report: Report, rows: Iterable[HandoffRow]) -> dict[str, _Verdicts]:
    """Verdicts by trace and by the span that made the handoff."""
    verdicts: dict[str, _Verdicts] = {}
    bottlenecks = bottlenecks_by_handoff(report)
    for row in rows:
        of_trace = verdicts.setdefault(row.trace_id, {})
        of_trace.setdefault(row.span_id, []).append((row, bottlenecks[row.handoff_id]))
    return verdicts


def _verdict(row: HandoffRow) -> tuple[object, ...]:
    """What the events on an original say of a handoff, bottlenecks apart."""
    return (row.score, row.grade, row.missing_fields, row.empty_fields, row.extra_fields, row.unrecorded_fields)


def _whole(record: Record) -> list[OutboxEntry]:
    """The request as it was, or in parts of its order where it is large."""
    parts = by_size(to_protobuf(record.body, record.encoding, record.signal), record.signal)
    entry_id = _entry_id(record.position)
    if len(parts) == 1:
        return [OutboxEntry(entry_id, record.signal, record.signal, parts[0])]
    return [
        OutboxEntry(f"{entry_id}/part/{number}", record.signal, record.signal, part)
        for number, part in enumerate(parts)
    ]


def _entry(held: _Held) -> OutboxEntry:
    position, trace_id, number = held.key
    entry_id = f"{_entry_id(position)}/{trace_id}{f'/{number}' if number else ''}"
    return OutboxEntry(entry_id, TRACES, "traces", held.request.SerializeToString())


def _entry_id(position: Position) -> str:
    return f"forward/{position.segment}/{position.offset}"
