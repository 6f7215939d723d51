"""Semantic Kernel in a theatre: a handoff orchestration on its runtime, with messages in log records.

    pip install semantic-kernel                                                  -> semantic_kernel_theatre.py OUT

Dispo_1 hands over to Regie with JSON beside the call, Regie to Licht-2 with labelled lines, Licht-2 back with nothing; Regie asks again and
the work is done. `Haus-transfer_to_lager` is a function of the program. What is said beside a call is in no span and no log record: the framework
writes the calls of an answer or its text, never both.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

from capturing import ChatServer, ask, handoff, logger_provider, tracer_provider, write_expected

SESSION = "Probe/ü 12"
PLAN = {"stück": "Faust", "vorhang": "19:30", "besetzung": ["Ada", "Ōe"], "pausen": 0, "notiz": None}
LIGHT = "Szene: 2\nFarbe: blau\nDimmer: 0"
AGAIN = {"szene": 3, "grund": "zu dunkel"}

ANSWERS = {
    "Dispo_1": [ask(("Handoff-transfer_to_Regie", {}), text=json.dumps(PLAN, ensure_ascii=False))],
    "Regie": [
        ask(("Haus-transfer_to_lager", {"stuhl": 4})),
        ask(("Handoff-transfer_to_Licht-2", {}), text=LIGHT),
        ask(("Handoff-transfer_to_Licht-2", {}), text=json.dumps(AGAIN, ensure_ascii=False)),
    ],
    "Licht-2": [
        ask(("Handoff-transfer_to_Regie", {})),
        ask(("Handoff-complete_task", {"task_summary": "Licht steht."})),
    ],
}


async def run(url: str, provider: Any) -> None:
    """One run."""
    from openai import AsyncOpenAI
    from semantic_kernel.agents import ChatCompletionAgent, HandoffOrchestration, OrchestrationHandoffs
    from semantic_kernel.agents.runtime import InProcessRuntime
    from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
    from semantic_kernel.functions import kernel_function

    class House:
        @kernel_function(description="Put a chair into the store")
        def transfer_to_lager(self, stuhl: int) -> str:
            return "im Lager"

    def agent(name: str) -> Any:
        service = OpenAIChatCompletion(ai_model_id="modell-3", async_client=AsyncOpenAI(base_url=url, api_key="none"))
        return ChatCompletionAgent(
            name=name, description=f"{name} im Theater", instructions=f"Du bist {name}.", service=service
        )  # fmt: skip

    dispo, stage, light = agent("Dispo_1"), agent("Regie"), agent("Licht-2")
    stage.kernel.add_plugin(House(), plugin_name="Haus")
    handoffs = (
        OrchestrationHandoffs()
        .add(dispo, stage, "to the director")
        .add(stage, light, "to the light")
        .add(light, stage, "back to the director")
    )
    orchestration = HandoffOrchestration(members=[dispo, stage, light], handoffs=handoffs)
    runtime = InProcessRuntime(tracer_provider=provider)
    runtime.start()
    with provider.get_tracer("theater").start_as_current_span("probe", attributes={"session.id": SESSION}):
        result = await orchestration.invoke(task="Probe für morgen planen", runtime=runtime)
        await result.get(timeout=30)
    await runtime.stop_when_idle()


def expected() -> dict[str, Any]:
    """The ground truth."""
    lines = dict(line.split(": ") for line in LIGHT.splitlines())
    return {
        "session_id": SESSION,
        "session_id_visible": True,
        "sessions": 1,
        "agents": ["Dispo_1", "Regie", "Licht-2"],
        "handoffs": [
            handoff(1, "Dispo_1", "Regie", "transfer", PLAN, recorded=False),
            handoff(2, "Regie", "Licht-2", "transfer", {"message": LIGHT, **lines}, form="labelled", recorded=False),
            handoff(3, "Licht-2", "Regie", "transfer", {}, recorded=False),
            handoff(4, "Regie", "Licht-2", "transfer", AGAIN, recorded=False),
        ],
        "returns": [],
        "dropped": [],
        "decoys": ["Haus-transfer_to_lager is a function", "Handoff-complete_task is no handoff"],
    }


def main() -> None:
    folder = Path(sys.argv[1])
    os.environ["SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS"] = "true"
    os.environ["SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE"] = "true"
    provider, logs = tracer_provider(folder, "theater"), logger_provider(folder, "theater")
    from opentelemetry import trace
    from opentelemetry.sdk._logs import LoggingHandler

    trace.set_tracer_provider(provider)
    logging.getLogger("semantic_kernel").addHandler(LoggingHandler(level=logging.INFO, logger_provider=logs))
    logging.getLogger("semantic_kernel").setLevel(logging.INFO)
    server = ChatServer(ANSWERS)
    asyncio.run(run(server.url, provider))
    provider.shutdown()
    logs.shutdown()
    write_expected(folder, expected())


if __name__ == "__main__":
    main()
