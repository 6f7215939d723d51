"""What the decoders share about values: ids, limits and how a value over a limit is cut.

Apart from both encodings so that a span says the same whichever of them it came in.

Rules:
- an id is bytes on the wire and lower-case hex here; all zeros is no id (W3C Trace Context, OTLP);
- a limit never costs a span: what is over it is cut, and `<key>.truncated` says so (the key CrewAI uses for the same).
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

import msgspec

TRACE_ID_BYTES = 16
SPAN_ID_BYTES = 8
NO_TRACE_ID = "0" * 32
NO_SPAN_ID = "0" * 16
TRUNCATED = ".truncated"

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
UINT64_MAX = 2**64 - 1

_HEX = re.compile(r"[0-9a-fA-F]*")


class Limits(msgspec.Struct, frozen=True):
    """How much of one attribute is kept.

    `length` counts characters of a string (bytes of a byte string), `depth` lists and maps within each other; 1 is a
    list of scalars. The wire itself is bounded apart from this: protobuf messages nest at most 100 deep.
    """

    length: int = 4 * 1024 * 1024
    depth: int = 40


DEFAULT_LIMITS = Limits()
UNLIMITED = Limits(length=INT64_MAX, depth=40)  # what nests deeper than 40 no protobuf parser would take back


def id_from_text(text: str, size: int) -> str | None:
    """The hex id that `text` stands for, or None when it stands for none of `size` bytes.

    OTLP/JSON says hex; stock protobuf-JSON printers write base64. Their lengths never meet, so both are read. An id of
    zeros is returned as zeros: what that means is for the caller.
    """
    if len(text) == 2 * size:
        return text.lower() if _HEX.fullmatch(text) else None
    bare = text.rstrip("=")
    if len(bare) != -(-size * 8 // 6) or not bare.isascii():
        return None
    try:
        raw = base64.b64decode(bare.translate({45: 43, 95: 47}) + "=" * (-len(bare) % 4), validate=True)
    except binascii.Error:
        return None
    return raw.hex()


def cut_value(value: Any, limits: Limits, depth: int = 0) -> tuple[Any, bool]:
    """`value` within the limits, and whether anything was cut from it."""
    if isinstance(value, str | bytes):
        return (value[: limits.length], True) if len(value) > limits.length else (value, False)
    if not isinstance(value, list | dict):
        return value, False
    if depth >= limits.depth:
        return None, True
    items = value.items() if isinstance(value, dict) else enumerate(value)
    kept = {key: cut_value(item, limits, depth + 1) for key, item in items}
    cut = any(was for _, was in kept.values())
    if isinstance(value, dict):
        return {key: item for key, (item, _) in kept.items()}, cut
    return [item for item, _ in kept.values()], cut
