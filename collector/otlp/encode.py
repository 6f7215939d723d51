"""Batches written out as OTLP requests, in both encodings.

Apart from the decoders because few need both: forwarding, redaction and the journal's one encoding (protobuf) do.

Rules:
- spans that share a resource and a scope object share a ResourceSpans and a ScopeSpans, in order of first appearance;
- what a decoder read comes out the same: decode(encode(batch)) == batch, apart from rejections.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from collector.otlp import json
from collector.otlp.json_schema import (
    AnyValueJson,
    ArrayValueJson,
    EventJson,
    KeyValueJson,
    KeyValueListJson,
    LinkJson,
    LogRecordJson,
    LogsJson,
    ResourceJson,
    ResourceLogsJson,
    ResourceSpansJson,
    ScopeJson,
    ScopeLogsJson,
    ScopeSpansJson,
    SpanJson,
    StatusJson,
    TracesJson,
)
from collector.otlp.model import Attributes, Batch, Event, Link, LogRecord, Resource, Scope, Span
from collector.otlp.values import INT64_MAX, INT64_MIN, UNLIMITED

Item = TypeVar("Item", Span, LogRecord)

_JSON = msgspec.json.Encoder()


def encode_traces(batch: Batch) -> bytes:
    """The spans of the batch as an ExportTraceServiceRequest in protobuf."""
    request = ExportTraceServiceRequest()
    for resource, scopes in _grouped(batch.spans):
        resource_spans = request.resource_spans.add()
        _fill_resource(resource_spans, resource)
        for scope, spans in scopes:
            scope_spans = resource_spans.scope_spans.add()
            _fill_scope(scope_spans, scope)
            for span in spans:
                _fill_span(scope_spans.spans.add(), span)
    return request.SerializeToString()


def encode_logs(batch: Batch) -> bytes:
    """The records of the batch as an ExportLogsServiceRequest in protobuf."""
    request = ExportLogsServiceRequest()
    for resource, scopes in _grouped(batch.logs):
        resource_logs = request.resource_logs.add()
        _fill_resource(resource_logs, resource)
        for scope, logs in scopes:
            scope_logs = resource_logs.scope_logs.add()
            _fill_scope(scope_logs, scope)
            for log in logs:
                _fill_log(scope_logs.log_records.add(), log)
    return request.SerializeToString()


def encode_traces_json(batch: Batch) -> bytes:
    """The spans of the batch as canonical OTLP/JSON."""
    return _JSON.encode(
        TracesJson(
            [
                ResourceSpansJson(
                    _resource_json(resource),
                    [
                        ScopeSpansJson(_scope_json(scope), [_span_json(s) for s in spans], scope.schema_url or None)
                        for scope, spans in scopes
                    ],
                    resource.schema_url or None,
                )
                for resource, scopes in _grouped(batch.spans)
            ]
        )
    )


def encode_logs_json(batch: Batch) -> bytes:
    """The records of the batch as canonical OTLP/JSON."""
    return _JSON.encode(
        LogsJson(
            [
                ResourceLogsJson(
                    _resource_json(resource),
                    [
                        ScopeLogsJson(_scope_json(scope), [_log_json(r) for r in logs], scope.schema_url or None)
                        for scope, logs in scopes
                    ],
                    resource.schema_url or None,
                )
                for resource, scopes in _grouped(batch.logs)
            ]
        )
    )


def traces_to_protobuf(body: bytes) -> bytes:
    """A JSON trace request as one of protobuf, without the spans that are rejected. Raises MalformedError."""
    return encode_traces(json.decode_traces(body, UNLIMITED))


def logs_to_protobuf(body: bytes) -> bytes:
    """A JSON log request as one of protobuf. Raises MalformedError."""
    return encode_logs(json.decode_logs(body, UNLIMITED))


def _grouped(items: Iterable[Item]) -> list[tuple[Resource, list[tuple[Scope, list[Item]]]]]:
    """By identity: decoders make one object for all that share it, and equality would cost more than it saves."""
    resources: dict[int, tuple[Resource, dict[int, tuple[Scope, list[Item]]]]] = {}
    for item in items:
        _, scopes = resources.setdefault(id(item.resource), (item.resource, {}))
        scopes.setdefault(id(item.scope), (item.scope, []))[1].append(item)
    return [(resource, list(scopes.values())) for resource, scopes in resources.values()]


# ------------------------------------------------------------------ protobuf


def _fill_resource(owner: Any, resource: Resource) -> None:
    owner.resource.attributes.extend(_pairs(resource.attributes))
    owner.resource.dropped_attributes_count = resource.dropped_attributes_count
    owner.schema_url = resource.schema_url


def _fill_scope(owner: Any, scope: Scope) -> None:
    owner.scope.name = scope.name
    owner.scope.version = scope.version
    owner.scope.attributes.extend(_pairs(scope.attributes))
    owner.scope.dropped_attributes_count = scope.dropped_attributes_count
    owner.schema_url = scope.schema_url


def _fill_span(out: Any, span: Span) -> None:
    out.trace_id = bytes.fromhex(span.trace_id)
    out.span_id = bytes.fromhex(span.span_id)
    out.parent_span_id = bytes.fromhex(span.parent_span_id)
    out.trace_state = span.trace_state
    out.flags = span.flags
    out.name = span.name
    out.kind = span.kind
    out.start_time_unix_nano = span.start_unix_nano
    out.end_time_unix_nano = span.end_unix_nano
    out.attributes.extend(_pairs(span.attributes))
    out.dropped_attributes_count = span.dropped_attributes_count
    for event in span.events:
        _fill_event(out.events.add(), event)
    out.dropped_events_count = span.dropped_events_count
    for link in span.links:
        _fill_link(out.links.add(), link)
    out.dropped_links_count = span.dropped_links_count
    out.status.code = span.status_code
    out.status.message = span.status_message


def _fill_event(out: Any, event: Event) -> None:
    out.time_unix_nano = event.time_unix_nano
    out.name = event.name
    out.attributes.extend(_pairs(event.attributes))
    out.dropped_attributes_count = event.dropped_attributes_count


def _fill_link(out: Any, link: Link) -> None:
    out.trace_id = bytes.fromhex(link.trace_id)
    out.span_id = bytes.fromhex(link.span_id)
    out.trace_state = link.trace_state
    out.flags = link.flags
    out.attributes.extend(_pairs(link.attributes))
    out.dropped_attributes_count = link.dropped_attributes_count


def _fill_log(out: Any, log: LogRecord) -> None:
    out.trace_id = bytes.fromhex(log.trace_id)
    out.span_id = bytes.fromhex(log.span_id)
    out.time_unix_nano = log.time_unix_nano
    out.observed_time_unix_nano = log.observed_time_unix_nano
    out.severity_number = log.severity_number
    out.severity_text = log.severity_text
    out.event_name = log.event_name
    out.flags = log.flags
    if log.body is not None:
        out.body.CopyFrom(_any_value(log.body))
    out.attributes.extend(_pairs(log.attributes))
    out.dropped_attributes_count = log.dropped_attributes_count


def _pairs(attributes: Attributes) -> list[KeyValue]:
    return [KeyValue(key=key, value=_any_value(value)) for key, value in attributes.items()]


def _any_value(value: Any) -> AnyValue:
    out = AnyValue()
    if isinstance(value, str):
        out.string_value = value
    elif isinstance(value, bool):
        out.bool_value = value
    elif isinstance(value, int):
        if INT64_MIN <= value <= INT64_MAX:
            out.int_value = value
        else:
            out.string_value = str(value)
    elif isinstance(value, float):
        out.double_value = value
    elif isinstance(value, bytes):
        out.bytes_value = value
    elif isinstance(value, dict):
        out.kvlist_value.SetInParent()
        out.kvlist_value.values.extend(_pairs(value))
    elif isinstance(value, list | tuple):
        out.array_value.SetInParent()
        out.array_value.values.extend(_any_value(item) for item in value)
    return out


# ---------------------------------------------------------------------- JSON


def _resource_json(resource: Resource) -> ResourceJson:
    return ResourceJson(_pairs_json(resource.attributes), resource.dropped_attributes_count or None)


def _scope_json(scope: Scope) -> ScopeJson:
    return ScopeJson(
        scope.name or None, scope.version or None, _pairs_json(scope.attributes), scope.dropped_attributes_count or None
    )


def _span_json(span: Span) -> SpanJson:
    status = StatusJson(span.status_message or None, span.status_code or None)
    return SpanJson(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_span_id=span.parent_span_id or None,
        name=span.name or None,
        kind=span.kind or None,
        start_time_unix_nano=_long(span.start_unix_nano),
        end_time_unix_nano=_long(span.end_unix_nano),
        attributes=_pairs_json(span.attributes),
        events=[
            EventJson(
                _long(event.time_unix_nano),
                event.name or None,
                _pairs_json(event.attributes),
                event.dropped_attributes_count or None,
            )
            for event in span.events
        ]
        or None,
        links=[
            LinkJson(
                link.trace_id,
                link.span_id,
                link.trace_state or None,
                _pairs_json(link.attributes),
                link.dropped_attributes_count or None,
                link.flags or None,
            )
            for link in span.links
        ]
        or None,
        status=status if span.status_code or span.status_message else None,
        trace_state=span.trace_state or None,
        flags=span.flags or None,
        dropped_attributes_count=span.dropped_attributes_count or None,
        dropped_events_count=span.dropped_events_count or None,
        dropped_links_count=span.dropped_links_count or None,
    )


def _log_json(log: LogRecord) -> LogRecordJson:
    return LogRecordJson(
        trace_id=log.trace_id or None,
        span_id=log.span_id or None,
        time_unix_nano=_long(log.time_unix_nano),
        observed_time_unix_nano=_long(log.observed_time_unix_nano),
        severity_number=log.severity_number or None,
        severity_text=log.severity_text or None,
        event_name=log.event_name or None,
        body=_any_value_json(log.body) if log.body is not None else None,
        attributes=_pairs_json(log.attributes),
        dropped_attributes_count=log.dropped_attributes_count or None,
        flags=log.flags or None,
    )


def _long(value: int) -> str | None:
    return str(value) if value else None


def _pairs_json(attributes: Attributes) -> list[KeyValueJson] | None:
    return [KeyValueJson(key, _any_value_json(value)) for key, value in attributes.items()] or None


def _any_value_json(value: Any) -> AnyValueJson:
    if isinstance(value, str):
        return AnyValueJson(string_value=value)
    if isinstance(value, bool):
        return AnyValueJson(bool_value=value)
    if isinstance(value, int):
        text = str(value)
        inside = INT64_MIN <= value <= INT64_MAX
        return AnyValueJson(int_value=text) if inside else AnyValueJson(string_value=text)
    if isinstance(value, float):
        return AnyValueJson(double_value=value if math.isfinite(value) else _NOT_FINITE[str(value)])
    if isinstance(value, bytes):
        return AnyValueJson(bytes_value=base64.b64encode(value).decode())
    if isinstance(value, dict):
        return AnyValueJson(kvlist_value=KeyValueListJson(_pairs_json(value) or []))
    if isinstance(value, list | tuple):
        return AnyValueJson(array_value=_array_json(value))
    return AnyValueJson()


_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _array_json(values: Sequence[Any]) -> ArrayValueJson:
    return ArrayValueJson([_any_value_json(value) for value in values])
