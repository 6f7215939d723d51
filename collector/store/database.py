"""One SQLite file: readers on the threads that ask, and one thread that writes.

Separate from what is written, so that transactions, durability and lifecycle are settled once.

Rules:
- a write is a function of a connection; what waits together is committed together, each in a savepoint of its own, so
  that one that fails costs no other;
- a future is resolved after its transaction is on the disk (WAL, `synchronous = FULL`);
- readers see whole transactions, write nothing, and never wait for the writer or for room on the disk.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from collector.store.schema import StoreError, check, migrate

log = logging.getLogger(__name__)

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], T]

_GROUP = 64
_INCREMENTAL = 2  # as PRAGMA auto_vacuum says it


class Database:
    """A database file, or one in memory where `path` is None. `durable` False: a file that need not outlive a crash."""

    def __init__(self, path: Path | None, *, durable: bool = True) -> None:
        self.path = path
        self._synchronous = "FULL" if durable else "OFF"
        self._shared: sqlite3.Connection | None = None  # of a database in memory: all threads use it in turn
        self._shared_lock = threading.RLock()
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._jobs: list[tuple[Job[Any], Future[Any]]] = []
        self._wake = threading.Condition()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self.committed: list[Callable[[], None]] = []
        """Called on the writing thread after each commit; must not block."""

    def start(self) -> None:
        """Open and migrate the file, and start the writing thread. A second call does nothing. Raises StoreError."""
        if self._thread is not None:
            return
        connection: sqlite3.Connection | None = None
        try:
            connection = self._open()
            check(connection)
            _prepare(connection)
            migrate(connection)
        except (StoreError, sqlite3.Error, OSError) as error:
            if connection is not None:
                connection.close()
            raise StoreError(f"cannot use store '{self.path or ':memory:'}': {error}") from error
        if self.path is None:
            self._shared = connection
        self._stopping = False
        self._thread = threading.Thread(target=self._run, args=(connection,), name="store", daemon=True)
        self._thread.start()

    def stop(self, deadline_s: float = 10.0) -> bool:
        """Finish what was asked, close. False if the deadline passed first. Safe twice and without start."""
        thread = self._thread
        if thread is None:
            return True
        with self._wake:
            self._stopping = True
            self._wake.notify()
        thread.join(deadline_s)
        if thread.is_alive():
            return False
        self._thread = None
        for reader in self._readers:
            reader.close()
        self._readers.clear()
        self._local = threading.local()
        return True

    def write(self, job: Job[T]) -> Future[T]:
        """Ask for a write. The future holds its result once committed, else what went wrong."""
        future: Future[T] = Future()
        with self._wake:
            if self._thread is None or self._stopping:
                raise StoreError("the store is not running")
            self._jobs.append((job, future))
            self._wake.notify()
        return future

    @contextlib.contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A connection for reading, on this thread."""
        if self._shared is not None:
            with self._shared_lock:
                yield self._shared
            return
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            if self._thread is None:
                raise StoreError("the store is not running")
            connection = self._open()
            connection.execute("PRAGMA query_only = 1")
            self._local.connection = connection
            self._readers.append(connection)
        yield connection

    def _open(self) -> sqlite3.Connection:
        if self.path is None:
            return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):  # SQLite gives its other files the mode of this one
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=30)
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        connection.execute("PRAGMA busy_timeout = 30000")
        return connection

    def _run(self, connection: sqlite3.Connection) -> None:
        while True:
            with self._wake:
                while not self._jobs and not self._stopping:
                    self._wake.wait()
                jobs, self._jobs = self._jobs[:_GROUP], self._jobs[_GROUP:]
                if not jobs and self._stopping:
                    break
            with self._shared_lock if self._shared is not None else contextlib.nullcontext():
                results = _commit(connection, [job for job, _ in jobs])
            for (_, future), result in zip(jobs, results, strict=True):
                if isinstance(result, _Failed):
                    future.set_exception(result.error)
                else:
                    future.set_result(result)
            for listener in list(self.committed):
                listener()
        with contextlib.suppress(sqlite3.Error):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        self._shared = None


def _prepare(connection: sqlite3.Connection) -> None:
    """Say what a new file is to be. Not of one that is so already, and by the writer alone: to say it is to write."""
    if connection.execute("PRAGMA auto_vacuum").fetchone() != (_INCREMENTAL,):
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # counts only before the first table
    connection.execute("PRAGMA journal_mode = WAL")


class _Failed:
    def __init__(self, error: BaseException) -> None:
        self.error = error


def _commit(connection: sqlite3.Connection, jobs: list[Job[Any]]) -> list[Any]:
    results: list[Any] = []
    try:
        connection.execute("BEGIN IMMEDIATE")
        for job in jobs:
            connection.execute("SAVEPOINT job")
            try:
                results.append(job(connection))
            except Exception as error:
                if not connection.in_transaction:  # SQLite gave the whole transaction up, as on a full disk
                    raise
                connection.execute("ROLLBACK TO job")
                log.warning("store: a write failed: %s", error)
                results.append(_Failed(error))
            connection.execute("RELEASE job")
        connection.execute("COMMIT")
    except Exception as error:
        log.error("store: a transaction failed: %s", error)
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        return [_Failed(error) for _ in jobs]
    return results
