"""SVG as text: elements with everything in them escaped.

Separate so that no picture builds markup by hand: names of agents and fields are hostile input, and here is the one place they pass.
Attributes are presentation attributes and classes; never `style`, which the content policy forbids.
"""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

Value = str | int | float


def element(name: str, *children: str | Markup, **attributes: Value) -> Markup:
    """One element. A child that is not Markup is text; `class_` and `stroke_width` are written `class` and `stroke-width`.

    >>> element("text", "a<b", x=1.50, class_="v")
    Markup('<text x="1.5" class="v">a&lt;b</text>')
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_number(value))}"' for key, value in attributes.items()
    )
    inner = Markup("").join(escape(child) for child in children)
    return Markup(f"<{name}{written}>{inner}</{name}>" if inner else f"<{name}{written}/>")  # noqa: S704 - all of it escaped


def picture(
    width: float, height: float, title: str, detail: str, parts: Iterable[Markup], class_: str, **more: Value
) -> Markup:
    """A whole picture of that size in CSS pixels, which a screen reader reads as one image with this title and detail."""
    return element(
        "svg",
        element("title", title),
        element("desc", detail),
        Markup("").join(parts),
        class_=class_,
        role="img",
        aria_label=f"{title}. {detail}",
        viewBox=f"0 0 {_number(width)} {_number(height)}",
        width=width,
        height=height,
        **more,
    )


def path(points: str, **attributes: Value) -> Markup:
    """A path."""
    return element("path", d=points, **attributes)


def text(x: float, y: float, words: str, class_: str, anchor: str = "start") -> Markup:
    """Words whose baseline is at y."""
    return element("text", words, x=x, y=y, class_=class_, text_anchor=anchor)


def fitted(words: str, width: float, per_character: float = 6.6) -> str:
    """Words cut to about a width.

    >>> fitted("planner", 100), fitted("a-very-long-agent-name", 60)
    ('planner', 'a-very-l…')
    """
    room = max(1, int(width / per_character))
    return words if len(words) <= room else words[: room - 1].rstrip() + "…"


def badge(x: float, y: float, grade: str, contracted: bool) -> Markup:
    """A grade's letter on its colour, centred; a dash where there is no grade."""
    return element(
        "g",
        element("rect", x=x - 9, y=y - 9, width=18, height=18, rx=5, class_=f"badge {grade_class(grade, contracted)}"),
        text(x, y + 4, grade or "–", "letter", "middle"),
    )


def grade_class(grade: str, contracted: bool = True) -> str:
    """The class that colours a grade; without a contract nothing was asked for, so no colour praises what was handed over."""
    return f"g-{grade.lower()}" if grade and contracted else "g-none"


def _number(value: Value) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
