"""Microsoft Agent Framework in a brewery: a sequence, a group chat by a function, agents as tools two deep.

    pip install agent-framework-core agent-framework-orchestrations agent-framework-openai
                                                    -> agent_framework_brewery.py sequence|chat|tools OUT

sequence: Sud, Gärung, Abfüllung, one after another. chat: a function lets Sud, Labor, Sud and Abfüllung speak. tools: Meisterin asks Labor,
which asks Waage; then Labor again.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from capturing import ChatServer, ask, handoff, returned, say, tracer_provider, write_expected

SESSION = "Sud-88/ø"
BREW = {"sorte": "Märzen", "hektoliter": 40, "hopfen": ["Saphir", "Perle"], "abweichung": None}
BOTTLES = "Flaschen: 8000\nEtikett: grün\nRest: "
SAMPLE = {"probe": 7, "fragen": ["pH", "Stammwürze"], "eilig": False}

ANSWERS: dict[str, dict[str, list[Any]]] = {
    "sequence": {
        "Sud": [say(json.dumps(BREW, ensure_ascii=False))],
        "Gärung": [say("Gärung läuft seit Montag, 9 Grad.")],
        "Abfüllung": [say(BOTTLES)],
    },
    "chat": {
        "Sud": [say("Die Würze ist trüb, was tun?"), say("Gut, ich filtere noch einmal.")],
        "Labor": [say("Eiweiß zu hoch, bitte filtern.")],
        "Abfüllung": [say("Dann fülle ich am Freitag ab.")],
    },
    "tools": {
        "Meisterin": [
            ask(("labor", {"task": json.dumps(SAMPLE, ensure_ascii=False)})),
            ask(("labor", {"task": "Noch einmal, Probe 8."})),
            say("Der Sud ist gut."),
        ],
        "Labor": [
            ask(("waage", {"task": "Wiege Probe 7."})),
            say("pH 4,4 und 12,5 Grad Plato."),
            say("Probe 8 wie Probe 7."),
        ],
        "Waage": [say("250 Gramm.")],
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

    def words(n: int, source: str, target: str, text: str) -> dict[str, Any]:
        return handoff(n, source, target, "transfer", {"message": text}, form="text")

    if scene == "sequence":
        return truth | {
            "agents": ["Sud", "Gärung", "Abfüllung"],
            "handoffs": [
                handoff(1, "Sud", "Gärung", "transfer", BREW),
                words(2, "Gärung", "Abfüllung", "Gärung läuft seit Montag, 9 Grad."),
            ],
        }
    if scene == "chat":
        return truth | {
            "agents": ["Sud", "Labor", "Abfüllung"],
            "handoffs": [
                words(1, "Sud", "Labor", "Die Würze ist trüb, was tun?"),
                words(2, "Labor", "Sud", "Eiweiß zu hoch, bitte filtern."),
                words(3, "Sud", "Abfüllung", "Gut, ich filtere noch einmal."),
            ],
            "decoys": ["the group's orchestrator is a function"],
        }
    return truth | {
            "agents": ["Meisterin", "Labor", "Waage"],
            "handoffs": [
                handoff(1, "Meisterin", "Labor", "delegate", SAMPLE),
                handoff(2, "Labor", "Waage", "delegate", {"message": "Wiege Probe 7."}, form="text", optional=["task"]),
                handoff(3, "Meisterin", "Labor", "delegate", {"message": "Noch einmal, Probe 8."}, form="text", optional=["task"]),
            ],
            "returns": [
                returned("Waage", "Labor", "250 Gramm."),
                returned("Labor", "Meisterin", "pH 4,4 und 12,5 Grad Plato."),
                returned("Labor", "Meisterin", "Probe 8 wie Probe 7."),
            ],
        }  # fmt: skip


async def run(scene: str, url: str, provider: Any) -> None:
    """One run."""
    from agent_framework import Agent
    from agent_framework.openai import OpenAIChatCompletionClient
    from agent_framework_orchestrations import GroupChatBuilder, SequentialBuilder

    def agent(name: str, **rest: Any) -> Agent:
        client = OpenAIChatCompletionClient("modell-3", base_url=url, api_key="none")
        return Agent(client, f"Du bist {name}.", name=name, description=name, **rest)

    with provider.get_tracer("brauerei").start_as_current_span("sud", attributes={"session.id": SESSION}):
        if scene == "sequence":
            flow = SequentialBuilder(participants=[agent("Sud"), agent("Gärung"), agent("Abfüllung")]).build()
            await flow.run("Sud 88 brauen")
        elif scene == "chat":
            order = iter(["Sud", "Labor", "Sud", "Abfüllung"])
            flow = GroupChatBuilder(
                participants=[agent("Sud"), agent("Labor"), agent("Abfüllung")],
                selection_func=lambda _state: next(order),
                max_rounds=4,
            ).build()
            await flow.run("Sud 88 besprechen")
        else:
            scale = agent("Waage")
            lab = agent("Labor", tools=[scale.as_tool(name="waage")])
            await agent("Meisterin", tools=[lab.as_tool(name="labor")]).run("Sud 88 prüfen")


def main() -> None:
    scene, folder = sys.argv[1], Path(sys.argv[2])
    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
    provider = tracer_provider(folder, "brauerei")
    from opentelemetry import trace

    trace.set_tracer_provider(provider)
    from agent_framework.observability import enable_instrumentation

    enable_instrumentation(enable_sensitive_data=True)
    server = ChatServer(ANSWERS[scene])
    asyncio.run(run(scene, server.url, provider))
    provider.shutdown()
    write_expected(folder, expected(scene))


if __name__ == "__main__":
    main()
