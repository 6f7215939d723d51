"""OTLP messages of our own making: attributes, ids, and requests of bounded size.

Separate from what is said in them. Everything made here carries our scope and our service name, by which it is known
when it comes back to us.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from collector import semconv
from collector.emit.text import clean

Value = str | bool | int | float | Sequence[str] | None

MAX_TEXT = 200
"""Longest text from telemetry in one of our attributes."""
MAX_LIST = 128
"""Most names in one of our attributes, events or links of one span: OpenTelemetry's own default limit."""
REQUEST_BYTES = 1 << 20
"""Size at which another request is begun; a receiver's usual limit is 4 MiB."""


def attributes(values: Mapping[str, Value]) -> list[KeyValue]:
    """Return OTLP attributes; None is left out, texts are cleaned and bounded."""
    return [KeyValue(key=key, value=_any(value)) for key, value in values.items() if value is not None]


def derived_id(*parts: str | int) -> bytes:
    """Return 8 bytes from a hash of `parts`: the id of a span that is the same whenever it is made again."""
    text = "\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=8).digest()


def trace_requests(spans: Iterable[Span], version: str) -> list[bytes]:
    """Return encoded export requests that hold `spans` in order, each of about REQUEST_BYTES at most."""
    return [
        ExportTraceServiceRequest(
            resource_spans=[
                ResourceSpans(resource=_resource(), scope_spans=[ScopeSpans(scope=_scope(version), spans=chunk)])
            ]
        ).SerializeToString(deterministic=True)
        for chunk in _chunks(spans)
    ]


def log_requests(records: Iterable[LogRecord], version: str) -> list[bytes]:
    """Return encoded export requests that hold `records` in order, each of about REQUEST_BYTES at most."""
    return [
        ExportLogsServiceRequest(
            resource_logs=[
                ResourceLogs(resource=_resource(), scope_logs=[ScopeLogs(scope=_scope(version), log_records=chunk)])
            ]
        ).SerializeToString(deterministic=True)
        for chunk in _chunks(records)
    ]


_Item = TypeVar("_Item", Span, LogRecord)


def _chunks(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    chunk: list[_Item] = []
    size = 0
    for item in items:
        size += item.ByteSize()
        if chunk and size > REQUEST_BYTES:
            yield chunk
            chunk, size = [], item.ByteSize()
        chunk.append(item)
    if chunk:
        yield chunk


def _any(value: Value) -> AnyValue:
    if isinstance(value, str):
        return AnyValue(string_value=clean(value, MAX_TEXT))
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    return AnyValue(array_value=ArrayValue(values=[_any(each) for each in (value or ())[:MAX_LIST]]))


def _resource() -> Resource:
    return Resource(attributes=attributes({semconv.SERVICE_NAME: semconv.SERVICE_NAME_VALUE}))


def _scope(version: str) -> InstrumentationScope:
    return InstrumentationScope(name=semconv.SCOPE_NAME, version=version)
