"""The frozen vectors: held against the oracle, and against what the command line gives in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orbitrelay.cli import main
from tests.orbitrelay.test_properties import assert_agrees_with_the_oracle

ROOT = Path(__file__).parent.parent.parent
VECTORS = ROOT / "examples" / "vectors"
MANIFEST: list[dict[str, Any]] = json.loads((VECTORS / "manifest.json").read_text())["vectors"]

TRACES = [entry for entry in MANIFEST if entry["kind"] == "trace"]
STREAMS = [entry for entry in MANIFEST if entry["kind"] == "stream"]
BROKEN = [entry for entry in MANIFEST if entry["kind"] == "broken"]

COMMANDS = ("inspect", "score", "bottlenecks", "dossier", "pipeline")

ALL_COMMANDS = """
import sys
from orbitrelay.cli import main
for command in ("inspect", "score", "bottlenecks", "dossier", "pipeline"):
    assert main([command, "--trace", "trace.json", *(["--out", sys.argv[1]] if command == "pipeline" else [])]) == 0
"""


def test_there_are_enough_of_each_kind() -> None:
    assert len(TRACES) >= 80
    assert len(STREAMS) >= 5
    assert len(BROKEN) >= 60


@pytest.mark.parametrize("entry", TRACES, ids=lambda entry: entry["name"])
def test_a_vector_agrees_with_the_oracle(entry: dict[str, Any]) -> None:
    folder = VECTORS / entry["name"]
    contract = (folder / "contract.json").read_bytes() if entry["contract"] else None
    assert_agrees_with_the_oracle((folder / "trace.json").read_bytes(), contract)


@pytest.mark.parametrize("entry", BROKEN, ids=lambda entry: entry["name"])
def test_a_broken_document_is_refused_naming_record_and_key(
    entry: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    monkeypatch.chdir(VECTORS / entry["name"])
    contract = ["--contract", "contract.json"] if entry["contract"] else []
    out = tmp_path / "out"
    for command in COMMANDS:
        assert main([command, "--trace", "trace.json", *contract, "--out", str(out)]) == 2
    printed, complaint = capfdbinary.readouterr()
    assert printed == b""
    assert not out.exists()
    lines = complaint.decode().splitlines()
    assert len(lines) == len(COMMANDS)
    for line in lines:
        assert all(name in line for name in entry["message_names"]), line


@pytest.mark.parametrize("seed", range(10))
def test_the_fixture_gives_the_frozen_bytes_under_every_hash_seed(seed: int, tmp_path: Path) -> None:
    folder = VECTORS / "incident-triage"
    out = tmp_path / "dossier.md"
    done = subprocess.run(
        [sys.executable, "-c", ALL_COMMANDS, str(out)],
        cwd=folder,
        env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    expected = [
        (folder / name).read_bytes() for name in ("inspect.json", "score.json", "bottlenecks.json", "dossier.md")
    ]
    summary = (folder / "pipeline.json").read_bytes().replace(b'"dossier.md"', json.dumps(str(out)).encode())
    assert done.stdout == b"".join([*expected, summary])
    assert out.read_bytes() == expected[-1]


def _other_pythons() -> dict[tuple[int, int], str]:
    """The Pythons from 3.11 on that this machine has beside the one that runs the tests, one a version."""
    found: dict[tuple[int, int], str] = {}
    candidates = [shutil.which(f"python3.{minor}") for minor in range(11, 20)]
    candidates += map(str, sorted(Path.home().glob(".pyenv/versions/3.*/bin/python")))
    for candidate in filter(None, candidates):
        asked = [candidate, "-c", "import sys; print(*sys.version_info[:2])"]
        said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.split()
        version = tuple(map(int, said))
        if len(version) == 2 and version >= (3, 11) and version != sys.version_info[:2]:
            found.setdefault(version, candidate)
    return found


def test_every_other_python_that_is_here_gives_the_frozen_bytes() -> None:
    pythons = _other_pythons()
    if not pythons:
        pytest.skip("there is no other Python from 3.11 on")
    for version, python in pythons.items():
        done = subprocess.run(
            [python, "-I", str(VECTORS / "make.py"), "--check"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert (version, done.returncode, done.stderr) == (version, 0, ""), done.stdout


def test_the_fixture_has_the_figures_of_its_story() -> None:
    folder = VECTORS / "incident-triage"
    score = json.loads((folder / "score.json").read_bytes())
    assert (score["mean_score"], score["relays"], score["weakest_handoff"]) == (0.911429, 7, "h3")
    assert [
        (h["source_agent"], h["target_agent"], h["required"], h["missing"], h["empty"], h["extra"])
        for h in score["handoffs"]
    ] == [
        ("inc-1", "pln-1", 2, 0, 0, 0),
        ("pln-1", "rsr-1", 3, 0, 0, 0),
        ("rsr-1", "eng-1", 4, 2, 0, 0),
        ("eng-1", "rev-1", 4, 1, 0, 0),
        ("rev-1", "eng-1", 4, 0, 1, 0),
        ("eng-1", "rev-1", 4, 0, 1, 1),
        ("rev-1", "pln-1", 2, 0, 0, 0),
    ]
    inspected = json.loads((folder / "inspect.json").read_bytes())["handoffs"]
    assert [h["latency_ms"] for h in inspected] == [50, 280, 950, 40, 230, 100, 90]
    assert inspected[2]["required"] == ["goal", "root_cause_hypothesis", "affected_service", "constraints"]
    assert (inspected[2]["handoff_id"], inspected[2]["tick"], inspected[2]["reason"]) == ("h3", 3, "implement fix")
    found = json.loads((folder / "bottlenecks.json").read_bytes())["bottlenecks"]
    assert [(b["kind"], b["subject"], b["measured"], round(b["threshold"], 3), b["handoff_ids"]) for b in found] == [
        ("latency", "rsr-1 -> eng-1", 950, 547.016, ["h3"]),
        ("rework", "eng-1 -> rev-1", 2, 2, ["h4", "h6"]),
    ]
