"""Compressed dumps as plain streams, whatever their names end in: gzip and zstd, of several members, one inside the other."""

from __future__ import annotations

import io
from typing import cast

import zstandard
from zlib_ng import zlib_ng as zlib

from collector.dumps.model import DumpError
from collector.dumps.reader import ByteReader, Source

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
MAX_WINDOW = 1 << 27
"""128 MiB, what `zstd` itself accepts without being told otherwise."""

_LAYERS = 3
_READ = 1 << 18
_REFUSED = (
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PAR1", "Parquet"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"Obj\x01", "Avro"),
    (b"%PDF", "PDF"),
    (b"\x89PNG", "an image"),
)


def is_zstd(head: bytes) -> bool:
    """A frame, or a frame to skip (which may come before the first)."""
    return head[:4] == ZSTD or (head[1:4] == b"\x2a\x4d\x18" and 0x50 <= head[0] <= 0x5F)


def plain(source: Source) -> tuple[ByteReader, tuple[str, ...]]:
    """A reader of what is inside, and the layers around it, the outermost first.

    Raises DumpError for what is a known format and not read; so do reads of a broken or cut stream.
    """
    layers: list[str] = []
    reader = ByteReader(source)
    while len(layers) < _LAYERS:
        head = reader.peek(16)
        if head[:2] == GZIP:
            layers.append("gzip")
            reader = ByteReader(_Gzip(reader))
        elif is_zstd(head):
            layers.append("zstd")
            reader = ByteReader(_Zstd(reader))
        else:
            break
    head = reader.peek(512)
    for magic, name in _REFUSED:
        if head.startswith(magic):
            raise DumpError(f"found {name}, which is not read: export OTLP, or unpack it first")
    if head[257:262] == b"ustar":
        raise DumpError("found a tar archive, which is not read: unpack it first")
    return reader, tuple(layers)


def unpack_zstd(data: bytes, limit: int) -> bytes:
    """One compressed record whole. Raises DumpError where it is broken or larger than `limit`."""
    inside = ByteReader(_Zstd(io.BytesIO(data)))
    content = inside.take(limit + 1)
    if len(content) > limit:
        raise DumpError(f"a compressed record has over {limit} bytes")
    return content


class _Gzip:
    """gzip of any number of members. Zeros behind the last are padding; anything else there is an error."""

    def __init__(self, reader: ByteReader) -> None:
        self._reader = reader
        self._member: zlib._Decompress | None = None

    def read(self, size: int, /) -> bytes:
        while True:
            if self._member is None:
                while self._reader.byte() == 0:
                    self._reader.skip(1)
                if self._reader.byte() == -1:
                    return b""
                self._member = zlib.decompressobj(wbits=31)
            data = self._member.unconsumed_tail or self._reader.take(_READ)
            if not data:
                raise DumpError("the gzip data ends in the middle", f"byte {self._reader.position}")
            try:
                out = self._member.decompress(data, size)
            except zlib.error as err:  # type: ignore[misc]  # its stub gives an instance for the class
                raise DumpError(f"the gzip data is broken ({err})", f"byte {self._reader.position}") from None
            if self._member.eof:
                self._reader = _Before(self._member.unused_data, self._reader).reader
                self._member = None
            if out:
                return out


class _Before:
    """Bytes that were read too far, in front of the rest."""

    def __init__(self, data: bytes, rest: ByteReader) -> None:
        self._data, self._rest = data, rest
        self.reader = ByteReader(self) if data else rest

    def read(self, size: int, /) -> bytes:
        if self._data:
            data, self._data = self._data, b""
            return data
        return self._rest.take(min(size, _READ))


class _Zstd:
    """zstd of any number of frames."""

    def __init__(self, source: ByteReader | io.BytesIO) -> None:
        inner = _Takes(source) if isinstance(source, ByteReader) else source
        decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW)
        self._stream = decompressor.stream_reader(cast("io.BytesIO", inner), read_across_frames=True)

    def read(self, size: int, /) -> bytes:
        try:
            return bytes(self._stream.read(size))
        except zstandard.ZstdError as err:
            raise DumpError(f"the zstd data is broken ({err})") from None


class _Takes:
    def __init__(self, reader: ByteReader) -> None:
        self._reader = reader

    def read(self, size: int = _READ, /) -> bytes:
        return self._reader.take(size if size >= 0 else _READ)
