"""LangGraph in a zoo: supervisors that ask for two at once, a wait for a person in between, several targets of one Command.

    pip install langgraph langgraph-supervisor langgraph-swarm langchain langchain-openai openinference-instrumentation-langchain
                                                       -> langgraph_zoo.py openinference resume|goto|handback|chain OUT
    ... opentelemetry-instrumentation-langchain        -> langgraph_zoo.py openllmetry resume|goto|handback|chain OUT
    ... opentelemetry-instrumentation-genai-langchain  -> langgraph_zoo.py otel|otel-off resume|handback|chain OUT

resume: the vet's tool interrupts, the person's word resumes the graph in a trace of its
own, and the vet hands over to the pharmacy by a tool of a swarm. goto: a node goes to two nodes by one Command, a third waits for both.
handback: a supervisor whose agents do not add messages on the way back, called twice for the same agent. chain: two agents as nodes, one
after the other, each below a node of another name; the second asks a third by a tool.
"""

import json
import operator
import os
import sys
from pathlib import Path
from typing import Annotated, Any

from capturing import ChatServer, ask, handoff, returned, say, tracer_provider, write_expected

SESSION = "zoo:17/é"
CASE = {"tier": "Otter 3", "symptome": ["hustet"], "gewicht_kg": 0, "zuletzt": None}
DOSE = {"mittel": "Amoxi", "mg": 12.5, "tage": 5, "hinweis": ""}

ANSWERS: dict[str, dict[str, list[Any]]] = {
    "resume": {
        "Tierarzt": [
            ask(("freigabe_holen", {"frage": "Narkose?"})),
            ask(("transfer_to_apotheke", DOSE)),
        ],
        "Apotheke": [say("Mittel ist gerichtet.")],
    },
    "goto": {
        "Einlass": [say("Zwei Gruppen, teilt euch.")],
        "Tour Nord": [say("Nordrunde fertig, 12 Gäste.")],
        "Tour Süd": [say("Südrunde fertig, 9 Gäste.")],
        "Kasse": [say("21 Gäste abgerechnet.")],
    },
    "chain": {
        "Tierarzt": [say(json.dumps(DOSE, ensure_ascii=False))],
        "Apotheke": [ask(("lager_fragen", {"mittel": "Amoxi"})), say("Mittel ist gerichtet.")],
        "Lager": [say("Zwölf Packungen da.")],
    },
    "handback": {
        "Chefin": [
            ask(("transfer_to_tierarzt", {})),
            ask(("transfer_to_tierarzt", {})),
            say("Otter darf zurück."),
        ],
        "Tierarzt": [say("Fieber: 39,5 Grad."), say("Fieber ist weg, 37,8 Grad.")],
    },
}


def expected(scene: str, recorded: bool = True) -> dict[str, Any]:
    """The ground truth."""
    truth: dict[str, Any] = {
        "session_id": SESSION,
        "session_id_visible": True,
        "sessions": 1,
        "returns": [],
        "dropped": [],
        "decoys": [],
    }
    if scene == "resume":
        return truth | {
            "agents": ["Tierarzt", "Apotheke"],
            "handoffs": [handoff(1, "Tierarzt", "Apotheke", "transfer", DOSE, recorded=recorded)],
            "decoys": ["freigabe_holen waits for a person; the run goes on in another trace"],
        }
    if scene == "chain":
        return truth | {
            "agents": ["Tierarzt", "Apotheke", "Lager"],
            "handoffs": [
                handoff(1, "Tierarzt", "Apotheke", "transfer", DOSE, recorded=recorded),
                handoff(2, "Apotheke", "Lager", "delegate", {"mittel": "Amoxi"}, form="text", recorded=recorded),
            ],
            "returns": [returned("Lager", "Apotheke", "Zwölf Packungen da.", recorded=recorded)],
            "decoys": ["untersuchen and ausgeben are nodes, no agents"],
        }
    if scene == "goto":
        return truth | {
            "agents": ["Einlass", "Tour Nord", "Tour Süd", "Kasse"],
            "handoffs": [
                handoff(1, "Einlass", "Tour Nord", "transfer", CASE),
                handoff(2, "Einlass", "Tour Süd", "transfer", CASE),
                handoff(3, "Tour Nord", "Kasse", "transfer", {"gäste": [12]}),
                handoff(4, "Tour Süd", "Kasse", "transfer", {"gäste": [9]}),
            ],
            "decoys": ["zählen is a plain function before Kasse"],
        }
    return truth | {
        "agents": ["Chefin", "Tierarzt"],
        "handoffs": [
            handoff(1, "Chefin", "Tierarzt", "delegate", {}, recorded=recorded),
            handoff(2, "Chefin", "Tierarzt", "delegate", {}, recorded=recorded),
        ],
        "returns": [
            returned("Tierarzt", "Chefin", "Fieber: 39,5 Grad.", recorded=recorded),
            returned("Tierarzt", "Chefin", "Fieber ist weg, 37,8 Grad.", recorded=recorded),
        ],
    }


def scripted(url: str) -> Any:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model="scripted-1", base_url=url, api_key="none")


def handback(url: str) -> Any:
    """A supervisor without messages on the way back."""
    from langchain.agents import create_agent
    from langgraph_supervisor import create_supervisor

    model = scripted(url)
    vet = create_agent(model, [], system_prompt="Du bist Tierarzt.", name="Tierarzt")
    return create_supervisor(
        [vet],
        model=model,
        prompt="Du bist Chefin.",
        supervisor_name="Chefin",
        add_handoff_back_messages=False,
        output_mode="full_history",
    ).compile(name="zoo")


def chain(url: str) -> Any:
    """Agents below nodes."""
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langgraph.graph import END, START, MessagesState, StateGraph

    model = scripted(url)
    store = create_agent(model, [], system_prompt="Du bist Lager.", name="Lager")

    @tool
    def lager_fragen(mittel: str) -> str:
        """Ask the store."""
        return str(store.invoke({"messages": [("human", mittel)]})["messages"][-1].content)

    vet = create_agent(model, [], system_prompt="Du bist Tierarzt.", name="Tierarzt")
    pharmacy = create_agent(model, [lager_fragen], system_prompt="Du bist Apotheke.", name="Apotheke")
    g = StateGraph(MessagesState)
    g.add_node("untersuchen", vet)
    g.add_node("ausgeben", pharmacy)
    g.add_edge(START, "untersuchen")
    g.add_edge("untersuchen", "ausgeben")
    g.add_edge("ausgeben", END)
    return g.compile(name="praxis")


def resume(url: str) -> Any:
    """A tool that interrupts, in a swarm."""
    from langchain.agents import create_agent
    from langchain_core.tools import InjectedToolCallId, tool
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.prebuilt import InjectedState
    from langgraph.types import Command, interrupt
    from langgraph_swarm import create_swarm

    model = scripted(url)

    @tool
    def freigabe_holen(frage: str) -> str:
        """Ask a person."""
        return str(interrupt({"frage": frage}))

    @tool
    def transfer_to_apotheke(
        mittel: str,
        mg: float,
        tage: int,
        hinweis: str,
        state: Annotated[Any, InjectedState],
        tool_call_id: Annotated[str, InjectedToolCallId],
    ) -> Command:
        """Hand over to the pharmacy."""
        from langchain_core.messages import ToolMessage

        done = ToolMessage("An die Apotheke.", name="transfer_to_apotheke", tool_call_id=tool_call_id)
        update = {"messages": [*state["messages"], done], "active_agent": "Apotheke"}
        return Command(goto="Apotheke", graph=Command.PARENT, update=update)

    vet = create_agent(
        model, [freigabe_holen, transfer_to_apotheke], system_prompt="Du bist Tierarzt.", name="Tierarzt"
    )
    pharmacy = create_agent(model, [], system_prompt="Du bist Apotheke.", name="Apotheke")
    return create_swarm([vet, pharmacy], default_active_agent="Tierarzt").compile(checkpointer=InMemorySaver())


def goto(url: str) -> Any:
    """One Command for two nodes, and a node that waits for both."""
    from langchain_core.messages import SystemMessage
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.types import Command

    model = scripted(url)

    class State(MessagesState):
        fall: dict[str, Any]
        gäste: Annotated[list[int], operator.add]  # noqa: PLC2401

    def speak(name: str, state: Any) -> Any:
        return model.invoke([SystemMessage(f"Du bist {name}."), *state["messages"]])

    def entry(state: State) -> Command:
        speak("Einlass", state)
        return Command(update={"fall": CASE}, goto=["Tour Nord", "Tour Süd"])

    def tour(name: str, guests: int) -> Any:
        def node(state: State) -> dict[str, Any]:
            speak(name, state)
            return {"gäste": [guests]}

        return node

    def till(state: State) -> dict[str, Any]:
        return {"messages": [speak("Kasse", state)]}

    g = StateGraph(State)
    g.add_node("Einlass", entry, destinations=("Tour Nord", "Tour Süd"))
    g.add_node("Tour Nord", tour("Tour Nord", 12))
    g.add_node("Tour Süd", tour("Tour Süd", 9))
    g.add_node("zählen", lambda _state: {"gäste": []})
    g.add_node("Kasse", till)
    g.add_edge(START, "Einlass")
    g.add_edge(["Tour Nord", "Tour Süd"], "zählen")
    g.add_edge("zählen", "Kasse")
    g.add_edge("Kasse", END)
    return g.compile(name="rundgang")


def main() -> None:
    kind, scene, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    provider = tracer_provider(folder, "zoo")
    if kind == "openinference":
        from openinference.instrumentation.langchain import LangChainInstrumentor

        LangChainInstrumentor().instrument(tracer_provider=provider)
    elif kind.startswith("otel"):
        os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
        os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = (
            "SPAN_ONLY" if kind == "otel" else "NO_CONTENT"
        )
        from opentelemetry.instrumentation.genai.langchain import LangChainInstrumentor as Official

        Official().instrument(tracer_provider=provider)
    else:
        from opentelemetry.instrumentation.langchain import LangchainInstrumentor

        LangchainInstrumentor().instrument(tracer_provider=provider)
    server = ChatServer(ANSWERS[scene])
    graph = {"chain": chain, "resume": resume, "goto": goto, "handback": handback}[scene](server.url)
    config = {"configurable": {"thread_id": SESSION}, "max_concurrency": 1}
    graph.invoke({"messages": [("human", json.dumps(CASE, ensure_ascii=False))]}, config)
    if scene == "resume":
        from langgraph.types import Command

        graph.invoke(Command(resume="Ja, Narkose frei."), config)
    provider.shutdown()
    write_expected(folder, expected(scene, kind != "otel-off"))


if __name__ == "__main__":
    main()
