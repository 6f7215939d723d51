"""How figures and untrusted text are written on the page.

Separate because the same duration or score stands in a table, in a picture and in a tooltip, and must read alike in all of them.

Rules:
- text from telemetry goes through `shown` or `block`: what has no glyph or reorders its neighbours is shown as its escape, and long text is cut;
- escaping for HTML is not done here: the templates and svg.py do that to everything;
- what is not known is a dash, never a zero.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from orbitrelay import Number, dumps_line
from orbitrelay.model import Json
from orbitrelay.text import cut, visible

NOT_KNOWN: Final = "–"
NAME_LIMIT: Final = 80
VALUE_LIMIT: Final = 600
ADDRESS_LIMIT: Final = 500
_STEPS: Final = (("d", 86_400), ("h", 3_600), ("min", 60))


def shown(text: str, limit: int = NAME_LIMIT) -> str:
    """Untrusted text on one line.

    >>> shown("a\\nb"), shown("x" * 90, 4)
    ('a\\\\u000ab', 'xxxx... (+86 characters)')
    """
    return visible(text, limit)


def block(text: str, limit: int = VALUE_LIMIT) -> str:
    """Untrusted text that keeps its lines and tabs."""
    return "\n".join("\t".join(visible(part) for part in line.split("\t")) for line in cut(text, limit).split("\n"))


def addressable(name: str) -> bool:
    """Whether a name that can be asked for is short enough to stand in an address; a page does not offer the others."""
    return len(name) <= ADDRESS_LIMIT


def value_text(value: Json) -> str:
    """A field's value as text: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else dumps_line(value).decode()[:-1]


def score(value: float | None) -> str:
    """A completeness, rounded down to two decimals, so that what is written never earns a better grade than it has.

    >>> score(0.899999), score(1.0), score(None)
    ('0.89', '1.00', '–')
    """
    return NOT_KNOWN if value is None else f"{int(value * 100 + 1e-7) / 100:.2f}"


def milliseconds(value: float | int | Number | None) -> str:
    """A latency.

    >>> [milliseconds(v) for v in (None, 0.4, 12.34, 950, 1500, 75_000, 7_300_000)]
    ['–', '0.4 ms', '12 ms', '950 ms', '1.5 s', '1 min 15 s', '2 h 1 min']
    """
    if value is None:
        return NOT_KNOWN
    number = float(value)
    if number < 10:
        return f"{number:.1f} ms".replace(".0 ", " ")
    if number < 999.5:
        return f"{number:.0f} ms"
    seconds = number / 1000
    if seconds < 60:
        return f"{seconds:.1f} s".replace(".0 ", " ")
    whole = round(seconds)
    for place, (unit, size) in enumerate(_STEPS):
        if whole >= size:
            rest, (small, width) = whole % size, ((*_STEPS, ("s", 1))[place + 1])
            return f"{whole // size} {unit}" + (f" {rest // width} {small}" if rest // width else "")
    raise AssertionError("a minute or more is a minute or more")


def span(first_ns: int, last_ns: int) -> str:
    """The time from one moment to another; not known where one is not."""
    return milliseconds((last_ns - first_ns) / 1_000_000 if first_ns and last_ns >= first_ns else None)


def count(number: int | None) -> str:
    """A whole number with its thousands set apart.

    >>> count(1234567), count(None)
    ('1\\u202f234\\u202f567', '–')
    """
    return NOT_KNOWN if number is None else f"{number:,}".replace(",", "\u202f")


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number and what it counts.

    >>> counted(1, "handoff"), counted(2, "handoff"), counted(2, "loss", "losses")
    ('1 handoff', '2 handoffs', '2 losses')
    """
    return f"{count(number)} {noun if number == 1 else plural or noun + 's'}"


def moment(ns: int) -> str:
    """A time in UTC to the second, as people read it; "" where it is not known."""
    return _at(ns).strftime("%Y-%m-%d %H:%M:%S") if ns else ""


def iso(ns: int) -> str:
    """A time as `<time datetime>` has it; "" where it is not known."""
    return _at(ns).strftime("%Y-%m-%dT%H:%M:%SZ") if ns else ""


def _at(ns: int) -> datetime:
    try:
        return datetime.fromtimestamp(ns // 1_000_000_000, UTC)
    except (OverflowError, ValueError, OSError):  # a clock of a sender, beyond the year 9999
        return datetime.max.replace(tzinfo=UTC)
