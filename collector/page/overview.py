"""Who hands to whom: a session's agents in layers, its handoffs brought together by pair.

Separate from the flow because a session of forty handoffs has forty lines there, and here as many as it has pairs.

The layering is Sugiyama's (K. Sugiyama, S. Tagawa, M. Toda, 1981): edges that close a cycle are turned round, each agent goes one layer
beyond the last that hands to it, long edges pass through a place in every layer between, and places are ordered by the middle of their
neighbours. Everything is decided by the order of the handoffs, so the same session gives the same picture.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from collector.page import words
from collector.page.flow import Relay, agent_title, stroke
from collector.page.svg import element, fitted, grade_class, path, picture, text

MOST_AGENTS: Final = 40
_BOX: Final = 128
_GAP: Final = 108
_PORT: Final = 24
_SPACE: Final = 22
_PAD: Final = 10
_FITS: Final = 1_500  # a little wider than the page: shown smaller, and not scrolled
_SWEEPS: Final = 6


class Pair(NamedTuple):
    """All handoffs of one shape from one agent to another; the grade is the worst of them."""

    source: str
    target: str
    shape: str
    numbers: tuple[int, ...]
    grade: str
    fields: int
    contracted: bool


class _Label(NamedTuple):
    x: float
    y: float
    pair: Pair


class _Edge(NamedTuple):
    pair: Pair
    turned: bool
    places: tuple[str, ...]  # a name for each layer it touches, from left to right


def pairs_of(relays: Iterable[Relay]) -> list[Pair]:
    """Bring handoffs together, in the order of the first of each pair. `fields` is the most that one of them carried."""
    found: dict[tuple[str, str, str], list[Relay]] = defaultdict(list)
    for relay in relays:
        shape = "dropped" if relay.dropped else "return" if relay.mode == "return" else "given"
        found[relay.source, relay.target, shape].append(relay)
    return [
        Pair(
            source, target, shape, tuple(relay.number for relay in some),
            _worst(some), max(relay.fields for relay in some),
            any(relay.contracted for relay in some),
        )
        for (source, target, shape), some in found.items()
    ]  # fmt: skip


def _worst(some: Sequence[Relay]) -> str:
    held = [relay for relay in some if relay.contracted and relay.grade]
    return max((relay.grade for relay in held or some), default="")


def overview(relays: Sequence[Relay], roles: dict[str, str]) -> Markup:
    """Draw at most `MOST_AGENTS` agents, those with the most handoffs."""
    pairs = pairs_of(relays)
    agents = _busiest(pairs)
    pairs = [pair for pair in pairs if pair.source in agents and pair.target in agents and pair.source != pair.target]
    turned = _turned(agents, pairs)
    layer = _layers(agents, pairs, turned)
    rows: list[list[str]] = [[] for _ in range(max(layer.values(), default=0) + 1)]
    for agent in agents:
        rows[layer[agent]].append(agent)
    edges = [_edge(pair, (pair.source, pair.target) in turned, layer, rows, n) for n, pair in enumerate(pairs)]
    _order(rows, edges)
    return _draw(rows, edges, set(agents), roles, len(relays))


def _busiest(pairs: Sequence[Pair]) -> list[str]:
    weight: dict[str, int] = {}
    for pair in pairs:
        for agent in (pair.source, pair.target):
            weight[agent] = weight.get(agent, 0) + len(pair.numbers)
    kept = set(sorted(weight, key=lambda agent: -weight[agent])[:MOST_AGENTS])
    return [agent for agent in weight if agent in kept]


def _turned(agents: Sequence[str], pairs: Sequence[Pair]) -> set[tuple[str, str]]:
    """The edges to draw from right to left: answers going back, and those that close a cycle, walked in order."""
    onward: dict[str, list[str]] = defaultdict(list)
    for pair in pairs:
        if pair.shape != "return":
            onward[pair.source].append(pair.target)
    turned = {(p.source, p.target) for p in pairs if p.shape == "return" and p.target not in onward[p.source]}
    state: dict[str, int] = {}
    for root in agents:
        walk = [(root, iter(onward[root]))] if root not in state else []
        state.setdefault(root, 1)
        while walk:
            agent, rest = walk[-1]
            for target in rest:
                if state.get(target) == 1:
                    turned.add((agent, target))
                elif target not in state:
                    state[target] = 1
                    walk.append((target, iter(onward[target])))
                    break
            else:
                state[agent] = 2
                walk.pop()
    return turned


def _layers(agents: Sequence[str], pairs: Sequence[Pair], turned: set[tuple[str, str]]) -> dict[str, int]:
    before: dict[str, set[str]] = {agent: set() for agent in agents}
    for pair in pairs:
        left, right = (pair.target, pair.source) if (pair.source, pair.target) in turned else (pair.source, pair.target)
        if pair.shape != "return":
            before[right].add(left)
    for pair in pairs:  # an agent that only answers stands behind the one it answers
        if pair.shape == "return" and not before[pair.source] and not before[pair.target] & {pair.source}:
            before[pair.source].add(pair.target)
    layer: dict[str, int] = {}
    waiting = list(agents)
    while waiting:
        ready = [agent for agent in waiting if before[agent] <= layer.keys()] or waiting[:1]
        for agent in ready:
            layer[agent] = max((layer[left] + 1 for left in before[agent] if left in layer), default=0)
        waiting = [agent for agent in waiting if agent not in layer]
    return layer


def _edge(pair: Pair, turned: bool, layer: dict[str, int], rows: list[list[str]], number: int) -> _Edge:
    left, right = (pair.source, pair.target) if layer[pair.source] <= layer[pair.target] else (pair.target, pair.source)
    places = [left]
    for between in range(layer[left] + 1, layer[right]):
        places.append(f"\0{number}/{between}")
        rows[between].append(places[-1])
    return _Edge(pair, left != pair.source or turned, (*places, right))


def _order(rows: list[list[str]], edges: Sequence[_Edge]) -> None:
    neighbours: dict[tuple[str, int], list[str]] = defaultdict(list)  # -1: to the left, 1: to the right
    for edge in edges:
        for left, right in zip(edge.places, edge.places[1:], strict=False):
            neighbours[right, -1].append(left)
            neighbours[left, 1].append(right)
    for sweep in range(_SWEEPS):
        side = -1 if sweep % 2 == 0 else 1
        for row in rows if side < 0 else reversed(rows):
            place = {name: index for other in rows for index, name in enumerate(other)}
            middle = {}
            for index, name in enumerate(row):
                around = [place[other] for other in neighbours[name, side]]
                middle[name] = sum(around) / len(around) if around else float(index)
            row.sort(key=middle.__getitem__)


def _draw(
    rows: list[list[str]], edges: Sequence[_Edge], agents: set[str], roles: dict[str, str], handoffs: int
) -> Markup:
    ports: dict[tuple[str, int], int] = defaultdict(int)
    for edge in edges:
        ports[edge.places[0], 1] += 1
        ports[edge.places[-1], -1] += 1
    tall = {
        name: max(44, _PORT * max(ports[name, 1], ports[name, -1])) if name in agents else _PORT
        for row in rows
        for name in row
    }
    heights = [sum(tall[name] for name in row) + _SPACE * (len(row) - 1) for row in rows]
    height = max(heights, default=0) + 2 * _PAD
    top: dict[str, float] = {}
    left: dict[str, float] = {}
    for index, row in enumerate(rows):
        y = (height - heights[index]) / 2
        for name in row:
            top[name], left[name] = y, _PAD + index * (_BOX + _GAP)
            y += tall[name] + _SPACE
    middle = {name: top[name] + tall[name] / 2 for name in top}
    parts = _edges(edges, top, tall, left, middle)
    parts += [_node(agent, roles.get(agent, ""), left[agent], top[agent], tall[agent]) for row in rows for agent in row if agent in agents]  # fmt: skip
    width = 2 * _PAD + len(rows) * _BOX + max(0, len(rows) - 1) * _GAP
    if any(edge.places[0] != edge.places[-1] and left[edge.places[0]] == left[edge.places[-1]] for edge in edges):
        width += _GAP // 2
    title = f"{words.counted(handoffs, 'handoff')} between {words.counted(len(agents), 'agent')}, by pair"
    return picture(
        width,
        height,
        title,
        "The ledger below says the same in words.",
        parts,
        "overview fit" if width <= _FITS else "overview",
    )


def _edges(
    edges: Sequence[_Edge], top: dict[str, float], tall: Mapping[str, float], left: dict[str, float], middle: dict[str, float]
) -> list[Markup]:  # fmt: skip
    port = _ports(edges, top, tall, middle)
    parts: list[Markup] = []
    labels: list[_Label] = []
    for number, edge in enumerate(edges):
        first, last = edge.places[0], edge.places[-1]
        start = (left[first] + _BOX, port[number, 1])
        same = left[first] == left[last]
        end = (left[last] + (_BOX if same else 0), port[number, -1])
        via = [(left[place], middle[place]) for place in edge.places[1:-1]]
        name = f"edge {edge.pair.shape} {grade_class(edge.pair.grade, edge.pair.contracted)}"
        wide = 1.5 if edge.pair.shape == "return" else stroke(edge.pair.fields)
        size = 4 + wide
        tail = 0.0 if edge.turned else size
        head = size if edge.turned else 0.0
        if same:
            bow = start[0] + _GAP / 2
            d = f"M{start[0] + head:g} {start[1]:g} C{bow:g} {start[1]:g} {bow:g} {end[1]:g} {end[0] + tail:g} {end[1]:g}"
            labels.append(_Label(start[0] + _GAP * 0.37, (start[1] + end[1]) / 2, edge.pair))
        else:
            d, at = _curve((start[0] + head, start[1]), via, (end[0] - tail, end[1]))
            labels.append(_Label(*at, edge.pair))
        tip, way = (start, -1) if edge.turned else (end, -1 if same else 1)
        back = tip[0] - way * (size + 3)
        parts.append(path(d, class_=name, stroke_width=wide))
        if edge.pair.shape == "dropped":
            x, y = tip[0] - way * size, tip[1]
            parts.append(path(f"M{x - 5:g} {y - 5:g} L{x + 5:g} {y + 5:g} M{x - 5:g} {y + 5:g} L{x + 5:g} {y - 5:g}", class_=name + " cross"))  # fmt: skip
        else:
            parts.append(path(f"M{tip[0]:g} {tip[1]:g} L{back:g} {tip[1] - size:g} L{back:g} {tip[1] + size:g} Z", class_=name + " tip"))  # fmt: skip
    return parts + _labels(labels)


def _ports(
    edges: Sequence[_Edge], top: dict[str, float], tall: Mapping[str, float], middle: dict[str, float]
) -> dict[tuple[int, int], float]:
    """Where each edge meets its agents: spread over the side, in the order of what is at the other end."""
    sides: dict[tuple[str, int], list[tuple[float, int, int]]] = defaultdict(list)
    for number, edge in enumerate(edges):
        sides[edge.places[0], 1].append((middle[edge.places[1]], number, 1))
        sides[edge.places[-1], 1 if len(edge.places) == 1 else -1].append((middle[edge.places[-2]], number, -1))
    found: dict[tuple[int, int], float] = {}
    for (name, _), some in sides.items():
        step = tall[name] / len(some)
        for place, (_, number, end) in enumerate(sorted(some)):
            found[number, end] = top[name] + step * (place + 0.5)
    return found


def _curve(
    start: tuple[float, float], via: Sequence[tuple[float, float]], end: tuple[float, float]
) -> tuple[str, tuple[float, float]]:
    """A smooth line from layer to layer, level where it crosses one; and the middle of its first gap."""
    d, (x, y) = f"M{start[0]:g} {start[1]:g}", start
    at = None
    for px, py in via:
        half = (x + px) / 2
        at = at or (half, (y + py) / 2)
        d += f" C{half:g} {y:g} {half:g} {py:g} {px:g} {py:g} H{px + _BOX:g}"
        x, y = px + _BOX, py
    half = (x + end[0]) / 2
    return d + f" C{half:g} {y:g} {half:g} {end[1]:g} {end[0]:g} {end[1]:g}", at or (half, (y + end[1]) / 2)


def _labels(labels: Sequence[_Label]) -> list[Markup]:
    """The letter and the numbers of each pair on its line, pushed apart where they would cover each other."""
    gaps: dict[int, list[_Label]] = defaultdict(list)
    for label in labels:
        gaps[round(label.x / _GAP)].append(label)
    parts = []
    for some in gaps.values():
        below = float("-inf")
        for label in sorted(some, key=lambda label: label.y):
            y = max(label.y, below)
            below = y + 21
            parts.append(_label(label.x, y, label.pair))
    return parts


def _label(x: float, y: float, pair: Pair) -> Markup:
    numbers = " ".join(map(str, pair.numbers)) if len(pair.numbers) <= 3 else f"{len(pair.numbers)}×"
    wide = 26 + 6.6 * len(numbers)
    kind = {"given": "handoff", "return": "return", "dropped": "dropped handoff"}[pair.shape]
    hint = f"{words.shown(pair.source)} to {words.shown(pair.target)}: {words.counted(len(pair.numbers), kind)}, worst grade {pair.grade or 'none'}"
    return element(
        "g",
        element("title", hint),
        element("rect", x=x - wide / 2, y=y - 9, width=wide, height=18, rx=5, class_="plate"),
        element(
            "rect",
            x=x - wide / 2,
            y=y - 9,
            width=18,
            height=18,
            rx=5,
            class_=f"badge {grade_class(pair.grade, pair.contracted)}",
        ),
        text(x - wide / 2 + 9, y + 4, pair.grade or "–", "letter", "middle"),
        text(x - wide / 2 + 23, y + 4, numbers, "number"),
        class_="label",
    )


def _node(agent: str, role: str, x: float, y: float, height: float) -> Markup:
    shown, middle = words.shown(agent), y + height / 2
    named = bool(role) and role != agent
    parts = [
        element("title", agent_title(agent, role)),
        element("rect", x=x, y=y, width=_BOX, height=height, rx=8, class_="node"),
        text(x + _BOX / 2, middle + (-3 if named else 5), fitted(shown, _BOX - 16, 7.2), "agent", "middle"),
    ]
    if named:
        parts.append(text(x + _BOX / 2, middle + 13, fitted(words.shown(role), _BOX - 16), "role", "middle"))
    return element("g", *parts)
