"""BeeAI under OpenInference: handoff tools, what is given beside settings, a workflow's agents, last answers that look like agents."""

from __future__ import annotations

import json
from typing import Any

from collector.otlp.model import Span
from tests.collector.spans import Trace, recovered, relays

SCOPE = "openinference.instrumentation.beeai"


def of_kind(t: Trace, kind: str, name: str, start: float, end: float, parent: Span | None, **more: Any) -> Span:
    named = {k: v if isinstance(v, str) else json.dumps(v) for k, v in more.items()}
    return t.span(name, start, end, parent, attributes={"openinference.span.kind": kind, **named})


def agent(t: Trace, name: str, start: float, end: float, parent: Span | None, given: Any, answer: str) -> Span:
    made = of_kind(
        t, "AGENT", name, start, end, parent,
        **{"agent.name": name, "input.value": {"input": given, "max_iterations": 20}, "output.value": answer},
    )  # fmt: skip
    of_kind(t, "AGENT", "final_answer", end - 1, end - 1, made, **{"input.value": {"output": answer}})
    return made


def test_a_handoff_tool_carries_its_task_whatever_it_is_called() -> None:
    t = Trace(SCOPE)
    desk = agent(t, "Empfang", 0, 90, None, "Zimmer?", "Bereit.")
    given = {"input": {"task": '{"zimmer": 0, "wunsch": null}'}, "options": None}
    tool = of_kind(
        t, "TOOL", "reinigen", 10, 50, desk,
        **{"tool.name": "reinigen", "input.value": given, "output.value": "Sauber."},
    )  # fmt: skip
    agent(t, "Etage 2", 12, 40, tool, [{"role": "user", "content": "…"}], "Sauber.")

    assert relays(recovered(t)) == [
        'Empfang -> Etage 2 delegate structural 2 {"zimmer": 0, "wunsch": null}',
        'Etage 2 -> Empfang return structural 10 {"message": "Sauber."}',
    ]


def test_agents_of_a_workflow_pass_on_their_words_and_not_the_programs_settings() -> None:
    t = Trace(SCOPE)
    flow = of_kind(t, "CHAIN", "Ablauf", 0, 90, None)
    agent(t, "Plan", 1, 20, flow, "Plane.", "Zimmer 1 bis 3.")
    agent(t, "Brief", 22, 40, flow, "Schreibe.", "Willkommen.")

    assert relays(recovered(t)) == ['Plan -> Brief transfer inferred 2 {"message": "Zimmer 1 bis 3."}']
