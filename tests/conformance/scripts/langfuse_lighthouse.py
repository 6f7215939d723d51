"""Langfuse's SDK at the lighthouse: its callback handler on the graphs of `langgraph_lighthouse.py`, and agents that a program observes by hand.

    pip install langfuse deepagents langgraph langchain-openai opentelemetry-exporter-otlp     -> langfuse_lighthouse.py SCENE OUT

SCENE is one of those of `langgraph_lighthouse.py`, or hand: Keeper asks Pilot by a tool, with named arguments, and Clerk after it writes down
what Keeper says; all are functions under `@observe`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import langgraph_lighthouse as graphs
from capturing import ChatServer, handoff, returned, tracer_provider, write_expected

os.environ.update(
    LANGFUSE_PUBLIC_KEY="pk-lf-none",
    LANGFUSE_SECRET_KEY="none",
    LANGFUSE_BASE_URL="http://127.0.0.1:9",  # not to the vendor
    LANGFUSE_HOST="http://127.0.0.1:9",
    LANGSMITH_TRACING="false",
)

LOG = "Lamp lit at dusk, no ship in sight."


def hand() -> dict[str, Any]:
    from langfuse import observe, propagate_attributes

    def says(name: str, words: str) -> str:
        @observe(name=name, as_type="generation")
        def model(question: str) -> str:
            return words

        return str(model("?"))

    @observe(name="Pilot", as_type="agent")
    def pilot(question: str) -> str:
        return says("model-p", "The boat comes at noon.")

    @observe(as_type="tool")
    def ask_pilot(boat: str, tons: int, remarks: list[str]) -> str:
        return str(pilot(f"When does {boat} come?"))

    @observe(name="Keeper", as_type="agent")
    def keeper(task: str) -> str:
        ask_pilot(boat="Tern", tons=0, remarks=[])
        return says("model-k", LOG)

    @observe(name="Clerk", as_type="agent")
    def clerk(text: str) -> str:
        return says("model-c", "Written down.")

    @observe(name="night")
    def night() -> None:
        with propagate_attributes(session_id=graphs.SESSION):
            clerk(keeper("Light the lamp."))

    night()
    return {
        "session_id": graphs.SESSION,
        "session_id_visible": True,
        "sessions": 1,
        "agents": ["Keeper", "Pilot", "Clerk"],
        "handoffs": [
            handoff(1, "Keeper", "Pilot", "delegate", {"boat": "Tern", "tons": 0, "remarks": []}),
            handoff(2, "Keeper", "Clerk", "transfer", {"message": LOG}, form="text"),
        ],
        "returns": [returned("Pilot", "Keeper", "The boat comes at noon.")],
        "dropped": [],
        "decoys": ["night is the program's function"],
    }


def graph(scene: str) -> dict[str, Any]:
    from langfuse.langchain import CallbackHandler

    words = graphs.Words(ChatServer(graphs.ANSWERS[scene]).url)
    app = getattr(graphs, scene)(words)
    for _turn in range(2 if scene == "relay" else 1):
        told: Any = {"configurable": {"thread_id": graphs.SESSION}, "callbacks": [CallbackHandler()]}
        app.invoke({"messages": [("user", "Begin.")]}, told | {"metadata": {"langfuse_session_id": graphs.SESSION}})
    return graphs.expected(scene)


def main(scene: str, folder: Path) -> None:
    provider = tracer_provider(folder, "lighthouse")
    from langfuse import Langfuse
    from opentelemetry import trace

    trace.set_tracer_provider(provider)
    Langfuse(tracer_provider=provider)
    expected = hand() if scene == "hand" else graph(scene)
    provider._active_span_processor._span_processors[0].force_flush()  # the other is the vendor's, and waits
    write_expected(folder, expected)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
