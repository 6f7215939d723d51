"""Tests of cli.py: the golden demo, exit codes, and every command as a user would give it."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from orchestratorx.cli import main
from orchestratorx.portfolio import demo_book
from orchestratorx.trace import verify
from scripted import book

GOLDEN = Path(__file__).parent / "golden"
Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("options", "golden"), [([], "demo.txt"), (["--incomplete-handoff", "--narrative"], "demo-incomplete.txt")]
)
def test_the_demo_is_golden(capsys: Capture, options: list[str], golden: str) -> None:
    assert main(["demo", *options]) == 0
    assert capsys.readouterr().out == (GOLDEN / golden).read_text()


def test_the_demo_runs_offline_from_an_installed_command(tmp_path: Path) -> None:
    # a process of its own, in which any attempt to open a connection fails
    code = (
        "import socket, sys\n"
        "def refuse(*_): raise AssertionError('a connection was opened')\n"
        "socket.socket.connect = refuse\n"
        "from orchestratorx.cli import main\n"
        "sys.exit(main(['demo']))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (GOLDEN / "demo.txt").read_text()
    assert list(tmp_path.iterdir()) == []


def test_the_demo_writes_traces_that_verify(capsys: Capture, tmp_path: Path) -> None:
    assert main(["demo", "--traces", str(tmp_path / "t")]) == 0
    written = sorted((tmp_path / "t").iterdir())
    assert [path.name for path in written] == [f"{n}-PF-100{n}.trace.json" for n in (1, 2, 3)]
    for path in written:
        assert verify(json.loads(path.read_text())) == []
        assert main(["verify", str(path)]) == 0
    capsys.readouterr()


def stored(tmp_path: Path, capsys: Capture, name: str) -> tuple[int, str, str]:
    path = tmp_path / "book.json"
    path.write_text(demo_book(name).model_dump_json(exclude_none=True))
    code = main(["run", str(path)])
    out = capsys.readouterr().out
    return code, out, out.rsplit(": ", 1)[1].strip()


@pytest.mark.parametrize(("name", "code"), [("compliant", 0), ("concentrated", 0), ("restricted", 1)])
def test_run_says_how_it_ended_by_its_exit_code(tmp_path: Path, capsys: Capture, name: str, code: int) -> None:
    found, out, _ = stored(tmp_path, capsys, name)
    assert found == code
    assert out.startswith(demo_book(name).name)


def test_run_json_is_the_report(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "book.json"
    path.write_text(book().model_dump_json(exclude_none=True))
    assert main(["run", "--json", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["report"]["status"] == "clean"


def test_a_kept_run_can_be_traced_and_verified(tmp_path: Path, capsys: Capture) -> None:
    _, _, run_id = stored(tmp_path, capsys, "concentrated")
    assert main(["trace", run_id]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 13
    assert "R6 -> ClientAdvisor  (high finding to mitigate; escalation mitigate)" in lines[7]
    assert "supervisor -> ClientAdvisor  delegate, completed: high finding to mitigate: CMP-002 (high)" in lines[8]
    assert main(["trace", run_id, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert main(["verify", run_id]) == 0
    assert capsys.readouterr().out == f"13 entries, the chain holds; head {document['head']}\n"


def test_verify_finds_a_changed_file(tmp_path: Path, capsys: Capture) -> None:
    _, _, run_id = stored(tmp_path, capsys, "restricted")
    main(["trace", run_id, "--json"])
    path = tmp_path / "trace.json"
    path.write_text(capsys.readouterr().out.replace('"halted": true', '"halted": false'))
    assert main(["verify", str(path)]) == 1
    assert capsys.readouterr().out == "entries[9]: was changed after it was written\n"


def test_verify_compares_with_a_head_kept_elsewhere(tmp_path: Path, capsys: Capture) -> None:
    _, _, run_id = stored(tmp_path, capsys, "compliant")
    assert main(["verify", run_id, "--head", "0" * 64]) == 1
    assert "kept as head" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["run", "absent.json"], "absent.json: no such file or directory"),
        (["trace", "run-none"], "no run 'run-none' in the registry"),
        (["verify", "run-none"], "'run-none' is neither a file nor a run in the registry"),
        (["serve", "--host", "0.0.0.0"], "0.0.0.0 can be reached from outside: set ORCHESTRATORX_TOKEN first"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(capsys: Capture, argv: list[str], message: str) -> None:
    assert main(argv) == 2
    assert capsys.readouterr().err == f"orchestratorx: {message}\n"


def test_a_bad_setting_is_exit_code_2(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORCHESTRATORX_HOP_BUDGET", "lots")
    assert main(["demo"]) == 2
    assert "ORCHESTRATORX_HOP_BUDGET" in capsys.readouterr().err


def test_a_small_hop_budget_shows_in_the_run(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORCHESTRATORX_HOP_BUDGET", "2")
    code, out, _ = stored(tmp_path, capsys, "compliant")
    assert code == 1
    assert "lacking    : the hop budget of 2 was spent before the review was done" in out


def test_a_hostile_book_cannot_write_to_the_terminal(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "book.json"
    hostile = demo_book("compliant").model_dump(mode="json", exclude_none=True) | {"name": "\x1b[2Jgone\nfake line"}
    hostile["positions"].append(
        {"instrument": "OWN\x1b[1m", "value": 2e6, "issuer": "I\x1b]0;t\x07", "sector": "s", "asset_class": "equity"}
    )
    path.write_text(json.dumps(hostile))
    main(["run", str(path)])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "fake line" in out.splitlines()[0]


def test_contracts_prints_the_bundled_file(capsys: Capture) -> None:
    assert main(["contracts"]) == 0
    assert capsys.readouterr().out == (files("orchestratorx") / "contracts.yaml").read_text()
