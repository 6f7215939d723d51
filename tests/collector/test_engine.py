"""The engine end to end, in this process: requests in, reports in the store."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from collector.clock import SteadyClock, seconds
from collector.engine import Accepted, Engine
from collector.journal import Journal
from collector.store import Store

CAPTURES = Path(__file__).parents[1] / "conformance" / "captures"


class HandClock(SteadyClock):
    """A clock that moves when told."""

    def __init__(self, now_s: float = 1_800_000_000) -> None:
        self.now = seconds(now_s)

    def now_ns(self) -> int:
        return self.now

    def forward(self, by_s: float) -> None:
        self.now += seconds(by_s)


class Bench:
    """An engine over files in a folder, and a clock to move."""

    def __init__(self, folder: Path) -> None:
        self.clock = HandClock()
        self.store = Store(folder / "store.db", now_ns=self.clock.now_ns)
        self.engine = Engine(store=self.store, journal=Journal(folder / "journal"), clock=self.clock)

    async def __aenter__(self) -> Bench:
        self.store.start()
        await self.engine.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.engine.stop(10)
        self.store.stop()

    async def send(self, body: bytes) -> None:
        await self.engine.accept(Accepted("traces", "json", body))

    async def wait(self, done: Callable[[], bool], what: str = "the engine") -> None:
        for _ in range(400):
            self.engine.tick()
            if done():
                return
            await asyncio.sleep(0.02)
        raise AssertionError(f"waited in vain for {what}: {self.engine.stats()}")


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 60))  # type: ignore[arg-type]


@pytest.fixture
def swarm() -> list[bytes]:
    return (CAPTURES / "langgraph-swarm__openinference" / "traces.otlp.jsonl").read_bytes().splitlines()


def test_a_session_closes_when_its_roots_have_ended_and_is_reported_once(tmp_path: Path, swarm: list[bytes]) -> None:
    async def test() -> None:
        async with Bench(tmp_path) as bench:
            for body in swarm:
                await bench.send(body)
            bench.clock.forward(16)
            await bench.wait(lambda: bench.store.stats().reports == 1)
            (row,) = bench.store.sessions().rows
            assert (row.name, row.close_reason, row.partial, row.spans) == ("sess-pay-412", "roots_ended", (), 58)
            for body in swarm:
                await bench.send(body)
            bench.clock.forward(1000)
            await bench.wait(lambda: bench.engine.stats().taken.duplicates == 58)
            bench.clock.forward(1000)
            await bench.wait(lambda: bench.engine.stats().queue_requests == 0)
            assert bench.store.stats().reports == 1

    run(test)
