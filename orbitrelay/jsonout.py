"""JSON data to canonical bytes, and a trace back to its document.

Separate because the bytes are a contract between implementations. The form:

- keys in code-point order; indented by two spaces with one member a line, or compact on one line without any space;
  an empty object is `{}` and an empty array `[]`; UTF-8; a newline at the end;
- a string escapes only what JSON requires: the quotation mark, the backslash and U+0000 to U+001F, of which `\\b
  \\t \\n \\f \\r` have their short form and the others are `\\u00xx` with small letters;
- an integer in decimal; a `Number` as the text it was read as; a float in fixed point (`exact.float_text`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from json.encoder import encode_basestring as _quote
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

_SCALARS: dict[type, Callable[[Any], str]] = {
    str: _quote,
    int: integer_text,
    MinusZero: integer_text,
    bool: lambda value: "true" if value else "false",
    type(None): lambda value: "null",
    Number: lambda value: value.text,
    float: float_text,
}


def dumps(value: Json) -> bytes:
    """Write JSON data in canonical form, indented, with a newline at the end.

    >>> dumps({"b": [1, 0.5], "a": {}})
    b'{\\n  "a": {},\\n  "b": [\\n    1,\\n    0.5\\n  ]\\n}\\n'
    """
    pieces: list[str] = []
    _indented(value, "\n", pieces.append)
    pieces.append("\n")
    return "".join(pieces).encode()


def dumps_line(value: Json) -> bytes:
    """Write JSON data in canonical form on one line, with a newline at the end.

    >>> dumps_line({"b": [1, 0.5], "a": {}})
    b'{"a":{},"b":[1,0.5]}\\n'
    """
    pieces: list[str] = []
    _compact(value, pieces.append)
    pieces.append("\n")
    return "".join(pieces).encode()


def _indented(value: Json, line: str, emit: Callable[[str], None]) -> None:
    """Write a value whose own line begins with `line`: a newline and its indentation."""
    scalar = _SCALARS.get(value.__class__)
    if scalar is not None:
        emit(scalar(value))
        return
    inner = line + "  "
    if isinstance(value, Mapping):
        if not value:
            emit("{}")
            return
        before = "{" + inner
        for key in sorted(value):
            item = value[key]
            scalar = _SCALARS.get(item.__class__)
            if scalar is not None:
                emit(f"{before}{_quote(key)}: {scalar(item)}")
            else:
                emit(f"{before}{_quote(key)}: ")
                _indented(item, inner, emit)
            before = "," + inner
        emit(line + "}")
    elif isinstance(value, list | tuple):
        if not value:
            emit("[]")
            return
        before = "[" + inner
        for item in value:
            scalar = _SCALARS.get(item.__class__)
            if scalar is not None:
                emit(before + scalar(item))
            else:
                emit(before)
                _indented(item, inner, emit)
            before = "," + inner
        emit(line + "]")
    else:
        raise TypeError(f"expected JSON data, found a Python {value.__class__.__name__}")


def _compact(value: Json, emit: Callable[[str], None]) -> None:
    scalar = _SCALARS.get(value.__class__)
    if scalar is not None:
        emit(scalar(value))
    elif isinstance(value, Mapping):
        before = "{"
        for key in sorted(value):
            emit(f"{before}{_quote(key)}:")
            _compact(value[key], emit)
            before = ","
        emit("}" if value else "{}")
    elif isinstance(value, list | tuple):
        before = "["
        for item in value:
            emit(before)
            _compact(item, emit)
            before = ","
        emit("]" if value else "[]")
    else:
        raise TypeError(f"expected JSON data, found a Python {value.__class__.__name__}")


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
