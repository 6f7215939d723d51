"""The engine: a request's way from its acceptance to the report, and the threads along it.

Separate from the receivers, which know protocols, and from the parts of the way, each with one thing to know: what is
taken (`gate`), what the last run left (`replay`), what runs on which thread (`worker`), what happens there (`intake`).

The way of a request: `accept` (event loop) -> journal (its thread) -> acknowledged -> intake (one thread: decode,
sessions, checkpoints) -> store (its thread); reports are made by workers beside.

Rules:
- an acknowledged request is in the journal; it leaves the journal when the store holds what came of it;
- what was accepted is kept, whatever is refused after it;
- `stop` ends intake first; without a drain it closes no session, and the next start goes on where this one stopped.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

import msgspec

from collector import semconv
from collector.clock import SteadyClock
from collector.engine.gate import Accepted, Gate, Limits, Overloaded
from collector.engine.housekeeping import Housekeeping
from collector.engine.intake import Intake, Taken
from collector.engine.replay import Replay, trim
from collector.engine.worker import Worker
from collector.journal import FsyncPolicy, GroupCommit, Journal
from collector.otlp import values as otlp_values
from collector.pipeline import Terms
from collector.report import Emitter, Forwarder, Position, Record
from collector.sessions.model import Rules
from collector.store import Deleted, Store


class Durability(msgspec.Struct, frozen=True):
    """How the journal promises. See `collector.journal.commit`."""

    fsync: FsyncPolicy = "interval"
    interval_s: float = 1.0
    delay_s: float = 0.005


class EngineStats(msgspec.Struct, frozen=True):
    """The engine in numbers."""

    queue_requests: int
    queue_size: int
    open_sessions: int
    memory: int
    journal_size: int
    journal_segments: int
    refused: dict[str, int]
    taken: Taken
    damages: int
    ready: bool


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
        self._journal = journal
        self._count = count
        self._limits = limits or Limits()
        self._durability = durability or Durability()
        self._clock = clock or SteadyClock()
        self._intake = Intake(
            store,
            rules or Rules(),
            terms or Terms(),
            emitter=emitter,
            forwarder=forwarder,
            count=count,
            decoding=decoding,
        )
        keeping = housekeeping or Housekeeping()
        self._gate = Gate(self._limits, self._intake, full=lambda: self._commit is not None and self._commit.full)
        self._replay = Replay(self._intake, journal, count, keeping.checkpoint_spans)
        self._worker = Worker(
            store,
            self._intake,
            self._gate,
            keeping,
            needed=self._trim,
            count=count,
            reported=reported,
            pool=pool,
            journaled=journal is not None,
        )
        self._commit: GroupCommit | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._needed: Position | None = None

    # -- start and stop ------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Rebuild what was open, replay the journal, and take requests. Raises JournalError, StoreError."""
        if self._worker.running:
            return
        self._loop = asyncio.get_running_loop()
        self._needed = await asyncio.to_thread(self._replay.run, self._clock.now_ns())
        self._worker.start()
        if self._journal is not None:
            self._commit = GroupCommit(
                self._journal,
                fsync=self._durability.fsync,
                interval_s=self._durability.interval_s,
                delay_s=self._durability.delay_s,
                max_size=self._limits.journal_size,
                reserve=self._limits.disk_free,
                settled=self._settled,
                failed=lambda: self._count(semconv.H_JOURNAL_FAILED, 1),
            )
            self._commit.start()
        self._gate.open = True

    async def stop(self, deadline_s: float = 25.0, drain: bool = False) -> bool:
        """Stop taking requests, finish what was taken, store it. False if the deadline passed first.

        `drain`, or no journal: sessions that are open are closed and reported as partial. Safe twice and without start.
        """
        self._gate.open = False
        if not self._worker.running:
            return True
        deadline = time.monotonic() + deadline_s
        if self._commit is not None:
            await asyncio.to_thread(self._commit.stop, max(0.1, deadline - time.monotonic()))
        stopped = await asyncio.to_thread(self._worker.stop, deadline, drain or self._journal is None)
        if stopped:
            self._commit = None
            await asyncio.to_thread(trim, self._journal, self._needed)
        return stopped and self._intake.idle

    # -- the event loop's side -----------------------------------------------------------------------------------------

    async def accept(self, request: Accepted) -> None:
        """Keep a request; returns when it is as durable as promised. Raises Overloaded."""
        self._gate.enter(request)
        size = len(request.body)
        record = Record(request.signal, request.encoding, request.body, self._clock.now_ns(), request.tenant)
        if self._commit is None:
            self._worker.put(record)
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            self._commit.submit((waiting, size), record)
        except RuntimeError:
            self._gate.failed(size)
            raise Overloaded("stopping") from None
        await waiting

    def trouble(self) -> Overloaded | None:
        """Return why a request that opens a session would be refused now; None if it would not."""
        return self._gate.trouble()

    def tick(self) -> None:
        """Let time pass: closes what is due, behind all that was accepted before."""
        self._worker.tick(self._clock.now_ns())

    async def delete(self, session_id: str) -> Deleted:
        """Delete a session, open or not, with all that was made of it. What was acknowledged of it before does not come back.

        Its requests leave the journal soon after.
        """
        deleted: Future[Deleted] = Future()
        deleted.set_running_or_notify_cancel()  # it is deleted also if nobody waits for it any more
        self._worker.call(lambda: self._intake.delete(session_id, deleted))
        return await asyncio.wrap_future(deleted)

    async def reload(self, terms: Terms, rules: Rules, housekeeping: Housekeeping) -> None:
        """Make reports that are due from now on under other terms, and close and delete by other rules."""

        def run() -> None:
            self._intake.terms = terms
            self._intake.assembler.change(rules)
            self._worker.change(housekeeping)

        self._worker.call(run)

    def stats(self) -> EngineStats:
        """Return the engine in numbers; cheap, from any thread."""
        requests, size = self._gate.queued
        commit = self._commit
        return EngineStats(
            queue_requests=requests,
            queue_size=size,
            open_sessions=self._intake.assembler.open_sessions,
            memory=self._gate.memory,
            journal_size=commit.size if commit else 0,
            journal_segments=commit.segments if commit else 0,
            refused=dict(self._gate.refused),
            taken=msgspec.structs.replace(self._intake.taken),
            damages=self._replay.damages,
            ready=self._gate.open,
        )

    def _settle(self, outcomes: list[tuple[tuple[asyncio.Future[None], int], Record | Exception]]) -> None:
        for (waiting, size), outcome in outcomes:
            if isinstance(outcome, Exception):
                self._gate.failed(size)
                if not waiting.done():
                    waiting.set_exception(Overloaded("disk", str(outcome)))
            elif not waiting.done():
                waiting.set_result(None)

    # -- the journal thread's side -------------------------------------------------------------------------------------

    def _settled(self, outcomes: list[tuple[Any, Record | Exception]]) -> None:
        for _, outcome in outcomes:
            if isinstance(outcome, Record):
                self._worker.put(outcome)
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._settle, outcomes)

    # -- the intake thread's side --------------------------------------------------------------------------------------

    def _trim(self, needed: Position | None, roll: bool) -> None:
        self._needed = needed
        if needed is not None and self._commit is not None:
            self._commit.trim(needed, roll)
