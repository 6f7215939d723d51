"""Parts of sentences that every section of the dossier shares: a handoff, a score, a value, a list of names.

Separate from the sections so that one thing is called the same in all of them. Whatever comes from the trace is in a
code span.
"""

from __future__ import annotations

from collections.abc import Sequence

from .exact import float_text
from .jsonout import dumps_line
from .model import Handoff, Json
from .scoring import HandoffScore
from .text import code

NAMES_SHOWN = 12
"""Names that one list shows before it says how many more there are."""

VALUE_LIMIT = 80
"""Characters of one value that a note shows."""


def value(data: Json) -> str:
    """Show a JSON value: text as it is, anything else as compact JSON."""
    if isinstance(data, str):
        return code(data, VALUE_LIMIT)
    return code(dumps_line(data).decode()[:-1], VALUE_LIMIT)


def arrow(handoff: Handoff) -> str:
    """Name a handoff: its id, and from whom to whom."""
    return f"{code(handoff.handoff_id)} {code(handoff.source_agent)} -> {code(handoff.target_agent)}"


def score(found: HandoffScore) -> str:
    """Show a score with its grade."""
    return f"{float_text(found.score)} ({found.grade})" if found.score is not None else "not scored"


def names(listed: Sequence[str]) -> str:
    """List names, the first ones of many."""
    return more([code(name) for name in listed[:NAMES_SHOWN]], len(listed))


def more(shown: Sequence[str], total: int, separator: str = ", ") -> str:
    """List what is shown, and say how many more there are."""
    rest = f"{separator}and {total - len(shown)} more" if total > len(shown) else ""
    return separator.join(shown) + rest


def count(number: int, noun: str) -> str:
    """Count a noun: `1 handoff`, `2 handoffs`."""
    return f"{number} {noun}" + ("" if number == 1 else "s")
