"""AG2 1.x in a harbour: agents of a hub, one message a trace.

    pip install "ag2[tracing]"                                                   -> ag2_harbour.py OUT

Lotse consults Zollamt Süd by `delegate`; then the program opens a conversation in which kran 1 and kran 12 speak in turn, each message an
envelope in a trace of its own, until it closes it after the fourth.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from capturing import handoff, returned, tracer_provider, write_expected

SESSION = "Hafen ü/9"
ASKED = {"container": "MSKU-0", "papiere": [], "eilig": False, "plombe": None}
ANSWER = {"frei": True, "gebühr": 0}
ORDER = {"feld": "B-12", "gewicht_kg": 0}
BACK = "Feld: B-12\nWind: 7 Bft"


async def run(provider: Any) -> None:
    """One run."""
    from ag2 import Agent
    from ag2.events import ToolCallEvent
    from ag2.knowledge import MemoryKnowledgeStore
    from ag2.middleware.builtin.telemetry import TelemetryMiddleware
    from ag2.network import EV_TEXT, Hub
    from ag2.network.hub.telemetry import HubTelemetryListener
    from ag2.testing import TestConfig

    store = MemoryKnowledgeStore()
    hub = await Hub.open(store, ttl_sweep_interval=0, tracer_provider=provider)
    hub.register_listener(HubTelemetryListener(store, tracer_provider=provider))

    def agent(name: str, *turns: Any) -> Agent:
        telemetry = TelemetryMiddleware(tracer_provider=provider, agent_name=name)
        return Agent(name, config=TestConfig(*turns), middleware=[telemetry])

    def call(name: str, **arguments: Any) -> Any:
        return ToolCallEvent(name=name, arguments=json.dumps(arguments, ensure_ascii=False))

    consult = call("delegate", target="Zollamt Süd", prompt=json.dumps(ASKED, ensure_ascii=False))
    pilot = agent("Lotse", consult, call("handoff_to_kai", nummer=4), "Container ist frei.")

    @pilot.tool
    def handoff_to_kai(nummer: int) -> str:
        """Book a quay."""
        return "gebucht"

    await hub.register(pilot)
    await hub.register(agent("Zollamt Süd", json.dumps(ANSWER, ensure_ascii=False)))
    twelfth = await hub.register(agent("kran 12", BACK))
    first = await hub.register(agent("kran 1", json.dumps(ORDER)))
    with provider.get_tracer("hafen").start_as_current_span("löschen", attributes={"session.id": SESSION}):
        await pilot.ask("Bitte MSKU-0 freigeben")
        channel = await twelfth.open(type="conversation", target="kran 1")
        await channel.send("Wer hebt MSKU-0?", audience=[first.agent_id])
        while sum(e.event_type == EV_TEXT for e in await hub.read_wal(channel.channel_id)) < 4:
            await asyncio.sleep(0.02)
        await channel.close()
    await hub.close()


def expected() -> dict[str, Any]:
    """The ground truth."""
    lines = dict(line.split(": ") for line in BACK.splitlines())
    return {
        "session_id": SESSION,
        "session_id_visible": True,
        "sessions": 1,
        "agents": ["Lotse", "Zollamt Süd", "kran 1", "kran 12"],
        "handoffs": [
            handoff(1, "Lotse", "Zollamt Süd", "delegate", ASKED),
            handoff(2, "kran 1", "kran 12", "transfer", ORDER),
            handoff(3, "kran 12", "kran 1", "transfer", {"message": BACK, **lines}, form="labelled"),
            handoff(4, "kran 1", "kran 12", "transfer", ORDER),
        ],
        "returns": [returned("Zollamt Süd", "Lotse", json.dumps(ANSWER, ensure_ascii=False))],
        "dropped": [],
        "decoys": ["handoff_to_kai books a quay", "the program, not kran 12, asks first", "kran 1 and kran 12 are two"],
    }


def main() -> None:
    folder = Path(sys.argv[1])
    provider = tracer_provider(folder, "hafen")
    asyncio.run(asyncio.wait_for(run(provider), 30))
    provider.shutdown()
    write_expected(folder, expected())


if __name__ == "__main__":
    main()
