"""The command line in a process of its own: streams, files, exit codes, and what goes wrong with them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from orbitrelay import dumps, dumps_line
from orbitrelay.cli import main
from tests.orbitrelay.worlds import document, handoff

ROOT = Path(__file__).parent.parent.parent
FIXTURE = ROOT / "examples" / "incident_triage.json"
GOOD = dumps_line(document(handoff(1, fields=["goal"])))


def run(*arguments: str, stdin: bytes | None = None, cwd: Path | None = None) -> tuple[int, bytes, bytes]:
    done = subprocess.run(
        [sys.executable, "-m", "orbitrelay", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return done.returncode, done.stdout, done.stderr


def test_a_trace_on_standard_input_gives_what_the_file_gives() -> None:
    expected = (ROOT / "examples" / "vectors" / "incident-triage" / "score.json").read_bytes()
    assert run("score", "--trace", "-", stdin=FIXTURE.read_bytes()) == (0, expected, b"")


def test_out_is_written_instead_of_standard_output(tmp_path: Path) -> None:
    out = tmp_path / "score.json"
    assert run("score", "--trace", str(FIXTURE), "--out", str(out)) == (0, b"", b"")
    assert json.loads(out.read_bytes())["mean_score"] == 0.911429
    assert [path.name for path in tmp_path.iterdir()] == ["score.json"]


def test_pipeline_writes_dossier_md_where_it_stands(tmp_path: Path) -> None:
    code, printed, complaint = run("pipeline", "--trace", str(FIXTURE), cwd=tmp_path)
    assert (code, complaint) == (0, b"")
    assert json.loads(printed)["dossier"] == "dossier.md"
    assert (tmp_path / "dossier.md").read_bytes().startswith(b"# Handoff dossier: `orbit-2026-0417-incident-triage`\n")


def test_a_contract_given_replaces_the_documents_own(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (tmp_path / "contract.json").write_bytes(b'{"cod": ["tip"]}')
    (tmp_path / "trace.json").write_bytes(GOOD)
    assert (
        main(["inspect", "--trace", str(tmp_path / "trace.json"), "--contract", str(tmp_path / "contract.json")]) == 0
    )
    found = json.loads(capfdbinary.readouterr().out)["handoffs"][0]
    assert (found["required"], found["missing"], found["extra"]) == (["tip"], ["tip"], ["goal"])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "the following arguments are required: COMMAND; see orbitrelay --help"),
        (["score"], "the following arguments are required: --trace; see orbitrelay score --help"),
        (["weigh", "--trace", "x"], "argument COMMAND: invalid choice: 'weigh'"),
        (["score", "--trace", "x", "--tra", "y"], "unrecognized arguments: --tra y; see orbitrelay --help"),
        (["score", "--trace", "no/such/file"], "no/such/file: No such file or directory"),
        (["score", "--trace", "\x1b[31m\n"], "\\u001b[31m\\u000a: No such file or directory"),
        (["score", "--trace", "a\x00b"], "a\\u0000b: embedded null byte"),
        (["score", "--trace", "."], ".: Is a directory"),
        (["score", "--trace", "-", "--contract", "-"], "only one of --trace and --contract can be standard input"),
        (["score", "--trace", str(FIXTURE), "--contract", "nowhere"], "nowhere: No such file or directory"),
        (["score", "--trace", str(FIXTURE), "--out", "no/such/dir/x"], "no/such/dir/x: No such file or directory"),
        (["score", "--trace", str(FIXTURE), "--out", "."], ".: Is a directory"),
        (["score", "--trace", str(FIXTURE), "--out", "a\x00b"], "a\\u0000b: embedded null byte"),
        (["score", "--trace", str(FIXTURE), "--out", "/dev/full"], "/dev/full: No space left on device"),
        (["pipeline", "--trace", str(FIXTURE), "--out", "-"], "--out of pipeline must be a file"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_two(
    arguments: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    printed, said = capfd.readouterr()
    assert printed == ""
    assert said.startswith(f"orbitrelay: {complaint}")
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_help_names_every_command(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capfd.readouterr().out
    assert all(command in shown for command in ("inspect", "score", "bottlenecks", "dossier", "pipeline"))


def test_a_standard_output_without_room_is_one_line_and_exit_code_two() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "orbitrelay", "score", "--trace", str(FIXTURE)],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            check=False,
        )
    assert (done.returncode, done.stderr) == (2, b"orbitrelay: standard output: No space left on device\n")


def test_a_reader_that_went_away_is_one_line_and_exit_code_two() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "orbitrelay", "inspect", "--trace", str(FIXTURE)],
            stdout=writing,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            check=False,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (2, b"orbitrelay: standard output: Broken pipe\n")


def test_closed_standard_streams_are_exit_code_two() -> None:
    script = f"exec {sys.executable} -m orbitrelay score --trace"
    for closed, trace in ((">&-", FIXTURE), ("<&-", "-"), (">&- 2>&-", FIXTURE)):
        done = subprocess.run(["sh", "-c", f"{script} {trace} {closed}"], cwd=ROOT, capture_output=True, check=False)
        assert (done.returncode, done.stdout) == (2, b""), closed
        assert done.stderr.count(b"\n") == (0 if "2>" in closed else 1), closed


# ---- streams


def test_a_stream_gives_one_compact_result_a_line(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    stream = tmp_path / "traces.jsonl"
    stream.write_bytes(GOOD + b"\n" + dumps_line(document(trace_id="b")))
    assert main(["bottlenecks", "--trace", str(stream)]) == 0
    assert capfdbinary.readouterr().out == b'{"bottlenecks":[],"trace_id":"t"}\n{"bottlenecks":[],"trace_id":"b"}\n'


def test_a_single_trace_on_one_line_is_no_stream(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    single = tmp_path / "traces.jsonl"
    single.write_bytes(GOOD + b"\n\n")
    assert main(["bottlenecks", "--trace", str(single)]) == 0
    assert capfdbinary.readouterr().out == b'{\n  "bottlenecks": [],\n  "trace_id": "t"\n}\n'


def test_a_fault_in_a_stream_names_its_line_after_the_results_before_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    stream = tmp_path / "traces.jsonl"
    stream.write_bytes(GOOD + b"\n" + GOOD + dumps_line(document(handoff(1, "pln", "who"))) + GOOD)
    assert main(["bottlenecks", "--trace", str(stream)]) == 2
    printed, said = capfd.readouterr()
    assert printed == '{"bottlenecks":[],"trace_id":"t"}\n' * 2
    assert said == (f"orbitrelay: {stream}: line 4: handoffs[0] (h1): target_agent 'who' is not a declared agent\n")


def test_a_fault_in_a_stream_leaves_no_file(tmp_path: Path) -> None:
    stream = tmp_path / "traces.jsonl"
    stream.write_bytes(GOOD + GOOD + b'{"trace_id": ')
    before = tmp_path / "out"
    before.write_bytes(b"old")
    for command in ("score", "dossier", "pipeline"):
        assert main([command, "--trace", str(stream), "--out", str(before)]) == 2
    assert before.read_bytes() == b"old"
    assert {path.name for path in tmp_path.iterdir()} == {"out", "traces.jsonl"}


def test_junk_behind_a_single_trace_is_a_fault_and_no_stream(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for junk in (b"}", b"[]", b"x", b'"a"', b"\x00"):
        path = tmp_path / "trace.json"
        path.write_bytes(GOOD + junk)
        assert main(["score", "--trace", str(path)]) == 2
        printed, said = capfd.readouterr()
        assert printed == ""
        assert "line 2 column 1: malformed JSON" in said


def test_a_stream_is_read_line_by_line() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "orbitrelay", "score", "--trace", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(GOOD + GOOD)
        process.stdin.flush()
        first = process.stdout.readline()
        assert json.loads(first)["trace_id"] == "t"
        process.stdin.close()
        assert process.stdout.read() == first
    assert process.returncode == 0


# ---- files


def test_an_existing_file_keeps_its_permissions_and_a_link_stays_one(tmp_path: Path) -> None:
    target, link = tmp_path / "kept.json", tmp_path / "link.json"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    assert main(["score", "--trace", str(FIXTURE), "--out", str(link)]) == 0
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert json.loads(target.read_bytes())["relays"] == 7


def test_a_device_is_written_to_and_not_replaced() -> None:
    assert main(["score", "--trace", str(FIXTURE), "--out", "/dev/null"]) == 0
    assert not Path("/dev/null").is_file()


def test_the_file_read_may_be_the_file_written(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(dumps(document(handoff(1))))
    assert main(["score", "--trace", str(path), "--out", str(path)]) == 0
    assert json.loads(path.read_bytes())["scored"] == 1
