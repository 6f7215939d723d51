"""OTLP requests in protobuf: checked for the accept path, and decoded for everything behind it.

Parsing is the C parser's (upb); what costs is touching its views from Python, so the check touches no span while all are as
they should be, attributes are walked once, and resources and scopes are made once for all the spans below them. No view
outlives the call.

Rules:
- a span without a usable trace or span id is rejected alone, by its path in the request;
- a parent id of zeros or of a wrong length: zeros are a root, the rest rejects the span, since its place is unknown;
- links without usable ids are left out and counted as dropped; a log record without usable ids is tied to no span;
- of two attributes with one key the last counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.otlp import wire
from collector.otlp.checked import Checked
from collector.otlp.columns import count_spans
from collector.otlp.errors import MalformedError
from collector.otlp.model import Batch, Event, Link, LogRecord, Rejection, Resource, Scope, Span
from collector.otlp.values import DEFAULT_LIMITS, SPAN_ID_BYTES, TRACE_ID_BYTES, TRUNCATED, Limits, cut_value

M = TypeVar("M", bound=Message)

NO_TRACE_ID = bytes(TRACE_ID_BYTES)
NO_SPAN_ID = bytes(SPAN_ID_BYTES)


def check_traces(body: bytes) -> Checked:
    """What will be taken of a trace request. Raises MalformedError where the body is no ExportTraceServiceRequest."""
    count = count_spans(body)
    return Checked(count) if count is not None else _sift(*parse(ExportTraceServiceRequest, body))


def _sift(request: ExportTraceServiceRequest, lost: Mapping[str, str]) -> Checked:
    """What will be taken of a request that may hold spans which cannot be."""
    accepted = 0
    rejections: list[Rejection] = []
    for r, resource_spans in enumerate(request.resource_spans):
        for s, scope_spans in enumerate(resource_spans.scope_spans):
            for i, span in enumerate(scope_spans.spans):
                bad = _bad_ids(span.trace_id, span.span_id, span.parent_span_id)
                if bad:
                    rejections.append(_reject(f"resource_spans[{r}].scope_spans[{s}].spans[{i}]", bad, lost))
                else:
                    accepted += 1
    return Checked(accepted, tuple(rejections))


def check_logs(body: bytes) -> Checked:
    """What will be taken of a log request. Raises MalformedError where the body is no ExportLogsServiceRequest."""
    request, lost = parse(ExportLogsServiceRequest, body)
    records = sum(len(logs.log_records) for resource in request.resource_logs for logs in resource.scope_logs)
    if not lost:
        return Checked(records)
    rejections = [
        Rejection(path, lost[path])
        for r, resource_logs in enumerate(request.resource_logs)
        for s, scope_logs in enumerate(resource_logs.scope_logs)
        for i in range(len(scope_logs.log_records))
        if (path := f"resource_logs[{r}].scope_logs[{s}].log_records[{i}]") in lost
    ]
    return Checked(records - len(rejections), tuple(rejections))


def trace_ids(body: bytes) -> set[str]:
    """The traces of a trace request that passed the check: those of the spans that will be taken."""
    request, _ = parse(ExportTraceServiceRequest, body)
    return {
        span.trace_id.hex()
        for resource_spans in request.resource_spans
        for scope_spans in resource_spans.scope_spans
        for span in scope_spans.spans
        if not _bad_ids(span.trace_id, span.span_id, span.parent_span_id)
    }


def log_trace_ids(body: bytes) -> set[str]:
    """The traces of a log request that passed the check; records of no trace are left out."""
    request, _ = parse(ExportLogsServiceRequest, body)
    found = {
        _log_ids(log.trace_id, log.span_id)[0].hex()
        for resource_logs in request.resource_logs
        for scope_logs in resource_logs.scope_logs
        for log in scope_logs.log_records
    }
    return found - {""}


def decode_traces(body: bytes, limits: Limits = DEFAULT_LIMITS) -> Batch:
    """The spans of a trace request. Raises MalformedError where the body is no ExportTraceServiceRequest."""
    request, lost = parse(ExportTraceServiceRequest, body)
    spans: list[Span] = []
    rejections: list[Rejection] = []
    for r, resource_spans in enumerate(request.resource_spans):
        resource = _resource(resource_spans, limits)
        for s, scope_spans in enumerate(resource_spans.scope_spans):
            scope = _scope(scope_spans, limits)
            for i, span in enumerate(scope_spans.spans):
                trace, span_id, parent = span.trace_id, span.span_id, span.parent_span_id
                bad = _bad_ids(trace, span_id, parent)
                if bad:
                    rejections.append(_reject(f"resource_spans[{r}].scope_spans[{s}].spans[{i}]", bad, lost))
                    continue
                links = _links(span.links, limits) if span.links else ()
                status = span.status
                spans.append(
                    Span(
                        trace.hex(),
                        span_id.hex(),
                        span.name,
                        parent.hex() if parent != NO_SPAN_ID else "",
                        span.kind,
                        span.start_time_unix_nano,
                        span.end_time_unix_nano,
                        _attributes(span.attributes, limits),
                        _events(span.events, limits) if span.events else (),
                        links,
                        status.code,
                        status.message,
                        span.dropped_attributes_count,
                        span.dropped_events_count,
                        span.dropped_links_count + len(span.links) - len(links),
                        span.trace_state,
                        span.flags,
                        scope,
                        resource,
                    )
                )
    return Batch(spans=tuple(spans), rejections=tuple(rejections))


def decode_logs(body: bytes, limits: Limits = DEFAULT_LIMITS) -> Batch:
    """The records of a log request. Raises MalformedError where the body is no ExportLogsServiceRequest."""
    request, lost = parse(ExportLogsServiceRequest, body)
    logs: list[LogRecord] = []
    rejections: list[Rejection] = []
    for r, resource_logs in enumerate(request.resource_logs):
        resource = _resource(resource_logs, limits)
        for s, scope_logs in enumerate(resource_logs.scope_logs):
            scope = _scope(scope_logs, limits)
            for i, log in enumerate(scope_logs.log_records):
                if lost:
                    path = f"resource_logs[{r}].scope_logs[{s}].log_records[{i}]"
                    if path in lost:
                        rejections.append(Rejection(path, lost[path]))
                        continue
                trace, span_id = _log_ids(log.trace_id, log.span_id)
                attributes = _attributes(log.attributes, limits)
                body_value, cut = _cut(log.body, limits)
                if cut:
                    attributes["body" + TRUNCATED] = True
                logs.append(
                    LogRecord(
                        trace.hex(),
                        span_id.hex(),
                        log.event_name,
                        body_value,
                        log.time_unix_nano,
                        log.observed_time_unix_nano,
                        log.severity_number,
                        log.severity_text,
                        log.flags,
                        attributes,
                        log.dropped_attributes_count,
                        scope,
                        resource,
                    )
                )
    return Batch(logs=tuple(logs), rejections=tuple(rejections))


def parse(kind: Callable[[], M], body: bytes) -> tuple[M, Mapping[str, str]]:
    """The message, and the items that were emptied so that the rest could be read: path -> why.

    Raises MalformedError where not even the rest can be read.
    """
    request = kind()
    try:
        request.ParseFromString(body)
    except DecodeError:
        if body[:1] in (b"{", b"["):
            raise MalformedError(f"a protobuf {request.DESCRIPTOR.name}", "JSON text", "byte 0") from None
        mended, lost = wire.mend(body, request.DESCRIPTOR)
        request = kind()
        try:
            request.ParseFromString(mended)
        except DecodeError as err:
            raise MalformedError(f"a protobuf {request.DESCRIPTOR.name}", f"bytes that are none ({err})") from None
        return request, lost
    return request, {}


def _bad_ids(trace: bytes, span: bytes, parent: bytes) -> tuple[str, str] | None:
    """The field at fault and what is wrong with it, or None where the ids are usable."""
    if len(trace) == 16 and len(span) == 8 and len(parent) in (0, 8) and trace != NO_TRACE_ID and span != NO_SPAN_ID:
        return None
    for name, value, size, zero in (("trace_id", trace, 16, NO_TRACE_ID), ("span_id", span, 8, NO_SPAN_ID)):
        if len(value) != size:
            return name, f"expected {size} bytes, found {len(value)}"
        if value == zero:
            return name, f"expected an id, found {size} zero bytes"
    if parent and len(parent) != 8:
        return "parent_span_id", f"expected 8 bytes or none, found {len(parent)}"
    return None


def _reject(path: str, bad: tuple[str, str], lost: Mapping[str, str]) -> Rejection:
    if path in lost:
        return Rejection(path, lost[path])
    return Rejection(f"{path}.{bad[0]}", bad[1])


def _log_ids(trace: bytes, span: bytes) -> tuple[bytes, bytes]:
    """The ids of a log record: a trace id alone is kept, a span id without its trace is none."""
    if len(trace) != 16 or trace == NO_TRACE_ID:
        return b"", b""
    if len(span) != 8 or span == NO_SPAN_ID:
        return trace, b""
    return trace, span


def _resource(owner: Any, limits: Limits) -> Resource:
    resource = owner.resource
    return Resource(_attributes(resource.attributes, limits), owner.schema_url, resource.dropped_attributes_count)


def _scope(owner: Any, limits: Limits) -> Scope:
    scope = owner.scope
    return Scope(
        scope.name,
        scope.version,
        _attributes(scope.attributes, limits),
        owner.schema_url,
        scope.dropped_attributes_count,
    )


def _events(events: Iterable[Any], limits: Limits) -> tuple[Event, ...]:
    return tuple(
        Event(event.name, event.time_unix_nano, _attributes(event.attributes, limits), event.dropped_attributes_count)
        for event in events
    )


def _links(links: Iterable[Any], limits: Limits) -> tuple[Link, ...]:
    return tuple(
        Link(
            link.trace_id.hex(),
            link.span_id.hex(),
            _attributes(link.attributes, limits),
            link.trace_state,
            link.flags,
            link.dropped_attributes_count,
        )
        for link in links
        if not _bad_ids(link.trace_id, link.span_id, b"")
    )


def _attributes(pairs: Iterable[Any], limits: Limits) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    length = limits.length
    for pair in pairs:
        # Nine in ten are strings: asking for the string first is cheaper than asking which it is.
        value = pair.value
        text = value.string_value
        if text and len(text) <= length:
            attributes[pair.key] = text
            continue
        attributes[pair.key], cut = _cut(value, limits)
        if cut:
            attributes[pair.key + TRUNCATED] = True
    return attributes


def _cut(value: Any, limits: Limits) -> tuple[Any, bool]:
    return cut_value(_value(value), limits)


def _value(value: Any) -> Any:
    """An AnyValue as Python. The C parser bounds how deep it nests."""
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return {pair.key: _value(pair.value) for pair in value.kvlist_value.values}
    return getattr(value, kind)
