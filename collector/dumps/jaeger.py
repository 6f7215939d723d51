"""Jaeger's JSON: what its query API answers and its page saves.

    {"data": [{"traceID", "spans": [{"traceID", "spanID", "operationName", "references", "startTime", "duration", "tags",
    "logs", "processID"}], "processes": {"p1": {"serviceName", "tags"}}}]}

Times are microseconds. Jaeger turns what OpenTelemetry has and it has not into tags: scope, status, span kind.
"""

from __future__ import annotations

from typing import Any

from collector.dumps.values import Json, first, in_range, nanoseconds, span_id, trace_id
from collector.otlp.json_schema import SPAN_KINDS
from collector.otlp.model import (
    STATUS_ERROR,
    STATUS_OK,
    STATUS_UNSET,
    Batch,
    Event,
    Link,
    Rejection,
    Resource,
    Scope,
    Span,
)

FORMAT = "Jaeger JSON"


def read_trace(trace: Json) -> Batch:
    """The spans of one trace: an object with `spans` and, where it is whole, `processes`."""
    processes = trace.get("processes")
    resources = {
        str(name): _resource(process)
        for name, process in (processes.items() if isinstance(processes, dict) else ())
        if isinstance(process, dict)
    }
    scopes: dict[tuple[str, str], Scope] = {}
    spans: list[Span] = []
    rejections: list[Rejection] = []
    for index, item in enumerate(trace.get("spans") or ()):
        if not isinstance(item, dict):
            rejections.append(Rejection(f"$.spans[{index}]", "expected an object"))
            continue
        own = first(item, "traceID", "traceId") or first(trace, "traceID", "traceId")
        ids = trace_id(own), span_id(first(item, "spanID", "spanId"))
        if not all(ids):
            rejections.append(Rejection(f"$.spans[{index}]", "expected traceID and spanID"))
            continue
        inline = item.get("process")
        resource = resources.get(str(item.get("processID"))) or (
            _resource(inline) if isinstance(inline, dict) else Resource()
        )
        spans.append(_span(item, ids, resource, scopes))
    return Batch(spans=tuple(spans), rejections=tuple(rejections))


def _resource(process: Json) -> Resource:
    tags = _tags(process.get("tags"))
    if name := process.get("serviceName"):
        tags["service.name"] = str(name)
    return Resource(tags)


def _span(item: Json, ids: tuple[str, str], resource: Resource, scopes: dict[tuple[str, str], Scope]) -> Span:
    tags = _tags(item.get("tags"))
    tags.pop("internal.span.format", None)
    old = str(tags.pop("otel.library.name", "")), str(tags.pop("otel.library.version", ""))
    library = str(tags.pop("otel.scope.name", old[0])), str(tags.pop("otel.scope.version", old[1]))
    kind = str(tags.pop("span.kind", "")).upper()
    status = str(tags.pop("otel.status_code", "")).upper()
    message = str(tags.pop("otel.status_description", ""))
    failed = tags.pop("error", False) in (True, "true") or status == "ERROR"
    parent, links = _references(item, ids[0])
    start = int(_micro(item.get("startTime")))
    return Span(
        trace_id=ids[0],
        span_id=ids[1],
        name=str(item.get("operationName") or ""),
        parent_span_id=parent,
        kind=SPAN_KINDS.index(kind) if kind in SPAN_KINDS else 0,
        start_unix_nano=start,
        end_unix_nano=in_range(start + int(_micro(item.get("duration")))) if start else 0,
        attributes=tags,
        events=tuple(_event(log) for log in item.get("logs") or () if isinstance(log, dict)),
        links=links,
        status_code=STATUS_ERROR if failed else STATUS_OK if status == "OK" else STATUS_UNSET,
        status_message=message,
        trace_state=str(tags.pop("w3c.tracestate", "")),
        scope=scopes.setdefault(library, Scope(*library)),
        resource=resource,
    )


def _references(item: Json, trace: str) -> tuple[str, tuple[Link, ...]]:
    """The parent, which is the first CHILD_OF of the span's own trace, and all else as links."""
    parent = span_id(first(item, "parentSpanID", "parentSpanId"))
    links = []
    for reference in item.get("references") or ():
        if not isinstance(reference, dict):
            continue
        ids = trace_id(first(reference, "traceID", "traceId")) or trace, span_id(first(reference, "spanID", "spanId"))
        if not ids[1]:
            continue
        if reference.get("refType") == "CHILD_OF" and ids[0] == trace and not parent:
            parent = ids[1]
        elif ids[1] != parent:
            links.append(Link(*ids, {"opentracing.ref_type": str(reference.get("refType", "")).lower()}))
    return parent, tuple(links)


def _event(log: Json) -> Event:
    fields = _tags(log.get("fields"))
    name = next((str(fields.pop(key)) for key in ("event", "name", "message") if key in fields), "")
    return Event(name, int(_micro(log.get("timestamp"))), fields)


def _tags(tags: Any) -> Json:
    return {
        str(tag["key"]): _typed(tag.get("value"), tag.get("type"))
        for tag in (tags if isinstance(tags, list) else ())
        if isinstance(tag, dict) and "key" in tag
    }


def _typed(value: Any, kind: Any) -> Any:
    """A tag's value by its declared type: large integers come as text, for the sake of JavaScript."""
    try:
        if kind == "int64" and isinstance(value, str) and len(value) < 21:
            return int(value)
        if kind == "float64" and isinstance(value, int | str):
            return float(value)
    except ValueError:
        return value
    if kind == "bool" and isinstance(value, str):
        return value.lower() == "true"
    return value


def _micro(value: Any) -> int:
    """Microseconds as nanoseconds."""
    if isinstance(value, str):
        return nanoseconds(value)
    ok = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**54
    return round(value * 1000) if ok else 0
