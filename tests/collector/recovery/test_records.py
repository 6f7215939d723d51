"""Content that came in log records: in order, once, and never over the span's own."""

from __future__ import annotations

from collector.facts import Content, Message, ModelCall, SpanFacts, ToolCall
from collector.recovery.records import with_records

SPAN = SpanFacts("t", "s", facts=(ModelCall(model="m"),))


def record(*facts: ModelCall | ToolCall) -> SpanFacts:
    return SpanFacts("t", "s", facts=facts, log=True)


def test_messages_of_several_records_are_one_conversation() -> None:
    heard = [record(ModelCall(heard=(Message(r, r),))) for r in ("system", "user")]
    said = record(ModelCall(said=(Message("assistant", "ja"),)))

    assert with_records(SPAN, [*heard, said]).facts == (
        ModelCall(
            "m", heard=(Message("system", "system"), Message("user", "user")), said=(Message("assistant", "ja"),)
        ),
    )


def test_what_the_span_holds_wins_and_what_it_lacks_is_filled() -> None:
    span = SpanFacts("t", "s", facts=(ModelCall(heard=(Message("user", "eigen"),)),))
    sent = record(ModelCall(heard=(Message("user", "fremd"),), said=()))

    assert with_records(span, [sent]).facts == (ModelCall(heard=(Message("user", "eigen"),), said=()),)


def test_a_tool_s_arguments_and_result_may_come_apart() -> None:
    span = SpanFacts("t", "s", facts=(ToolCall("f", arguments=Content("{}")),))
    sent = record(ToolCall(arguments=Content('{"a": 1}'), result=Content("ok")))

    assert with_records(span, [sent]).facts == (ToolCall("f", arguments=Content("{}"), result=Content("ok")),)


def test_a_record_on_a_span_that_is_no_call_changes_nothing() -> None:
    span = SpanFacts("t", "s")

    assert with_records(span, [record(ModelCall(said=(Message("assistant", "ja"),)))]) == span
