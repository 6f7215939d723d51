"""openai-agents in a kiosk, with Chat Completions: runs that the program chains, and an agent as a tool that hands over within the call.

    pip install openai-agents opentelemetry-instrumentation-openai-agents    -> openai_agents_kiosk.py openllmetry OUT
    pip install openai-agents openinference-instrumentation-openai-agents    -> openai_agents_kiosk.py openinference OUT

The program runs Bestellung, and Kasse with what Bestellung said. Kasse asks `lager_fragen`, which is Lager; Lager hands over to Regal 2, who
answers the call. Last, the program runs two of Preis at once with the same words, and Schild with what both said.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from capturing import ChatServer, ask, handoff, returned, say, tracer_provider, write_expected

SESSION = "Kiosk 4/ä"
ORDER = "Zwei Limonaden, eine Zeitung."
STOCK = {"ware": "Limonade", "menge": 0, "fach": None}
BILL = "Macht 5 Euro 40, Limonade ist da."
NORTH, SOUTH = "Norden: 2 Euro 10.", "Süden: 1 Euro 90."

ANSWERS = {
    "Bestellung;": [say(ORDER)],
    "Kasse;": [ask(("lager_fragen", {"input": json.dumps(STOCK)})), say(BILL)],
    "Lager;": [ask(("transfer_to_regal_2", {}), text="Bitte im Fach nachsehen.")],
    "Regal 2;": [say("Noch zwölf Flaschen.")],
    "Preis Nord;": [say(NORTH)],
    "Preis Süd;": [say(SOUTH)],
    "Schild;": [say("Limonade 2 Euro.")],
}


async def run(url: str) -> None:
    """One day."""
    from agents import Agent, OpenAIChatCompletionsModel, Runner, trace
    from openai import AsyncOpenAI

    model = OpenAIChatCompletionsModel("model-3", AsyncOpenAI(base_url=url, api_key="none"))

    def agent(name: str, **rest: Any) -> Agent:
        return Agent(name=name, instructions=f"Du bist {name};", model=model, **rest)

    store = agent("Lager", handoffs=[agent("Regal 2")])
    till = agent("Kasse", tools=[store.as_tool("lager_fragen", "Ask the store")])
    with trace("Kiosk", group_id=SESSION):
        ordered = await Runner.run(agent("Bestellung"), "Was darf es sein?")
        bill = await Runner.run(till, ordered.final_output)
        prices = [Runner.run(agent(n), bill.final_output) for n in ("Preis Nord", "Preis Süd")]
        both = await asyncio.gather(*prices)
        await Runner.run(agent("Schild"), "\n".join(r.final_output for r in both))


def expected(kind: str) -> dict[str, Any]:
    """The ground truth."""
    both = f"{NORTH}\n{SOUTH}"

    def words(n: int, source: str, target: str, text: str, **rest: Any) -> dict[str, Any]:
        return handoff(n, source, target, "transfer", {"message": text}, form="text", **rest)

    told = (
        kind == "openinference"
    )  # else the answers of the last model calls are not recorded, only what the next was given
    return {
        "session_id": SESSION,
        "session_id_visible": True,
        "sessions": 1,
        "agents": ["Bestellung", "Kasse", "Lager", "Regal 2", "Preis Nord", "Preis Süd", "Schild"],
        "handoffs": [
            words(1, "Bestellung", "Kasse", ORDER),
            handoff(2, "Kasse", "Lager", "delegate", STOCK),
            words(3, "Lager", "Regal 2", "Bitte im Fach nachsehen."),
            words(4, "Kasse", "Preis Nord", BILL),
            words(5, "Kasse", "Preis Süd", BILL),
            words(6, "Preis Nord", "Schild", NORTH if told else both, optional=["norden", "süden"]),
            words(7, "Preis Süd", "Schild", SOUTH if told else both, optional=["norden", "süden"]),
        ],
        "returns": [returned("Regal 2", "Kasse", "Noch zwölf Flaschen.")],
        "dropped": [],
        "decoys": [],
    }


def main() -> None:
    kind, folder = sys.argv[1], Path(sys.argv[2])
    provider = tracer_provider(folder, "kiosk")
    from agents import set_trace_processors
    from opentelemetry import trace as otel

    otel.set_tracer_provider(provider)
    set_trace_processors([])  # not to the vendor
    if kind == "openinference":
        from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor as OpenInference

        OpenInference().instrument(tracer_provider=provider)
    else:
        from opentelemetry.instrumentation.openai_agents import OpenAIAgentsInstrumentor as OpenLLMetry

        OpenLLMetry().instrument(tracer_provider=provider)
    server = ChatServer(ANSWERS)
    with provider.get_tracer("kiosk").start_as_current_span("day", attributes={"session.id": SESSION}):
        asyncio.run(run(server.url))
    provider.shutdown()
    write_expected(folder, expected(kind))


if __name__ == "__main__":
    main()
