"""Names as contracts see them: snake_case, and the role an agent's name stands for.

Separate from the contract model because recovery needs both where there is no contract at all.
"""

from __future__ import annotations

import re
import unicodedata

_SEPARATORS = re.compile(r"[\s.\-]+")
_TRAILING = re.compile(r"(?:_agent|_?[0-9]+)$")


def snake_case(name: str) -> str:
    """Return `name` in snake_case: `rootCause` and `Root-Cause` are both `root_cause`.

    Splits only between a lower-case letter or digit and a capital (`HTTPServer` is `httpserver`), turns each run of
    space, `-` and `.` into one `_`, lowers the case and keeps every other character. Space around a name is no part of
    it, and a letter and its accent are one character however they were written (NFC).
    """
    name = name.strip() if name.isascii() else unicodedata.normalize("NFC", name.strip())
    parts: list[str] = []
    before = ""
    for char in name:
        if char.isupper() and (before.islower() or before.isdigit()):
            parts.append("_")
        parts.append(char)
        before = char
    return _SEPARATORS.sub("_", "".join(parts)).lower()


def role_of_name(agent_name: str) -> str:
    """Return the role that a name alone gives: snake_case without trailing `_agent` or numbers.

    `Gutachter-Agent 2` is `gutachter`, `eng-1` is `eng`; a name that is nothing else (`agent`, `007`) stays whole.
    """
    role = snake_case(agent_name)
    while (shorter := _TRAILING.sub("", role)) != role and shorter:
        role = shorter
    return role
