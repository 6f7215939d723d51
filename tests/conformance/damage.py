"""Spans as a hostile or broken sender would leave them: attributes lost, cut, of other types; parents, times, names and scopes mixed up.

And as a sender with a length limit on attributes leaves them, which is neither."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from collector.otlp.model import Batch, Event, Scope, Span

JUNK: tuple[Any, ...] = (
    None, "", 0, -1, True, [], {}, "null", "[", ' {"a":', "{}", '"x"', "[REDACTED]", {"a": {"b": [1, None]}}, [[[]]], b"\x00\xff",
    float("inf"), float("nan"), '{"a": 1e999, "b": NaN}', '"\\ud800"', "transfer_to_x", "\u202e", "9" * 400, "[" * 5000,
)  # fmt: skip


def damaged(spans: Sequence[Span], chance: random.Random) -> list[Span]:
    """Some of the spans lost, some of the rest damaged."""
    ids = [s.span_id for s in spans]
    scopes = sorted(
        {s.scope.name for s in spans} | {"", "strands.telemetry.tracer", "openinference.instrumentation.langchain"}
    )
    return [_span(s, ids, scopes, chance) for s in spans if chance.random() > 0.05]


def _span(span: Span, ids: Sequence[str], scopes: Sequence[str], chance: random.Random) -> Span:
    attributes = dict(span.attributes)
    for key in list(attributes):
        dice = chance.random()
        if dice < 0.05:
            del attributes[key]
        elif dice < 0.12:
            attributes[key] = chance.choice(JUNK)
        elif dice < 0.15 and isinstance(attributes[key], str):
            attributes[key] = attributes[key][: chance.randint(0, len(attributes[key]))]
    changed: dict[str, Any] = {"attributes": attributes}
    if chance.random() < 0.05:
        changed["parent_span_id"] = chance.choice(ids)
    if chance.random() < 0.05:
        changed["start_unix_nano"] = chance.choice((0, 1, span.end_unix_nano, 2**63, span.start_unix_nano + 10**9))
    if chance.random() < 0.05:
        changed["end_unix_nano"] = chance.choice((0, 1, span.start_unix_nano, 2**63))
    if chance.random() < 0.03:
        changed["name"] = chance.choice(("", "handoff to X", "goto x", "invoke_agent ", "x" * 300, "\x00"))
    if chance.random() < 0.03:
        changed["scope"] = Scope(chance.choice(scopes))
    return msgspec.structs.replace(span, **changed)


def shortened(batch: Batch, limit: int) -> Batch:
    """The request under OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT."""
    return msgspec.structs.replace(batch, spans=tuple(_shortened(s, limit) for s in batch.spans))


def _shortened(span: Span, limit: int) -> Span:
    def cut(attributes: Mapping[str, Any]) -> dict[str, Any]:
        return {k: v[:limit] if isinstance(v, str) else v for k, v in attributes.items()}

    events = tuple(Event(e.name, e.time_unix_nano, cut(e.attributes)) for e in span.events)
    return msgspec.structs.replace(span, attributes=cut(span.attributes), events=events)
