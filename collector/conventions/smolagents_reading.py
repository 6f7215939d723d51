"""The text in which smolagents gives a managed agent its task, whoever recorded it.

Separate from the mappers because two instrumentations record the same text.
"""

from __future__ import annotations

import re
from typing import Any

from collector.facts import values

_TEMPLATE = re.compile(r"\n---\nTask:\n(?P<task>.*)\n---\n", re.S)
_MORE = re.compile(r"\nYou have been provided with these additional arguments[^\n]*:\n(?P<more>\{.*\})\.?\s*\Z", re.S)


def task(text: str) -> str:
    """The task without the manager's template."""
    inside = _TEMPLATE.search(text)
    return inside.group("task") if inside else text


def unwrapped(value: Any) -> Any:
    """The task and the additional arguments behind it, where a text is made by the template; else what it was."""
    if not isinstance(value, str) or not _TEMPLATE.search(value):
        return value
    more = _MORE.search(value)
    given = values.parse(more.group("more")) if more else None
    return {"task": task(value), **(given if isinstance(given, dict) else {})}
