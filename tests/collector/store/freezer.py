"""Data folders that a version of this program left, frozen: `python -m tests.collector.store.freezer FOLDER` makes the present one's.

A new version of the store or the journal gets a folder of its own in `frozen/`; those of before stay as they are.
"""

from __future__ import annotations

import gzip
import sqlite3
import sys
from pathlib import Path

from collector.store.backup import copy
from collector.store.schema import VERSION
from tests.collector.crash.load import capture_session, case_session, emitter
from tests.collector.engines import Bench, crashed, run

FROZEN = Path(__file__).parent / "frozen"
SESSIONS = [case_session(0), capture_session(0), case_session(1), case_session(2)]
"""Reported, reported, open and stored, and in the journal alone; what is still to come of the third is its last request."""
DEALT_WITH = ["review/8f5b35dc36c443d24c7a/1/0", "review/acba53e13204918aef6c/1/0"]
"""What had gone downstream by then, and what downstream had refused."""


def freeze(folder: Path, into: Path) -> None:
    """Write what a killed collector leaves that has reported, has sessions open, and has more in its journal."""

    async def leave() -> None:
        bench = Bench(folder / "live", emitter=emitter())
        async with bench:
            for session in SESSIONS[:2]:
                await bench.send(*session)
            await bench.taken()
            bench.clock.forward(20)
            await bench.reports(2)
            bench.store.outbox_done(DEALT_WITH[1:])
            bench.store.outbox_park(DEALT_WITH[0], "400")
            await bench.send(*SESSIONS[2][:2])
            await bench.until(lambda: bench.store.open_sessions() == 1 and bench.engine._intake.idle)
            await bench.send(*SESSIONS[3])
            crashed(bench, folder / "left")

    run(leave())
    copy(folder / "left" / "store.db", folder / "store.db")
    into.mkdir(parents=True)
    for path in (folder / "store.db", *sorted((folder / "left" / "journal").iterdir())):
        (into / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))


def thawed(version: int, folder: Path) -> Path:
    """A folder that a collector of a version left; version 1 is version 2 without the totals by role."""
    for path in (FROZEN / str(max(version, 2))).iterdir():
        name = path.name.removesuffix(".gz")
        target = folder / ("journal" if name.endswith(".journal") else "") / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(gzip.decompress(path.read_bytes()))
    if version == 1:
        connection = sqlite3.connect(folder / "store.db")
        for table, totals in (("relays", "relay_totals"), ("required_fields", "field_totals")):
            connection.executescript(f"DROP TRIGGER {table}_of_session; DROP TABLE {table}; DROP TABLE {totals}")
        connection.execute("PRAGMA user_version = 1")
        connection.close()
    return folder


if __name__ == "__main__":
    freeze(Path(sys.argv[1]), FROZEN / str(VERSION))
