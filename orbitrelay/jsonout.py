"""JSON data to canonical bytes, and a trace back to its document.

Separate because the bytes are a contract between implementations. The form:

- keys in code-point order; indented by two spaces with one member a line, or compact on one line without any space;
  an empty object is `{}` and an empty array `[]`; UTF-8; a newline at the end;
- a string escapes only what JSON requires: the quotation mark, the backslash and U+0000 to U+001F, of which `\\b
  \\t \\n \\f \\r` have their short form and the others are `\\u00xx` with small letters;
- an integer in decimal; a `Number` as the text it was read as; a float in fixed point (`exact.float_text`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from json.encoder import encode_basestring as _quote
from operator import attrgetter
from typing import Any

from .exact import MinusZero, Number, float_text, integer_text
from .model import (
    Absent,
    Agent,
    ContextField,
    Handoff,
    HandoffTrace,
    Json,
    Origin,
    RoleContract,
    Turn,
    Usage,
)

_PIECE = 1_000  # items of a list that are written at once
_LAYOUTS_KEPT = 1_000
_NAMES_KEPT = 1_000
_NAMES_LENGTH = 16

_SCALARS: Mapping[type, Callable[[Any], str]] = {
    str: _quote,
    int: int.__repr__,
    type(None): {None: "null"}.__getitem__,
    bool: {True: "true", False: "false"}.__getitem__,
    float: float_text,
    Number: attrgetter("text"),
    MinusZero: integer_text,
}
"""How a value without parts is written. What is common calls no Python code."""

_SCALARS_OF_ANY_LENGTH: Mapping[type, Callable[[Any], str]] = {**_SCALARS, int: integer_text}
"""The same where an integer has more digits than the interpreter is willing to write."""


def dumps(value: Json) -> bytes:
    """Write JSON data in canonical form, indented, with a newline at the end.

    >>> dumps({"b": [1, 0.5], "a": {}})
    b'{\\n  "a": {},\\n  "b": [\\n    1,\\n    0.5\\n  ]\\n}\\n'

    Raises:
        TypeError: It is no JSON data.
    """
    return _bytes(value, ": ", "  ", "\n")


def dumps_line(value: Json) -> bytes:
    """Write JSON data in canonical form on one line, with a newline at the end.

    >>> dumps_line({"b": [1, 0.5], "a": {}})
    b'{"a":{},"b":[1,0.5]}\\n'

    Raises:
        TypeError: It is no JSON data.
    """
    return _bytes(value, ":", "", "")


def _bytes(value: Json, colon: str, step: str, line: str) -> bytes:
    try:
        return b"".join(_Writer(_SCALARS, colon, step).pieces(value, line))
    except ValueError:
        return b"".join(_Writer(_SCALARS_OF_ANY_LENGTH, colon, step).pieces(value, line))


class _Writer:
    """Writes one value.

    What repeats is worked out once: objects with the same keys at the same depth share a layout, the texts around their
    values; and a short tuple of texts has one text at each depth.
    """

    def __init__(self, scalars: Mapping[type, Callable[[Any], str]], colon: str, step: str) -> None:
        self._scalars = scalars
        self._colon = colon
        self._step = step
        self._layouts: dict[tuple[str, tuple[str, ...]], tuple[list[str], tuple[str, ...]]] = {}
        self._names: dict[tuple[str, tuple[str, ...]], str] = {}

    def pieces(self, value: Json, line: str) -> Iterator[bytes]:
        """Give a whole document and the newline behind it, a long list in it piece by piece: a report of a million
        handoffs is not there as text and as bytes at once."""
        if value.__class__ is dict and value:
            inner = line + self._step
            for n, key in enumerate(sorted(value)):
                yield f"{',' if n else '{'}{inner}{_quote(key)}{self._colon}".encode()
                member = value[key]
                if member.__class__ is list and len(member) > _PIECE:
                    yield from self._long_array(member, inner)
                else:
                    yield self.text(member, inner).encode()
            yield f"{line}}}\n".encode()
        else:
            yield f"{self.text(value, line)}\n".encode()

    def _long_array(self, value: list[Json], line: str) -> Iterator[bytes]:
        inner = line + self._step
        for at in range(0, len(value), _PIECE):
            texts = self._texts(value[at : at + _PIECE], inner)
            yield f"{',' if at else '['}{inner}{(',' + inner).join(texts)}".encode()
        yield f"{line}]".encode()

    def text(self, value: Json, line: str) -> str:
        """Give the text of a value; `line` begins its own line: a newline and its indentation, or nothing."""
        kind = value.__class__
        if kind is tuple:
            return self._tuple(value, line) if value else "[]"
        if kind is list:
            return self._array(value, line) if value else "[]"
        if kind is dict or isinstance(value, Mapping):
            return self._object(value, line)
        scalar = self._scalars.get(kind)
        if scalar is None:
            raise TypeError(f"expected JSON data, found a Python {kind.__name__}")
        return scalar(value)

    def _object(self, value: Mapping[str, Json], line: str) -> str:
        if not value:
            return "{}"
        inner = line + self._step
        shape = (line, tuple(value))
        layout = self._layouts.get(shape)
        if layout is None:
            keys = tuple(sorted(value))
            pieces = [""] * (2 * len(keys)) + [line + "}"]
            pieces[:-1:2] = [f"{',' if n else '{'}{inner}{_quote(key)}{self._colon}" for n, key in enumerate(keys)]
            layout = pieces, keys
            if len(self._layouts) < _LAYOUTS_KEPT:
                self._layouts[shape] = layout
        around, keys = layout
        pieces = around.copy()
        pieces[1::2] = self._texts(value.values() if keys == shape[1] else [value[key] for key in keys], inner)
        return "".join(pieces)

    def _tuple(self, value: tuple[Json, ...], line: str) -> str:
        """Write a tuple, which in a report is mostly one of a few lists of names."""
        try:
            known = self._names.get((line, value))
        except TypeError:  # something in it cannot be looked up
            return self._array(value, line)
        if known is None:
            if len(value) > _NAMES_LENGTH:
                return self._array(value, line)
            known = self._array(value, line)
            if len(self._names) < _NAMES_KEPT and all(item.__class__ is str for item in value):
                self._names[line, value] = known
        return known

    def _array(self, value: Sequence[Json], line: str) -> str:
        inner = line + self._step
        return "[" + inner + ("," + inner).join(self._texts(value, inner)) + line + "]"

    def _texts(self, values: Iterable[Json], line: str) -> list[str]:
        scalar_of, text = self._scalars.get, self.text
        return [
            scalar(value)
            if (scalar := scalar_of(value.__class__)) is not None
            else "[]"
            if value == ()
            else text(value, line)
            for value in values
        ]


def trace_to_document(trace: HandoffTrace) -> dict[str, Json]:
    """Give the document of a trace, unknown keys included: `from_document` of it is an equal trace."""
    document: dict[str, Json] = {
        **trace.extra,
        "trace_id": trace.trace_id,
        "metadata": trace.metadata,
        "contract": contract_to_document(trace.contract),
        "agents": [_agent(agent) for agent in trace.agents],
        "turns": [_turn(turn) for turn in trace.turns],
        "handoffs": [_handoff(handoff) for handoff in trace.handoffs],
    }
    return _with(document, {"schema_version": trace.schema_version})


def trace_to_json(trace: HandoffTrace) -> bytes:
    """Give the canonical bytes of a trace's document."""
    return dumps(trace_to_document(trace))


def contract_to_document(contract: Mapping[str, RoleContract]) -> dict[str, Json]:
    """Give the document of a contract: role -> list of field names, or {fields, accept}."""
    return {role: _role_contract(stated) for role, stated in contract.items()}


def _role_contract(contract: RoleContract) -> Json:
    if not (contract.as_object or contract.extra or contract.accept != "carried"):
        return list(contract.fields)
    document = {**contract.extra, "fields": list(contract.fields)}
    if contract.accept != "carried" or "accept" in contract.stated:
        document["accept"] = contract.accept
    return document


def _agent(agent: Agent) -> dict[str, Json]:
    document = {
        **agent.extra,
        "agent_id": agent.agent_id,
        "role": agent.role,
        "capabilities": list(agent.capabilities),
    }
    return _with(document, {"model": agent.model})


def _turn(turn: Turn) -> dict[str, Json]:
    document = {
        **turn.extra,
        "turn_id": turn.turn_id,
        "agent_id": turn.agent_id,
        "tick": turn.tick,
        "text": turn.text,
        "tokens": turn.tokens,
    }
    usage = _usage(turn.usage) if isinstance(turn.usage, Usage) else turn.usage
    return _with(document, {"usage": usage, "run": turn.run})


def _usage(usage: Usage) -> dict[str, Json]:
    return {**usage.extra, "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}


def _handoff(handoff: Handoff) -> dict[str, Json]:
    document = {
        **handoff.extra,
        "handoff_id": handoff.handoff_id,
        "source_agent": handoff.source_agent,
        "target_agent": handoff.target_agent,
        "tick": handoff.tick,
        "reason": handoff.reason,
        "latency_ms": handoff.latency_ms,
        "fields": [_field(field) for field in handoff.fields],
    }
    stated = handoff.stated
    if not handoff.recorded or "recorded" in stated:
        document["recorded"] = handoff.recorded
    if handoff.redacted or "redacted" in stated:
        document["redacted"] = handoff.redacted
    if handoff.truncated or "truncated" in stated:
        document["truncated"] = handoff.truncated
    if handoff.status != "completed" or "status" in stated:
        document["status"] = handoff.status
    origin = _origin(handoff.origin) if isinstance(handoff.origin, Origin) else handoff.origin
    return _with(document, {"run": handoff.run, "origin": origin})


def _field(field: ContextField) -> dict[str, Json]:
    document = {**field.extra, "name": field.name, "kind": field.kind, "value": field.value}
    if field.state != "full" or "state" in field.stated:
        document["state"] = field.state
    return _with(document, {"required": field.required, "seen_in": field.seen_in})


def _origin(origin: Origin) -> dict[str, Json]:
    return {
        **origin.extra,
        "trace_id": origin.trace_id,
        "span_id": origin.span_id,
        "convention": origin.convention,
        "mode": origin.mode,
        "evidence": origin.evidence,
    }


def _with(document: dict[str, Json], optional: Mapping[str, Json | Absent]) -> dict[str, Json]:
    """Add the optional keys that are there."""
    for key, value in optional.items():
        if not isinstance(value, Absent):
            document[key] = value
    return document
