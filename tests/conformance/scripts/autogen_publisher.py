"""AutoGen AgentChat at a publisher's: a graph that splits and joins.

    pip install autogen-agentchat "autogen-ext[openai]"                                 -> autogen_publisher.py native OUT
    ... openinference-instrumentation-autogen-agentchat                                 -> autogen_publisher.py openinference OUT

Autor writes, Lektor_1 and Lektor_12 read at once, Verlag waits for both, Setzer comes last.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from capturing import ChatServer, handoff, say, tracer_provider, write_expected

SESSION = "Buch 3/ö"
DRAFT = {"titel": "Der Drache", "seiten": 0, "kapitel": ["eins", "zwei"], "widmung": None}
ONE, TWELVE = "Grammatik: gut\nKommas: zwei\nRest:", "Zu lang, bitte kürzen."
BACK, LAST = "Beide Gutachten liegen bei.", "Gekürzt und fertig."

ANSWERS = {
    "Autor;": [say(json.dumps(DRAFT, ensure_ascii=False)), say(LAST)],
    "Lektor_1;": [say(ONE)],
    "Lektor_12;": [say(TWELVE)],
    "Verlag;": [say(BACK)],
}


async def run(url: str, provider: Any) -> None:
    """One run."""
    from autogen_agentchat.agents import AssistantAgent
    from autogen_agentchat.teams import DiGraphBuilder, GraphFlow
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    info = {
        "vision": False,
        "function_calling": True,
        "json_output": False,
        "family": "unknown",
        "structured_output": False,
    }

    def agent(name: str, about: str = "") -> AssistantAgent:
        client = OpenAIChatCompletionClient(model="scripted-1", base_url=url, api_key="none", model_info=info)
        return AssistantAgent(name, client, system_message=f"Du bist {about or name};", description=name)

    author, one, twelve, house = agent("Autor"), agent("Lektor_1"), agent("Lektor_12"), agent("Verlag")
    last = agent("Setzer", "Autor")
    graph = DiGraphBuilder()
    for node in (author, one, twelve, house, last):
        graph.add_node(node)
    graph.add_edge(author, one).add_edge(author, twelve).add_edge(one, house).add_edge(twelve, house)
    graph.add_edge(house, last)
    with provider.get_tracer("verlag").start_as_current_span("buch", attributes={"session.id": SESSION}):
        await GraphFlow(graph.get_participants(), graph=graph.build()).run(task="Ein Buch über Drachen")


def expected() -> dict[str, Any]:
    """The ground truth."""
    lines = {"grammatik": "gut", "kommas": "zwei", "rest": ""}
    return {
        "session_id": SESSION,
        "session_id_visible": True,
        "sessions": 1,
        "agents": ["Autor", "Lektor_1", "Lektor_12", "Verlag", "Setzer"],
        "handoffs": [
            handoff(1, "Autor", "Lektor_1", "transfer", DRAFT),
            handoff(2, "Autor", "Lektor_12", "transfer", DRAFT),
            handoff(3, "Lektor_1", "Verlag", "transfer", {"message": ONE, **lines}, form="labelled"),
            handoff(4, "Lektor_12", "Verlag", "transfer", {"message": TWELVE}, form="text"),
            handoff(5, "Verlag", "Setzer", "transfer", {"message": BACK}, form="text"),
        ],
        "returns": [],
        "dropped": [],
        "decoys": ["Lektor_1 and Lektor_12 run at once", "the graph's manager is no agent"],
    }


def main() -> None:
    kind, folder = sys.argv[1], Path(sys.argv[2])
    provider = tracer_provider(folder, "verlag")
    from opentelemetry import trace

    trace.set_tracer_provider(provider)
    if kind == "openinference":
        from openinference.instrumentation.autogen_agentchat import AutogenAgentChatInstrumentor

        AutogenAgentChatInstrumentor().instrument(tracer_provider=provider)
    asyncio.run(run(ChatServer(ANSWERS).url, provider))
    provider.shutdown()
    write_expected(folder, expected())


if __name__ == "__main__":
    main()
