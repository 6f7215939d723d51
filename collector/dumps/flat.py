"""Spans as single records, flat or with their children inside, as span stores and SDK consoles write them.

One reader, because these differ only in what they call the same things: Phoenix and OpenInference data frames
(`context.trace_id`, `attributes.input.value` as columns), Phoenix's API, `ReadableSpan.to_json` of the OpenTelemetry SDKs,
Logfire's and ClickHouse's rows, AgentOps (`trace` beside `spans`) and trees of `child_spans`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from collector.dumps.values import (
    Json,
    attributes_of,
    duration,
    events_of,
    first,
    in_range,
    links_of,
    nanoseconds,
    span_id,
    trace_id,
)
from collector.otlp.json_schema import SPAN_KINDS, STATUS_CODES
from collector.otlp.model import Batch, Rejection, Resource, Scope, Span

FORMAT = "flattened spans"
TREE_FORMAT = "nested spans"
FRAME_FORMAT = "flattened spans by column"

_TRACE = ("trace_id", "traceId", "traceID", "TraceId", "context.trace_id", "context.traceId")
_SPAN = ("span_id", "spanId", "spanID", "SpanId", "context.span_id", "context.spanId")
_PARENT = ("parent_id", "parent_span_id", "parentSpanId", "parentId", "parentSpanID", "ParentSpanId")
_NAME = ("name", "span_name", "spanName", "SpanName", "operation_name", "operationName")
_START = (
    "start_time",
    "startTime",
    "start_timestamp",
    "startTimeUnixNano",
    "start_time_unix_nano",
    "timestamp",
    "Timestamp",
)
_END = ("end_time", "endTime", "end_timestamp", "endTimeUnixNano", "end_time_unix_nano")
_ATTRIBUTES = ("attributes", "span_attributes", "spanAttributes", "SpanAttributes")
_RESOURCE = ("resource_attributes", "resourceAttributes", "ResourceAttributes", "otel_resource_attributes")
_SERVICE = ("service_name", "serviceName", "ServiceName")
_SCOPE = ("scope_name", "scopeName", "ScopeName", "otel_scope_name", "instrumentation_scope_name")
_SCOPE_VERSION = ("scope_version", "scopeVersion", "ScopeVersion", "otel_scope_version")
_SCOPES = ("scope", "instrumentation_scope", "instrumentationScope", "instrumentation_info", "instrumentationLibrary")
_STATUS = ("status_code", "statusCode", "StatusCode", "otel_status_code")
_MESSAGE = ("status_message", "statusMessage", "StatusMessage", "otel_status_message")
_CHILDREN = ("children", "child_spans", "childSpans")

# Units of a bare number under this name: AgentOps and ClickHouse count nanoseconds, the rest say so.
_DURATIONS = (
    ("duration", 1),
    ("Duration", 1),
    ("duration_ns", 1),
    ("duration_us", 10**3),
    ("duration_ms", 10**6),
    ("latency_ms", 10**6),
)

_OPENINFERENCE = frozenset(
    {"LLM", "CHAIN", "AGENT", "TOOL", "RETRIEVER", "EMBEDDING", "RERANKER", "GUARDRAIL", "EVALUATOR"}
)
_COLUMN = "attributes."


def is_span(record: Mapping[str, Any]) -> bool:
    """Whether the record has a span id and something to tell the rest of a span by."""
    context = record.get("context")
    ids = context if isinstance(context, dict) else record
    return first(ids, *_SPAN, *_TRACE[4:]) is not None and first(record, *_NAME) is not None


def is_tree(record: Mapping[str, Any]) -> bool:
    """Whether the record is a trace: spans in a list, or a span with children."""
    spans = record.get("spans")
    return isinstance(spans, list) and any(isinstance(span, dict) and is_span(span) for span in spans)


def is_frame(record: Mapping[str, Any]) -> bool:
    """Whether the record is a table by column: what pandas writes when it is told nothing else."""
    return isinstance(first(record, "context.span_id", "span_id"), dict) and isinstance(record.get("name"), dict)


def read_span(record: Json) -> Batch:
    """One span, and its children where it has them inside."""
    return _read(_walk(record, "", "", "$"))


def read_tree(record: Json) -> Batch:
    """The spans of one trace object."""
    head = record.get("trace")
    trace = first(record, *_TRACE) or (first(head, *_TRACE) if isinstance(head, dict) else None)
    walks = (
        step
        for index, span in enumerate(record["spans"])
        for step in _walk(span, trace_id(trace), "", f"$.spans[{index}]")
    )
    return _read(walks)


def read_frame(record: Json) -> Batch:
    """The rows of a table that is written column by column."""
    rows = first(record, "context.span_id", "span_id") or {}
    columns = {name: column for name, column in record.items() if isinstance(column, dict)}
    return _read(
        step
        for row in rows
        for step in _walk({name: column.get(row) for name, column in columns.items()}, "", "", f"row {row}")
    )


def _walk(record: Any, trace: str, parent: str, path: str) -> Iterator[tuple[Any, str, str, str]]:
    """A span and all below it, each with the trace and parent that it has by its place. Not recursive: trees go deep."""
    todo = [(record, trace, parent, path)]
    while todo:
        record, trace, parent, path = todo.pop()
        yield record, trace, parent, path
        if not isinstance(record, dict):
            continue
        ids = _ids(record, trace)
        for name in _CHILDREN:
            children = record.get(name)
            if isinstance(children, list):
                todo += [(child, ids[0], ids[1], f"{path}.{name}[{i}]") for i, child in enumerate(children)][::-1]


def _read(walk: Iterator[tuple[Any, str, str, str]]) -> Batch:
    spans: list[Span] = []
    rejections: list[Rejection] = []
    resources: dict[bytes, Resource] = {}
    scopes: dict[tuple[str, str], Scope] = {}
    for record, trace, parent, path in walk:
        if not isinstance(record, dict):
            rejections.append(Rejection(path, "expected an object"))
            continue
        ids = _ids(record, trace)
        if not all(ids):
            rejections.append(Rejection(path, "expected a trace id and a span id"))
            continue
        spans.append(_span(record, ids, parent, resources, scopes))
    return Batch(spans=tuple(spans), rejections=tuple(rejections))


def _ids(record: Json, trace: str) -> tuple[str, str]:
    context = record.get("context")
    ids = context if isinstance(context, dict) else record
    return trace_id(first(ids, *_TRACE)) or trace, span_id(first(ids, *_SPAN))


def _span(
    record: Json,
    ids: tuple[str, str],
    parent: str,
    resources: dict[bytes, Resource],
    scopes: dict[tuple[str, str], Scope],
) -> Span:
    attributes = attributes_of(first(record, *_ATTRIBUTES))
    columns = {name.removeprefix(_COLUMN): value for name, value in record.items() if name.startswith(_COLUMN)}
    attributes |= attributes_of(columns)
    kind = _kind(record, attributes)
    start = nanoseconds(first(record, *_START))
    status, message = _status(record)
    resource = _resource(record)
    library = _scope(record)
    return Span(
        trace_id=ids[0],
        span_id=ids[1],
        name=str(first(record, *_NAME) or ""),
        parent_span_id=_parent(record) or parent,
        kind=kind,
        start_unix_nano=start,
        end_unix_nano=_end(record, start),
        attributes=attributes,
        events=events_of(first(record, "events", "Events", "otel_events")),
        links=links_of(first(record, "links", "Links", "otel_links")),
        status_code=status,
        status_message=message,
        scope=scopes.setdefault(library, Scope(*library)),
        resource=resources.setdefault(msgspec.json.encode(resource), Resource(resource)),
    )


def _parent(record: Json) -> str:
    parent = record.get("parent") or record.get("parentSpanContext")
    if isinstance(parent, dict):
        return span_id(first(parent, *_SPAN))
    return span_id(first(record, *_PARENT))


def _end(record: Json, start: int) -> int:
    if end := nanoseconds(first(record, *_END)):
        return end
    if not start:
        return 0
    for name, unit in _DURATIONS:
        if record.get(name) is not None:
            return in_range(start + duration(record[name], unit))
    return 0


def _kind(record: Json, attributes: Json) -> int:
    """The OpenTelemetry kind. Phoenix has OpenInference's kind in its place: that becomes an attribute."""
    value = first(record, "kind", "span_kind", "spanKind", "SpanKind")
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 0 <= value < len(SPAN_KINDS) else 0
    name = str(value or "").upper().rpartition(".")[2].removeprefix("SPAN_KIND_")
    if name in _OPENINFERENCE:
        attributes.setdefault("openinference.span.kind", name)
    return SPAN_KINDS.index(name) if name in SPAN_KINDS else 0


def _status(record: Json) -> tuple[int, str]:
    value = record.get("status")
    held = value if isinstance(value, dict) else {}
    code = first(held, "status_code", "code") if held else first(record, *_STATUS) or value
    message = first(held, "description", "message") or first(record, *_MESSAGE) or ""
    if isinstance(code, int) and not isinstance(code, bool):
        return code if 0 <= code < len(STATUS_CODES) else 0, str(message)
    name = str(code or "").upper().rpartition(".")[2].removeprefix("STATUS_CODE_")
    return STATUS_CODES.index(name) if name in STATUS_CODES else 0, str(message)


def _resource(record: Json) -> Json:
    held = record.get("resource")
    attributes = attributes_of(held.get("attributes", held) if isinstance(held, dict) else first(record, *_RESOURCE))
    attributes.pop("schema_url", None)
    if (service := first(record, *_SERVICE)) is not None:
        attributes.setdefault("service.name", str(service))
    return attributes


def _scope(record: Json) -> tuple[str, str]:
    held = first(record, *_SCOPES)
    if isinstance(held, dict):
        return str(held.get("name") or ""), str(held.get("version") or "")
    return str(first(record, *_SCOPE) or ""), str(first(record, *_SCOPE_VERSION) or "")
