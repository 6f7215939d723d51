"""Two LangGraph nodes with a model in each; the first goes to the second by a Command."""

from typing import Any, Literal, TypedDict

from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

model = FakeListChatModel(responses=["done"])


class State(TypedDict, total=False):
    goal: str
    findings: list[str]
    answer: str


def researcher(state: State) -> Command[Literal["writer"]]:
    model.invoke("What did you find?")
    return Command(goto="writer", update={"goal": "a report", "findings": []})


def writer(state: State) -> dict[str, Any]:
    return {"answer": model.invoke("Write it.").content}


graph = StateGraph(State)
graph.add_node("researcher", researcher)
graph.add_node("writer", writer)
graph.add_edge(START, "researcher")
graph.add_edge("writer", END)
graph.compile().invoke({}, {"configurable": {"thread_id": "langgraph"}})
