"""The stateful core: accepts requests, keeps them in the journal, and carries them through to reports.

Separate from the receivers, which know protocols, and from the intake, which knows no thread.

The way of a request: `accept` (event loop) -> journal (its thread) -> acknowledged -> intake (one thread: decode,
sessions, checkpoints) -> store (its thread); reports are made by workers beside.

Rules:
- an acknowledged request is in the journal; it leaves the journal when the store holds what came of it;
- everything bounded; what does not fit is refused retryably, with the reason, and what was accepted is kept;
- `stop` ends intake first; without a drain it closes no session, and the next start goes on where this one stopped.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, Final, Literal

import msgspec

from collector import pipeline, semconv
from collector.clock import SteadyClock, seconds
from collector.intake import CloseJob, Intake, Taken
from collector.journal import Damage, FsyncPolicy, GroupCommit, Journal, JournalError, UnknownVersionError
from collector.otlp import json as otlp_json
from collector.otlp import protobuf as otlp_protobuf
from collector.otlp import values as otlp_values
from collector.pipeline import Terms
from collector.report import Emitter, Encoding, Forwarder, Position, Record, Report, Signal
from collector.sessions.assembler import Rules
from collector.sessions.sightings import scoped
from collector.store import Deleted, Store, Stored

log = logging.getLogger(__name__)

Reason = Literal["queue", "memory", "sessions", "disk", "stopping"]

_RETRY_AFTER_S: Final[dict[str, float]] = {"queue": 1.0, "memory": 5.0, "sessions": 10.0, "disk": 10.0, "stopping": 5.0}

# Measured sizes of what the assembler holds in memory, in bytes, rounded up.
SPAN_BYTES, TRACE_BYTES, SESSION_BYTES = 220, 2200, 2600


_TRACE_IDS: Final[dict[tuple[Signal, Encoding], Callable[[bytes], set[str]]]] = {
    ("traces", "protobuf"): otlp_protobuf.trace_ids,
    ("traces", "json"): otlp_json.trace_ids,
    ("logs", "protobuf"): otlp_protobuf.log_trace_ids,
    ("logs", "json"): otlp_json.log_trace_ids,
}


class Overloaded(Exception):  # noqa: N818 - a state, and the protocols' word for it
    """The request cannot be taken now; the sender should come back after `retry_after_s`."""

    permanent = False

    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(f"overloaded: {reason}{': ' if detail else ''}{detail}")
        self.reason: Reason = reason
        self.retry_after_s = _RETRY_AFTER_S[reason]


class Accepted(msgspec.Struct, frozen=True):
    """One request that passed admission. `body` is uncompressed; `tenant` is of the connection, "" for none."""

    signal: Signal
    encoding: Encoding
    body: bytes
    tenant: str = ""


class Limits(msgspec.Struct, frozen=True):
    """Bounds of the engine; 0 is none. Sizes in bytes. `journal_size` and `disk_free` guard the disk."""

    queue_size: int = 64 << 20
    queue_requests: int = 4096
    open_sessions: int = 100_000
    memory: int = 1 << 30
    journal_size: int = 4 << 30
    disk_free: int = 256 << 20


class Durability(msgspec.Struct, frozen=True):
    """How the journal promises. See `collector.journal.commit`."""

    fsync: FsyncPolicy = "interval"
    interval_s: float = 1.0
    delay_s: float = 0.005


class Housekeeping(msgspec.Struct, frozen=True):
    """How often state is stored, and what is kept how long. 0 is no bound."""

    checkpoint_s: float = 1.0
    checkpoint_spans: int = 20_000
    purge_s: float = 60.0
    max_age_ns: int = 0
    max_bytes: int = 0


class EngineStats(msgspec.Struct, frozen=True):
    """The engine in numbers."""

    queue_requests: int
    queue_size: int
    open_sessions: int
    memory: int
    journal_size: int
    journal_segments: int
    journal_failures: int
    refused: dict[str, int]
    taken: Taken
    damages: int
    ready: bool


class _Tick(msgspec.Struct, frozen=True):
    now_ns: int


class _Call(msgspec.Struct, frozen=True):
    run: Callable[[], None]


class _Stop(msgspec.Struct, frozen=True):
    deadline: float
    drain: bool


class Engine:
    """See the module. `journal` None: nothing outlives the process but reports. The store is started and stopped by its owner.

    `pool`: where reports are made; None uses threads of this process. `count(name, n)`: adds to a health counter.
    `decoding`: how much of one attribute is kept.
    """

    def __init__(
        self,
        *,
        store: Store,
        journal: Journal | None,
        rules: Rules | None = None,
        terms: Terms | None = None,
        limits: Limits | None = None,
        durability: Durability | None = None,
        housekeeping: Housekeeping | None = None,
        emitter: Emitter | None = None,
        forwarder: Forwarder | None = None,
        clock: SteadyClock | None = None,
        pool: Executor | None = None,
        count: Callable[[str, int], None] = lambda name, amount: None,
        reported: Callable[[], None] = lambda: None,
        decoding: otlp_values.Limits = otlp_values.DEFAULT_LIMITS,
    ) -> None:
        self._store = store
        self._journal = journal
        self.rules = rules or Rules()
        self._limits = limits or Limits()
        self._durability = durability or Durability()
        self._keeping = housekeeping or Housekeeping()
        self._clock = clock or SteadyClock()
        self._pool = pool
        self._count = count
        self._reported = reported
        self._intake = Intake(
            store,
            self.rules,
            terms or Terms(),
            emitter=emitter,
            forwarder=forwarder,
            count=count,
            decoding=decoding,
        )
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._commit: GroupCommit | None = None
        self._thread: threading.Thread | None = None
        self._closers: ThreadPoolExecutor | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._running_jobs = 0
        self._last_checkpoint = self._last_purge = time.monotonic()
        self._retry_at = 0.0
        self._store_failing = False
        self._accepting = False
        self._ticks = 0
        self._accepted_bytes = self._accepted_requests = 0  # written by the event loop only
        self._done_bytes = self._done_requests = 0  # written by the intake thread only
        self._failed_bytes = self._failed_requests = 0  # written by the event loop only
        self._refused: dict[str, int] = {}
        self._damages = 0
        self._needed: Position | None = None
        self._purging = False

    # -- lifecycle -----------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Rebuild what was open, replay the journal, and take requests. Raises JournalError, StoreError."""
        if self._thread is not None:
            return
        self._loop = asyncio.get_running_loop()
        await asyncio.to_thread(self._recover)
        self._closers = ThreadPoolExecutor(2, thread_name_prefix="close")
        self._thread = threading.Thread(target=self._run, name="intake", daemon=True)
        self._thread.start()
        if self._journal is not None:
            self._commit = GroupCommit(
                self._journal,
                fsync=self._durability.fsync,
                interval_s=self._durability.interval_s,
                delay_s=self._durability.delay_s,
                max_size=self._limits.journal_size,
                reserve=self._limits.disk_free,
                settled=self._settled,
            )
            self._commit.start()
        self._accepting = True

    async def stop(self, deadline_s: float = 25.0, drain: bool = False) -> bool:
        """Stop taking requests, finish what was taken, store it. False if the deadline passed first.

        `drain`, or no journal: sessions that are open are closed and reported as partial. Safe twice and without start.
        """
        self._accepting = False
        thread = self._thread
        if thread is None:
            return True
        deadline = time.monotonic() + deadline_s
        if self._commit is not None:
            await asyncio.to_thread(self._commit.stop, max(0.1, deadline - time.monotonic()))
        self._inbox.put(_Stop(deadline, drain or self._journal is None))
        await asyncio.to_thread(thread.join, max(0.1, deadline - time.monotonic() + 0.5))
        stopped = not thread.is_alive()
        if self._closers is not None:
            # A report that still is being made is waited for no longer; it is due at the next start, too.
            self._closers.shutdown(wait=stopped and self._intake.idle, cancel_futures=True)
            self._closers = None
        if stopped:
            self._thread = None
            self._commit = None
            await asyncio.to_thread(self._trim_now)
        return stopped and self._intake.idle

    # -- the event loop's side -----------------------------------------------------------------------------------------

    async def accept(self, request: Accepted) -> None:
        """Keep a request; returns when it is as durable as promised. Raises Overloaded."""
        if (trouble := self.trouble(request)) is not None:
            self._refused[trouble.reason] = self._refused.get(trouble.reason, 0) + 1
            raise trouble
        size = len(request.body)
        record = Record(request.signal, request.encoding, request.body, self._clock.now_ns(), request.tenant)
        self._accepted_bytes += size
        self._accepted_requests += 1
        if self._commit is None:
            self._inbox.put(record)
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            self._commit.submit((waiting, size), record)
        except RuntimeError:
            self._failed_bytes += size
            self._failed_requests += 1
            raise Overloaded("stopping") from None
        await waiting

    def trouble(self, request: Accepted | None = None) -> Overloaded | None:
        """Return why a request, or any that opens a session, would be refused now; None if it would not."""
        limits = self._limits
        if not self._accepting:
            return Overloaded("stopping")
        requests, size = self._queued()
        if limits.queue_requests and requests >= limits.queue_requests:
            return Overloaded("queue", f"{requests} requests wait to be decoded")
        if limits.queue_size and size >= limits.queue_size:
            return Overloaded("queue", f"{size} bytes wait to be decoded")
        if limits.memory and self._memory() >= limits.memory:
            return Overloaded("memory", f"open sessions hold {self._memory()} bytes; see limits.memory")
        if (
            limits.open_sessions
            and self._intake.assembler.open_sessions >= limits.open_sessions
            and not self._continues(request)
        ):
            return Overloaded("sessions", f"{limits.open_sessions} sessions are open; see limits.open_sessions")
        if self._store_failing:
            return Overloaded("disk", "the store cannot be written")
        if self._commit is not None and self._commit.full:
            return Overloaded("disk", "the journal is at its bound, or the disk at its reserve")
        return None

    def _continues(self, request: Accepted | None) -> bool:
        """Whether all of a request is of sessions that are open: at their bound they must still be able to end."""
        if request is None:
            return False
        known = _TRACE_IDS[request.signal, request.encoding](request.body)
        return all(self._intake.assembler.is_open(scoped(trace_id, request.tenant)) for trace_id in known)

    def tick(self) -> None:
        """Let time pass: closes what is due, behind all that was accepted before."""
        if self._thread is not None and self._ticks == 0:
            self._ticks += 1
            self._inbox.put(_Tick(self._clock.now_ns()))

    async def delete(self, session_id: str) -> Deleted:
        """Delete a session, open or not, with all that was made of it. What was acknowledged of it before does not come back.

        Its requests leave the journal soon after.
        """
        deleted: Future[Deleted] = Future()
        deleted.set_running_or_notify_cancel()  # it is deleted also if nobody waits for it any more
        self._inbox.put(_Call(lambda: self._intake.delete(session_id, deleted)))
        return await asyncio.wrap_future(deleted)

    async def reload(self, terms: Terms, rules: Rules, housekeeping: Housekeeping) -> None:
        """Make reports that are due from now on under other terms, and close and delete by other rules."""

        def run() -> None:
            self._intake.terms = terms
            self._intake.assembler.change(rules)
            self.rules, self._keeping = rules, housekeeping

        self._inbox.put(_Call(run))

    def stats(self) -> EngineStats:
        """Return the engine in numbers; cheap, from any thread."""
        requests, size = self._queued()
        commit = self._commit
        return EngineStats(
            queue_requests=requests,
            queue_size=size,
            open_sessions=self._intake.assembler.open_sessions,
            memory=self._memory(),
            journal_size=commit.size if commit else 0,
            journal_segments=commit.segments if commit else 0,
            journal_failures=commit.failures if commit else 0,
            refused=dict(self._refused),
            taken=msgspec.structs.replace(self._intake.taken),
            damages=self._damages,
            ready=self._accepting,
        )

    def _queued(self) -> tuple[int, int]:
        requests = self._accepted_requests - self._done_requests - self._failed_requests
        return requests, self._accepted_bytes - self._done_bytes - self._failed_bytes

    def _memory(self) -> int:
        assembler = self._intake.assembler
        held = SPAN_BYTES * assembler.resident_spans + TRACE_BYTES * assembler.resident_traces
        return held + SESSION_BYTES * assembler.open_sessions + self._intake.unstored_bytes + self._queued()[1]

    def _settle(self, outcomes: list[tuple[tuple[asyncio.Future[None], int], Record | Exception]]) -> None:
        for (waiting, size), outcome in outcomes:
            if isinstance(outcome, Exception):
                self._failed_requests += 1
                self._failed_bytes += size
                if not waiting.done():
                    waiting.set_exception(Overloaded("disk", str(outcome)))
            elif not waiting.done():
                waiting.set_result(None)

    # -- the journal thread's side -------------------------------------------------------------------------------------

    def _settled(self, outcomes: list[tuple[Any, Record | Exception]]) -> None:
        for _, outcome in outcomes:
            if isinstance(outcome, Record):
                self._inbox.put(outcome)
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._settle, outcomes)

    # -- the intake thread's side --------------------------------------------------------------------------------------

    def _recover(self) -> None:
        intake = self._intake
        position, held = intake.restore(self._clock.now_ns())
        if self._journal is None:
            return
        for damage in self._journal.open(position):
            self._lost(damage)
        try:
            self._replay(self._journal, position, held)
        except (OSError, UnknownVersionError) as error:
            raise JournalError(f"cannot read the journal in '{self._journal.folder}': {error}") from error

    def _replay(self, journal: Journal, position: Position | None, held: Position | None) -> None:
        intake = self._intake
        start = self._needed = min((p for p in (position, held) if p is not None), default=Position())
        count = 0
        for found in journal.records(start):
            if isinstance(found, Damage):
                if position is None or Position(found.segment, found.end) > position:
                    self._lost(found)
                continue
            if position is not None and found.end <= position:
                self._guarded(intake.replay, found)
                continue
            self._take(found)
            count += 1
            if intake.pending >= self._keeping.checkpoint_spans:
                self._store_now()
        self._store_now()
        self._trim_now()  # also what the last run had stored and did not come to drop
        if count:
            log.info("journal: took %d requests that the store had not seen", count)

    def _lost(self, damage: Damage) -> None:
        self._damages += 1
        self._count(semconv.H_JOURNAL_CORRUPT, 1)
        log.warning("journal: %s; the records there are lost, all others are kept", damage)

    def _store_now(self) -> None:
        """Store what changed, on this thread: before the engine runs, there is nothing else to do."""
        intake = self._intake
        if intake.dirty:
            self._needed = intake.stored(intake.checkpoint().result())
            self._trim_now()

    def _trim_now(self) -> None:
        """Drop segments that nothing needs, while the committing thread does not run."""
        if self._journal is None or self._needed is None:
            return
        try:
            self._journal.trim(self._needed)
        except OSError as error:
            log.warning("journal: cannot delete a segment: %s", error)

    def _run(self) -> None:
        while True:
            item = self._next()
            if isinstance(item, _Stop):
                self._finish(item)
                return
            try:
                self._handle(item)
                self._advance()
            except Exception:
                log.exception("intake: %s could not be handled", type(item).__name__)

    def _next(self) -> Any:
        try:
            return self._inbox.get(timeout=0.25)
        except queue.Empty:
            return None

    def _handle(self, item: Any) -> None:
        if isinstance(item, Record):
            self._take(item)
            self._done_bytes += len(item.body)
            self._done_requests += 1
        elif isinstance(item, _Tick):
            self._ticks = 0
            self._intake.tick(item.now_ns)
            self._keep_house()
        elif isinstance(item, _Call):
            item.run()

    def _take(self, record: Record) -> None:
        self._guarded(self._intake.take, record)

    def _guarded(self, take: Callable[[Record], None], record: Record) -> None:
        try:
            take(record)
        except Exception:
            # The request stays in the journal until its segment goes; a fault in one must not stop all others.
            log.exception(
                "intake: a %s %s request of %d bytes failed", record.encoding, record.signal, len(record.body)
            )
            self._count(semconv.H_RECOVERY_FAILED, 1)

    def _advance(self) -> None:
        """Send a checkpoint if it is time for one, and start the reports that may be made."""
        intake = self._intake
        now = time.monotonic()
        if intake.storing:
            if self._retry_at and now >= self._retry_at:
                self._retry_at = 0.0
                self._send_checkpoint()
        elif intake.dirty and (
            intake.urgent
            or intake.pending >= self._keeping.checkpoint_spans
            or now - self._last_checkpoint >= self._keeping.checkpoint_s
        ):
            self._send_checkpoint()
        while self._running_jobs < 2 and self._closers is not None and (job := intake.next_job()) is not None:
            self._running_jobs += 1
            self._closers.submit(self._close, job)

    def _send_checkpoint(self) -> None:
        self._last_checkpoint = time.monotonic()
        try:
            future = self._intake.checkpoint()
        except Exception as error:
            self._checkpoint_failed(error)
            return
        future.add_done_callback(lambda done: self._inbox.put(_Call(lambda: self._checkpointed(done))))

    def _checkpointed(self, done: Future[Stored]) -> None:
        error = done.exception()
        if error is not None:
            self._checkpoint_failed(error)
            return
        self._store_failing = False
        stored = done.result()
        self._needed = self._intake.stored(stored)
        if self._needed is not None and self._commit is not None:
            self._commit.trim(self._needed, roll=bool(stored.deleted))
        if stored.committed:
            self._reported()

    def _checkpoint_failed(self, error: BaseException) -> None:
        log.error("store: cannot be written, trying again: %s", error)
        self._store_failing = True
        self._intake.failed(error)
        self._retry_at = time.monotonic() + 1.0

    def _close(self, job: CloseJob) -> None:
        """Make a report, on a worker."""
        try:
            report = job.run(self._close_in_pool if self._pool is not None else pipeline.close)
        except Exception:
            if (
                self._closers is None
            ):  # it was stopped meanwhile, and the store with it: the report is due at the next start
                return
            log.exception("session %s: no report could be made", job.closed.session.session_id)
            self._inbox.put(_Call(lambda: self._closed(lambda: self._intake.give_up(job))))
        else:
            self._inbox.put(_Call(lambda: self._closed(lambda: self._intake.finish(job, report))))

    def _close_in_pool(self, *arguments: Any) -> Report | None:
        if self._pool is None:
            return pipeline.close(*arguments)
        return self._pool.submit(pipeline.close, *arguments).result()

    def _closed(self, finish: Callable[[], None]) -> None:
        self._running_jobs -= 1
        finish()

    def _keep_house(self) -> None:
        now = time.monotonic()
        if self._purging or self._intake.deleting or now - self._last_purge < self._keeping.purge_s:
            return
        self._last_purge = now
        self._purging = True
        self._purge()

    def _purge(self) -> None:
        future = self._store.purge(self.rules.reopen_window_ns, self.rules.discarded_window_ns)
        future.add_done_callback(lambda done: self._inbox.put(_Call(lambda: self._purged(done))))

    def _purged(self, done: Future[int]) -> None:
        if done.exception() is None and done.result():
            self._purge()
            return
        self._purging = False
        if not (self._keeping.max_age_ns or self._keeping.max_bytes):
            return
        expendable = self._store.expendable(self._keeping.max_age_ns, self._keeping.max_bytes)
        for session_id in expendable:
            self._intake.delete(session_id)
        if expendable:
            log.info("retention: deleted %d sessions", len(expendable))
            self._last_purge = 0.0  # there may be more

    def _finish(self, stop: _Stop) -> None:
        """Take what is still in the inbox, finish what runs, store it; within the deadline."""
        intake = self._intake
        drained = False
        while time.monotonic() < stop.deadline:
            try:
                item = self._inbox.get_nowait()
            except queue.Empty:
                if stop.drain and not drained:
                    drained = True
                    intake.drain()
                if intake.idle and not self._running_jobs:
                    return
                if intake.dirty and not intake.storing:
                    self._last_checkpoint = 0.0
                item = self._wait(stop.deadline)
            try:
                if not isinstance(item, _Tick):
                    self._handle(item)
                self._advance()
            except Exception:
                log.exception("intake: %s could not be handled", type(item).__name__)
        log.warning(
            "stop: the deadline passed with %d reports to be made and %d requests to be decoded; %s",
            intake.due,
            self._queued()[0],
            "the next start goes on there" if self._journal is not None else "without a journal they are lost",
        )

    def _wait(self, deadline: float) -> Any:
        try:
            return self._inbox.get(timeout=max(0.0, min(0.05, deadline - time.monotonic())))
        except queue.Empty:
            return None


__all__ = [
    "Accepted",
    "Durability",
    "Engine",
    "EngineStats",
    "Housekeeping",
    "JournalError",
    "Limits",
    "Overloaded",
    "seconds",
]
