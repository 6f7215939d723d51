"""README.md, the collector's section, with real programs: an OpenTelemetry Collector in front, and the four frameworks as it says to run them."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.pages import Block, blocks, read
from tests.services.test_otelcol import play

pytestmark = [pytest.mark.services, pytest.mark.timeout(900)]
Serving = Callable[..., AbstractContextManager[Any]]
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
OURS = [block for block in blocks(read("README.md")) if block.options.get("by") == "tests/services/test_readme.py"]
PROGRAMS = {
    # row of the README's table: the program, its session, and what the handoff of the researcher to the writer carried
    "openai-agents": ("openai_agents_report.py", "openai-agents", {"goal", "findings"}),
    "LangGraph": ("langgraph_report.py", "langgraph", {"goal", "findings"}),
    "Strands Agents": ("strands_report.py", "strands", {"message", "goal", "findings"}),
    "Google ADK": ("google_adk_report.py", "google-adk", {"goal", "findings"}),
}
CONTRACTS = "{version: 1, rules: [{contract: {writer: [goal, findings]}}]}"


def only(language: str) -> Block:
    """The one block of that language."""
    (block,) = (block for block in OURS if block.language == language)
    return block


def test_a_collector_with_the_configuration_of_the_readme_sends_everything_on(
    serving: Serving, otelcol: Any, free_ports: Any, tmp_path: Path
) -> None:
    (port,) = free_ports(1)
    text = only("yaml").text
    assert "127.0.0.1:14317" in text
    with serving(tmp_path) as process:
        text = text.replace("127.0.0.1:14317", f"127.0.0.1:{port}").replace(
            "127.0.0.1:4317", process.address("receive.grpc")
        )
        configuration = yaml.safe_load(text)
        configuration["service"]["telemetry"] = {"metrics": {"level": "none"}}  # another one may run on this machine
        with otelcol(yaml.safe_dump(configuration), port):
            play(port)
            (session,) = process.closed()
    assert (session["name"], session["counts"]["spans"], session["counts"]["handoffs"]) == (
        "sess-strands-swarm-01",
        37,
        5,
    )


@pytest.fixture(scope="session")
def frameworks() -> Path:
    """The programs of an environment with the four frameworks, made on the first run."""
    requirements = HERE / "programs" / "requirements.txt"
    key = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:16]
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(os.environ.get("ORBITRELAY_TEST_CACHE") or home / "orbitrelay-tests") / f"frameworks-{key}"
    if not (folder / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run(
            [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--requirement", requirements], check=True
        )
        (folder / "installed").touch()
    return folder / "bin"


@pytest.mark.parametrize("framework", PROGRAMS)
def test_a_framework_run_as_the_readme_says_is_read_with_its_content(
    serving: Serving, frameworks: Path, tmp_path: Path, framework: str
) -> None:
    program, session_name, carried = PROGRAMS[framework]
    rows = {
        cells[0]: cells for line in read("README.md").splitlines() if len(cells := line.strip("| ").split(" | ")) == 4
    }
    switches = dict(re.findall(r"`(\w+)=(\w+)`", rows[framework][2])) if rows[framework][2].startswith("`") else {}
    (tmp_path / "contracts.yaml").write_text(CONTRACTS)
    _install, variables, run = only("console").text.removeprefix("$ ").rstrip().split("\n$ ")
    command, python, name = shlex.split(run)
    assert (command, python, name) == ("opentelemetry-instrument", "python", "app.py")
    with serving(tmp_path / "data", {"contracts.file": str(tmp_path / "contracts.yaml")}) as process:
        assert "127.0.0.1:4317" in variables
        exported = shlex.split(variables.replace("127.0.0.1:4317", process.address("receive.grpc")))[1:]
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "OPENAI_", "OPENINFERENCE_"))}
        done = subprocess.run(
            [frameworks / command, frameworks / python, HERE / "programs" / program],
            env=inherited
            | switches
            | dict(word.split("=", 1) for word in exported)
            | {"PYTHONPATH": str(ROOT / "tests" / "conformance" / "scripts")},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        (session,) = process.closed()
        document = process.get(f"/api/v1/sessions/{session['session_id']}/trace").json()
    assert (session["name"], session["service"]) == (session_name, "my-agents"), done.stderr
    (handoff,) = (h for h in document["handoffs"] if h["origin"]["mode"] != "return")
    assert (handoff["source_agent"], handoff["target_agent"]) == ("researcher", "writer")
    assert {field["name"] for field in handoff["fields"] if "seen_in" not in field} == carried
    assert session["weakest"]["completeness"] == pytest.approx(0.85 - 0.02 * len(carried - {"goal", "findings"}))
