"""Google ADK in an office, content in log records only: a transfer inside an agent's tool, a transfer to a workflow of two at once, three user turns.

    pip install google-adk opentelemetry-exporter-otlp     -> adk_office.py OUT

Empfang calls Prüfstelle as a tool, which hands over to Labor within the call; then it hands over to the workflow Ablauf, whose A_1 and A_10 run
side by side and give to Schluss. The second turn goes to Beratung, which the third turn finds in charge and which hands back.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from adk_bakery import agent
from capturing import Answer, ask, handoff, logger_provider, returned, say, tracer_provider, write_expected

SESSION = "Akte-9"
CASE = {"antrag": "A-9", "anlagen": [], "eilig": False, "frist": None}
SAMPLE = {"probe": "P-1", "menge": 0}
ORDER = {"auftrag": "prüfen", "umfang": "voll"}
LEFT, RIGHT = {"teil": "links", "ok": True}, {"teil": "rechts", "ok": False}
ASKED, AGREED = "Kundin fragt nach Termin.", "Bitte Termin eintragen: 9 Uhr"


def text(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)


def go(name: str, words: str) -> Answer:
    return ask(("transfer_to_agent", {"agent_name": name}), text=words)


def office() -> Any:
    from google.adk.agents import ParallelAgent, SequentialAgent
    from google.adk.tools.agent_tool import AgentTool

    check = agent("Prüfstelle", [go("Labor", text(SAMPLE))], sub_agents=[agent("Labor", [say("Wert 7")])])
    both = ParallelAgent(name="Fächer", sub_agents=[agent("A_1", [say(text(LEFT))]), agent("A_10", [say(text(RIGHT))])])
    flow = SequentialAgent(name="Ablauf", sub_agents=[both, agent("Schluss", [say("Beide Teile fertig geprüft.")])])
    advice = agent("Beratung", [say("Kommen Sie um 9."), go("Empfang", AGREED)])
    answers = [ask(("Prüfstelle", {"request": text(CASE)})), go("Ablauf", text(ORDER)), go("Beratung", ASKED)]
    return agent("Empfang", [*answers, say("Eingetragen.")], tools=[AgentTool(check)], sub_agents=[flow, advice])


async def run(root: Any) -> None:
    from google.adk.runners import Runner
    from google.adk.sessions import InMemorySessionService
    from google.genai import types

    sessions = InMemorySessionService()
    await sessions.create_session(app_name="amt", user_id="u", session_id=SESSION)
    runner = Runner(app_name="amt", agent=root, session_service=sessions)
    for said in ("Antrag A-9", "Und der Termin?", "Ja, passt."):
        message = types.Content(role="user", parts=[types.Part(text=said)])
        async for _event in runner.run_async(user_id="u", session_id=SESSION, new_message=message):
            pass


def expected() -> dict[str, Any]:
    """The ground truth."""
    return {
        "session_id": SESSION,
        "session_id_visible": True,
        "sessions": 1,
        "agents": ["Empfang", "Prüfstelle", "Labor", "A_1", "A_10", "Schluss", "Beratung"],
        "handoffs": [
            handoff(1, "Empfang", "Prüfstelle", "delegate", CASE),
            handoff(2, "Prüfstelle", "Labor", "transfer", SAMPLE),
            handoff(3, "Empfang", "A_1", "transfer", ORDER),
            handoff(4, "Empfang", "A_10", "transfer", ORDER),
            handoff(5, "A_1", "Schluss", "transfer", LEFT),
            handoff(6, "A_10", "Schluss", "transfer", RIGHT),
            handoff(7, "Empfang", "Beratung", "transfer", {"message": ASKED}, form="text"),
            handoff(8, "Beratung", "Empfang", "transfer", {"message": AGREED}, form="text"),
        ],
        "returns": [returned("Labor", "Empfang", "Wert 7")],
        "dropped": [],
        "decoys": ["Ablauf and Fächer are workflow agents"],
    }


def main() -> None:
    folder = Path(sys.argv[1])
    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "EVENT_ONLY"
    from opentelemetry import trace
    from opentelemetry._logs import set_logger_provider

    provider, logs = tracer_provider(folder, "amt"), logger_provider(folder, "amt")
    trace.set_tracer_provider(provider)
    set_logger_provider(logs)
    asyncio.run(run(office()))
    provider.shutdown()
    logs.shutdown()
    write_expected(folder, expected())


if __name__ == "__main__":
    main()
