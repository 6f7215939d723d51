from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import grpc
import pytest
from opentelemetry.sdk.metrics.export import Sum

from collector import semconv
from collector.config.options import Destination
from collector.emit.downstream import RefusedError, RetryableError, Sent, Sink, make_sink
from collector.emit.files import Folder
from collector.emit.health import Health
from collector.emit.outbox import FolderSink, OutboxSender, Policy
from collector.report import OutboxEntry
from tests.collector.emit.receiver import Answer, Receiver, free_port, grpc_receiver, http_receiver

SERVERS: dict[str, Callable[..., AbstractContextManager[int]]] = {"grpc": grpc_receiver, "http": http_receiver}
QUICK = Policy(first_interval=0.02, max_interval=0.05, poll_interval=0.02, trim_interval=0.0)


class MemoryStore:
    """The store's outbox, in memory: it outlives a sender as the disk outlives a process."""

    def __init__(self, *entries: OutboxEntry) -> None:
        self.waiting: dict[str, OutboxEntry] = {}
        self.parked: dict[str, tuple[OutboxEntry, str]] = {}
        self.lock = threading.Lock()
        self.put(*entries)

    def put(self, *entries: OutboxEntry) -> None:
        with self.lock:
            self.waiting |= {entry.id: entry for entry in entries}

    def outbox(self, destination: str, limit: int, now_ns: int) -> Sequence[OutboxEntry]:
        with self.lock:
            return [entry for entry in self.waiting.values() if entry.destination == destination][:limit]

    def outbox_done(self, ids: Sequence[str]) -> None:
        with self.lock:
            for each in ids:
                del self.waiting[each]

    def outbox_park(self, entry_id: str, reason: str) -> None:
        with self.lock:
            self.parked[entry_id] = (self.waiting.pop(entry_id), reason)

    def outbox_unpark(self, destination: str) -> int:
        with self.lock:
            self.waiting |= {key: entry for key, (entry, _) in self.parked.items()}
            count = len(self.parked)
            self.parked.clear()
            return count

    def outbox_trim(self, destination: str, max_bytes: int) -> int:
        with self.lock:
            dropped = 0
            while sum(len(entry.payload) for entry in self.waiting.values()) > max_bytes:
                del self.waiting[next(iter(self.waiting))]
                dropped += 1
            return dropped


def entry(name: str, payload: bytes = b"\x0a\x00", kind: str = "traces") -> OutboxEntry:
    return OutboxEntry(name, "traces", "logs" if kind == "logs" else "traces", payload)


@pytest.fixture
def health() -> Iterator[Health]:
    made = Health()
    yield made
    made.stop()


def totals(health: Health) -> dict[str, int | float]:
    """Counters by the last part of their name and their reason."""
    found: dict[str, int | float] = {}
    for metric in health.metrics():
        if isinstance(metric.data, Sum):
            for point in metric.data.data_points:
                reason = (point.attributes or {}).get(semconv.REASON)
                name = metric.name.removeprefix("orbitrelay.collector.export.")
                found[f"{name}{f' {reason}' if reason else ''}"] = point.value
    return found


def sender(store: MemoryStore, sink: Sink, health: Health, policy: Policy = QUICK) -> OutboxSender:
    return OutboxSender(store, {"traces": sink}, health, policy=policy, clock_ns=time.time_ns, chance=random.Random(1))


async def until(condition: Callable[[], bool], within_s: float = 10.0) -> None:
    end = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end, "did not happen in time"
        await asyncio.sleep(0.005)


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(test(), 30)

    asyncio.run(bounded())


class Script:
    """A sink that does as it is told, by payload or in turn."""

    def __init__(self, *steps: Exception | Sent) -> None:
        self.steps = list(steps)
        self.sent: list[bytes] = []
        self.times: list[float] = []
        self.poison = b""
        self.gate: asyncio.Event | None = None

    async def send(self, kind: str, payload: bytes, name: str = "") -> Sent:
        self.times.append(time.monotonic())
        if self.gate is not None:
            await self.gate.wait()
        if self.poison and self.poison in payload:
            raise RefusedError("400", "poison")
        step = self.steps.pop(0) if self.steps else Sent()
        if isinstance(step, Exception):
            raise step
        self.sent.append(payload)
        return step

    async def stop(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_what_waits_while_the_downstream_is_away_arrives_once_and_in_order_when_it_is_back(
    protocol: str, health: Health
) -> None:
    store = MemoryStore(*(entry(f"e{index}", b"\x0a\x03\x1a\x01" + bytes([65 + index])) for index in range(5)))
    receiver, port = Receiver(), free_port()
    destination = Destination(
        endpoint=f"http://127.0.0.1:{port}", protocol="grpc" if protocol == "grpc" else "http", timeout=2.0
    )

    async def test() -> None:
        outbox = sender(store, make_sink(destination), health)
        await outbox.start()
        await until(lambda: sum(value for key, value in totals(health).items() if "retries" in key) >= 2)
        with SERVERS[protocol](receiver, port):
            await until(lambda: not store.waiting)
        store.put(entry("late", b"\x0a\x03\x1a\x01Z"))
        outbox.wake()
        await asyncio.sleep(0.1)
        assert list(store.waiting) == ["late"]
        with SERVERS[protocol](receiver, port):
            await until(lambda: not store.waiting)
            await outbox.stop(2.0)

    run(test)
    assert b"".join(got.body for got in receiver.got) == b"".join(
        b"\x0a\x03\x1a\x01" + letter for letter in (b"A", b"B", b"C", b"D", b"E", b"Z")
    )
    assert totals(health)["sent"] == 6


def test_small_requests_of_one_kind_are_joined_and_kinds_are_not_mixed(health: Health) -> None:
    big = b"x" * (1 << 20)
    store = MemoryStore(
        entry("a", b"1"), entry("b", b"2"), entry("c", b"3", kind="logs"), entry("d", big), entry("e", b"4")
    )
    sink = Script()

    async def test() -> None:
        outbox = sender(store, sink, health)
        await outbox.start()
        await until(lambda: not store.waiting)
        await outbox.stop(1.0)

    run(test)
    assert sink.sent == [b"12", b"3", big, b"4"]


def test_a_poisoned_entry_is_parked_and_those_joined_with_it_arrive(health: Health) -> None:
    store = MemoryStore(entry("a", b"1"), entry("b", b"bad"), entry("c", b"3"))
    sink = Script()
    sink.poison = b"bad"

    async def test() -> None:
        outbox = sender(store, sink, health)
        await outbox.start()
        await until(lambda: not store.waiting)
        await outbox.stop(1.0)

    run(test)
    assert sink.sent == [b"1", b"3"]
    assert {key: reason for key, (_, reason) in store.parked.items()} == {"b": "poison"}
    assert totals(health) == {"sent": 2, "parked 400": 1}


def test_what_was_parked_is_tried_once_more_at_the_next_start(health: Health) -> None:
    store = MemoryStore(entry("a", b"bad"))
    sink = Script()
    sink.poison = b"bad"

    async def once() -> None:
        outbox = sender(store, sink, health)
        await outbox.start()
        await until(lambda: not store.waiting)
        await outbox.stop(1.0)

    run(once)
    assert list(store.parked) == ["a"]
    sink.poison = b""
    run(once)
    assert (store.parked, sink.sent) == ({}, [b"bad"])


def test_what_was_parked_is_tried_once_more_when_asked(health: Health) -> None:
    store = MemoryStore(entry("a", b"bad"))
    sink = Script()
    sink.poison = b"bad"

    async def test() -> None:
        outbox = sender(store, sink, health)
        await outbox.start()
        await until(lambda: list(store.parked) == ["a"])
        sink.poison = b""
        await outbox.unpark()
        await until(lambda: sink.sent == [b"bad"])
        await outbox.stop(1.0)

    run(test)


def test_waits_grow_and_never_undercut_what_the_answer_asked(health: Health) -> None:
    store = MemoryStore(entry("a"))
    sink = Script(
        RetryableError("503", "busy"), RetryableError("503", "busy"), RetryableError("429", "slow down", after_s=0.3)
    )
    policy = Policy(first_interval=0.05, max_interval=0.1, poll_interval=0.02)

    async def test() -> None:
        outbox = sender(store, sink, health, policy)
        await outbox.start()
        await until(lambda: not store.waiting)
        await outbox.stop(1.0)

    run(test)
    waits = [after - before for before, after in zip(sink.times, sink.times[1:], strict=False)]
    assert 0.025 <= waits[0] < 0.1
    assert 0.05 <= waits[1] < 0.2
    assert 0.3 <= waits[2] < 0.5
    assert totals(health) == {"retries 503": 2, "retries 429": 1, "sent": 1}


def test_at_the_bound_the_oldest_are_dropped_and_counted(health: Health) -> None:
    store = MemoryStore(*(entry(f"e{index}", b"x" * 10) for index in range(10)))
    sink = Script(*(RetryableError("503", "busy") for _ in range(3)))

    async def test() -> None:
        outbox = sender(store, sink, health, Policy(0.01, 0.02, 35, 0.01, 0.0))
        await outbox.start()
        await until(lambda: not store.waiting)
        await outbox.stop(1.0)

    run(test)
    assert sink.sent == [b"x" * 30]
    assert totals(health)["dropped"] == 7


def test_rejected_items_of_a_taken_request_are_counted(health: Health) -> None:
    store = MemoryStore(entry("a"))

    async def test() -> None:
        outbox = sender(store, Script(Sent(4, "no")), health)
        await outbox.start()
        await until(lambda: not store.waiting)
        await outbox.stop(1.0)

    run(test)
    assert totals(health) == {"sent": 1, "rejected": 4}


def test_stop_sends_what_it_can_and_leaves_the_rest_within_its_deadline(health: Health) -> None:
    store = MemoryStore(entry("a"))
    sink = Script()

    async def test() -> None:
        outbox = sender(store, sink, health, Policy(poll_interval=60.0))
        await outbox.start()
        await until(lambda: not store.waiting)
        store.put(entry("b", b"2"))
        await outbox.stop(5.0)
        assert not store.waiting
        await outbox.stop(5.0)

        sink.gate = asyncio.Event()
        store.put(entry("c", b"3"))
        await outbox.start()
        await until(lambda: len(sink.times) == 3)
        began = time.monotonic()
        await outbox.stop(0.1)
        assert time.monotonic() - began < 1.0
        assert list(store.waiting) == ["c"]

    run(test)
    assert sink.sent == [b"\x0a\x00", b"2"]


def test_stop_does_not_wait_for_a_downstream_that_is_away(health: Health) -> None:
    store = MemoryStore(entry("a"))
    sink = Script(*(RetryableError("503", "busy") for _ in range(9)))

    async def test() -> None:
        outbox = sender(store, sink, health, Policy(first_interval=60.0))
        await outbox.start()
        await until(lambda: len(sink.times) == 1)
        began = time.monotonic()
        await outbox.stop(10.0)
        assert time.monotonic() - began < 1.0

    run(test)
    assert list(store.waiting) == ["a"]


def test_a_store_that_fails_is_tried_again(health: Health, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(MemoryStore):
        failures = 2

        def outbox(self, destination: str, limit: int, now_ns: int) -> Sequence[OutboxEntry]:
            if self.failures:
                self.failures -= 1
                raise OSError("disk")
            return super().outbox(destination, limit, now_ns)

    store = Broken(entry("a"))

    async def test() -> None:
        outbox = sender(store, Script(), health)
        await outbox.start()
        await until(lambda: not store.waiting)
        await outbox.stop(1.0)

    run(test)
    assert sum("could not be read" in record.message for record in caplog.records) == 2


def test_a_sender_that_was_never_started_stops() -> None:
    async def test() -> None:
        made = Health()
        await sender(MemoryStore(), Script(), made).stop(1.0)
        sender(MemoryStore(), Script(), made).wake()
        made.stop()

    run(test)


def test_files_wait_for_a_disk_that_is_full_and_a_name_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    async def test() -> None:
        sink = FolderSink(Folder(tmp_path / "out", lambda stem, _: stem))
        assert await sink.send("file", b"{}", "s1/chat.trace.json") == Sent()
        assert (tmp_path / "out" / "chat.trace.json").read_bytes() == b"{}"
        with pytest.raises(RefusedError, match="not a file name"):
            await sink.send("file", b"{}", "s1/../evil.trace.json")
        (tmp_path / "blocked").write_bytes(b"")
        blocked = FolderSink(Folder(tmp_path / "blocked", lambda stem, _: stem))
        with pytest.raises(RetryableError, match=r"cannot write 's1/chat\.trace\.json'"):
            await blocked.send("file", b"{}", "s1/chat.trace.json")

    run(test)


def test_an_answer_of_the_real_protocol_parks(health: Health) -> None:
    store, receiver = MemoryStore(entry("a")), Receiver()
    receiver.answers = [Answer(grpc.StatusCode.INVALID_ARGUMENT)]

    async def test() -> None:
        with grpc_receiver(receiver) as port:
            outbox = sender(store, make_sink(Destination(endpoint=f"127.0.0.1:{port}")), health)
            await outbox.start()
            await until(lambda: not store.waiting)
            await outbox.stop(1.0)

    run(test)
    assert {key: reason for key, (_, reason) in store.parked.items()} == {"a": "grpc INVALID_ARGUMENT: not now"}
