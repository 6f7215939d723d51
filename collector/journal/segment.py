"""The bytes of one journal segment: how a record is framed, and how records are found again in a damaged file.

Separate from the journal so that the format can be fuzzed without files.

Format, little-endian. A segment begins with a header of 32 bytes:

    "ORBITJNL" | version u16 | 0 u16 | segment number u64 | marker 8 bytes | crc32 u32 of the 28 bytes before

and is followed by frames:

    marker 8 bytes | length u32 | crc32 u32 of length and payload | payload

    payload: kind u8 | received_ns u64 | tenant length u16 | tenant | body

Rules:
- the marker is random for each segment (and stands in the file's name, too): no sender can put bytes into a body that
  pass for a frame when the reader looks for the next one behind a damaged place;
- a frame counts only if its checksum holds; damage costs the frames it touches and no other.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

import msgspec
from zlib_ng import zlib_ng as zlib

from collector.report import Encoding, Position, Record, Signal

MAGIC: Final = b"ORBITJNL"
VERSION: Final = 1
HEADER: Final = struct.Struct("<8sHHQ8sI")
_FRAME: Final = struct.Struct("<8sII")
_PAYLOAD: Final = struct.Struct("<BQH")
_KINDS: Final[dict[tuple[Signal, Encoding], int]] = {
    ("traces", "protobuf"): 1,
    ("traces", "json"): 2,
    ("logs", "protobuf"): 3,
    ("logs", "json"): 4,
}
_BY_KIND: Final = {number: kind for kind, number in _KINDS.items()}


class Damage(msgspec.Struct, frozen=True):
    """A stretch of a segment that holds no readable record."""

    segment: int
    offset: int
    end: int
    reason: str

    def __str__(self) -> str:
        return f"segment {self.segment}: {self.reason} in bytes {self.offset} to {self.end}"


class UnknownVersionError(Exception):
    """The segment was written by a later version."""


def header(number: int, marker: bytes) -> bytes:
    """Return the first bytes of a segment."""
    head = HEADER.pack(MAGIC, VERSION, 0, number, marker, 0)[:-4]
    return head + struct.pack("<I", zlib.crc32(head))


def frame(record: Record, marker: bytes) -> tuple[bytes, bytes]:
    """Return a record as it stands in a segment with this marker: what comes before its body, and the body, not copied."""
    tenant = record.tenant.encode("utf-8", "surrogatepass")
    before = _PAYLOAD.pack(_KINDS[record.signal, record.encoding], record.received_ns, len(tenant)) + tenant
    length = len(before) + len(record.body)
    return _FRAME.pack(marker, length, _checksum(length, before, record.body)) + before, record.body


def read(data: bytes, number: int, marker: bytes, start: int = 0) -> Iterator[Record | Damage]:
    """Yield the records of a segment from an offset on, and the damage between them.

    `marker` (from the file's name) is used where the header is damaged. Raises UnknownVersionError.
    """
    offset = max(start, HEADER.size)
    head = data[: HEADER.size]
    if len(head) < HEADER.size or header_is_damaged(head):
        yield Damage(number, 0, min(len(data), HEADER.size), "damaged header")
    else:
        _, version, _, _, marker, _ = HEADER.unpack(head)
        if version > VERSION:
            raise UnknownVersionError(
                f"journal segment {number} is of version {version}; this program reads up to {VERSION}"
            )
    while offset < len(data):
        found = _frame_at(data, offset, number, marker)
        if isinstance(found, Record):
            yield found
            offset = found.end.offset
            continue
        after = offset
        while True:
            after = data.find(marker, after + 1)
            if after < 0:
                yield Damage(number, offset, len(data), found)
                return
            if isinstance(_frame_at(data, after, number, marker), Record):
                break
        yield Damage(number, offset, after, found)
        offset = after


def header_is_damaged(head: bytes) -> bool:
    """Whether the first bytes of a segment are not what `header` wrote."""
    return head[:8] != MAGIC or zlib.crc32(head[:-4]) != int.from_bytes(head[-4:], "little")


def _frame_at(data: bytes, offset: int, number: int, marker: bytes) -> Record | str:
    begin = offset + _FRAME.size
    if begin > len(data):
        return "cut record"
    found, length, checksum = _FRAME.unpack_from(data, offset)
    if found != marker:
        return "no record"
    end = begin + length
    if end > len(data):
        return "cut record"
    payload = data[begin:end]
    if length < _PAYLOAD.size or _checksum(length, payload) != checksum:
        return "damaged record"
    kind, received_ns, tenant_length = _PAYLOAD.unpack_from(payload)
    body = _PAYLOAD.size + tenant_length
    if kind not in _BY_KIND or body > length:
        return "unknown record"
    signal, encoding = _BY_KIND[kind]
    tenant = payload[_PAYLOAD.size : body].decode("utf-8", "surrogatepass")
    place, behind = Position(number, offset), Position(number, end)
    return Record(signal, encoding, payload[body:], received_ns, tenant, place, behind)


def _checksum(length: int, *payload: bytes) -> int:
    checksum = zlib.crc32(struct.pack("<I", length))
    for piece in payload:
        checksum = zlib.crc32(piece, checksum)
    return checksum
