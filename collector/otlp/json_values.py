"""Single values of OTLP/JSON as the telemetry model holds them: attributes, numbers, times, enums and ids in every spelling.

Separate from the requests they stand in. What no type holds (an integer over 64 bits, text that is no base64) stays the text it came as.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from typing import Any

from collector.otlp.json_schema import AnyValueJson, KeyValueJson
from collector.otlp.values import INT64_MAX, INT64_MIN, TRUNCATED, UINT64_MAX, Limits, cut_value, id_from_text


class BadItemError(ValueError):
    """One item that cannot be taken: the field at fault and what is wrong with it."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field, self.reason = field, reason


def read_attributes(pairs: Sequence[KeyValueJson] | None, limits: Limits) -> dict[str, Any]:
    """Attributes by name, the last of a name; what a limit cuts is marked."""
    attributes: dict[str, Any] = {}
    length = limits.length
    for pair in pairs or ():
        key, value = pair.key or "", pair.value
        if value is not None and (text := value.string_value) is not None and len(text) <= length:
            attributes[key] = text
            continue
        attributes[key], cut = cut_value(read_value(value), limits)
        if cut:
            attributes[key + TRUNCATED] = True
    return attributes


def read_value(value: AnyValueJson | None) -> Any:
    """An AnyValue as Python. How deep it nests is bounded by `_load`."""
    if value is None:
        return None
    if value.string_value is not None:
        return value.string_value
    if value.int_value is not None:
        return integer(value.int_value)
    if value.bool_value is not None:
        return value.bool_value
    if value.double_value is not None:
        return double(value.double_value)
    if value.array_value is not None:
        return [read_value(item) for item in value.array_value.values or ()]
    if value.kvlist_value is not None:
        return {pair.key or "": read_value(pair.value) for pair in value.kvlist_value.values or ()}
    if value.bytes_value is not None:
        return read_bytes(value.bytes_value)
    return None


def integer(value: int | float | str) -> int | float | str:
    """An integer in 64 bits; what is none, or is larger, as it came."""
    whole = whole_number(value)
    if whole is None:
        return value
    return whole if INT64_MIN <= whole <= INT64_MAX else str(whole)


def whole_number(value: int | float | str) -> int | None:
    """The integer that a JSON number or text spells, or None."""
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        text = value.strip()
        if len(text) > 40:  # no 64-bit integer is longer, and Python refuses to read very long ones
            return None
        try:
            return int(text)
        except ValueError:
            pass
        try:
            value = float(text)
        except ValueError:
            return None
    return int(value) if value.is_integer() else None


def double(value: float | str) -> float | str:
    """A double; the names of the three that JSON cannot write are read."""
    if isinstance(value, float):
        return value
    try:
        return float(value)  # "NaN", "Infinity" and "-Infinity" as protobuf spells them
    except ValueError:
        return value


def read_bytes(text: str) -> bytes | str:
    """Bytes from base64 of either alphabet; text that is none stays text."""
    bare = text.rstrip("=")
    try:
        return base64.b64decode(bare.translate({45: 43, 95: 47}) + "=" * (-len(bare) % 4), validate=True)
    except (binascii.Error, ValueError):
        return text


def time_of(field: str, value: int | float | str | None) -> int:
    """Nanoseconds since the epoch, 0 where there are none. Raises BadItemError for what is no time."""
    if value is None or value == "":
        return 0
    whole = whole_number(value)
    if whole is None or not 0 <= whole <= UINT64_MAX:
        raise BadItemError(field, f"expected nanoseconds in 64 bits, found {quote(value)}")
    return whole


def lenient_time(value: int | float | str | None) -> int:
    """The same where a broken time costs nothing but itself."""
    try:
        return time_of("", value)
    except BadItemError:
        return 0


def count(value: int | float | str | None) -> int:
    """A 32-bit count; what is none says nothing."""
    whole = whole_number(value) if value is not None else None
    return whole if whole is not None and 0 <= whole < 1 << 32 else 0


def enum(value: int | float | str | None, names: Sequence[str]) -> int:
    """An enum by number or by name; what is neither is 0."""
    if value is None:
        return 0
    whole = whole_number(value)
    if whole is not None:
        return whole if -(1 << 31) <= whole < 1 << 31 else 0
    name = str(value).upper().rsplit("_", 1)[-1]
    return names.index(name) if name in names else 0


_SEVERITY = re.compile(r"(?:SEVERITY_NUMBER_)?(TRACE|DEBUG|INFO|WARN|ERROR|FATAL)([1-4]?)")


def severity(value: int | float | str | None) -> int:
    """A severity by number or by name."""
    match = _SEVERITY.fullmatch(value.upper()) if isinstance(value, str) else None
    if match is None:
        return enum(value, ())
    level = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL").index(match[1])
    return 4 * level + int(match[2] or 1)


def identifier(field: str, text: str | None, size: int, zero: str) -> str:
    """An id as lower-case hex. Raises BadItemError for what is none."""
    if text is None:
        raise BadItemError(field, f"expected {2 * size} hex digits, found none")
    value = id_from_text(text, size)
    if value is None:
        raise BadItemError(field, f"expected {2 * size} hex digits, found {quote(text)}")
    if value == zero:
        raise BadItemError(field, "expected an id, found zeros")
    return value


def quote(value: object) -> str:
    """A value in a message, cut."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
