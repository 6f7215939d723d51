"""How dumps that are no OTLP spell ids, times and attributes, as the telemetry model has them.

Apart from the readers because every vendor's export spells these few things in one of the same few ways.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import math
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from collector.otlp.model import Event, Link
from collector.otlp.values import UINT64_MAX

Json = dict[str, Any]

JSON_TEXT = frozenset(
    {
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.system_instructions",
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.call.result",
        "gen_ai.tool.definitions",
        "input.value",
        "llm.invocation_parameters",
        "llm.prompt_template.variables",
        "metadata",
        "output.value",
        "pydantic_ai.all_messages",
        "tool.json_schema",
        "tool.parameters",
        "tool_call.function.arguments",
        "traceloop.entity.input",
        "traceloop.entity.output",
    }
)
"""Attributes whose value is JSON text by convention: where an export has parsed it, it is made text again."""

_HEX = re.compile(r"[0-9a-f]+")
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d+))?\s*(?:(Z|z|UTC)|([+-]\d\d):?(\d\d))?")
_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d+))?S)?)?")


def trace_id(value: Any) -> str:
    """A trace id as 32 hex digits: hex is padded, a UUID loses its dashes, anything else is hashed. "" for none."""
    return _id(value, 32)


def span_id(value: Any) -> str:
    """A span id as 16 hex digits, the same way."""
    return _id(value, 16)


def _id(value: Any, digits: int) -> str:
    if value is None or value == "":
        return ""
    text = str(value).strip().lower().removeprefix("0x")
    bare = text.replace("-", "")
    if _HEX.fullmatch(bare) and len(bare) <= digits:
        return "" if not bare.strip("0") else bare.zfill(digits)
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=digits // 2).hexdigest()


def nanoseconds(value: Any) -> int:
    """A time as nanoseconds since the epoch; 0 where there is none.

    Text is ISO 8601 (without a zone: UTC) or a number; a number is seconds, milliseconds, microseconds or nanoseconds
    by its size; a pair is seconds and nanoseconds.
    """
    if isinstance(value, list) and len(value) == 2 and all(isinstance(part, int) for part in value):
        return in_range(value[0] * 10**9 + value[1])
    if isinstance(value, str):
        return _stamp(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        return 0
    for limit, scale in ((10**11, 10**9), (10**14, 10**6), (10**17, 10**3)):
        if value < limit:
            whole = int(value)
            return in_range(whole * scale + round((value - whole) * scale))
    return in_range(int(value))


def in_range(time: int) -> int:
    """The time, or 0 (not recorded) where OTLP has no room for it."""
    return time if 0 <= time <= UINT64_MAX else 0


def _stamp(text: str) -> int:
    match = _STAMP.fullmatch(text)
    if match is None:
        try:
            return nanoseconds(int(text) if text.isdecimal() and len(text) < 25 else float(text))
        except ValueError:
            return 0
    day, clock, fraction, zone, hours, minutes = match.groups()
    try:
        moment = dt.datetime.fromisoformat(f"{day}T{clock}+00:00")
    except ValueError:
        return 0
    seconds = int((moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)).total_seconds())
    if hours and not zone:
        offset = abs(int(hours)) * 3600 + int(minutes) * 60
        seconds += offset if hours.startswith("-") else -offset
    return in_range(seconds * 10**9 + int((fraction or "0")[:9].ljust(9, "0")))


def duration(value: Any, unit: int) -> int:
    """A length of time in nanoseconds: ISO 8601 (`PT2.5S`), a pair of seconds and nanoseconds, or a number of `unit`s."""
    if isinstance(value, str):
        match = _DURATION.fullmatch(value.strip())
        if match:
            days, hours, minutes, seconds, fraction = match.groups()
            whole = ((int(days or 0) * 24 + int(hours or 0)) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)
            return whole * 10**9 + int((fraction or "0")[:9].ljust(9, "0"))
        try:
            value = float(value)
        except ValueError:
            return 0
    if isinstance(value, list) and len(value) == 2 and all(isinstance(part, int) for part in value):
        return max(0, int(value[0] * 10**9 + value[1]))
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0
    return max(0, round(value * unit))


def text_of(value: Any) -> str:
    """Content as an attribute holds it: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def attributes_of(value: Any) -> Json:
    """Attributes however an export writes them, as flat ones: an object (nested ones joined by dots, lists of objects by
    index), JSON text of one, or a list of key and value.
    """
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except msgspec.DecodeError:
            return {}
    if isinstance(value, list):
        value = {
            str(pair["key"]): _any_value(pair.get("value"))
            for pair in value
            if isinstance(pair, dict) and "key" in pair
        }
    flat: Json = {}
    if isinstance(value, dict):
        _flatten("", value, flat, 0)
    return flat


def _flatten(prefix: str, value: Mapping[str, Any], flat: Json, depth: int) -> None:
    for name, item in value.items():
        key = f"{prefix}{name}"
        if key in JSON_TEXT and isinstance(item, dict | list):
            flat[key] = text_of(item)
        elif isinstance(item, dict) and item and depth < 32:
            _flatten(f"{key}.", item, flat, depth + 1)
        elif isinstance(item, list) and item and depth < 32 and all(isinstance(part, dict) for part in item):
            for index, part in enumerate(item):
                _flatten(f"{key}.{index}.", part, flat, depth + 1)
        elif item is not None:
            flat[key] = item


def _any_value(value: Any) -> Any:
    """The value of a key-value pair: bare, or wrapped as OTLP does, in either spelling."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    name, item = next(iter(value.items()))
    kind = name.lower().replace("_", "")
    if kind == "intvalue":
        return int(item) if isinstance(item, str) and item.lstrip("-").isdecimal() and len(item) < 21 else item
    if kind in ("stringvalue", "boolvalue", "doublevalue", "bytesvalue"):
        return item
    if kind == "arrayvalue" and isinstance(item, dict):
        return [_any_value(part) for part in item.get("values") or ()]
    if kind == "kvlistvalue" and isinstance(item, dict):
        return {str(part.get("key")): _any_value(part.get("value")) for part in item.get("values") or ()}
    return value


def events_of(value: Any) -> tuple[Event, ...]:
    """Span events: objects with a name, a time and attributes, or JSON text of a list of them."""
    return tuple(
        Event(
            str(item.get("name") or item.get("event_name") or ""),
            nanoseconds(first(item, "timeUnixNano", "time_unix_nano", "timestamp", "time")),
            attributes_of(item.get("attributes")),
        )
        for item in _objects(value)
    )


def links_of(value: Any) -> tuple[Link, ...]:
    """Span links: objects with ids, at the top or under `context`, and attributes."""
    links = []
    for item in _objects(value):
        context = item.get("context")
        ids = context if isinstance(context, dict) else item
        trace = trace_id(first(ids, "trace_id", "traceId", "traceID"))
        span = span_id(first(ids, "span_id", "spanId", "spanID"))
        if trace and span:
            links.append(Link(trace, span, attributes_of(item.get("attributes"))))
    return tuple(links)


def _objects(value: Any) -> list[Json]:
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except msgspec.DecodeError:
            return []
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def first(record: Mapping[str, Any], *names: str) -> Any:
    """The first of these members that is there and says something."""
    for name in names:
        value = record.get(name)
        if value is not None and value != "":
            return value
    return None
