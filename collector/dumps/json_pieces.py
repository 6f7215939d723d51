"""JSON documents of any size, read in pieces.

A document that fits no memory cannot be parsed whole, and no JSON library hands out the raw text of a part. This cursor
walks the structure and skips or returns values as bytes; what is in them is checked by whoever parses them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from collector.dumps.model import MAX_VALUE, DumpError
from collector.dumps.reader import ByteReader

_BLANK = re.compile(rb"[ \t\r\n]*")
# A whole string, or a bracket. Possessive: linear on any input.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|["\[\]{}]', re.DOTALL)
_SCALAR = re.compile(rb"[^\s,\]}\[{:\"]*")


class JsonCursor:
    """Walks one JSON value after the other. Raises DumpError where the text is none or ends in the middle."""

    def __init__(self, reader: ByteReader) -> None:
        self._reader = reader

    @property
    def where(self) -> str:
        return f"byte {self._reader.position}"

    def peek(self) -> bytes:
        """The next byte that is no blank, or b"" at the end."""
        while True:
            buffer, at = self._reader.view()
            end = _BLANK.match(buffer, at).end()  # type: ignore[union-attr]
            self._reader.skip(end - at)
            if self._reader.available:
                return buffer[end : end + 1]
            if self._reader.byte() == -1:
                return b""

    def members(self) -> Iterator[str]:
        """The names of an object's members. Each value must be taken before the next name is asked for."""
        self._expect(b"{")
        if self._done(b"}", first=True):
            return
        while True:
            name = self.value(1 << 20)
            try:
                key = msgspec.json.decode(name, type=str)
            except msgspec.DecodeError:
                raise DumpError(f"expected the name of a member, found {_short(name)}", self.where) from None
            self._expect(b":")
            yield key
            if self._done(b"}"):
                return

    def items(self) -> Iterator[int]:
        """The indices of an array's items. Each must be taken before the next is asked for."""
        self._expect(b"[")
        if self._done(b"]", first=True):
            return
        index = 0
        while True:
            yield index
            index += 1
            if self._done(b"]"):
                return

    def value(self, limit: int = MAX_VALUE) -> bytes:
        """The text of the next value. Raises DumpError where it has more bytes than `limit`."""
        return self._walk(limit)

    def skip(self) -> None:
        """Pass the next value, of any size."""
        self._walk(None)

    def _walk(self, limit: int | None) -> bytes:
        first = self.peek()
        if not first:
            raise self._cut()
        if first not in b'{["':
            return self._scalar()
        start, size, depth = self._reader.position, 0, 0
        pieces: list[bytes] = []
        while True:
            buffer, at = self._reader.view()
            stop, depth, complete = _scan(buffer, at, depth)
            size += stop - at
            if limit is not None:
                if size > limit:
                    raise DumpError(f"one value has over {limit} bytes, which is not read", f"byte {start}")
                pieces.append(buffer[at:stop])
            self._reader.skip(stop - at)
            if complete:
                return b"".join(pieces)
            if self._reader.available > MAX_VALUE:
                raise DumpError(f"one string has over {MAX_VALUE} bytes, which is not read", self.where)
            if not self._reader.grow():
                raise self._cut()

    def _scalar(self) -> bytes:
        length = 64
        while True:
            text = self._reader.peek(length)
            end = _SCALAR.match(text).end()  # type: ignore[union-attr]
            if end < len(text) or len(text) < length:
                break
            length *= 2
            if length > 1 << 20:
                raise DumpError(f"expected JSON, found {_short(text)}", self.where)
        if end == 0:
            raise DumpError(f"expected a JSON value, found {_short(text[:1])}", self.where)
        return self._reader.take(end)

    def _expect(self, mark: bytes) -> None:
        found = self.peek()
        if not found:
            raise self._cut()
        if found != mark:
            raise DumpError(f"expected {mark.decode()!r}, found {_short(found)}", self.where)
        self._reader.skip(1)

    def _done(self, closing: bytes, first: bool = False) -> bool:
        found = self.peek()
        if found == closing:
            self._reader.skip(1)
            return True
        if not first:
            if found == b",":
                self._reader.skip(1)
                return False
            if not found:
                raise self._cut()
            raise DumpError(f"expected ',' or {closing.decode()!r}, found {_short(found)}", self.where)
        return False

    def _cut(self) -> DumpError:
        return DumpError("incomplete: the document ends in the middle", self.where)


def _scan(buffer: bytes, at: int, depth: int) -> tuple[int, int, bool]:
    """How far a value goes on in the buffer, how deep it is there, and whether it ends there.

    Stops before a string whose end is not in the buffer.
    """
    for token in _TOKEN.finditer(buffer, at):
        mark = buffer[token.start()]
        if mark == 0x22:
            if token.end() - token.start() == 1:
                return token.start(), depth, False
        else:
            depth += 1 if mark in b"{[" else -1
        if depth <= 0:
            return token.end(), 0, True
    return len(buffer), depth, False


def _short(text: bytes) -> str:
    shown = repr(text[:40].decode("utf-8", "replace"))
    return shown if len(text) <= 40 else f"{shown[:-1]}...'"
