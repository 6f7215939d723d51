"""rescore, backup and delete beside a running collector, and on its folder after it has stopped."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from collector.cli import main
from collector.journal import Journal
from collector.report import Record
from collector.store import Store
from collector.store.schema import VERSION, connect, version
from tests.collector.store.freezer import thawed

Serving = Callable[..., AbstractContextManager[Any]]
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def process(serving: Serving, folder: Path) -> Iterator[Any]:
    with serving(folder, {"contracts.file": str(ROOT / "collector" / "demo" / "contracts.yaml")}) as process:
        process.play()
        process.closed()
        process.until(lambda: len(list((folder / "dossiers").glob("*"))) == 2)
        yield process


def test_backup_and_rescore_beside_a_running_collector(
    process: Any, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ["--set", f"data.dir={folder}"]
    assert main(["backup", str(tmp_path / "copy.sqlite"), *data]) == 0
    copy = Store(tmp_path / "copy.sqlite")
    copy.start()
    assert [row.name for row in copy.sessions().rows] == ["sess-strands-swarm-01"]
    copy.stop()
    assert main(["backup", str(tmp_path / "copy.sqlite"), *data]) == 2
    assert capsys.readouterr().err.endswith(": file exists\n")

    (tmp_path / "other.yaml").write_text(
        "version: 1\nrules:\n- name: other\n  match: {service.name: 'gateway-*', telemetry.sdk.language: python}\n  contract: {researcher: [goal, owner]}\n",
        encoding="utf-8",
    )
    assert main(["rescore", str(tmp_path / "other.yaml"), *data]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("sess-strands-swarm-01: 0.662 -> ")
    assert "  planner -> researcher: owner: not asked -> MISSING" in said
    assert said[-1] == "1 session, 1 changed, 0 without a rule"
    assert main(["rescore", str(tmp_path / "other.yaml"), "--rule", "othr", *data]) == 2
    assert capsys.readouterr().err.endswith("found 'othr'; did you mean 'other'?\n")
    assert process.sessions()[0]["mean_completeness"] == 0.662, "a rescore changes nothing"


def test_delete_asks_the_running_collector(process: Any, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--set", f"data.dir={folder}", "--set", f"admin.http.endpoint={process.address('admin.http')}"]
    session_id = process.sessions()[0]["session_id"]
    assert main(["delete", session_id, *arguments]) == 0
    assert main(["delete", session_id, *arguments]) == 1
    assert (
        capsys.readouterr().out
        == f"{session_id}: deleted\n{session_id}: no such session (an id is the session_id of /api/v1/sessions)\n"
    )
    assert process.sessions() == []
    process.until(lambda: not list((folder / "dossiers").glob("*")), what="the files did not go")


def test_delete_works_on_the_folder_of_a_stopped_collector(
    serving: Serving, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path) as process:
        process.play()
        session_id = process.closed()[0]["session_id"]
        process.until(lambda: len(list((tmp_path / "dossiers").glob("*"))) == 2)
        assert process.stop() == 0
    assert main(["delete", session_id, "--set", f"data.dir={tmp_path}"]) == 0
    assert capsys.readouterr().out == f"{session_id}: deleted\n"
    assert list((tmp_path / "dossiers").glob("*")) == []


def test_delete_leaves_what_a_killed_collector_has_not_stored_to_the_next_start(
    serving: Serving, tmp_path: Path, recorded: list[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    store, journal = Store(tmp_path / "store.sqlite"), Journal(tmp_path / "journal")
    store.start()
    store.stop()
    journal.open()
    journal.append([Record("traces", "json", body, 1) for body in recorded])
    journal.close()
    arguments = ["--set", f"data.dir={tmp_path}"]
    assert main(["delete", "0e8a74fee6eb24e263c1", *arguments]) == 2
    assert capsys.readouterr().err == (
        f"orbitrelay-collector: the journal in '{tmp_path}' holds requests that the store has not seen, and may bring a session back:"
        " start the collector, and delete then\n"
    )
    with serving(tmp_path, {"files.enabled": "false"}) as process:
        session_id = process.closed()[0]["session_id"]
        assert process.stop() == 0
    assert main(["delete", session_id, *arguments]) == 0
    assert capsys.readouterr().out == f"{session_id}: deleted\n"


def test_an_older_store_is_copied_as_it_is_and_migrated_by_the_collector_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = thawed(1, tmp_path / "old")
    (folder / "store.db").rename(folder / "store.sqlite")
    data = ["--set", f"data.dir={folder}"]
    before = (folder / "store.sqlite").read_bytes()
    refused = (
        f"orbitrelay-collector: the store '{folder}/store.sqlite' is of version 1, this program's of {VERSION}: "
        "use the program that wrote it, or start the collector, which migrates it\n"
    )
    for command in (["delete", "x"], ["rescore", str(ROOT / "collector" / "demo" / "contracts.yaml")]):
        assert main([*command, *data]) == 2
        assert capsys.readouterr().err == refused
    assert main(["backup", str(tmp_path / "copy"), *data]) == 0
    assert (folder / "store.sqlite").read_bytes() == before
    with contextlib.closing(connect(tmp_path / "copy")) as connection:
        assert version(connection) == 1


def test_a_folder_without_a_store_is_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["backup", str(tmp_path / "copy"), "--set", f"data.dir={tmp_path}"]) == 2
    line = f"orbitrelay-collector: expected a store in the data folder '{tmp_path}' (data.dir), found none\n"
    assert capsys.readouterr().err == line
