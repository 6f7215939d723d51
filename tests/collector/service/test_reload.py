"""Reload by SIGHUP and by watching files, with a real process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

Serving = Callable[..., AbstractContextManager[Any]]
CONTRACTS = (
    "version: 1\nrules:\n- name: {name}\n  match: {{service.name: '*'}}\n  contract: {{researcher: [{fields}]}}\n"
)


def replace(path: Path, text: str) -> None:
    """As editors do it: a new file in the place of the old one."""
    (path.parent / "new").write_text(text, encoding="utf-8")
    os.replace(path.parent / "new", path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "etc").mkdir()
    replace(tmp_path / "etc" / "contracts.yaml", CONTRACTS.format(name="first", fields="goal"))
    replace(tmp_path / "etc" / "tokens", "one\n")
    config = (
        f"contracts:\n  file: {tmp_path}/etc/contracts.yaml\nreceive:\n  auth:\n    token_file: {tmp_path}/etc/tokens\n"
    )
    replace(tmp_path / "etc" / "orbitrelay.yaml", config)
    return tmp_path / "etc"


@pytest.fixture
def process(serving: Serving, folder: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    watch = getattr(request, "param", "false")
    with serving(
        folder.parent / "data", {"service.watch": watch}, {}, "--config", str(folder / "orbitrelay.yaml")
    ) as process:
        process.said("ready")
        yield process


def play(process: Any, recorded: list[bytes], token: str) -> int:
    status = 0
    for body in recorded:
        headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
        status = httpx.post(
            f"http://{process.address('receive.http')}/v1/traces", content=body, headers=headers
        ).status_code
    return status


def test_sighup_takes_what_is_reloadable_and_names_what_is_not(
    process: Any, folder: Path, recorded: list[bytes]
) -> None:
    text = (folder / "orbitrelay.yaml").read_text(encoding="utf-8")
    changes = (
        "limits:\n  memory: 2GiB\nsessions:\n  idle: 1m\nretention:\n  age: 1d\nlog:\n  level: debug\n"
        "content:\n  redact: [Redis]\n"
    )
    replace(folder / "orbitrelay.yaml", text + changes)
    replace(folder / "contracts.yaml", CONTRACTS.format(name="second", fields="goal, owner"))
    replace(folder / "tokens", "two\n")
    process.signal(signal.SIGHUP)
    assert process.said("reloaded")["changed"] == ["sessions.idle", "content.redact", "retention.age", "log.level"]
    assert process.said("changed options need a restart")["options"] == ["limits.memory"]
    assert [play(process, recorded, token) for token in ("one", "two")] == [401, 200]
    (session,) = process.closed()
    assert session["contract_name"] == "second"
    trace = process.get(f"/api/v1/sessions/{session['session_id']}/trace").text
    assert "Redis" not in trace
    assert "[REDACTED]" in trace


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("contracts.yaml", "version: 1\nrules:\n- nam: x\n", "unknown key 'nam'; did you mean 'name'?"),
        (
            "orbitrelay.yaml",
            "session:\n  idle: 1m\n",
            "orbitrelay.yaml:2: unknown option 'session.idle'; did you mean 'sessions.idle'?",
        ),
        ("tokens", "# none\n", "expected a token in"),
    ],
)
def test_a_bad_file_changes_nothing_and_is_reported(
    process: Any, folder: Path, recorded: list[bytes], name: str, text: str, reason: str
) -> None:
    replace(folder / name, text)
    process.signal(signal.SIGHUP)
    assert reason in process.said("reload refused: nothing was changed")["reason"]
    assert play(process, recorded, "one") == 200
    assert process.closed()[0]["contract_name"] == "first"


@pytest.mark.parametrize("process", ["true"], indirect=True)
def test_a_file_that_changes_is_taken_without_a_signal(process: Any, folder: Path, recorded: list[bytes]) -> None:
    replace(folder / "contracts.yaml", CONTRACTS.format(name="second", fields="goal"))
    assert process.said("files changed")["files"] == [str(folder / "contracts.yaml")]
    process.said("reloaded")
    replace(folder / "tokens", "two\n")
    process.until(lambda: [r["message"] for r in process.log].count("reloaded") == 2)
    assert [play(process, recorded, token) for token in ("one", "two")] == [401, 200]
    assert process.closed()[0]["contract_name"] == "second"
