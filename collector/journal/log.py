"""The journal as a folder of segments: append, sync, read back, drop what nothing needs.

Separate from the thread that groups writes, so that everything that touches the disk is plain, synchronous code.
Not thread-safe: after `open`, only the committing thread calls it.

Rules:
- records are never changed; a new process begins a new segment; what a failed write left is cut away, or the segment is
  given up for the next one;
- a torn end of the last segment is cut when the journal is opened, and said so.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec

from collector.journal.files import Files, OsFiles
from collector.journal.segment import HEADER, Damage, UnknownVersionError, frame, header, read
from collector.report import Position, Record

log = logging.getLogger(__name__)

_NAME: Final = re.compile(r"([0-9]{10})-([0-9a-f]{16})\.journal")


class JournalError(Exception):
    """The journal's folder cannot be used; the message says why."""


class _Segment(msgspec.Struct):
    number: int
    marker: bytes
    path: Path
    size: int


class Journal:
    """A folder of segments. `random_bytes` makes the markers."""

    def __init__(
        self,
        folder: Path,
        *,
        segment_size: int = 64 << 20,
        files: Files | None = None,
        random_bytes: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self.folder = folder
        self._segment_size = segment_size
        self._files = files or OsFiles()
        self._random_bytes = random_bytes
        self._segments: list[_Segment] = []
        self._handle: int | None = None
        self._next = 1

    @property
    def size(self) -> int:
        """Bytes in all segments."""
        return sum(segment.size for segment in self._segments)

    @property
    def segments(self) -> int:
        """How many segments there are."""
        return len(self._segments)

    @property
    def end(self) -> Position:
        """Where the last record ends."""
        return Position(self._segments[-1].number, self._segments[-1].size) if self._segments else Position()

    def free(self) -> int:
        """Bytes left on the disk."""
        return self._files.free(self.folder)

    def open(self, beyond: Position | None = None) -> list[Damage]:
        """Find the segments, and cut the torn end of the last one. Raises JournalError.

        `beyond`: new records get positions behind this one, even if a power cut took the segments before it.
        """
        try:
            names = [match for name in self._files.list(self.folder) if (match := _NAME.fullmatch(name))]
            self._segments = sorted(
                (
                    _Segment(int(match[1]), bytes.fromhex(match[2]), path, self._files.size(path))
                    for match in names
                    if (path := self.folder / match[0])
                ),
                key=lambda segment: segment.number,
            )
            self._next = max([0, *(s.number for s in self._segments), beyond.segment if beyond else 0]) + 1
            return self._cut_torn_end()
        except (OSError, UnknownVersionError) as error:
            raise JournalError(f"cannot use journal folder '{self.folder}': {error}") from error

    def records(self, start: Position) -> Iterator[Record | Damage]:
        """Yield what was accepted from a position on, in order, and the damage between. Raises OSError, UnknownVersionError."""
        for segment in list(self._segments):
            if segment.number >= start.segment:
                offset = start.offset if segment.number == start.segment else 0
                yield from read(self._files.read(segment.path), segment.number, segment.marker, offset)

    def append(self, records: Sequence[Record]) -> list[Record]:
        """Write a group and return it with positions. On OSError none of the group is in the journal."""
        if self._handle is None or self._segments[-1].size >= self._segment_size:
            self._begin()
        segment = self._segments[-1]
        frames = [frame(record, segment.marker) for record in records]
        pieces = list(chain.from_iterable(frames))
        self._guarded(segment, lambda handle: self._files.append(handle, pieces))
        placed: list[Record] = []
        for record, (before, body) in zip(records, frames, strict=True):
            place = Position(segment.number, segment.size)
            segment.size += len(before) + len(body)
            end = Position(segment.number, segment.size)
            placed.append(msgspec.structs.replace(record, position=place, end=end))
        return placed

    def take_back(self, group: Sequence[Record]) -> None:
        """Undo the last `append`: it could not be made durable, and nobody was told that it was accepted."""
        segment = self._segments[-1]
        segment.size = group[0].position.offset
        if self._handle is not None:
            with contextlib.suppress(OSError):
                self._files.truncate(self._handle, segment.size)
        self.seal()

    def sync(self) -> None:
        """Make what was appended durable. After an OSError the segment takes no more."""
        if self._handle is not None:
            self._files.sync(self._handle)

    def seal(self) -> None:
        """End the current segment; the next record begins another."""
        handle, self._handle = self._handle, None
        if handle is not None:
            with contextlib.suppress(OSError):
                self._files.close(handle)

    def trim(self, needed: Position, eager: bool = False) -> int:
        """Delete segments with nothing at or behind `needed`; return how many.

        The current one goes, too, when all of it is dealt with and it is worth it, or when `eager`.
        """
        if self._handle is not None and needed >= self.end and (eager or self.end.offset > self._segment_size // 4):
            self.seal()
        kept: list[_Segment] = []
        for segment in self._segments:
            current = self._handle is not None and segment is self._segments[-1]
            if current or needed < Position(segment.number, segment.size):
                kept.append(segment)
            else:
                self._files.remove(segment.path)
        dropped = len(self._segments) - len(kept)
        self._segments = kept
        return dropped

    def close(self) -> None:
        """Sync and give the files up."""
        if self._handle is not None:
            with contextlib.suppress(OSError):
                self._files.sync(self._handle)
        self.seal()

    def _begin(self) -> None:
        if self._handle is not None:
            self._files.sync(self._handle)
            self.seal()
        number, marker = self._next, self._random_bytes(8)
        path = self.folder / f"{number:010d}-{marker.hex()}.journal"
        self._handle = self._files.create(path)
        self._next += 1
        segment = _Segment(number, marker, path, 0)
        self._segments.append(segment)
        self._guarded(segment, lambda handle: self._files.append(handle, [header(number, marker)]))
        segment.size = HEADER.size

    def _guarded(self, segment: _Segment, write: Callable[[int], None]) -> None:
        handle = self._handle
        if handle is None:
            raise OSError("the segment is sealed")
        try:
            write(handle)
        except OSError:
            try:
                self._files.truncate(handle, segment.size)
            except OSError as error:
                log.warning(
                    "journal segment %d: cannot cut a failed write, beginning another: %s", segment.number, error
                )
                self.seal()
            if segment.size < HEADER.size:
                self.seal()
                self._segments.remove(segment)
                with contextlib.suppress(OSError):
                    self._files.remove(segment.path)
            raise

    def _cut_torn_end(self) -> list[Damage]:
        while self._segments:
            last = self._segments[-1]
            damages = [
                found
                for found in read(self._files.read(last.path), last.number, last.marker)
                if isinstance(found, Damage) and found.end == last.size and found.offset > 0
            ]
            if last.size <= HEADER.size:  # nothing was ever accepted into it
                self._files.remove(last.path)
                self._segments.pop()
                continue
            for damage in damages:
                log.warning("journal: cut a torn end: %s", damage)
                self._files.cut(last.path, damage.offset)
                last.size = damage.offset
            return damages
        return []
