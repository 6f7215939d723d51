"""Haystack: agents called by their component or their tool, tools' messages, pipelines, an agent that nothing names, content off."""

from __future__ import annotations

import json
from typing import Any

from collector.otlp.model import Span
from tests.collector.spans import Trace, recovered, relays


def span(t: Trace, name: str, start: float, end: float, parent: Span | None = None, **more: Any) -> Span:
    named = {f"haystack.{k}": v if isinstance(v, str) else json.dumps(v) for k, v in more.items()}
    return t.span(f"haystack.{name}", start, end, parent, attributes=named)


def component(t: Trace, name: str, start: float, end: float, parent: Span | None) -> Span:
    made = span(t, "component.run", start, end, parent, **{"component.name": name, "component.type": "Agent"})
    return run(t, start, end, made)


def run(t: Trace, start: float, end: float, parent: Span | None) -> Span:
    return span(t, "agent.run", start, end, parent, **{"agent.max_steps": "100"})


def message(role: str, **part: Any) -> dict[str, Any]:
    return {
        "role": role,
        "content": [part],
        "meta": {"model": "m", "usage": {"prompt_tokens": 7, "completion_tokens": 2}},
    }


def model(t: Trace, at: float, parent: Span, **part: Any) -> Span:
    heard, said = {"messages": [message("user", text="?")]}, {"replies": [message("assistant", **part)]}
    return span(
        t, "agent.step.llm", at, at + 1, parent, **{"agent.step.llm.input": heard, "agent.step.llm.output": said}
    )


def tool(t: Trace, name: str, start: float, end: float, parent: Span, given: str = "", answer: str = "") -> Span:
    more: dict[str, Any] = {"tool.name": name}
    if given:
        more["agent.step.tool.input"] = {"messages": [message("user", text=given)]}
        more["agent.step.tool.output"] = {"messages": [], "last_message": message("assistant", text=answer)}
    return span(t, "agent.step.tool", start, end, parent, **more)


def test_an_agent_behind_a_tool_is_called_like_it_and_given_the_message_of_the_call() -> None:
    t = Trace("mühle")
    a = component(t, "Müller", 0, 90, span(t, "pipeline.run", 0, 90))
    model(
        t, 1, a, tool_call={"tool_name": "mahlen", "id": "c1", "arguments": {"messages": [message("user", text="{}")]}}
    )
    run(t, 5, 40, tool(t, "mahlen", 3, 50, a, '{"korn": "Roggen", "kg": 0}', "Gemahlen."))
    tool(t, "wiegen", 60, 61, a, "Wie schwer?", "40 kg")

    result = recovered(t)
    assert relays(result) == [
        'Müller -> mahlen delegate structural 2 {"korn": "Roggen", "kg": 0}',
        'mahlen -> Müller return structural 10 {"message": "Gemahlen."}',
    ]
    assert [(turn["agent_id"], turn["tokens"]) for turn in result.document["turns"]] == [
        ("Müller", 9),
        ("mahlen", None),
    ]


def test_agents_of_a_pipeline_pass_on_their_words() -> None:
    t = Trace("mühle")
    pipeline = span(t, "pipeline.run", 0, 90)
    model(t, 2, component(t, "Müller", 1, 20, pipeline), text="40 kg Roggen gemahlen.")
    span(t, "component.run", 21, 22, pipeline, **{"component.name": "adapter", "component.type": "OutputAdapter"})
    model(t, 24, component(t, "Bäcker", 23, 40, pipeline), text="Im Ofen.")

    assert relays(recovered(t)) == ['Müller -> Bäcker transfer inferred 3 {"message": "40 kg Roggen gemahlen."}']


def test_an_agent_that_nothing_names_and_content_that_is_off() -> None:
    t = Trace("mühle")
    a = run(t, 0, 90, None)
    run(t, 5, 40, tool(t, "mahlen", 3, 50, a))

    assert relays(recovered(t)) == [
        "Agent -> mahlen delegate structural 2 unrecorded",
        "mahlen -> Agent return structural 10 unrecorded",
    ]
