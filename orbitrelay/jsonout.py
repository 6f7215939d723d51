"""JSON data to canonical bytes, and a trace back to its document.

Separate because the bytes are a contract between implementations. The form:

- keys in code-point order; indented by two spaces with one member a line, or compact on one line without any space;
  an empty object is `{}` and an empty array `[]`; UTF-8; a newline at the end;
- a string escapes only what JSON requires: the quotation mark, the backslash and U+0000 to U+001F, of which `\\b
  \\t \\n \\f \\r` have their short form and the others are `\\u00xx` with small letters;
- an integer in decimal; a `Number` as the text it was read as; a float in fixed point (`exact.float_text`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring as _quote

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

_PLAIN_INTEGER = 10**18  # below it, an integer's own text is at hand at once
_LAYOUTS_KEPT = 1_000


def dumps(value: Json) -> bytes:
    """Write JSON data in canonical form, indented, with a newline at the end.

    >>> dumps({"b": [1, 0.5], "a": {}})
    b'{\\n  "a": {},\\n  "b": [\\n    1,\\n    0.5\\n  ]\\n}\\n'

    Raises:
        TypeError: It is no JSON data.
    """
    return (_Writer(": ", "  ").text(value, "\n") + "\n").encode()


def dumps_line(value: Json) -> bytes:
    """Write JSON data in canonical form on one line, with a newline at the end.

    >>> dumps_line({"b": [1, 0.5], "a": {}})
    b'{"a":{},"b":[1,0.5]}\\n'

    Raises:
        TypeError: It is no JSON data.
    """
    return (_Writer(":", "").text(value, "") + "\n").encode()


class _Writer:
    """Writes one value. Objects with the same keys at the same depth share the order of their keys and the text of each."""

    def __init__(self, colon: str, step: str) -> None:
        self._colon = colon
        self._step = step
        self._layouts: dict[tuple[str, tuple[str, ...]], list[tuple[str, str]]] = {}

    def text(self, value: Json, line: str) -> str:
        """Give the text of a value; `line` begins its own line: a newline and its indentation, or nothing."""
        kind = value.__class__
        if kind is str:
            return _quote(value)
        if kind is int:
            return int.__repr__(value) if -_PLAIN_INTEGER < value < _PLAIN_INTEGER else integer_text(value)
        if value is None:
            return "null"
        if kind is bool:
            return "true" if value else "false"
        if kind is dict or isinstance(value, Mapping):
            return self._object(value, line)
        if kind is tuple or kind is list:
            return self._array(value, line)
        if kind is Number:
            return value.text  # type: ignore[no-any-return]
        if kind is float:
            return float_text(value)
        if kind is MinusZero:
            return integer_text(value)
        raise TypeError(f"expected JSON data, found a Python {kind.__name__}")

    def _object(self, value: Mapping[str, Json], line: str) -> str:
        if not value:
            return "{}"
        inner = line + self._step
        shape = (line, tuple(value))
        layout = self._layouts.get(shape)
        if layout is None:
            layout = [(key, f"{inner}{_quote(key)}{self._colon}") for key in sorted(value)]
            if len(self._layouts) < _LAYOUTS_KEPT:
                self._layouts[shape] = layout
        parts = []
        for key, before in layout:
            item = value[key]
            if item.__class__ is str:  # most are: spared the call
                parts.append(before + _quote(item))
            elif item is None:
                parts.append(before + "null")
            else:
                parts.append(before + self.text(item, inner))
        return "{" + ",".join(parts) + line + "}"

    def _array(self, value: Sequence[Json], line: str) -> str:
        if not value:
            return "[]"
        inner = line + self._step
        text = self.text
        items = [_quote(item) if item.__class__ is str else text(item, inner) for item in value]
        return "[" + inner + ("," + inner).join(items) + line + "]"


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
