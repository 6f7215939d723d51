"""A copy of a store's file, of whatever version, while a collector writes to it or not.

Separate from the store because nothing is migrated here, and nothing asked: a copy is wanted most of all before another
version of this program has the file.

Rules:
- the copy is of one moment, however long it takes and whatever is written meanwhile;
- it gets its name only once it is whole and on the disk; what has the name already stays.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import tempfile
from pathlib import Path

from collector.store.schema import StoreError, connect, version

_PAGES = 1024  # between two looks at whether someone wants it to end


def copy(source: Path, target: Path) -> None:
    """Copy a store's file (0600). Raises OSError, StoreError, sqlite3.Error."""
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    handle, temporary = tempfile.mkstemp(prefix=".orbitrelay-", suffix=".tmp", dir=target.parent)
    os.close(handle)
    try:
        with contextlib.closing(connect(source)) as connection, contextlib.closing(_unjournaled(temporary)) as into:
            # One transaction: outside of it each commit of another process would make the copy begin again.
            connection.execute("BEGIN")
            _recognise(connection, source)
            connection.backup(into, pages=_PAGES)
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _recognise(connection: sqlite3.Connection, source: Path) -> None:
    try:
        version(connection)
    except (StoreError, sqlite3.Error) as error:
        raise StoreError(f"cannot use store '{source}': {error}") from error


def _unjournaled(path: str) -> sqlite3.Connection:
    """Open a copy to be: nobody reads it before it is whole, and what was not made whole is thrown away."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    return connection
