"""Reads a value out of recorded content: JSON in JSON, Python literals, labelled prose; and tells what is redacted or cut.

Separate from the graph because it is the same for every producer. Every reader is linear, bounded in depth and never raises on content.
"""

from __future__ import annotations

import ast
import base64
import json
import math
import re
from typing import Any

MAX_LAYERS = 3
"""How many times text inside text is read as JSON or as a Python literal (what producers are known to nest)."""

_MAX_LITERAL = 1_000_000
_REDACTED = re.compile(
    r"[<\[_*({]{1,3}\s*(?:redacted|masked|filtered|hidden|scrubbed)(?![a-z0-9])[^\n]{0,60}?[>\]_*)}]{1,3}", re.I
)
_MARKS = "<[_*({█R"
_BARE = re.compile(r"[*█]{3,}|REDACTED")
_FENCE = re.compile(r"\A\s*```[a-z0-9]*[ \t]*\n(?P<inside>[^`]*)\n[ \t]*```\s*\Z", re.I)
_LABEL = re.compile(
    r"^[ \t>*_#-]{0,6}(?:\d{1,2}[.)][ \t]+[*_]{0,2})?(?P<label>[^\W\d_][^:\n{}\[\]\"`|=<>]{0,38}?)[*_]{0,2}[ \t]*:[*_]{0,2}(?:[ \t]+(?P<value>.*))?$"
)
_HEADING = re.compile(r"^#{1,6}[ \t]+(?P<label>[^\n]{1,40}?)[ \t]*#*$")
_MAX_LABEL_WORDS = 4
_OBJECT = re.compile(r'\{\s*"')
_MOST_OBJECTS = 16


def is_redacted(value: Any) -> bool:
    """Whether the whole value is a marker that a producer puts in place of content (`__REDACTED__`, `<REDACTED>`, `[REDACTED]`, `***`)."""
    return (
        isinstance(value, str)
        and 0 < len(value) <= 80
        and value.lstrip()[:1] in _MARKS
        and (_REDACTED.fullmatch(value.strip()) or _BARE.fullmatch(value.strip())) is not None
    )


def parse(value: Any, layers: int = MAX_LAYERS) -> Any:
    """The structure in a text (JSON, else a Python literal), up to `layers` deep; text that holds none comes back as it is."""
    while isinstance(value, str) and layers > 0:
        read = _read(value)
        if read is _NONE:
            return value
        value, layers = read, layers - 1
    return value


_NONE = object()


def _read(text: str) -> Any:
    stripped = text.strip().lstrip("\ufeff").lstrip()
    if stripped[:3] == "```" and (fence := _FENCE.match(stripped)) is not None:
        stripped = fence.group("inside").strip()
    if not stripped or stripped[0] not in '{["' or len(stripped) < 2:
        return _literal(stripped) if stripped[:1] == "(" else _NONE  # a bare word or a number stays text
    try:
        return from_json(stripped)
    except (ValueError, RecursionError):
        pass
    return _NONE if stripped[0] == '"' else _literal(stripped)


def from_json(text: str) -> Any:
    """The value of a JSON text, in the values that facts and documents can hold.

    What JSON cannot say again stands as the text that it was: NaN, Infinity, a number out of range, an integer beyond 64 bits; half of a
    surrogate pair becomes U+FFFD. Raises ValueError or RecursionError on what is no JSON.
    """
    value = _DECODER.decode(text)
    return plain(value) if "\\ud" in text or "\\uD" in text else value


def _float(text: str) -> float | str:
    value = float(text)
    return value if math.isfinite(value) else text


def _integer(text: str) -> int | str:
    if len(text) > 20:
        return text
    value = int(text)
    return value if -(2**63) <= value < 2**64 else text


_DECODER = json.JSONDecoder(parse_float=_float, parse_int=_integer, parse_constant=str)
_MAX_DEPTH = 60
_HALF = re.compile("[\ud800-\udfff]")


def plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON can hold it: bytes as base64 text, numbers that are none as text, what is nested too deep as text, no half characters."""
    if isinstance(value, str):
        return value if value.isascii() else _HALF.sub("\ufffd", value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if depth >= _MAX_DEPTH and isinstance(value, (dict, list, tuple)):
        return _HALF.sub("\ufffd", repr(value)[:_MAX_LITERAL])
    if isinstance(value, dict):  # most of what is in one is text of the usual kind: asked here, not by a call for each
        return {
            k if k.__class__ is str and k.isascii() else _HALF.sub("\ufffd", str(k)): v
            if v.__class__ is str and v.isascii()
            else plain(v, depth + 1)
            for k, v in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [v if v.__class__ is str and v.isascii() else plain(v, depth + 1) for v in value]
    return value


def _literal(text: str) -> Any:
    if len(text) > _MAX_LITERAL or text[-1] not in "}])":
        return _NONE
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return _NONE
    return plain(_of_literal(value))


def _of_literal(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _of_literal(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_of_literal(v) for v in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return value if -(2**63) <= value < 2**64 else hex(value)
    return value if value is None or isinstance(value, (str, int, float, bool, bytes)) else str(value)


def labelled(text: str) -> dict[str, str] | None:
    """The labelled lines and headings of a prose text that is a form.

    None unless two labels at least are found, each once: one colon in a sentence is no form, and a transcript has its speakers again and again.
    """
    found = labels(text)
    form = dict(found)
    return form if len(form) >= 2 and len(form) == len(found) else None


def labels(text: str) -> list[tuple[str, str]]:
    """All that reads like `Label: value` (a value may go on in the lines below), or like `## Label` and what stands under it, in order."""
    out: list[tuple[str, list[str]]] = []
    current: list[str] | None = None
    headed = False
    for line in text.splitlines():
        heading = _HEADING.match(line)
        found = heading or _LABEL.match(line)
        label = found.group("label").strip(" *_") if found else ""
        if found and label and len(label.split()) <= _MAX_LABEL_WORDS:
            current, headed = [], heading is not None
            out.append((label, current))
            value = None if heading else found.group("value")
            if value:
                current.append(value)
        elif current is not None:
            if not line.strip():
                current = current if current or headed else None  # below a heading stands a paragraph of its own
            elif line[:1] in " \t-*•" or not current:
                current.append(line)
            else:
                current = None
    return [(label, "\n".join(lines).strip()) for label, lines in out]


def inside(text: str) -> list[dict[str, Any]]:
    """The JSON objects that stand in a prose text, in order: the first few, as a text has a few."""
    out: list[dict[str, Any]] = []
    at = 0
    for _ in range(_MOST_OBJECTS):
        found = _OBJECT.search(text, at)
        if found is None:
            break
        try:
            value, at = _DECODER.raw_decode(text, found.start())
            out.append(plain(value))
        except (ValueError, RecursionError):
            at = found.end()
    return out


def is_empty(value: Any) -> bool:
    """Design section 4.2: null, "", [] and {} are empty; 0, false and " " are not."""
    return value is None or (isinstance(value, (str, list, dict)) and len(value) == 0)


def looks_cut(value: Any) -> bool:
    """Whether a text begins as JSON and stops in the middle: cut by an attribute length limit."""
    if not isinstance(value, str):
        return False
    text = value.strip()
    if text[:1] not in ("{", "[") and text[:2] not in ('"{', '"['):
        return False
    try:
        json.loads(text)
    except RecursionError:
        return False
    except json.JSONDecodeError as error:
        at_end = error.pos >= len(text) - 1 or error.msg.startswith("Unterminated string")
        in_word = any(word.startswith(text[error.pos :]) for word in ("true", "false", "null"))
        in_escape = "escape" in error.msg and error.pos >= len(text) - 6
        return (at_end or in_word or in_escape) and _literal(text) is _NONE
    except ValueError:
        return False
    return False


def opened(value: Any) -> tuple[dict[str, Any], tuple[str, ...]] | None:
    """The object in a content, and the path of keys to the value that a cut fell in: () where the object is whole.

    Of an object that was cut all entries before the cut are whole, and the one in which it fell is there as far as it goes. None: no object.
    """
    whole = parse(value)
    if isinstance(whole, dict):
        return {str(k): v for k, v in whole.items()}, ()
    if not isinstance(whole, str):
        return None
    text = whole.strip()
    for _ in range(MAX_LAYERS):
        if text[:1] != '"' or not looks_cut(text):
            break
        text = _cut_string(text)
    return _cut_object(text) if text[:1] == "{" and looks_cut(text) else None


def as_far(text: str) -> Any:
    """What a JSON object or list that was cut says before the cut; None where the text is none. A name that the cut fell in is another name: left out."""
    stripped = text.strip()
    return plain(_cut_value(stripped)) if stripped[:1] in ("{", "[") and looks_cut(stripped) else None


def _cut_value(text: str, depth: int = 0) -> Any:
    if depth < _MAX_DEPTH and text[:1] == "{":
        out, key, rest = _before_cut(text)
        if key is None or (key in _IDENTITIES and rest[:1] == '"'):
            return out
        return {**out, key: _cut_value(rest, depth + 1)}
    if depth < _MAX_DEPTH and text[:1] == "[":
        items, rest = _items_before_cut(text)
        return [*items, _cut_value(rest, depth + 1)] if rest else items
    return _cut_string(text) if text[:1] == '"' else text


_IDENTITIES = frozenset({"name", "id", "call_id", "role", "type"})


def _cut_object(text: str, depth: int = 0) -> tuple[dict[str, Any], tuple[str, ...]]:
    out, key, rest = _before_cut(text)
    if key is None:
        return plain(out), ()
    if rest[:1] == "{" and depth < _MAX_DEPTH:
        inner, path = _cut_object(rest, depth + 1)
        return plain({**out, key: inner}), (key, *path)
    return plain({**out, key: _cut_string(rest) if rest[:1] == '"' else rest}), (key,)


def _before_cut(text: str) -> tuple[dict[str, Any], str | None, str]:
    """The whole entries of a cut object, the key that the cut fell behind (None: it fell in no value), and what there is of its value."""
    out: dict[str, Any] = {}
    at = 1
    while True:
        found = _KEY.match(text, at)
        if found is None:
            return out, None, ""
        key = str(from_json(found.group("key")))
        at = found.end()
        whole = _whole_value(text, at)
        if whole is None:
            return out, key, text[at:].strip()
        out[key], at = whole


def _items_before_cut(text: str) -> tuple[list[Any], str]:
    out: list[Any] = []
    at = _SPACE.match(text, 1).end()  # type: ignore[union-attr]  # it matches nothing, too
    while at < len(text):
        whole = _whole_value(text, at)
        if whole is None:
            return out, text[at:].strip()
        value, at = whole
        out.append(value)
    return out, ""


def _whole_value(text: str, at: int) -> tuple[Any, int] | None:
    """The value that stands there and where what comes after it begins; None if the cut fell in or right behind it."""
    try:
        value, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None
    done = _NEXT.match(text, end)
    return None if done is None else (value, done.end())


def _cut_string(text: str) -> str:
    """What a JSON string that has lost its end says, without an escape that the cut fell in."""
    for lost in range(7):
        try:
            return str(from_json(text[: len(text) - lost] + '"'))
        except ValueError:
            continue
    return text


_KEY = re.compile(r'\s*(?P<key>"(?:[^"\\]|\\.)*")\s*:\s*(?=\S)', re.S)
_NEXT = re.compile(r"\s*[,}\]]\s*")
_SPACE = re.compile(r"\s*")
