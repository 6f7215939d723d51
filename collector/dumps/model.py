"""What a reader of dumps has to say beside the telemetry it found, and the bounds that keep its memory flat."""

from __future__ import annotations

from typing import Literal

import msgspec

NoteKind = Literal["format", "passed_over", "unreadable"]
"""format: what an input was taken for. passed_over: read, but no span (metrics, logs tied to no span). unreadable: lost."""

MiB = 1 << 20

MAX_VALUE = 256 * MiB
"""The largest piece that is held at once: one JSON value that cannot be split further, one protobuf record."""

MAX_LINE = 16 * MiB
"""A longer line is read as a document, piece by piece."""

CHUNK = 4 * MiB
"""About how many bytes of spans make one batch of a document that is read in pieces."""


class ReadNote(msgspec.Struct, frozen=True):
    """One remark on an input. `where` is "" for the whole of it, else `line 4`, `record 7`, `byte 1200`."""

    source: str
    kind: NoteKind
    message: str
    where: str = ""

    def __str__(self) -> str:
        place = f"{self.source}: {self.where}" if self.where else self.source
        return f"{place}: {self.message}"


class DumpError(Exception):
    """What stops the reading of one input, in one line that needs no more context than its source and place."""

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(message)
        self.message, self.where = message, where
