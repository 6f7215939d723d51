"""The text in which smolagents gives a managed agent its task, whoever recorded it.

Separate from the mappers because two instrumentations record the same text.
"""

from __future__ import annotations

import re
from typing import Any

from collector.facts import values

_TEMPLATE = re.compile(r"\n---\nTask:\n(?P<task>.*)\n---\n", re.S)
_NAMED = re.compile(r"^You're a helpful agent named '(?P<name>[^\n]{1,200}?)'\.\n")
_MORE = re.compile(r"\nYou have been provided with these additional arguments[^\n]*:\n(?P<more>\{.*\})\.?\s*\Z", re.S)


def task(text: str) -> str:
    """The task without the manager's template."""
    inside = _TEMPLATE.search(text)
    return inside.group("task") if inside else text


def name(text: str) -> str:
    """The name by which the template speaks to the agent, or ""."""
    found = _NAMED.match(text)
    return found.group("name") if found else ""


def unwrapped(value: Any) -> Any:
    """The task and the additional arguments behind it, where a text is made by the template; else what it was."""
    if not isinstance(value, str) or not _TEMPLATE.search(value):
        return value
    more = _MORE.search(value)
    given = values.parse(more.group("more")) if more else None
    return {"task": task(value), **(given if isinstance(given, dict) else {})}
