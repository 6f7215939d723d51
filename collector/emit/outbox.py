"""The outbox's sender: takes what waits on disk to where it goes, in order, as often as it takes.

Separate from the store, which keeps the entries, and from the sinks, which send one request once.

Rules:
- one task a destination, entries in the order they were put; requests of one kind are joined up to about 1 MiB;
- a try that may succeed later is repeated: after 1 s, doubling to `retry_max_interval`, each wait between half and all
  of it by chance, and never sooner than the answer asked (Retry-After, RetryInfo);
- an entry refused for good is parked: kept, counted, out of the way, and tried once more at the next start or reload;
- beyond the bound on size the oldest entries of that destination are dropped and counted, parked ones first;
- an entry leaves the outbox only after its delivery, so a crash between the two delivers it again: spans have derived
  ids and files the same bytes, so that nothing is there twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from collector import semconv
from collector.emit.downstream import RefusedError, RetryableError, Sent, Sink
from collector.emit.files import Folder
from collector.emit.health import Health
from collector.report import OutboxEntry

log = logging.getLogger(__name__)

JOIN_BYTES = 1 << 20
PAGE = 32
"""Entries read from the store at a time."""


class OutboxStore(Protocol):
    """What the sender needs of the store. Methods are called on worker threads; they may block."""

    def outbox(self, destination: str, limit: int, now_ns: int) -> Sequence[OutboxEntry]:
        """Return the oldest entries of a destination that are not parked."""

    def outbox_done(self, ids: Sequence[str]) -> None:
        """Remove delivered entries."""

    def outbox_park(self, entry_id: str, reason: str) -> None:
        """Set an entry aside."""

    def outbox_unpark(self, destination: str) -> int:
        """Put the parked entries of a destination back; return how many."""

    def outbox_trim(self, destination: str, max_bytes: int) -> int:
        """Drop parked, then the oldest entries beyond the bound; return how many."""


class Policy(msgspec.Struct, frozen=True):
    """How patiently to send. `max_bytes` 0: no bound. Times in seconds."""

    first_interval: float = 1.0
    max_interval: float = 60.0
    max_bytes: int = 1 << 30
    poll_interval: float = 1.0
    trim_interval: float = 10.0


class OutboxSender:
    """Sends until stopped. `wake` after something was put, else the outbox is looked at every `poll_interval`."""

    def __init__(
        self,
        store: OutboxStore,
        sinks: Mapping[str, Sink],
        health: Health,
        *,
        policy: Policy,
        clock_ns: Callable[[], int],
        chance: random.Random,
    ) -> None:
        self._store = store
        self._sinks = dict(sinks)
        self._health = health
        self._policy = policy
        self._clock_ns = clock_ns
        self._chance = chance
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._wakes: dict[str, asyncio.Event] = {}
        self._stopping = asyncio.Event()

    async def start(self) -> None:
        """Begin sending; what was parked before is tried once more. Starting twice changes nothing."""
        if self._tasks:
            return
        self._loop = asyncio.get_running_loop()
        self._stopping.clear()
        for destination, sink in self._sinks.items():
            await asyncio.to_thread(self._store.outbox_unpark, destination)
            self._wakes[destination] = asyncio.Event()
            self._tasks.append(asyncio.create_task(self._run(destination, sink), name=f"outbox {destination}"))

    async def unpark(self) -> None:
        """Try once more what was refused for good: a token or an endpoint may have been mended."""
        for destination in self._sinks:
            await asyncio.to_thread(self._store.outbox_unpark, destination)
        self._wake_all()

    def wake(self) -> None:
        """Look at the outbox now. May be called from any thread."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._wake_all)

    async def stop(self, deadline_s: float) -> None:
        """Send what can be sent at once, then stop; what is left stays on disk. Safe without start, and twice."""
        self._stopping.set()
        self._wake_all()
        tasks, self._tasks = self._tasks, []
        if tasks:
            _, unfinished = await asyncio.wait(tasks, timeout=deadline_s)
            for task in unfinished:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for sink in self._sinks.values():
            await sink.stop()
        self._loop = None

    def _wake_all(self) -> None:
        for event in self._wakes.values():
            event.set()

    async def _run(self, destination: str, sink: Sink) -> None:
        failures = 0
        trimmed = 0.0
        loop = asyncio.get_running_loop()
        while True:
            try:
                if self._policy.max_bytes and loop.time() - trimmed >= self._policy.trim_interval:
                    await self._trim(destination)
                    trimmed = loop.time()
                sent = await self._page(destination, sink)
                failures = 0
            except RetryableError as error:
                wait = self._interval(failures, error.after_s)
                log.log(
                    logging.DEBUG if failures else logging.WARNING,
                    "%s: not delivered (%s), next try in %.1f s", destination, error, wait,
                )  # fmt: skip
                failures += 1
                self._count(semconv.H_EXPORT_RETRIES, 1, destination, error.reason)
                if self._stopping.is_set() or await self._stopped_within(wait):
                    return
            except Exception:
                log.exception("%s: the outbox could not be read or written", destination)
                if self._stopping.is_set() or await self._stopped_within(self._interval(failures, 0.0)):
                    return
                failures += 1
            else:
                if not sent:
                    if self._stopping.is_set():
                        return
                    await self._woken_within(destination, self._policy.poll_interval)

    async def _page(self, destination: str, sink: Sink) -> int:
        """Send the oldest entries; return how many left the outbox."""
        entries = await asyncio.to_thread(self._store.outbox, destination, PAGE, self._clock_ns())
        for group in _joined(entries):
            try:
                result = await sink.send(group[0].kind, b"".join(entry.payload for entry in group), group[0].name)
            except RefusedError as error:
                if len(group) == 1:
                    await self._park(destination, group[0], error)
                    continue
                for entry in group:  # one of them is at fault: find which
                    await self._single(destination, sink, entry)
                continue
            await self._done(destination, group, result)
        return len(entries)

    async def _single(self, destination: str, sink: Sink, entry: OutboxEntry) -> None:
        try:
            result = await sink.send(entry.kind, entry.payload, entry.name)
        except RefusedError as error:
            await self._park(destination, entry, error)
        else:
            await self._done(destination, [entry], result)

    async def _done(self, destination: str, group: Sequence[OutboxEntry], result: Sent) -> None:
        await asyncio.to_thread(self._store.outbox_done, [entry.id for entry in group])
        self._count(semconv.H_EXPORT_SENT, len(group), destination)
        if result.rejected:
            self._count(semconv.H_EXPORT_REJECTED, result.rejected, destination)
            log.warning("%s: %d items rejected: %s", destination, result.rejected, result.message)

    async def _park(self, destination: str, entry: OutboxEntry, error: RefusedError) -> None:
        await asyncio.to_thread(self._store.outbox_park, entry.id, str(error))
        self._count(semconv.H_EXPORT_PARKED, 1, destination, error.reason)
        log.warning("%s: refused for good and set aside: %s: %s", destination, entry.id, error)

    async def _trim(self, destination: str) -> None:
        dropped = await asyncio.to_thread(self._store.outbox_trim, destination, self._policy.max_bytes)
        if dropped:
            self._count(semconv.H_EXPORT_DROPPED, dropped, destination)
            log.warning("%s: %d of the oldest entries dropped at the bound of the outbox", destination, dropped)

    def _interval(self, failures: int, after_s: float) -> float:
        longest = min(self._policy.first_interval * 2.0 ** min(failures, 30), self._policy.max_interval)
        return max(after_s, longest * self._chance.uniform(0.5, 1.0))

    async def _stopped_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def _woken_within(self, destination: str, seconds: float) -> None:
        event = self._wakes[destination]
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(event.wait(), seconds)
        event.clear()

    def _count(self, name: str, amount: int, destination: str, reason: str = "") -> None:
        attributes = {semconv.DESTINATION: destination} | ({semconv.REASON: reason} if reason else {})
        self._health.add(name, amount, attributes)


class FolderSink:
    """Files into a folder. A disk that is full or a folder that is gone is a reason to try again."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    async def send(self, kind: str, payload: bytes, name: str = "") -> Sent:
        """Write one file whole."""
        try:
            await asyncio.to_thread(self._folder.write, name, payload)
        except OSError as error:
            raise RetryableError("disk", f"cannot write {name!r}: {error.strerror or error}") from None
        except ValueError as error:
            raise RefusedError("name", str(error)) from None
        return Sent()

    async def stop(self) -> None:
        """Nothing is held open."""


def _joined(entries: Sequence[OutboxEntry]) -> list[list[OutboxEntry]]:
    """Neighbours of one kind as groups of about JOIN_BYTES: encoded requests laid end to end are one request."""
    groups: list[list[OutboxEntry]] = []
    size = 0
    for entry in entries:
        joins = groups and entry.kind != "file" and groups[-1][0].kind == entry.kind
        if joins and size + len(entry.payload) <= JOIN_BYTES:
            groups[-1].append(entry)
            size += len(entry.payload)
        else:
            groups.append([entry])
            size = len(entry.payload)
    return groups
