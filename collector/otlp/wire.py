"""A walk over protobuf wire format, for the requests that the C parser refuses.

The C parser says only that a message is bad, and refuses a whole request for one cut UTF-8 character. This walk goes
over the same bytes by the message's own descriptor, and tells apart: text that is not UTF-8 (mended, as other
collectors pass it on), a value that nests too deep (emptied), one item that cannot be read (left out, and named), and a
request that is broken (named by its byte). It is slow and runs on nothing that parses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from google.protobuf.descriptor import FieldDescriptor

from collector.otlp.errors import MalformedError

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
MAX_DEPTH = 100  # what the C parser allows

ITEMS = frozenset({"Span", "LogRecord"})


class Field(NamedTuple):
    """One field on the wire: `start` to `end` is all of it, `value` where its content starts."""

    number: int
    wire_type: int
    start: int
    value: int
    end: int


class _BrokenError(Exception):
    """Bytes that are no protobuf, and the byte where it shows."""

    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.what, self.at = what, at


def read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The varint at `at`, and where it ends.

    Raises ValueError when it does not end before `end` or has over 64 bits.
    """
    value = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            if value >= 1 << 64:
                break
            return value, at
        shift += 7
        if shift > 63:
            break
    raise ValueError("no varint")


def fields(data: bytes, start: int = 0, end: int | None = None) -> Iterator[Field]:
    """The fields of one message. Raises _BrokenError where the bytes are none."""
    at, end = start, len(data) if end is None else end
    while at < end:
        first = at
        tag, at = _varint(data, at, end)
        number, wire_type = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise _BrokenError(f"field number {number}", first)
        value = at
        if wire_type == VARINT:
            _, at = _varint(data, at, end)
        elif wire_type == LENGTH:
            size, value = _varint(data, at, end)
            at = value + size
        elif wire_type in (FIXED64, FIXED32):
            at += 8 if wire_type == FIXED64 else 4
        else:
            raise _BrokenError(f"wire type {wire_type}", first)
        if at > end:
            raise _BrokenError(f"a field of {at - value} bytes where {end - value} are left", first)
        yield Field(number, wire_type, first, value, at)


def is_message(data: bytes) -> bool:
    """Whether the bytes are fields from first to last (of any message)."""
    try:
        for _ in fields(data):
            pass
    except _BrokenError:
        return False
    return True


def mend(body: bytes, descriptor: Any) -> tuple[bytes, dict[str, str]]:
    """`body` as the C parser takes it, and what had to be emptied for that: path of an item -> why.

    An emptied item keeps its place, so that paths and indices stay those of the request as it came. Raises
    MalformedError when the request itself is broken.
    """
    walk = _Mending(body)
    try:
        return walk.message(0, len(body), descriptor), walk.lost
    except _BrokenError as err:
        raise MalformedError(f"a protobuf {descriptor.name}", err.what, f"byte {err.at}") from None


class _Mending:
    """One walk over one request."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.lost: dict[str, str] = {}

    def message(self, start: int, end: int, descriptor: Any, path: str = "", depth: int = 1) -> bytes:
        out: list[bytes] = []
        seen: dict[int, int] = {}
        for field in fields(self._data, start, end):
            spec = descriptor.fields_by_number.get(field.number)
            if spec is None or field.wire_type != LENGTH:
                out.append(self._data[field.start : field.end])
                continue
            content = self._data[field.value : field.end]
            if spec.type == FieldDescriptor.TYPE_STRING:
                content = content.decode("utf-8", "replace").encode()
            elif spec.type == FieldDescriptor.TYPE_MESSAGE:
                index = seen.get(field.number, 0)
                seen[field.number] = index + 1
                below = f"{path}{spec.name}[{index}]"
                content = self._below(field, spec.message_type, below, depth)
            out.append(encode_varint(field.number << 3 | LENGTH) + encode_varint(len(content)) + content)
        return b"".join(out)

    def _below(self, field: Field, descriptor: Any, path: str, depth: int) -> bytes:
        if depth >= MAX_DEPTH - 2 and descriptor.name == "AnyValue":
            return b""
        try:
            return self.message(field.value, field.end, descriptor, f"{path}.", depth + 1)
        except _BrokenError as err:
            if descriptor.name not in ITEMS:
                raise
            self.lost[path] = f"{err.what} at byte {err.at}"
            return b""


def encode_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    try:
        return read_varint(data, at, end)
    except ValueError:
        raise _BrokenError("a varint without an end", at) from None
