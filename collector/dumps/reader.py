"""A forward reader over any byte stream: looks ahead, hands out lines and pieces, never holds more than it is asked for."""

from __future__ import annotations

from typing import Protocol

from collector.dumps.model import MAX_VALUE, DumpError

_READ = 1 << 18


class Source(Protocol):
    """What is read from: a file, a pipe, a decompressor."""

    def read(self, size: int, /) -> bytes: ...


class ByteReader:
    """`position` counts the bytes handed out."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._buffer = b""
        self._at = 0
        self._ended = False
        # Not the exception: its frames would hold this, and what is read from.
        self._fault: tuple[str, str] | None = None
        self.position = 0

    @property
    def available(self) -> int:
        return len(self._buffer) - self._at

    def fill(self, size: int) -> int:
        """Have at least `size` bytes ahead, or all that is left; returns how many there are.

        Where the source fails, what it gave before counts as all there is; the failure is raised when that is used up.
        """
        while self.available < size and not self._ended:
            try:
                piece = self._source.read(max(_READ, size - self.available))
            except DumpError as err:
                piece, self._fault = b"", (err.message, err.where)
            if piece:
                self._buffer, self._at = self._buffer[self._at :] + piece, 0
            else:
                self._ended = True
        if self._fault and not self.available:
            raise DumpError(*self._fault)
        return self.available

    def peek(self, size: int) -> bytes:
        """The next bytes, left where they are; fewer only at the end."""
        self.fill(size)
        return self._buffer[self._at : self._at + size]

    def byte(self, offset: int = 0) -> int:
        """The byte at an offset ahead, or -1 at the end."""
        if self.available <= offset and self.fill(offset + 1) <= offset:
            return -1
        return self._buffer[self._at + offset]

    def take(self, size: int) -> bytes:
        """The next `size` bytes, or what is left of them."""
        data = self.peek(size)
        self.skip(len(data))
        return data

    def skip(self, size: int) -> None:
        self._at += size
        self.position += size

    def view(self) -> tuple[bytes, int]:
        """The buffer and where the next byte stands in it; good until the next call that may read."""
        return self._buffer, self._at

    def grow(self) -> bool:
        """Read as much again as is there, so that what is searched anew each time costs linear time; false at the end."""
        before = self.available
        return self.fill(2 * before + 1) > before

    def line(self, limit: int) -> bytes | None:
        """The next line with its end, b"" at the end of all, None where it is longer than `limit` (nothing is taken)."""
        searched = 0
        while True:
            found = self._buffer.find(b"\n", self._at + searched)
            if found >= 0:
                return self.take(found + 1 - self._at)
            searched = self.available
            if searched > limit:
                return None
            if not self.grow():
                return self.take(searched)

    def exactly(self, size: int, what: str) -> bytes:
        """The next `size` bytes. Raises DumpError where there are fewer, or more than may be held."""
        if size > MAX_VALUE:
            raise DumpError(f"{what} has {size} bytes, at most {MAX_VALUE} are read", f"byte {self.position}")
        start = self.position
        data = self.take(size)
        if len(data) < size:
            incomplete = f"{what} is incomplete: {size} bytes announced, {len(data)} there", f"byte {start}"
            raise DumpError(*(self._fault or incomplete))
        return data
