"""LangGraph and LangChain at a lighthouse: ways to hand over that graphs have beside plain nodes.

    pip install deepagents langgraph langchain-openai openinference-instrumentation-langchain   -> langgraph_lighthouse.py SCENE openinference OUT
    ... opentelemetry-instrumentation-langchain                                                -> langgraph_lighthouse.py SCENE openllmetry OUT
    ... "langsmith[otel]"                                                                       -> langgraph_lighthouse.py SCENE langsmith OUT
    ... opentelemetry-instrumentation-genai-langchain                                           -> langgraph_lighthouse.py SCENE otel OUT
    ... openlit                                                                                 -> langgraph_lighthouse.py SCENE openlit OUT

SCENE is one of
- deep: a deep agent that writes a list of things to do and asks two subagents at once by its tool `task`;
- parent: a graph in a graph, whose inner agent goes to a node of the outer one by a Command for the parent;
- relay: agents that nodes of a graph run, whose tools hand over by a Command for the parent, with a text of their own; the second user turn goes on;
- resume: an agent asks another by a tool, whose own tool waits for a person; the answer resumes the run in another trace, and the call is made again;
- router: a node that asks a model where to send what, conditional edges that `Send` a question to each agent, and a node that joins the answers.
"""

from __future__ import annotations

import json
import operator
import os
import sys
from pathlib import Path
from typing import Annotated, Any

from capturing import ChatServer, ask, handoff, returned, say, tracer_provider, write_expected

SESSION = "watch-12"
LAMP = {"lens": "Fresnel", "hours": 0, "spares": []}
TIDE = "Read the tide table for Tuesday, and say when the boat can land."
PLAN = {"rock": "granite", "depth_m": 3.5, "risks": None}
REASON = "The customer's lamp does not light."
QUOTE = {"product": "lamp", "count": 0, "discount": None}
BOAT = {"boat": "Tern", "tons": 0, "cargo": []}
ROUTES = [
    {"source": "charts", "query": "Which reefs are near?"},
    {"source": "logs", "query": "Which wrecks are known?"},
]

ANSWERS: dict[str, dict[str, list[Any]]] = {
    "deep": {
        "keeper_ada": [
            ask(("write_todos", {"todos": [{"content": "Ask both", "status": "in_progress"}]})),
            ask(
                ("task", {"description": TIDE, "subagent_type": "tide_clerk"}),
                ("task", {"description": json.dumps(LAMP), "subagent_type": "lamp_smith"}),
            ),
            say("The boat may land at noon."),
        ],
        "tide_clerk": [say("Low water is at noon.")],
        "lamp_smith": [say("The lens is clean.")],
    },
    "parent": {
        "Dispatcher": [say("Survey the rock first.")],
        "Surveyor": [say("The rock carries a tower.")],
        "Builder": [say("The tower stands.")],
    },
    "relay": {
        "sales desk": [ask(("transfer_to_support", {"reason": REASON})), say("The lamp costs 90.")],
        "support desk": [say("The lamp is under warranty."), ask(("back_to_sales", QUOTE))],
    },
    "resume": {
        "Keeper": [ask(("ask_pilot", BOAT)), say("Noted.")],
        "Pilot": [ask(("permit", {"boat": "Tern"})), say("The boat may land.")],
    },
    "router": {
        "the classifier": [say(json.dumps(ROUTES))],
        "the chart keeper": [say("Chart 7 shows two reefs.")],
        "the log keeper": [say("The log names one wreck.")],
        "the writer": [say("Two reefs and one wreck.")],
    },
}  # fmt: skip


def expected(scene: str) -> dict[str, Any]:
    """The ground truth."""
    truth: dict[str, Any] = {
        "session_id": SESSION, "session_id_visible": True, "sessions": 1, "returns": [], "dropped": [], "decoys": [],
    }  # fmt: skip
    if scene == "deep":
        return truth | {
            "agents": ["keeper_ada", "tide_clerk", "lamp_smith"],
            "handoffs": [
                handoff(1, "keeper_ada", "tide_clerk", "delegate", {"description": TIDE}, form="text"),
                handoff(2, "keeper_ada", "lamp_smith", "delegate", LAMP, optional=["description"]),
            ],
            "returns": [
                returned("tide_clerk", "keeper_ada", "Low water is at noon."),
                returned("lamp_smith", "keeper_ada", "The lens is clean."),
            ],
            "decoys": ["write_todos is a plain tool"],
        }
    if scene == "parent":
        words = "Survey the rock first."
        return truth | {
            "agents": ["Dispatcher", "Surveyor", "Builder"],
            "handoffs": [
                handoff(1, "Dispatcher", "Surveyor", "transfer", {"message": words}, form="text"),
                handoff(2, "Surveyor", "Builder", "transfer", PLAN, optional=["plan"]),
            ],
            "decoys": ["survey is the node of a graph, no agent"],
        }
    if scene == "relay":
        return truth | {
            "agents": ["sales_agent", "support_agent"],
            "handoffs": [
                handoff(1, "sales_agent", "support_agent", "transfer", {"reason": REASON}, form="text"),
                handoff(2, "support_agent", "sales_agent", "transfer", QUOTE),
            ],
            "decoys": ["the second user turn starts with support_agent, whom the state names"],
        }
    if scene == "resume":
        return truth | {
            "agents": ["Keeper", "Pilot"],
            "handoffs": [handoff(1, "Keeper", "Pilot", "delegate", BOAT)],
            "returns": [returned("Pilot", "Keeper", "The boat may land.")],
            "decoys": ["the call is made in both traces, for the person's answer comes in between: it is one"],
        }
    charts, logs = "Chart 7 shows two reefs.", "The log names one wreck."
    return truth | {
        "agents": ["classify", "charts", "logs", "synthesize"],
        "handoffs": [
            handoff(1, "classify", "charts", "transfer", {"message": ROUTES[0]["query"]}, form="text"),
            handoff(2, "classify", "logs", "transfer", {"message": ROUTES[1]["query"]}, form="text"),
            handoff(3, "charts", "synthesize", "transfer", {"results": [{"source": "charts", "result": charts}]}),
            handoff(4, "logs", "synthesize", "transfer", {"results": [{"source": "logs", "result": logs}]}),
        ],
    }


class Words:
    """A scripted model, asked as an agent."""

    def __init__(self, url: str) -> None:
        from langchain_openai import ChatOpenAI

        self.model = ChatOpenAI(model="scripted-4", base_url=url, api_key="none")

    def of(self, agent: str, messages: Any) -> Any:
        """What the agent answers."""
        from langchain_core.messages import SystemMessage

        return self.model.invoke([SystemMessage(f"You are {agent}."), *messages])


def deep(words: Words) -> Any:
    from deepagents import create_deep_agent

    subagents: Any = [
        {"name": name, "description": f"Is {name}.", "system_prompt": f"You are {name}.", "model": words.model}
        for name in ("tide_clerk", "lamp_smith")
    ]
    return create_deep_agent(
        model=words.model, system_prompt="You are keeper_ada.", subagents=subagents, name="keeper_ada"
    )


def parent(words: Words) -> Any:
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.types import Command

    class State(MessagesState):
        plan: dict[str, Any]

    def dispatcher(state: State) -> Any:
        return {"messages": [words.of("Dispatcher", state["messages"])]}

    def surveyor(state: State) -> Any:
        said = words.of("Surveyor", state["messages"])
        return Command(goto="Builder", graph=Command.PARENT, update={"messages": [said], "plan": PLAN})

    def builder(state: State) -> Any:
        return {"messages": [words.of("Builder", state["messages"])]}

    inside = StateGraph(State)
    inside.add_node("Surveyor", surveyor)
    inside.add_edge(START, "Surveyor")
    outside = StateGraph(State)
    outside.add_node("Dispatcher", dispatcher)
    outside.add_node("survey", inside.compile(name="survey"))
    outside.add_node("Builder", builder)
    outside.add_edge(START, "Dispatcher")
    outside.add_edge("Dispatcher", "survey")
    return outside.compile(name="tower")


def relay(words: Words) -> Any:
    from langchain.agents import AgentState, create_agent
    from langchain.messages import AIMessage, ToolMessage
    from langchain.tools import ToolRuntime, tool
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import Command

    class State(AgentState):
        active_agent: str

    def over(runtime: Any, to: str) -> Any:
        last = next(m for m in reversed(runtime.state["messages"]) if isinstance(m, AIMessage))
        done = ToolMessage(content=f"Transferred to {to}", tool_call_id=runtime.tool_call_id)
        return Command(goto=to, update={"active_agent": to, "messages": [last, done]}, graph=Command.PARENT)

    globals().update(ToolRuntime=ToolRuntime, Command=Command)

    @tool
    def transfer_to_support(reason: str, runtime: ToolRuntime) -> Command:
        """Hand over to support."""
        return over(runtime, "support_agent")

    @tool
    def back_to_sales(product: str, count: int, discount: str | None, runtime: ToolRuntime) -> Command:
        """Hand over to sales."""
        return over(runtime, "sales_agent")

    agents = {
        "sales_agent": create_agent(words.model, tools=[transfer_to_support], system_prompt="You are the sales desk."),
        "support_agent": create_agent(words.model, tools=[back_to_sales], system_prompt="You are the support desk."),
    }

    def goes_on(state: Any) -> str:
        last = state["messages"][-1]
        return END if isinstance(last, AIMessage) and not last.tool_calls else state["active_agent"]

    graph = StateGraph(State)
    for name, agent in agents.items():
        graph.add_node(name, lambda state, agent=agent: agent.invoke(state))
        graph.add_conditional_edges(name, goes_on, [*agents, END])
    graph.add_conditional_edges(START, lambda state: state.get("active_agent") or "sales_agent", list(agents))
    return graph.compile(name="shop", checkpointer=InMemorySaver())


def resume(words: Words) -> Any:
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import interrupt

    @tool
    def permit(boat: str) -> str:
        """Ask a person."""
        return str(interrupt({"boat": boat}))

    pilot = create_agent(words.model, tools=[permit], system_prompt="You are Pilot.", name="Pilot")

    @tool
    def ask_pilot(boat: str, tons: int, cargo: list[str]) -> str:
        """Ask the pilot."""
        told = pilot.invoke({"messages": [("user", f"May {boat} land with {tons} tons of {cargo}?")]})
        return str(told["messages"][-1].content)

    saver = InMemorySaver()
    return create_agent(
        words.model, tools=[ask_pilot], system_prompt="You are Keeper.", name="Keeper", checkpointer=saver
    )


def router(words: Words) -> Any:
    from langchain.agents import create_agent
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import Send
    from typing_extensions import TypedDict

    class State(TypedDict):
        messages: list[Any]
        routes: list[dict[str, str]]
        results: Annotated[list[dict[str, str]], operator.add]

    chart = create_agent(words.model, tools=[], system_prompt="You are the chart keeper.")
    log = create_agent(words.model, tools=[], system_prompt="You are the log keeper.")

    def classify(state: State) -> Any:
        return {"routes": json.loads(str(words.of("the classifier", state["messages"]).content))}

    def asked(source: str, agent: Any) -> Any:
        def node(state: Any) -> Any:
            told = agent.invoke({"messages": [("user", state["query"])]})
            return {"results": [{"source": source, "result": str(told["messages"][-1].content)}]}

        return node

    def synthesize(state: State) -> Any:
        text = "\n\n".join(f"From {r['source']}: {r['result']}" for r in state["results"])
        return {"messages": [words.of("the writer", [("user", text)])]}

    graph = StateGraph(State)
    graph.add_node("classify", classify)
    graph.add_node("charts", asked("charts", chart))
    graph.add_node("logs", asked("logs", log))
    graph.add_node("synthesize", synthesize)
    graph.add_edge(START, "classify")
    graph.add_conditional_edges(
        "classify",
        lambda state: [Send(r["source"], {"query": r["query"]}) for r in state["routes"]],
        ["charts", "logs"],
    )
    graph.add_edge("charts", "synthesize")
    graph.add_edge("logs", "synthesize")
    graph.add_edge("synthesize", END)
    return graph.compile(name="library")


def instrument(kind: str, provider: Any) -> None:
    """Switch the instrumentation on."""
    if kind == "openinference":
        from openinference.instrumentation.langchain import LangChainInstrumentor as OpenInference

        OpenInference().instrument(tracer_provider=provider)
    elif kind == "openllmetry":
        from opentelemetry.instrumentation.langchain import LangchainInstrumentor as OpenLLMetry

        OpenLLMetry().instrument(tracer_provider=provider)
    elif kind == "otel":
        from opentelemetry.instrumentation.genai.langchain import LangChainInstrumentor as Official

        Official().instrument(tracer_provider=provider)
    elif kind == "openlit":
        import openlit

        openlit.init(disable_metrics=True)


def main(scene: str, kind: str, folder: Path) -> None:
    if kind == "langsmith":
        for key in ("LANGSMITH_OTEL_ENABLED", "LANGSMITH_TRACING", "LANGSMITH_OTEL_ONLY"):
            os.environ[key] = "true"
        os.environ["LANGSMITH_API_KEY"] = "none"
        os.environ["LANGSMITH_ENDPOINT"] = "http://127.0.0.1:9"  # not to the vendor
    else:
        os.environ["LANGSMITH_TRACING"] = "false"
    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY" if kind == "otel" else "true"
    from opentelemetry import trace

    provider = tracer_provider(folder, "lighthouse")
    trace.set_tracer_provider(provider)
    instrument(kind, provider)
    words = Words(ChatServer(ANSWERS[scene]).url)
    app = {
        "deep": deep,
        "parent": parent,
        "relay": relay,
        "resume": resume,
        "router": router,
    }[scene](words)
    from langgraph.types import Command

    begin: Any = {"messages": [("user", "Begin.")]}
    for given in {"relay": [begin, begin], "resume": [begin, Command(resume="yes")]}.get(scene, [begin]):
        app.invoke(given, {"configurable": {"thread_id": SESSION}})
    if kind == "langsmith":
        from langchain_core.tracers.langchain import wait_for_all_tracers

        wait_for_all_tracers()
    provider.shutdown()
    write_expected(folder, expected(scene))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
