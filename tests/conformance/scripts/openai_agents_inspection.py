"""openai-agents (Responses) at a car inspection: handing-over tools whose names no agent has, one agent three times.

    pip install openai-agents opentelemetry-instrumentation-openai-agents opentelemetry-exporter-otlp
                                                                                 -> openai_agents_inspection.py OUT

前台 hands over by `transfer_to_inspector` to 检验员 二, which hands back by `back`, with words beside the call or without; three rounds.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from capturing import Answer, ChatServer, ask, handoff, say, tracer_provider, write_expected

DESK, INSPECTOR = "前台", "检验员 二"
ROUNDS: list[dict[str, Any]] = [
    {"item": "机油", "round": 0, "open": []},
    {"item": "轮胎", "round": 1, "open": ["左", "右"]},
    {"item": "", "round": 2, "open": []},
]
FINDING = "Finding: leak\nNext:"
ANSWERS: dict[str, list[Answer]] = {
    f"{DESK};": [*(ask(("transfer_to_inspector", r)) for r in ROUNDS), say("完成。")],
    f"{INSPECTOR};": [ask(("back", {}), text=FINDING), ask(("back", {}), text="再查"), ask(("back", {}))],
}


class ResponsesServer(ChatServer):
    """The same answers in the form of the Responses API."""

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        instructions = {"role": "system", "content": body["instructions"]}
        said = super().answer({"messages": [instructions], "model": body["model"]})
        message = said["choices"][0]["message"]
        output: list[dict[str, Any]] = []
        if message["content"] is not None:
            text = {"type": "output_text", "text": message["content"], "annotations": []}
            output.append({"type": "message", "role": "assistant", "status": "completed", "content": [text]})
        output += [
            {"type": "function_call", "call_id": call["id"], "status": "completed", **call["function"]}
            for call in message.get("tool_calls", ())
        ]
        usage = {
            "input_tokens": 10, "output_tokens": 3, "total_tokens": 13,
            "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0},
        }  # fmt: skip
        return {
            "id": f"resp_{said['id']}", "object": "response", "created_at": 1760000000, "status": "completed", "model": body["model"],
            "output": [{"id": f"{said['id']}-{n}", **item} for n, item in enumerate(output)], "usage": usage,
            "parallel_tool_calls": True, "tool_choice": "auto", "tools": body.get("tools", []),
        }  # fmt: skip


async def run(url: str) -> None:
    """One run."""
    from agents import Agent, OpenAIResponsesModel, Runner
    from agents import handoff as to
    from openai import AsyncOpenAI
    from pydantic import BaseModel

    class Item(BaseModel):
        item: str
        round: int
        open: list[str]

    model = OpenAIResponsesModel("model-3", AsyncOpenAI(base_url=url, api_key="none"))
    desk = Agent(name=DESK, instructions=f"You are {DESK};", model=model)
    inspector = Agent(name=INSPECTOR, instructions=f"You are {INSPECTOR};", model=model)
    there = to(
        inspector,
        tool_name_override="transfer_to_inspector",
        input_type=Item,
        on_handoff=lambda _context, _given: None,
    )
    desk.handoffs.append(there)
    inspector.handoffs.append(to(desk, tool_name_override="back"))
    await Runner.run(desk, "车检")


def expected() -> dict[str, Any]:
    """The ground truth."""
    back = [
        ({"message": FINDING, "Finding": "leak", "Next": ""}, "labelled"),
        ({"message": "再查"}, "text"),
        ({}, "text"),
    ]
    handoffs = []
    for n, (item, (fields, form)) in enumerate(zip(ROUNDS, back, strict=True)):
        handoffs.append(handoff(2 * n + 1, DESK, INSPECTOR, "transfer", item))
        handoffs.append(handoff(2 * n + 2, INSPECTOR, DESK, "transfer", fields, form=form))
    return {
        "session_id": None, "session_id_visible": False, "sessions": 1, "agents": [DESK, INSPECTOR],
        "handoffs": handoffs, "returns": [], "dropped": [], "decoys": ["no agent is called inspector"],
    }  # fmt: skip


def main() -> None:
    from opentelemetry.instrumentation.openai_agents import OpenAIAgentsInstrumentor

    folder = Path(sys.argv[1])
    provider = tracer_provider(folder, "inspection")
    OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)
    asyncio.run(run(ResponsesServer(ANSWERS).url))
    provider.shutdown()
    write_expected(folder, expected())


if __name__ == "__main__":
    main()
