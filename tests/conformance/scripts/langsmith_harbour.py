"""LangGraph in a harbour under LangSmith's OTel export: nodes that choose the next one by a Command, one of them a plain function.

pip install langgraph langchain-openai "langsmith[otel]" opentelemetry-exporter-otlp     -> langsmith_harbour.py OUT
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Literal

from capturing import ChatServer, handoff, say, tracer_provider, write_expected

SESSION = "Reede 4"
SHIP = {"schiff": "Ole 7", "tiefgang": 0, "ladung": [], "gefahr": None}
BERTH = {"liegeplatz": "B-2", "schlepper": 2}
ANSWERS = {
    "Lotse;": [say("Schiff kommt."), say("Angelegt.")],
    "Lotse Süd;": [say("Liegeplatz gefunden.")],
    "agent 9;": [say("Zoll klar.")],
}


def run(url: str) -> None:
    from langchain_openai import ChatOpenAI
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.types import Command

    class State(MessagesState):
        auftrag: dict[str, Any]
        n: int

    def speak(name: str, state: State) -> Any:
        return ChatOpenAI(model="m", base_url=url, api_key="x").invoke(
            [("system", f"Du bist {name};"), *state["messages"]]
        )

    def pilot(state: State) -> Command[Literal["Lotse Süd", "__end__"]]:
        said = {"messages": [speak("Lotse", state)]}
        if state.get("n"):
            return Command(goto=END, update=said)
        return Command(goto="Lotse Süd", update={**said, "auftrag": SHIP, "n": 1})

    def south(state: State) -> Command[Literal["pruefen"]]:
        return Command(goto="pruefen", update={"messages": [speak("Lotse Süd", state)], "auftrag": BERTH})

    def check(_state: State) -> Command[Literal["agent 9"]]:
        return Command(goto="agent 9")

    def customs(state: State) -> Command[Literal["Lotse"]]:
        return Command(goto="Lotse", update={"messages": [speak("agent 9", state)]})

    graph = StateGraph(State)
    for name, node in (("Lotse", pilot), ("Lotse Süd", south), ("pruefen", check), ("agent 9", customs)):
        graph.add_node(name, node)
    graph.add_edge(START, "Lotse")
    app = graph.compile(name="hafen")
    app.invoke({"messages": [("user", "Ole 7 meldet sich")]}, {"configurable": {"thread_id": SESSION}})


def expected() -> dict[str, Any]:
    """The ground truth."""
    return {
        "session_id": SESSION,
        "session_id_visible": True,
        "sessions": 1,
        "agents": ["Lotse", "Lotse Süd", "agent 9"],
        "handoffs": [
            handoff(1, "Lotse", "Lotse Süd", "transfer", {**SHIP, "message": "Schiff kommt."}, optional=["n"]),
            handoff(2, "Lotse Süd", "agent 9", "transfer", {**BERTH, "message": "Liegeplatz gefunden."}),
            handoff(3, "agent 9", "Lotse", "transfer", {"message": "Zoll klar."}, form="text"),
        ],
        "returns": [],
        "dropped": [],
        "decoys": ["pruefen is a function that routes"],
    }


def main() -> None:
    folder = Path(sys.argv[1])
    for key in ("LANGSMITH_OTEL_ENABLED", "LANGSMITH_TRACING", "LANGSMITH_OTEL_ONLY"):
        os.environ[key] = "true"
    os.environ["LANGSMITH_API_KEY"] = "none"
    os.environ["LANGSMITH_ENDPOINT"] = "http://127.0.0.1:9"  # not to the vendor
    from opentelemetry import trace

    provider = tracer_provider(folder, "hafen")
    trace.set_tracer_provider(provider)
    run(ChatServer(ANSWERS).url)
    from langchain_core.tracers.langchain import wait_for_all_tracers

    wait_for_all_tracers()
    provider.shutdown()
    write_expected(folder, expected())


if __name__ == "__main__":
    main()
