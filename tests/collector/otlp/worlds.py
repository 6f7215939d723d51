"""The smallest OTLP requests, in both encodings, and hypothesis strategies for whole batches."""

from __future__ import annotations

import json as stdlib_json
from typing import Any

from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.otlp.model import Batch, Event, Link, LogRecord, Resource, Scope, Span

TRACE = "5b8efff798038103d269b633813fc60c"
SPAN = "eee19b7ec3c1b174"
START = 1_780_000_000_000_000_000


def span_json(**changes: Any) -> dict[str, Any]:
    """One canonical span; None takes a member away."""
    span = {"traceId": TRACE, "spanId": SPAN, "name": "work", "startTimeUnixNano": str(START)} | changes
    return {key: value for key, value in span.items() if value is not None}


def traces_json(*spans: Any) -> bytes:
    """One request of these spans, each an object or text of JSON."""
    body = stdlib_json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [f"@{i}@" for i in range(len(spans))]}]}]})
    for i, span in enumerate(spans):
        body = body.replace(f'"@{i}@"', span if isinstance(span, str) else stdlib_json.dumps(span))
    return body.encode()


def traces_protobuf(*spans: dict[str, Any]) -> bytes:
    """One request of these spans, each the fields of a Span."""
    request = ExportTraceServiceRequest()
    scope_spans = request.resource_spans.add().scope_spans.add()
    for fields in spans:
        base = {"trace_id": bytes.fromhex(TRACE), "span_id": bytes.fromhex(SPAN), "start_time_unix_nano": START}
        scope_spans.spans.add(**base | fields)
    return request.SerializeToString()


_text = st.text(max_size=12)
_count = st.integers(0, 2**32 - 1)
_time = st.integers(0, 2**64 - 1)
_scalar = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), _text, st.binary(max_size=8)
)
value = st.recursive(
    _scalar, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_text, inner, max_size=3), max_leaves=6
)
attributes = st.dictionaries(_text, value, max_size=4)
trace_id = st.integers(1, 2**128 - 1).map("{:032x}".format)
span_id = st.integers(1, 2**64 - 1).map("{:016x}".format)
no_id = st.just("")
resource = st.builds(Resource, attributes, _text, _count)
scope = st.builds(Scope, _text, _text, attributes, _text, _count)
event = st.builds(Event, _text, _time, attributes, _count)
link = st.builds(Link, trace_id, span_id, attributes, _text, _count, _count)
span = st.builds(
    Span,
    trace_id=trace_id,
    span_id=span_id,
    name=_text,
    parent_span_id=span_id | no_id,
    kind=st.integers(0, 5),
    start_unix_nano=_time,
    end_unix_nano=_time,
    attributes=attributes,
    events=st.lists(event, max_size=2).map(tuple),
    links=st.lists(link, max_size=2).map(tuple),
    status_code=st.integers(0, 2),
    status_message=_text,
    dropped_attributes_count=_count,
    dropped_events_count=_count,
    dropped_links_count=_count,
    trace_state=_text,
    flags=_count,
    scope=scope,
    resource=resource,
)
log = st.sampled_from([(trace_id, span_id), (trace_id, no_id), (no_id, no_id)]).flatmap(
    lambda ids: st.builds(
        LogRecord,
        trace_id=ids[0],
        span_id=ids[1],
        event_name=_text,
        body=value,
        time_unix_nano=_time,
        observed_time_unix_nano=_time,
        severity_number=st.integers(0, 24),
        severity_text=_text,
        flags=_count,
        attributes=attributes,
        dropped_attributes_count=_count,
        scope=scope,
        resource=resource,
    )
)
batch = st.builds(Batch, spans=st.lists(span, max_size=2).map(tuple), logs=st.lists(log, max_size=2).map(tuple))
