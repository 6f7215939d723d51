from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from collector.cli import COMMANDS, main


@pytest.mark.parametrize(
    ("text", "code", "out", "err"),
    [
        ("sessions:\n  grace: 1s\n", 0, "FILE: configuration, 1 option set, no fault\n", ""),
        ("", 0, "FILE: configuration, 0 options set, no fault\n", ""),
        (
            "sessions:\n  grase: 1s\n  idle: soon\n",
            1,
            "",
            "FILE:2: unknown option 'sessions.grase'; did you mean 'sessions.grace'?\n"
            "FILE:3: sessions.idle: expected a duration such as '15s', '5m' or '6h', found 'soon'\n",
        ),
        (
            "version: 1\nrules:\n- name: a\n  match: {service.name: a}\n  contract: {coder: [goal]}\n",
            0,
            "FILE: contracts, 1 rule, no fault\n",
            "",
        ),
        (
            "version: 1\nrules:\n- name: a\n  contrac: {coder: [goal]}\n",
            1,
            "",
            "FILE:4:3: $.rules[0]: unknown key 'contrac'; did you mean 'contract'?; known are name, match, roles, aliases, contract\n"
            "FILE:3:3: $.rules[0]: the key 'contract' is missing; expected role -> required field names\n",
        ),
        ("contracts:\n  file: /none.yaml\n", 1, "", "/none.yaml: cannot be read: No such file or directory\n"),
        (
            "receive:\n  tls: {cert_file: /none.pem, key_file: /none.key}\n",
            1,
            "",
            "receive: cannot use the certificate '/none.pem' with the key '/none.key': no such file or directory\n",
        ),
        ("a: [\n", 1, "", "FILE:2: not YAML: expected the node content, but found '<stream end>'\n"),
    ],
    ids=["options", "nothing", "faults", "contracts", "contract faults", "contracts file", "certificate", "yaml"],
)
def test_check_tells_the_kinds_of_file_apart_and_names_every_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, code: int, out: str, err: str
) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(text, encoding="utf-8")
    assert main(["check", str(file)]) == code
    said = capsys.readouterr()
    assert (said.out.replace(str(file), "FILE"), said.err.replace(str(file), "FILE")) == (out, err)


def test_a_file_that_is_not_there_is_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "none")]) == 2
    assert (
        capsys.readouterr().err == f"orbitrelay-collector: cannot read '{tmp_path}/none': no such file or directory\n"
    )


def test_check_prints_no_token(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUR_TOKEN", "s3cret")
    (tmp_path / "tokens").write_text("s3cret tomorrow\n", encoding="utf-8")
    (tmp_path / "c.yaml").write_text(
        f"receive:\n  auth: {{token_env: OUR_TOKEN}}\nadmin:\n  auth: {{token_file: {tmp_path}/tokens}}\n",
        encoding="utf-8",
    )
    assert main(["check", str(tmp_path / "c.yaml")]) == 1
    said = capsys.readouterr()
    assert "s3cret" not in said.out + said.err
    assert "tokens:1: expected an ISO 8601 time" in said.err


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_help_of_its_own(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert COMMANDS[command].help[1:20] in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["srve"], ["serve", "--nothing"]])
def test_a_word_that_is_no_command_is_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "usage: orbitrelay-collector" in capsys.readouterr().err


def test_a_reader_that_went_away_is_one_line_and_code_2(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("sessions:\n  grace: 1s\n", encoding="utf-8")
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "collector", "check", str(tmp_path / "c.yaml")],
            stdout=writing,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (2, b"orbitrelay-collector: standard output: Broken pipe\n")
