"""Our own attributes, for people who instrument by hand: one span a handoff, agents by the GenAI convention.

Attributes of the handoff's span: `orbitrelay.handoff.source`, `.target`, `.mode` (transfer, delegate, return), `.fields` (one JSON object),
`.reason`, `.status` (completed, dropped). See docs/semantic-conventions.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from collector.conventions import reading
from collector.conventions.base import Carriers, Convention
from collector.conventions.genai import facts as genai_facts
from collector.facts import Fact, Transfer
from collector.otlp.model import Span

_PREFIX = "orbitrelay.handoff."


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    mode = reading.text(a, _PREFIX + "mode")
    yield Transfer(
        source=reading.text(a, _PREFIX + "source"),
        target=reading.text(a, _PREFIX + "target"),
        mode=mode if mode in ("transfer", "delegate", "return") else "transfer",  # type: ignore[arg-type]
        content=reading.content(a, _PREFIX + "fields"),
        reason=reading.text(a, _PREFIX + "reason"),
        stated=True,
        failed=reading.text(a, _PREFIX + "status") == "dropped",
    )
    yield from genai_facts(span)


def _marks(span: Span) -> bool:
    if _PREFIX + "id" in span.attributes:  # our own review of a handoff, come back by a way that lost its scope
        return False
    return _PREFIX + "target" in span.attributes or _PREFIX + "source" in span.attributes


CONVENTION = Convention(
    name="orbitrelay",
    content_switch="set orbitrelay.handoff.fields on the handoff's span",
    facts=_facts,
    marks=_marks,
    carriers=Carriers(beside=False),
)
