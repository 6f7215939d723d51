"""LangChain and LangGraph under OpenInference: handing-over tools, plain edges, Commands, Sends, supervisors, teams, look-alikes, content off."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from collector.otlp.model import STATUS_ERROR, Event, Span
from tests.collector.conventions.langgraph_runs import Graph, said, text_of
from tests.collector.spans import Trace, recovered, relays

SCOPE = "openinference.instrumentation.langchain"


def written(kind: str, name: str, metadata: dict[str, Any], inputs: Any, outputs: Any) -> tuple[str, dict[str, Any]]:
    """As the instrumentor writes: the kind AGENT says only that the name holds the word."""
    span_kind = {"llm": "LLM", "tool": "TOOL"}.get(kind, "AGENT" if "agent" in name.lower() else "CHAIN")
    a: dict[str, Any] = {"openinference.span.kind": span_kind, "metadata": json.dumps(metadata)}
    if kind == "tool":
        a["tool.name"] = name
    if kind == "llm":
        for prefix, messages in (("llm.input_messages", inputs), ("llm.output_messages", outputs)):
            for i, message in enumerate(messages or ()):
                a[f"{prefix}.{i}.message.role"] = {"ai": "assistant", "human": "user"}[message["type"]]
                a[f"{prefix}.{i}.message.content"] = message["data"]["content"]
                for j, call in enumerate(message["data"].get("tool_calls", ())):
                    function = f"{prefix}.{i}.message.tool_calls.{j}.tool_call.function"
                    a[f"{function}.name"], a[f"{function}.arguments"] = call["name"], json.dumps(call["args"])
        return name, a
    if inputs is not None:
        a["input.value"] = text_of(inputs)
    if outputs is not None:
        a["output.value"] = text_of(outputs)
    return name, a


def graph(t: Trace, name: str = "LangGraph") -> Graph:
    return Graph(t, written, name)


PARENT_COMMAND = (Event("exception", 0, {"exception.type": "langgraph.errors.ParentCommand"}),)


def swarm_agent(g: Graph, name: str, step: int, start: float, end: float) -> Any:
    """A node and the agent of the same name in it; the span of the agent."""
    return g.agent(name, start + 1, end - 1, g.node(name, step, start, end))


def test_marked_tool_hands_over_whatever_its_name_and_the_model_s_call_names_a_bare_argument() -> None:
    t = Trace(SCOPE)
    g = graph(t)
    a = swarm_agent(g, "Příjem 1", 1, 10, 40)
    g.model(12, 20, a, "", ("předat", {"zpráva_pro": "Doktor"}))
    g.tool("předat", 22, 25, a, "Doktor", destination="Příjem 10")
    b = swarm_agent(g, "Příjem 10", 2, 50, 90)
    g.model(52, 60, b, "Hotovo.")

    assert relays(recovered(t)) == ['Příjem 1 -> Příjem 10 transfer explicit 25 {"zpráva_pro": "Doktor"}']


def test_tool_without_the_marker_is_plain_even_if_it_is_named_for_an_agent_and_answers_like_a_handoff() -> None:
    t = Trace(SCOPE)
    g = graph(t)
    a = swarm_agent(g, "desk", 1, 10, 80)
    g.model(12, 20, a, "", ("transfer_to_expert", {"no": 1}))
    g.tool("transfer_to_expert", 22, 25, a, {"no": 1}, said("Successfully transferred to expert"))
    g.model(30, 40, a, "I transferred to the expert.")
    swarm_agent(graph(Trace(SCOPE, 2)), "expert", 1, 10, 20)

    assert relays(recovered(t)) == []
    assert [a["agent_id"] for a in recovered(t).document["agents"]] == ["desk"]


def test_tool_that_answers_with_a_command_for_the_graph_above_hands_over_without_the_marker() -> None:
    t = Trace(SCOPE)
    g = graph(t)
    a = swarm_agent(g, "alpha", 1, 10, 40)
    g.tool(
        "go_on", 22, 25, a, {"note": "n"}, {"graph": "__parent__", "update": {"x": 1}, "goto": "beta", "resume": None}
    )
    b = swarm_agent(g, "beta", 2, 50, 90)
    g.model(52, 60, b, "ok")

    assert relays(recovered(t)) == ['alpha -> beta transfer explicit 25 {"note": "n"}']


def test_refused_handoff_is_dropped_and_the_next_request_is_taken_up() -> None:
    t = Trace(SCOPE)
    g = graph(t)
    a = swarm_agent(g, "Lager 1", 1, 10, 60)
    g.tool("weiter", 20, 22, a, {"n": 5}, "Abgelehnt.", destination="Lager 12")
    g.model(25, 30, a, "", ("weiter", {"n": 2}))
    g.tool("weiter", 40, 42, a, {"n": 2}, destination="Lager 12")
    swarm_agent(g, "Lager 12", 2, 70, 90)

    assert relays(recovered(t)) == [
        'Lager 1 -> Lager 12 transfer explicit None {"n": 5} dropped',
        'Lager 1 -> Lager 12 transfer explicit 28 {"n": 2}',
    ]


def test_agent_that_hands_to_itself_visits_twice() -> None:
    t = Trace(SCOPE)
    g = graph(t)
    a = swarm_agent(g, "clerk", 1, 10, 40)
    g.tool("again", 20, 22, a, {"left": 0}, destination="clerk")
    swarm_agent(g, "clerk", 2, 50, 80)

    assert relays(recovered(t)) == ['clerk -> clerk transfer explicit 28 {"left": 0}']


def test_supervisor_that_runs_again_after_its_worker_had_delegated() -> None:
    t = Trace(SCOPE)
    g = graph(t)
    a = swarm_agent(g, "boss", 1, 10, 40)
    g.model(12, 18, a, "", ("transfer_to_worker", {}))
    g.tool("transfer_to_worker", 20, 22, a, None, destination="worker")
    b = g.node("worker", 2, 50, 80, {"messages": [said("Found: 3.")]})
    g.model(55, 60, b, "Found: 3.")
    c = swarm_agent(g, "boss", 3, 90, 120)
    g.model(92, 95, c, "Done.")

    assert relays(recovered(t)) == [
        "boss -> worker delegate explicit 30 {}",
        'worker -> boss return inferred None {"message": "Found: 3."}',
    ]


def test_plain_edge_carries_the_update_of_the_source_and_routers_are_no_agents() -> None:
    t = Trace(SCOPE)
    g = graph(t, "intake")
    a = g.node(
        "Triage", 1, 10, 30, {"messages": [said("Next.")], "übergabe": {"nr": 0, "frei": []}, "next": "Arzt agent"}
    )
    g.model(12, 20, a, "Next.")
    g.inside("chain", "route_to_agent", 25, 26, a, {"messages": []}, "Arzt agent")
    b = g.node("Arzt agent", 2, 40, 60, {"messages": [said("Fine.")]})
    g.model(42, 50, b, "Fine.")

    result = recovered(t)
    assert relays(result) == ['Triage -> Arzt agent transfer inferred 10 {"nr": 0, "frei": [], "message": "Next."}']
    assert [a["agent_id"] for a in result.document["agents"]] == ["Triage", "Arzt agent"]


def test_nodes_of_one_step_come_from_the_step_before_and_not_from_each_other() -> None:
    t = Trace(SCOPE)
    g = graph(t)
    for name, step, start, end in (("lead", 1, 10, 20), ("x", 2, 30, 40), ("x 2", 2, 45, 60), ("join", 3, 70, 80)):
        n = g.node(name, step, start, end, {"plan": {"from": name}})
        g.model(start + 1, start + 2, n, f"{name} has said something longer")

    assert [line.split(" transfer")[0] for line in relays(recovered(t))] == [
        "lead -> x",
        "lead -> x 2",
        "x -> join",
        "x 2 -> join",
    ]


def test_join_names_the_nodes_it_waited_for_though_one_ended_a_step_earlier() -> None:
    t = Trace(SCOPE)
    g = graph(t)
    runs = (("lead", 1, 10, 20, ""), ("short", 2, 30, 40, ""), ("long", 2, 30, 41, ""), ("tail", 3, 50, 60, ""))
    for name, step, start, end, trigger in (*runs, ("join", 4, 70, 80, "join:short+tail:join")):
        n = g.node(name, step, start, end, {"k": name}, trigger=trigger)
        g.model(start + 1, start + 2, n, "word")

    assert [line.split(" transfer")[0] for line in relays(recovered(t))][-2:] == ["short -> join", "tail -> join"]


def test_second_run_of_the_graph_in_one_trace_starts_anew() -> None:
    t = Trace(SCOPE)
    turn = t.span("turn", 0, 990)
    for at in (0, 400):
        root = t.span("LangGraph", at, at + 300, turn, openinference__span__kind="CHAIN")
        g = graph(Trace(SCOPE, 2))
        g.t, g.root = t, root
        g.metadata[root.span_id] = {"ls_integration": "langgraph"}
        for name, step, start in (("a", 1, at + 10), ("b", 2, at + 100)):
            n = g.node(name, step, start, start + 50, {"k": name})
            g.model(start + 1, start + 2, n, "word")

    assert relays(recovered(t)) == ['a -> b transfer inferred 40 {"k": "a"}'] * 2


def test_command_goto_is_explicit_and_names_of_agents_in_the_state_are_no_fields() -> None:
    t = Trace(SCOPE)
    g = graph(t)
    update = {"messages": [said("Over to you.")], "brief": {"goal": "g", "limits": None}, "from_agent": "planner"}
    a = g.node("planner", 1, 10, 30, {"graph": None, "update": update, "resume": None, "goto": "coder"})
    g.model(12, 20, a, "Over to you.")
    b = g.node("coder", 2, 40, 60, {"graph": None, "update": {}, "resume": None, "goto": "__end__"})
    g.model(42, 50, b, "Done.")

    assert relays(recovered(t)) == [
        'planner -> coder transfer explicit 10 {"goal": "g", "limits": null, "message": "Over to you."}'
    ]


def test_send_gives_each_of_several_runs_of_one_agent_its_own_input() -> None:
    t = Trace(SCOPE)
    g = graph(t)
    sends = ["Send(node='worker', arg={'part': 1})", "Send(node='worker', arg={'part': 2})"]
    a = g.node("lead", 1, 10, 30, {"graph": None, "update": None, "resume": None, "goto": sends})
    g.model(12, 20, a, "Split.")
    for i in (1, 2):
        n = g.node("worker", 2, 40 + i, 60 + i, {"done": [i]}, inputs={"part": i}, pushed=True)
        g.model(45 + i, 50 + i, n, "ok")

    assert relays(recovered(t)) == [
        'lead -> worker transfer explicit 11 {"part": 1}',
        'lead -> worker transfer explicit 12 {"part": 2}',
    ]


def test_team_in_a_subgraph_counts_its_agents_and_not_the_node_around_them() -> None:
    t = Trace(SCOPE)
    g = graph(t)
    a = g.node("chief", 1, 10, 20, {"task": "t"})
    g.model(12, 14, a, "Research, please.")
    team = g.node("research_team", 2, 30, 90)
    for name, step, start in (("searcher", 1, 35), ("reader", 2, 60)):
        n = g.node(name, step, start, start + 20, {"found": name}, parent=team)
        g.agent(name, start + 1, start + 19, n)
        g.model(start + 2, start + 5, n, "word")
    c = g.node("chief", 3, 100, 120, {"report": "r"})
    g.model(102, 104, c, "Thanks.")

    result = recovered(t)
    assert [line.split(" transfer")[0] for line in relays(result)] == [
        "chief -> searcher",
        "searcher -> reader",
        "reader -> chief",
    ]
    assert [a["agent_id"] for a in result.document["agents"]] == ["chief", "searcher", "reader"]


def test_agent_s_own_name_wins_over_its_node_s_and_a_goto_finds_it_by_the_node_s() -> None:
    t = Trace(SCOPE)
    g = graph(t)
    a = g.node("plan_step", 1, 10, 40, {"graph": None, "update": {"k": 1}, "goto": "code_step"})
    g.model(13, 15, g.agent("planner", 11, 39, a), "Plan.")
    b = g.node("code_step", 2, 50, 90, {"k": 2})
    g.model(53, 55, g.agent("coder", 51, 89, b), "Code.")

    assert relays(recovered(t)) == ['planner -> coder transfer explicit 10 {"k": 1}']


def test_agents_called_as_tools_three_deep_are_delegations_with_returns() -> None:
    t = Trace(SCOPE)
    g = graph(t)
    top = g.agent("top", 1, 800, g.root)
    mid_tool = g.tool("ask_mid", 20, 700, top, {"request": '{"goal": "a"}'}, "mid is done")
    mid = g.agent("mid", 30, 690, mid_tool)
    g.model(31, 35, mid, "", ("low", {"job": "b"}))
    low_tool = g.tool("low", 40, 600, mid, {"job": "b"}, "low is done")
    g.model(60, 70, g.agent("low", 50, 590, low_tool), "low is done")
    g.model(705, 710, top, "All done.")

    assert relays(recovered(t)) == [
        'top -> mid delegate structural 10 {"goal": "a"}',
        'mid -> low delegate structural 10 {"job": "b"}',
        'low -> mid return structural 10 {"message": "low is done"}',
        'mid -> top return structural 10 {"message": "mid is done"}',
    ]


def test_parent_command_is_no_failure_and_a_crash_in_the_middle_leaves_what_happened() -> None:
    t = Trace(SCOPE)
    g = graph(t)
    a = swarm_agent(g, "one", 1, 10, 40)
    g.inside(
        "tool", "hand_on", 20, 22, a, {"k": 1}, __handoff_destination="two",
        more={"status": STATUS_ERROR, "events": PARENT_COMMAND},
    )  # fmt: skip
    b = g.node("two", 2, 50, None)
    inner = g.agent("two", 51, None, b)
    g.inside("tool", "fails", 60, 62, inner, {"q": 1}, more={"status": STATUS_ERROR}, __handoff_destination="three")

    assert relays(recovered(t)) == [
        'one -> two transfer explicit 28 {"k": 1}',
        'two -> three transfer explicit None {"q": 1} dropped',
    ]


def test_hidden_content_is_unrecorded_and_edges_stand() -> None:
    t = Trace(SCOPE)
    g = graph(t)
    a = swarm_agent(g, "one", 1, 10, 40)
    g.tool("hand_on", 20, 22, a, "__REDACTED__", "__REDACTED__", destination="two")
    b = g.node("two", 2, 50, 80, "__REDACTED__")
    g.model(55, 60, b)
    c = g.node("three", 3, 90, 95, "__REDACTED__")
    g.model(91, 92, c)

    assert relays(recovered(t)) == [
        "one -> two transfer explicit 28 unrecorded redacted",
        "two -> three transfer inferred 10 unrecorded redacted",
    ]


def test_single_agent_of_prebuilt_nodes_and_a_chain_without_a_graph_hand_nothing_over() -> None:
    t = Trace(SCOPE)
    g = graph(t, "support")
    for step, name in ((1, "agent"), (2, "tools"), (3, "agent")):
        n = g.node(name, step, step * 100, step * 100 + 50)
        if name == "agent":
            g.model(step * 100 + 5, step * 100 + 9, n, "word")
        else:
            g.tool("lookup", step * 100 + 5, step * 100 + 9, n, {"q": 1}, "found")
    result = recovered(t)
    assert relays(result) == []
    assert [a["agent_id"] for a in result.document["agents"]] == ["support"]

    chain = Trace(SCOPE)
    root = chain.span("RunnableSequence", 0, 90, openinference__span__kind="CHAIN")
    chain.span("Retriever", 5, 10, root, openinference__span__kind="RETRIEVER")
    chain.span("ChatFake", 12, 30, root, openinference__span__kind="LLM")
    assert recovered(chain).visits == 0


def test_objects_that_an_older_tracer_wrote_as_python_are_read() -> None:
    said = "[AIMessage(content='it is 7', additional_kwargs={}, id='run--1', usage_metadata=None)]"
    goto = f"Command(update={{'goal': 'g', 'messages': {said}}}, goto=['b', 'c'])"
    t = Trace("openinference.instrumentation.langchain")
    graph = t.span("LangGraph", 0, 90, attributes={"openinference.span.kind": "CHAIN"})

    def node(name: str, at: int, output: Any) -> Span:
        place = {"langgraph_node": name, "langgraph_step": at, "langgraph_checkpoint_ns": f"{name}:1"}
        named = {
            "openinference.span.kind": "CHAIN",
            "metadata": json.dumps(place),
            "input.value": "{}",
            "output.value": json.dumps(output),
        }
        made = t.span(name, at * 10, at * 10 + 9, graph, attributes=named)
        model = {"openinference.span.kind": "LLM", "metadata": json.dumps(place)}
        t.span("ChatOpenAI", at * 10 + 1, at * 10 + 2, made, attributes=model)
        return made

    node("a", 1, {"output": goto})
    node(
        "b",
        2,
        {"messages": ["content='done, it is b' additional_kwargs={} id='run--2' usage_metadata={'input_tokens': 1}"]},
    )
    node("d", 3, {"messages": ["content='hello' additional_kwargs={} response_metadata={} id='x'"]})

    assert relays(recovered(t)) == [
        'a -> b transfer explicit 1 {"goal": "g", "message": "it is 7"}',
        'b -> d transfer inferred 1 {"message": "done, it is b"}',
    ]


def test_a_node_that_ends_with_a_command_for_the_graph_above_tells_it_in_its_exception() -> None:
    g = graph(Trace(SCOPE))
    t = g.t
    out = g.node("Vermessung", 1, 10, 40)
    g.model(12, 20, g.node("Geometer", 1, 11, 39, parent=out, events=left("__parent__")), "Fels trägt.")
    t.spans[-3] = msgspec.structs.replace(t.spans[-3], events=left("Vermessung:12ab"))
    g.model(52, 60, g.node("Bau", 2, 50, 80), "Steht.")

    assert relays(recovered(t)) == ['Geometer -> Bau transfer explicit 11 {"fels": "Granit", "message": "Fels trägt."}']


def left(graph: str) -> tuple[Event, ...]:
    """The exception by which a Command leaves its graph; the graphs between name themselves in it."""
    update = "{'messages': [AIMessage(content='Fels trägt.', id='m1')], 'fels': 'Granit'}"
    text = f"Command(graph='{graph}', update={update}, goto='Bau')"
    told = text
    return (Event("exception", 0, {"exception.type": "langgraph.errors.ParentCommand", "exception.message": told}),)


def test_a_call_that_waited_for_a_person_and_is_made_again_when_the_run_is_resumed_is_one() -> None:
    traces = []
    for number, waits in ((1, True), (2, False)):
        t = Trace(SCOPE, number, start_ms=1000 * number)
        g = graph(t)
        a = g.agent("Wärter", 1, 90, g.root)
        stop = Event("exception", 0, {"exception.type": "langgraph.errors.GraphInterrupt", "exception.message": "(…)"})
        more = {"events": (stop,), "status": STATUS_ERROR} if waits else {}
        tool = g.inside(
            "tool", "fragen", 10, 40, a, {"boot": "Tern", "tonnen": 0}, None if waits else "Mittags.", more=more
        )
        g.model(13, 30, g.agent("Lotse", 12, 39, tool), "Mittags.")
        traces.append(t)

    assert relays(recovered(*traces)) == [
        'Wärter -> Lotse delegate structural 2 {"boot": "Tern", "tonnen": 0}',
        'Lotse -> Wärter return structural 1 {"message": "Mittags."}',
    ]
    assert relays(recovered(traces[0])) == ['Wärter -> Lotse delegate structural 2 {"boot": "Tern", "tonnen": 0}']
