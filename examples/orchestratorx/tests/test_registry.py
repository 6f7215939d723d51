"""Tests of registry.py on SQLite, and on PostgreSQL where a server is given or can be started."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from orchestratorx.registry import Registry, RegistryError, record_run
from orchestratorx.trace import verify
from scripted import Tick, book, tells, world


def _binaries() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)
    on_path = shutil.which("initdb")
    return found[0].parent if found else Path(on_path).parent if on_path else None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL server: ORCHESTRATORX_TEST_POSTGRES, or a private one that ends with the tests."""
    given = os.environ.get("ORCHESTRATORX_TEST_POSTGRES")
    if given:
        yield given
        return
    binaries = _binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL: set ORCHESTRATORX_TEST_POSTGRES to the URL of a server")
    user: dict[str, Any] = {}
    if os.getuid() == 0:
        # the server refuses to run as root
        try:
            account = pwd.getpwnam("postgres")
        except KeyError:
            account = pwd.getpwnam("nobody")
        user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    home = Path(tempfile.mkdtemp(prefix="orchestratorx-pg-", dir="/tmp"))
    if user:
        os.chown(home, user["user"], user["group"])
    data, port = home / "data", _free_port()

    def tool(*arguments: str) -> None:
        subprocess.run(arguments, cwd=home, check=True, capture_output=True, timeout=60, **user)

    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={home} -c fsync=off"
    try:
        tool(str(binaries / "initdb"), "-D", str(data), "-U", "tests", "-A", "trust", "-E", "UTF8", "--no-sync")
        log = str(home / "log")
        tool(str(binaries / "pg_ctl"), "-D", str(data), "-w", "-t", "30", "-l", log, "-o", options, "start")
    except (subprocess.SubprocessError, OSError) as error:
        shutil.rmtree(home, ignore_errors=True)
        pytest.skip(f"PostgreSQL could not be started: {error}")
    yield f"postgresql+psycopg://tests@127.0.0.1:{port}/postgres"
    tool(str(binaries / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop")
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'deep' / 'er' / 'runs.db'}"
    server = str(request.getfixturevalue("postgres"))
    engine = sa.create_engine(server)
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE IF EXISTS orchestratorx_entries, orchestratorx_runs"))
    engine.dispose()
    return server


@pytest.fixture
def registry(url: str) -> Iterator[Registry]:
    made = Registry(url, clock=Tick(), owner="here")
    made.start()
    yield made
    made.stop()


def test_a_run_survives_a_restart_with_its_report_and_its_whole_trail(url: str) -> None:
    first = Registry(url)
    first.start()
    run = record_run(world(compliance=[tells("CMP-002")]), first, book())
    first.stop()
    second = Registry(url)
    second.start()
    record = second.get(run.run_id)
    assert record is not None
    assert (record.status, record.portfolio_id, record.ended) == ("findings", "PF-1", True)
    assert record.result == {"report": run.report.to_dict(), "path": list(run.path)}
    assert second.trace(run.run_id) == run.trace.document()
    assert verify(second.trace(run.run_id), head=record.head) == []
    second.stop()


def test_tampering_with_the_database_shows(registry: Registry, url: str) -> None:
    run = record_run(world(compliance=[tells("CMP-003")]), registry, book())
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        edit = "UPDATE orchestratorx_entries SET body = replace(body, 'halt', 'continue') WHERE run_id = :run"
        connection.execute(sa.text(edit), {"run": run.run_id})
    engine.dispose()
    assert any("was changed after it was written" in problem for problem in verify(registry.trace(run.run_id)))


def test_pages_are_newest_first_and_complete(registry: Registry) -> None:
    orchestrator = world()
    made = [record_run(orchestrator, registry, book(f"PF-{n}")).run_id for n in range(7)]
    seen, cursor = list[str](), None
    sizes = []
    while True:
        records, cursor = registry.page(3, cursor)
        sizes.append(len(records))
        seen += [record.run_id for record in records]
        if cursor is None:
            break
    assert (seen, sizes) == (made[::-1], [3, 3, 1])


def test_a_last_full_page_has_no_cursor(registry: Registry) -> None:
    record_run(world(), registry, book())
    assert registry.page(1)[1] is None
    assert registry.page(1, 0) == ([], None)


def test_what_this_machine_left_running_is_interrupted_and_what_others_run_is_not(registry: Registry, url: str) -> None:
    other = Registry(url, owner="elsewhere")
    other.start()
    registry.begin("run-mine", "PF-1")
    other.begin("run-theirs", "PF-2")
    assert registry.interrupt_orphans() == 1
    statuses = {record.run_id: record.status for record in registry.page(10)[0]}
    assert statuses == {"run-mine": "interrupted", "run-theirs": "running"}
    other.stop()


def test_a_crashed_run_keeps_its_trail(registry: Registry) -> None:
    def broken(_: Any) -> Any:
        raise KeyError("posture")

    with pytest.raises(KeyError):
        record_run(world(seam=broken), registry, book())
    record = registry.page(1)[0][0]
    assert (record.status, record.result) == ("crashed", None)
    assert registry.entries(record.run_id)[-1]["detail"]["status"] == "crashed"
    assert verify(registry.trace(record.run_id), head=record.head) == []


def test_concurrent_runs_are_all_kept(registry: Registry) -> None:
    orchestrator = world()
    with ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(lambda n: record_run(orchestrator, registry, book(f"PF-{n}")), range(16)))
    for run in runs:
        assert registry.trace(run.run_id) == run.trace.document()


def test_entries_after_a_sequence_number(registry: Registry) -> None:
    run = record_run(world(), registry, book())
    assert [entry["seq"] for entry in registry.entries(run.run_id, after=7)] == [8, 9, 10]


def test_an_unknown_run_is_none(registry: Registry) -> None:
    assert (registry.get("nobody"), registry.entries("nobody")) == (None, [])


def test_a_registry_that_cannot_write_stops_the_run(registry: Registry, url: str) -> None:
    if not url.startswith("sqlite"):
        pytest.skip("drops a table under the run: once is enough")
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE orchestratorx_entries"))
    engine.dispose()
    with pytest.raises(RegistryError, match="no such table"):
        record_run(world(), registry, book())


@pytest.mark.parametrize(
    "bad", ["nonsense", "nosuch://x/y", "sqlite:////proc/none/runs.db", "postgresql://127.0.0.1:1/x"]
)
def test_a_registry_that_cannot_be_opened_says_so(bad: str) -> None:
    with pytest.raises(RegistryError):
        Registry(bad).start()
