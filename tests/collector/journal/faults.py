"""A file system in memory that misbehaves as disks do: fsyncs lost, writes torn by a power cut, no room left."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path


class FaultyFiles:
    """`collector.journal.Files`. `room`: bytes that may still be written (None: no end). `sync_fails`: fsync raises.

    `sync_lies`: fsync reports success and does nothing. `power_cut` leaves of each file what was synced, and of what was
    not, any piece: nothing, a prefix, or a stretch with rubbish in it.
    """

    def __init__(self, seed: int = 0) -> None:
        self.random = random.Random(seed)
        self.written: dict[Path, bytearray] = {}
        self.durable: dict[Path, bytes] = {}
        self.handles: dict[int, Path] = {}
        self.room: int | None = None
        self.sync_fails = False
        self.sync_lies = False
        self.syncs = 0

    def list(self, folder: Path) -> list[str]:
        return sorted(path.name for path in self.written if path.parent == folder)

    def create(self, path: Path) -> int:
        if path in self.written:
            raise FileExistsError(path)
        self.written[path] = bytearray()
        self.durable[path] = b""
        handle = max(self.handles, default=0) + 1
        self.handles[handle] = path
        return handle

    def append(self, handle: int, pieces: Sequence[bytes]) -> None:
        data = b"".join(pieces)
        file = self.written[self.handles[handle]]
        if self.room is not None and len(data) > self.room:
            file += data[: self.room]
            self.room = 0
            raise OSError(28, "No space left on device")
        if self.room is not None:
            self.room -= len(data)
        file += data

    def sync(self, handle: int) -> None:
        if self.sync_fails:
            raise OSError(5, "Input/output error")
        self.syncs += 1
        if not self.sync_lies:
            path = self.handles[handle]
            self.durable[path] = bytes(self.written[path])

    def truncate(self, handle: int, size: int) -> None:
        del self.written[self.handles[handle]][size:]

    def close(self, handle: int) -> None:
        del self.handles[handle]

    def read(self, path: Path) -> bytes:
        return bytes(self.written[path])

    def size(self, path: Path) -> int:
        return len(self.written[path])

    def cut(self, path: Path, size: int) -> None:
        del self.written[path][size:]
        self.durable[path] = bytes(self.written[path])

    def remove(self, path: Path) -> None:
        self.written.pop(path, None)
        self.durable.pop(path, None)

    def free(self, folder: Path) -> int:
        return 1 << 40 if self.room is None else self.room

    def power_cut(self) -> None:
        """Lose what was not durable, in one of the ways that disks do."""
        for path, file in self.written.items():
            durable = self.durable[path]
            loose = bytes(file[len(durable) :]) if bytes(file[: len(durable)]) == durable else b""
            kept = bytearray(loose[: self.random.randint(0, len(loose))])
            if kept and self.random.random() < 0.5:  # blocks that were never written read as zeros
                at = self.random.randrange(len(kept))
                kept[at:] = bytes(len(kept) - at)
            self.written[path] = bytearray(durable + kept)
            self.durable[path] = bytes(self.written[path])
        self.handles.clear()
