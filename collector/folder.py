"""The data folder: where it is, that it can be written, and that one process alone has it.

Separate from the service because commands that only read or repair the folder need the same three answers.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from collector.listen.errors import StartError

_LOCK = "lock"


def default_folder() -> Path:
    """The platform's user data folder for this program."""
    import platformdirs  # noqa: PLC0415  # only where no folder is configured

    return Path(platformdirs.user_data_dir("orbitrelay", appauthor=False))


class DataFolder:
    """A folder held by this process from `acquire` to `release`; only its owner can read what is in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None

    def acquire(self) -> None:
        """Make the folder and lock it. Raises `StartError`."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        except OSError as error:
            raise StartError(
                f"cannot write to the data folder {str(self.path)!r} (data.dir): {_reason(error)}"
            ) from error
        if not _lock(handle):
            owner = os.read(handle, 32).decode("ascii", "replace").strip() or "unknown"
            os.close(handle)
            raise StartError(f"the data folder {str(self.path)!r} (data.dir) is in use by process {owner}")
        try:
            os.ftruncate(handle, 0)
            os.write(handle, f"{os.getpid()}\n".encode())
        except OSError as error:
            os.close(handle)
            raise StartError(
                f"cannot write to the data folder {str(self.path)!r} (data.dir): {_reason(error)}"
            ) from error
        self._handle = handle

    def release(self) -> None:
        """Let go of the folder. Idempotent."""
        if self._handle is not None:
            os.close(self._handle)  # closing is unlocking, also when the process is killed
            self._handle = None


def _lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415

            os.lseek(handle, 1 << 20, os.SEEK_SET)  # beyond the process id, which others must be able to read
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            os.lseek(handle, 0, os.SEEK_SET)
        else:
            import fcntl  # noqa: PLC0415

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
