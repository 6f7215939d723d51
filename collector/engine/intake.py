"""What happens to a request after its acknowledgement, one step at a time: facts, sessions, checkpoints, closes.

Separate from the engine, which adds journal, threads and time, so that the converter takes the same path and tests can
stop between any two steps. Not thread-safe: one thread owns it. Only a `CloseJob` may run elsewhere.

Rules:
- a checkpoint holds all that was taken since the one before, with the journal's position: the store always stands at
  some point of the journal, and replay goes on from there;
- a close is stored (as due) before its report is made, and the report is committed before the close is forgotten;
- one checkpoint is on its way at a time, and one that failed is tried again before another is made.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import NamedTuple

import msgspec

from collector import pipeline, semconv
from collector.conventions import extract
from collector.engine.requests import decode, foreign, foreign_body
from collector.facts import Facts
from collector.otlp import values as otlp_values
from collector.otlp.errors import MalformedError
from collector.otlp.model import Batch
from collector.pipeline import Terms
from collector.report import Emitter, Forwarder, NoEmitter, OutboxEntry, Position, Record, Report
from collector.sessions.assembler import Assembler
from collector.sessions.model import Closed, Discarded, Rules
from collector.sessions.sightings import bare, scoped, sightings
from collector.sessions.spans import Sight
from collector.store import Checkpoint, Deleted, Store, Stored

log = logging.getLogger(__name__)

Count = Callable[[str, int], None]
_REPEATS = {Sight.DUPLICATE: semconv.H_SPANS_DUPLICATE, Sight.STALE: semconv.H_SPANS_STALE}


ALL_CHUNKS = (1 << 63) - 1


class CloseJob(msgspec.Struct, frozen=True):
    """A report to be made. `run` may be called on another thread.

    `glimpse`: the session is still open, and the report is for the forwarder alone.
    """

    closed: Closed
    chunk: int
    terms: Terms
    store: Store
    glimpse: bool = False

    def run(self, close: Callable[..., Report | None] = pipeline.close) -> Report | None:
        """Make the report, from the facts stored up to the close; None if no agent ran."""
        payloads, whole = self.store.archive.facts(self.closed.traces, self.chunk)
        return close(self.closed, payloads, self.terms, whole)


class _Deletion(NamedTuple):
    """A session to be deleted. `held`: it was in memory, so it is one even where the store has not seen it yet."""

    session_id: str
    held: bool
    told: Future[Deleted]

    def succeed(self, deleted: Deleted) -> None:
        if not self.told.done():
            self.told.set_result(deleted if deleted.sessions or not self.held else Deleted((self.session_id,)))

    def fail(self, error: BaseException) -> None:
        if not self.told.done():
            self.told.set_exception(error)


class Taken(msgspec.Struct):
    """Spans and log records taken since the start, by what they were."""

    spans: int = 0
    duplicates: int = 0
    stale: int = 0
    late: int = 0
    plain_traces: int = 0
    reports: int = 0


class Intake:
    """Takes requests in their order; gives checkpoints to the store and close jobs to whoever runs them."""

    def __init__(
        self,
        store: Store,
        rules: Rules,
        terms: Terms,
        *,
        emitter: Emitter | None = None,
        forwarder: Forwarder | None = None,
        count: Count = lambda name, amount: None,
        decoding: otlp_values.Limits = otlp_values.DEFAULT_LIMITS,
    ) -> None:
        self._store = store
        self._decoding = decoding
        self.terms = terms
        self.assembler = Assembler(rules, store.archive)
        self._emitter: Emitter = emitter or NoEmitter()
        self._forwarder = forwarder
        self._count = count
        self.taken = Taken()
        self._position: Position | None = None
        self._outbox: list[OutboxEntry] = []
        self._reports: list[Report] = []
        self._closed: list[Closed] = []  # since the last checkpoint
        self._jobs: deque[CloseJob] = deque()
        self._running: set[str] = set()
        self._glimpses: deque[CloseJob] = deque()
        self._deletions: list[_Deletion] = []  # since the last checkpoint
        self._sent_deletions: list[_Deletion] = []
        self._sent: Checkpoint | None = None
        self._sent_closed: list[Closed] = []
        self._resend = False
        self._looped = False
        self.pending = 0  # spans since the last checkpoint
        self.pending_bytes = 0  # of their facts
        self._sent_bytes = 0  # of those in the checkpoint on its way

    # -- taking --------------------------------------------------------------------------------------------------------

    def restore(self, now_ns: int) -> tuple[Position | None, Position | None]:
        """Bring back what the store holds open or due; return its position, and where reading must begin."""
        self.assembler.restore(self._store.archive.open_sessions(), now_ns)
        chunk = self._store.last_chunk()
        due = self.assembler.due(self._store.archive.due_sessions())
        self._jobs.extend(CloseJob(closed, chunk, self.terms, self._store) for closed in due)
        self._position, held = self._store.positions()
        return self._position, held

    def replay(self, record: Record) -> None:
        """Take a record again that sessions have had: only what is held for forwarding needs it."""
        if self._forwarder is not None:
            self._forward(*self._foreign(record, self._read(record)), replay=True)

    def take(self, record: Record) -> None:
        """Take one accepted request."""
        foreign, batch = self._foreign(record, self._read(record))
        self.observe(extract(batch, scope_attributes=self.terms.scopes.attributes), record.received_ns, record.tenant)
        self._forward(foreign, batch, replay=False)
        self._position = record.end

    def observe(self, facts: Facts, now_ns: int, tenant: str = "") -> None:
        """Take facts, as of an arrival time."""
        seen: Counter[Sight] = Counter()
        late = self.assembler.late
        for sighting in sightings(facts.spans, self.terms.scopes, tenant):
            seen[self.assembler.observe(sighting, now_ns)] += 1
            self.pending_bytes += len(sighting.payload)
        late = self.assembler.late - late
        self.pending += len(facts.spans)
        taken = self.taken
        taken.spans += seen[Sight.NEW]
        taken.duplicates += seen[Sight.DUPLICATE]
        taken.stale += seen[Sight.STALE]
        taken.late += late
        for sight, name in _REPEATS.items():
            if seen[sight]:
                self._count(name, seen[sight])
        if late:
            self._count(semconv.H_SPANS_LATE, late)

    def tick(self, now_ns: int) -> None:
        """Close what is due at a time."""
        self._take_closed(self.assembler.tick(now_ns))
        if self._forwarder is not None:
            self._outbox += self._forwarder.on_tick(now_ns)
            self._glimpse(self._forwarder.wanted(now_ns))

    def drain(self) -> None:
        """Close all that is open; the reports will be partial."""
        self._take_closed(self.assembler.drain())

    def delete(self, session_id: str, told: Future[Deleted] | None = None) -> None:
        """Delete a session, open or not, with the next checkpoint, and tell what that took.

        Where the checkpoint fails it is told so, and the session goes when the checkpoint is stored after all.
        """
        if told is not None:
            self._deletions.append(_Deletion(session_id, self.assembler.knows(session_id), told))
        self.assembler.delete(session_id)
        self._reports = [report for report in self._reports if report.session_id != session_id]
        self._closed = [closed for closed in self._closed if closed.session.session_id != session_id]

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        """Whether there is nothing to store, to make or to wait for."""
        return not (self.dirty or self._sent or self._jobs or self._running)

    @property
    def due(self) -> int:
        """How many reports are to be made or stored."""
        return len(self._closed) + len(self._sent_closed) + len(self._jobs) + len(self._running) + len(self._reports)

    @property
    def dirty(self) -> bool:
        """Whether a checkpoint would store anything."""
        return bool(self.pending or self._closed or self._reports or self._outbox or self.assembler.dirty)

    @property
    def urgent(self) -> bool:
        """Whether someone waits for the next checkpoint."""
        return bool(self._closed or self._reports) or self.assembler.deleting

    @property
    def deleting(self) -> bool:
        """Whether sessions are to be deleted that the store still holds."""
        return self.assembler.deleting or (self._sent is not None and bool(self._sent.changes.deleted))

    @property
    def unstored_bytes(self) -> int:
        """Size of the facts that are in memory because the store does not hold them yet."""
        return self.pending_bytes + self._sent_bytes

    @property
    def storing(self) -> bool:
        """Whether a checkpoint is on its way, or failed and is to be sent again."""
        return self._sent is not None

    def checkpoint(self) -> Future[Stored]:
        """Send what changed to the store; call `stored` or `failed` with what comes of it."""
        if self._sent is None:
            self._sent = Checkpoint(
                changes=self.assembler.changes(),
                position=self._position,
                replay_from=self._forwarder.held_from() if self._forwarder is not None else None,
                reports=tuple(self._reports),
                outbox=tuple(self._outbox),
            )
            self._sent_deletions, self._deletions = self._deletions, []
            self._sent_closed, self._closed = self._closed, []
            self._reports, self._outbox = [], []
            self._sent_bytes = self.pending_bytes
            self.pending = self.pending_bytes = 0
        elif not self._resend:
            raise RuntimeError("a checkpoint is on its way")
        self._resend = False
        return self._store.checkpoint(self._sent, self._emitter)

    def stored(self, stored: Stored) -> Position | None:
        """Learn that the checkpoint is on the disk; return the first position of the journal that is still needed."""
        sent = self._sent
        if sent is None:
            raise RuntimeError("no checkpoint is on its way")
        self._sent = None
        self._sent_bytes = 0
        self.assembler.stored()
        self._jobs.extend(CloseJob(closed, stored.chunk, self.terms, self._store) for closed in self._sent_closed)
        self._sent_closed = []
        for report in sent.reports:
            self.assembler.settle(report.session_id, report.revision)
        self.taken.reports += len(stored.committed)
        for deletion in self._sent_deletions:
            deletion.succeed(stored.deleted[deletion.session_id])
        self._sent_deletions = []
        return min((p for p in (sent.position, sent.replay_from) if p is not None), default=None)

    def failed(self, error: BaseException) -> None:
        """Learn that the checkpoint failed; the next `checkpoint` sends it again."""
        self._resend = True
        for deletion in self._sent_deletions:
            deletion.fail(error)

    # -- closes --------------------------------------------------------------------------------------------------------

    def next_job(self) -> CloseJob | None:
        """Return a report to make, no two of one session at a time; `finish` it."""
        for _ in range(len(self._jobs)):
            job = self._jobs.popleft()
            session_id = job.closed.session.session_id
            if session_id not in self._running:
                self._running.add(session_id)
                return job
            self._jobs.append(job)
        return self._glimpses.popleft() if self._glimpses else None

    def finish(self, job: CloseJob, report: Report | None) -> None:
        """Take what a job made."""
        if job.glimpse:
            if report is not None and self._forwarder is not None:
                self._forwarder.on_glimpse(report)
            return
        session = job.closed.session
        self._running.discard(session.session_id)
        if report is None:
            self.assembler.settle(session.session_id, session.revision, agents=False)
            self._discard(job.closed.traces)
        elif self.assembler.knows(session.session_id):
            if self._forwarder is not None:
                self._outbox += self._forwarder.on_report(report)
            self._reports.append(report)

    def give_up(self, job: CloseJob) -> None:
        """Note that a report could not be made: the session stays due, for a late span or the next start."""
        if job.glimpse:
            return
        self._running.discard(job.closed.session.session_id)
        self._count(semconv.H_RECOVERY_FAILED, 1)

    # -- all at once ---------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Store what changed, and wait for it."""
        if self.dirty or self.storing:
            self.stored(self.checkpoint().result())

    def close_all(self) -> Iterator[Report]:
        """Close all that is open and yield the reports, one in memory at a time."""
        self.drain()
        self.flush()
        while (job := self.next_job()) is not None:
            report = job.run()
            self.finish(job, report)
            self.flush()
            if report is not None and not job.glimpse:
                yield report

    def _glimpse(self, trace_ids: Sequence[str]) -> None:
        """Ask for the verdicts so far of the open sessions of traces: from the facts stored by now."""
        seen: set[str] = set()
        for trace_id in trace_ids:
            closed = self.assembler.glimpse(trace_id)
            if closed is not None and closed.session.session_id not in seen:
                seen.add(closed.session.session_id)
                terms = msgspec.structs.replace(self.terms, dossier=False)
                self._glimpses.append(CloseJob(closed, ALL_CHUNKS, terms, self._store, glimpse=True))

    def _take_closed(self, ends: Sequence[Closed | Discarded]) -> None:
        for end in ends:
            if isinstance(end, Closed):
                self._closed.append(end)
            else:
                self._discard(end.traces)

    def _discard(self, traces: Sequence[str]) -> None:
        self.taken.plain_traces += len(traces)
        self._count(semconv.H_TRACES_PLAIN, len(traces))
        if self._forwarder is not None:
            self._outbox += self._forwarder.on_discarded([bare(trace_id) for trace_id in traces])

    def _forward(self, record: Record, batch: Batch, replay: bool) -> None:
        if self._forwarder is not None and (batch.spans or batch.logs):
            visited = _Visited(self.assembler, record.tenant)
            self._outbox += self._forwarder.on_record(record, batch, visited, replay=replay)

    def _foreign(self, record: Record, batch: Batch) -> tuple[Record, Batch]:
        batch, own = foreign(batch)
        if own:
            self._count(semconv.H_SPANS_OWN, own)
            if self._forwarder is not None:
                self._warn_of_loop()
                record = foreign_body(record)
        return record, batch

    def _warn_of_loop(self) -> None:
        """Say once that what is forwarded comes back: of ours alone it is told, and the spans of others go round with it."""
        if not self._looped:
            self._looped = True
            log.warning("our own telemetry comes back to us, and with it what traces.forward sends: take the loop out")

    def _read(self, record: Record) -> Batch:
        try:
            return decode(record, self._decoding)
        except MalformedError as error:
            self._count(semconv.H_RECOVERY_FAILED, 1)
            log.error("an accepted request cannot be read (%s %s): %s", record.encoding, record.signal, error)
            return Batch()


class _Visited:
    """The trace ids that are known to hold an agent visit, as a connection's tenant names them."""

    def __init__(self, assembler: Assembler, tenant: str) -> None:
        self._assembler = assembler
        self._tenant = tenant

    def __contains__(self, trace_id: object) -> bool:
        return isinstance(trace_id, str) and self._assembler.visited(scoped(trace_id, self._tenant))
