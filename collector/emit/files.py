"""Trace documents and dossiers as files: safe names, whole or not at all.

Separate from the outbox, which decides when. A file's text is made before it is queued, so that a file that is written
again after a crash has the same bytes. A file of no bytes stands for its removal: what a session has given is never empty.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

FILES = "files"
"""The destination of what goes into the folder."""
MAX_STEM = 120
FILE_MODE = 0o600
FOLDER_MODE = 0o700
TRACE_SUFFIX = ".trace.json"
DOSSIER_SUFFIX = ".dossier.md"
SUFFIXES = (TRACE_SUFFIX, DOSSIER_SUFFIX)

_PART_PREFIX, _PART_SUFFIX = ".orbitrelay-", ".part"
_UNSAFE = re.compile(r"[^A-Za-z0-9._~@=+-]+")
_RESERVED = re.compile(r"(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)")


def file_stem(value: str) -> str:
    """Return the name that a session's files begin with, from its name (the key's value, `~N` from the second on).

    A value of safe characters stays itself. Any other has the unsafe runs as `_` and a hash of the whole behind it, so
    that two values never meet in one name; nothing in it can leave the folder, hide the file or name a device.
    """
    safe = _UNSAFE.sub("_", value).strip(".~-")
    if safe == value and safe and len(safe) <= MAX_STEM and not _RESERVED.match(safe):
        return safe
    digest = hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()
    head = f"_{safe}" if _RESERVED.match(safe) else safe
    return f"{head[: MAX_STEM - len(digest) - 1] or 'session'}-{digest}"


def write_whole(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Put `content` at `path`, for the owner only: after a crash the file is the old one or the new one, never a part.

    `durable` False: after a crash of the machine it may be either, or empty; a crash of the process changes nothing.
    Raises OSError.
    """
    path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=_PART_PREFIX, suffix=_PART_SUFFIX, dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), FILE_MODE)
            file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        Path(temporary).replace(path)
        if durable:
            _sync(path.parent)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _sync(folder: Path) -> None:
    """Make a rename outlive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Folder:
    """The folder of all sessions' files.

    `claim(stem, session_id)` gives the stem that this session may use: the one asked for, unless another session has it;
    "" where the session was deleted meanwhile.
    """

    def __init__(self, path: Path, claim: Callable[[str, str], str]) -> None:
        self._path = path
        self._claim = claim

    def clear(self) -> None:
        """Remove what writes that were killed have left. Raises OSError."""
        for part in self._path.glob(f"{_PART_PREFIX}*{_PART_SUFFIX}"):
            part.unlink(missing_ok=True)

    def write(self, name: str, content: bytes) -> Path | None:
        """Write one file, or remove it where `content` is empty; `name` is `<session id>/<stem><suffix>`.

        None if there is none afterwards. Blocks. Raises OSError, ValueError for another name.
        """
        session_id, _, file = name.partition("/")
        suffix = next((each for each in SUFFIXES if file.endswith(each)), "")
        stem = file.removesuffix(suffix)
        if not session_id or not suffix or stem != file_stem(stem):
            raise ValueError(f"not a file name of ours: {name!r}")
        if not content:  # its stem is the one that it was written under
            (self._path / file).unlink(missing_ok=True)
            return None
        claimed = self._claim(stem, session_id)
        if not claimed:
            return None
        path = self._path / f"{claimed}{suffix}"
        write_whole(path, content)
        return path
