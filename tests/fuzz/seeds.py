"""What fuzzing starts from: the inputs that the other tests are made of, by target."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

import zstandard

from collector.journal import segment
from collector.otlp import encode, json
from collector.otlp.model import Batch, LogRecord
from collector.report import Record
from tests.collector.dumps import test_dumps, test_shapes
from tests.collector.otlp import test_hostile
from tests.fuzz.targets import MARKER

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
CASES = HERE.parent / "conformance" / "cases"
EXAMPLES = HERE.parents[1] / "examples"

_LOG = Batch(logs=(LogRecord("a" * 32, "b" * 16, "e", {"k": [1, "x"]}, 1, attributes={"a": True}),))
_SMALL = 20_000  # bytes: larger seeds only slow a fuzzer down


def seeds(target: str) -> list[bytes]:
    """The seeds of a target, with every input that was ever found to break it."""
    return [*kept(target).values(), *(seed for seed in _made(target) if len(seed) <= _SMALL)]


def kept(target: str) -> dict[str, bytes]:
    """The inputs that were found, by the name of their file."""
    return {path.name: path.read_bytes() for path in sorted((CORPUS / target).glob("*"))}


def _made(target: str) -> Iterator[bytes]:
    cases = [path.read_bytes() for path in sorted(CASES.glob("*/input.json"))]
    if target == "otlp_protobuf":
        yield from (row.body for row in test_hostile.PROTOBUF_ROWS)
        yield from (encode.encode_traces(json.decode_traces(case)) for case in cases)
    elif target == "otlp_protobuf_logs":
        yield encode.encode_logs(_LOG)
    elif target in ("otlp_json", "recovery"):
        yield from (row.body for row in test_hostile.JSON_ROWS)
        yield from cases
    elif target == "otlp_json_logs":
        yield encode.encode_logs_json(_LOG)
    elif target in ("dump", "compression"):
        yield from (data for data, _, _ in test_dumps.WAYS.values())
        yield from (data for data, _ in test_shapes.SHAPES.values())
        yield from (test_shapes.dumps(test_shapes.JAEGER), test_shapes.dumps(test_shapes.LANGFUSE))
    elif target == "content_encoding":
        yield from (gzip.compress(case) for case in cases)
        yield from (zlib.compress(case) for case in cases)
        yield from (zstandard.ZstdCompressor().compress(case) for case in cases)
    elif target == "journal":
        records = [Record("traces", "json", case, 1, "tenant" * (n % 2)) for n, case in enumerate(cases)]
        frames = [b"".join(segment.frame(record, MARKER)) for record in records]
        yield segment.header(1, MARKER) + b"".join(frames[:3])
        yield from (segment.header(1, MARKER) + frame for frame in frames)
    elif target == "contracts":
        yield b"version: 1\nrules:\n  - match: {service.name: a*}\n    roles: {w: [w*]}\n    aliases: {g: [h]}\n    contract: {w: [g]}\n"
    elif target == "trace_document":
        yield from (path.read_bytes() for path in sorted(EXAMPLES.glob("*.json")))
