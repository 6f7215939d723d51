"""The handoffs of a session in their order, as a picture: a column an agent, a line a handoff.

Separate from the view because it is geometry, and from the overview (overview.py) because that one shows who hands to whom, and this one when.

What can be told apart: width is the number of fields, colour and letter the grade (grey: no contract), a dashed line is an answer going
back, a dotted line with a cross was asked for and never taken up. What stands beside each line is in words, so that the picture reads
without colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from collector.page import words
from collector.page.svg import badge, element, fitted, grade_class, path, picture, text


class Relay(NamedTuple):
    """What the pictures need of one handoff. `number` is its place in the session, from 1."""

    number: int
    source: str
    target: str
    mode: str
    dropped: bool
    grade: str
    score: float | None
    fields: int
    latency_ms: float | None
    contracted: bool = True
    remark: str = ""
    lost: bool = False
    recorded: bool = True


_GUTTER: Final = 40
_HEAD: Final = 56
_ROW: Final = 34
_WIDE: Final = 1_150
_BESIDE: Final = 300


def stroke(fields: int) -> float:
    """The width of a line that carries so many fields, in pixels."""
    return 1.5 + 0.55 * min(fields, 12)


def flow(relays: Sequence[Relay], roles: dict[str, str]) -> Markup:
    """Draw the handoffs. `roles` gives the role of each agent."""
    agents = list(dict.fromkeys(agent for relay in relays for agent in (relay.source, relay.target)))
    pitch = 176 if len(agents) <= 4 else 128 if len(agents) <= 8 else 116
    column = {agent: _GUTTER + pitch * (place + 0.5) for place, agent in enumerate(agents)}
    right = _GUTTER + pitch * len(agents)
    beside = max(_BESIDE, _WIDE - right)
    bottom = _HEAD + _ROW * len(relays) + 8
    parts = [element("line", x1=x, y1=_HEAD - 8, x2=x, y2=bottom, class_="lifeline") for x in column.values()]
    parts += [_head(x, agent, roles.get(agent, ""), pitch) for agent, x in column.items()]
    parts += [
        _relay(relay, column[relay.source], column[relay.target], _HEAD + _ROW * (place + 0.5), right, beside)
        for place, relay in enumerate(relays)
    ]
    title = f"{words.counted(len(relays), 'handoff')} between {words.counted(len(agents), 'agent')}, in order"
    return picture(right + beside, bottom + 4, title, "The ledger below says the same in words.", parts, "flow")


def _head(x: float, agent: str, role: str, pitch: float) -> Markup:
    width = pitch - 16
    shown = words.shown(agent)
    lines = [text(x, 23 if role and role != agent else 30, fitted(shown, width - 12, 7.2), "agent", "middle")]
    if role and role != agent:
        lines.append(text(x, 38, fitted(words.shown(role), width - 12), "role", "middle"))
    box = element("rect", x=x - width / 2, y=6, width=width, height=42, rx=8, class_="node")
    return element("g", element("title", agent_title(agent, role)), box, *lines)


def _relay(relay: Relay, start: float, end: float, y: float, right: float, room: float) -> Markup:
    shape = "dropped" if relay.dropped else "return" if relay.mode == "return" else "given"
    name = f"edge {shape} {grade_class(relay.grade, relay.contracted)}"
    width = 1.5 if shape == "return" else stroke(relay.fields)
    if start == end:
        line = path(
            f"M{start:g} {y - 8:g} C{start + 56:g} {y - 14:g} {start + 56:g} {y + 14:g} {start + 6:g} {y + 8:g}",
            class_=name, stroke_width=width,
        )  # fmt: skip
        tip, middle = _arrow(start + 4, y + 8, -1, name, width), start + 50
    else:
        way = 1 if end > start else -1
        stop = end - way * (26 if relay.dropped else 6 + width)
        line = path(f"M{start:g} {y:g} H{stop:g}", class_=name, stroke_width=width)
        tip = _cross(stop, y, name) if relay.dropped else _arrow(end - way * 2, y, way, name, width)
        middle = (start + end) / 2
    beside = " · ".join(
        part
        for part in (_carried(relay), words.milliseconds(relay.latency_ms) if relay.latency_ms is not None else "")
        if part
    )  # fmt: skip
    figures = text(right + 12, y + 4, beside, "figures")
    remark = [text(right + 142, y + 4, fitted(relay.remark, room - 146), "remark lost" if relay.lost else "remark")]
    hint = f"{relay.number}: {words.shown(relay.source)} to {words.shown(relay.target)}, {shape_name(relay)}, {beside}"
    return element(
        "g",
        element("title", hint + (f", {relay.remark}" if relay.remark else "")),
        text(_GUTTER - 14, y + 4, str(relay.number), "number", "end"),
        line,
        tip,
        badge(middle, y, relay.grade, relay.contracted),
        figures,
        *(remark if relay.remark else ()),
        class_="relay",
        data_row=f"h{relay.number}",
    )


def _carried(relay: Relay) -> str:
    return words.counted(relay.fields, "field") if relay.recorded or relay.fields else "fields not known"


def agent_title(agent: str, role: str) -> str:
    """What is said of an agent when somebody points at it."""
    return words.shown(agent) + (f", role {words.shown(role)}" if role else "")


def shape_name(relay: Relay) -> str:
    """What a line's shape stands for."""
    if relay.dropped:
        return "dropped"
    return "return" if relay.mode == "return" else relay.mode


def _arrow(x: float, y: float, way: int, name: str, width: float) -> Markup:
    size = 5 + width
    back = x - way * (size + 3)
    return path(f"M{x:g} {y:g} L{back:g} {y - size:g} L{back:g} {y + size:g} Z", class_=name + " tip")


def _cross(x: float, y: float, name: str) -> Markup:
    return path(
        f"M{x - 5:g} {y - 5:g} L{x + 5:g} {y + 5:g} M{x - 5:g} {y + 5:g} L{x + 5:g} {y - 5:g}", class_=name + " cross"
    )
