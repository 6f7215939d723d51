"""Pydantic AI in a warehouse: a program that runs two agents at once and gives a third the words of both.

    pip install pydantic-ai-slim opentelemetry-exporter-otlp     -> pydantic_ai_warehouse.py OUT

Planlayıcı plans, Ağırlık and Tarih check at once, Özet is given both answers, joined; its answer goes back to Planlayıcı.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from capturing import handoff, tracer_provider, write_expected

SESSION = "depo/ü"
PLAN = {"lot": 7, "kg": 0}
WEIGHT, DATES, ALL = "Ağırlık: 12\nNot:", "Tarihler uygun, eksik yok.", "Hepsi tamam, kapatılabilir."


async def run(provider: Any) -> None:
    """One run of the program."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel

    async def says(name: str, words: str, prompt: str) -> str:
        model = FunctionModel(lambda _messages, _info: ModelResponse(parts=[TextPart(words)]))
        return (await Agent(model, name=name).run(prompt)).output

    with provider.get_tracer("depo").start_as_current_span("sayım", attributes={"session.id": SESSION}):
        plan = await says("Planlayıcı", json.dumps(PLAN), "Lot 7?")
        checks = await asyncio.gather(says("Ağırlık", WEIGHT, plan), says("Tarih", DATES, plan))
        await says("Planlayıcı", "kapandı", await says("Özet", ALL, "\n\n".join(checks)))


def expected() -> dict[str, Any]:
    """The ground truth."""
    weight = {"message": WEIGHT, "Ağırlık": "12", "Not": ""}
    return {
        "session_id": SESSION,
        "session_id_visible": True,
        "sessions": 1,
        "agents": ["Planlayıcı", "Ağırlık", "Tarih", "Özet"],
        "handoffs": [
            handoff(1, "Planlayıcı", "Ağırlık", "transfer", PLAN),
            handoff(2, "Planlayıcı", "Tarih", "transfer", PLAN),
            handoff(3, "Ağırlık", "Özet", "transfer", weight, form="labelled"),
            handoff(4, "Tarih", "Özet", "transfer", {"message": DATES}, form="text"),
            handoff(5, "Özet", "Planlayıcı", "transfer", {"message": ALL}, form="text"),
        ],
        "returns": [],
        "dropped": [],
        "decoys": ["Ağırlık and Tarih run at once"],
    }


def main() -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.instrumented import InstrumentationSettings

    folder = Path(sys.argv[1])
    provider = tracer_provider(folder, "depo")
    Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
    asyncio.run(run(provider))
    provider.shutdown()
    write_expected(folder, expected())


if __name__ == "__main__":
    main()
