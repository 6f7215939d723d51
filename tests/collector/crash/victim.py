"""The process that is killed: an engine over a folder, fed over a pipe."""

from __future__ import annotations

import asyncio
import threading
from multiprocessing.connection import Connection
from pathlib import Path

from collector.clock import seconds
from collector.engine import Accepted, Durability, Engine, Housekeeping, Overloaded
from collector.journal import FsyncPolicy, Journal
from collector.sessions.model import Rules
from collector.store import Store
from tests.collector.crash.load import emitter

RULES = Rules(grace_ns=seconds(0.15), idle_ns=seconds(600), resident_spans=50)


def serve(folder: Path, fsync: FsyncPolicy, pipe: Connection) -> None:
    """Take (id, body) and answer with the id once acknowledged; on None, finish what is open and answer None."""
    asyncio.run(_serve(folder, fsync, pipe))


async def _serve(folder: Path, fsync: FsyncPolicy, pipe: Connection) -> None:
    store = Store(folder / "store.db")
    store.start()
    engine = Engine(
        store=store,
        journal=Journal(folder / "journal", segment_size=60_000),
        rules=RULES,
        durability=Durability(fsync, 0.05, 0.001),
        housekeeping=Housekeeping(checkpoint_s=0.03, purge_s=0.1),
        emitter=emitter(),
    )
    await engine.start()
    loop = asyncio.get_running_loop()
    inbox: asyncio.Queue[tuple[int, bytes] | None] = asyncio.Queue()

    def read() -> None:
        while True:
            try:
                message = pipe.recv()
            except EOFError:
                return
            loop.call_soon_threadsafe(inbox.put_nowait, message)

    threading.Thread(target=read, daemon=True).start()
    tasks: set[asyncio.Task[None]] = set()

    async def take(number: int, body: bytes) -> None:
        try:
            await engine.accept(Accepted("traces", "json", body))
        except Overloaded:
            pipe.send(("refused", number))
        else:
            pipe.send(("taken", number))

    async def ticking() -> None:
        while True:
            engine.tick()
            await asyncio.sleep(0.01)

    ticker = asyncio.create_task(ticking())
    while (message := await inbox.get()) is not None:
        task = asyncio.create_task(take(*message))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)
    while engine.stats().open_sessions or engine.stats().queue_requests:
        await asyncio.sleep(0.01)
    ticker.cancel()
    await engine.stop(20)
    store.stop()
    pipe.send(("finished", -1))
