"""The documents that must be refused, each with the record and the key that the message has to name.

Separate from cases.py because nothing is computed here: exit code 2, one line on standard error, nothing on standard output.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from cases import Json, document, field, handoff, nested, origin

from orbitrelay import dumps


@dataclass(frozen=True)
class Broken:
    """One refused document; `names` are the texts that its message must hold, `contract` is given beside it, if any."""

    name: str
    names: tuple[str, ...]
    trace: bytes
    contract: bytes | None = None


BROKEN: list[Broken] = []

H1 = "handoffs[0] (h1): "
F0 = H1 + "fields[0] (goal): "


def broken(name: str, *names: str, trace: bytes | Json, contract: bytes | None = None) -> None:
    BROKEN.append(Broken(name, names, trace if isinstance(trace, bytes) else dumps(trace), contract))


def good() -> Json:
    return document(
        handoff(1, fields=[field("goal")], ms=5, origin=origin()),
        turns=[
            {
                "turn_id": "t1",
                "agent_id": "pln",
                "tick": 1,
                "text": "x",
                "tokens": 1,
                "usage": {"input_tokens": 1, "output_tokens": 0},
            }
        ],
    )


def change(name: str, *names: str, path: tuple[Any, ...], value: Any) -> None:
    """A sound document with one value set."""
    made = deepcopy(good())
    _at(made, path[:-1])[path[-1]] = value
    broken(name, *names, trace=made)


def lack(name: str, *names: str, path: tuple[Any, ...]) -> None:
    """A sound document without one key."""
    made = deepcopy(good())
    del _at(made, path[:-1])[path[-1]]
    broken(name, *names, trace=made)


def raw(name: str, *names: str, old: str, new: str | bytes) -> None:
    """The bytes of a sound document with one text replaced."""
    data = dumps(good())
    assert data.count(old.encode()) >= 1, old
    broken(name, *names, trace=data.replace(old.encode(), new if isinstance(new, bytes) else new.encode(), 1))


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


HANDOFF = ("handoffs", 0)
FIELD = (*HANDOFF, "fields", 0)
AGENT = ("agents", 0)
TURN = ("turns", 0)

# ---- no JSON

broken("json-empty-file", "line 1 column 1", trace=b"")
broken("json-only-space", "line 1 column 1", trace=b" \n\t\r\n")
broken("json-only-bom", "line 1 column 1", trace=b"\xef\xbb\xbf")
broken("json-cut-off", "line 11 column 15", trace=dumps(good())[:180])
broken("json-trailing-comma", "line 3 column 1", trace=b'{\n"trace_id": "x",\n}')
broken("json-trailing-comma-in-array", "line 1 column 15", trace=b'{"agents": [1,]}')
broken("json-single-quotes", "line 1 column 2", trace=b"{'trace_id': 'x'}")
broken("json-comment", "line 1 column 2", trace=b'{/* no */"trace_id": "x"}')
broken("json-missing-colon", "line 1 column 13", trace=b'{"trace_id" "x"}')
broken("json-missing-comma", "line 2 column 1", trace=b'{"trace_id": "x"\n"agents": []}')
broken("json-extra-data", "line 2 column 1", trace=dumps({}).strip() + b"\n]")
broken("json-leading-zero", "line 1 column 8", trace=b'{"a": 01}')
broken("json-plus-sign", "line 1 column 7", trace=b'{"a": +1}')
broken("json-bare-word", "line 1 column 7", trace=b'{"a": None}')
broken("json-unterminated-string", "line 1 column 7", trace=b'{"a": "x}')
broken("json-raw-newline-in-string", "line 1 column 9", trace=b'{"a": "x\ny"}')
broken("json-nul-byte", "line 1 column 1", trace=b"\x00{}")
broken("json-nul-byte-in-string", "line 1 column 9", trace=b'{"a": "x\x00y"}')
broken("json-bad-escape", "line 1 column 8", trace=b'{"a": "\\x41"}')
broken("json-bad-unicode-escape", "line 1 column", trace=b'{"a": "\\u00zz"}')
broken("json-invalid-utf8", "line 2 column 7", "0xff", trace=b'{\n"a": "\xff"}')
broken("json-utf8-surrogate", "line 1 column 8", "0xed", trace=b'{"a": "\xed\xa0\x80"}')
broken("json-overlong-utf8", "line 1 column 8", "0xc0", trace=b'{"a": "\xc0\xaf"}')
broken("json-utf16", "line 1 column 1", "0xff", trace="{}".encode("utf-16"))
broken("json-brackets-without-end", "line 1 column 101", "nesting over 100", trace=b"[" * 100_000)
broken("json-too-deep-unknown-key", "trace: x", "nesting over 100", trace=b'{"x": ' * 5_000 + b"1" + b"}" * 5_000)

# ---- JSON that no trace may hold

raw("value-nan", H1 + "latency_ms", "NaN", old='"latency_ms": 5', new='"latency_ms": NaN')
raw("value-infinity", F0 + "value", "Infinity", old='"value": "x"', new='"value": Infinity')
raw("value-minus-infinity", F0 + "value[1].a", "-Infinity", old='"value": "x"', new='"value": [0, {"a": -Infinity}]')
raw("value-out-of-range", "trace: metadata.a", "1e400", old='"metadata": {}', new='"metadata": {"a": 1e400}')
raw("value-out-of-range-small", H1 + "latency_ms", "1e-400", old='"latency_ms": 5', new='"latency_ms": 1e-400')
raw(
    "value-exponent-hostile",
    H1 + "latency_ms",
    "out of range",
    old='"latency_ms": 5',
    new='"latency_ms": 1e-99999999999',
)
raw("value-integer-too-long", F0 + "value", "1000 digits", old='"value": "x"', new='"value": ' + "9" * 1001)
raw("value-tick-too-long", H1 + "tick", "1000 digits", old='"tick": 1', new='"tick": -' + "9" * 1001)
raw("value-decimal-too-long", F0 + "value", "1000 digits", old='"value": "x"', new='"value": 0.' + "1" * 1000)
raw("value-lone-surrogate", H1 + "reason", "surrogate", old='"go on"', new='"a\\ud800b"')
raw("value-lone-low-surrogate", F0 + "value", "surrogate", old='"value": "x"', new='"value": "\\uDC00\\ud83d"')
raw("key-lone-surrogate", F0 + "value", "\\ud800", old='"value": "x"', new='"value": {"\\ud800": 1}')
raw("key-twice-in-handoff", H1, "'tick' twice", old='"tick": 1', new='"tick": 1, "tick": 1')
raw("key-twice-at-top", "trace: ", "'metadata' twice", old='"metadata": {}', new='"metadata": {}, "metadata": {}')
raw("key-twice-in-value", F0 + "value.a[0]", "'b' twice", old='"value": "x"', new='"value": {"a": [{"b": 1, "b": 2}]}')
raw("key-twice-in-contract", "trace: contract", "'coder' twice", old='"contract": {', new='"contract": {"coder": [],')
raw("key-twice-by-escape", H1, "'tick' twice", old='"tick": 1', new='"tick": 1, "\\u0074ick": 1')
change("depth-value", F0 + "value", "nesting over 100", path=(*FIELD, "value"), value=nested(96))
change("depth-metadata", "trace: metadata", "nesting over 100", path=("metadata", "a"), value=nested(99))
change("depth-unknown-key", H1 + "odd", "nesting over 100", path=(*HANDOFF, "odd"), value=nested(98))

# ---- structure and types

broken("top-array", "trace: ", "an array", trace=b"[]")
broken("top-string", "trace: ", "string 'x'", trace=b'"x"')
broken("top-null", "trace: ", "null", trace=b"null")
for key in ("trace_id", "metadata", "contract", "agents", "turns", "handoffs"):
    lack(f"top-without-{key}", "trace: ", f"'{key}'", path=(key,))
change("top-trace-id-number", "trace: trace_id", "number 7", path=("trace_id",), value=7)
change("top-metadata-array", "trace: metadata", "an array", path=("metadata",), value=[])
change("top-contract-array", "trace: contract", "an array", path=("contract",), value=[])
change("top-agents-object", "trace: agents", "an object", path=("agents",), value={})
change("top-turns-null", "trace: turns", "null", path=("turns",), value=None)
change("top-handoffs-string", "trace: handoffs", "string 'h'", path=("handoffs",), value="h")
change("top-schema-version-2", "trace: schema_version", "2", path=("schema_version",), value=2)
change("top-schema-version-text", "trace: schema_version", "string '1'", path=("schema_version",), value="1")
change("contract-role-string", "contract (coder): ", "string 'goal'", path=("contract", "coder"), value="goal")
change("contract-name-number", "contract (coder): fields[1]", "number 3", path=("contract", "coder"), value=["a", 3])
change(
    "contract-name-twice",
    "contract (coder): ",
    "'goal' is named twice",
    path=("contract", "coder"),
    value=["goal", "b", "goal"],
)
change(
    "contract-object-without-fields",
    "contract (coder): ",
    "'fields'",
    path=("contract", "coder"),
    value={"accept": "carried"},
)
change(
    "contract-accept-unknown",
    "contract (coder): accept",
    "string 'all'",
    path=("contract", "coder"),
    value={"fields": [], "accept": "all"},
)
change("agent-string", "agents[0]: ", "string 'pln'", path=AGENT, value="pln")
lack("agent-without-id", "agents[0]: ", "'agent_id'", path=(*AGENT, "agent_id"))
lack("agent-without-role", "agents[0] (pln): ", "'role'", path=(*AGENT, "role"))
lack("agent-without-capabilities", "agents[0] (pln): ", "'capabilities'", path=(*AGENT, "capabilities"))
change("agent-role-null", "agents[0] (pln): role", "null", path=(*AGENT, "role"), value=None)
change(
    "agent-capability-number", "agents[0] (pln): capabilities[0]", "number 1", path=(*AGENT, "capabilities"), value=[1]
)
change("agent-model-null", "agents[0] (pln): model", "null", path=(*AGENT, "model"), value=None)
change("agent-id-twice", "agents[1] (pln): agent_id 'pln'", "agents[0]", path=("agents", 1, "agent_id"), value="pln")
change("turn-number", "turns[0]: ", "number 4", path=TURN, value=4)
lack("turn-without-id", "turns[0]: ", "'turn_id'", path=(*TURN, "turn_id"))
lack("turn-without-text", "turns[0] (t1): ", "'text'", path=(*TURN, "text"))
lack("turn-without-tokens", "turns[0] (t1): ", "'tokens'", path=(*TURN, "tokens"))
change("turn-tick-text", "turns[0] (t1): tick", "string '1'", path=(*TURN, "tick"), value="1")
change("turn-text-number", "turns[0] (t1): text", "number 3", path=(*TURN, "text"), value=3)
change("turn-tokens-true", "turns[0] (t1): tokens", "true", path=(*TURN, "tokens"), value=True)
change("turn-usage-number", "turns[0] (t1): usage", "number 5", path=(*TURN, "usage"), value=5)
change("turn-usage-half", "turns[0] (t1): usage: ", "'output_tokens'", path=(*TURN, "usage"), value={"input_tokens": 1})
change("turn-run-number", "turns[0] (t1): run", "number 1", path=(*TURN, "run"), value=1)
change(
    "turn-agent-undeclared",
    "turns[0] (t1): agent_id 'nobody'",
    "not a declared agent",
    path=(*TURN, "agent_id"),
    value="nobody",
)
broken("turn-id-twice", "turns[1] (t1): turn_id 't1'", "turns[0]", trace={**good(), "turns": good()["turns"] * 2})
change("handoff-array", "handoffs[0]: ", "an array", path=HANDOFF, value=[])
for key in ("handoff_id", "source_agent", "target_agent", "tick", "reason", "latency_ms", "fields"):
    lack(f"handoff-without-{key}", "handoffs[0]: " if key == "handoff_id" else H1, f"'{key}'", path=(*HANDOFF, key))
change("handoff-id-number", "handoffs[0]: handoff_id", "number 1", path=(*HANDOFF, "handoff_id"), value=1)
broken(
    "handoff-id-twice",
    "handoffs[1] (h1): handoff_id 'h1'",
    "handoffs[0]",
    trace={**good(), "handoffs": good()["handoffs"] * 2},
)
change(
    "handoff-source-undeclared",
    H1 + "source_agent 'eng-9' is not a declared agent",
    path=(*HANDOFF, "source_agent"),
    value="eng-9",
)
change(
    "handoff-target-undeclared",
    H1 + "target_agent 'Cod' is not a declared agent",
    path=(*HANDOFF, "target_agent"),
    value="Cod",
)
change("handoff-source-array", H1 + "source_agent", "an array", path=(*HANDOFF, "source_agent"), value=["pln"])
raw("handoff-tick-decimal", H1 + "tick", "number 1.0", old='"tick": 1', new='"tick": 1.0')
raw("handoff-tick-exponent", H1 + "tick", "number 1e2", old='"tick": 1', new='"tick": 1e2')
change("handoff-tick-null", H1 + "tick", "null", path=(*HANDOFF, "tick"), value=None)
change("handoff-tick-false", H1 + "tick", "false", path=(*HANDOFF, "tick"), value=False)
change("handoff-reason-null", H1 + "reason", "null", path=(*HANDOFF, "reason"), value=None)
change("handoff-latency-text", H1 + "latency_ms", "string '5'", path=(*HANDOFF, "latency_ms"), value="5")
change("handoff-latency-true", H1 + "latency_ms", "true", path=(*HANDOFF, "latency_ms"), value=True)
change("handoff-latency-negative", H1 + "latency_ms", "negative", path=(*HANDOFF, "latency_ms"), value=-1)
raw("handoff-latency-negative-small", H1 + "latency_ms", "negative", old='"latency_ms": 5', new='"latency_ms": -1e-300')
change("handoff-latency-over", H1 + "latency_ms", "1e15", path=(*HANDOFF, "latency_ms"), value=10**15 + 1)
raw(
    "handoff-latency-just-over",
    H1 + "latency_ms",
    "1e15",
    old='"latency_ms": 5',
    new='"latency_ms": 1000000000000000.00000001',
)
change("handoff-recorded-null", H1 + "recorded", "null", path=(*HANDOFF, "recorded"), value=None)
change("handoff-redacted-text", H1 + "redacted", "string 'yes'", path=(*HANDOFF, "redacted"), value="yes")
change("handoff-truncated-number", H1 + "truncated", "number 1", path=(*HANDOFF, "truncated"), value=1)
change("handoff-status-unknown", H1 + "status", "string 'lost'", path=(*HANDOFF, "status"), value="lost")
change("handoff-run-null", H1 + "run", "null", path=(*HANDOFF, "run"), value=None)
change("handoff-origin-text", H1 + "origin", "string 'x'", path=(*HANDOFF, "origin"), value="x")
for key in ("trace_id", "span_id", "convention", "mode", "evidence"):
    lack(f"origin-without-{key}", H1 + "origin: ", f"'{key}'", path=(*HANDOFF, "origin", key))
change("origin-mode-unknown", H1 + "origin: mode", "string 'call'", path=(*HANDOFF, "origin", "mode"), value="call")
change(
    "origin-evidence-unknown",
    H1 + "origin: evidence",
    "string 'guess'",
    path=(*HANDOFF, "origin", "evidence"),
    value="guess",
)
change("field-string", H1 + "fields[0]: ", "string 'goal'", path=FIELD, value="goal")
lack("field-without-name", H1 + "fields[0]: ", "'name'", path=(*FIELD, "name"))
lack("field-without-kind", F0, "'kind'", path=(*FIELD, "kind"))
lack("field-without-value", F0, "'value'", path=(*FIELD, "value"))
change("field-name-null", H1 + "fields[0]: name", "null", path=(*FIELD, "name"), value=None)
change("field-kind-number", F0 + "kind", "number 2", path=(*FIELD, "kind"), value=2)
change("field-required-text", F0 + "required", "string 'true'", path=(*FIELD, "required"), value="true")
change("field-state-unknown", F0 + "state", "string 'hashed'", path=(*FIELD, "state"), value="hashed")
change("field-seen-in-unknown", F0 + "seen_in", "string 'arguments'", path=(*FIELD, "seen_in"), value="arguments")
change(
    "field-named-twice",
    H1,
    "'goal' is named twice",
    path=(*HANDOFF, "fields"),
    value=[field("goal"), field("b"), field("goal")],
)
change("message-is-escaped", "\\u001b[31m\\u202e", path=(*HANDOFF, "source_agent"), value="\x1b[31m\u202e\n")
change("message-is-cut", "... (+120 characters)", path=(*HANDOFF, "source_agent"), value="x" * 200)

# ---- contracts given beside the trace

broken("given-contract-array", "contract: ", "an array", trace=good(), contract=b"[]")
broken("given-contract-no-json", "line 1 column 1", trace=good(), contract=b"x")
broken(
    "given-contract-name-twice",
    "contract (coder): ",
    "'a' is named twice",
    trace=good(),
    contract=b'{"coder": ["a", "a"]}',
)
broken("given-contract-key-twice", "contract: ", "'coder' twice", trace=good(), contract=b'{"coder": [], "coder": []}')
