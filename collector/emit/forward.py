"""What becomes of the spans that came in: passed on as they were, or with the verdicts on the spans that made handoffs.

Separate from review spans, which tell the same in spans of our own. Messages are kept as protobuf and only added to, so
that a field which this collector does not know goes through whole.

Rules (annotated):
- spans of traces without any agent visit go on at once; the others are held for at most `hold_s`;
- when a report comes, the held spans of its traces go on, with its events on the spans that made the handoffs;
- each original goes on once: what is learnt later stands only in the review spans, and is counted;
- what is held lives in memory, and the journal keeps the request it came in: after a crash it is held again. Entry ids
  come from the journal position, so what was delivered before the crash is not delivered again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Container, Iterator, Sequence

import msgspec
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from collector import semconv
from collector.emit.health import Health
from collector.emit.json_otlp import from_json
from collector.emit.planner import METRICS, TRACES
from collector.emit.review import verdict_events
from collector.otlp.model import Batch
from collector.report import BottleneckRow, Encoding, HandoffRow, OutboxEntry, Position, Record, Report

NANO = 1_000_000_000
_REQUESTS: dict[str, type[Message]] = {
    "traces": ExportTraceServiceRequest,
    "logs": ExportLogsServiceRequest,
    "metrics": ExportMetricsServiceRequest,
}


def metrics_entry(body: bytes, encoding: Encoding, entry_id: str) -> OutboxEntry:
    """Return a metrics request as an entry for the downstream. Raises ValueError for JSON that is no OTLP."""
    return OutboxEntry(entry_id, METRICS, "metrics", to_protobuf(body, encoding, "metrics"))


def to_protobuf(body: bytes, encoding: Encoding, signal: str) -> bytes:
    """Return the request in protobuf. Raises ValueError for JSON that is no OTLP."""
    return body if encoding == "protobuf" else from_json(body, _REQUESTS[signal]()).SerializeToString()


class AsReceived:
    """Passes every request on at once, as it was, to those of `destinations` that are for its signal."""

    def __init__(self, destinations: Container[str]) -> None:
        self._destinations = destinations

    def on_record(self, record: Record, batch: Batch, visited: Container[str], replay: bool) -> Sequence[OutboxEntry]:
        """Return the request itself; on a replay too, because its id tells whether it has gone."""
        if record.signal not in self._destinations:
            return ()
        payload = to_protobuf(record.body, record.encoding, record.signal)
        return [OutboxEntry(_entry_id(record.position), record.signal, record.signal, payload)]

    def on_discarded(self, trace_ids: Sequence[str]) -> Sequence[OutboxEntry]:
        """Nothing is held."""
        return ()

    def on_report(self, report: Report) -> Sequence[OutboxEntry]:
        """Nothing is held."""
        return ()

    def on_tick(self, now_ns: int) -> Sequence[OutboxEntry]:
        """Nothing is held."""
        return ()

    def held_from(self) -> Position | None:
        """Nothing is held."""
        return None


class _Held(msgspec.Struct):
    """The spans of one trace that came in one request."""

    position: Position
    trace_id: str
    received_ns: int
    size: int
    request: ExportTraceServiceRequest


class Annotated:
    """Holds the spans of traces with agents until their report, `hold_s`, or `max_bytes` of all that is held."""

    def __init__(
        self, destinations: Container[str], health: Health, hold_s: float = 30.0, max_bytes: int = 64 << 20
    ) -> None:
        self._destinations = destinations
        self._health = health
        self._hold_ns = round(hold_s * NANO)
        self._max_bytes = max_bytes
        self._held: OrderedDict[tuple[Position, str], _Held] = OrderedDict()  # in the order they came
        self._by_trace: dict[str, dict[Position, None]] = {}
        self._bytes = 0
        health.observe(semconv.H_FORWARD_HELD, lambda: [(self._bytes, {})])

    def on_record(self, record: Record, batch: Batch, visited: Container[str], replay: bool) -> Sequence[OutboxEntry]:
        """Hold what may be annotated; return the rest, and what the bound pushes out."""
        if record.signal not in self._destinations:
            return ()
        payload = to_protobuf(record.body, record.encoding, record.signal)
        if record.signal != TRACES:
            return [OutboxEntry(_entry_id(record.position), record.signal, record.signal, payload)]
        request = ExportTraceServiceRequest.FromString(payload)
        out: list[OutboxEntry] = []
        for trace_id, part in _by_trace(request).items():
            held = _Held(record.position, trace_id, record.received_ns, part.ByteSize(), part)
            if trace_id in visited:
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
        verdicts = _verdicts(report)
        out: list[OutboxEntry] = []
        placed: set[str] = set()
        for trace_id in dict.fromkeys((*report.traces, *(row.trace_id for row in report.handoffs))):
            for held in self._release_trace(trace_id):
                for span in _spans(held.request):
                    for row, bottlenecks in verdicts.get((trace_id, span.span_id.hex()), ()):
                        time_ns = span.end_time_unix_nano or span.start_time_unix_nano
                        span.events.extend(verdict_events(row, bottlenecks, time_ns))
                        placed.add(row.handoff_id)
                out.append(_entry(held))
        gone = sum(1 for row in report.handoffs if row.trace_id and row.handoff_id not in placed)
        if gone:
            self._health.add(semconv.H_FORWARD_EARLY, gone)
        return out

    def on_tick(self, now_ns: int) -> Sequence[OutboxEntry]:
        """Let go of what was held long enough."""
        out: list[OutboxEntry] = []
        while self._held:
            key, held = next(iter(self._held.items()))
            if held.received_ns + self._hold_ns > now_ns:
                break
            out.append(_entry(self._release(key)))
        return out

    def held_from(self) -> Position | None:
        """Return the position of the oldest request of which something is held."""
        return min((position for position, _ in self._held), default=None)

    def _hold(self, held: _Held) -> None:
        key = (held.position, held.trace_id)
        if key in self._held:
            return
        self._held[key] = held
        self._by_trace.setdefault(held.trace_id, {})[held.position] = None
        self._bytes += held.size

    def _release_trace(self, trace_id: str) -> list[_Held]:
        return [self._release((position, trace_id)) for position in list(self._by_trace.get(trace_id, ()))]

    def _release(self, key: tuple[Position, str]) -> _Held:
        held = self._held.pop(key)
        positions = self._by_trace[held.trace_id]
        del positions[held.position]
        if not positions:
            del self._by_trace[held.trace_id]
        self._bytes -= held.size
        return held


def make_forwarder(mode: str, destinations: Collection[str], health: Health) -> AsReceived | Annotated | None:
    """Return the forwarder for `traces.forward` to the configured destinations; None where nothing is to be forwarded."""
    if mode == "off" or not destinations:
        return None
    return Annotated(destinations, health) if mode == "annotated" else AsReceived(destinations)


def _verdicts(report: Report) -> dict[tuple[str, str], list[tuple[HandoffRow, list[BottleneckRow]]]]:
    verdicts: dict[tuple[str, str], list[tuple[HandoffRow, list[BottleneckRow]]]] = {}
    for row in report.handoffs:
        behind = [each for each in report.bottlenecks if row.handoff_id in each.handoffs]
        verdicts.setdefault((row.trace_id, row.span_id), []).append((row, behind))
    return verdicts


def _by_trace(request: ExportTraceServiceRequest) -> dict[str, ExportTraceServiceRequest]:
    """The request as one request a trace, each with the resources and scopes its spans stood under."""
    trace_ids = {span.trace_id for span in _spans(request)}
    if len(trace_ids) == 1:
        return {trace_ids.pop().hex(): request}
    parts: dict[str, ExportTraceServiceRequest] = {}
    for resource_spans in request.resource_spans:
        resources: dict[str, ResourceSpans] = {}
        for scope_spans in resource_spans.scope_spans:
            scopes: dict[str, ScopeSpans] = {}
            for span in scope_spans.spans:
                trace_id = span.trace_id.hex()
                if trace_id not in scopes:
                    if trace_id not in resources:
                        part = parts.setdefault(trace_id, ExportTraceServiceRequest())
                        resources[trace_id] = part.resource_spans.add()
                        _copy_head(resource_spans, resources[trace_id], "scope_spans")
                    scopes[trace_id] = resources[trace_id].scope_spans.add()
                    _copy_head(scope_spans, scopes[trace_id], "spans")
                scopes[trace_id].spans.append(span)
    return parts


def _copy_head(source: Message, target: Message, without: str) -> None:
    """Copy every field but the repeated one, fields that this collector does not know too."""
    head = type(source)()
    for field, value in source.ListFields():
        if field.name == without:
            continue
        if field.message_type is not None:
            getattr(head, field.name).CopyFrom(value)
        else:
            setattr(head, field.name, value)
    target.MergeFrom(head)


def _spans(request: ExportTraceServiceRequest) -> Iterator[Span]:
    for resource_spans in request.resource_spans:
        for scope_spans in resource_spans.scope_spans:
            yield from scope_spans.spans


def _entry(held: _Held) -> OutboxEntry:
    entry_id = f"{_entry_id(held.position)}/{held.trace_id}"
    return OutboxEntry(entry_id, TRACES, "traces", held.request.SerializeToString())


def _entry_id(position: Position) -> str:
    return f"forward/{position.segment}/{position.offset}"
