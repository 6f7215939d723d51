"""The start: what was open is rebuilt from the store, and what the store had not seen is taken from the journal again.

Separate from the worker, which runs from then on; this runs once, before any thread does.

Rules:
- a record that the store has seen is taken again for the forwarder alone, one that it has not seen as if it came now;
- no record came later than now: a clock that was set back since would let nothing close, or go, until it is there again;
- damage costs the records that it hit and no others, and is counted where the store had not seen them;
- what replay took is stored as it goes: a start that is killed goes on where it was.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from collector import semconv
from collector.engine.intake import Count, Intake
from collector.journal import Damage, Journal, JournalError, UnknownVersionError
from collector.report import Position, Record

log = logging.getLogger(__name__)


class Replay:
    """See the module. `damages`: how many damaged places were found."""

    def __init__(self, intake: Intake, journal: Journal | None, count: Count, checkpoint_spans: int) -> None:
        self._intake = intake
        self._journal = journal
        self._count = count
        self._checkpoint_spans = checkpoint_spans
        self.damages = 0

    def run(self, now_ns: int) -> Position | None:
        """Rebuild and replay; return the first position that is still needed. Raises JournalError, StoreError."""
        position, held = self._intake.restore(now_ns)
        journal = self._journal
        if journal is None:
            return None
        for damage in journal.open(position):
            self._lost(damage)
        try:
            return self._take_again(journal, position, held, now_ns)
        except (OSError, UnknownVersionError) as error:
            raise JournalError(f"cannot read the journal in '{journal.folder}': {error}") from error

    def _take_again(
        self, journal: Journal, position: Position | None, held: Position | None, now_ns: int
    ) -> Position | None:
        intake = self._intake
        start = min((p for p in (position, held) if p is not None), default=Position())
        needed: Position | None = start
        count = 0
        for found in journal.records(start):
            if isinstance(found, Damage):
                if position is None or Position(found.segment, found.end) > position:
                    self._lost(found)
                continue
            record = msgspec.structs.replace(found, received_ns=min(found.received_ns, now_ns))
            if position is not None and record.end <= position:
                guarded(intake.replay, record, self._count)
                continue
            guarded(intake.take, record, self._count)
            count += 1
            if intake.pending >= self._checkpoint_spans:
                needed = self._store_now(journal, needed)
        needed = self._store_now(journal, needed)
        trim(journal, needed)  # also what the last run had stored and did not come to drop
        if count:
            log.info("journal: took %d requests that the store had not seen", count)
        return needed

    def _lost(self, damage: Damage) -> None:
        self.damages += 1
        self._count(semconv.H_JOURNAL_CORRUPT, 1)
        log.warning("journal: %s; the records there are lost, all others are kept", damage)

    def _store_now(self, journal: Journal, needed: Position | None) -> Position | None:
        """Store what changed, on this thread: before the engine runs, there is nothing else to do."""
        intake = self._intake
        if intake.dirty:
            needed = intake.stored(intake.checkpoint().result())
            trim(journal, needed)
        return needed


def guarded(take: Callable[[Record], None], record: Record, count: Count) -> None:
    """Take a record; a fault in one must not stop all others. It stays in the journal until its segment goes."""
    try:
        take(record)
    except Exception:
        log.exception("intake: a %s %s request of %d bytes failed", record.encoding, record.signal, len(record.body))
        count(semconv.H_RECOVERY_FAILED, 1)


def trim(journal: Journal | None, needed: Position | None) -> None:
    """Drop segments that nothing needs, while the committing thread does not run."""
    if journal is None or needed is None:
        return
    try:
        journal.trim(needed)
    except OSError as error:
        log.warning("journal: cannot delete a segment: %s", error)
