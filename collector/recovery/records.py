"""Content that came in log records, put on the span that the record names.

Separate because several conventions send messages as log records of their own, one a message or one a call: behind this module content is
the same wherever it travelled. What the span itself holds wins over its records, so content sent both ways counts once.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from collector.facts import Fact, Message, ModelCall, SpanFacts, ToolCall, Visit


def with_records(span: SpanFacts, records: Sequence[SpanFacts]) -> SpanFacts:
    """The span's facts with the content of its log records, in the records' order, where the span has a call or a run that it belongs to."""
    facts: list[Fact] = list(span.facts)
    added = [fact for record in records for fact in record.facts]
    heard = _joined([f.heard for f in added if isinstance(f, ModelCall)])
    said = _joined([f.said for f in added if isinstance(f, ModelCall)])
    tool = next((f for f in added if isinstance(f, ToolCall)), None)
    for place, fact in enumerate(facts):
        if isinstance(fact, (ModelCall, Visit)):
            facts[place] = msgspec.structs.replace(fact, heard=_kept(fact.heard, heard), said=_kept(fact.said, said))
        elif isinstance(fact, ToolCall) and tool is not None:
            arguments = fact.arguments if fact.arguments is not None else tool.arguments
            result = fact.result if fact.result is not None else tool.result
            facts[place] = msgspec.structs.replace(fact, arguments=arguments, result=result)
    return msgspec.structs.replace(span, facts=tuple(facts))


def _kept(own: tuple[Message, ...] | None, sent: tuple[Message, ...] | None) -> tuple[Message, ...] | None:
    return own if own is not None else sent


def _joined(parts: Sequence[tuple[Message, ...] | None]) -> tuple[Message, ...] | None:
    known = [part for part in parts if part is not None]
    return tuple(m for part in known for m in part) if known else None
