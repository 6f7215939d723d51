"""Untrusted text made safe to show: in a message on a terminal, and in Markdown.

Separate because everything a trace says may be hostile, and one place decides what a reader gets to see of it:

- what has no glyph of its own, or changes how its neighbours are shown (controls, terminal escapes, bidirectional
  marks, zero-width characters, line and paragraph separators, lone surrogates), is shown as its JSON-like escape,
  `\\u202e`;
- in Markdown untrusted text stands only in code spans and code blocks, where nothing is active, and the two
  characters that could end one (the backtick) or split a table cell (the pipe) are shown as escapes too;
- long text is cut, and says by how much.

The characters are listed by code point, not taken from a Unicode database, whose version differs between
interpreters.
"""

from __future__ import annotations

import re

_INVISIBLE = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ud800-\udfff\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
_UNSEEN = f"[{_INVISIBLE}]"  # compiled when first used: a command that shows no text from a trace never does
_UNSAFE_IN_CODE = f"[{_INVISIBLE}`|]"

MESSAGE_LIMIT = 80
"""Characters of one value that a message shows."""

DOSSIER_LIMIT = 120
"""Characters of one value that a dossier shows."""


def _escape(match: re.Match[str]) -> str:
    point = ord(match[0])
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"


def cut(text: str, limit: int) -> str:
    """Shorten text to `limit` characters, with how many are left out; text that fits stays as it is."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}... (+{len(text) - limit} characters)"


def visible(text: str, limit: int | None = None) -> str:
    """Show text on one line of a terminal: nothing in it moves the cursor, hides or reorders.

    >>> visible("a\\x1b[31mb")
    'a\\\\u001b[31mb'
    """
    shown = text if limit is None else cut(text, limit)
    if shown.isascii() and shown.isprintable():
        return shown
    return re.sub(_UNSEEN, _escape, shown)


def quoted(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """Show text in a message, in single quotes, safe for a terminal and cut to `limit` characters."""
    if len(text) <= limit:
        return f"'{visible(text)}'"
    return f"'{visible(text[:limit])}'... (+{len(text) - limit} characters)"


def plain(text: str, limit: int = DOSSIER_LIMIT) -> str:
    """Show text inside a Markdown code block or code span: one line, with no backtick and no pipe."""
    shown = cut(text, limit)
    if shown.isascii() and shown.isprintable() and "`" not in shown and "|" not in shown:
        return shown
    return re.sub(_UNSAFE_IN_CODE, _escape, shown)


def code(text: str, limit: int = DOSSIER_LIMIT) -> str:
    """Show text as a Markdown code span that stands anywhere, in a table cell too; empty text is `(empty)`.

    >>> code("goal"), code("a|b`c"), code("")
    ('`goal`', '`a\\\\u007cb\\\\u0060c`', '(empty)')
    """
    return f"`{plain(text, limit)}`" if text else "(empty)"
