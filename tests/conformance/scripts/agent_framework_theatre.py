"""Microsoft Agent Framework in a theatre: a handoff workflow whose content travels in log records only (baseline conventions).

    pip install agent-framework-core agent-framework-orchestrations agent-framework-openai  -> agent_framework_theatre.py OUT

Dispo 1 hands over to Regie with JSON beside the call, Regie books a store (`handoff_to_lager`, a function) and hands over to Licht 12 with
labelled lines, Licht 12 hands back with nothing, Regie hands on to Licht 1.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from capturing import ChatServer, ask, handoff, logger_provider, say, tracer_provider, write_expected

SESSION = "Probe/ü 12"
PLAN = {"stück": "Faust", "vorhang": "19:30", "besetzung": ["Ada", "Ōe"], "pausen": 0, "notiz": None}
LIGHT = "Szene: 2\nFarbe: blau\nDimmer: 0"
AGAIN = {"szene": 3, "grund": "zu dunkel", "lampen": []}

ANSWERS = {
    "Dispo 1": [ask(("handoff_to_Regie", {}), text=json.dumps(PLAN, ensure_ascii=False))],
    "Regie": [
        ask(("handoff_to_lager", {"stuhl": 4})),
        ask(("handoff_to_Licht_12", {}), text=LIGHT),
        ask(("handoff_to_Licht_1", {}), text=json.dumps(AGAIN, ensure_ascii=False)),
    ],
    "Licht 12": [ask(("handoff_to_Regie", {}))],
    "Licht 1": [say("Licht steht.")],
}


async def run(url: str, provider: Any) -> None:
    """One run."""
    from agent_framework import Agent, tool
    from agent_framework.openai import OpenAIChatCompletionClient
    from agent_framework_orchestrations import HandoffBuilder

    @tool
    def handoff_to_lager(stuhl: int) -> str:
        """Put a chair into the store."""
        return "im Lager"

    def agent(name: str, **rest: Any) -> Agent:
        client = OpenAIChatCompletionClient("modell-3", base_url=url, api_key="none")
        return Agent(client, f"Du bist {name}.", name=name, require_per_service_call_history_persistence=True, **rest)

    dispo, stage = agent("Dispo 1"), agent("Regie", tools=[handoff_to_lager])
    first, twelfth = agent("Licht 1"), agent("Licht 12")
    team = HandoffBuilder(
        name="probe",
        participants=[dispo, stage, first, twelfth],
        termination_condition=lambda said: any("steht" in (m.text or "") for m in said),
    )
    workflow = team.with_start_agent(dispo).build()
    with provider.get_tracer("theater").start_as_current_span("probe", attributes={"session.id": SESSION}):
        await workflow.run("Probe für morgen planen")


def expected() -> dict[str, Any]:
    """The ground truth."""
    lines = dict(line.split(": ") for line in LIGHT.splitlines())
    return {
        "session_id": SESSION,
        "session_id_visible": True,
        "sessions": 1,
        "agents": ["Dispo 1", "Regie", "Licht 12", "Licht 1"],
        "handoffs": [
            handoff(1, "Dispo 1", "Regie", "transfer", PLAN),
            handoff(2, "Regie", "Licht 12", "transfer", {"message": LIGHT, **lines}, form="labelled"),
            handoff(3, "Licht 12", "Regie", "transfer", {}),
            handoff(4, "Regie", "Licht 1", "transfer", AGAIN),
        ],
        "returns": [],
        "dropped": [],
        "decoys": [
            "handoff_to_lager is a function",
            "copies of a message start no run",
            "Licht 1 and Licht 12 are two",
        ],
    }


def main() -> None:
    folder = Path(sys.argv[1])
    provider, logs = tracer_provider(folder, "theater"), logger_provider(folder, "theater")
    from opentelemetry import trace
    from opentelemetry._logs import set_logger_provider

    trace.set_tracer_provider(provider)
    set_logger_provider(logs)
    from agent_framework.observability import enable_instrumentation

    enable_instrumentation(enable_sensitive_data=True, enable_message_events=True)
    server = ChatServer(ANSWERS)
    asyncio.run(run(server.url, provider))
    provider.shutdown()
    logs.shutdown()
    write_expected(folder, expected())


if __name__ == "__main__":
    main()
