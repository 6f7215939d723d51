"""Names that are none: what producers write where the program gave no name.

Separate from the values because it is about names alone, and mappers need it as well as recovery.
"""

from __future__ import annotations

import re

PLACEHOLDERS = frozenset(
    {
        "", "agent", "strands agents", "openai agent", "langgraph", "unknown_agent", "unknown", "codeagent",
        "toolcallingagent", "agent workflow", "none", "null", "runnablesequence", "agentexecutor",
    }
)  # fmt: skip
"""In lower case."""

_DIGITS = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def is_placeholder(name: str) -> bool:
    """Whether a name is none: a producer's default, or a hash or a uuid in its place."""
    text = name.strip().casefold()
    return text in PLACEHOLDERS or _DIGITS.fullmatch(text) is not None
