"""Content encodings of HTTP: a body decompressed in steps, under a cap that holds at each step.

Separate from admission because a few kilobytes can ask for gigabytes, and the one place that can be fooled by them is here.

Rules:
- never more than one step beyond the cap is decompressed: 64 KiB, and with zstd 16 MiB;
- the stream must end where its format says; what is cut off or followed by more is malformed, so that no half of a request is accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import zstandard
from zlib_ng import zlib_ng as zlib

_STEP = 64 << 10
_MEMBERS = 16  # each costs a copy of what follows it; no exporter sends more than one
_ZSTD_INPUT = 512  # a block of four bytes can stand for 128 KiB: what one step of input can give is 16 MiB
_ZSTD_WINDOW = 8 << 20  # RFC 8878 recommends decoders to support at least this, and encoders to stay within it


class InflateError(ValueError):
    """A body that is not what its content-encoding says."""


class TooLargeError(ValueError):
    """A body that passes the cap once decompressed."""


def inflate(body: bytes, encoding: str, cap: int) -> bytes:
    """The decompressed body. `encoding` is one of `ENCODINGS`. Raises `InflateError` and `TooLargeError`."""
    pieces: list[bytes] = []
    size = 0
    for piece in ENCODINGS[encoding](body):
        size += len(piece)
        if size > cap:
            raise TooLargeError(f"expected at most {cap} bytes after {encoding}, found more")
        pieces.append(piece)
    return b"".join(pieces)


def _gzip(body: bytes) -> Iterator[bytes]:
    rest = body
    for _ in range(_MEMBERS):  # members may follow each other (RFC 1952, 2.2)
        stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
        yield from _zlib_stream(stream, rest, "gzip")
        rest = stream.unused_data
        if not rest:
            return
    raise InflateError(f"expected at most {_MEMBERS} gzip members, found more")


def _deflate(body: bytes) -> Iterator[bytes]:
    """The zlib format, as RFC 9110 has it; bare deflate, as some senders have it, too."""
    zlib_format = len(body) > 1 and body[0] & 0x0F == 8 and int.from_bytes(body[:2], "big") % 31 == 0
    stream = zlib.decompressobj(zlib.MAX_WBITS if zlib_format else -zlib.MAX_WBITS)
    yield from _zlib_stream(stream, body, "deflate")
    if stream.unused_data:
        raise InflateError("expected deflate to end with the body, found more bytes after it")


def _zlib_stream(stream: zlib._Decompress, data: bytes, name: str) -> Iterator[bytes]:
    try:
        while not stream.eof:
            piece = stream.decompress(data, _STEP)
            data = stream.unconsumed_tail
            if not piece and not data and not stream.eof:
                raise InflateError(f"expected a whole {name} stream, found one that is cut off")
            yield piece
    except zlib.error as error:  # type: ignore[misc]  # its stub gives an instance for the class
        raise InflateError(f"expected {name}, found bytes that are not ({error})") from error


def _zstd(body: bytes) -> Iterator[bytes]:
    rest = body
    try:
        for _ in range(_MEMBERS):  # frames may follow each other (RFC 8878, 3.1)
            stream = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()
            read = 0
            while not stream.eof:
                if read >= len(rest):
                    raise InflateError("expected a whole zstd frame, found one that is cut off")
                yield stream.decompress(rest[read : read + _ZSTD_INPUT])
                read += _ZSTD_INPUT
            rest = stream.unused_data + rest[read:]
            if not rest:
                return
    except zstandard.ZstdError as error:
        raise InflateError(f"expected zstd, found bytes that are not ({error})") from error
    raise InflateError(f"expected at most {_MEMBERS} zstd frames, found more")


ENCODINGS: dict[str, Callable[[bytes], Iterator[bytes]]] = {"gzip": _gzip, "deflate": _deflate, "zstd": _zstd}
