"""The traces of the vectors that load, each with what it is there for.

Separate from make.py, which runs the commands over them. A case is small and shows one rule, or one odd number, string or key;
`CASES` holds single traces, `STREAMS` files of several.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from orbitrelay import Number, dumps, dumps_line

Json = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One vector: its folder, its purpose, the bytes of its trace and of the contract given beside it, if any."""

    name: str
    about: str
    trace: bytes
    contract: bytes | None = None


CASES: list[Case] = []
STREAMS: list[Case] = []

ROLES = {"pln": "planner", "cod": "coder", "rev": "reviewer", "ops": "operator"}
CODER = {"coder": ["goal", "plan"]}


def field(name: str, value: Any = "x", kind: str = "note", **more: Any) -> Json:
    return {"name": name, "kind": kind, "value": value, **more}


def handoff(
    number: int, source: str = "pln", target: str = "cod", fields: Any = (), ms: Any = None, **more: Any
) -> Json:
    made = [field(name) if isinstance(name, str) else name for name in fields]
    return {
        "handoff_id": f"h{number}",
        "source_agent": source,
        "target_agent": target,
        "tick": number,
        "reason": "go on",
        "latency_ms": ms,
        "fields": made,
        **more,
    }


def document(*handoffs: Json, contract: Any = None, **more: Any) -> Json:
    return {
        "trace_id": "vector",
        "metadata": {},
        "contract": CODER if contract is None else contract,
        "agents": [{"agent_id": agent, "role": role, "capabilities": []} for agent, role in ROLES.items()],
        "turns": [],
        "handoffs": list(handoffs),
        **more,
    }


def origin(mode: str = "transfer", evidence: str = "explicit") -> Json:
    return {
        "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
        "span_id": "00f067aa0ba902b7",
        "convention": "openinference",
        "mode": mode,
        "evidence": evidence,
    }


def case(name: str, about: str, trace: Json | bytes, contract: Json | bytes | None = None) -> None:
    CASES.append(Case(name, about, _bytes(trace) or b"", _bytes(contract)))


def stream(name: str, about: str, *lines: Json | bytes, end: bytes = b"", contract: Json | None = None) -> None:
    body = b"".join(line if isinstance(line, bytes) else dumps_line(line) for line in lines)
    STREAMS.append(Case(name, about, body + end, _bytes(contract)))


def _bytes(value: Json | bytes | None) -> bytes | None:
    return value if value is None or isinstance(value, bytes) else dumps(value)


def names(count: int) -> list[str]:
    return [f"f{i}" for i in range(count)]


def wide(count: int, missing: int = 0, empty: int = 0) -> list[Json]:
    """The fields of a contract of `names(count)`, the first ones missing and the next ones empty."""
    return [field(name, "" if i < missing + empty else "x") for i, name in enumerate(names(count)) if i >= missing]


def chain(*latencies: Any, **more: Any) -> list[Json]:
    """Handoffs that go round no loop and repeat no pair: each between agents of its own pair and run."""
    return [handoff(i, "pln", "cod", (), ms, **more) for i, ms in enumerate(latencies, 1)]


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


# ---- the fixture

case(
    "incident-triage",
    "examples/incident_triage.json as it is",
    (Path(__file__).parent.parent / "incident_triage.json").read_bytes(),
)

# ---- inspection

case("inspect-all-present", "both required fields are there", document(handoff(1, fields=("goal", "plan"))))
case("inspect-missing", "a required field is not in the bag", document(handoff(1, fields=("goal",))))
case("inspect-nothing-arrives", "all is lost: 0.4 and a D", document(handoff(1)))
case("inspect-extra", "a field that the contract does not list", document(handoff(1, fields=("goal", "plan", "tip"))))
for name, value in (("null", None), ("text", ""), ("array", []), ("object", {})):
    case(
        f"inspect-empty-{name}",
        "a value that counts as empty",
        document(handoff(1, fields=[field("goal", value), "plan"])),
    )
for name, value in (
    ("zero", 0),
    ("zero-point-zero", Number("0.0")),
    ("minus-zero", Number("-0.0")),
    ("false", False),
    ("space", " "),
    ("nested-empty", [[]]),
    ("object-of-null", {"a": None}),
    ("nul-character", "\x00"),
):
    case(
        f"inspect-not-empty-{name}",
        "a value that does not count as empty",
        document(handoff(1, fields=[field("goal", value), "plan"])),
    )
case(
    "inspect-required-flag-decides-nothing",
    "the field's own flag changes nothing",
    document(handoff(1, fields=[field("goal", "", required=False), field("tip", required=True)])),
)
case(
    "inspect-names-are-exact",
    "case, spaces and composition of a name matter",
    document(
        handoff(1, fields=[field("Goal"), field(" goal"), field("go\u0301al"), field("g\u00f3al")]),
        contract={"coder": ["goal", "g\u00f3al"]},
    ),
)
case(
    "inspect-no-contract",
    "a role without a contract: nothing required, all of it extra",
    document(handoff(1, fields=("a", "b")), contract={}),
)
case(
    "inspect-empty-contract", "an empty list is a contract", document(handoff(1, fields=("a",)), contract={"coder": []})
)
case(
    "inspect-contract-as-object",
    "fields and accept: carried, and an unknown key in a contract",
    document(
        handoff(1, fields=("goal",)), contract={"coder": {"fields": ["goal"], "accept": "carried", "owner": "qa"}}
    ),
)
case(
    "inspect-history-is-not-carried",
    "seen_in history: a required one is missing, an unlisted one has no outcome",
    document(handoff(1, fields=[field("goal", seen_in="history"), field("tip", seen_in="history"), "plan"])),
)
case(
    "inspect-history-accepted",
    "accept visible: what is in the history counts as any other",
    document(
        handoff(
            1,
            fields=[
                field("goal", seen_in="history"),
                field("tip", seen_in="history"),
                field("plan", "", seen_in="history"),
            ],
        ),
        contract={"coder": {"fields": ["goal", "plan"], "accept": "visible"}},
    ),
)
case(
    "inspect-history-without-contract",
    "no contract accepts nothing from the history",
    document(handoff(1, fields=[field("tip", seen_in="history"), "other"]), contract={}),
)
case(
    "inspect-states",
    "redacted and truncated values: emptiness alone decides",
    document(
        handoff(
            1,
            fields=[
                field("goal", "[REDACTED]", state="redacted"),
                field("plan", "", state="truncated"),
                field("tip", state="full"),
            ],
        )
    ),
)
case(
    "inspect-truncated",
    "content was cut: a required name not found is unrecorded",
    document(handoff(1, fields=("goal",), truncated=True), handoff(2, fields=("goal", "plan"), truncated=True)),
)
case(
    "inspect-truncated-history",
    "cut content, and the name only in the history: unrecorded",
    document(handoff(1, fields=["goal", field("plan", seen_in="history")], truncated=True)),
)
case(
    "inspect-not-recorded",
    "nobody knows what it carried",
    document(handoff(1, recorded=False), handoff(2, fields=("goal", "plan"))),
)
case("inspect-not-recorded-redacted", "content redacted whole", document(handoff(1, recorded=False, redacted=True)))
case(
    "inspect-not-recorded-with-field",
    "not recorded, yet a name shows",
    document(handoff(1, fields=("goal",), recorded=False)),
)
case(
    "inspect-defaults-stated",
    "each default, stated",
    document(
        handoff(
            1,
            fields=[field("goal", state="full"), "plan"],
            recorded=True,
            redacted=False,
            truncated=False,
            status="completed",
        )
    ),
)
case(
    "inspect-return-with-contract",
    "a return is held against <role>.return of the agent who gets the answer",
    document(
        handoff(1, "pln", "cod", ("goal", "plan"), origin=origin("delegate")),
        handoff(2, "cod", "pln", ("result",), origin=origin("return")),
        contract={**CODER, "planner": ["goal"], "planner.return": ["result", "evidence"]},
    ),
)
case(
    "inspect-return-without-contract",
    "a return that no contract speaks of is listed and not scored, whatever the role's own contract is",
    document(
        handoff(1, "cod", "pln", ("result",), origin=origin("return", "structural")), contract={"planner": ["goal"]}
    ),
)
case(
    "inspect-role-named-like-a-return",
    "a role may itself be called planner.return",
    document(
        handoff(1, "pln", "odd", ("result",)),
        contract={"planner.return": ["result"]},
        agents=[
            {"agent_id": "pln", "role": "planner", "capabilities": []},
            {"agent_id": "odd", "role": "planner.return", "capabilities": []},
        ],
    ),
)
case(
    "inspect-modes-and-evidence",
    "transfer inferred, delegate structural",
    document(
        handoff(1, fields=("goal", "plan"), origin=origin("transfer", "inferred")),
        handoff(2, fields=("goal", "plan"), origin=origin("delegate", "structural"), run="r"),
    ),
)
case(
    "inspect-contract-order",
    "outcomes stand in contract order, extras in field order",
    document(handoff(1, fields=["z", "b", "y", "a"]), contract={"coder": ["b", "c", "a", "d"]}),
)

# ---- scoring

for extra in (4, 5, 6):
    case(
        f"score-{extra}-extra",
        "extras cost up to the cap of five",
        document(handoff(1, fields=("goal", "plan", *(f"e{i}" for i in range(extra))))),
    )
case(
    "score-thirds",
    "means of thirds are rounded once",
    document(handoff(1, fields=("a", "b")), handoff(2, fields=("a",)), contract={"coder": ["a", "b", "c"]}),
)
case(
    "score-sevenths",
    "a sevenths score in six decimals",
    document(handoff(1, fields="abcdef"), contract={"coder": list("abcdefg")}),
)
case(
    "score-half-even-down",
    "0.9953125 lies between two: to the even one, 0.995312",
    document(handoff(1, fields=wide(64, empty=1)), contract={"coder": names(64)}),
)
case(
    "score-half-even-up",
    "0.9859375 lies between two: to the even one, 0.985938",
    document(handoff(1, fields=wide(64, empty=3)), contract={"coder": names(64)}),
)
case(
    "score-grade-a-exactly",
    "0.9 is an A",
    document(handoff(1, fields=["a", "b", field("c", None)]), contract={"coder": ["a", "b", "c"]}),
)
case(
    "score-grade-just-below-a",
    "0.88 is a B",
    document(handoff(1, fields=["a", "b", field("c", None), "x"]), contract={"coder": ["a", "b", "c"]}),
)
case(
    "score-grade-b-exactly",
    "0.75 is a B",
    document(
        handoff(1, fields=[*(f"f{i}" for i in range(7)), field("f7", ""), field("f8", ""), field("f9", "")]),
        contract={"coder": [f"f{i}" for i in range(12)]},
    ),
)
case("score-grade-c-exactly", "0.55 is a C", document(handoff(1, fields="a"), contract={"coder": ["a", "b", "c", "d"]}))
case("score-grade-f", "0.3: all lost, and five extras", document(handoff(1, fields="vwxyz"), contract={"coder": ["a"]}))
case(
    "score-weakest-first-of-equals",
    "the first in relay order among equals",
    document(handoff(1, fields=("goal", "plan")), handoff(2, fields=("goal",)), handoff(3, fields=("plan",))),
)
case(
    "score-weakest-is-exact",
    "two scores print alike, 1327/1360 and 5147/5275: the lower exact one is the weakest",
    document(
        handoff(1, "pln", "cod", wide(136, missing=5, empty=1)),
        handoff(2, "cod", "rev", [*wide(211, missing=1, empty=1), "more"]),
        contract={"coder": names(136), "reviewer": names(211)},
    ),
)
case(
    "score-mean-contracted-differs",
    "the mean over all and the mean under a contract",
    document(handoff(1, fields=("goal",)), handoff(2, "cod", "rev", ("x",))),
)
case("score-no-handoffs", "nothing to score: a null mean that says why", document())
case(
    "score-all-unscored",
    "each reason for no score, and none scored",
    document(
        handoff(1, status="dropped"),
        handoff(2, recorded=False),
        handoff(3, "cod", "pln", (), origin=origin("return")),
        handoff(4, truncated=True),
    ),
)
case(
    "score-reason-precedence",
    "the first reason counts: dropped, not recorded, return, cut",
    document(
        handoff(1, status="dropped", recorded=False, truncated=True, origin=origin("return")),
        handoff(2, recorded=False, truncated=True, origin=origin("return")),
        handoff(3, truncated=True, origin=origin("return")),
        handoff(4, fields=("goal", "plan")),
    ),
)
case(
    "score-return-is-scored",
    "a return under its contract takes part in the means",
    document(handoff(1, "cod", "pln", (), origin=origin("return")), contract={"planner.return": ["result"]}),
)
case(
    "score-mean-of-many",
    "a mean over different contract sizes",
    document(
        handoff(1, fields=("a",)),
        handoff(2, "cod", "rev", ("a",)),
        handoff(3, "rev", "ops", ("a", "b")),
        handoff(4, "ops", "pln", ("a", "z")),
        contract={
            "coder": ["a", "b"],
            "reviewer": ["a", "b", "c"],
            "operator": list("abcdefg"),
            "planner": list("abcdefghijk"),
        },
    ),
)

# ---- bottlenecks


def between(pairs: str, **more: Any) -> list[Json]:
    """Handoffs along a path written as `pln cod rev`."""
    agents = pairs.split()
    return [
        handoff(i, source, target, ("goal", "plan"), **more) for i, (source, target) in enumerate(pairwise(agents), 1)
    ]


def numbered(*handoffs: Json) -> list[Json]:
    return [{**one, "handoff_id": f"h{i}", "tick": i} for i, one in enumerate(handoffs, 1)]


case("latency-one-above", "one latency above mean plus standard deviation", document(*chain(10, 10, 10, 100)))
case("latency-none-known", "no latency is known", document(*chain(None, None)))
case("latency-one-known", "one latency is never above itself", document(*chain(None, 5)))
case("latency-two", "of two, the higher lies exactly on the threshold", document(*chain(1, 9)))
case("latency-all-equal", "no spread, none above", document(*chain(7, 7, 7)))
case("latency-zeros", "all zero", document(*chain(0, Number("0.0"), Number("0e5"), Number("-0.0"))))
case(
    "latency-exactly-on-threshold", "a latency that equals the threshold is not above it", document(*chain(0, 0, 3, 3))
)
case(
    "latency-literals",
    "decimals and exponents are taken exactly and echoed as read",
    document(*chain(Number("1e2"), Number("12.50"), Number("0.1"), Number("1E+3"), Number("2.5e-1"))),
)
case(
    "latency-floats-would-err",
    "0.1, 0.2 and 0.3 as decimals",
    document(*chain(Number("0.1"), Number("0.2"), Number("0.3"), Number("0.6000000000000000000001"))),
)
case(
    "latency-integers-and-decimals",
    "10 and 10.0 are one value and two texts",
    document(*chain(10, Number("10.0"), Number("1.0e1"), Number("1000.0"))),
)
case(
    "latency-largest",
    "1e15 is allowed, and thresholds that binary64 cannot hold",
    document(*chain(1, 1, 1, 10**15, Number("999999999999999.9999999"))),
)
case(
    "latency-tiny",
    "the least numbers that are not zero",
    document(*chain(Number("4.9e-324"), Number("5e-324"), Number("1e-323"), Number("1e-320"))),
)
case(
    "latency-half-even",
    "thresholds of 0.0000015 and 0.0000045 lie between two: to the even ones",
    document(
        *chain(0, 0, 0, 0, Number("0.0000025"), run="a"),
        *[{**one, "handoff_id": f"g{i}"} for i, one in enumerate(chain(0, 0, 0, 0, Number("0.0000075"), run="b"))],
    ),
)
case(
    "latency-by-run",
    "each run has its own mean, handoffs without a run are one",
    document(
        *[
            {**one, "handoff_id": f"{run}{i}", **({"run": run} if run else {})}
            for run, values in (("", (1, 1, 1, 9)), ("r1", (100, 100, 100, 101)), ("r2", (50, 50)))
            for i, one in enumerate(chain(*values))
        ]
    ),
)
case(
    "latency-empty-run-name",
    "a run named with the empty text is not the absent one",
    document(*chain(1, 1, 9), *[{**one, "handoff_id": f"e{i}", "run": ""} for i, one in enumerate(chain(5, 5, 5))]),
)
case(
    "latency-skips-returns-and-dropped",
    "returns and dropped handoffs are in no mean",
    document(
        *chain(1, 1, 2),
        handoff(4, "cod", "pln", (), 1000, origin=origin("return")),
        handoff(5, "pln", "rev", (), 1000, status="dropped"),
    ),
)
case(
    "latency-unrecorded-counts",
    "a handoff without content still has its latency",
    document(*chain(1, 1, 1, 50, recorded=False)),
)
case(
    "fan-in",
    "three sources of one agent",
    document(*numbered(handoff(1, "pln", "ops"), handoff(2, "cod", "ops"), handoff(3, "rev", "ops"))),
)
case(
    "fan-out",
    "three targets of one agent",
    document(*numbered(handoff(1, "ops", "pln"), handoff(2, "ops", "cod"), handoff(3, "ops", "rev"))),
)
case(
    "fan-of-four",
    "four of each: severity 0.5, the agent itself counts",
    document(
        *numbered(
            *(handoff(1, "ops", target) for target in ROLES),
            *(handoff(1, source, "ops") for source in ROLES if source != "ops"),
        )
    ),
)
case(
    "fan-over-runs",
    "fan-in is over the whole document",
    document(*numbered(handoff(1, "pln", "ops", run="1"), handoff(2, "cod", "ops", run="2"), handoff(3, "rev", "ops"))),
)
case(
    "fan-not-by-returns",
    "returns and dropped handoffs make no fan",
    document(
        *numbered(
            handoff(1, "pln", "ops"),
            handoff(2, "cod", "ops", origin=origin("return")),
            handoff(3, "rev", "ops", status="dropped"),
        )
    ),
)
case(
    "rework-twice",
    "the same pair twice",
    document(*between("pln cod rev"), *[{**one, "handoff_id": "again"} for one in between("pln cod")]),
)
case("rework-thrice", "three times: severity 2/3", document(*numbered(*(between("pln cod")[0] for _ in range(3)))))
case("rework-direction", "there and back is no repetition", document(*between("pln cod pln")))
case(
    "rework-per-run",
    "once in each run is no rework; twice in each is two findings",
    document(
        *numbered(
            *(handoff(1, "pln", "cod", run=run) for run in ("1", "2")),
            *(handoff(1, "cod", "rev", run=run) for run in ("1", "1", "2", "2")),
        )
    ),
)
case(
    "rework-self",
    "an agent that hands to itself twice",
    document(*numbered(handoff(1, "pln", "pln"), handoff(2, "pln", "pln"))),
)
case(
    "cycle-twice",
    "a loop of three gone round twice, named from its smallest agent",
    document(*between("pln cod rev pln cod rev pln")),
)
case("cycle-once", "one round is no bottleneck", document(*between("pln cod rev pln cod rev")))
case("cycle-of-two-is-rework", "back and forth is rework, not a cycle", document(*between("pln cod pln cod pln cod")))
case(
    "cycle-with-tail",
    "a path into the loop, and a shorter loop inside",
    document(*between("ops pln cod rev cod rev pln cod rev pln")),
)
case(
    "cycle-broken-path",
    "a relay that does not start at the path's end starts a new path",
    document(*numbered(*between("pln cod rev"), handoff(9, "ops", "cod"), *between("rev pln cod rev pln"))),
)
case(
    "cycle-per-run",
    "two runs, one round each: none",
    document(*numbered(*between("pln cod rev pln", run="1"), *between("pln cod rev pln", run="2"))),
)
case(
    "cycle-two-directions",
    "the two directions of a loop are two loops",
    document(*between("pln cod rev pln cod rev pln rev cod pln rev cod pln")),
)
case(
    "cycle-names-by-code-point",
    "smallest by code points, not by UTF-16 units or letters",
    document(
        *numbered(
            *(
                handoff(1, source, target)
                for _ in range(2)
                for source, target in (("\U0001f600", "\uffee"), ("\uffee", "Z"), ("Z", "\U0001f600"))
            )
        ),
        agents=[{"agent_id": agent, "role": "r", "capabilities": []} for agent in ("\U0001f600", "\uffee", "Z")],
    ),
)
case(
    "dropped-one",
    "one handoff asked for and never taken up",
    document(handoff(1, status="dropped"), handoff(2, fields=("goal", "plan"))),
)
case(
    "dropped-three",
    "three from one agent, over runs: severity 0.75",
    document(*numbered(*(handoff(1, "pln", target, status="dropped", run=target) for target in ("cod", "rev", "ops")))),
)
case(
    "bottleneck-order",
    "severity falling, then kind, then subject, then relay order",
    document(
        *numbered(
            *between("pln cod pln cod"),
            *between("ops rev ops rev", run="a"),
            *between("ops rev ops rev", run="b"),
            handoff(1, "cod", "ops", status="dropped"),
            handoff(1, "cod", "rev"),
            handoff(1, "cod", "ops"),
        )
    ),
)
case(
    "bottleneck-order-as-printed",
    "severities that print alike are equal in the order",
    document(
        *numbered(
            *(handoff(1, "rev", "ops", ms=ms, run="a") for ms in (1, 1, 1, 10**9)),
            *(handoff(1, "pln", "cod", ms=ms, run="b") for ms in (1, 1, 1, 1, 1, 1, 1, 10**9 - 1, 10**9)),
        )
    ),
)

# ---- numbers

case(
    "number-ticks",
    "ticks of any size, negative and tied, in document order; -0 is echoed as it was read",
    document(
        *[
            {**one, "tick": tick}
            for one, tick in zip(
                chain(None, None, None, None, None, None), (9, 9, -3, Number("-0"), 10**40, -(10**40)), strict=True
            )
        ]
    ),
)
case(
    "number-latency-texts",
    "latencies echoed as read",
    document(
        *chain(
            0,
            Number("0.0"),
            Number("1.0"),
            Number("1.50"),
            Number("15e1"),
            Number("15E+1"),
            Number("1500e-1"),
            10**15,
            Number("1e15"),
            Number("-0.0"),
        )
    ),
)
case("number-latency-minus-zero", "the integer -0", document(handoff(1, fields=("goal", "plan"), ms=Number("-0"))))
case(
    "number-values",
    "numbers of values, echoed as read in the dossier",
    document(
        handoff(
            1,
            fields=[
                field(
                    "goal",
                    [
                        0,
                        Number("-0"),
                        Number("-0.0"),
                        Number("1.0"),
                        Number("1e2"),
                        Number("1E-2"),
                        Number("1.7976931348623157e308"),
                        Number("5e-324"),
                        Number("0e-999999999"),
                    ],
                ),
                field("big", 10**60),
                field("small", -(10**60)),
                field("digits", Number("3." + "1415926535" * 9)),
            ],
        )
    ),
)
case(
    "number-integer-of-1000-digits",
    "the longest integer",
    document(handoff(1, fields=[field("goal", 10**1000 - 1)]), metadata={"n": -(10**1000 - 1)}),
)
case(
    "number-decimal-of-1000-digits",
    "the longest decimal",
    document(handoff(1, fields=[field("goal", Number("0." + "7" * 999))], ms=Number("1." + "0" * 998 + "1"))),
)
case(
    "number-tokens",
    "tokens are added up; null ones are counted apart",
    document(
        turns=[
            {"turn_id": "t1", "agent_id": "pln", "tick": 1, "text": "a", "tokens": 10**20},
            {"turn_id": "t2", "agent_id": "cod", "tick": 2, "text": None, "tokens": None, "run": "r"},
            {
                "turn_id": "t3",
                "agent_id": "cod",
                "tick": 2,
                "text": "",
                "tokens": 5,
                "usage": {"input_tokens": 3, "output_tokens": 2, "cached_tokens": 1},
            },
            {
                "turn_id": "t4",
                "agent_id": "cod",
                "tick": 2,
                "text": "b",
                "tokens": 0,
                "usage": {"input_tokens": None, "output_tokens": 0},
            },
        ]
    ),
)

# ---- strings and keys

ODD = {
    "quote-and-backslash": 'a"b\\c/d',
    "controls": "\x00\x01\b\t\n\x0b\f\r\x1f",
    "delete-and-c1": "\x7f\x80\x85\x9f\xa0",
    "separators": "a\u2028b\u2029c",
    "bidi": "a\u202eb\u2066c\u200f",
    "zero-width": "a\u200bb\u200dc\ufeffd\xade",
    "astral": "\U0001f600 \U00010000 \U0010ffff",
    "noncharacters": "\ufffe\uffff\ufffd",
    "combining": "e\u0301 \u00e9",
    "html": "<script>alert(1)</script>&amp;<b>",
    "markdown": "**b** _i_ `c` ``d`` [l](http://x) ![i](x) | cell | # h ~~s~~ http://a.example a@b.example",
    "ansi": "\x1b[31mred\x1b[0m\x1b]8;;http://x\x07",
    "spaces": "  two  ",
    "fence": "```\n~~~\n---",
    "tags": "a\U000e0041b\U000e007f",
    "emoji-with-joiner": "\U0001f469\u200d\U0001f4bb\ufe0f",
}
for name, text in ODD.items():
    case(
        f"text-{name}",
        "odd text in every place that is printed",
        document(
            handoff(1, "pln", text, ["goal", field(text, text)], reason=text, run=text, notes=[text]),
            handoff(2, text, "pln", [field("goal", text)], reason=text, run=text),
            trace_id=text,
            metadata={text: text},
            contract={text: [text, "plan"], "planner": ["goal", text]},
            agents=[
                {"agent_id": "pln", "role": "planner", "capabilities": [text], "model": text},
                {"agent_id": text, "role": text, "capabilities": []},
            ],
        ),
    )
case(
    "text-empty",
    "empty text wherever text may be empty",
    document(
        handoff(1, "", "", [field("", "")], reason="", run=""),
        trace_id="",
        contract={"": [""]},
        agents=[{"agent_id": "", "role": "", "capabilities": [""]}],
    ),
)
case(
    "text-long",
    "text that the dossier cuts, counted in code points",
    document(handoff(1, fields=[field("goal", "\U0001f600" * 300)], reason="r" * 121)),
)
case(
    "text-escapes-read",
    "escapes of the input are text: pairs, slashes, capital hex",
    dumps(document(handoff(1, fields=("goal", "plan"), reason="REASON"))).replace(
        b"REASON", rb"\ud83d\uDE00 \/ \u00E9 \u0041 \u007f \u2028 \b\f"
    ),
)
case(
    "key-order",
    "keys of the output in code-point order, astral after all others",
    document(
        contract={},
        metadata=dict.fromkeys(("😀", "￮", "z", "Z", "a", "", "10", "9", "aa", "a ", "_", "é"), 1),
    ),
)
case(
    "key-unknown",
    "unknown keys anywhere are kept, and change nothing",
    document(
        {
            **handoff(1, fields=[field("goal", weight=1)], ms=5, zeta={"a": [Number("1.50")]}),
            "origin": {**origin(), "line": 7},
        },
        turns=[{"turn_id": "t", "agent_id": "pln", "tick": 0, "text": "x", "tokens": 1, "mood": None}],
        schema_version=1,
        notes=["kept"],
        x=None,
    ),
)
case(
    "key-metadata-many",
    "more metadata than the dossier's header shows",
    document(metadata={f"k{i:02}": i for i in range(15)}),
)

# ---- bytes

case("bytes-bom", "a byte order mark is skipped", b"\xef\xbb\xbf" + dumps(document(handoff(1, fields=("goal",)))))
case("bytes-compact", "no white space at all", dumps_line(document(handoff(1, fields=("goal",)))).strip())
case(
    "bytes-crlf",
    "lines that end in CR LF, tabs",
    dumps(document(handoff(1, fields=("goal",)))).replace(b"\n", b"\r\n\t"),
)
case(
    "bytes-blank-around",
    "blank lines before and after",
    b"\n \t\r\n" + dumps(document(handoff(1, fields=("goal",)))) + b"\n\n  ",
)
case(
    "bytes-ascii-escapes",
    "a document in which everything beyond ASCII is escaped",
    json.dumps(document(handoff(1, fields=("goal",), reason="caf\u00e9 \U0001f600"))).encode(),
)
case("bytes-deepest", "100 levels, the most that are allowed", document(handoff(1, fields=[field("goal", nested(95))])))
case("bytes-empty-collections", "nothing but the required keys", document(contract={}, agents=[]))

# ---- a contract given beside the trace

case(
    "contract-replaces",
    "the contract given replaces the document's",
    document(handoff(1, fields=("goal",)), handoff(2, "cod", "rev", ("a",))),
    {"reviewer": ["a", "b"]},
)
case("contract-empty", "an empty contract: no role has one", document(handoff(1, fields=("goal",))), {})
case(
    "contract-visible",
    "a contract that accepts what is visible",
    document(handoff(1, fields=[field("goal", seen_in="history")])),
    {"coder": {"fields": ["goal"], "accept": "visible"}},
)

# ---- the dossier

case(
    "dossier-lost-at-source",
    "a field that reached the source and went no further",
    document(
        handoff(1, "pln", "cod", ("goal", "plan")),
        handoff(2, "cod", "rev", ("goal",)),
        contract={"reviewer": ["goal", "plan"]},
    ),
)
case(
    "dossier-never-reached-source",
    "a field that went elsewhere",
    document(handoff(1, "pln", "ops", ("plan",)), handoff(2, "cod", "rev", ()), contract={"reviewer": ["plan"]}),
)
case(
    "dossier-sent-before",
    "a field that the source itself sent before",
    document(
        handoff(1, "cod", "rev", ("plan",)),
        handoff(2, "cod", "rev", [field("plan", "")]),
        contract={"reviewer": ["plan"]},
    ),
)
case(
    "dossier-trail-per-run",
    "what another run carried is not looked at; nor what was dropped, empty or history",
    document(
        handoff(1, "pln", "cod", ("plan",), run="other"),
        handoff(2, "pln", "cod", ("plan",), status="dropped"),
        handoff(3, "pln", "cod", [field("plan", None)]),
        handoff(4, "pln", "cod", [field("plan", seen_in="history")]),
        handoff(5, "cod", "rev", ()),
        contract={"reviewer": ["plan"]},
    ),
)
case(
    "dossier-wide",
    "more names, fields and handoffs than one cell shows",
    document(
        *(handoff(i, "pln", "cod", [f"name{k}" for k in range(30)]) for i in range(1, 16)),
        contract={"coder": [f"need{k}" for k in range(20)]},
    ),
)
case(
    "dossier-arrows",
    "each kind of arrow",
    document(
        handoff(1, fields=("goal", "plan")),
        handoff(2, fields=("goal",), recorded=False),
        handoff(3, "cod", "pln", ("a",), origin=origin("return")),
        handoff(4, status="dropped"),
        handoff(5, "cod", "pln", (), recorded=False, redacted=True, origin=origin("return")),
        handoff(1000, fields=[field("goal"), field("tip", seen_in="history")], ms=Number("12.50")),
    ),
)

# ---- streams

GOOD = document(handoff(1, fields=("goal",), ms=Number("1.50")))
stream(
    "stream-three",
    "three traces, one a line",
    GOOD,
    document(trace_id="second"),
    document(handoff(1, fields=("goal", "plan")), trace_id="third"),
)
stream(
    "stream-blank-lines",
    "blank lines between are skipped; the last line may lack its end",
    GOOD,
    b"\n \t\r\n",
    dumps_line(document(trace_id="b")).strip(),
)
stream(
    "stream-crlf-and-bom",
    "a byte order mark at the beginning, lines that end in CR LF",
    b"\xef\xbb\xbf" + dumps_line(GOOD).strip() + b"\r\n",
    dumps_line(document(trace_id="b")).strip() + b"\r\n",
)
stream(
    "stream-contract",
    "a contract given for all of them",
    GOOD,
    document(handoff(1, fields=("x",)), trace_id="b"),
    contract={"coder": ["x"]},
)
stream(
    "stream-broken-third",
    "the third line breaks a rule: two results, then the fault",
    GOOD,
    document(trace_id="b"),
    document(handoff(1, "pln", "nobody")),
    GOOD,
)
stream("stream-cut-tail", "the last line is cut off", GOOD, GOOD, dumps_line(GOOD)[:40])
stream(
    "stream-text",
    "odd text, in the compact form",
    GOOD,
    document(handoff(1, fields=("goal",), reason=ODD["controls"] + ODD["astral"]), trace_id=ODD["quote-and-backslash"]),
)
