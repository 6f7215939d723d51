"""How one option's value is written in a file, in the environment and on the command line.

Separate from the table of options because a value has one grammar wherever it is written: `5m` in YAML is `5m` in an environment variable.

Rules:
- a duration is seconds (float) inside and a number with a unit outside: `250ms`, `15s`, `5m`, `6h`, `30d`; a bare number is seconds;
- a size is bytes (int) inside and a number with a unit outside: `64KiB`, `16MiB`, `2GiB` (also `KB`, `MB`, `GB`); a bare number is bytes;
- lists are comma separated in the environment, pairs are `key=value` comma separated.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """The grammar of an option's value."""

    TEXT = "text"
    PATH = "path"
    ENDPOINT = "endpoint"
    FLAG = "flag"
    COUNT = "count"
    NUMBER = "number"
    DURATION = "duration"
    SIZE = "size"
    CHOICE = "choice"
    LIST = "list"
    PAIRS = "pairs"


_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, None: 1.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(B|KiB|MiB|GiB|TiB|KB|MB|GB|TB)?", re.IGNORECASE)
_BYTES = {
    "b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
}  # fmt: skip
# What nothing behind an option overflows at: nanoseconds in 64 bits, a C int, and bytes of a disk.
_MOST: dict[Kind, tuple[float, str]] = {
    Kind.DURATION: (36_500 * 86_400.0, "36500d"),
    Kind.COUNT: ((1 << 31) - 1, "2147483647"),
    Kind.SIZE: (1 << 50, "1024TiB"),
}
_TRUE, _FALSE = {"true", "yes", "on", "1"}, {"false", "no", "off", "0"}
_EXPECTED = {
    Kind.TEXT: "text",
    Kind.PATH: "a path",
    Kind.ENDPOINT: "an address such as '127.0.0.1:4317', or '' for none",
    Kind.FLAG: "true or false",
    Kind.COUNT: "a whole number, 0 or more",
    Kind.NUMBER: "a number, 0 or more",
    Kind.DURATION: "a duration such as '15s', '5m' or '6h'",
    Kind.SIZE: "a size such as '16MiB'",
    Kind.LIST: "a list of texts",
    Kind.PAIRS: "a map of text to text",
}


class ValueFaultError(ValueError):
    """A value that its option cannot take. The message says what was expected and what was found."""


def parse(kind: Kind, value: Any, choices: tuple[str, ...] = ()) -> Any:
    """The typed value of what was written. Raises `ValueFaultError`."""
    parsed: Any = _PARSERS[kind](value) if kind is not Kind.CHOICE else (value if value in choices else None)
    if parsed is None:
        expected = "one of " + ", ".join(repr(c) for c in choices) if kind is Kind.CHOICE else _EXPECTED[kind]
        raise ValueFaultError(f"expected {expected}, found {_shown(value)}")
    most, written = _MOST.get(kind, (0, ""))
    if written and parsed > most:
        raise ValueFaultError(f"expected at most {written}, found {_shown(value)}")
    return parsed


def show(kind: Kind, value: Any) -> str:
    """The value as one would write it in a file."""
    if kind is Kind.DURATION:
        return _with_unit(value, (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)), "ms", 0.001)
    if kind is Kind.SIZE:
        return _with_unit(value, (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)), "B", 1)
    if kind is Kind.FLAG:
        return "true" if value else "false"
    if kind is Kind.LIST:
        return "[" + ", ".join(value) + "]"
    if kind is Kind.PAIRS:
        return "{" + ", ".join(f"{k}: {v}" for k, v in value.items()) + "}"
    return str(value) if value != "" else "''"


def split_address(endpoint: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[v6]:port`. Raises `ValueFaultError`."""
    host, colon, port = endpoint.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535 or (":" in host and not host.startswith("[")):
        raise ValueFaultError(f"expected {_EXPECTED[Kind.ENDPOINT]}, found {endpoint!r}")
    return host.strip("[]"), int(port)


def _with_unit(value: float, units: tuple[tuple[str, int], ...], small: str, small_factor: float) -> str:
    if value == 0:
        return "0"
    for unit, factor in units:
        if value >= factor and value % factor == 0:
            return f"{value / factor:g}{unit}"
    return f"{value / small_factor:g}{small}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _text(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value)


def _endpoint(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    if value:
        split_address(value)
    return value


def _flag(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    word = str(value).lower()
    return True if word in _TRUE else False if word in _FALSE else None


def _count(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.isdecimal() and len(value) < 100:
        return int(value)
    return value if isinstance(value, int) and value >= 0 else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if 0 <= number < float("inf") else None


def _duration(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    match = _DURATION.fullmatch(str(value).strip())
    return float(match[1]) * _SECONDS[match[2]] if match else None


def _size(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    match = _SIZE.fullmatch(str(value).strip())
    return int(min(float(match[1]), 1e18) * _BYTES[(match[2] or "b").lower()]) if match else None


def _list(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return tuple(value)
    return None


def _pairs(value: Any) -> dict[str, str] | None:
    if isinstance(value, str):
        pairs = [part.partition("=") for part in value.split(",") if part.strip()]
        return {k.strip(): v.strip() for k, _, v in pairs} if all(sep and k.strip() for k, sep, _ in pairs) else None
    if isinstance(value, dict) and all(isinstance(k, str) and _text(v) is not None for k, v in value.items()):
        return {k: str(v) for k, v in value.items()}
    return None


_PARSERS = {
    Kind.TEXT: _text,
    Kind.PATH: _text,
    Kind.ENDPOINT: _endpoint,
    Kind.FLAG: _flag,
    Kind.COUNT: _count,
    Kind.NUMBER: _number,
    Kind.DURATION: _duration,
    Kind.SIZE: _size,
    Kind.LIST: _list,
    Kind.PAIRS: _pairs,
}
