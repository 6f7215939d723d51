"""The strings of a request put through a function, with the rest of the request as it came.

Redaction needs this before a request is journaled. It works on the protobuf message, not on a batch, so that unknown
fields and doubled keys stay; a JSON request is first made one of protobuf (`encode.traces_to_protobuf`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.otlp.protobuf import parse

Rewrite = Callable[[str, str], str]
"""(attribute key, string) -> string. A string inside a list or map comes with the key of the whole attribute; bytes come
as the text that they hold; the body of a log record with the key "body", a status message with "status.message"."""


def rewrite_traces(body: bytes, rewrite: Rewrite) -> bytes:
    """A protobuf trace request with the strings of all its attributes and status messages rewritten."""
    request: Any = parse(ExportTraceServiceRequest, body)[0]
    for resource_spans in request.resource_spans:
        _pairs(resource_spans.resource.attributes, rewrite)
        for scope_spans in resource_spans.scope_spans:
            _pairs(scope_spans.scope.attributes, rewrite)
            for span in scope_spans.spans:
                _pairs(span.attributes, rewrite)
                for part in (*span.events, *span.links):
                    _pairs(part.attributes, rewrite)
                if span.status.message:
                    span.status.message = rewrite("status.message", span.status.message)
    return bytes(request.SerializeToString())


def rewrite_logs(body: bytes, rewrite: Rewrite) -> bytes:
    """A protobuf log request with the strings of all its attributes and bodies rewritten."""
    request: Any = parse(ExportLogsServiceRequest, body)[0]
    for resource_logs in request.resource_logs:
        _pairs(resource_logs.resource.attributes, rewrite)
        for scope_logs in resource_logs.scope_logs:
            _pairs(scope_logs.scope.attributes, rewrite)
            for log in scope_logs.log_records:
                _pairs(log.attributes, rewrite)
                if log.HasField("body"):
                    _value("body", log.body, rewrite)
    return bytes(request.SerializeToString())


def rewrite_bytes(data: bytes, rewrite: Callable[[str], str]) -> bytes:
    """Bytes whose text is rewritten; what is no UTF-8 stays as it is between what is."""
    text = data.decode("utf-8", "surrogateescape")
    return rewrite(text).encode("utf-8", "surrogateescape")


def _pairs(pairs: Iterable[Any], rewrite: Rewrite) -> None:
    for pair in pairs:
        _value(pair.key, pair.value, rewrite)


def _value(key: str, value: Any, rewrite: Rewrite) -> None:
    kind = value.WhichOneof("value")
    if kind == "string_value":
        text = value.string_value
        rewritten = rewrite(key, text)
        if rewritten != text:
            value.string_value = rewritten
    elif kind == "bytes_value":
        value.bytes_value = rewrite_bytes(value.bytes_value, lambda text: rewrite(key, text))
    elif kind == "array_value":
        for item in value.array_value.values:
            _value(key, item, rewrite)
    elif kind == "kvlist_value":
        for pair in value.kvlist_value.values:
            _value(key, pair.value, rewrite)
