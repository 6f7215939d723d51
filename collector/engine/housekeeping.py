"""Housekeeping: how often state is stored, and what the store forgets with time.

Separate from the worker, whose thread it runs on, because no request's way depends on what is purged.

Rules:
- a little at a time: a purge that dropped something is followed by another, behind what came in the meantime;
- nothing is purged while deletions are on their way: what is too old or too much would be found, and deleted, again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future

import msgspec

from collector.engine.intake import Intake
from collector.store import Store

log = logging.getLogger(__name__)


class Housekeeping(msgspec.Struct, frozen=True):
    """How often state is stored, and what is kept how long. 0 is no bound."""

    checkpoint_s: float = 1.0
    checkpoint_spans: int = 20_000
    purge_s: float = 60.0
    max_age_ns: int = 0
    max_bytes: int = 0


class Housekeeper:
    """Purges the store now and then. `call`: runs something on the intake thread, which owns this."""

    def __init__(
        self, store: Store, intake: Intake, keeping: Housekeeping, call: Callable[[Callable[[], None]], None]
    ) -> None:
        self.keeping = keeping
        self._store = store
        self._intake = intake
        self._call = call
        self._last = time.monotonic()
        self._purging = False

    def tick(self) -> None:
        """Begin to purge, if it is time."""
        now = time.monotonic()
        if self._purging or self._intake.deleting or now - self._last < self.keeping.purge_s:
            return
        self._last = now
        self._purging = True
        self._purge()

    def _purge(self) -> None:
        rules = self._intake.assembler.rules
        future = self._store.purge(rules.reopen_window_ns, rules.discarded_window_ns)
        future.add_done_callback(lambda done: self._call(lambda: self._purged(done)))

    def _purged(self, done: Future[int]) -> None:
        if done.exception() is None and done.result():
            self._purge()
            return
        self._purging = False
        if not (self.keeping.max_age_ns or self.keeping.max_bytes):
            return
        expendable = self._store.expendable(self.keeping.max_age_ns, self.keeping.max_bytes)
        for session_id in expendable:
            self._intake.delete(session_id)
        if expendable:
            log.info("retention: deleted %d sessions", len(expendable))
            self._last = 0.0  # there may be more
