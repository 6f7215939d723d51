"""Strands Agents in a circus: teams inside of teams, agents given as tools, one that takes over, one behind A2A.

    pip install "strands-agents[a2a]" uvicorn opentelemetry-exporter-otlp-proto-http     -> strands_circus.py SCENE KIND OUT
    ... opentelemetry-instrumentation-httpx opentelemetry-instrumentation-asgi           -> strands_circus.py remote KIND OUT
    ... openinference-instrumentation-strands-agents                                     -> strands_circus.py SCENE openinference OUT

KIND is default, latest (gen_ai_latest_experimental), attributes (gen_ai_span_attributes_only with it), or openinference. SCENE is one of
- nested: a graph whose second node is a swarm of two and whose third is a graph of one; the fourth waits for both;
- tools: Director has two agents in its list of tools, one of which asks a third; then it gives over to a fourth for good (`delegate`);
- remote: Director asks an agent in another process, by a tool that calls it over A2A.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from capturing import Answer, ask, handoff, returned, say, tracer_provider, write_expected
from strands_greenhouse import scripted, to

SESSION = "evening-show-3"


def agent(name: str, answers: list[Answer], **rest: Any) -> Any:
    from strands import Agent

    return Agent(
        name=name,
        model=scripted(answers),
        system_prompt=f"You are {name}.",
        description=f"Is {name}.",
        trace_attributes={"session.id": SESSION},
        callback_handler=None,
        **rest,
    )


def truth(agents: list[str], handoffs: list[Any], returns: Any = (), decoys: Any = ()) -> dict[str, Any]:
    return {
        "session_id": SESSION, "session_id_visible": True, "sessions": 1, "agents": agents, "handoffs": handoffs,
        "returns": list(returns), "dropped": [], "decoys": list(decoys),
    }  # fmt: skip


TENT = {"poles": 12, "canvas": "red", "ropes": [], "wind": None}


def nested() -> dict[str, Any]:
    from strands.multiagent import GraphBuilder, Swarm

    plan = '{"place": "meadow", "seats": 0, "permits": []}'
    rigged, music = "The tent stands on twelve poles.", "The march is rehearsed, drums are missing."
    crew = Swarm(
        [
            agent(
                "rigger",
                [ask(to("tamer", "Tent is up, bring the lions.", TENT)), say("Done here, the lions are next.")],
            ),
            agent("tamer", [say(rigged)]),
        ]
    )
    inner = GraphBuilder()
    inner.add_node(agent("drummer", [say(music)]), "drummer")
    builder = GraphBuilder()
    builder.add_node(agent("scout", [say(plan)]), "scout")
    builder.add_node(crew, "crew")
    builder.add_node(inner.build(), "band")
    builder.add_node(agent("barker", [say("Come in, come in!")]), "barker")
    for one, other in (("scout", "crew"), ("scout", "band"), ("crew", "barker"), ("band", "barker")):
        builder.add_edge(one, other)
    builder.set_entry_point("scout")
    builder.build()("Put up the circus.")
    parts = {"place": "meadow", "seats": 0, "permits": []}
    return truth(
        ["scout", "rigger", "tamer", "drummer", "barker"],
        [
            handoff(1, "scout", "rigger", "transfer", {"message": plan, **parts}),
            handoff(2, "scout", "drummer", "transfer", {"message": plan, **parts}),
            handoff(3, "rigger", "tamer", "transfer", {"message": "Tent is up, bring the lions.", **TENT}),
            handoff(4, "drummer", "barker", "transfer", {"message": music}, form="text"),
            handoff(5, "tamer", "barker", "transfer", {"message": rigged}, form="text"),
        ],
        decoys=["crew and band are nodes that hold teams"],
    )


def tools() -> dict[str, Any]:
    fire = agent("firemaster", [say("Buckets are filled.")])
    clown = agent(
        "clown", [ask(("firemaster", {"input": "Is the hoop safe?"})), say("I jump through the hoop.")], tools=[fire]
    )
    cook = agent("cook", [say("Soup for forty.")])
    closer = agent("closer", [say("Good night, everybody.")])
    director = agent(
        "director",
        [
            ask(
                ("clown", {"input": '{"act": "hoop", "minutes": 0, "props": []}'}),
                ("cook", {"input": "Dinner: soup\nGuests: 40"}),
            ),
            ask(("closer", {"input": "Close the show, please."})),
        ],
        tools=[clown, cook, closer.as_tool(delegate=True)],
    )
    director("Run the show.")
    form = {"message": "Dinner: soup\nGuests: 40", "Dinner": "soup", "Guests": "40"}
    return truth(
        ["director", "clown", "cook", "firemaster", "closer"],
        [
            handoff(1, "director", "clown", "delegate", {"act": "hoop", "minutes": 0, "props": []}),
            handoff(2, "director", "cook", "delegate", form, form="labelled"),
            handoff(3, "clown", "firemaster", "delegate", {"message": "Is the hoop safe?"}, form="text"),
            handoff(4, "director", "closer", "delegate", {"message": "Close the show, please."}, form="text"),
        ],
        [
            returned("cook", "director", "Soup for forty."),
            returned("firemaster", "clown", "Buckets are filled."),
            returned("clown", "director", "I jump through the hoop."),
            returned("closer", "director", "Good night, everybody."),
        ],
    )  # fmt: skip


def remote() -> dict[str, Any]:
    import socket

    import uvicorn
    from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
    from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
    from strands import tool
    from strands.agent.a2a_agent import A2AAgent
    from strands.multiagent.a2a import A2AServer

    HTTPXClientInstrumentor().instrument()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    far = A2AServer(agent=agent("agency", [say("The juggler is free on Friday.")]), host="127.0.0.1", port=port)
    app = OpenTelemetryMiddleware(far.to_starlette_app())
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    near = A2AAgent(f"http://127.0.0.1:{port}/", name="agency")

    @tool
    def ask_agency(question: str) -> str:
        """Ask the agency.

        Args:
            question: what to ask.
        """
        return str(near(question))

    words = "Is the juggler free on Friday?"
    agent("director", [ask(("ask_agency", {"question": words})), say("He comes.")], tools=[ask_agency])(
        "Find a juggler."
    )
    return truth(
        ["director", "agency"],
        [handoff(1, "director", "agency", "delegate", {"message": words}, form="text", optional=["question"])],
        [returned("agency", "director", "The juggler is free on Friday.")],
    )  # fmt: skip


def main(scene: str, kind: str, folder: Path) -> None:
    if kind != "default":
        more = {"attributes": ",gen_ai_span_attributes_only,gen_ai_tool_definitions"}.get(kind, "")
        os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental" + more
    from opentelemetry import trace

    provider = tracer_provider(folder, "circus")
    if kind == "openinference":
        from openinference.instrumentation.strands_agents import StrandsAgentsToOpenInferenceProcessor

        inner = provider._active_span_processor._span_processors
        provider._active_span_processor._span_processors = (StrandsAgentsToOpenInferenceProcessor(), *inner)
    trace.set_tracer_provider(provider)
    expected = {"nested": nested, "tools": tools, "remote": remote}[scene]()
    provider.force_flush()
    write_expected(folder, expected)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
