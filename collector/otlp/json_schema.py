"""The shapes of OTLP/JSON as msgspec types: what a request may hold, checked in C while it is decoded.

Separate from the readers because a type says what the wire looks like, and nothing of what is made of it.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

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
