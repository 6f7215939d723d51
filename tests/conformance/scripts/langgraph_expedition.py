"""LangGraph on an expedition: shapes of its own, under an instrumentation of choice.

    pip install langgraph langgraph-supervisor langchain langchain-openai openinference-instrumentation-langchain
                                                 -> langgraph_expedition.py openinference fan|tools|teams|router OUT
    ... opentelemetry-instrumentation-langchain  -> langgraph_expedition.py openllmetry|both fan|tools|teams|router OUT
    ... opentelemetry-instrumentation-genai-langchain            -> langgraph_expedition.py otel tools|teams|router OUT

fan: Leitung sends two parts to two runs of Träger by `Send`, and one to Karte 1, whose result a plain function formats; Kartograf (whose node
is called zeichnen) waits for both and hands back by a Command. tools: agents called as tools, three deep, one of them twice. teams: a
supervisor over a supervisor. router: one agent, a function that routes, a plain `transfer_to_lager` and a retrieval, no handoff.
"""

from __future__ import annotations

import json
import operator
import os
import sys
from pathlib import Path
from typing import Annotated, Any

from capturing import ChatServer, ask, handoff, returned, say, tracer_provider, write_expected

SESSION = "Tour 0/Nº 7"
PART_1 = {"strecke": "Nord", "last_kg": 0, "zelte": []}
PART_2 = {"strecke": "Süd", "last_kg": 12.5, "zelte": ["grün"], "hinweis": ""}
MAP = {"gebiet": {"x": 1, "y": None}, "maßstab": "1:25000"}
JOB = {"ziel": "Gipfel", "teilnehmer": 0, "verboten": []}
CHECK = "Wetter: klar\nWind:\nStufe: 2"

ANSWERS: dict[str, dict[str, list[Any]]] = {
    "fan": {
        "Leitung": [say("Teilt euch auf."), say("Angekommen.")],
        "Träger": [say("Nord getragen."), say("Süd getragen.")],
        "Karte 1": [say("Karte gezeichnet, zwölf Blätter.")],
        "Kartograf": [say("Alles eingetragen und geprüft.")],
    },
    "tools": {
        "Leitung": [
            ask(("frage_bergführer", JOB)),
            ask(("frage_wetter", {"frage": CHECK})),
            say("Wir gehen."),
        ],
        "Bergführer 1": [ask(("frage_wetter", {"frage": "Hält es bis Mittag?"})), say("Route steht.")],
        "Wetter 10": [
            ask(("transfer_to_archiv", {"jahr": 0})),
            say("Ja, bis Mittag."),
            say("Stufe 2, kein Wind."),
        ],
    },
    "teams": {
        "Leitung": [ask(("transfer_to_lager", {})), say("Ende.")],
        "Lagerchef": [
            ask(("transfer_to_koch_2", {}), text='{"mahlzeit": "Suppe", "portionen": 0}'),
            say("Lager steht."),
        ],
        "Koch 2": [say("Suppe ist fertig.")],
    },
    "router": {"Auskunft": [ask(("transfer_to_lager", {"stück": 0})), say("Drei Zelte liegen im Lager.")]},
}


def expected(scene: str) -> dict[str, Any]:
    """The ground truth."""
    lead = "Leitung"
    truth: dict[str, Any] = {
        "session_id": SESSION,
        "session_id_visible": True,
        "sessions": 1,
        "returns": [],
        "dropped": [],
    }
    if scene == "fan":
        return truth | {
            "agents": [lead, "Träger", "Karte 1", "Kartograf"],
            "handoffs": [
                handoff(1, lead, "Träger", "transfer", PART_1),
                handoff(2, lead, "Träger", "transfer", PART_2),
                handoff(3, lead, "Karte 1", "transfer", MAP),
                handoff(
                    4,
                    "Träger",
                    "Kartograf",
                    "transfer",
                    {"message": "Nord getragen."},
                    form="text",
                    optional=["getragen"],
                ),
                handoff(
                    5,
                    "Träger",
                    "Kartograf",
                    "transfer",
                    {"message": "Süd getragen."},
                    form="text",
                    optional=["getragen"],
                ),
                handoff(6, "Karte 1", "Kartograf", "transfer", {"blätter": 12}, optional=["karte"]),
                handoff(7, "Kartograf", lead, "transfer", {"ergebnis": {"ok": True, "offen": []}}),
            ],
            "decoys": [
                "falten is a plain function between Karte 1 and Kartograf",
                "zeichnen is the node, Kartograf the agent in it",
            ],
        }
    if scene == "tools":
        guide, weather = "Bergführer 1", "Wetter 10"
        form = {"wetter": "klar", "wind": "", "stufe": "2"}
        return truth | {
            "agents": [lead, guide, weather],
            "handoffs": [
                handoff(1, lead, guide, "delegate", JOB),
                handoff(2, guide, weather, "delegate", {"frage": "Hält es bis Mittag?"}, form="text"),
                handoff(3, lead, weather, "delegate", {"frage": CHECK}, form="text", optional=list(form)),
            ],
            "returns": [
                returned(weather, guide, "Ja, bis Mittag."),
                returned(guide, lead, "Route steht."),
                returned(weather, lead, "Stufe 2, kein Wind."),
            ],
            "decoys": ["transfer_to_archiv of Wetter 10 is a plain tool"],
        }
    if scene == "teams":
        chief, cook = "Lagerchef", "Koch 2"
        return truth | {
            "agents": [lead, chief, cook],
            "handoffs": [
                handoff(1, lead, chief, "delegate", {}),
                handoff(2, chief, cook, "delegate", {"mahlzeit": "Suppe", "portionen": 0}),
            ],
            "returns": [returned(cook, chief, "Suppe ist fertig."), returned(chief, lead, "Lager steht.")],
            "decoys": ["lager is the node of a team, no agent"],
        }
    return truth | {
        "agents": ["Auskunft"],
        "handoffs": [],
        "decoys": ["wohin routes", "transfer_to_lager is a plain tool", "suchen retrieves"],
    }


def scripted(url: str) -> Any:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model="scripted-1", base_url=url, api_key="none")


def fan(url: str) -> Any:
    """Send, a plain function, a join, a Command back."""
    from langchain.agents import create_agent
    from langchain_core.messages import SystemMessage
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.types import Command, Send

    model = scripted(url)

    class State(MessagesState):
        getragen: Annotated[list[str], operator.add]
        karte: dict[str, Any]
        ergebnis: dict[str, Any]

    def speak(name: str, state: Any) -> Any:
        return model.invoke([SystemMessage(f"Du bist {name}."), *state.get("messages", [])])

    def lead(state: State) -> Any:
        answer = speak("Leitung", state)
        if state.get("ergebnis"):
            return {"messages": [answer]}
        goto = [Send("Träger", PART_1), Send("Träger", PART_2), Send("Karte 1", MAP)]
        return Command(update={"messages": [answer]}, goto=goto)

    def carry(state: dict[str, Any]) -> Any:
        return {
            "messages": [speak("Träger", {"messages": [("human", json.dumps(state, ensure_ascii=False))]})],
            "getragen": [state["strecke"]],
        }

    def map_1(state: dict[str, Any]) -> Any:
        speak("Karte 1", {"messages": [("human", json.dumps(state, ensure_ascii=False))]})
        return {"karte": {"blätter": 12}}

    agent = create_agent(model, [], system_prompt="Du bist Kartograf.", name="Kartograf")

    def draw(state: State) -> Any:
        agent.invoke({"messages": state["messages"]})
        return Command(update={"ergebnis": {"ok": True, "offen": []}}, goto="Leitung")

    g = StateGraph(State)
    g.add_node("Leitung", lead, destinations=("Träger", "Karte 1", END))
    g.add_node("Träger", carry)
    g.add_node("Karte 1", map_1)
    g.add_node("falten", lambda _state: {"getragen": []})
    g.add_node("zeichnen", draw, destinations=("Leitung",))
    g.add_edge(START, "Leitung")
    g.add_edge("Karte 1", "falten")
    g.add_edge(["Träger", "falten"], "zeichnen")
    return g.compile(name="expedition")


def tools(url: str) -> Any:
    """Agents as tools."""
    from langchain.agents import create_agent
    from langchain_core.tools import tool

    model = scripted(url)

    @tool
    def transfer_to_archiv(jahr: int) -> str:
        """Put a report into the archive. (A plain tool; NOT a handoff.)"""
        return f"abgelegt: {jahr}"

    weather = create_agent(model, [transfer_to_archiv], system_prompt="Du bist Wetter 10.", name="Wetter 10")

    @tool
    def frage_wetter(frage: str) -> str:
        """Ask the weather."""
        return str(weather.invoke({"messages": [("human", frage)]})["messages"][-1].content)

    guide = create_agent(model, [frage_wetter], system_prompt="Du bist Bergführer 1.", name="Bergführer 1")

    @tool
    def frage_bergführer(ziel: str, teilnehmer: int, verboten: list[str]) -> str:  # noqa: PLC2401
        """Ask the guide."""
        given = json.dumps({"ziel": ziel, "teilnehmer": teilnehmer, "verboten": verboten})
        return str(guide.invoke({"messages": [("human", given)]})["messages"][-1].content)

    return create_agent(model, [frage_bergführer, frage_wetter], system_prompt="Du bist Leitung.", name="Leitung")


def teams(url: str) -> Any:
    """A supervisor over a supervisor."""
    from langchain.agents import create_agent
    from langgraph_supervisor import create_supervisor

    model = scripted(url)
    cook = create_agent(model, [], system_prompt="Du bist Koch 2.", name="Koch 2")
    camp = create_supervisor([cook], model=model, prompt="Du bist Lagerchef.", supervisor_name="Lagerchef").compile(
        name="lager"
    )
    return create_supervisor([camp], model=model, prompt="Du bist Leitung.", supervisor_name="Leitung").compile(
        name="tour"
    )


def router(url: str) -> Any:
    """One agent."""
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langgraph.graph import END, START, MessagesState, StateGraph

    @tool
    def transfer_to_lager(stück: int) -> str:  # noqa: PLC2401
        """Put things into the store. (A plain tool; NOT a handoff.)"""
        return f"Successfully transferred to lager: {stück}"

    agent = create_agent(scripted(url), [transfer_to_lager], system_prompt="Du bist Auskunft.", name="Auskunft")
    g = StateGraph(MessagesState)
    g.add_node("suchen", lambda _state: {"messages": [("human", "Fund: 3 Zelte")]})
    g.add_node("Auskunft", agent)
    g.add_edge(START, "suchen")

    def wohin(_state: Any) -> str:
        return "Auskunft"

    g.add_conditional_edges("suchen", wohin, ["Auskunft"])
    g.add_edge("Auskunft", END)
    return g.compile()


def main() -> None:
    kind, scene, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    provider = tracer_provider(folder, "expedition")
    if kind in ("openinference", "both"):
        from openinference.instrumentation.langchain import LangChainInstrumentor

        LangChainInstrumentor().instrument(tracer_provider=provider)
    if kind == "otel":
        os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
        os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
        from opentelemetry.instrumentation.genai.langchain import LangChainInstrumentor as Official

        Official().instrument(tracer_provider=provider)
    if kind in ("openllmetry", "both"):
        from opentelemetry.instrumentation.langchain import LangchainInstrumentor

        LangchainInstrumentor().instrument(tracer_provider=provider)
    server = ChatServer(ANSWERS[scene])
    graph = {"fan": fan, "tools": tools, "teams": teams, "router": router}[scene](server.url)
    config = {"configurable": {"thread_id": SESSION}, "max_concurrency": 1}
    graph.invoke({"messages": [("human", "Los geht's.")]}, config)
    provider.shutdown()
    write_expected(folder, expected(scene))


if __name__ == "__main__":
    main()
