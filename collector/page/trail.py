"""One field over a session: what became of it at each handoff.

Separate from the session's view because it is a law of its own, and tested as one: who had the field, and did he pass it on.

Rules:
- within a run, an agent has a field once it passed it or was passed it with a value; a handoff that was never taken up gives nobody anything;
- `dropped` is a field that the source had and did not pass on, whether or not the target's contract asks for it (`required` says);
  `missing` is one that was asked for and that the source never had;
- values are compared as JSON; of two that were redacted to one marker nobody can say whether they are the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from re import findall
from typing import Final, Literal, NamedTuple

import msgspec

from collector.content import HASH_PREFIX
from collector.page import words
from orbitrelay import Analysis, ContextField, Handoff, Inspection
from orbitrelay.inspector import is_empty
from orbitrelay.model import Absent

Event = Literal[
    "introduced", "carried", "changed", "emptied", "empty", "dropped", "missing", "visible", "refused", "not recorded", "unrecorded",
]  # fmt: skip

EVENTS: Final[dict[Event, str]] = {
    "introduced": "handed over for the first time",
    "carried": "handed on with the same value",
    "changed": "handed on with another value",
    "emptied": "handed on empty, though it had a value before",
    "empty": "handed over empty",
    "dropped": "the source had it, and did not hand it on",
    "missing": "asked for, and never had by the source",
    "visible": "not handed over, only visible in what earlier handoffs left",
    "refused": "part of a handoff that was never taken up",
    "not recorded": "the handoff's content was not recorded",
    "unrecorded": "the handoff's content was cut, so nobody can know",
}
"""What can become of a field at a handoff, in words."""

MOST_HOPS: Final = 200
"""Hops that are looked at closely; a session of more says how many are left out."""

_DIFF_LIMIT: Final = 4_000
_TOKENS: Final = 400  # the comparison may cost as much as their square

Piece = tuple[Literal["same", "gone", "new", "more"], str]


class Hop(msgspec.Struct, frozen=True):
    """What became of the field at one handoff. `before` is the number of the handoff that it is compared with, 0 for none."""

    number: int
    source: str
    target: str
    event: Event
    required: bool
    value: str | None
    whole: str
    state: str
    kind: str
    before: int
    compared: tuple[Piece, ...]
    remark: str


class FieldTrail(msgspec.Struct, frozen=True):
    """The field over the session. `more`: hops left out; `elsewhere`: handoffs that have nothing to do with it; `names`: all fields."""

    name: str
    hops: tuple[Hop, ...]
    more: int
    elsewhere: int
    counts: tuple[tuple[Event, int], ...]
    names: tuple[str, ...]


class _Last(NamedTuple):
    number: int
    field: ContextField


class _Step(NamedTuple):
    number: int
    inspection: Inspection
    field: ContextField | None
    last: _Last | None
    event: Event


def trail(analysis: Analysis, name: str) -> FieldTrail:
    """Follow a field. `hops` is empty where no handoff has to do with it."""
    found = list(_steps(analysis, name))
    counts = Counter(step.event for step in found)
    return FieldTrail(
        name,
        tuple(_hop(name, step) for step in found[:MOST_HOPS]),
        len(found) - min(len(found), MOST_HOPS),
        len(analysis.inspections) - len(found),
        tuple((event, counts[event]) for event in EVENTS if counts[event]),
        names_of(analysis),
    )


def names_of(analysis: Analysis) -> tuple[str, ...]:
    """All field names of a session, in the order in which they come up: required ones and handed ones."""
    found: dict[str, None] = {}
    for inspection in analysis.inspections:
        found |= dict.fromkeys(inspection.required)
        found |= dict.fromkeys(field.name for field in inspection.handoff.fields)
    return tuple(found)


def _steps(analysis: Analysis, name: str) -> Iterator[_Step]:
    had: dict[tuple[str | Absent, str], _Last] = {}
    seen: dict[str | Absent, _Last] = {}
    for number, inspection in enumerate(analysis.inspections, 1):
        handoff = inspection.handoff
        run = handoff.run
        field = next((field for field in handoff.fields if field.name == name), None)
        last = had.get((run, handoff.source_agent)) or seen.get(run)
        held = (run, handoff.source_agent) in had
        event = _event(inspection, name, field, last, held)
        if event is None:
            continue
        yield _Step(number, inspection, field, last, event)
        carried = event in ("introduced", "carried", "changed")
        if field is not None and carried:
            seen[run] = had[run, handoff.source_agent] = had[run, handoff.target_agent] = _Last(number, field)


def _event(
    inspection: Inspection, name: str, field: ContextField | None, last: _Last | None, held: bool
) -> Event | None:
    handoff, required = inspection.handoff, name in inspection.required
    if handoff.is_dropped:
        return "refused" if field is not None or required else None
    if name in inspection.history:
        return "visible"
    if field is None:
        if not handoff.recorded:
            return "not recorded" if required or held else None
        if name in inspection.unrecorded or (handoff.truncated and held):
            return "unrecorded"
        return "dropped" if held else "missing" if required else None
    if is_empty(field.value):
        return "emptied" if last is not None else "empty"
    if last is None:
        return "introduced"
    return "carried" if words.value_text(last.field.value) == words.value_text(field.value) else "changed"


def _hop(name: str, step: _Step) -> Hop:
    number, inspection, field, last, event = step
    handoff = inspection.handoff
    text = None if field is None else words.value_text(field.value)
    compared: tuple[Piece, ...] = ()
    if event == "changed" and text is not None and last is not None:
        compared = difference(words.value_text(last.field.value), text)
    return Hop(
        number=number,
        source=words.shown(handoff.source_agent),
        target=words.shown(handoff.target_agent),
        event=event,
        required=name in inspection.required,
        value=None if text is None else words.block(text),
        whole=words.block(text, 20_000) if text is not None and len(text) > words.VALUE_LIMIT else "",
        state="" if field is None or field.state == "full" else field.state,
        kind="" if field is None else field.kind,
        before=0 if last is None or event in ("introduced", "missing") else last.number,
        compared=compared,
        remark=_remark(handoff, field, last, event),
    )


def _remark(handoff: Handoff, field: ContextField | None, last: _Last | None, event: Event) -> str:
    if field is not None and field.state == "redacted" and event == "carried":
        same = str(field.value).startswith(HASH_PREFIX)
        return "same hash as before" if same else "redacted, so nobody can say whether it is the same value"
    if field is not None and field.state == "truncated" and event in ("carried", "changed"):
        return "cut, so compared only as far as it goes"
    if event == "missing" and last is not None:
        return f"last handed over in handoff {last.number}, and it never reached {words.shown(handoff.source_agent)}"
    return ""


def _without_common_space(gone: str, came: str) -> tuple[str, str, str]:
    """Two texts without the space that both end in, and that space."""
    kept = 0
    while kept < min(len(gone), len(came)) and gone[-1 - kept] == came[-1 - kept] and gone[-1 - kept].isspace():
        kept += 1
    return (gone[:-kept], came[:-kept], gone[len(gone) - kept :]) if kept else (gone, came, "")


def difference(before: str, after: str) -> tuple[Piece, ...]:
    """What changed between two texts, word by word; beyond a limit the rest is left out and counted.

    >>> difference("retry the job twice", "retry the job once")
    (('same', 'retry the job '), ('gone', 'twice'), ('new', 'once'))
    """
    old, new = (findall(r"\w+\s*|[^\w\s]\s*|\s+", text[:_DIFF_LIMIT])[:_TOKENS] for text in (before, after))
    pieces: list[Piece] = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new).get_opcodes():
        if tag == "equal":
            pieces.append(("same", words.block("".join(old[a:b]), _DIFF_LIMIT)))
            continue
        gone, came, kept = _without_common_space("".join(old[a:b]), "".join(new[c:d]))
        found: tuple[Piece, ...] = (("gone", gone), ("new", came), ("same", kept))
        pieces += [(kind, words.block(text, _DIFF_LIMIT)) for kind, text in found if text]
    left = len(before) + len(after) - len("".join(old)) - len("".join(new))
    if left:
        pieces.append(("more", f"… (+{left} characters not compared)"))
    return tuple(pieces)
