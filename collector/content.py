"""What of the values that agents passed outlives a session: all, their hashes, or nothing but the names.

Separate from the pipeline because it is a promise about content, and has to be checked as one.

Rules:
- outcomes do not change: an empty value stays itself, a name stays a name;
- `hashed`: equal values have equal hashes under one key, so that a value can be followed over handoffs without being known;
- `names`: a marker stands for every value, and no text of a turn or reason stays.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

from collector.report import ContentPolicy
from orbitrelay import dumps_line

MARKER: Final = "[not kept]"
HASH_PREFIX: Final = "blake2b:"


def apply_policy(document: dict[str, Any], policy: ContentPolicy, hash_key: bytes = b"") -> dict[str, Any]:
    """Return the trace document with its content as the policy keeps it. `hash_key`: at most 64 bytes."""
    if policy == "full":
        return document

    def kept(value: Any) -> Any:
        if policy == "names":
            return MARKER
        digest = hashlib.blake2b(dumps_line(value), digest_size=16, key=hash_key[:64])
        return HASH_PREFIX + digest.hexdigest()

    def text(value: Any) -> Any:
        return kept(value) if value else value

    return {
        **document,
        "turns": [{**turn, "text": text(turn.get("text"))} for turn in document["turns"]],
        "handoffs": [
            {
                **handoff,
                "reason": text(handoff["reason"]),
                "fields": [
                    field
                    if _is_empty(field["value"])
                    else {**field, "value": kept(field["value"]), "state": "redacted"}
                    for field in handoff["fields"]
                ],
            }
            for handoff in document["handoffs"]
        ],
    }


def _is_empty(value: Any) -> bool:
    """Empty as the analysis has it: null, "", [] and {}; 0 and false are not."""
    return value is None or (isinstance(value, (str, list, tuple, dict)) and not value)
