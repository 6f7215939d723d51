from __future__ import annotations

from pathlib import Path

import pytest

from collector.config import ConfigError, load

YAML = """\
receive:
  grpc:
    endpoint: 0.0.0.0:4317
sessions:
  grace: 2s
  idle: 1m
export:
  traces:
    headers: {x-team: agents}
contracts:
"""
TOML = """\
[receive.grpc]
endpoint = "0.0.0.0:4317"

[sessions]
grace = "2s"
idle = 60
"""


def _write(folder: Path, text: str, name: str = "orbitrelay.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def _faults(path: Path | None, environment: dict[str, str] | None = None, *overrides: str) -> list[str]:
    with pytest.raises(ConfigError) as error:
        load(path, environment or {}, overrides)
    return [fault.replace(str(path), path.name if path else "") for fault in error.value.faults]


def test_no_file_gives_the_defaults() -> None:
    loaded = load(None, {})
    assert (loaded.options.receive.grpc.endpoint, loaded.sources) == ("127.0.0.1:4317", {})


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    path = _write(tmp_path, YAML)
    loaded = load(path, {"ORBITRELAY_SESSIONS_IDLE": "2m", "ORBITRELAY_SESSIONS_GRACE": "3s"}, ["sessions.grace=4s"])
    assert (loaded.options.sessions.grace, loaded.options.sessions.idle) == (4.0, 120.0)
    assert loaded.options.export.traces.headers == {"x-team": "agents"}
    assert loaded.sources == {
        "receive.grpc.endpoint": "file",
        "sessions.grace": "command line",
        "sessions.idle": "environment",
        "export.traces.headers": "file",
    }


def test_toml_says_the_same_as_yaml(tmp_path: Path) -> None:
    toml = load(_write(tmp_path, TOML, "orbitrelay.toml"), {}).options
    assert (toml.receive.grpc.endpoint, toml.sessions.grace, toml.sessions.idle) == ("0.0.0.0:4317", 2.0, 60.0)


def test_every_fault_of_a_file_is_named_with_its_line(tmp_path: Path) -> None:
    path = _write(
        tmp_path, "sessions:\n  grase: 2s\n  idle: soon\nreceive:\n  grpc: 4317\njournal:\n  fsync: sometimes\n"
    )
    assert _faults(path) == [
        "orbitrelay.yaml:2: unknown option 'sessions.grase'; did you mean 'sessions.grace'?",
        "orbitrelay.yaml:3: sessions.idle: expected a duration such as '15s', '5m' or '6h', found 'soon'",
        "orbitrelay.yaml:5: receive.grpc: expected a section with options such as 'receive.grpc.endpoint', found 4317",
        "orbitrelay.yaml:7: journal.fsync: expected one of 'always', 'interval', 'never', found 'sometimes'",
    ]


def test_a_fault_in_toml_has_its_line_too(tmp_path: Path) -> None:
    path = _write(tmp_path, '[sessions]\n\ngrace = "2s"\nidel = 3\n', "orbitrelay.toml")
    assert _faults(path) == ["orbitrelay.toml:4: unknown option 'sessions.idel'; did you mean 'sessions.idle'?"]


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("c.yaml", "a: [\n", "c.yaml:2: not YAML: expected the node content, but found '<stream end>'"),
        ("c.yaml", "- a\n", "c.yaml:1: expected sections such as 'receive:', found a seq"),
        ("c.toml", "a = \n", "c.toml:1: not TOML: Invalid value (at line 1, column 5)"),
    ],
)
def test_a_file_that_cannot_be_parsed_says_where(tmp_path: Path, name: str, text: str, fault: str) -> None:
    assert _faults(_write(tmp_path, text, name)) == [fault]


def test_a_file_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    assert _faults(tmp_path / "none.yaml") == ["none.yaml: cannot read the configuration: no such file or directory"]


def test_a_fault_in_the_environment_or_on_the_command_line_names_it(tmp_path: Path) -> None:
    assert _faults(_write(tmp_path, ""), {"ORBITRELAY_SESSIONS_IDLE": "x"}, "sessions.idel=1s", "drain") == [
        "environment variable ORBITRELAY_SESSIONS_IDLE: sessions.idle: expected a duration such as '15s', '5m' or '6h', found 'x'",
        "--set sessions.idel=1s: unknown option 'sessions.idel'; did you mean 'sessions.idle'?",
        "--set drain: expected NAME=VALUE",
    ]


def test_a_misspelt_variable_is_a_warning() -> None:
    assert load(None, {"ORBITRELAY_SESSION_IDLE": "1s", "HOME": "/"}).warnings == (
        "environment variable ORBITRELAY_SESSION_IDLE names no option; did you mean 'ORBITRELAY_SESSIONS_IDLE'?",
    )


def test_what_does_not_fit_together_is_a_fault_at_its_line(tmp_path: Path) -> None:
    path = _write(
        tmp_path,
        "receive:\n  tls:\n    cert_file: c.pem\n  auth:\n    token_env: TOKEN\n"
        "content:\n  redact: ['(']\nlimits:\n  decompressed_size: 1MiB\n",
    )
    assert _faults(path) == [
        "receive.tls.key_file: expected a path, since certificate and key go together, found none",
        "orbitrelay.yaml:5: receive.auth.token_env: expected a token in environment variable 'TOKEN', found none",
        "orbitrelay.yaml:7: content.redact: expected a regular expression, found '(': "
        "missing ), unterminated subpattern at position 0",
        "orbitrelay.yaml:9: limits.decompressed_size: expected at least limits.message_size",
    ]


def test_an_option_that_a_file_gives_twice_is_a_fault(tmp_path: Path) -> None:
    text = "sessions:\n  idle: 1s\nlimits:\n  depth: 7\nsessions:\n  grace: 1s\n  idle: 2s\n"
    assert _faults(_write(tmp_path, text)) == [
        "orbitrelay.yaml:7: sessions.idle: expected once, found again after orbitrelay.yaml:2"
    ]


def test_nesting_without_an_end_is_a_fault(tmp_path: Path) -> None:
    assert _faults(_write(tmp_path, "a: " + "[" * 5000)) == [
        "orbitrelay.yaml: expected sections and values, found nesting without an end"
    ]


def test_a_message_larger_than_grpc_takes_is_a_fault() -> None:
    sizes = ("limits.message_size=2GiB", "limits.decompressed_size=2GiB")
    assert _faults(None, {}, *sizes) == [
        "--set limits.message_size: limits.message_size: expected less than 2GiB, which is more than gRPC takes"
    ]


def test_a_token_is_looked_up_and_never_kept() -> None:
    loaded = load(None, {"ORBITRELAY_RECEIVE_AUTH_TOKEN_ENV": "ORBITRELAY_TOKEN", "ORBITRELAY_TOKEN": "s3cret"})
    assert (loaded.options.receive.auth.token_env, loaded.warnings) == ("ORBITRELAY_TOKEN", ())
    assert "s3cret" not in repr(loaded)
