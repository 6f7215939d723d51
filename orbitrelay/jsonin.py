"""Strict JSON: bytes, or Python data, become JSON data that is certain to be well formed, or an error.

Separate from the loader because contracts are read by it too, and because it knows JSON but no trace. What it gives
holds: text without lone surrogates, no key twice in one object, numbers that are finite and in range, at most 100
levels.

Parsing is left to the standard library's scanner. What that one would let through is only remarked while it runs,
and sought out with its path afterwards, so that a sound document pays next to nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from .exact import MAX_DIGITS, MINUS_ZERO, MinusZero, Number, float_text, integer_of
from .text import quoted, visible

MAX_DEPTH = 100
"""Objects and arrays that may be open at once, the document itself being the first."""

NESTING = f"nesting over {MAX_DEPTH}"

Path = tuple[str | int, ...]

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]|[\]}]', re.DOTALL)
_SPACE = re.compile("[ \t\n\r]*")
_PROBLEMS = (
    ("Expecting value", "expected a value"),
    ("Expecting property name", "expected a key in double quotes"),
    ("Expecting ':'", "expected ':'"),
    ("Expecting ','", "expected ',' or the end of the array or object"),
    ("Extra data", "expected the end"),
    ("Unterminated string", "the string that begins here does not end"),
    ("Invalid control character", "a control character in a string must be escaped"),
    ("Invalid \\", "no such escape"),
)
_BOM = b"\xef\xbb\xbf"
_ZERO = frozenset("-0.")
_DEEP = "7" * (MAX_DIGITS + 7)  # stands in text for what was too deep; an integer that no document may hold itself
_INTEGER_LIMIT = 10**MAX_DIGITS


class MalformedError(Exception):
    """Bytes that are not JSON, with the line and the column of the first fault, both counted from 1."""

    def __init__(self, line: int, column: int, problem: str) -> None:
        super().__init__(f"line {line} column {column}: {problem}")


class FaultError(Exception):
    """JSON that no trace may hold, with the path to the value at fault and the whole document."""

    def __init__(self, path: Path, problem: str, document: Any) -> None:
        super().__init__(problem)
        self.path = path
        self.problem = problem
        self.document = document


class _Fault:
    """Stands in parsed data for a number that is none."""

    __slots__ = ("problem",)

    def __init__(self, problem: str) -> None:
        self.problem = problem


def parse(data: bytes, first_line: int = 1) -> Any:
    """Read one JSON value.

    Args:
        data: UTF-8, with or without a byte order mark.
        first_line: The number of its first line, for messages.

    Raises:
        MalformedError: It is not JSON, or not UTF-8.
        FaultError: It is JSON, but breaks a rule of this module.
    """
    start = len(_BOM) if data.startswith(_BOM) else 0
    try:
        text = data[start:].decode() if start else data.decode()
    except UnicodeDecodeError as error:
        sound = error.object[: error.start].decode()
        line, column = _line_and_column(sound, len(sound))
        problem = f"malformed JSON: byte 0x{error.object[error.start]:02x} is not UTF-8"
        raise MalformedError(first_line + line - 1, column, problem) from None
    if not text.strip(" \t\n\r"):
        raise MalformedError(first_line, 1, "malformed JSON: expected an object, found nothing")
    reader = _Reader()
    try:
        value = reader.decode(text)
    except json.JSONDecodeError as error:
        _refuse_deep_text(text, first_line, error.pos)
        position, problem = _in_our_words(text, error)
        line, column = _line_and_column(text, position)
        raise MalformedError(first_line + line - 1, column, f"malformed JSON: {problem}") from None
    except RecursionError:
        _refuse_deep_text(text, first_line, len(text))
        raise MalformedError(first_line, 1, "the stack has no room left to read it") from None
    if reader.faulty or _SURROGATE_ESCAPE.search(data):
        refuse_deep(value, data, first_line)
        _refuse_faults(value, reader)
    return value


def refuse_deep(value: Any, data: bytes, first_line: int) -> None:
    """Raise `FaultError` when a parsed value has over `MAX_DEPTH` levels.

    `parse` leaves that to its caller, who walks the parts of free form anyway. When something else is wrong too, this comes
    first: the scanner's own limit on depth differs between interpreters, and must not decide which fault is reported.
    """
    if too_deep(value, MAX_DEPTH):
        text = data.decode("utf-8-sig")
        _refuse_deep_text(text, first_line, len(text))


def _refuse_deep_text(text: str, first_line: int, end: int) -> None:
    """Raise an error when JSON text opens over `MAX_DEPTH` objects and arrays before `end`.

    What is too deep is taken out of the text, however deep it is, and the rest is read for the path to it: `FaultError`. Where
    the rest is no JSON either, all that is left to name is the place: `MalformedError`.
    """
    depth = 0
    pieces: list[str] = []
    start = 0
    first = -1
    for match in _BRACKET.finditer(text):
        mark = match[0]
        if mark in "[{":
            depth += 1
            if depth == MAX_DEPTH + 1:
                if first < 0:
                    first = match.start()
                pieces += text[start : match.start()], _DEEP
        elif mark in "]}":
            depth -= 1
            if depth == MAX_DEPTH:
                start = match.end()
    if not 0 <= first < end:
        return
    reader = _Reader()
    try:
        value = reader.decode("".join(pieces) + (text[start:] if depth <= MAX_DEPTH else ""))
    except (json.JSONDecodeError, RecursionError):
        line, column = _line_and_column(text, first)
        raise MalformedError(first_line + line - 1, column, NESTING) from None
    _refuse_faults(value, reader)


class _Reader:
    """The scanner of the standard library with hooks that remark what it lets through."""

    def __init__(self) -> None:
        self.faulty = False
        self.twice: list[tuple[dict[str, Any], str]] = []
        self.decode = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_float=self._decimal,
            parse_int=self._integer,
            parse_constant=self._constant,
        ).decode

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            self.faulty = True
            seen = set()
            for key, _ in pairs:
                if key in seen:
                    self.twice.append((made, key))
                    break
                seen.add(key)
        return made

    def _integer(self, text: str) -> int | _Fault:
        if len(text) < MAX_DIGITS // 2:
            return int(text) if text != "-0" else MINUS_ZERO
        if text == _DEEP:
            return self._fault(NESTING)
        if len(text) - (text[0] == "-") > MAX_DIGITS:
            return self._fault(f"is an integer of over {MAX_DIGITS} digits")
        return integer_of(text)

    def _decimal(self, text: str) -> Number | _Fault:
        problem = _decimal_problem(text)
        return Number(text) if problem is None else self._fault(problem)

    def _constant(self, text: str) -> _Fault:
        return self._fault(f"is {text}, which is no JSON number")

    def _fault(self, problem: str) -> _Fault:
        self.faulty = True
        return _Fault(problem)


def _decimal_problem(text: str) -> str | None:
    """Say why a decimal is refused: it must be, as a binary64, finite, and zero only if it is written as zero."""
    value = float(text)
    if value - value != 0.0:
        return f"is {quoted(text, 40)}, a number out of range"
    if len(text) > MAX_DIGITS and sum(c.isdigit() for c in text) > MAX_DIGITS:
        return f"is a number of over {MAX_DIGITS} digits"
    if value == 0.0 and not _ZERO.issuperset(re.split("[eE]", text, maxsplit=1)[0]):
        return f"is {quoted(text, 40)}, a number out of range"
    return None


def clean(document: Any) -> Any:
    """Give Python data as the JSON data that `parse` would give.

    Mappings become dicts, lists and tuples lists, and a float the number with its shortest digits in fixed point.

    Raises:
        FaultError: Something in it is not JSON, or breaks a rule of this module.
    """
    return _clean(document, (), document)


def _clean(value: Any, path: Path, document: Any) -> Any:
    kind = value.__class__
    if kind is str:
        if not value.isascii() and _SURROGATE.search(value):
            raise FaultError(path, "holds a lone surrogate", document)
        return value
    if value is None or kind is bool:
        return value
    if isinstance(value, int):
        if not -_INTEGER_LIMIT < value < _INTEGER_LIMIT:
            raise FaultError(path, f"is an integer of over {MAX_DIGITS} digits", document)
        return value if kind is int or kind is MinusZero else int(value)
    if isinstance(value, float):
        if value - value != 0.0:
            raise FaultError(path, f"is {_constant_name(value)}, which is no JSON number", document)
        return Number(float_text(value))
    if isinstance(value, Number):
        if not _NUMBER.fullmatch(value.text):
            raise FaultError(path, f"is {quoted(value.text)}, which is no JSON number", document)
        problem = _decimal_problem(value.text)
        if problem is not None:
            raise FaultError(path, problem, document)
        return value
    if isinstance(value, str):
        return _clean(str.__str__(value), path, document)
    if isinstance(value, (list, tuple, Mapping)):
        if len(path) >= MAX_DEPTH:
            raise FaultError(path, NESTING, document)
        if isinstance(value, (list, tuple)):
            return [_clean(item, (*path, i), document) for i, item in enumerate(value)]
        made = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise FaultError(path, f"has a key that is no text but {describe(key)}", document)
            if not key.isascii() and _SURROGATE.search(key):
                raise FaultError(path, f"has a key {quoted(key)} with a lone surrogate", document)
            made[str.__str__(key)] = _clean(item, (*path, key), document)
        return made
    raise FaultError(path, f"is a Python {quoted(kind.__name__)}, which JSON does not have", document)


_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)")


def _constant_name(value: float) -> str:
    return "Infinity" if value > 0 else "-Infinity" if value < 0 else "NaN"


def too_deep(value: Any, room: int) -> bool:
    """Tell whether more than `room` objects and arrays of a value are open at once."""
    if isinstance(value, dict):
        return room < 1 or any(too_deep(item, room - 1) for item in value.values() if isinstance(item, dict | list))
    if isinstance(value, list):
        return room < 1 or any(too_deep(item, room - 1) for item in value if isinstance(item, dict | list))
    return False


def describe(value: Any) -> str:
    """Name a JSON value in a message: `null`, `true`, `number 7`, `string 'x'`, `an array`, `an object`."""
    if value is None:
        return "null"
    if value.__class__ is bool:
        return "true" if value else "false"
    if isinstance(value, str):
        return f"string {quoted(value, 40)}"
    if isinstance(value, Number):
        return f"number {quoted(value.text, 40)[1:-1]}" if len(value.text) <= 40 else "a long number"
    if isinstance(value, int):
        return f"number {value}" if value.bit_length() < 128 else "a long number"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    return f"a Python {value.__class__.__name__}"


def _refuse_faults(document: Any, reader: _Reader) -> None:
    """Raise `FaultError` for the first fault of a parsed document, in its order."""
    twice = {id(made): key for made, key in reader.twice}
    for path, problem in _faults(document, (), twice):
        raise FaultError(path, problem, document)


def _faults(value: Any, path: Path, twice: dict[int, str]) -> Iterator[tuple[Path, str]]:
    """Walk a parsed document in its order and yield what is wrong, with the path to it."""
    if isinstance(value, str):
        if _SURROGATE.search(value):
            yield path, "holds a lone surrogate"
    elif isinstance(value, _Fault):
        yield path, value.problem
    elif isinstance(value, dict | list):
        if len(path) >= MAX_DEPTH:
            yield path, NESTING
        elif isinstance(value, list):
            for i, item in enumerate(value):
                yield from _faults(item, (*path, i), twice)
        else:
            if id(value) in twice:
                yield path, f"has the key {quoted(twice[id(value)])} twice"
            for key, item in value.items():
                if _SURROGATE.search(key):
                    yield path, f"has a key {quoted(key)} with a lone surrogate"
                yield from _faults(item, (*path, key), twice)


def _line_and_column(text: str, position: int) -> tuple[int, int]:
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


def _in_our_words(text: str, error: json.JSONDecodeError) -> tuple[int, str]:
    """Give place and problem of a fault of syntax, the same ones under every version of the scanner."""
    position = error.pos
    message = error.msg
    if message.startswith("Illegal trailing comma"):  # from 3.13 on; before, what follows the comma is at fault
        position = _SPACE.match(text, position + 1).end()  # type: ignore[union-attr]
        message = "Expecting value" if text[position : position + 1] == "]" else "Expecting property name"
    problem = next((ours for theirs, ours in _PROBLEMS if message.startswith(theirs)), visible(message))
    if problem.startswith("expected"):
        found = quoted(text[position]) if position < len(text) else "the end"
        problem = f"{problem}, found {found}"
    return position, problem
