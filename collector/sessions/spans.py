"""The spans seen of one trace, as little as telling twice-delivered and unfinished ones apart needs.

Separate from the assembler because it is the part whose size grows with spans: it is built per trace, written out in
pieces, dropped when the trace is quiet, and read back when something more arrives.

Rules:
- a span is known by its id, a log record by the hash of what it says;
- of two versions of a span the one that has ended wins, then the larger, then the greater checksum, so that the
  winner does not depend on which came first;
- a parent that was named and not seen is awaited; a root seen without its end is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from struct import Struct
from typing import Final

from zlib_ng.zlib_ng import crc32

_ENTRY: Final = Struct("<QQQB")  # identity, parent, rank, flags
_LOG, _ROOT, _PARENT = 1, 2, 4
_ENDED: Final = 1 << 62
_SIZE_LIMIT: Final = (1 << 30) - 1


class Sight(Enum):
    """What a delivery of a span is to those before it."""

    NEW = "new"
    BETTER = "better"
    DUPLICATE = "duplicate"
    STALE = "stale"


def rank(ended: bool, payload: bytes) -> int:
    """Return a number that orders versions of one span: ended first, then size, then checksum."""
    return (_ENDED if ended else 0) | min(len(payload), _SIZE_LIMIT) << 32 | crc32(payload)


class SpanTable:
    """Which spans of a trace were seen, in which version; which parents are awaited and which roots are open."""

    __slots__ = ("_fresh", "_seen", "awaited", "open_roots")

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}
        self._fresh = bytearray()
        self.awaited: set[int] = set()
        self.open_roots: set[int] = set()

    def __len__(self) -> int:
        return len(self._seen)

    def look(self, identity: int, log: bool, version: int) -> Sight:
        """Say what this version is, and change nothing."""
        known = self._seen.get(~identity if log else identity)
        if known is None:
            return Sight.NEW
        if version == known:
            return Sight.DUPLICATE
        return Sight.BETTER if version > known else Sight.STALE

    def add(self, identity: int, parent: int | None, version: int, log: bool) -> None:
        """Take a version that `look` called new or better. `parent` None: it is a root (or a log record)."""
        flags = (_LOG if log else 0) | (_PARENT if parent is not None else 0 if log else _ROOT)
        self._fresh += _ENTRY.pack(identity, parent or 0, version, flags)
        self._enter(identity, parent or 0, version, flags)

    def resolve(self, identity: int) -> None:
        """Note that a span exists whose version is not kept: nothing awaits it any more."""
        self.awaited.discard(identity)

    @property
    def clean(self) -> bool:
        """Whether `take` would return nothing."""
        return not self._fresh

    def take(self) -> bytes:
        """Return, packed, what was added since the last call."""
        packed = bytes(self._fresh)
        self._fresh.clear()
        return packed

    @classmethod
    def unpack(cls, pieces: Iterable[bytes]) -> SpanTable:
        """Rebuild a table from the pieces that `take` gave, in any order. Trailing bytes of a damaged piece are skipped."""
        table = cls()
        for piece in pieces:
            for identity, parent, version, flags in _entries(piece):
                known = table._seen.get(~identity if flags & _LOG else identity)
                if known is None or version > known:
                    table._enter(identity, parent, version, flags)
        return table

    def _enter(self, identity: int, parent: int, version: int, flags: int) -> None:
        if flags & _LOG:
            self._seen[~identity] = version
            return
        self._seen[identity] = version
        self.awaited.discard(identity)
        if flags & _PARENT and parent not in self._seen:
            self.awaited.add(parent)
        if flags & _ROOT:
            if version & _ENDED:
                self.open_roots.discard(identity)
            else:
                self.open_roots.add(identity)


def _entries(piece: bytes) -> Iterator[tuple[int, int, int, int]]:
    whole = len(piece) - len(piece) % _ENTRY.size
    return _ENTRY.iter_unpack(memoryview(piece)[:whole])
