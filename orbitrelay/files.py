"""Files that are written whole or not at all.

Separate because a half-written report is worse than none: what is written goes to a file beside the target, which
replaces the target once everything is on disk.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from itertools import count
from typing import BinaryIO


@contextlib.contextmanager
def write_whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name only when the block ends without an exception.

    An existing file keeps its permissions, and a symbolic link stays one. What is no regular file (a pipe, a
    device) cannot be replaced and is written to directly.

    Raises:
        OSError: It cannot be written; `filename` is `path`.
    """
    target = os.path.realpath(path)
    try:
        mode = _mode_of(target)
        if mode is not None and not stat.S_ISREG(mode):
            with open(target, "wb") as direct:
                yield direct
            return
        with _replacement(target, mode) as file:
            yield file
    except OSError as error:
        error.filename, error.filename2 = os.fspath(path), None
        raise


def _mode_of(target: str) -> int | None:
    try:
        return os.stat(target).st_mode
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def _replacement(target: str, mode: int | None) -> Iterator[BinaryIO]:
    descriptor, temporary = _create_beside(target)
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _create_beside(target: str) -> tuple[int, str]:
    folder = os.path.dirname(target)
    for n in count():
        temporary = os.path.join(folder, f".orbitrelay-{os.getpid()}-{n}.tmp")
        with contextlib.suppress(FileExistsError):
            return os.open(
                temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666
            ), temporary
    raise AssertionError("count() ended")  # pragma: no cover
