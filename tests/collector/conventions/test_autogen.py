"""AutoGen's own spans: many traces by links, messages in process spans, speakers without a tool, no runtime spans at all, look-alikes."""

from __future__ import annotations

import json
from typing import Any

from collector.conventions import extract
from collector.otlp.model import Batch, Span
from tests.collector.spans import Trace, recovered, relays

CORE = "autogen-core"
RUNTIME = "autogen SingleThreadedAgentRuntime"
TEAM = "0ed4bd09-b59d-406e-bd3d-0555b1edd8d9"


class Run:
    """A team's run: every message a trace, joined by links."""

    def __init__(self) -> None:
        self.traces: list[Trace] = []
        app = self.trace(0)
        root = app.span("sitzung", 0, 900, scope="app", session__id="S-1")
        self.cause = self.create(app, root, "Manager", 1)

    def trace(self, at: float) -> Trace:
        self.traces.append(Trace(CORE, len(self.traces) + 1, start_ms=at))
        return self.traces[-1]

    def create(self, t: Trace, parent: Span, to: str, at: float) -> Span:
        name = f"autogen create {to}_{TEAM}.({TEAM})-T"
        return t.span(name, at, at + 1, parent, scope=RUNTIME, kind=4, messaging__operation="create")

    def process(self, t: Trace, to: str, at: float, message: Any, parent: Span | None = None) -> Span:
        named = {"messaging.operation": "process", "message": json.dumps(message, ensure_ascii=False)}
        name = f"autogen process {to}_{TEAM}.({TEAM})-A"
        named["messaging.destination"] = f"{to}_{TEAM}.({TEAM})-A"
        return t.span(name, at, at + 50, parent, scope=RUNTIME, kind=5, links=(self.cause,), attributes=named)

    def turn(self, agent: str, at: float, message: Any, tool: str = "") -> None:
        """An agent runs, tells everybody, and the manager hears of it."""
        t = self.trace(at)
        publish = t.span("autogen publish", 0, 60, scope=RUNTIME, kind=4, links=(self.cause,))
        run = t.agent(agent, 2, 40, self.process(t, agent, 1, {}, publish), gen_ai__agent__id=f"{agent}_{TEAM}/{TEAM}")
        if tool:
            t.tool(tool, 5, 6, run)
        self.cause = self.create(t, run, "group_topic", 35)
        heard = self.trace(at + 40)
        publish = heard.span("autogen publish", 0, 60, scope=RUNTIME, kind=4, links=(self.cause,))
        for other in ("Alle", "Niemand"):
            self.process(heard, other, 1, message, publish)
        manager = self.process(heard, "Manager", 2, message, publish)
        self.cause = self.create(heard, manager, "next", 10)


def said(agent: str, content: Any, target: str = "") -> dict[str, Any]:
    message = {"source": agent, "content": content, "type": "HandoffMessage" if target else "TextMessage"}
    if target:
        message |= {"target": target, "context": []}
    return {"response": {"chat_message": message, "inner_messages": []}, "name": agent}


def test_a_handoff_carries_its_message_and_the_empty_arguments_of_its_tool_say_nothing() -> None:
    run = Run()
    run.turn(
        "Küche",
        10,
        said("Küche", '{"gericht": "Suppe", "salz": 0, "allergene": []}', "Service_Süd"),
        "transfer_to_service_süd",
    )
    run.turn("Service_Süd", 100, said("Service_Süd", "Serviert.", "Küche"), "hand_back_to_Küche")
    run.turn("Küche", 200, said("Küche", "TERMINATE"))

    result = recovered(*run.traces)
    assert relays(result) == [
        'Küche -> Service_Süd transfer explicit 86 {"gericht": "Suppe", "salz": 0, "allergene": []}',
        'Service_Süd -> Küche transfer explicit 96 {"message": "Serviert."}',
    ]
    assert {h["run"] for h in result.document["handoffs"]} == {run.traces[0].trace_id}


def test_a_change_of_speakers_is_a_handoff_through_the_manager_and_speaking_twice_is_none() -> None:
    run = Run()
    run.turn("Küche", 10, said("Küche", "eins"))
    run.turn("Küche", 100, said("Küche", '{"stufe": 2}'))
    run.turn("Küche 2", 200, said("Küche 2", "gut"))

    assert relays(recovered(*run.traces)) == ['Küche -> Küche 2 transfer structural 62 {"stufe": 2}']


def test_a_single_agent_with_tools_that_read_like_handoffs_hands_nothing_over() -> None:
    run = Run()
    run.turn("Küche", 10, said("Küche", "eins"), "transfer_to_lager")
    run.turn("Küche", 100, said("Küche", "zwei"))

    assert relays(recovered(*run.traces)) == []


def test_every_link_is_a_cause_so_one_run_is_one_session() -> None:
    run = Run()
    run.turn("Küche", 10, said("Küche", "eins"))
    facts = extract(Batch(tuple(s for t in run.traces for s in t.spans))).spans

    assert next(f.causes[0][0] for f in facts if f.causes) == run.traces[0].trace_id
    assert sum(bool(f.causes) for f in facts) == 6


def alone(number: int, agent: str, at: float, tool: str = "") -> Trace:
    t = Trace(CORE, number, start_ms=at)
    run = t.agent(agent, 0, 40, gen_ai__agent__id=f"{agent}_{TEAM}/{TEAM}")
    if tool:
        t.tool(tool, 5, 6, run)
    return t


def test_without_the_runtime_the_team_s_id_joins_runs_that_are_roots() -> None:
    traces = [
        alone(1, "Küche", 0, "transfer_to_service"),
        alone(2, "Service", 50, "kasse"),
        alone(3, "Kasse", 100),
    ]
    facts = extract(Batch(tuple(s for t in traces for s in t.spans))).spans

    assert {f.session_keys.get("group") for f in facts if f.has_visit} == {TEAM}
    assert relays(recovered(*traces)) == [
        "Küche -> Service transfer explicit 44 unrecorded",
        "Service -> Kasse transfer inferred 10 unrecorded",
    ]


def test_who_hands_back_by_a_tool_of_another_name_hands_over_and_answers_no_call() -> None:
    t = Trace(CORE)
    root = t.span("sitzung", 0, 900, scope="app")
    t.tool("transfer_to_gleis_10", 18, 19, t.agent("Gleis_1", 1, 20, root))
    t.tool("zurueck", 58, 59, t.agent("Gleis_10", 25, 60, root))
    t.agent("Gleis_1", 65, 90, root)

    assert relays(recovered(t)) == [
        "Gleis_1 -> Gleis_10 transfer explicit 6 unrecorded",
        "Gleis_10 -> Gleis_1 transfer inferred 5 unrecorded",
    ]


MANAGER = "MagenticOneOrchestrator"


def asked(run: Run, worker: str, at: float, instruction: str, answer: str) -> None:
    """The manager's turn, the worker's run that it asks for, and the worker's answer, which starts the manager's next turn."""
    t = run.trace(at)
    turn = run.process(t, MANAGER, 1, said("user", "Essen") if len(run.traces) > 2 else {"messages": []})
    told = run.create(t, turn, "group_topic", 20)
    run.cause = run.create(t, turn, worker, 21)
    heard = run.trace(at + 60)
    cause, run.cause = run.cause, told
    run.process(heard, worker, 0, said(MANAGER, instruction))
    run.cause = cause
    run_of = heard.agent(worker, 2, 40, run.process(heard, worker, 1, {}), gen_ai__agent__id=f"{worker}_{TEAM}/{TEAM}")
    run.cause = run.create(heard, run_of, "group_topic", 35)
    back = run.trace(at + 110)
    run.process(back, "Niemand", 1, said(worker, answer))


def test_a_manager_that_speaks_asks_and_is_answered_and_nobody_else_hands_over() -> None:
    run = Run()
    asked(run, "Küche", 10, '{"gericht": "Suppe", "salz": 0}', "gekocht")
    asked(run, "Service", 200, "Frag die Gäste.", "gefragt")
    run.process(run.trace(400), MANAGER, 1, said("Service", "gefragt"))

    assert relays(recovered(*run.traces)) == [
        f'{MANAGER} -> Küche delegate structural 11 {{"gericht": "Suppe", "salz": 0}}',
        f"Küche -> {MANAGER} return structural None unrecorded",
        f'{MANAGER} -> Service delegate structural 11 {{"message": "Frag die Gäste."}}',
        f"Service -> {MANAGER} return structural None unrecorded",
    ]


def test_of_a_team_in_an_agent_s_run_only_the_first_was_called_and_what_opened_its_work_is_what_it_was_given() -> None:
    t = Trace(CORE)
    root = t.span("sitzung", 0, 900, scope="app")
    jury = t.agent("Jury", 1, 100, root)
    start = {"messages": [{"source": "user", "content": "Prüft das Menü.", "type": "TextMessage"}]}
    named = {"messaging.operation": "process", "message": json.dumps(start, ensure_ascii=False)}
    t.span("autogen process Manager", 2, 3, jury, scope=RUNTIME, kind=5, attributes=named)
    t.agent("Küche", 10, 30, jury, gen_ai__agent__id=f"Küche_{TEAM}/{TEAM}")
    t.agent("Service", 40, 60, jury, gen_ai__agent__id=f"Service_{TEAM}/{TEAM}")
    t.agent("Kasse", 110, 120, root)

    assert relays(recovered(t)) == [
        'Jury -> Küche delegate structural 9 {"message": "Prüft das Menü."}',
        "Küche -> Service transfer inferred 10 unrecorded",
        "Service -> Jury return structural None unrecorded",
        "Jury -> Kasse transfer inferred 10 unrecorded",
    ]
