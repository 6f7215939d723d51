"""An engine over files in a folder, with a clock to move: what the tests of the stateful core build on."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from collector.clock import SteadyClock, seconds
from collector.engine import Accepted, Engine
from collector.journal import Files, Journal
from collector.report import Report
from collector.store import Store
from tests.collector.crash.load import CONFORMANCE, case_session

CAPTURES = CONFORMANCE / "captures"


class HandClock(SteadyClock):
    """A clock that moves when told."""

    def __init__(self, now_s: float = 1_800_000_000) -> None:
        self.now = seconds(now_s)

    def now_ns(self) -> int:
        return self.now

    def forward(self, by_s: float) -> None:
        self.now += seconds(by_s)


class Bench:
    """Entered, it runs; entered again, it is a restart."""

    def __init__(self, folder: Path, *, files: Files | None = None, journal: bool = True, **options: Any) -> None:
        self.folder = folder
        self.clock = HandClock()
        self._files = files
        self._journal = journal
        self._options = options
        self.drain = False
        self.stopped: bool | None = None

    async def __aenter__(self) -> Bench:
        self.store = Store(self.folder / "store.db", now_ns=self.clock.now_ns)
        journal = Journal(self.folder / "journal", files=self._files) if self._journal else None
        self.engine = Engine(store=self.store, journal=journal, clock=self.clock, **self._options)
        self.store.start()
        await self.engine.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stopped = await self.engine.stop(10, drain=self.drain)
        self.store.stop()

    async def send(self, *bodies: bytes) -> None:
        for body in bodies:
            await self.engine.accept(Accepted("traces", "json", body))

    async def until(self, done: Callable[[], bool]) -> None:
        """Let the engine work until something holds."""
        for _ in range(500):
            self.engine.tick()
            if done():
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"waited in vain: {self.engine.stats()}")

    async def taken(self) -> None:
        """Let the engine take all that was accepted."""
        await self.until(lambda: self.engine.stats().queue_requests == 0)

    async def settled(self) -> None:
        """Let the engine take, close, report and store all that it has."""
        await self.until(
            lambda: (
                self.engine.stats().queue_requests == 0
                and self.engine.stats().open_sessions == 0
                and self.engine._intake.idle
            )
        )

    async def reports(self, count: int) -> list[Report]:
        """Wait for that many reports in all; return the last of each session, by name."""
        await self.until(lambda: self.store.stats().reports >= count)
        assert self.store.stats().reports == count
        found = [self.store.report(row.session_id) for row in self.store.sessions().rows]
        return sorted((report for report in found if report is not None), key=lambda report: report.name)


def crashed(bench: Bench, folder: Path) -> Bench:
    """What a crash at this moment leaves, to go on with."""
    shutil.copytree(bench.folder, folder)
    return Bench(folder, journal=True)


def journaled(bench: Bench) -> bytes:
    """All that the journal's files hold."""
    return b"".join(path.read_bytes() for path in sorted((bench.folder / "journal").iterdir()))


def run(test: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine, bounded in time."""
    asyncio.run(asyncio.wait_for(test, 60))


def capture(name: str) -> list[bytes]:
    """The requests of a capture, OTLP/JSON."""
    return (CAPTURES / name / "traces.otlp.jsonl").read_bytes().splitlines()


__all__ = ["CONFORMANCE", "Bench", "HandClock", "capture", "case_session", "crashed", "journaled", "run"]
