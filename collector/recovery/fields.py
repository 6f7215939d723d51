"""From recorded content to named context fields: keys of arguments, labelled text, one `message`.

Separate from what carried them (`carried.py`): given a value, its fields are the same wherever it was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from functools import lru_cache
from typing import Any

import msgspec

from collector.contracts.names import snake_case
from collector.facts import values

MESSAGE = "message"

BAGS = frozenset(
    {
        "context",
        "additional_args",
        "context_variables",
        "payload",
        "handoff_context",
        "inputs",
        "kwargs",
        "arguments",
        "args",
        "data",
        "params",
    }
)
"""Arguments that are a bag for the rest: an object in one of them is opened into fields of its own."""

WHOLE = frozenset(
    {"input", "request", "message", "prompt", "query", "text", "content", "input_text", "user_input", "messages"}
)
"""Arguments whose text is all that was said: the field `message`, or the fields written in it."""

ENDPOINTS = frozenset(
    {
        "agent_name", "coworker", "co_worker", "member_id", "subagent_type", "transfer_reason", "agent_id", "target_agent",
        "recipient", "to_agent", "next_agent", "destination", "handoff_to", "assistant",
    }
)  # fmt: skip
"""Arguments that name the target: no field, where the producer's mapper took the target from them."""

_KINDS = (
    ("goal", ("goal", "objective", "task", "purpose", "aim", "target_state")),
    ("constraint", ("constraint", "limit", "budget", "deadline", "policy", "requirement", "acceptance", "must")),
    (
        "artifact",
        ("artifact", "file", "patch", "document", "report", "attachment", "url", "link", "path", "diff", "image"),
    ),
    ("state", ("state", "status", "progress", "step", "history", "findings", "decision", "verdict", "plan")),
)


_NO_NAMES: frozenset[str] = frozenset()
_NOTHING = frozenset({"", "null", "None"})
"""What serializers write for no value at all, as a whole content."""


class Field(msgspec.Struct, frozen=True):
    """One context field as carried. `original`: the name as it stood; `state`: full, redacted or truncated."""

    name: str
    value: Any
    original: str = ""
    state: str = "full"


@lru_cache(maxsize=1 << 12)
def kind(name: str) -> str:
    """The kind that a field's name tells: goal, constraint, artifact, state, else note."""
    words = set(name.split("_"))
    for label, stems in _KINDS:
        if any(w == s or w == s + "s" or w.startswith(s) for w in words for s in stems):
            return label
    return "note"


def of_arguments(entries: dict[str, Any], cut: tuple[str, ...] = (), asked: Set[str] = _NO_NAMES) -> list[Field]:
    """Fields of a call's arguments. `cut`: the path of keys to the value that a length limit cut.

    `asked`: names that the contract asks for. An argument of such a name is that field, also where it would else be taken for a bag, for
    the message or for the target's name.
    """
    if len(entries) == 1 and (name := snake_case(next(iter(entries)))) not in asked:
        key, only = next(iter(entries.items()))
        inner = values.opened(only)
        # A text is all that was passed, whatever the argument is called; an object is a value of its own, but for a bag.
        if inner is not None and (isinstance(only, str) or key.casefold() in WHOLE or key.casefold() in BAGS):
            return of_object(inner[0], inner[1] or cut[1:], asked)
        if name in WHOLE and isinstance(only, str):
            return of_text(only, asked)
        if isinstance(only, str):
            return merge([*of_object(entries, cut, asked), *_in_prose(only, asked)])
    return of_object(entries, cut, asked)


def of_object(entries: dict[str, Any], cut: tuple[str, ...] = (), asked: Set[str] = _NO_NAMES) -> list[Field]:
    """Fields of an object: its keys; bags opened; text that is JSON read. `cut` and `asked` as in `of_arguments`."""
    out: list[Field] = []
    for key, value in entries.items():
        name = snake_case(str(key))
        if not name:
            continue
        further = cut[1:] if cut[:1] == (key,) else ()
        bag = values.opened(value) if name in BAGS or (name in asked and len(entries) == 1) else None
        if bag is not None:
            inside = of_object(bag[0], bag[1] or further, asked)
            out += inside if name not in asked else [f for f in inside if f.name in asked]
        if bag is not None and name not in asked:
            continue
        inner = values.parse(value)
        field = _field(name, str(key), inner if isinstance(inner, (dict, list)) or inner == "" else value)
        if cut[:1] == (key,) and field.state == "full":
            field = msgspec.structs.replace(field, state="truncated")
        out.append(field)
    for value in entries.values() if asked else ():
        if isinstance(value, str) and values.opened(value) is None:
            out += [f for f in _in_prose(value, asked) if f.name in asked]
    return merge(out)


def of_text(text: str, asked: Set[str] = _NO_NAMES) -> list[Field]:
    """Fields of a text: those of the JSON or the literal in it, else its labelled lines beside the whole as `message`, else `message` alone."""
    parsed = values.opened(text)
    if parsed is not None:
        return of_object(*parsed, asked)
    if text.strip() in _NOTHING or values.is_empty(values.parse(text)):
        return []
    if values.is_redacted(text):
        return [Field(MESSAGE, text, MESSAGE, "redacted")]
    return merge([_field(MESSAGE, MESSAGE, text), *_in_prose(text, asked)])


def _in_prose(text: str, asked: Set[str]) -> list[Field]:
    """The fields of a text that is a form; of any other text those that the contract asks for, by a label or in a JSON object."""
    form = values.labelled(text)
    told = form.items() if form is not None else values.labels(text) if asked else ()
    out = [_field(snake_case(label), label, value) for label, value in told]
    out = out if form is not None else [f for f in out if f.name in asked]
    for entries in values.inside(text) if asked else ():
        out += [f for f in of_object(entries, (), asked) if f.name in asked]
    return out


def of_value(value: Any, asked: Set[str] = _NO_NAMES) -> list[Field]:
    """Fields of content of any form."""
    parsed = values.opened(value)
    if parsed is not None:
        return of_arguments(*parsed, asked)
    if isinstance(value, str):
        return of_text(value, asked)
    if values.is_empty(value):
        return []
    return [_field(MESSAGE, MESSAGE, value)]


def _field(name: str, original: str, value: Any) -> Field:
    if values.is_redacted(value):
        return Field(name, value, original, "redacted")
    return Field(name, value, original, "truncated" if values.looks_cut(value) else "full")


def merge(fields: Iterable[Field]) -> list[Field]:
    """One field a name: the first (the more trusted) that has a value, as whoever reads all that was passed finds it."""
    out: dict[str, Field] = {}
    for field in fields:
        first = out.setdefault(field.name, field)
        if values.is_empty(first.value) and not values.is_empty(field.value):
            out[field.name] = field
    return list(out.values())
