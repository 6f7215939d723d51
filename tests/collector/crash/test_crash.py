"""SIGKILL at any moment: nothing acknowledged is lost, and nothing counts twice."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import time
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from collector.engine import Accepted, Engine
from collector.journal import FsyncPolicy
from collector.store import Store
from tests.collector.crash import victim
from tests.collector.crash.load import Outcome, capture_session, case_session, emitter, outcome

Session = list[bytes]


@pytest.fixture(scope="module")
def context() -> ForkServerContext:
    """A server that has imported all that a victim needs, so that a victim starts in milliseconds."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["tests.collector.crash.victim", "collector.recovery"])
    return server


class Sender:
    """Sends sessions as exporters do: the requests of one in order, each again until it is acknowledged; some twice."""

    def __init__(self, sessions: list[Session], seed: int) -> None:
        self.random = random.Random(seed)
        self.sessions = sessions
        self.next = [0] * len(sessions)
        self.acknowledged: list[bytes] = []

    @property
    def done(self) -> bool:
        return all(at == len(session) for at, session in zip(self.next, self.sessions, strict=True))

    def feed(self, process: BaseProcess, pipe: Connection, until: float) -> None:
        """Send until a moment, or until all is acknowledged."""
        waiting: set[int] = set()
        while not self.done and time.monotonic() < until and process.is_alive():
            ready = [n for n, s in enumerate(self.sessions) if n not in waiting and self.next[n] < len(s)]
            try:
                for number in self.random.sample(ready, min(len(ready), 6)):
                    pipe.send((number, self.sessions[number][self.next[number]]))
                    waiting.add(number)
                    if self.acknowledged and self.random.random() < 0.1:
                        pipe.send((-1, self.random.choice(self.acknowledged)))
                while pipe.poll(0.002):
                    answer, number = pipe.recv()
                    if number < 0:
                        continue
                    waiting.discard(number)
                    if answer == "taken":
                        self.acknowledged.append(self.sessions[number][self.next[number]])
                        self.next[number] += 1
            except (EOFError, BrokenPipeError, ConnectionResetError):
                return


def torture(
    context: ForkServerContext, folder: Path, sessions: list[Session], kills: int, seed: int, fsync: FsyncPolicy
) -> int:
    """Kill the engine that many times while it takes sessions and closes them; then let one finish. Return the kills."""
    sender = Sender(sessions, seed)
    killed = 0
    while True:
        ours, theirs = context.Pipe()
        process = context.Process(target=victim.serve, args=(folder, fsync, theirs))
        process.start()
        theirs.close()
        last = killed >= kills
        wait = 60.0 if last else sender.random.uniform(0.05, 0.35)
        sender.feed(process, ours, time.monotonic() + wait)
        if last:
            assert sender.done
            ours.send(None)
            while ours.recv()[0] != "finished":
                pass
            process.join(30)
            assert process.exitcode == 0
            ours.close()
            return killed
        if sender.done:  # closes and commits are killed, too
            time.sleep(sender.random.uniform(0.0, 0.4))
        process.kill()
        process.join(30)
        ours.close()
        killed += 1


def tidy(folder: Path, sessions: list[Session]) -> Outcome:
    """What one delivery in order, to an engine that nothing happens to, gives."""

    async def deliver() -> None:
        engine = Engine(store=store, journal=None, rules=victim.RULES, emitter=emitter())
        await engine.start()
        for session in sessions:
            for body in session:
                await engine.accept(Accepted("traces", "json", body))
        while engine.stats().open_sessions or engine.stats().queue_requests:
            engine.tick()
            await asyncio.sleep(0.01)
        await engine.stop(30)

    store = Store(folder / "tidy.db")
    store.start()
    asyncio.run(deliver())
    try:
        return outcome(store)
    finally:
        store.stop()


def compare(context: ForkServerContext, folder: Path, kills: int, sessions: int, seed: int, fsync: FsyncPolicy) -> None:
    load = [case_session(n) for n in range(sessions)] + [capture_session(n) for n in range(sessions // 6)]
    assert torture(context, folder, load, kills, seed, fsync) == kills
    store = Store(folder / "store.db")
    store.start()
    try:
        found = outcome(store)
    finally:
        store.stop()
    expected = tidy(folder, load)
    assert found["totals"] == expected["totals"]
    assert found == expected
    assert sum(os.path.getsize(folder / "journal" / name) for name in os.listdir(folder / "journal")) < 200_000


@pytest.mark.parametrize(("fsync", "seed"), [("always", 1), ("interval", 2)])
def test_killed_at_random_moments_it_reports_what_a_tidy_run_does(
    context: ForkServerContext, tmp_path: Path, fsync: FsyncPolicy, seed: int
) -> None:
    compare(context, tmp_path, kills=11, sessions=30, seed=seed, fsync=fsync)


def _seeds() -> list[int]:
    kills = int(os.environ.get("ORBITRELAY_KILLS", "200"))
    return list(range(100, 100 + -(-kills // 20)))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", _seeds())
def test_killed_many_times_it_reports_what_a_tidy_run_does(
    context: ForkServerContext, tmp_path: Path, seed: int
) -> None:
    compare(context, tmp_path, kills=20, sessions=60, seed=seed, fsync="interval" if seed % 2 else "always")
