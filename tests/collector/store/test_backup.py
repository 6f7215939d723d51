"""A copy is whole, of one moment, and made in one go, whoever writes meanwhile."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from collector.store import Store, StoreError
from collector.store.backup import copy
from tests.collector.store.makers import put, report


def test_a_copy_is_a_store_for_its_owner_only_and_replaces_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.db")
    store.start()
    put(store, report(1))
    copy(tmp_path / "store.db", tmp_path / "copy.db")
    put(store, report(2))
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        copy(tmp_path / "store.db", tmp_path / "copy.db")
    store.stop()
    again = Store(tmp_path / "copy.db")
    again.start()
    assert again.report(report(1).session_id) == report(1)
    assert again.report(report(2).session_id) is None
    again.stop()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "store.db"]


def large(path: Path) -> Store:
    """A store of more pages than are copied at a time."""
    store = Store(path, durable=False)
    store.start()
    put(store, *(report(n, trace_json=os.urandom(400_000)) for n in range(1, 41)))
    return store


def test_commits_meanwhile_do_not_make_it_begin_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collector.store.backup._PAGES", 1)
    store = large(tmp_path / "store.db")
    copying = threading.Thread(target=copy, args=(tmp_path / "store.db", tmp_path / "copy.db"))
    copying.start()
    number, end = 100, time.monotonic() + 10
    while copying.is_alive() and time.monotonic() < end:
        put(store, report(number))
        number += 1
    assert not copying.is_alive(), "it goes on for as long as there are commits"
    store.stop()
    connection = sqlite3.connect(tmp_path / "copy.db")
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert connection.execute("SELECT count(*) >= 40, count(*) = max(seq) FROM reports").fetchone() == (1, 1)
    connection.close()


COPY = "import sys, pathlib; from collector.store.backup import copy; print(flush=True); copy(*map(pathlib.Path, sys.argv[1:]))"


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_killed_it_leaves_nothing_under_the_name(tmp_path: Path) -> None:
    large(tmp_path / "store.db").stop()
    for wait in (0.005, 0.03):
        target = tmp_path / f"copy-{wait}.db"
        command = [sys.executable, "-c", COPY, str(tmp_path / "store.db"), str(target)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.read(1)
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        process.stdout.close()
        if target.exists():
            connection = sqlite3.connect(target)
            assert connection.execute("SELECT count(*) FROM reports").fetchone() == (40,)
            connection.close()


def test_what_is_no_store_is_named_and_no_copy_is_left(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_text("no database" * 1000)
    with pytest.raises(StoreError, match=r"cannot use store '.*store\.db': file is not a database"):
        copy(tmp_path / "store.db", tmp_path / "copy.db")
    assert [path.name for path in tmp_path.iterdir()] == ["store.db"]
