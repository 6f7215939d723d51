"""LangGraph of old on a ferry: what releases before 1.0 and their instrumentation write, whose tracer records objects as Python text.

    pip install "langgraph<0.3" "langchain-openai<0.4" "langgraph-supervisor<0.0.9" "openinference-instrumentation-langchain<0.1.40" "wrapt<2"
                                                 -> langgraph_ferry.py supervisor|command OUT

supervisor: Kapitän asks Maschine with nothing, and Küche with words, by tools without a mark. command: Brücke goes to Deck 2 by a Command, from
there an edge leads to Hafen.
"""

import sys
from pathlib import Path
from typing import Any

from capturing import ChatServer, ask, handoff, returned, say, tracer_provider, write_expected

SESSION = "Fähre 7/å"
MEAL = "Gäste: 40\nUhr: 12\nGang:"
COURSE = {"kurs": "Nord", "knoten": 0, "wetter": None}

ANSWERS: dict[str, dict[str, list[Any]]] = {
    "supervisor": {
        "Kapitän": [ask(("transfer_to_maschine", {})), ask(("transfer_to_küche", {}), text=MEAL), say("Wir legen ab.")],
        "Maschine": [say("Maschine läuft rund.")],
        "Küche": [say("Essen ist fertig.")],
    },
    "command": {
        "Brücke": [say("Kurs Nord, bitte.")],
        "Deck 2": [say("Leinen sind los, 'alles klar'.")],
        "Hafen": [say("Gute Fahrt.")],
    },
}


def expected(scene: str) -> dict[str, Any]:
    """The ground truth."""
    truth: dict[str, Any] = {
        "session_id": SESSION,
        "session_id_visible": True,
        "sessions": 1,
        "returns": [],
        "dropped": [],
        "decoys": [],
    }
    if scene == "supervisor":
        lines = {"gäste": "40", "uhr": "12", "gang": ""}
        return truth | {
            "agents": ["Kapitän", "Maschine", "Küche"],
            "handoffs": [
                handoff(1, "Kapitän", "Maschine", "delegate", {}),
                handoff(2, "Kapitän", "Küche", "delegate", {"message": MEAL, **lines}, form="labelled"),
            ],
            "returns": [
                returned("Maschine", "Kapitän", "Maschine läuft rund."),
                returned("Küche", "Kapitän", "Essen ist fertig."),
            ],
        }
    return truth | {
        "agents": ["Brücke", "Deck 2", "Hafen"],
        "handoffs": [
            handoff(1, "Brücke", "Deck 2", "transfer", COURSE),
            handoff(2, "Deck 2", "Hafen", "transfer", {"message": "Leinen sind los, 'alles klar'."}, form="text"),
        ],
    }


def graph(scene: str, url: str) -> Any:
    """The graph."""
    from langchain_core.messages import SystemMessage
    from langchain_openai import ChatOpenAI
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import create_react_agent
    from langgraph.types import Command

    model = ChatOpenAI(model="scripted-1", base_url=url, api_key="none")
    if scene == "supervisor":
        from langgraph_supervisor import create_supervisor

        crew = [create_react_agent(model, [], prompt=f"Du bist {n}.", name=n) for n in ("Maschine", "Küche")]
        team = create_supervisor(crew, model=model, prompt="Du bist Kapitän.", supervisor_name="Kapitän")
        return team.compile(name="fähre")

    class State(MessagesState):
        auftrag: dict[str, Any]

    def speak(name: str, state: Any) -> Any:
        return model.invoke([SystemMessage(f"Du bist {name}."), *state["messages"]])

    def bridge(state: State) -> Command:
        speak("Brücke", state)
        return Command(goto="Deck 2", update={"auftrag": COURSE})

    g = StateGraph(State)
    g.add_node("Brücke", bridge)
    g.add_node("Deck 2", lambda state: {"messages": [speak("Deck 2", state)]})
    g.add_node("Hafen", lambda state: {"messages": [speak("Hafen", state)]})
    g.add_edge(START, "Brücke")
    g.add_edge("Deck 2", "Hafen")
    return g.compile()


def main() -> None:
    scene, folder = sys.argv[1], Path(sys.argv[2])
    provider = tracer_provider(folder, "ferry")
    from openinference.instrumentation.langchain import LangChainInstrumentor

    LangChainInstrumentor().instrument(tracer_provider=provider)
    server = ChatServer(ANSWERS[scene])
    config = {"configurable": {"thread_id": SESSION}, "max_concurrency": 1}
    graph(scene, server.url).invoke({"messages": [("human", "Los geht's.")]}, config)
    provider.shutdown()
    write_expected(folder, expected(scene))


if __name__ == "__main__":
    main()
