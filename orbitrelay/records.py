"""JSON data to the records of a trace, each one checked.

Separate from the loader, which reads bytes and names what is no JSON: this is the one place that knows which keys a
record has and what each may hold. Records are checked in the order contract, agents, turns, handoffs, and the first
fault is raised. A record is named by its place and its id: `handoffs[3] (h4): source_agent 'eng-9' is not a
declared agent`.

Handoffs and fields are read quickly, and only one that stumbles is looked at key by key to say why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from .exact import MinusZero, Number, decimal_parts
from .jsonin import MAX_DEPTH, NESTING, describe, too_deep
from .model import (
    ABSENT,
    ACCEPTS,
    EVIDENCE,
    MODES,
    NO_EXTRA,
    SCHEMA_VERSION,
    SEEN_IN,
    STATES,
    STATUSES,
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
from .text import quoted

MAX_LATENCY_MS = 10**15

ID_KEYS = {"agents": "agent_id", "turns": "turn_id", "handoffs": "handoff_id", "fields": "name"}

_TRACE_KEYS = frozenset({"trace_id", "metadata", "contract", "agents", "turns", "handoffs", "schema_version"})
_AGENT_KEYS = frozenset({"agent_id", "role", "capabilities", "model"})
_TURN_KEYS = frozenset({"turn_id", "agent_id", "tick", "text", "tokens", "usage", "run"})
_USAGE_KEYS = frozenset({"input_tokens", "output_tokens"})
_HANDOFF_REQUIRED = ("handoff_id", "source_agent", "target_agent", "tick", "reason", "latency_ms", "fields")
_HANDOFF_KEYS = frozenset(_HANDOFF_REQUIRED) | {"recorded", "redacted", "truncated", "status", "run", "origin"}
_FIELD_KEYS = frozenset({"name", "kind", "value", "required", "state", "seen_in"})
_ORIGIN_KEYS = frozenset({"trace_id", "span_id", "convention", "mode", "evidence"})
_CONTRACT_KEYS = frozenset({"fields", "accept"})

_Required = tuple[str, str, str, int, str, int | Number | None, tuple[ContextField, ...]]


class TraceError(ValueError):
    """What is wrong with a trace document, in one line: record, key, what was expected, what was found."""


def label(identity: Any) -> str:
    """Show a record's id beside its place, unless it is no text or too long to help."""
    return f" ({quoted(identity)[1:-1]})" if isinstance(identity, str) and len(identity) <= 80 else ""


def fail(record: str, problem: str) -> NoReturn:
    """Raise what is wrong with a record."""
    raise TraceError(f"{record}: {problem}")


def build(document: Any) -> HandoffTrace:
    """Build a trace from JSON data that is certain to be well formed (see `jsonin`); its handoffs are used up.

    Raises:
        TraceError: A record breaks a rule.
    """
    if not isinstance(document, dict):
        fail("trace", f"expected an object, found {describe(document)}")
    record = "trace"
    trace_id = _text(document, "trace_id", record)
    metadata = _free_object(document, "metadata", record)
    contract = role_contracts(_object(document, "contract", record))
    schema_version: int | Absent = ABSENT
    if "schema_version" in document:
        schema_version = _integer(document, "schema_version", record)
        if schema_version != SCHEMA_VERSION:
            fail(record, f"schema_version must be {SCHEMA_VERSION}, found {describe(schema_version)}")
    extra = _extra(document, _TRACE_KEYS, record, 1)
    for key in ("agents", "turns", "handoffs"):
        _list(document, key, record)
    agents = _agents(document["agents"])
    ids = {agent.agent_id: agent.agent_id for agent in agents}
    turns = _turns(document["turns"], ids)
    handoffs = _handoffs(document["handoffs"], ids)
    return HandoffTrace(trace_id, metadata, contract, agents, turns, handoffs, schema_version, extra)


def role_contracts(document: dict[str, Json]) -> dict[str, RoleContract]:
    """Read a contract: role -> list of field names, or {fields, accept}."""
    return {role: _role_contract(role, stated) for role, stated in document.items()}


def _role_contract(role: str, stated: Json) -> RoleContract:
    record = f"contract{label(role) or ' ' + quoted(role)}"
    if isinstance(stated, list):
        return RoleContract(_names(stated, "field", record))
    if not isinstance(stated, dict):
        fail(record, f"expected an array of field names or an object with 'fields', found {describe(stated)}")
    names = _names(_list(stated, "fields", record), "field", record)
    accept = _choice(stated, "accept", ACCEPTS, record) if "accept" in stated else ACCEPTS[0]
    given = ("accept",) if "accept" in stated and accept == ACCEPTS[0] else ()
    return RoleContract(names, accept, True, given, _extra(stated, _CONTRACT_KEYS, record, 3))


def _names(values: list[Json], noun: str, record: str) -> tuple[str, ...]:
    for i, value in enumerate(values):
        if not isinstance(value, str):
            fail(record, f"{noun}s[{i}] must be a string, found {describe(value)}")
    if len(set(values)) != len(values):
        seen: set[str] = set()
        for value in values:
            if value in seen:
                fail(record, f"{noun} {quoted(value)} is named twice")
            seen.add(value)
    return tuple(values)


def _agents(records: list[Json]) -> tuple[Agent, ...]:
    made: list[Agent] = []
    places: dict[str, int] = {}
    for i, document in enumerate(records):
        record = _record("agents", i, document)
        agent_id = _text(document, "agent_id", record)
        if places.setdefault(agent_id, i) != i:
            fail(record, f"agent_id {quoted(agent_id)} is already that of agents[{places[agent_id]}]")
        role = _text(document, "role", record)
        capabilities = _list(document, "capabilities", record)
        for k, capability in enumerate(capabilities):
            if not isinstance(capability, str):
                fail(record, f"capabilities[{k}] must be a string, found {describe(capability)}")
        model = _text(document, "model", record) if "model" in document else ABSENT
        made.append(Agent(agent_id, role, tuple(capabilities), model, _extra(document, _AGENT_KEYS, record, 3)))
    return tuple(made)


def _turns(records: list[Json], agents: Mapping[str, str]) -> tuple[Turn, ...]:
    made: list[Turn] = []
    places: dict[str, int] = {}
    for i, document in enumerate(records):
        record = _record("turns", i, document)
        turn_id = _text(document, "turn_id", record)
        if places.setdefault(turn_id, i) != i:
            fail(record, f"turn_id {quoted(turn_id)} is already that of turns[{places[turn_id]}]")
        agent_id = agents.get(_text(document, "agent_id", record))
        if agent_id is None:
            fail(record, f"agent_id {quoted(document['agent_id'])} is not a declared agent")
        tick = _integer(document, "tick", record)
        text = None if _value(document, "text", record) is None else _text(document, "text", record, "or null")
        tokens = _integer_or_null(document, "tokens", record)
        usage = _usage(document, record) if "usage" in document else ABSENT
        run = _text(document, "run", record) if "run" in document else ABSENT
        extra = _extra(document, _TURN_KEYS, record, 3)
        made.append(Turn(turn_id, agent_id, tick, text, tokens, usage, run, extra))
    return tuple(made)


def _usage(turn: dict[str, Json], record: str) -> Usage:
    document = _object(turn, "usage", record)
    record = f"{record}: usage"
    read = [_integer_or_null(document, key, record) for key in ("input_tokens", "output_tokens")]
    return Usage(read[0], read[1], _extra(document, _USAGE_KEYS, record, 4))


def _handoffs(records: list[Json], agents: Mapping[str, str]) -> tuple[Handoff, ...]:
    made: list[Handoff] = []
    places: dict[str, int] = {}
    shared: dict[str, str] = {}  # one copy of each name and kind, however many fields carry it
    required = len(_HANDOFF_REQUIRED)
    for i, document in enumerate(records):
        try:
            handoff_id = document["handoff_id"]
            source = agents[document["source_agent"]]
            target = agents[document["target_agent"]]
            tick = document["tick"]
            reason = document["reason"]
            latency = document["latency_ms"]
            fields = document["fields"]
        except (KeyError, TypeError):
            _fail_handoff(i, document, agents)
        if (
            handoff_id.__class__ is not str
            or reason.__class__ is not str
            or fields.__class__ is not list
            or (tick.__class__ is not int and tick.__class__ is not MinusZero)
        ):
            _fail_handoff(i, document, agents)
        if places.setdefault(handoff_id, i) != i:
            record = _record("handoffs", i, document)
            fail(record, f"handoff_id {quoted(handoff_id)} is already that of handoffs[{places[handoff_id]}]")
        if latency is not None and (latency.__class__ is not int or not 0 <= latency <= MAX_LATENCY_MS):
            _check_latency(latency, _record("handoffs", i, document))
        bag = _fields(fields, i, document, shared)
        if len(document) == required:
            made.append(Handoff(handoff_id, source, target, tick, reason, latency, bag, extra=NO_EXTRA))
        else:
            made.append(_with_options(document, i, (handoff_id, source, target, tick, reason, latency, bag)))
        records[i] = None  # what is built needs its document no longer
    return tuple(made)


def _with_options(document: dict[str, Json], i: int, required: _Required) -> Handoff:
    record = _record("handoffs", i, document)
    stated: list[str] = []
    flags = {"recorded": True, "redacted": False, "truncated": False}
    for key, default in flags.items():
        if key in document:
            value = document[key]
            if value.__class__ is not bool:
                fail(record, f"{key} must be true or false, found {describe(value)}")
            flags[key] = value
            if value is default:
                stated.append(key)
    status = STATUSES[0]
    if "status" in document:
        status = _choice(document, "status", STATUSES, record)
        if status == STATUSES[0]:
            stated.append("status")
    run = _text(document, "run", record) if "run" in document else ABSENT
    origin = _origin(document, record) if "origin" in document else ABSENT
    extra = _extra(document, _HANDOFF_KEYS, record, 3)
    recorded, redacted, truncated = flags.values()
    return Handoff(*required, recorded, redacted, truncated, status, run, origin, tuple(stated), extra)


def _fail_handoff(i: int, document: Json, agents: Mapping[str, str]) -> NoReturn:
    """Say what the quick reading of a handoff stumbled over."""
    record = _record("handoffs", i, document)
    _text(document, "handoff_id", record)
    for key in ("source_agent", "target_agent"):
        if _text(document, key, record) not in agents:
            fail(record, f"{key} {quoted(document[key])} is not a declared agent")
    _integer(document, "tick", record)
    _text(document, "reason", record)
    _value(document, "latency_ms", record)
    _list(document, "fields", record)
    raise AssertionError(record)  # pragma: no cover


def _check_latency(value: Json, record: str) -> None:
    if value.__class__ is bool or not isinstance(value, int | Number):
        fail(record, f"latency_ms must be a number or null, found {describe(value)}")
    if isinstance(value, Number):
        mantissa, scale = decimal_parts(value.text)
    else:
        mantissa, scale = value, 0
    if mantissa < 0:
        fail(record, f"latency_ms must not be negative, found {describe(value)}")
    if mantissa > MAX_LATENCY_MS * 10**scale:
        fail(record, f"latency_ms must not be over 1e15, found {describe(value)}")


def _fields(records: list[Json], i: int, handoff: dict[str, Json], shared: dict[str, str]) -> tuple[ContextField, ...]:
    made: list[ContextField] = []
    names: set[str] = set()
    for k, document in enumerate(records):
        try:
            name = document["name"]
            kind = document["kind"]
            value = document["value"]
        except (KeyError, TypeError):
            name = kind = value = None
        if name.__class__ is not str or kind.__class__ is not str:
            record = _field_record(i, handoff, k, document)
            _text(document, "name", record)
            _text(document, "kind", record)
            _value(document, "value", record)
        if (value.__class__ is dict or value.__class__ is list) and too_deep(value, MAX_DEPTH - 5):
            fail(_field_record(i, handoff, k, document), f"value {NESTING}")
        name = shared.setdefault(name, name)
        kind = shared.setdefault(kind, kind)
        names.add(name)
        if len(document) == 3:
            made.append(ContextField(name, kind, value, extra=NO_EXTRA))
        else:
            made.append(_field_with_options(document, _field_record(i, handoff, k, document), (name, kind, value)))
    if len(names) != len(records):
        _names([field.name for field in made], "field", _record("handoffs", i, handoff))
    return tuple(made)


def _field_with_options(document: dict[str, Json], record: str, required: tuple[str, str, Json]) -> ContextField:
    flag: bool | Absent = ABSENT
    if "required" in document:
        flag = document["required"]
        if flag.__class__ is not bool:
            fail(record, f"required must be true or false, found {describe(flag)}")
    state = _choice(document, "state", STATES, record) if "state" in document else STATES[0]
    stated = ("state",) if "state" in document and state == STATES[0] else ()
    seen_in = _choice(document, "seen_in", SEEN_IN, record) if "seen_in" in document else ABSENT
    return ContextField(*required, flag, state, seen_in, stated, _extra(document, _FIELD_KEYS, record, 5))


def _origin(handoff: dict[str, Json], record: str) -> Origin:
    document = _object(handoff, "origin", record)
    record = f"{record}: origin"
    return Origin(
        _text(document, "trace_id", record),
        _text(document, "span_id", record),
        _text(document, "convention", record),
        _choice(document, "mode", MODES, record),
        _choice(document, "evidence", EVIDENCE, record),
        _extra(document, _ORIGIN_KEYS, record, 4),
    )


def _record(collection: str, i: int, document: Json) -> str:
    """Name a record by its place and its id, having seen that it is an object."""
    if not isinstance(document, dict):
        fail(f"{collection}[{i}]", f"expected an object, found {describe(document)}")
    return f"{collection}[{i}]{label(document.get(ID_KEYS[collection]))}"


def _field_record(i: int, handoff: Json, k: int, document: Json) -> str:
    outer = _record("handoffs", i, handoff)
    if not isinstance(document, dict):
        fail(outer, f"fields[{k}]: expected an object, found {describe(document)}")
    return f"{outer}: fields[{k}]{label(document.get('name'))}"


def _value(document: dict[str, Json], key: str, record: str) -> Json:
    if key not in document:
        fail(record, f"missing key {quoted(key)}")
    return document[key]


def _text(document: dict[str, Json], key: str, record: str, alternative: str = "") -> str:
    value = _value(document, key, record)
    if value.__class__ is not str:
        fail(record, f"{key} must be a string{' ' if alternative else ''}{alternative}, found {describe(value)}")
    return value


def _integer(document: dict[str, Json], key: str, record: str, alternative: str = "") -> int:
    """Read an integer as JSON writes one: no fraction and no exponent, so that 1.0 and 1e2 are none."""
    value = _value(document, key, record)
    if value.__class__ is not int and value.__class__ is not MinusZero:
        fail(record, f"{key} must be an integer{' ' if alternative else ''}{alternative}, found {describe(value)}")
    return value


def _integer_or_null(document: dict[str, Json], key: str, record: str) -> int | None:
    return None if _value(document, key, record) is None else _integer(document, key, record, "or null")


def _list(document: dict[str, Json], key: str, record: str) -> list[Json]:
    value = _value(document, key, record)
    if value.__class__ is not list:
        fail(record, f"{key} must be an array, found {describe(value)}")
    return value


def _object(document: dict[str, Json], key: str, record: str) -> dict[str, Json]:
    value = _value(document, key, record)
    if value.__class__ is not dict:
        fail(record, f"{key} must be an object, found {describe(value)}")
    return value


def _free_object(document: dict[str, Json], key: str, record: str) -> dict[str, Json]:
    value = _object(document, key, record)
    if too_deep(value, MAX_DEPTH - 1):
        fail(record, f"{key} {NESTING}")
    return value


def _choice(document: dict[str, Json], key: str, choices: tuple[str, ...], record: str) -> str:
    value = _value(document, key, record)
    if value.__class__ is not str or value not in choices:
        allowed = " or ".join(quoted(choice) for choice in choices)
        fail(record, f"{key} must be {allowed}, found {describe(value)}")
    return value


def _extra(document: dict[str, Json], known: frozenset[str], record: str, depth: int) -> Mapping[str, Json]:
    """Collect the unknown keys of an object that stands at a depth."""
    if known.issuperset(document):
        return NO_EXTRA
    extra = {key: value for key, value in document.items() if key not in known}
    for key, value in extra.items():
        if too_deep(value, MAX_DEPTH - depth):
            fail(record, f"{quoted(key)} {NESTING}")
    return extra
