"""The JSON Schema and the loader hold a document to the same rules, but for those that a schema cannot say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.orbitrelay.test_vectors import BROKEN, ROOT, STREAMS, TRACES, VECTORS

SCHEMA = json.loads((ROOT / "docs" / "trace.schema.json").read_text())
VALIDATOR = Draft202012Validator(SCHEMA)

BEYOND_THE_SCHEMA = {
    # no JSON at all, or JSON that a parser may read otherwise
    *(entry["name"] for entry in BROKEN if entry["name"].startswith(("json-", "given-contract-"))),
    "key-lone-surrogate",
    "key-twice-at-top",
    "key-twice-by-escape",
    "key-twice-in-contract",
    "key-twice-in-handoff",
    "key-twice-in-value",
    "value-decimal-too-long",
    "value-exponent-hostile",
    "value-infinity",
    "value-integer-too-long",
    "value-lone-low-surrogate",
    "value-lone-surrogate",
    "value-minus-infinity",
    "value-nan",
    "value-out-of-range",
    "value-out-of-range-small",
    "value-tick-too-long",
    "depth-metadata",
    "depth-unknown-key",
    "depth-value",
    # JSON Schema has one kind of number: 1.0 and 1e2 are integers to it
    "handoff-tick-decimal",
    "handoff-tick-exponent",
    # its numbers are as exact as the validator's
    "handoff-latency-just-over",
    # references, and ids that must differ
    "agent-id-twice",
    "turn-id-twice",
    "turn-agent-undeclared",
    "handoff-id-twice",
    "handoff-source-undeclared",
    "handoff-target-undeclared",
    "field-named-twice",
    "message-is-cut",
    "message-is-escaped",
}


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("entry", TRACES, ids=lambda entry: entry["name"])
def test_what_the_loader_takes_the_schema_takes(entry: dict[str, Any]) -> None:
    VALIDATOR.validate(json.loads((VECTORS / entry["name"] / "trace.json").read_text("utf-8-sig")))


def test_the_sound_lines_of_streams_are_valid() -> None:
    for entry in STREAMS:
        lines = (VECTORS / entry["name"] / "traces.jsonl").read_text("utf-8-sig").split("\n")
        results = (VECTORS / entry["name"] / "score.jsonl").read_text().count("\n")
        sound = [line for line in lines if line.strip()][:results]
        assert len(sound) == results
        for line in sound:
            VALIDATOR.validate(json.loads(line))


@pytest.mark.parametrize(
    "entry", [entry for entry in BROKEN if entry["name"] not in BEYOND_THE_SCHEMA], ids=lambda entry: entry["name"]
)
def test_what_breaks_the_structure_the_schema_refuses_too(entry: dict[str, Any]) -> None:
    document = json.loads((VECTORS / entry["name"] / "trace.json").read_text())
    assert not VALIDATOR.is_valid(document)


def test_the_list_of_what_a_schema_cannot_say_is_current() -> None:
    refused = []
    for name in BEYOND_THE_SCHEMA:
        if not name.startswith(("json-", "given-contract-")):
            document = json.loads((VECTORS / name / "trace.json").read_bytes())
            refused += [] if VALIDATOR.is_valid(document) else [name]
    assert refused == []


def test_every_key_of_the_schema_is_one_that_the_loader_knows() -> None:
    records = (ROOT / "orbitrelay" / "records.py").read_text()
    keys = [key for part in (SCHEMA, *SCHEMA["$defs"].values()) for key in part.get("properties", {})]
    assert len(keys) > 40
    assert [key for key in keys if f'"{key}"' not in records] == []
    assert Path(ROOT / "docs" / "trace.schema.json").read_text().endswith("\n")
