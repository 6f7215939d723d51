"""What becomes of the spans that came in: passed on as they were, or with the verdicts on the spans that made handoffs.

Separate from review spans, which tell the same in spans of our own. Messages are kept as protobuf and only added to, so
that a field which this collector does not know goes through whole.

Rules (annotated):
- spans of traces that show nothing of agents go on at once. Spans end before the spans that they stand in, so the first
  of an agent's trace come without an agent: a trace in which a convention is recognised is held until an agent shows or
  its root has ended without one. What is held is held for at most `hold_s`;
- when a report comes, the held spans of its traces go on, with its events on the spans that made the handoffs;
- each original goes on once: what is learnt later stands only in the review spans, and is counted;
- a request over 3 MiB goes on in parts, because a receiver's usual limit is 4 MiB;
- what is held lives in memory, and the journal keeps the request it came in: after a crash it is held again. Entry ids
  come from the journal position, so what was delivered before the crash is not delivered again.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from typing import Any, TypeVar

import msgspec
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector import semconv
from collector.conventions.registry import default_registry
from collector.emit.health import Health
from collector.emit.json_otlp import from_json
from collector.emit.planner import METRICS, TRACES
from collector.emit.review import bottlenecks_by_handoff, verdict_events
from collector.otlp.model import Batch
from collector.otlp.model import Span as ReceivedSpan
from collector.report import BottleneckRow, Encoding, HandoffRow, OutboxEntry, Position, Record, Report

NANO = 1_000_000_000
PART_BYTES = 3 << 20

_SHAPES = {
    "traces": ("resource_spans", "scope_spans", "spans"),
    "logs": ("resource_logs", "scope_logs", "log_records"),
}
_Request = TypeVar("_Request", bound=Message)
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
        return _whole(record)

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


_Key = tuple[Position, str, int]
"""Where a held part came from: the request's position, the trace, and which part of that trace's spans in it."""


class _Held(msgspec.Struct):
    """The spans of one trace that came in one request, or a part of them."""

    key: _Key
    received_ns: int
    size: int
    request: ExportTraceServiceRequest


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
        for (trace_id, number), part in _by_trace(request).items():
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


def _verdicts(report: Report) -> dict[tuple[str, str], list[tuple[HandoffRow, list[BottleneckRow]]]]:
    verdicts: dict[tuple[str, str], list[tuple[HandoffRow, list[BottleneckRow]]]] = {}
    bottlenecks = bottlenecks_by_handoff(report)
    for row in report.handoffs:
        verdicts.setdefault((row.trace_id, row.span_id), []).append((row, bottlenecks[row.handoff_id]))
    return verdicts


def _whole(record: Record) -> list[OutboxEntry]:
    """The request as it was, or in parts of its order where it is large."""
    payload = to_protobuf(record.body, record.encoding, record.signal)
    entry_id = _entry_id(record.position)
    if len(payload) <= PART_BYTES:
        return [OutboxEntry(entry_id, record.signal, record.signal, payload)]
    request = _REQUESTS[record.signal].FromString(payload)
    sizes: Counter[str] = Counter()
    parts = _split(request, record.signal, lambda item: _part_of(item, "", sizes))
    return [
        OutboxEntry(f"{entry_id}/part/{number}", record.signal, record.signal, part.SerializeToString())
        for (_, number), part in parts.items()
    ]


def _by_trace(request: ExportTraceServiceRequest) -> dict[tuple[str, int], ExportTraceServiceRequest]:
    """The request as one request a trace, or several where a trace's spans in it are large: (trace id, number) -> part."""
    trace_ids = {span.trace_id for span in _spans(request)}
    if len(trace_ids) == 1 and request.ByteSize() <= PART_BYTES:
        return {(trace_ids.pop().hex(), 0): request}
    sizes: Counter[str] = Counter()
    return _split(request, TRACES, lambda span: _part_of(span, span.trace_id.hex(), sizes))


def _part_of(item: Message, group: str, sizes: Counter[str]) -> tuple[str, int]:
    """Which part of its group an item belongs to, by the sizes of those before it."""
    number = sizes[group] // PART_BYTES
    sizes[group] += item.ByteSize()
    return group, number


def _split(
    request: _Request, signal: str, part_of: Callable[[Any], tuple[str, int]]
) -> dict[tuple[str, int], _Request]:
    """The request in parts, each with the resources and scopes that its items stood under."""
    resources_name, scopes_name, items_name = _SHAPES[signal]
    parts: dict[tuple[str, int], _Request] = {}
    for resource in getattr(request, resources_name):
        resources: dict[tuple[str, int], Any] = {}
        for scope in getattr(resource, scopes_name):
            scopes: dict[tuple[str, int], Any] = {}
            for item in getattr(scope, items_name):
                key = part_of(item)
                if key not in scopes:
                    if key not in resources:
                        part = parts.setdefault(key, type(request)())
                        resources[key] = getattr(part, resources_name).add()
                        _copy_head(resource, resources[key], scopes_name)
                    scopes[key] = getattr(resources[key], scopes_name).add()
                    _copy_head(scope, scopes[key], items_name)
                getattr(scopes[key], items_name).append(item)
    return parts


def _copy_head(source: Message, target: Message, without: str) -> None:
    """Copy every field but the one that holds what is split."""
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
    position, trace_id, number = held.key
    entry_id = f"{_entry_id(position)}/{trace_id}{f'/{number}' if number else ''}"
    return OutboxEntry(entry_id, TRACES, "traces", held.request.SerializeToString())


def _entry_id(position: Position) -> str:
    return f"forward/{position.segment}/{position.offset}"
