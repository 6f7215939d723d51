"""Small charts: completeness over time, and one amount as a bar.

Separate from the views because they are geometry. A gap in the series is a gap in the line: nothing is drawn between points that nobody measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from collector.page import words
from collector.page.svg import element, grade_class, path, picture
from collector.store import Moment
from orbitrelay import GRADES

WIDTH: Final = 220
HEIGHT: Final = 36
_PAD: Final = 4


def grade_of(value: float | None) -> str:
    """The grade of a mean; "" where there is none."""
    if value is None:
        return ""
    return next((grade for grade, floor in GRADES if value >= floor), "F")


def series(moments: Sequence[Moment], since_ns: int, until_ns: int, step_ns: int, title: str) -> Markup:
    """Mean completeness over a time, from 0 at the foot to 1 at the top."""
    width, height = WIDTH - 2 * _PAD, HEIGHT - 2 * _PAD
    reach = max(until_ns - since_ns, step_ns)
    points = [
        (_PAD + width * min(1.0, max(0.0, (m.start_ns + step_ns / 2 - since_ns) / reach)), _PAD + height * (1 - m.mean), m)
        for m in moments
    ]  # fmt: skip
    drawn = [
        element("line", x1=_PAD, y1=_PAD + height * (1 - floor), x2=WIDTH - _PAD, y2=_PAD + height * (1 - floor), class_="grid")
        for floor in (1.0, 0.75, 0.35)
    ]  # fmt: skip
    line, before = "", None
    for x, y, m in points:
        joined = before is not None and m.start_ns - before <= step_ns
        line += f"{'L' if joined else 'M'}{x:.1f} {y:.1f}"
        before = m.start_ns
    if line:
        drawn.append(path(line, class_="line"))
    drawn += [
        element(
            "circle",
            element("title", f"{words.moment(m.start_ns)} UTC: {words.score(m.mean)} over {words.counted(m.scored, 'handoff')}"),
            cx=round(x, 1), cy=round(y, 1), r=2.5, class_=f"point {grade_class(grade_of(m.mean))}",
        )
        for x, y, m in points
    ]  # fmt: skip
    if not moments:
        detail = "Nothing was scored in this time."
    else:
        means = [m.mean for m in moments]
        detail = f"From {words.score(means[0])} to {words.score(means[-1])}; least {words.score(min(means))}, most {words.score(max(means))}."
    return picture(WIDTH, HEIGHT, title, detail, drawn, "series")


def bar(share: float, class_: str, width: int = 72) -> Markup:
    """An amount from 0 to 1, without words of its own: the figure stands beside it."""
    filled = round(width * min(1.0, max(0.0, share)), 1)
    return element(
        "svg",
        element("rect", x=0, y=0, width=width, height=6, rx=3, class_="track"),
        element("rect", x=0, y=0, width=filled, height=6, rx=3, class_=f"fill {class_}"),
        class_="bar", aria_hidden="true", viewBox=f"0 0 {width} 6", width=width, height=6,
    )  # fmt: skip


def stacked(parts: Sequence[tuple[str, int, str]], title: str, width: int = 720) -> Markup:
    """Amounts of a whole beside each other: (name, amount, class), in order."""
    whole = sum(amount for _, amount, _ in parts)
    drawn, x = [], 0.0
    for name, amount, class_ in parts:
        if amount:
            wide = width * amount / whole
            drawn.append(
                element("rect", element("title", f"{name}: {words.count(amount)}"), x=round(x, 1), y=0,
                        width=round(max(1.0, wide - 1.5), 1), height=14, class_=class_)
            )  # fmt: skip
            x += wide
    detail = "; ".join(f"{name}: {words.count(amount)}" for name, amount, _ in parts)
    return picture(width, 14, title, detail, drawn, "stacked", preserveAspectRatio="none")
