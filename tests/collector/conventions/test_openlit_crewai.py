"""CrewAI under OpenLIT: its steps that are no agents, a coworker without a span, what a task was given in its model's prompt alone."""

from __future__ import annotations

import json

from collector.otlp.model import Span
from tests.collector.spans import Trace, recovered, relays

SCOPE = "openlit.instrumentation.crewai"
CLIENT = "openlit.instrumentation.openai"
CRITERIA = "\n\nThis is the expected criteria for your final answer: x.\nyou MUST return it, not a summary."
CONTEXT = "\n\nThis is the context you're working with:\n"


def task(t: Trace, role: str, start: float, end: float, crew: Span, given: str, said: str) -> Span:
    """An agent at work on a task, with one of CrewAI's steps and the call of its model."""
    run = t.agent(role, start, end, crew, gen_ai__agent__id=role)
    flow = t.span("invoke_workflow AgentExecutor", start + 1, end - 1, run, gen_ai__operation__name="invoke_workflow")
    t.span("invoke_agent generate_plan", start + 1, start + 2, flow, gen_ai__operation__name="invoke_agent")
    prompt = f"Current Task: Do it.{CRITERIA}" + (f"{CONTEXT}{given}" if given else "")
    t.chat(start + 2, end - 2, flow, prompt, said, scope=CLIENT)
    return run


def crew_of(t: Trace) -> Span:
    named = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.crewai.crew.agents": json.dumps([{"role": "One"}])}
    return t.span("invoke_workflow Crew", 0, 500, attributes=named)


def test_a_task_comes_from_those_whose_words_stand_in_its_prompt() -> None:
    t = Trace(SCOPE)
    crew = crew_of(t)
    task(t, "One", 1, 20, crew, "", "There are twelve.")
    task(t, "Two", 21, 40, crew, "", "The bridge is closed.")
    task(t, "Three", 41, 60, crew, "There are twelve.", "Printed.")

    assert relays(recovered(t)) == ['One -> Three transfer inferred 21 {"message": "There are twelve."}']


def test_a_delegation_s_tool_stands_for_the_coworker() -> None:
    t = Trace(SCOPE)
    boss = task(t, "Boss", 1, 90, crew_of(t), "", "Done.")
    given = {"task": "Count", "context": "Page 3", "coworker": "Clerk"}
    tool = t.tool("Delegate work to coworker", 20, 60, boss, given, "Twelve.")
    flow = t.span("invoke_workflow AgentExecutor", 21, 59, tool, gen_ai__operation__name="invoke_workflow")
    t.chat(22, 50, flow, f"Current Task: Count{CRITERIA}{CONTEXT}Page 3", "Twelve.", scope=CLIENT)

    result = recovered(t)
    assert relays(result) == [
        'Boss -> Clerk delegate explicit None {"task": "Count", "context": "Page 3"}',
        'Clerk -> Boss return explicit None {"message": "Twelve."}',
    ]
    assert [a["agent_id"] for a in result.document["agents"]] == ["Boss", "Clerk"]
