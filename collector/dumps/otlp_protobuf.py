"""Dumps of OTLP in protobuf: one request, or any number of them with their lengths between.

Three framings are in use: a bare message (what a client would POST), four bytes of big-endian length before each message
(the Collector's file exporter, with `format: proto` or with compression, where each message may be zstd or JSON by
itself), and a varint before each (protobuf's own "delimited", which the OTLP file exporter specification asks for).
A bare message is read one ResourceSpans at a time, so its size does not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from collector.dumps.compression import is_zstd, unpack_zstd
from collector.dumps.model import MAX_VALUE, DumpError
from collector.dumps.reader import ByteReader
from collector.otlp import protobuf, wire
from collector.otlp.errors import MalformedError
from collector.otlp.model import Batch

Framing = Literal["message", "length", "varint"]
Signal = Literal["traces", "logs", "metrics", ""]

FRAMINGS: dict[Framing, str] = {
    "message": "OTLP protobuf, one message",
    "length": "OTLP protobuf, length-delimited",
    "varint": "OTLP protobuf, varint-delimited",
}


class Record:
    """One message of a dump and where it stood."""

    __slots__ = ("body", "where")

    def __init__(self, body: bytes, where: str) -> None:
        self.body, self.where = body, where


def framing_of(head: bytes) -> Framing | None:
    """How a dump that begins with these bytes is framed, or None where they are no OTLP."""
    if head[:1] == b"\x0a" and (signal_of(head) or _is_empty_message(head)):
        return "message"
    size = int.from_bytes(head[:4], "big")
    if len(head) > 4 and 0 < size <= MAX_VALUE and _is_payload(head[4 : 4 + size]):
        return "length"
    try:
        size, at = wire.read_varint(head, 0, min(len(head), 10))
    except ValueError:
        return None
    body = head[at : at + size]
    if 0 < size <= MAX_VALUE and body[:1] == b"\x0a" and (signal_of(body) or _is_empty_message(body)):
        return "varint"
    return None


def records(reader: ByteReader, framing: Framing) -> Iterator[Record]:
    """The messages of a dump. Raises DumpError where it breaks off; what came before has been given by then."""
    number = 0
    while reader.byte() != -1:
        number += 1
        where = f"record {number}"
        if framing == "length":
            size = int.from_bytes(reader.exactly(4, f"the length of {where}"), "big")
            body = reader.exactly(size, where)
            yield Record(unpack_zstd(body, MAX_VALUE) if is_zstd(body[:4].ljust(4)) else body, where)
        elif framing == "varint":
            yield Record(reader.exactly(_varint(reader), where), where)
        else:
            start = reader.position
            tag = _varint(reader)
            if tag != 0x0A:
                raise DumpError(f"expected field 1 of an OTLP request, found tag {tag}", f"byte {start}")
            content = reader.exactly(_varint(reader), where)
            yield Record(b"\x0a" + wire.encode_varint(len(content)) + content, where)


def read_record(body: bytes) -> Batch | Counter[str] | None:
    """The telemetry of one message, the names of its metrics, or None where it holds nothing.

    Raises MalformedError.
    """
    signal = signal_of(body)
    if signal == "traces":
        return protobuf.decode_traces(body)
    if signal == "logs":
        return protobuf.decode_logs(body)
    if signal == "metrics":
        try:
            request = ExportMetricsServiceRequest.FromString(body)
        except DecodeError as err:
            raise MalformedError("a protobuf ExportMetricsServiceRequest", f"bytes that are none ({err})") from None
        return Counter(m.name for rm in request.resource_metrics for sm in rm.scope_metrics for m in sm.metrics)
    if wire.is_message(body):
        return None
    raise MalformedError("an OTLP request", "bytes that are none", "byte 0")


def signal_of(body: bytes) -> Signal:
    """Which request this is, told from its first item (the three have the same outer shape). "" where it has no item.

    The bytes may end early: enough of the first item must be there.
    """
    for resource in _contents(body, 0, len(body), 1):
        for scope in _contents(body, *resource, 2):
            for item in _contents(body, *scope, 2):
                if signal := _item(body, *item):
                    return signal
    return ""


def _item(body: bytes, start: int, end: int) -> Signal:
    """A span has ids first and a fixed start time; a log record a fixed time first; a metric a name and a message."""
    fields = list(_fields(body, start, end))
    kinds = {(field.number, field.wire_type) for field in fields}
    sizes = {field.number: field.end - field.value for field in fields}
    if (7, wire.FIXED64) in kinds or (sizes.get(1) == 16 and sizes.get(2) == 8):
        return "traces"
    timed = kinds & {(1, wire.FIXED64), (11, wire.FIXED64)}
    if timed or ((5, wire.LENGTH) in kinds and (1, wire.LENGTH) not in kinds):
        return "logs"
    if (1, wire.LENGTH) in kinds and kinds & {(number, wire.LENGTH) for number in (5, 7, 9, 10, 11)}:
        return "metrics"
    return ""


def _contents(body: bytes, start: int, end: int, number: int) -> Iterator[tuple[int, int]]:
    for field in _fields(body, start, end):
        if field.number == number and field.wire_type == wire.LENGTH:
            yield field.value, field.end


def _fields(body: bytes, start: int, end: int) -> Iterator[wire.Field]:
    """The fields as far as they can be read; the last may be cut at the end."""
    at = start
    while at < end:
        try:
            tag, value = wire.read_varint(body, at, end)
            number, wire_type, stop = tag >> 3, tag & 7, value
            if wire_type == wire.VARINT:
                _, stop = wire.read_varint(body, value, end)
            elif wire_type == wire.LENGTH:
                size, value = wire.read_varint(body, value, end)
                stop = value + size
            elif wire_type in (wire.FIXED64, wire.FIXED32):
                stop = value + (8 if wire_type == wire.FIXED64 else 4)
            else:
                return
        except ValueError:
            return
        if not number:
            return
        yield wire.Field(number, wire_type, at, value, min(stop, end))
        at = stop


def _is_payload(body: bytes) -> bool:
    """What the Collector's file exporter puts behind a length."""
    return bool(signal_of(body)) or is_zstd(body[:4].ljust(4)) or body[:1] == b"{" or _is_empty_message(body)


def _is_empty_message(body: bytes) -> bool:
    """A request without items: field 1, and in it nothing but a resource, scopes and a schema URL."""
    if body[:1] != b"\x0a" or not wire.is_message(body):
        return False
    outer = list(_fields(body, 0, len(body)))
    inner = [field for part in outer for field in _fields(body, part.value, part.end)]
    return all(field.number == 1 for field in outer) and all(field.number <= 3 for field in inner)


def _varint(reader: ByteReader) -> int:
    head = reader.peek(10)
    try:
        value, size = wire.read_varint(head, 0, len(head))
    except ValueError:
        raise DumpError("expected a length, found none", f"byte {reader.position}") from None
    reader.skip(size)
    return value
