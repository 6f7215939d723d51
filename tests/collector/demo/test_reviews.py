"""Tests of demo/reviews.py, with shell scripts for OrchestratorX."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from collector.demo import reviews


def program(folder: Path, script: str) -> Path:
    made = folder / "bin" / "orchestratorx"
    made.parent.mkdir()
    made.write_text(f"#!/bin/sh\n{script}\n")
    made.chmod(0o755)
    return made


def test_the_rules_are_those_it_prints(tmp_path: Path) -> None:
    guest = program(tmp_path, """echo "{version: 1, rules: [{name: '$1', contract: {a: [goal]}}]}" """)
    assert reviews.contracts(guest) == [{"name": "contracts", "contract": {"a": ["goal"]}}]


def test_reviews_go_to_the_endpoint_by_its_protocol_and_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    monkeypatch.setenv("ORCHESTRATORX_LLM", "claude")
    guest = program(tmp_path, f"env >{tmp_path}/seen; printf '[1] One\\n    path : x\\n\\n[2] Two\\n'")
    assert reviews.play(guest, "http://127.0.0.1:1") == 2
    seen = set(re.findall(r"^(?:OTEL|ORCHESTRATORX|NO_PROXY).*$", (tmp_path / "seen").read_text(), re.M))
    assert seen == {
        "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1",
        "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
        "NO_PROXY=127.0.0.1",
    }


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo first >&2; echo no model >&2; exit 3", "OrchestratorX ended with code 3: no model"),
        ("exit 1", "OrchestratorX ended with code 1: it said nothing"),
        ("sleep 30", "OrchestratorX did not run: .* timed out after 0.1 seconds"),
    ],
)
def test_one_that_does_not_work_is_told_in_one_line(
    tmp_path: Path, script: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reviews, "PATIENCE", 0.1 if "sleep" in script else 30.0)
    with pytest.raises(reviews.ReviewsError, match=f"^{why}$"):
        reviews.play(program(tmp_path, f"exec {script}" if "sleep" in script else script), "http://127.0.0.1:1")


def test_one_that_is_not_there_names_the_log_of_its_installation(tmp_path: Path) -> None:
    with pytest.raises(reviews.ReviewsError, match=r"install\.log says why\)$"):
        reviews.contracts(tmp_path / "bin" / "orchestratorx")
