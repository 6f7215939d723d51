"""What the classic AG2 package's own names mean, whoever recorded them: its helpers, and its numbered tools that hand over.

Separate from the mappers because two instrumentations record the same group chats.
"""

from __future__ import annotations

import re

import msgspec

from collector.facts import Message

EXECUTOR = "_Group_Tool_Executor"
HELPERS = frozenset({"_User", "checking_agent", "speaker_selection_agent"})
"""Made by the package itself: the user's stand-in, and two that pick who speaks."""

NUMBERED = re.compile(r"^(?P<tool>transfer_to_.+)_\d+$")
_TO = re.compile(r"^Transfer to (?P<target>.+)$")


def handed_to(tool: str, answer: object) -> str:
    """Whom one of the package's own tools handed over to, as its answer says."""
    found = _TO.match(answer) if NUMBERED.match(tool) and isinstance(answer, str) else None
    return found.group("target") if found else ""


def said(messages: tuple[Message, ...] | None) -> tuple[Message, ...] | None:
    """The answer with the names of its calls as they name agents: without their numbers."""
    if messages is None or not any(m.calls for m in messages):
        return messages
    return tuple(
        msgspec.structs.replace(
            m, calls=tuple(msgspec.structs.replace(c, name=NUMBERED.sub(r"\g<tool>", c.name)) for c in m.calls)
        )
        for m in messages
    )
