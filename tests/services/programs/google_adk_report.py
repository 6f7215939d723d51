"""Two agents of Google ADK; the first transfers to the second with JSON beside the call."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

TRANSFER = types.Part(
    function_call=types.FunctionCall(id="call-1", name="transfer_to_agent", args={"agent_name": "writer"})
)


class Scripted(BaseLlm):
    """Gives one answer."""

    parts: list[types.Part]

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        yield LlmResponse(content=types.Content(role="model", parts=self.parts))


def agent(name: str, *parts: types.Part, **more: Any) -> LlmAgent:
    return LlmAgent(name=name, description=name, model=Scripted(model="scripted", parts=list(parts)), **more)


async def main() -> None:
    sessions = InMemorySessionService()
    await sessions.create_session(app_name="report", user_id="u", session_id="google-adk")
    writer = agent("writer", types.Part(text="done"))
    researcher = agent(
        "researcher", types.Part(text='{"goal": "a report", "findings": []}'), TRANSFER, sub_agents=[writer]
    )
    runner = Runner(app_name="report", agent=researcher, session_service=sessions)
    asked = types.Content(role="user", parts=[types.Part(text="Why are exports slow?")])
    async for _event in runner.run_async(user_id="u", session_id="google-adk", new_message=asked):
        pass


asyncio.run(main())
