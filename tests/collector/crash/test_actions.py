"""SIGKILL of `serve` amid reloads, backups and deletions, its own and theirs: what `test_serve` holds is held, and deleted stays deleted."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import sys
import threading
import time
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path

import httpx
import pytest

from collector.cli import main
from collector.store import Store
from tests.collector.crash import test_serve
from tests.collector.crash.load import case_session, outcome
from tests.collector.crash.test_serve import Senders, Session, context, serve, tidy
from tests.collector.emit.receiver import free_port

__all__ = ["context"]


def back_up(folder: Path, target: Path) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(main(["backup", str(target), "--set", f"data.dir={folder / 'data'}"]))


class Operator:
    """Reloads, copies and deletes while the collector runs and dies. `doomed`: names of the sessions to delete once they are reported."""

    def __init__(self, context: ForkServerContext, folder: Path, port: int, doomed: set[str], seed: int) -> None:
        self._context = context
        self._folder = folder
        self._url = f"http://127.0.0.1:{port}/api/v1/sessions"
        self._random = random.Random(seed)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.doomed = doomed
        self.pid = 0
        self.deleted: set[str] = set()  # ids, once it was answered so
        self.reloads = self.copies = self.cut = 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(60)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._random.choice([self._reload, self._back_up, self._delete, self._delete])()
            self._stop.wait(self._random.uniform(0.0, 0.05))

    def _reload(self) -> None:
        for _ in range(self._random.randint(1, 30)):
            with contextlib.suppress(ProcessLookupError):
                if self.pid:
                    os.kill(self.pid, signal.SIGHUP)
                    self.reloads += 1

    def _back_up(self) -> None:
        target = self._folder / f"copy-{self.copies}-{self.cut}.sqlite"
        process = self._context.Process(target=back_up, args=(self._folder, target))
        process.start()
        if self._random.random() < 0.5:
            time.sleep(self._random.uniform(0.0, 0.3))
            process.kill()
        process.join(30)
        self.cut += process.exitcode != 0
        if target.exists():
            self.copies += 1
            with contextlib.closing(sqlite3.connect(target)) as copy:
                assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
                assert copy.execute("SELECT count(*) FROM series").fetchone() != (None,)
            target.unlink()

    def _delete(self) -> None:
        with contextlib.suppress(httpx.TransportError, httpx.HTTPStatusError):
            listed = httpx.get(self._url, params={"page_size": 500}, timeout=5).raise_for_status().json()["sessions"]
            wanted = [row["session_id"] for row in listed if row["name"] in self.doomed]
            for session_id in self._random.sample(wanted, min(3, len(wanted))):
                answer = httpx.delete(f"{self._url}/{session_id}", timeout=5)
                assert answer.status_code in {204, 404, 503}, (
                    answer.text
                )  # 404: done, and it died before it could say so
                if answer.status_code == 204:
                    self.deleted.add(session_id)

    def finish(self) -> None:
        """Delete what is left to be."""
        while [
            row
            for row in httpx.get(self._url, params={"page_size": 500}).json()["sessions"]
            if row["name"] in self.doomed
        ]:
            self._delete()


def torture(
    context: ForkServerContext, folder: Path, sessions: list[Session], doomed: set[str], kills: int, seed: int
) -> tuple[Senders, Operator]:
    chance = random.Random(seed)
    ports, admin = (free_port(), free_port()), free_port()
    options = {
        "receive.grpc.endpoint": f"127.0.0.1:{ports[0]}",
        "receive.http.endpoint": f"127.0.0.1:{ports[1]}",
        "admin.http.endpoint": f"127.0.0.1:{admin}",
        "admin.grpc.endpoint": "",
        "sessions.grace": "200ms",
        "sessions.idle": "30m",
        "journal.fsync": ("interval", "always", "never")[seed % 3],
        "journal.segment_size": "16KiB",
    }
    senders = Senders(sessions, ports, seed, repeats=0.0)
    operator = Operator(context, folder, admin, doomed, seed)
    senders.start()
    operator.start()
    process: BaseProcess | None = None
    try:
        for killed in range(kills + 1):
            senders.allowed = len(sessions) * (killed + 1) // (kills + 1)
            process = running = context.Process(target=serve, args=(folder, options))
            process.start()
            test_serve._until(lambda: test_serve._listens(admin), running, "it did not start", 60)
            operator.pid = process.pid or 0
            if killed < kills:
                time.sleep(chance.uniform(0.0, 1.5))
                assert process.is_alive()
                operator.pid = 0
                process.kill()
                process.join(30)
        senders.finish(120)
        test_serve._until(lambda: _reported(folder, len(sessions)), running, "not all was reported", 120)
        operator.stop()
        operator.finish()
        os.kill(running.pid or 0, signal.SIGTERM)
        running.join(30)
        assert running.exitcode == 0
    finally:
        senders.stop()
        operator.stop()
        if process is not None and process.is_alive():
            process.kill()
    return senders, operator


def _reported(folder: Path, sessions: int) -> bool:
    with contextlib.closing(sqlite3.connect(folder / "data" / "store.sqlite", timeout=30)) as connection:
        query = "SELECT count(*) FROM sessions WHERE state = 'deleted' OR (reported > 0 AND due = 0)"
        return bool(connection.execute(query).fetchone() == (sessions,))


def compare(context: ForkServerContext, folder: Path, kills: int, count: int, seed: int) -> str:
    sessions = [case_session(n) for n in range(count)]
    doomed = {f"s-{n}" for n in range(0, count, 3)}
    _, operator = torture(context, folder, sessions, doomed, kills, seed)
    store = Store(folder / "data" / "store.sqlite")
    store.start()
    try:
        found = outcome(store)
        assert [store.session(session_id) for session_id in operator.deleted] == [None] * len(operator.deleted)
    finally:
        store.stop()
    expected, _, files = tidy(folder, sessions)
    assert found["totals"] == expected["totals"], "each was counted once, and no less for being deleted"
    reports = expected["reports"]
    assert isinstance(reports, dict)
    assert found["reports"] == {name: report for name, report in reports.items() if name not in doomed}
    kept = {name: body for name, body in files.items() if name.partition(".")[0] not in doomed}
    assert {path.name: path.read_bytes() for path in (folder / "data" / "dossiers").iterdir()} == kept
    return (
        f"{kills} kills, {count} sessions, {len(doomed)} deleted ({len(operator.deleted)} times it was answered), {operator.reloads} reloads, "
        f"{operator.copies} copies, {operator.cut} cut short"
    )


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(3))
def test_killed_amid_reloads_backups_and_deletions_it_says_what_a_tidy_run_does(
    context: ForkServerContext, tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    said = compare(context, tmp_path, 12, 90, seed)
    with capsys.disabled():
        print(f"\nseed {seed}: {said}")
