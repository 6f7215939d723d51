"""Answers that only the next call's history shows."""

from __future__ import annotations

import json
from typing import Any

from tests.collector.spans import Trace, recovered, relays


def asked(t: Trace, at: float, agent: Any, *messages: tuple[str, str]) -> None:
    told = json.dumps([{"role": role, "content": text} for role, text in messages])
    t.span("chat m", at, at + 1, agent, attributes={"gen_ai.operation.name": "chat", "gen_ai.input.messages": told})


def texts(t: Trace) -> list[str | None]:
    return [turn["text"] for turn in recovered(t).document["turns"]]


QUESTION = ("user", "Wie spät?")


def test_the_next_call_of_the_conversation_goes_on_from_the_answer() -> None:
    t = Trace("app")
    root = t.span("app", 0, 99)
    asked(t, 2, t.agent("Uhr", 1, 20, root), ("system", "Du bist Uhr."), QUESTION)
    asked(
        t,
        22,
        t.agent("Tor", 21, 40, root),
        ("system", "Du bist Tor."),
        QUESTION,
        ("assistant", "Zwölf."),
        ("user", "x"),
    )

    assert texts(t) == ["Zwölf.", None]


def test_a_call_that_asks_the_same_again_is_a_retry_and_the_answer_is_the_second_s() -> None:
    t = Trace("app")
    root = t.span("app", 0, 99)
    a = t.agent("Uhr", 1, 20, root)
    asked(t, 2, a, QUESTION)
    asked(t, 5, a, QUESTION)
    asked(t, 22, t.agent("Tor", 21, 40, root), QUESTION, ("assistant", "Zwölf."))

    assert texts(t) == ["Zwölf.", None]


def test_another_conversation_tells_nothing() -> None:
    t = Trace("app")
    root = t.span("app", 0, 99)
    asked(t, 2, t.agent("Uhr", 1, 20, root), QUESTION)
    asked(t, 22, t.agent("Tor", 21, 40, root), ("user", "Wer da?"), ("assistant", "Ich."))

    assert texts(t) == [None, None]


def test_of_calls_that_ask_the_same_at_once_the_first_goes_on() -> None:
    t = Trace("app")
    root = t.span("app", 0, 99)
    desk, guard = t.agent("Empfang", 1, 20, root), t.agent("Wache", 1, 19, root)
    question = json.dumps([{"role": "user", "content": QUESTION[1]}])
    named = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": question}
    t.span("chat m", 2, 10, desk, attributes=named)
    t.span("chat m", 3, 9, guard, attributes=named)
    asked(t, 22, t.agent("Tor", 21, 40, root), QUESTION, ("assistant", "Zwölf."))

    assert texts(t) == ["Zwölf.", None, None]


def test_a_run_that_holds_the_conversation_itself_is_answered_in_the_next_runs() -> None:
    t = Trace("app")
    root = t.span("app", 0, 99)
    for at, name, told in ((1, "Uhr", [QUESTION]), (21, "Tor", [QUESTION, ("assistant", "Zwölf.")])):
        messages = json.dumps([{"role": role, "content": text} for role, text in told])
        t.agent(name, at, at + 9, root, attributes={"gen_ai.input.messages": messages})

    assert texts(t) == ["Zwölf.", None]


def test_a_call_that_is_new_in_a_rewritten_history_is_what_the_model_before_answered() -> None:
    t = Trace("app")
    root = t.span("app", 0, 99)
    asked(t, 2, t.agent("Uhr", 1, 20, root), QUESTION)
    call = {"type": "tool_call", "id": "c1", "name": "transfer_to_tor", "arguments": {"stunde": 12}}
    told = json.dumps([{"role": "user", "content": "Öffne."}, {"role": "assistant", "parts": [call]}])
    named = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": told}
    gate = t.agent("Tor", 21, 40, root)
    t.span("chat m", 22, 23, gate, attributes=named)
    t.span("chat m", 25, 26, gate, attributes=named)

    assert relays(recovered(t)) == ['Uhr -> Tor transfer explicit 18 {"stunde": 12}']
