"""Text from telemetry on its way out: bounded, encodable, without control characters.

Separate because every face of the results passes names through it.
"""

from __future__ import annotations


def clean(text: str, limit: int) -> str:
    """Return `text` fit for an attribute value: at most `limit` characters, the last one `…` where it was cut.

    What is not printable (control characters, lone surrogates, direction marks) becomes `\N{REPLACEMENT CHARACTER}`.
    """
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return text if text.isprintable() else "".join(char if char.isprintable() else "\ufffd" for char in text)
