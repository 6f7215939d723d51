"""Data folders that earlier versions left go on under this one, and what is no store of ours is not touched."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from collector.sessions.model import Rules
from collector.store import Store, StoreError
from collector.store.backup import copy
from collector.store.schema import VERSION
from tests.collector.crash.load import Outcome, emitter, outcome
from tests.collector.engines import Bench
from tests.collector.store.freezer import DEALT_WITH, SESSIONS, thawed


def told(folder: Path) -> Outcome:
    store = Store(folder / "store.db")
    store.start()
    try:
        return outcome(store)
    finally:
        store.stop()


def entries(found: Outcome) -> list[str]:
    waiting = found["outbox"]
    assert isinstance(waiting, list)
    return waiting


async def go_on(folder: Path, *bodies: bytes) -> None:
    bench = Bench(folder, emitter=emitter(), rules=Rules())
    async with bench:
        await bench.send(*bodies)
        await bench.taken()
        bench.clock.forward(20)
        await bench.settled()


@pytest.mark.parametrize("version", range(1, VERSION + 1))
def test_what_an_earlier_version_left_goes_on_with_every_total_exact(version: int, tmp_path: Path) -> None:
    folder = thawed(version, tmp_path / "old")
    asyncio.run(go_on(folder, SESSIONS[2][2]))
    found = told(folder)
    asyncio.run(go_on(tmp_path / "tidy", *(body for session in SESSIONS for body in session)))
    expected = told(tmp_path / "tidy")
    expected["outbox"] = [entry for entry in entries(expected) if entry not in DEALT_WITH]
    assert found == expected


@pytest.mark.parametrize("version", range(1, VERSION + 1))
def test_a_backup_of_an_older_store_is_as_old_and_leaves_it_so(version: int, tmp_path: Path) -> None:
    folder = thawed(version, tmp_path / "old")
    before = (folder / "store.db").read_bytes()
    copy(folder / "store.db", tmp_path / "copy.db")
    assert (folder / "store.db").read_bytes() == before
    connection = sqlite3.connect(tmp_path / "copy.db")
    assert connection.execute("PRAGMA user_version").fetchone() == (version,)
    assert connection.execute("SELECT count(*) FROM reports").fetchone() == (2,)
    connection.close()


def later(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA user_version = {VERSION + 1}")


def of_another_program(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA application_id = 7")


def without_an_owner(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA application_id = 0")
    connection.execute("PRAGMA user_version = 0")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (later, f"the store is of version {VERSION + 1}; this program reads up to {VERSION}"),
        (of_another_program, "expected a store, found the database of another program"),
        (without_an_owner, "expected a store, found the database of another program"),
    ],
)
def test_a_later_store_and_another_programs_database_are_not_touched(
    change: Callable[[sqlite3.Connection], None], reason: str, tmp_path: Path
) -> None:
    path = thawed(2, tmp_path) / "store.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = DELETE")
    change(connection)
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError) as error:
        Store(path).start()
    assert str(error.value) == f"cannot use store '{path}': {reason}"
    assert path.read_bytes() == before
    assert sorted(each.name for each in path.parent.iterdir()) == ["journal", "store.db"]
