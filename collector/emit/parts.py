"""OTLP requests taken apart: by trace, and by size where a receiver would refuse them.

Separate from forwarding, which decides what goes when. Messages are never rebuilt: each part holds the very spans or log
records, under copies of the resources and scopes that they stood under.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector import semconv
from collector.emit.json_otlp import from_json
from collector.otlp.encode import logs_to_protobuf, traces_to_protobuf
from collector.report import Encoding

PART_BYTES = 3 << 20
"""Size of a part: a receiver's usual limit is 4 MiB."""

_SHAPES = {
    "traces": ("resource_spans", "scope_spans", "spans"),
    "logs": ("resource_logs", "scope_logs", "log_records"),
    "metrics": ("resource_metrics", "scope_metrics", "metrics"),
}
_READERS: dict[str, Callable[[bytes], bytes]] = {"traces": traces_to_protobuf, "logs": logs_to_protobuf}
_Request = TypeVar("_Request", bound=Message)
_REQUESTS: dict[str, type[Message]] = {
    "traces": ExportTraceServiceRequest,
    "logs": ExportLogsServiceRequest,
    "metrics": ExportMetricsServiceRequest,
}


def to_protobuf(body: bytes, encoding: Encoding, signal: str) -> bytes:
    """Return the request in protobuf. Raises ValueError for JSON that is no OTLP."""
    if encoding == "protobuf":
        return body
    try:
        return from_json(body, _REQUESTS[signal]()).SerializeToString()
    except ValueError:
        if signal not in _READERS:
            raise
        return _READERS[signal](body)  # such as half a surrogate pair: what was accepted goes on as far as it was read


def without_own(payload: bytes, signal: str) -> bytes:
    """Return an encoded request without what we made ourselves; empty where nothing else is in it."""
    if semconv.SCOPE_NAME.encode() not in payload:
        return payload
    outer, inner, _ = _SHAPES[signal]
    request: Any = _REQUESTS[signal].FromString(payload)
    for resource in getattr(request, outer):
        scopes = getattr(resource, inner)
        kept = [scope for scope in scopes if not semconv.is_own(scope.scope.name)]
        del scopes[:]
        scopes.extend(kept)
    resources = getattr(request, outer)
    kept = [resource for resource in resources if getattr(resource, inner)]
    del resources[:]
    resources.extend(kept)
    return bytes(request.SerializeToString())


def by_size(payload: bytes, signal: str) -> list[bytes]:
    """Return an encoded request of traces or logs as requests of about PART_BYTES at most, in its order."""
    if len(payload) <= PART_BYTES:
        return [payload]
    request = _REQUESTS[signal].FromString(payload)
    sizes: Counter[str] = Counter()
    parts = _split(request, signal, lambda item: _part_of(item, "", sizes))
    return [part.SerializeToString() for part in parts.values()]


def by_trace(request: ExportTraceServiceRequest) -> dict[tuple[str, int], ExportTraceServiceRequest]:
    """Return the request as one request a trace, or several where a trace's spans in it are large: (trace id, number) -> part."""
    trace_ids = {span.trace_id for span in spans_of(request)}
    if len(trace_ids) == 1 and request.ByteSize() <= PART_BYTES:
        return {(trace_ids.pop().hex(), 0): request}
    sizes: Counter[str] = Counter()
    return _split(request, "traces", lambda span: _part_of(span, span.trace_id.hex(), sizes))


def spans_of(request: ExportTraceServiceRequest) -> Iterator[Span]:
    """Yield the spans of a request, in its order."""
    for resource_spans in request.resource_spans:
        for scope_spans in resource_spans.scope_spans:
            yield from scope_spans.spans


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
