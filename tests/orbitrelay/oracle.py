"""The analysis once more, the slow and obvious way: plain documents, fractions, decimals of many digits, quadratic searches.

Separate from the product on purpose: it imports nothing of it, so that agreement means something.
"""

from __future__ import annotations

import json
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from typing import Any

Json = dict[str, Any]


class Text(str):
    """A number of the input, as its text."""


def read(data: bytes) -> Json:
    """Read a document with every number as `Text`."""
    document: Json = json.loads(data.decode("utf-8-sig"), parse_float=Text, parse_int=Text)
    return document


def shown(value: Fraction) -> str:
    """Print a fraction: six decimals, half to even, shortest, at least one decimal."""
    with localcontext() as context:
        context.prec = 3000
        quotient = Decimal(value.numerator) / Decimal(value.denominator)
        rounded = quotient.quantize(Decimal("0.000001"), rounding=ROUND_HALF_EVEN)
        # A quotient with more digits than the context holds cannot lie exactly between two millionths.
    return shown_decimal(rounded)


def shown_decimal(value: Decimal) -> str:
    whole, _, decimals = f"{value:f}".partition(".")
    return f"{whole}.{decimals.rstrip('0') or '0'}"


def empty(value: Any) -> bool:
    return value is None or (not isinstance(value, Text | bool) and value in ("", [], {}))


def contract_of(document: Json, handoff: Json) -> tuple[list[str], bool, bool]:
    """Give required names, whether there is a contract, and whether it accepts what is visible."""
    role = next(agent["role"] for agent in document["agents"] if agent["agent_id"] == handoff["target_agent"])
    if is_return(handoff):
        role += ".return"
    if role not in document["contract"]:
        return [], False, False
    stated = document["contract"][role]
    if isinstance(stated, list):
        return stated, True, False
    return stated["fields"], True, stated.get("accept") == "visible"


def is_return(handoff: Json) -> bool:
    return bool(handoff.get("origin", {}).get("mode") == "return")


def is_dropped(handoff: Json) -> bool:
    return bool(handoff.get("status") == "dropped")


def outcomes(document: Json, handoff: Json) -> dict[str, list[str]]:
    required, _, visible = contract_of(document, handoff)
    bag = {f["name"]: f["value"] for f in handoff["fields"] if visible or "seen_in" not in f}
    known = handoff.get("recorded", True) and not handoff.get("truncated", False)
    absent = [name for name in required if name not in bag]
    return {
        "present": [name for name in required if name in bag and not empty(bag[name])],
        "empty": [name for name in required if name in bag and empty(bag[name])],
        "missing": absent if known else [],
        "unrecorded": [] if known else absent,
        "extra": [name for name in bag if name not in required],
    }


def score(document: Json, handoff: Json) -> Fraction | None:
    required, contracted, _ = contract_of(document, handoff)
    found = outcomes(document, handoff)
    unscored = (
        is_dropped(handoff)
        or not handoff.get("recorded", True)
        or (is_return(handoff) and not contracted)
        or found["unrecorded"]
    )
    if unscored:
        return None
    n = max(len(required), 1)
    exact = (
        1
        - Fraction("0.60") * len(found["missing"]) / n
        - Fraction("0.30") * len(found["empty"]) / n
        - Fraction("0.10") * min(len(found["extra"]), 5) / 5
    )
    return min(max(exact, Fraction(0)), Fraction(1))


def grade(value: Fraction) -> str:
    floors = (("A", "0.90"), ("B", "0.75"), ("C", "0.55"), ("D", "0.35"))
    return next((letter for letter, floor in floors if value >= Fraction(floor)), "F")


def means(document: Json) -> tuple[str | None, str | None, str | None]:
    """Give mean, mean under a contract, and the weakest handoff's id."""
    scored = [(score(document, handoff), handoff) for handoff in document["handoffs"]]
    every = [(value, handoff) for value, handoff in scored if value is not None]
    contracted = [value for value, handoff in every if contract_of(document, handoff)[1]]
    weakest = min((value for value, _ in every), default=None)
    return (
        shown(sum((value for value, _ in every), Fraction(0)) / len(every)) if every else None,
        shown(sum(contracted, Fraction(0)) / len(contracted)) if contracted else None,
        next((handoff["handoff_id"] for value, handoff in every if value == weakest), None),
    )


Finding = tuple[str, str, str, str, str, list[str]]
"""Kind, subject, severity, measured, threshold, handoff ids."""


def bottlenecks(document: Json) -> list[Finding]:
    relays = [h for h in document["handoffs"] if not is_return(h) and not is_dropped(h)]
    runs: list[Any] = []
    for handoff in relays:
        if (run := handoff.get("run", ...)) not in runs:
            runs.append(run)
    found: list[Finding] = []
    for run in runs:
        own = [handoff for handoff in relays if handoff.get("run", ...) == run]
        found += latency(own) + rework(own) + cycles(own)
    agents = [agent["agent_id"] for agent in document["agents"]]
    for kind, near, far in (("fan_in", "target_agent", "source_agent"), ("fan_out", "source_agent", "target_agent")):
        for agent in agents:
            ids = [handoff["handoff_id"] for handoff in relays if handoff[near] == agent]
            n = len({handoff[far] for handoff in relays if handoff[near] == agent})
            if n >= 3:
                found.append((kind, agent, shown(1 - Fraction(2, n)), str(n), "3", ids))
    for agent in agents:
        ids = [h["handoff_id"] for h in document["handoffs"] if is_dropped(h) and h["source_agent"] == agent]
        if ids:
            found.append(("dropped", agent, shown(Fraction(len(ids), len(ids) + 1)), str(len(ids)), "1", ids))
    place = {handoff["handoff_id"]: i for i, handoff in enumerate(document["handoffs"])}
    return sorted(found, key=lambda f: (-Fraction(f[2]), f[0], f[1], place[f[5][0]]))


def latency(relays: list[Json]) -> list[Finding]:
    known = [handoff for handoff in relays if handoff["latency_ms"] is not None]
    values = [Fraction(handoff["latency_ms"]) for handoff in known]
    if not values:
        return []
    mean = sum(values, Fraction(0)) / len(values)
    variance = sum(((value - mean) * (value - mean) for value in values), Fraction(0)) / len(values)
    with localcontext() as context:
        context.prec = 4000
        deviation = (Decimal(variance.numerator) / Decimal(variance.denominator)).sqrt()
        exact = Decimal(mean.numerator) / Decimal(mean.denominator) + deviation
        # Drop what the last digits of the division and of the root got wrong.
        limit = exact.quantize(Decimal(1).scaleb(-3000)).quantize(Decimal("0.000001"), rounding=ROUND_HALF_EVEN)
    return [
        (
            "latency",
            f"{handoff['source_agent']} -> {handoff['target_agent']}",
            shown(value / max(values)),
            str(handoff["latency_ms"]),
            shown_decimal(limit),
            [handoff["handoff_id"]],
        )
        for handoff, value in zip(known, values, strict=True)
        if value > mean and (value - mean) * (value - mean) > variance
    ]


def rework(relays: list[Json]) -> list[Finding]:
    pairs: list[tuple[str, str]] = []
    for handoff in relays:
        if (pair := (handoff["source_agent"], handoff["target_agent"])) not in pairs:
            pairs.append(pair)
    found = []
    for pair in pairs:
        ids = [h["handoff_id"] for h in relays if (h["source_agent"], h["target_agent"]) == pair]
        if len(ids) >= 2:
            severity = shown(1 - Fraction(1, len(ids)))
            found.append(("rework", " -> ".join(pair), severity, str(len(ids)), "2", ids))
    return found


def cycles(relays: list[Json]) -> list[Finding]:
    path: list[Json] = []  # the relays of the path; the agents on it are their sources and the last target
    rounds: list[tuple[list[str], list[str]]] = []
    for relay in relays:
        if path and path[-1]["target_agent"] != relay["source_agent"]:
            path = []
        path.append(relay)
        on_path = [step["source_agent"] for step in path]
        if relay["target_agent"] in on_path:
            start = on_path.index(relay["target_agent"])
            loop = on_path[start:]
            if len(loop) >= 3:
                turn = loop.index(min(loop))
                rounds.append((loop[turn:] + loop[:turn], [step["handoff_id"] for step in path[start:]]))
            path = path[:start]
    found = []
    for loop in {tuple(loop): loop for loop, _ in rounds}.values():
        ids = [one for other, steps in rounds if other == loop for one in steps]
        n = sum(other == loop for other, _ in rounds)
        if n >= 2:
            found.append(("cycle", " -> ".join([*loop, loop[0]]), shown(1 - Fraction(1, n)), str(n), "2", ids))
    return found
