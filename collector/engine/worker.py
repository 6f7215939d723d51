"""The intake thread: takes what was accepted, one after the other, sends checkpoints, and has reports made.

Separate from the engine, whose side is the event loop's: all here is of the one thread, but for what other threads call,
which only put into its inbox, and for `_close`, which makes a report on a thread beside.

Rules:
- all that concerns sessions goes through the inbox, in its order: a tick closes behind what was accepted before it;
- a fault in one item is logged and stops no other; a checkpoint that failed is tried again until it is stored;
- a stop takes what is in the inbox and finishes what runs, within its deadline; it closes sessions only if it drains.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import msgspec

from collector import pipeline
from collector.engine.gate import Gate
from collector.engine.housekeeping import Housekeeper, Housekeeping
from collector.engine.intake import CloseJob, Count, Intake
from collector.engine.replay import guarded
from collector.report import Position, Record, Report
from collector.store import Store, Stored

log = logging.getLogger(__name__)

_REPORTS_AT_ONCE = 2


class _Tick(msgspec.Struct, frozen=True):
    now_ns: int


class _Call(msgspec.Struct, frozen=True):
    run: Callable[[], None]


class _Stop(msgspec.Struct, frozen=True):
    deadline: float
    drain: bool


class Worker:
    """See the module. `reported`: called when reports are stored. `pool`: where they are made; None is this process.

    `needed(position, roll)`: told from where on the journal is needed; `roll`: let the segment that is written go soon, too.
    """

    def __init__(
        self,
        store: Store,
        intake: Intake,
        gate: Gate,
        keeping: Housekeeping,
        *,
        needed: Callable[[Position | None, bool], None],
        count: Count,
        reported: Callable[[], None],
        pool: Executor | None,
        journaled: bool,
    ) -> None:
        self._intake = intake
        self._gate = gate
        self._house = Housekeeper(store, intake, keeping, self.call)
        self._needed = needed
        self._count = count
        self._reported = reported
        self._pool = pool
        self._journaled = journaled
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closers: ThreadPoolExecutor | None = None
        self._running_jobs = 0
        self._last_checkpoint = time.monotonic()
        self._retry_at = 0.0
        self._ticks = 0

    # -- from other threads --------------------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Whether it was started, and not stopped to the end."""
        return self._thread is not None

    def start(self) -> None:
        """Start the thread."""
        self._closers = ThreadPoolExecutor(_REPORTS_AT_ONCE, thread_name_prefix="close")
        self._thread = threading.Thread(target=self._run, name="intake", daemon=True)
        self._thread.start()

    def stop(self, deadline: float, drain: bool) -> bool:
        """Finish what is in the inbox and what runs; False if the deadline, a monotonic time, passed first."""
        thread = self._thread
        if thread is None:
            return True
        self._inbox.put(_Stop(deadline, drain))
        thread.join(max(0.1, deadline - time.monotonic() + 0.5))
        stopped = not thread.is_alive()
        if self._closers is not None:
            # A report that still is being made is waited for no longer; it is due at the next start, too.
            self._closers.shutdown(wait=stopped and self._intake.idle, cancel_futures=True)
            self._closers = None
        if stopped:
            self._thread = None
        return stopped

    def put(self, record: Record) -> None:
        """Have a request taken."""
        self._inbox.put(record)

    def call(self, run: Callable[[], None]) -> None:
        """Have something run on the thread that owns sessions."""
        self._inbox.put(_Call(run))

    def tick(self, now_ns: int) -> None:
        """Have what is due at a time closed; nothing where a tick is waiting, or nothing runs."""
        if self._thread is not None and self._ticks == 0:
            self._ticks += 1
            self._inbox.put(_Tick(now_ns))

    # -- the thread ----------------------------------------------------------------------------------------------------

    def change(self, keeping: Housekeeping) -> None:
        """Keep house by other times from now on; to be run by `call`."""
        self._house.keeping = keeping

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
            guarded(self._intake.take, item, self._count)
            self._gate.done(len(item.body))
        elif isinstance(item, _Tick):
            self._ticks = 0
            self._intake.tick(item.now_ns)
            self._house.tick()
        elif isinstance(item, _Call):
            item.run()

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
            or intake.pending >= self._house.keeping.checkpoint_spans
            or now - self._last_checkpoint >= self._house.keeping.checkpoint_s
        ):
            self._send_checkpoint()
        while (
            self._running_jobs < _REPORTS_AT_ONCE
            and self._closers is not None
            and (job := intake.next_job()) is not None
        ):
            self._running_jobs += 1
            self._closers.submit(self._close, job)

    def _send_checkpoint(self) -> None:
        self._last_checkpoint = time.monotonic()
        try:
            future = self._intake.checkpoint()
        except Exception as error:
            self._checkpoint_failed(error)
            return
        future.add_done_callback(lambda done: self.call(lambda: self._checkpointed(done)))

    def _checkpointed(self, done: Future[Stored]) -> None:
        error = done.exception()
        if error is not None:
            self._checkpoint_failed(error)
            return
        self._gate.store_failing = False
        stored = done.result()
        self._needed(self._intake.stored(stored), bool(stored.deleted))
        if stored.committed:
            self._reported()

    def _checkpoint_failed(self, error: BaseException) -> None:
        log.error("store: cannot be written, trying again: %s", error)
        self._gate.store_failing = True
        self._intake.failed(error)
        self._retry_at = time.monotonic() + 1.0

    def _close(self, job: CloseJob) -> None:
        """Make a report, on a worker."""
        try:
            report = job.run(self._close_in_pool if self._pool is not None else pipeline.close)
        except Exception:
            if self._closers is None:  # stopped meanwhile, and the store with it: the report is due at the next start
                return
            log.exception("session %s: no report could be made", job.closed.session.session_id)
            self.call(lambda: self._closed(lambda: self._intake.give_up(job)))
        else:
            self.call(lambda: self._closed(lambda: self._intake.finish(job, report)))

    def _close_in_pool(self, *arguments: Any) -> Report | None:
        if self._pool is None:
            return pipeline.close(*arguments)
        return self._pool.submit(pipeline.close, *arguments).result()

    def _closed(self, finish: Callable[[], None]) -> None:
        self._running_jobs -= 1
        finish()

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
            self._gate.queued[0],
            "the next start goes on there" if self._journaled else "without a journal they are lost",
        )

    def _wait(self, deadline: float) -> Any:
        try:
            return self._inbox.get(timeout=max(0.0, min(0.05, deadline - time.monotonic())))
        except queue.Empty:
            return None
