"""Redaction at admission: what the configured patterns match in a string of telemetry is replaced before anything is written down.

Separate from admission because it is the one step that rewrites a request there, and is paid for only where patterns are configured.

Rules:
- the values of attributes (resource, scope, span, event, link, log record, data point), log bodies and status messages are searched, at
  any depth, bytes as the text that they hold; names and attribute keys are not, since they say what a thing is;
- a request of traces or logs comes out as protobuf, whatever it came as.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import Any

import msgspec
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from collector.otlp.encode import logs_to_protobuf, traces_to_protobuf
from collector.otlp.rewrite import rewrite_bytes, rewrite_logs, rewrite_traces


class Redactor:
    """Replaces what `patterns` match by `replacement`, literally. With no patterns it is false, and there is nothing to do."""

    def __init__(self, patterns: Sequence[str], replacement: str) -> None:
        self._patterns = [re.compile(pattern) for pattern in patterns]
        self._replacement = replacement

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def text(self, value: str) -> str:
        """The text without what is to be redacted."""
        for pattern in self._patterns:
            value = pattern.sub(lambda _: self._replacement, value)
        return value

    def traces(self, encoding: str, body: bytes) -> bytes:
        """A trace request, redacted, as protobuf. Raises `MalformedError`."""
        return rewrite_traces(body if encoding == "protobuf" else traces_to_protobuf(body), self._rewrite)

    def logs(self, encoding: str, body: bytes) -> bytes:
        """A log request, redacted, as protobuf. Raises `MalformedError`."""
        return rewrite_logs(body if encoding == "protobuf" else logs_to_protobuf(body), self._rewrite)

    def metrics(self, encoding: str, body: bytes) -> bytes:
        """A metrics request, redacted, in the encoding it came in. Raises ValueError where it cannot be read."""
        if encoding == "json":
            document = msgspec.json.decode(body)
            self._json(document)
            return msgspec.json.encode(document)
        message = ExportMetricsServiceRequest()
        try:
            message.ParseFromString(body)
        except DecodeError as error:
            raise ValueError(str(error)) from error
        self._protobuf(message)
        return bytes(message.SerializeToString())

    def _rewrite(self, _key: str, value: str) -> str:
        return self.text(value)

    def _protobuf(self, message: Message) -> None:
        for field, value in message.ListFields():
            if field.type == FieldDescriptor.TYPE_MESSAGE:
                for child in value if field.is_repeated else (value,):
                    self._protobuf(child)
            elif field.name == "string_value":
                setattr(message, field.name, self.text(value))
            elif field.name == "bytes_value":
                setattr(message, field.name, rewrite_bytes(value, self.text))

    def _json(self, node: Any) -> None:
        if isinstance(node, list):
            for child in node:
                self._json(child)
        elif isinstance(node, dict):
            for key, value in node.items():
                if key in {"stringValue", "string_value"} and isinstance(value, str):
                    node[key] = self.text(value)
                elif key in {"bytesValue", "bytes_value"} and isinstance(value, str):
                    node[key] = self._base64(value)
                else:
                    self._json(value)

    def _base64(self, value: str) -> str:
        standard = value.rstrip("=").translate({ord("-"): "+", ord("_"): "/"})
        try:
            data = base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
        except ValueError:
            return self.text(value)
        return base64.b64encode(rewrite_bytes(data, self.text)).decode("ascii")
