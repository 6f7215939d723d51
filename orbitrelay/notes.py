"""The last section of the dossier, in plain language: what each incomplete relay dropped, and what could not be judged.

Separate from the tables because it tells a story: it follows every field over the handoffs of its run, to say where it
was lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from . import phrases
from .analysis import Analysis
from .exact import integer_text
from .inspector import Inspection, is_empty
from .model import Absent, ContextField, Handoff, Json
from .scoring import UNSCORED_REASONS
from .text import code

VALUES_SHOWN = 8
"""Fields whose values one note shows."""


def notes(analysis: Analysis) -> Iterator[str]:
    """In plain language: what each incomplete relay dropped and where it was last seen, and what could not be
    judged."""
    yield "## Notes"
    yield ""
    lines = [*_general_notes(analysis), *_relay_notes(analysis)]
    if lines:
        yield from lines
    elif not analysis.trace.handoffs:
        yield "The trace has no handoffs."
    else:
        yield "Every handoff carried all that its contract asks for."


def _general_notes(analysis: Analysis) -> Iterator[str]:
    for note in _texts(analysis.trace.extra.get("notes")):
        yield f"- Noted in the trace: {code(note)}"
    scores = analysis.scores
    for reason, count in scores.unscored_reasons.items():
        yield f"- {phrases.count(count, 'handoff')} not scored: {UNSCORED_REASONS[reason]}."
    without: dict[str, int] = {}
    for inspection in analysis.inspections:
        if not inspection.contracted and not inspection.handoff.is_return:
            without[inspection.target_role] = without.get(inspection.target_role, 0) + 1
    for role, count in without.items():
        yield f"- No contract for the role {code(role)}: {phrases.count(count, 'handoff')} had nothing to be held against."
    unknown = sum(
        handoff.latency_ms is None and not handoff.is_return and not handoff.is_dropped
        for handoff in analysis.trace.handoffs
    )
    if unknown:
        yield f"- The latency of {phrases.count(unknown, 'handoff')} is not known."


class _Trail:
    """Who held which field with a value, and by which handoff it was last seen, as the handoffs of one run pass by."""

    def __init__(self) -> None:
        self.last: dict[str, Handoff] = {}
        self.held: dict[tuple[str, str], Handoff] = {}

    def passed(self, handoff: Handoff) -> None:
        if handoff.is_dropped:
            return
        for field in handoff.fields:
            if field.seen_in != "history" and not is_empty(field.value):
                self.last[field.name] = handoff
                self.held[handoff.source_agent, field.name] = handoff
                self.held[handoff.target_agent, field.name] = handoff

    def of(self, name: str, handoff: Handoff) -> str:
        """Say where a field that a handoff did not carry was seen before."""
        source = code(handoff.source_agent)
        held = self.held.get((handoff.source_agent, name))
        if held is not None:
            had = "had it from" if held.target_agent == handoff.source_agent else "still handed it over in"
            return f"{source} {had} {code(held.handoff_id)}, so it was lost there"
        last = self.last.get(name)
        if last is not None:
            return f"last carried by {phrases.arrow(last)}, it never reached {source}"
        return "no earlier handoff carried it"


def _relay_notes(analysis: Analysis) -> Iterator[str]:
    trails: dict[str | Absent, _Trail] = {}
    for score in analysis.scores.handoffs:
        inspection = score.inspection
        handoff = inspection.handoff
        trail = trails.setdefault(handoff.run, _Trail())
        remarks = [*_losses(inspection, trail), *map(_noted, _texts(handoff.extra.get("notes")))]
        if score.unscored_reason is not None:
            aside = " (redacted)" if handoff.redacted else ""
            remarks.insert(0, f"not scored: {UNSCORED_REASONS[score.unscored_reason]}{aside}.")
        trail.passed(handoff)
        if remarks:
            grade = f", {phrases.score(score)}" if score.score is not None else ""
            yield f"- {phrases.arrow(handoff)} (tick {integer_text(handoff.tick)}{grade}):"
            yield from (f"  - {remark}" for remark in remarks)
            if (inspection.missing or inspection.empty) and not handoff.is_dropped:
                yield from (f"  - {given}." for given in _given(inspection))


def _losses(inspection: Inspection, trail: _Trail) -> Iterator[str]:
    handoff = inspection.handoff
    if handoff.is_dropped:  # nothing was received, so nothing was lost on the way
        return
    history = set(inspection.history)
    for name in inspection.missing:
        if name in history:
            yield f"{code(name)} was not handed over, only visible in the history: the contract does not accept that."
        else:
            yield f"{code(name)} never arrived: {trail.of(name, handoff)}."
    for name in inspection.empty:
        yield f"{code(name)} arrived empty: {trail.of(name, handoff)}."
    if inspection.unrecorded and handoff.recorded:
        yield f"{phrases.names(inspection.unrecorded)}: nobody can know, its content was cut."


def _given(inspection: Inspection) -> Iterator[str]:
    """Say what the target was given in place of what was lost: what it was handed, apart from what it could only see."""
    history = set(inspection.history)
    for said, fields in (
        ("it was handed", [field for field in inspection.handoff.fields if field.name not in history]),
        ("it could see in the history", [field for field in inspection.handoff.fields if field.name in history]),
    ):
        if fields:
            yield f"{said} {phrases.more(_values(fields), len(fields), '; ')}"


def _noted(note: str) -> str:
    return f"noted in the trace: {code(note)}"


def _values(fields: Sequence[ContextField]) -> list[str]:
    return [f"{code(field.name)} = {phrases.value(field.value)}" for field in fields[:VALUES_SHOWN]]


def _texts(value: Json) -> list[str]:
    """Give the notes that a producer left under the key `notes`: a text, or the texts of a list."""
    if isinstance(value, str):
        return [value]
    return [note for note in value if isinstance(note, str)] if isinstance(value, list) else []
