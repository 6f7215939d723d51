"""OTLP requests in JSON: their heads for the accept path, and their telemetry for everything behind it.

Canonical OTLP/JSON, and what the specification asks a receiver to bear: 64-bit integers as strings or numbers, enums as
numbers or names, ids in hex of either case, unknown fields, nulls, and field names in snake_case (every protobuf-JSON
parser takes both). Types are checked by msgspec in C while it decodes; only what it cannot say is checked in Python.
A stock protobuf-JSON parser is not used: it reads hex ids as base64 without a word.

Rules:
- a span of the wrong types or without usable ids is rejected alone, by its JSON path;
- a value that no type holds (an integer over 64 bits, text that is no base64) stays the text it came as;
- everything else is as in protobuf: one request in both encodings gives equal batches.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from collector.otlp.errors import MalformedError
from collector.otlp.heads import Heads, KeySearch, Row, usable
from collector.otlp.model import Batch, Event, Link, LogRecord, Rejection, Resource, Scope, Span
from collector.otlp.values import (
    DEFAULT_LIMITS,
    INT64_MAX,
    INT64_MIN,
    NO_SPAN_ID,
    NO_TRACE_ID,
    SPAN_ID_BYTES,
    TRACE_ID_BYTES,
    TRUNCATED,
    UINT64_MAX,
    Limits,
    cut_value,
    id_from_text,
)

Number = int | float | str | None  # a 64-bit integer, however it is spelled
Enum = int | float | str | None

SPAN_KINDS = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
STATUS_CODES = ("UNSET", "OK", "ERROR")


class _Wire(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """A message of OTLP as JSON spells it. Every field may be absent or null; both are its default."""


class AnyValueJson(_Wire):
    string_value: str | None = None
    bool_value: bool | None = None
    int_value: Number = None
    double_value: float | str | None = None
    array_value: ArrayValueJson | None = None
    kvlist_value: KeyValueListJson | None = None
    bytes_value: str | None = None


class ArrayValueJson(_Wire):
    values: list[AnyValueJson | None] | None = None


class KeyValueJson(_Wire):
    key: str | None = None
    value: AnyValueJson | None = None


class KeyValueListJson(_Wire):
    values: list[KeyValueJson] | None = None


class EventJson(_Wire):
    time_unix_nano: Number = None
    name: str | None = None
    attributes: list[KeyValueJson] | None = None
    dropped_attributes_count: Number = None


class LinkJson(_Wire):
    trace_id: str | None = None
    span_id: str | None = None
    trace_state: str | None = None
    attributes: list[KeyValueJson] | None = None
    dropped_attributes_count: Number = None
    flags: Number = None


class StatusJson(_Wire):
    message: str | None = None
    code: Enum = None


class SpanJson(_Wire):
    trace_id: str | None = None
    span_id: str | None = None
    parent_span_id: str | None = None
    name: str | None = None
    kind: Enum = None
    start_time_unix_nano: Number = None
    end_time_unix_nano: Number = None
    attributes: list[KeyValueJson] | None = None
    events: list[EventJson] | None = None
    links: list[LinkJson] | None = None
    status: StatusJson | None = None
    trace_state: str | None = None
    flags: Number = None
    dropped_attributes_count: Number = None
    dropped_events_count: Number = None
    dropped_links_count: Number = None


class LogRecordJson(_Wire):
    trace_id: str | None = None
    span_id: str | None = None
    time_unix_nano: Number = None
    observed_time_unix_nano: Number = None
    severity_number: Enum = None
    severity_text: str | None = None
    event_name: str | None = None
    body: AnyValueJson | None = None
    attributes: list[KeyValueJson] | None = None
    dropped_attributes_count: Number = None
    flags: Number = None


class ResourceJson(_Wire):
    attributes: list[KeyValueJson] | None = None
    dropped_attributes_count: Number = None


class ScopeJson(_Wire):
    name: str | None = None
    version: str | None = None
    attributes: list[KeyValueJson] | None = None
    dropped_attributes_count: Number = None


T = TypeVar("T")


class ScopeSpansJson(_Wire, Generic[T]):
    scope: ScopeJson | None = None
    spans: list[T] | None = None
    schema_url: str | None = None


class ResourceSpansJson(_Wire, Generic[T]):
    resource: ResourceJson | None = None
    scope_spans: list[ScopeSpansJson[T]] | None = None
    schema_url: str | None = None


class TracesJson(_Wire, Generic[T]):
    resource_spans: list[ResourceSpansJson[T]] | None = None


class ScopeLogsJson(_Wire, Generic[T]):
    scope: ScopeJson | None = None
    log_records: list[T] | None = None
    schema_url: str | None = None


class ResourceLogsJson(_Wire, Generic[T]):
    resource: ResourceJson | None = None
    scope_logs: list[ScopeLogsJson[T]] | None = None
    schema_url: str | None = None


class LogsJson(_Wire, Generic[T]):
    resource_logs: list[ResourceLogsJson[T]] | None = None


_TRACES = msgspec.json.Decoder(TracesJson[SpanJson])
_TRACES_LOOSE = msgspec.json.Decoder(TracesJson[msgspec.Raw])
_SPAN = msgspec.json.Decoder(SpanJson)
_LOGS = msgspec.json.Decoder(LogsJson[LogRecordJson])
_LOGS_LOOSE = msgspec.json.Decoder(LogsJson[msgspec.Raw])
_LOG = msgspec.json.Decoder(LogRecordJson)


class _BadError(ValueError):
    """One item that cannot be taken: the field at fault and what is wrong with it."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field, self.reason = field, reason


def read_heads(body: bytes, keys: Sequence[str] = ()) -> Heads:
    """The heads of a trace request, and the session keys named by `keys` (the strongest first).

    Raises MalformedError where the body is no ExportTraceServiceRequest.
    """
    request, lost = _load_traces(body)
    rows: list[Row] = []
    rejections: tuple[Rejection, ...] = ()
    try:
        for resource_spans in request.resource_spans or ():
            for scope_spans in resource_spans.scope_spans or ():
                rows.extend(map(_row, scope_spans.spans or ()))
        canonical = usable(rows)
    except (ValueError, TypeError):
        canonical = False
    if not canonical:
        rows, rejections = _sift(request, lost)
    search = KeySearch(keys, body)
    if search.names:
        _find_keys(request, search)
    return Heads(rows, rejections, search.found())


def _row(span: SpanJson) -> Row:
    """The ids of a span in canonical spelling. Raises for any other, and for times that need a closer look."""
    for time in (span.start_time_unix_nano, span.end_time_unix_nano):
        if not (time is None or (isinstance(time, str) and time.isdecimal() and len(time) < 20)):
            raise ValueError
    parent = span.parent_span_id
    return (
        bytes.fromhex(span.trace_id),  # type: ignore[arg-type]  # None raises, as it should
        bytes.fromhex(span.span_id),  # type: ignore[arg-type]
        bytes.fromhex(parent) if parent else b"",
    )


def _sift(request: TracesJson[SpanJson], lost: Lost) -> tuple[list[Row], tuple[Rejection, ...]]:
    """The usable spans of a request that holds others, too, or spells them otherwise."""
    rows: list[Row] = []
    rejections: list[Rejection] = []
    for r, resource_spans in enumerate(request.resource_spans or ()):
        for s, scope_spans in enumerate(resource_spans.scope_spans or ()):
            for i, span in enumerate(scope_spans.spans or ()):
                try:
                    trace_id, span_id, parent = _ids(span)
                    _times(span)
                except _BadError as bad:
                    rejections.append(_reject(f"$.resourceSpans[{r}].scopeSpans[{s}].spans[{i}]", bad, lost))
                else:
                    rows.append((bytes.fromhex(trace_id), bytes.fromhex(span_id), bytes.fromhex(parent)))
    return rows, tuple(rejections)


def _find_keys(request: TracesJson[SpanJson], search: KeySearch) -> None:
    for resource_spans in request.resource_spans or ():
        traces = set()
        for scope_spans in resource_spans.scope_spans or ():
            for span in scope_spans.spans or ():
                trace = bytes.fromhex(id_from_text(span.trace_id or "", TRACE_ID_BYTES) or "")
                traces.add(trace)
                if search.wants(trace):
                    search.add(trace, _pairs(span.attributes, search.names))
        if resource_spans.resource:
            shared = _pairs(resource_spans.resource.attributes, search.names)
            for trace in traces:
                search.add(trace, shared)


def read_log_heads(body: bytes, keys: Sequence[str] = ()) -> Heads:
    """The heads of a log request: one for each record, with empty ids where it is tied to no span."""
    request, lost = _load_logs(body)
    search = KeySearch(keys, body)
    rows: list[Row] = []
    rejections: list[Rejection] = []
    for r, resource_logs in enumerate(request.resource_logs or ()):
        for s, scope_logs in enumerate(resource_logs.scope_logs or ()):
            for i, log in enumerate(scope_logs.log_records or ()):
                path = f"$.resourceLogs[{r}].scopeLogs[{s}].logRecords[{i}]"
                try:
                    _check_log(log, path, lost)
                except _BadError as bad:
                    rejections.append(_reject(path, bad, lost))
                    continue
                trace_id, span_id = _log_ids(log)
                row = bytes.fromhex(trace_id), bytes.fromhex(span_id), b""
                rows.append(row)
                if search.names and trace_id and search.wants(row[0]):
                    search.add(row[0], _pairs(log.attributes, search.names))
    return Heads(rows, tuple(rejections), search.found())


def decode_traces(body: bytes, limits: Limits = DEFAULT_LIMITS) -> Batch:
    """The spans of a trace request. Raises MalformedError where the body is no ExportTraceServiceRequest."""
    request, lost = _load_traces(body)
    spans: list[Span] = []
    rejections: list[Rejection] = []
    for r, resource_spans in enumerate(request.resource_spans or ()):
        resource = _resource(resource_spans.resource, resource_spans.schema_url, limits)
        for s, scope_spans in enumerate(resource_spans.scope_spans or ()):
            scope = _scope(scope_spans.scope, scope_spans.schema_url, limits)
            for i, span in enumerate(scope_spans.spans or ()):
                try:
                    spans.append(_span(span, scope, resource, limits))
                except _BadError as bad:
                    rejections.append(_reject(f"$.resourceSpans[{r}].scopeSpans[{s}].spans[{i}]", bad, lost))
    return Batch(spans=tuple(spans), rejections=tuple(rejections))


def decode_logs(body: bytes, limits: Limits = DEFAULT_LIMITS) -> Batch:
    """The records of a log request. Raises MalformedError where the body is no ExportLogsServiceRequest."""
    request, lost = _load_logs(body)
    logs: list[LogRecord] = []
    rejections: list[Rejection] = []
    for r, resource_logs in enumerate(request.resource_logs or ()):
        resource = _resource(resource_logs.resource, resource_logs.schema_url, limits)
        for s, scope_logs in enumerate(resource_logs.scope_logs or ()):
            scope = _scope(scope_logs.scope, scope_logs.schema_url, limits)
            for i, log in enumerate(scope_logs.log_records or ()):
                path = f"$.resourceLogs[{r}].scopeLogs[{s}].logRecords[{i}]"
                try:
                    _check_log(log, path, lost)
                    logs.append(_log(log, scope, resource, limits))
                except _BadError as bad:
                    rejections.append(_reject(path, bad, lost))
    return Batch(logs=tuple(logs), rejections=tuple(rejections))


def _ids(span: SpanJson) -> tuple[str, str, str]:
    trace_id = _id("traceId", span.trace_id, TRACE_ID_BYTES, NO_TRACE_ID)
    span_id = _id("spanId", span.span_id, SPAN_ID_BYTES, NO_SPAN_ID)
    parent = ""
    if span.parent_span_id:
        text = id_from_text(span.parent_span_id, SPAN_ID_BYTES)
        if text is None:
            raise _BadError("parentSpanId", f"expected 16 hex digits or none, found {_quote(span.parent_span_id)}")
        parent = "" if text == NO_SPAN_ID else text
    return trace_id, span_id, parent


def _times(span: SpanJson) -> tuple[int, int]:
    return (
        _time("startTimeUnixNano", span.start_time_unix_nano),
        _time("endTimeUnixNano", span.end_time_unix_nano),
    )


def _span(span: SpanJson, scope: Scope, resource: Resource, limits: Limits) -> Span:
    trace_id, span_id, parent_span_id = _ids(span)
    start, end = _times(span)
    links = _links(span.links, limits) if span.links else ()
    status = span.status
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        name=span.name or "",
        parent_span_id=parent_span_id,
        kind=_enum(span.kind, SPAN_KINDS),
        start_unix_nano=start,
        end_unix_nano=end,
        attributes=_attributes(span.attributes, limits),
        events=_events(span.events, limits) if span.events else (),
        links=links,
        status_code=_enum(status.code, STATUS_CODES) if status else 0,
        status_message=(status.message or "") if status else "",
        dropped_attributes_count=_count(span.dropped_attributes_count),
        dropped_events_count=_count(span.dropped_events_count),
        dropped_links_count=_count(span.dropped_links_count) + len(span.links or ()) - len(links),
        trace_state=span.trace_state or "",
        flags=_count(span.flags),
        scope=scope,
        resource=resource,
    )


def _log(log: LogRecordJson, scope: Scope, resource: Resource, limits: Limits) -> LogRecord:
    trace_id, span_id = _log_ids(log)
    time, observed = _log_times(log)
    attributes = _attributes(log.attributes, limits)
    body, cut = cut_value(_value(log.body), limits)
    if cut:
        attributes["body" + TRUNCATED] = True
    return LogRecord(
        trace_id=trace_id,
        span_id=span_id,
        event_name=log.event_name or "",
        body=body,
        time_unix_nano=time,
        observed_time_unix_nano=observed,
        severity_number=_severity(log.severity_number),
        severity_text=log.severity_text or "",
        flags=_count(log.flags),
        attributes=attributes,
        dropped_attributes_count=_count(log.dropped_attributes_count),
        scope=scope,
        resource=resource,
    )


def _log_ids(log: LogRecordJson) -> tuple[str, str]:
    """The ids of a log record: a trace id alone is kept, a span id without its trace is none."""
    trace_id = id_from_text(log.trace_id or "", TRACE_ID_BYTES)
    if not trace_id or trace_id == NO_TRACE_ID:
        return "", ""
    span_id = id_from_text(log.span_id or "", SPAN_ID_BYTES)
    return trace_id, "" if not span_id or span_id == NO_SPAN_ID else span_id


def _check_log(log: LogRecordJson, path: str, lost: Lost) -> None:
    if path in lost:
        raise _BadError("", "")
    _log_times(log)


def _log_times(log: LogRecordJson) -> tuple[int, int]:
    return _time("timeUnixNano", log.time_unix_nano), _time("observedTimeUnixNano", log.observed_time_unix_nano)


def _resource(resource: ResourceJson | None, schema_url: str | None, limits: Limits) -> Resource:
    resource = resource or ResourceJson()
    return Resource(
        _attributes(resource.attributes, limits), schema_url or "", _count(resource.dropped_attributes_count)
    )


def _scope(scope: ScopeJson | None, schema_url: str | None, limits: Limits) -> Scope:
    scope = scope or ScopeJson()
    return Scope(
        scope.name or "",
        scope.version or "",
        _attributes(scope.attributes, limits),
        schema_url or "",
        _count(scope.dropped_attributes_count),
    )


def _events(events: Sequence[EventJson], limits: Limits) -> tuple[Event, ...]:
    return tuple(
        Event(
            event.name or "",
            _lenient_time(event.time_unix_nano),
            _attributes(event.attributes, limits),
            _count(event.dropped_attributes_count),
        )
        for event in events
    )


def _links(links: Sequence[LinkJson], limits: Limits) -> tuple[Link, ...]:
    kept = []
    for link in links:
        trace_id = id_from_text(link.trace_id or "", TRACE_ID_BYTES)
        span_id = id_from_text(link.span_id or "", SPAN_ID_BYTES)
        if not trace_id or not span_id or trace_id == NO_TRACE_ID or span_id == NO_SPAN_ID:
            continue
        kept.append(
            Link(
                trace_id,
                span_id,
                _attributes(link.attributes, limits),
                link.trace_state or "",
                _count(link.flags),
                _count(link.dropped_attributes_count),
            )
        )
    return tuple(kept)


def _attributes(pairs: Sequence[KeyValueJson] | None, limits: Limits) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    length = limits.length
    for pair in pairs or ():
        key, value = pair.key or "", pair.value
        if value is not None and (text := value.string_value) is not None and len(text) <= length:
            attributes[key] = text
            continue
        attributes[key], cut = cut_value(_value(value), limits)
        if cut:
            attributes[key + TRUNCATED] = True
    return attributes


def _pairs(pairs: Sequence[KeyValueJson] | None, names: Sequence[str]) -> list[tuple[str, Any]]:
    return [(pair.key, _value(pair.value)) for pair in pairs or () if pair.key and pair.key in names]


def _value(value: AnyValueJson | None) -> Any:
    """An AnyValue as Python. How deep it nests is bounded by `_load`."""
    if value is None:
        return None
    if value.string_value is not None:
        return value.string_value
    if value.int_value is not None:
        return _integer(value.int_value)
    if value.bool_value is not None:
        return value.bool_value
    if value.double_value is not None:
        return _double(value.double_value)
    if value.array_value is not None:
        return [_value(item) for item in value.array_value.values or ()]
    if value.kvlist_value is not None:
        return {pair.key or "": _value(pair.value) for pair in value.kvlist_value.values or ()}
    if value.bytes_value is not None:
        return _bytes(value.bytes_value)
    return None


def _integer(value: int | float | str) -> int | float | str:
    whole = _whole(value)
    if whole is None:
        return value
    return whole if INT64_MIN <= whole <= INT64_MAX else str(whole)


def _whole(value: int | float | str) -> int | None:
    """The integer that a JSON number or text spells, or None."""
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        text = value.strip()
        if len(text) > 40:  # no 64-bit integer is longer, and Python refuses to read very long ones
            return None
        try:
            return int(text)
        except ValueError:
            pass
        try:
            value = float(text)
        except ValueError:
            return None
    return int(value) if value.is_integer() else None


def _double(value: float | str) -> float | str:
    if isinstance(value, float):
        return value
    try:
        return float(value)  # "NaN", "Infinity" and "-Infinity" as protobuf spells them
    except ValueError:
        return value


def _bytes(text: str) -> bytes | str:
    bare = text.rstrip("=")
    try:
        return base64.b64decode(bare.translate({45: 43, 95: 47}) + "=" * (-len(bare) % 4), validate=True)
    except (binascii.Error, ValueError):
        return text


def _time(field: str, value: int | float | str | None) -> int:
    if value is None or value == "":
        return 0
    whole = _whole(value)
    if whole is None or not 0 <= whole <= UINT64_MAX:
        raise _BadError(field, f"expected nanoseconds in 64 bits, found {_quote(value)}")
    return whole


def _lenient_time(value: int | float | str | None) -> int:
    try:
        return _time("", value)
    except _BadError:
        return 0


def _count(value: int | float | str | None) -> int:
    """A 32-bit count; what is none says nothing."""
    whole = _whole(value) if value is not None else None
    return whole if whole is not None and 0 <= whole < 1 << 32 else 0


def _enum(value: int | float | str | None, names: Sequence[str]) -> int:
    if value is None:
        return 0
    whole = _whole(value)
    if whole is not None:
        return whole if -(1 << 31) <= whole < 1 << 31 else 0
    name = str(value).upper().rsplit("_", 1)[-1]
    return names.index(name) if name in names else 0


_SEVERITY = re.compile(r"(?:SEVERITY_NUMBER_)?(TRACE|DEBUG|INFO|WARN|ERROR|FATAL)([1-4]?)")


def _severity(value: int | float | str | None) -> int:
    match = _SEVERITY.fullmatch(value.upper()) if isinstance(value, str) else None
    if match is None:
        return _enum(value, ())
    level = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL").index(match[1])
    return 4 * level + int(match[2] or 1)


def _id(field: str, text: str | None, size: int, zero: str) -> str:
    if text is None:
        raise _BadError(field, f"expected {2 * size} hex digits, found none")
    value = id_from_text(text, size)
    if value is None:
        raise _BadError(field, f"expected {2 * size} hex digits, found {_quote(text)}")
    if value == zero:
        raise _BadError(field, "expected an id, found zeros")
    return value


def _quote(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _reject(path: str, bad: _BadError, lost: dict[str, tuple[str, str]]) -> Rejection:
    if path in lost:
        below, reason = lost[path]
        return Rejection(path + below, reason)
    return Rejection(f"{path}.{bad.field}", bad.reason)


# ------------------------------------------------------------------ loading

Lost = dict[str, tuple[str, str]]


def _load_traces(body: bytes) -> tuple[TracesJson[SpanJson], Lost]:
    def salvage(body: bytes, lost: Lost) -> TracesJson[SpanJson]:
        loose = _TRACES_LOOSE.decode(body)
        return TracesJson(
            [
                ResourceSpansJson(
                    rs.resource,
                    [
                        ScopeSpansJson(
                            ss.scope,
                            _items(ss.spans, _SPAN, SpanJson, f"$.resourceSpans[{r}].scopeSpans[{s}].spans", lost),
                            ss.schema_url,
                        )
                        for s, ss in enumerate(rs.scope_spans or ())
                    ],
                    rs.schema_url,
                )
                for r, rs in enumerate(loose.resource_spans or ())
            ]
        )

    return _load(body, _TRACES, salvage)


def _load_logs(body: bytes) -> tuple[LogsJson[LogRecordJson], Lost]:
    def salvage(body: bytes, lost: Lost) -> LogsJson[LogRecordJson]:
        loose = _LOGS_LOOSE.decode(body)
        return LogsJson(
            [
                ResourceLogsJson(
                    rl.resource,
                    [
                        ScopeLogsJson(
                            sl.scope,
                            _items(
                                sl.log_records,
                                _LOG,
                                LogRecordJson,
                                f"$.resourceLogs[{r}].scopeLogs[{s}].logRecords",
                                lost,
                            ),
                            sl.schema_url,
                        )
                        for s, sl in enumerate(rl.scope_logs or ())
                    ],
                    rl.schema_url,
                )
                for r, rl in enumerate(loose.resource_logs or ())
            ]
        )

    return _load(body, _LOGS, salvage)


def _items(
    raws: Sequence[msgspec.Raw] | None, decoder: msgspec.json.Decoder[T], empty: Callable[[], T], path: str, lost: Lost
) -> list[T]:
    """The items of one list, each on its own. A bad one leaves an empty item, so that indices stay as they came."""
    items: list[T] = []
    for i, raw in enumerate(raws or ()):
        try:
            items.append(decoder.decode(raw))
        except msgspec.ValidationError as err:  # any other fault is one of the text: `_load` mends that
            expected, found, where = _explain(err, len(raw))
            lost[f"{path}[{i}]"] = (where.removeprefix("$"), f"expected {expected}, found {found}")
            items.append(empty())
    return items


def _load(body: bytes, typed: msgspec.json.Decoder[T], salvage: Callable[[bytes, Lost], T]) -> tuple[T, Lost]:
    """The request, and the items that were emptied so that the rest could be read: path -> (path below it, why)."""
    lost: Lost = {}
    try:
        request = typed.decode(body)
        if not _misnamed(request):
            return request, lost
    except (msgspec.DecodeError, RecursionError):
        pass
    body = _OTHER_NAME.sub(lambda m: b'"%s"' % _OTHER_NAMES[m[1].decode()].encode(), body)
    try:
        return salvage(body, lost), lost
    except msgspec.ValidationError as err:
        raise MalformedError(*_explain(err, len(body))) from None
    except (msgspec.DecodeError, RecursionError):
        body = _flatten(_mend_text(body))
        lost.clear()
    try:
        return salvage(body, lost), lost
    except msgspec.DecodeError as err:
        raise MalformedError(*_explain(err, len(body))) from None


# Every other name a field goes by: snake_case, and what scopes were called before OTLP 0.19.
_OTHER_NAMES = {
    "instrumentation_library_spans": "scopeSpans",
    "instrumentationLibrarySpans": "scopeSpans",
    "instrumentation_library_logs": "scopeLogs",
    "instrumentationLibraryLogs": "scopeLogs",
    "instrumentation_library": "scope",
    "instrumentationLibrary": "scope",
} | {
    name: camel
    for struct in (
        *(
            AnyValueJson,
            KeyValueJson,
            EventJson,
            LinkJson,
            StatusJson,
            SpanJson,
            LogRecordJson,
            ResourceJson,
            ScopeJson,
        ),
        *(ScopeSpansJson, ResourceSpansJson, TracesJson, ScopeLogsJson, ResourceLogsJson, LogsJson),
    )
    for name, camel in zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True)
    if name != camel
}
# A quote inside a JSON string is escaped, so only the name of a member can match.
_OTHER_NAME = re.compile(b'"(%s)"(?=\\s*:)' % "|".join(_OTHER_NAMES).encode())


def _misnamed(request: object) -> bool:
    """Whether fields that every request has are absent: then they may go by another name.

    Looked for in the result, since a search of the bytes costs as much as decoding them.
    """
    if isinstance(request, TracesJson):
        for resource_spans in request.resource_spans or (None,):
            for scope_spans in (resource_spans and resource_spans.scope_spans) or (None,):
                for span in (scope_spans and scope_spans.spans) or (None,):
                    if span is None or None in (span.trace_id, span.span_id, span.start_time_unix_nano):
                        return True
        return False
    assert isinstance(request, LogsJson)
    for resource_logs in request.resource_logs or (None,):
        for scope_logs in (resource_logs and resource_logs.scope_logs) or (None,):
            for log in (scope_logs and scope_logs.log_records) or (None,):
                if log is None or (log.time_unix_nano is None and log.observed_time_unix_nano is None):
                    return True
    return False


# Every escape in turn, so that an escaped backslash is not taken for the start of one; group 1 is half a pair.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)


def _mend_text(body: bytes) -> bytes:
    """The body without a byte order mark, bytes that are no UTF-8, and halves of surrogate pairs."""
    text = body.decode("utf-8-sig", "replace")
    return _ESCAPE.sub(lambda m: "\\ufffd" if m[1] else m[0], text).encode()


# A string or one bracket. Possessive, and closed at the latest by the end, so that it runs in linear time on anything.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_MAX_BRACKETS = 200


def _flatten(body: bytes) -> bytes:
    """The body with null in place of what nests deeper than any value that is kept."""
    out: list[bytes] = []
    depth = kept = 0
    for token in _TOKEN.finditer(body):
        first = body[token.start()]
        if first in b"[{":
            depth += 1
            if depth == _MAX_BRACKETS + 1:
                out += (body[kept : token.start()], b"null")
        elif first in b"]}":
            if depth == _MAX_BRACKETS + 1:
                kept = token.end()
            depth -= 1
    if depth > _MAX_BRACKETS:
        return b"".join(out)
    return b"".join(out) + body[kept:]


_EXPLAINED = re.compile(r"Expected (.+), got (.+?)(?: - at `(.+)`)?", re.DOTALL)
_MALFORMED = re.compile(r"JSON is malformed: (.+) \(byte (\d+)\)")


def _explain(err: msgspec.DecodeError, size: int) -> tuple[str, str, str]:
    """What was expected, what was found and where, from msgspec's own words."""
    text = str(err)
    if match := _EXPLAINED.fullmatch(text):
        return match[1].replace("`", ""), match[2].replace("`", ""), match[3] or "$"
    if match := _MALFORMED.fullmatch(text):
        return "JSON", match[1], f"byte {match[2]}"
    if "truncated" in text:
        return "JSON", "an end in the middle", f"byte {size}"
    what, _, where = text.partition(" - at ")
    return "OTLP/JSON", what[:1].lower() + what[1:], where.strip("`") or "$"
