"""Two spans, planner above writer, as every format writes them."""

from __future__ import annotations

import io
from typing import Any

from collector.dumps import Batch, ReadNote, read_dump
from collector.otlp import encode
from collector.otlp.model import Resource, Scope, Span

TRACE = "5b8efff798038103d269b633813fc60c"
ROOT, CHILD = "00000000000000a1", "00000000000000a2"
START = 1_780_000_000_000_000_000
SECOND = 1_000_000_000

RESOURCE = Resource({"service.name": "desk"})
SCOPE = Scope("lib", "1.0")
SPANS = (
    Span(
        TRACE,
        ROOT,
        "invoke_agent planner",
        kind=1,
        start_unix_nano=START,
        end_unix_nano=START + 3 * SECOND,
        attributes={"gen_ai.agent.name": "planner", "session.id": "s-1"},
        scope=SCOPE,
        resource=RESOURCE,
    ),
    Span(
        TRACE,
        CHILD,
        "invoke_agent writer",
        parent_span_id=ROOT,
        kind=1,
        start_unix_nano=START + SECOND,
        end_unix_nano=START + 2 * SECOND,
        attributes={"gen_ai.agent.name": "writer", "tokens": 7},
        status_code=2,
        status_message="broke",
        scope=SCOPE,
        resource=RESOURCE,
    ),
)
BATCH = Batch(spans=SPANS)
PROTOBUF = encode.encode_traces(BATCH)
JSON = encode.encode_traces_json(BATCH)


def read(data: bytes) -> tuple[list[Span], list[ReadNote]]:
    """All spans and notes of a dump."""
    spans: list[Span] = []
    notes: list[ReadNote] = []
    for item in read_dump("dump", io.BytesIO(data)):
        if isinstance(item, ReadNote):
            notes.append(item)
        else:
            spans += item.spans
    return spans, notes


def said(notes: list[ReadNote]) -> list[str]:
    """The notes as a user reads them, with their kinds."""
    return [f"{note.kind}: {note}" for note in notes]


def brief(spans: list[Span]) -> list[tuple[Any, ...]]:
    """What every format can say of a span."""
    return [
        (s.trace_id, s.span_id, s.parent_span_id, s.name, s.start_unix_nano, s.end_unix_nano, s.resource.service)
        for s in spans
    ]


BRIEF = brief(list(SPANS))
