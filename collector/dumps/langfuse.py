"""Langfuse's public API: a trace with its observations, a list or page of either, or one of them a line.

    {"id", "sessionId", "userId", "observations": [{"id", "traceId", "type", "name", "startTime", "endTime",
    "parentObservationId", "input", "output", "model", "usageDetails", "metadata", "level", "statusMessage"}]}

What came to Langfuse as OpenTelemetry still has its attributes under `metadata.attributes`, and is read as it was sent.
The rest becomes spans with the attributes that OpenInference and the GenAI conventions have for the same things.
"""

from __future__ import annotations

from typing import Any

import msgspec

from collector.dumps.values import Json, attributes_of, first, nanoseconds, span_id, text_of, trace_id
from collector.otlp.model import STATUS_ERROR, STATUS_UNSET, Batch, Rejection, Resource, Scope, Span

FORMAT = "Langfuse JSON"
SCOPE = Scope("langfuse")

TYPES = {
    "SPAN": ("", ""),
    "EVENT": ("", ""),
    "GENERATION": ("LLM", "chat"),
    "AGENT": ("AGENT", "invoke_agent"),
    "TOOL": ("TOOL", "execute_tool"),
    "CHAIN": ("CHAIN", ""),
    "RETRIEVER": ("RETRIEVER", ""),
    "EMBEDDING": ("EMBEDDING", "embeddings"),
    "EVALUATOR": ("EVALUATOR", ""),
    "GUARDRAIL": ("GUARDRAIL", ""),
}
"""Observation type -> OpenInference span kind, GenAI operation ("" where there is none)."""

_SAYS_ITS_KIND = ("gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind")


def is_observation(record: Json) -> bool:
    return str(record.get("type")).upper() in TYPES and bool(first(record, "traceId", "trace_id")) and "id" in record


def read_trace(trace: Json) -> Batch:
    """The spans of one trace object with its observations."""
    observations = trace.get("observations")
    spans: list[Span] = []
    rejections: list[Rejection] = []
    shared: dict[bytes, Resource] = {}
    for index, item in enumerate(observations if isinstance(observations, list) else ()):
        span = _span(item, trace, shared) if isinstance(item, dict) else None
        if span is not None:
            spans.append(span)
        elif isinstance(item, str):
            rejections.append(Rejection(f"$.observations[{index}]", "expected an observation, found only its id"))
        else:
            rejections.append(Rejection(f"$.observations[{index}]", "expected an observation with id and traceId"))
    return Batch(spans=tuple(spans), rejections=tuple(rejections))


def read_observation(observation: Json) -> Batch:
    """The span of one observation that stands alone."""
    span = _span(observation, {}, {})
    if span is None:
        return Batch(rejections=(Rejection("$", "expected an observation with id and traceId"),))
    return Batch(spans=(span,))


def _span(item: Json, trace: Json, shared: dict[bytes, Resource]) -> Span | None:
    trace_hex = trace_id(first(item, "traceId", "trace_id") or trace.get("id"))
    span_hex = span_id(item.get("id"))
    if not trace_hex or not span_hex:
        return None
    metadata = _object(item.get("metadata"))
    attributes = attributes_of(metadata.pop("attributes", None))
    resource = attributes_of(metadata.pop("resourceAttributes", None))
    scope = _object(metadata.pop("scope", None))
    _describe(item, attributes, metadata)
    for key, names in (("session.id", ("sessionId", "session_id")), ("user.id", ("userId", "user_id"))):
        if value := first(item, *names) or first(trace, *names):
            attributes.setdefault(key, str(value))
    start = nanoseconds(first(item, "startTime", "start_time"))
    end = nanoseconds(first(item, "endTime", "end_time"))
    if not end and str(item.get("type")).upper() == "EVENT":
        end = start
    failed = str(item.get("level")).upper() == "ERROR"
    return Span(
        trace_id=trace_hex,
        span_id=span_hex,
        name=str(item.get("name") or ""),
        parent_span_id=span_id(first(item, "parentObservationId", "parent_observation_id")),
        start_unix_nano=start,
        end_unix_nano=end,
        attributes=attributes,
        status_code=STATUS_ERROR if failed else STATUS_UNSET,
        status_message=str(first(item, "statusMessage", "status_message") or ""),
        scope=Scope(str(scope.get("name")), str(scope.get("version") or "")) if scope.get("name") else SCOPE,
        resource=shared.setdefault(msgspec.json.encode(resource), Resource(resource)),
    )


def _describe(item: Json, attributes: Json, metadata: Json) -> None:
    """Adds what the observation says and its attributes do not."""
    kind = str(item.get("type")).upper()
    span_kind, operation = TYPES.get(kind, ("", ""))
    name = str(item.get("name") or "")
    content_in, content_out = item.get("input"), item.get("output")
    foreign = any(key in attributes for key in _SAYS_ITS_KIND)
    add = attributes.setdefault
    add("langfuse.observation.type", kind.lower())
    if span_kind and not foreign:
        add("openinference.span.kind", span_kind)
        if operation:
            add("gen_ai.operation.name", operation)
        if kind == "AGENT" and name:
            add("gen_ai.agent.name", name)
        if kind == "TOOL":
            add("gen_ai.tool.name", name)
            if content_in is not None:
                add("gen_ai.tool.call.arguments", text_of(content_in))
            if content_out is not None:
                add("gen_ai.tool.call.result", text_of(content_out))
    for key, content in (("input", content_in), ("output", content_out)):
        if content is not None:
            add(f"{key}.value", text_of(content))
            add(f"{key}.mime_type", "text/plain" if isinstance(content, str) else "application/json")
    if model := first(item, "model", "providedModelName", "provided_model_name"):
        add("gen_ai.request.model", str(model))
    _usage(item, attributes)
    if metadata:
        add("metadata", text_of(metadata))


def _usage(item: Json, attributes: Json) -> None:
    usage = _object(first(item, "usageDetails", "usage_details", "usage"))
    for key, names in (
        ("gen_ai.usage.input_tokens", ("input", "promptTokens", "prompt_tokens", "input_tokens")),
        ("gen_ai.usage.output_tokens", ("output", "completionTokens", "completion_tokens", "output_tokens")),
    ):
        value = first(usage, *names)
        value = first(item, *names[1:]) if value is None else value
        if isinstance(value, int | float) and not isinstance(value, bool) and value:
            attributes.setdefault(key, int(value))


def _object(value: Any) -> Json:
    """An object, or JSON text of one, as a copy that may be changed."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except msgspec.DecodeError:
            return {}
    return dict(value) if isinstance(value, dict) else {}
