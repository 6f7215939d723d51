"""The few things a journal asks of a file system, behind one face.

Separate so that tests can put a file system under the journal that loses fsyncs, tears writes and runs full.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

_PIECES: Final = 1_024  # what one call takes (IOV_MAX of Linux)


class Files(Protocol):
    """A folder's files. Every method raises OSError as the system gives it."""

    def list(self, folder: Path) -> list[str]:
        """Return the names in a folder, which is created (0700) where it is missing."""

    def create(self, path: Path) -> int:
        """Make a new file (0600) for appending, durable in its folder; return a handle."""

    def append(self, handle: int, pieces: Sequence[bytes]) -> None:
        """Write all of `pieces` at the end, one behind the other."""

    def sync(self, handle: int) -> None:
        """Return when what was appended is on the disk."""

    def truncate(self, handle: int, size: int) -> None:
        """Cut the file behind a handle."""

    def close(self, handle: int) -> None:
        """Give the handle up."""

    def read(self, path: Path) -> bytes:
        """Return a whole file."""

    def size(self, path: Path) -> int:
        """Return a file's size in bytes."""

    def cut(self, path: Path, size: int) -> None:
        """Cut a file, durably."""

    def remove(self, path: Path) -> None:
        """Delete a file; one that is not there is no error."""

    def free(self, folder: Path) -> int:
        """Return the bytes left on the folder's disk."""


class OsFiles:
    """The operating system's files."""

    def list(self, folder: Path) -> list[str]:
        """List a folder, made where it is missing."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return sorted(os.listdir(folder))

    def create(self, path: Path) -> int:
        """Create a file and sync its folder, so that the name outlives a power cut."""
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
        _sync_folder(path.parent)
        return handle

    def append(self, handle: int, pieces: Sequence[bytes]) -> None:
        """Write all, however many calls it takes; not joined before, since requests can be large."""
        for at in range(0, len(pieces), _PIECES):
            some = pieces[at : at + _PIECES]
            written = os.writev(handle, some) if hasattr(os, "writev") else 0
            if written < sum(map(len, some)):
                rest = memoryview(b"".join(some))[written:]
                while rest:
                    rest = rest[os.write(handle, rest) :]

    def sync(self, handle: int) -> None:
        """fsync."""
        os.fsync(handle)

    def truncate(self, handle: int, size: int) -> None:
        """ftruncate."""
        os.ftruncate(handle, size)

    def close(self, handle: int) -> None:
        """Close."""
        os.close(handle)

    def read(self, path: Path) -> bytes:
        """Read."""
        return path.read_bytes()

    def size(self, path: Path) -> int:
        """Stat."""
        return path.stat().st_size

    def cut(self, path: Path, size: int) -> None:
        """Truncate and fsync."""
        handle = os.open(path, os.O_RDWR)
        try:
            os.ftruncate(handle, size)
            os.fsync(handle)
        finally:
            os.close(handle)

    def remove(self, path: Path) -> None:
        """Unlink."""
        path.unlink(missing_ok=True)

    def free(self, folder: Path) -> int:
        """Return what an ordinary user may still write."""
        return shutil.disk_usage(folder).free


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # a folder cannot be opened there, and its entries are durable with the file
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
