"""Small traces for the tests, and a hypothesis strategy that draws any.

A drawn document is made by a random generator from one drawn seed: a hundred times faster than drawing each of its parts.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import strategies as st

from orbitrelay import Number

Json = dict[str, Any]

AGENTS = ("pln", "cod", "rev", "ops")


def field(name: str, value: Any = "x", **more: Any) -> Json:
    return {"name": name, "kind": "note", "value": value, **more}


def handoff(number: int, source: str = "pln", target: str = "cod", fields: Any = (), **more: Any) -> Json:
    return {
        "handoff_id": f"h{number}",
        "source_agent": source,
        "target_agent": target,
        "tick": number,
        "reason": "go on",
        "latency_ms": None,
        "fields": [field(name) if isinstance(name, str) else name for name in fields],
        **more,
    }


def document(*handoffs: Json, **more: Any) -> Json:
    """A document whose agents are `AGENTS`, each with its own name as its role; `cod` needs goal and plan."""
    return {
        "trace_id": "t",
        "metadata": {},
        "contract": {"cod": ["goal", "plan"]},
        "agents": [{"agent_id": agent, "role": agent, "capabilities": []} for agent in AGENTS],
        "turns": [],
        "handoffs": list(handoffs),
        **more,
    }


def origin(mode: str = "transfer") -> Json:
    return {"trace_id": "a", "span_id": "b", "convention": "c", "mode": mode, "evidence": "explicit"}


_ALPHABET = ("a", "B", " ", "|", "`", "<", "\\", '"', "\n", "\x00", "\x7f", "\u202e", "\u00e9", "\uffee", "\U0001f600")
_NAMES = ("goal", "plan", "tip", "a|b", "", "\U0001f600", "\uffee")


class _Maker:
    """Makes sound documents, as Python data in which numbers with a fraction or an exponent are `Number`."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def one(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def maybe(self, **optional: Callable[[], Any]) -> Json:
        return {key: make() for key, make in optional.items() if self.random.random() < 0.3}

    def text(self) -> str:
        return "".join(self.random.choices(_ALPHABET, k=self.random.randrange(6)))

    def integer(self) -> int:
        return self.random.randrange(-3, 30) if self.random.random() < 0.7 else self.random.randrange(-(10**30), 10**30)

    def decimal(self, signs: str = "-") -> Number:
        fraction = self.one("", ".0", ".5", f".{self.random.randrange(10**7)}", ".0000001")
        exponent = self.one("", "e0", "E+2", f"e-{self.random.randrange(9)}", "e5")
        whole = self.one(0, self.random.randrange(100), self.random.randrange(10**6))
        return Number(f"{self.one('', *signs)}{whole}{fraction}{exponent or ('' if fraction else 'e1')}")

    def value(self, depth: int = 0) -> Any:
        kind = self.random.randrange(9 if depth < 3 else 6)
        if kind == 6:
            return [self.value(depth + 1) for _ in range(self.random.randrange(3))]
        if kind >= 7:
            return {self.text(): self.value(depth + 1) for _ in range(self.random.randrange(3))}
        return (None, self.one(True, False), self.integer(), self.decimal(), self.text(), "x")[kind]

    def unknown(self) -> Json:
        return {key: self.value() for key in ("zeta", "notes", "\u00e9") if self.random.random() < 0.1}

    def names(self) -> list[str]:
        return self.random.sample(_NAMES, self.random.randrange(5))

    def field(self, name: str) -> Json:
        return {
            **self.unknown(),
            **field(name, self.value(), kind=self.text()),
            **self.maybe(
                required=lambda: self.one(True, False),
                state=lambda: self.one("full", "redacted", "truncated"),
                seen_in=lambda: "history",
            ),
        }

    def handoff(self, number: int) -> Json:
        latency = self.one(None, self.random.randrange(20), self.random.randrange(10**15 + 1), self.decimal(""))
        return {
            **self.unknown(),
            **handoff(number, self.one(*AGENTS), self.one(*AGENTS), [self.field(name) for name in self.names()]),
            "tick": self.integer(),
            "reason": self.text(),
            "latency_ms": latency,
            **self.maybe(
                recorded=lambda: self.one(True, True, False),
                redacted=lambda: self.one(True, False),
                truncated=lambda: self.one(True, False, False),
                status=lambda: self.one("completed", "completed", "dropped"),
                run=lambda: self.one("", "r"),
                origin=lambda: origin(self.one("transfer", "delegate", "return")),
            ),
        }

    def turn(self, number: int) -> Json:
        return {
            "turn_id": f"t{number}",
            "agent_id": self.one(*AGENTS),
            "tick": self.integer(),
            "text": self.one(None, self.text()),
            "tokens": self.one(None, self.integer()),
            **self.maybe(
                run=self.text,
                usage=lambda: {"input_tokens": self.one(None, self.integer()), "output_tokens": self.integer()},
            ),
        }

    def contract(self) -> Json:
        roles = [*AGENTS, *(f"{agent}.return" for agent in AGENTS)]
        return {
            role: self.one(
                self.names(),
                {**self.unknown(), "fields": self.names(), **self.maybe(accept=lambda: self.one("carried", "visible"))},
            )
            for role in self.random.sample(roles, self.random.randrange(len(roles)))
        }

    def document(self) -> Json:
        made = document(
            *(self.handoff(i) for i in range(self.random.randrange(9))),
            trace_id=self.text(),
            metadata={self.text(): self.value() for _ in range(self.random.randrange(3))},
            contract=self.contract(),
            turns=[self.turn(i) for i in range(self.random.randrange(3))],
        )
        return {**self.unknown(), **made, **self.maybe(schema_version=lambda: 1)}


def documents() -> st.SearchStrategy[Json]:
    """Draw any sound document."""
    return st.integers(0, 2**64).map(lambda seed: _Maker(seed).document())
