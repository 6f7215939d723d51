"""OTLP requests in JSON: checked for the accept path, and decoded for everything behind it.

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

import contextlib
from collections.abc import Sequence

from collector.otlp.checked import Checked
from collector.otlp.json_load import Lost, load_logs, load_traces
from collector.otlp.json_schema import (
    SPAN_KINDS,
    STATUS_CODES,
    EventJson,
    LinkJson,
    LogRecordJson,
    ResourceJson,
    ScopeJson,
    SpanJson,
    TracesJson,
)
from collector.otlp.json_values import (
    BadItemError,
    count,
    enum,
    identifier,
    lenient_time,
    quote,
    read_attributes,
    read_value,
    severity,
    time_of,
)
from collector.otlp.model import Batch, Event, Link, LogRecord, Rejection, Resource, Scope, Span
from collector.otlp.values import (
    DEFAULT_LIMITS,
    NO_SPAN_ID,
    NO_TRACE_ID,
    SPAN_ID_BYTES,
    TRACE_ID_BYTES,
    TRUNCATED,
    Limits,
    cut_value,
    id_from_text,
)


def check_traces(body: bytes) -> Checked:
    """What will be taken of a trace request. Raises MalformedError where the body is no ExportTraceServiceRequest."""
    request, lost = load_traces(body)
    spans = [
        span
        for resource_spans in request.resource_spans or ()
        for scope_spans in resource_spans.scope_spans or ()
        for span in scope_spans.spans or ()
    ]
    return Checked(len(spans)) if _canonical(spans) else _sift(request, lost)


def _canonical(spans: Sequence[SpanJson]) -> bool:
    """Whether the ids and times of all spans are usable, and spelled so that C can tell it of all at once."""
    try:
        traces = [span.trace_id for span in spans]
        ids = [span.span_id for span in spans]
        parents = [span.parent_span_id or "" for span in spans]
        times = [span.start_time_unix_nano for span in spans]
        times += [span.end_time_unix_nano or "" for span in spans]
        digits = "".join(times)  # type: ignore[arg-type]  # what is no text raises, as it should
        return (
            len(bytes.fromhex("".join(traces))) == TRACE_ID_BYTES * len(spans)  # type: ignore[arg-type]
            and len(bytes.fromhex("".join(ids))) == SPAN_ID_BYTES * len(spans)  # type: ignore[arg-type]
            and set(map(len, traces)) <= {2 * TRACE_ID_BYTES}  # type: ignore[arg-type]
            and set(map(len, ids)) <= {2 * SPAN_ID_BYTES}  # type: ignore[arg-type]
            and set(map(len, parents)) <= {0, 2 * SPAN_ID_BYTES}
            and 2 * len(bytes.fromhex("".join(parents))) == sum(map(len, parents))
            and NO_TRACE_ID not in traces
            and NO_SPAN_ID not in ids
            and (not digits or (digits.isascii() and digits.isdecimal()))
            and max(map(len, times), default=0) < 20  # type: ignore[arg-type]
        )
    except (ValueError, TypeError):
        return False


def _sift(request: TracesJson[SpanJson], lost: Lost) -> Checked:
    """What will be taken of a request that may hold spans which cannot be, or spells them otherwise."""
    accepted = 0
    rejections: list[Rejection] = []
    for r, resource_spans in enumerate(request.resource_spans or ()):
        for s, scope_spans in enumerate(resource_spans.scope_spans or ()):
            for i, span in enumerate(scope_spans.spans or ()):
                try:
                    _ids(span)
                    _times(span)
                except BadItemError as bad:
                    rejections.append(_reject(f"$.resourceSpans[{r}].scopeSpans[{s}].spans[{i}]", bad, lost))
                else:
                    accepted += 1
    return Checked(accepted, tuple(rejections))


def check_logs(body: bytes) -> Checked:
    """What will be taken of a log request. Raises MalformedError where the body is no ExportLogsServiceRequest."""
    request, lost = load_logs(body)
    accepted = 0
    rejections: list[Rejection] = []
    for r, resource_logs in enumerate(request.resource_logs or ()):
        for s, scope_logs in enumerate(resource_logs.scope_logs or ()):
            for i, log in enumerate(scope_logs.log_records or ()):
                path = f"$.resourceLogs[{r}].scopeLogs[{s}].logRecords[{i}]"
                try:
                    _check_log(log, path, lost)
                except BadItemError as bad:
                    rejections.append(_reject(path, bad, lost))
                else:
                    accepted += 1
    return Checked(accepted, tuple(rejections))


def trace_ids(body: bytes) -> set[str]:
    """The traces of a trace request that passed the check: those of the spans that will be taken."""
    found = set()
    request, _ = load_traces(body)
    for resource_spans in request.resource_spans or ():
        for scope_spans in resource_spans.scope_spans or ():
            for span in scope_spans.spans or ():
                with contextlib.suppress(BadItemError):
                    found.add(_ids(span)[0])
    return found


def log_trace_ids(body: bytes) -> set[str]:
    """The traces of a log request that passed the check; records of no trace are left out."""
    request, _ = load_logs(body)
    found = {
        _log_ids(log)[0]
        for resource_logs in request.resource_logs or ()
        for scope_logs in resource_logs.scope_logs or ()
        for log in scope_logs.log_records or ()
    }
    return found - {""}


def decode_traces(body: bytes, limits: Limits = DEFAULT_LIMITS) -> Batch:
    """The spans of a trace request. Raises MalformedError where the body is no ExportTraceServiceRequest."""
    request, lost = load_traces(body)
    spans: list[Span] = []
    rejections: list[Rejection] = []
    for r, resource_spans in enumerate(request.resource_spans or ()):
        resource = _resource(resource_spans.resource, resource_spans.schema_url, limits)
        for s, scope_spans in enumerate(resource_spans.scope_spans or ()):
            scope = _scope(scope_spans.scope, scope_spans.schema_url, limits)
            for i, span in enumerate(scope_spans.spans or ()):
                try:
                    spans.append(_span(span, scope, resource, limits))
                except BadItemError as bad:
                    rejections.append(_reject(f"$.resourceSpans[{r}].scopeSpans[{s}].spans[{i}]", bad, lost))
    return Batch(spans=tuple(spans), rejections=tuple(rejections))


def decode_logs(body: bytes, limits: Limits = DEFAULT_LIMITS) -> Batch:
    """The records of a log request. Raises MalformedError where the body is no ExportLogsServiceRequest."""
    request, lost = load_logs(body)
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
                except BadItemError as bad:
                    rejections.append(_reject(path, bad, lost))
    return Batch(logs=tuple(logs), rejections=tuple(rejections))


def _ids(span: SpanJson) -> tuple[str, str, str]:
    trace_id = identifier("traceId", span.trace_id, TRACE_ID_BYTES, NO_TRACE_ID)
    span_id = identifier("spanId", span.span_id, SPAN_ID_BYTES, NO_SPAN_ID)
    parent = ""
    if span.parent_span_id:
        text = id_from_text(span.parent_span_id, SPAN_ID_BYTES)
        if text is None:
            raise BadItemError("parentSpanId", f"expected 16 hex digits or none, found {quote(span.parent_span_id)}")
        parent = "" if text == NO_SPAN_ID else text
    return trace_id, span_id, parent


def _times(span: SpanJson) -> tuple[int, int]:
    return (
        time_of("startTimeUnixNano", span.start_time_unix_nano),
        time_of("endTimeUnixNano", span.end_time_unix_nano),
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
        kind=enum(span.kind, SPAN_KINDS),
        start_unix_nano=start,
        end_unix_nano=end,
        attributes=read_attributes(span.attributes, limits),
        events=_events(span.events, limits) if span.events else (),
        links=links,
        status_code=enum(status.code, STATUS_CODES) if status else 0,
        status_message=(status.message or "") if status else "",
        dropped_attributes_count=count(span.dropped_attributes_count),
        dropped_events_count=count(span.dropped_events_count),
        dropped_links_count=count(span.dropped_links_count) + len(span.links or ()) - len(links),
        trace_state=span.trace_state or "",
        flags=count(span.flags),
        scope=scope,
        resource=resource,
    )


def _log(log: LogRecordJson, scope: Scope, resource: Resource, limits: Limits) -> LogRecord:
    trace_id, span_id = _log_ids(log)
    time, observed = _log_times(log)
    attributes = read_attributes(log.attributes, limits)
    body, cut = cut_value(read_value(log.body), limits)
    if cut:
        attributes["body" + TRUNCATED] = True
    return LogRecord(
        trace_id=trace_id,
        span_id=span_id,
        event_name=log.event_name or "",
        body=body,
        time_unix_nano=time,
        observed_time_unix_nano=observed,
        severity_number=severity(log.severity_number),
        severity_text=log.severity_text or "",
        flags=count(log.flags),
        attributes=attributes,
        dropped_attributes_count=count(log.dropped_attributes_count),
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
        raise BadItemError("", "")
    _log_times(log)


def _log_times(log: LogRecordJson) -> tuple[int, int]:
    return time_of("timeUnixNano", log.time_unix_nano), time_of("observedTimeUnixNano", log.observed_time_unix_nano)


def _resource(resource: ResourceJson | None, schema_url: str | None, limits: Limits) -> Resource:
    resource = resource or ResourceJson()
    return Resource(
        read_attributes(resource.attributes, limits), schema_url or "", count(resource.dropped_attributes_count)
    )


def _scope(scope: ScopeJson | None, schema_url: str | None, limits: Limits) -> Scope:
    scope = scope or ScopeJson()
    return Scope(
        scope.name or "",
        scope.version or "",
        read_attributes(scope.attributes, limits),
        schema_url or "",
        count(scope.dropped_attributes_count),
    )


def _events(events: Sequence[EventJson], limits: Limits) -> tuple[Event, ...]:
    return tuple(
        Event(
            event.name or "",
            lenient_time(event.time_unix_nano),
            read_attributes(event.attributes, limits),
            count(event.dropped_attributes_count),
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
                read_attributes(link.attributes, limits),
                link.trace_state or "",
                count(link.flags),
                count(link.dropped_attributes_count),
            )
        )
    return tuple(kept)


def _reject(path: str, bad: BadItemError, lost: dict[str, tuple[str, str]]) -> Rejection:
    if path in lost:
        below, reason = lost[path]
        return Rejection(path + below, reason)
    return Rejection(f"{path}.{bad.field}", bad.reason)
