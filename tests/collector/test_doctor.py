"""Doctor: what spans allow, and what to switch on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from collector.cli import main

CAPTURES = Path(__file__).parents[1] / "conformance" / "captures"


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Run the command; its exit code and what it printed."""
    code = main(["doctor", *arguments])
    return code, capsys.readouterr().out


def test_it_tells_what_is_there_and_which_roles_have_no_contract(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, str(CAPTURES / "strands-agents__native-swarm" / "traces.otlp.jsonl")) == (
        0,
        "sessions   1 in 1 traces (named by session: 1)\n"
        "agents     engineer (2), planner (1), researcher (1), reviewer (2)\n"
        "producer   strands: 37 spans, 6 agent spans, 12 model calls (12 with content), 6 tool calls (6 with content)\n"
        "handoffs   5: 5 explicit; 5 recorded, 0 not recorded\n"
        "returns    0\n"
        "dropped    0\n"
        "advice     no contract says what engineer, researcher, reviewer must be handed: completeness is not measured there\n",
    )


def test_content_off_is_told_with_the_switch_that_ends_it(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = told(capsys, str(CAPTURES / "google-adk__native__bakery-transfer-off" / "traces.otlp.jsonl"))
    assert code == 0
    assert "4 of 4 handoffs are not recorded; OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY" in text


def test_a_contract_that_names_the_roles_ends_that_advice(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    contracts = tmp_path / "contracts.yaml"
    contracts.write_text(
        "version: 1\nrules:\n  - contract: {researcher: [goal], engineer: [findings], reviewer: [decisions]}\n"
    )
    _code, text = told(
        capsys, str(CAPTURES / "strands-agents__native-swarm" / "traces.otlp.jsonl"), "--contracts", str(contracts)
    )
    assert "no contract" not in text


def test_spans_of_no_agent_are_told_as_such(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plain = tmp_path / "plain.json"
    plain.write_text(
        '{"resourceSpans": [{"scopeSpans": [{"scope": {"name": "http"}, "spans": [{"traceId": "0af7651916cd43dd8448eb211c80319c", '
        '"spanId": "b7ad6b7169203331", "name": "GET /", "startTimeUnixNano": "1", "endTimeUnixNano": "2"}]}]}]}'
    )
    code, text = told(capsys, str(plain))
    assert (code, text.splitlines()[-1]) == (
        0,
        "advice     no agent runs in these spans: no known agent instrumentation made them",
    )


def test_nodes_that_are_plain_functions_are_told_as_no_agents(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    place = {"langgraph_node": "planner", "langgraph_step": 1, "langgraph_checkpoint_ns": "planner:1"}
    attributes = {"openinference.span.kind": "CHAIN", "metadata": json.dumps(place)}
    span = {
        "traceId": "0af7651916cd43dd8448eb211c80319c",
        "spanId": "b7ad6b7169203331",
        "name": "planner",
        "startTimeUnixNano": "1",
        "endTimeUnixNano": "2",
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    }
    scope = {"name": "openinference.instrumentation.langchain"}
    stubs = tmp_path / "stubs.json"
    stubs.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"scope": scope, "spans": [span]}]}]}))
    code, text = told(capsys, str(stubs))
    assert (code, text.splitlines()[-1]) == (
        0,
        "advice     none of 1 agent spans is an agent's run: no model is called and no agent runs in them"
        " (docs/frameworks.md says what makes an agent of a node)",
    )


def test_an_input_that_cannot_be_read_is_named_and_ends_with_two(tmp_path: Path) -> None:
    junk = tmp_path / "junk.bin"
    junk.write_bytes(b"\x00\x01nothing")
    done = subprocess.run(
        [sys.executable, "-m", "collector", "doctor", str(junk)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert str(junk) in done.stderr
