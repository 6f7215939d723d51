"""Group commit: one thread writes what many requests brought, one fsync for all of them, and then tells them.

Separate from the journal so that files know no threads, and from the engine so that acceptance knows no files.

`fsync` says what an acknowledgement promises:
- `always`: the record outlives a power cut;
- `interval`: it outlives the process at once, and a power cut after at most the interval;
- `never`: it outlives the process; the operating system decides about power cuts.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Literal

from collector.journal.log import Journal
from collector.report import Position, Record

log = logging.getLogger(__name__)

FsyncPolicy = Literal["always", "interval", "never"]
Outcome = tuple[Any, Record | Exception]
"""A token that was submitted, and the placed record (it is as durable as promised), or what went wrong."""


class JournalFullError(Exception):
    """The journal reached its bound, or the disk its reserve."""


class GroupCommit:
    """The committing thread of a journal. `settled` is called from it with each group, in the order of submission,
    `failed` for each write or fsync that did not succeed."""

    def __init__(
        self,
        journal: Journal,
        *,
        fsync: FsyncPolicy = "interval",
        interval_s: float = 1.0,
        delay_s: float = 0.005,
        max_size: int = 0,
        reserve: int = 0,
        settled: Callable[[list[Outcome]], None],
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        self.journal = journal
        self._fsync: FsyncPolicy = fsync
        self._interval_s = interval_s
        self._delay_s = delay_s if fsync == "always" else 0.0
        self._max_size = max_size
        self._reserve = reserve
        self._settled = settled
        self._failed = failed
        self._waiting: list[tuple[Any, Record]] = []
        self._trim: Position | None = None
        self._roll = False
        self._stopping = False
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._unsynced_since: float | None = None
        self._free_checked = 0.0
        self._free = 0
        self.size = 0
        self.segments = 0

    def start(self) -> None:
        """Start the thread; a second call does nothing."""
        if self._thread is None:
            self._stopping = False
            self._measure()
            self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
            self._thread.start()

    def stop(self, deadline_s: float = 10.0) -> bool:
        """Write what waits, sync, and end the thread. False if the deadline passed first. Safe twice and without start."""
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
        return True

    def submit(self, token: Any, record: Record) -> None:
        """Take a record. Never blocks on the disk; what comes of it is told to `settled`."""
        with self._wake:
            if self._thread is None or self._stopping:
                raise RuntimeError("the journal is not running")
            self._waiting.append((token, record))
            if len(self._waiting) == 1:
                self._wake.notify()

    def trim(self, needed: Position, roll: bool = False) -> None:
        """Let segments go that hold nothing at or behind a position; soon, on the thread.

        `roll`: end the present segment, so that it goes, too, as soon as nothing in it is needed, and not when it is full.
        """
        with self._wake:
            self._trim = needed
            self._roll |= roll

    @property
    def full(self) -> bool:
        """Whether the next record would be refused."""
        if self._max_size and self.size >= self._max_size:
            return True
        return bool(self._reserve) and self._free_now() < self._reserve

    def _free_now(self) -> int:
        now = time.monotonic()
        if now - self._free_checked > 1.0 or self._free < self._reserve:
            try:
                self._free = self.journal.free()
            except OSError:
                self._free = 0
            self._free_checked = now
        return self._free

    def _run(self) -> None:
        while True:
            with self._wake:
                if not self._waiting and not self._stopping:
                    self._wake.wait(self._pause())
                stopping = self._stopping
                if self._delay_s and self._waiting and not stopping:
                    self._wake.wait(self._delay_s)
                group, self._waiting = self._waiting, []
                trim, self._trim = self._trim, None
                roll, self._roll = self._roll, False
            if group:
                self._commit(group)
            if self._unsynced_since is not None and time.monotonic() - self._unsynced_since >= self._interval_s:
                self._sync()
            if roll:
                if self._fsync != "never":
                    self._sync()
                self.journal.seal()
            if trim is not None:
                self._drop(trim)
            self._measure()
            if stopping and not group:
                if self._fsync != "never":
                    self._sync()
                self.journal.close()
                return

    def _pause(self) -> float:
        if self._unsynced_since is None:
            return 0.25
        return max(0.0, min(0.25, self._interval_s - (time.monotonic() - self._unsynced_since)))

    def _commit(self, group: list[tuple[Any, Record]]) -> None:
        outcomes: list[Outcome]
        try:
            if self.full:
                raise JournalFullError("the journal is at its bound, or the disk at its reserve")
            records = self.journal.append([record for _, record in group])
            if self._fsync == "always":
                try:
                    self.journal.sync()
                except OSError:
                    self.journal.take_back(records)
                    raise
            elif self._fsync == "interval" and self._unsynced_since is None:
                self._unsynced_since = time.monotonic()
            outcomes = [(token, record) for (token, _), record in zip(group, records, strict=True)]
        except Exception as error:  # of whatever kind: someone waits for the outcome, and others come after them
            if not isinstance(error, JournalFullError):
                self._failed()
            expected = isinstance(error, (OSError, JournalFullError))
            log.error("journal: refused %d requests: %s", len(group), error, exc_info=not expected)
            outcomes = [(token, error) for token, _ in group]
        self._settled(outcomes)

    def _sync(self) -> None:
        self._unsynced_since = None
        try:
            self.journal.sync()
        except OSError as error:
            self._failed()
            log.error("journal: fsync failed, a power cut may cost acknowledged requests: %s", error)
            self.journal.seal()

    def _drop(self, needed: Position) -> None:
        try:
            self.journal.trim(needed, eager=self.full)
        except OSError as error:
            log.warning("journal: cannot delete a segment: %s", error)

    def _measure(self) -> None:
        self.size, self.segments = self.journal.size, self.journal.segments
