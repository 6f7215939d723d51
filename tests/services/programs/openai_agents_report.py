"""Two agents of openai-agents; the model is a chat-completions server in this process that says what it is told to."""

from agents import Agent, OpenAIChatCompletionsModel, Runner, handoff
from capturing import ChatServer, ask, say
from openai import AsyncOpenAI
from openinference.instrumentation import using_session
from pydantic import BaseModel


class Brief(BaseModel):
    goal: str
    findings: list[str]


server = ChatServer(
    {"researcher": [ask(("transfer_to_writer", {"goal": "a report", "findings": []}))], "writer": [say("done")]}
)
model = OpenAIChatCompletionsModel("scripted", AsyncOpenAI(base_url=server.url, api_key="none"))
writer = Agent(name="writer", instructions="You are the writer.", model=model)
researcher = Agent(
    name="researcher",
    instructions="You are the researcher.",
    model=model,
    handoffs=[handoff(writer, input_type=Brief, on_handoff=lambda _context, _given: None)],
)
with using_session("openai-agents"):
    Runner.run_sync(researcher, "Why are exports slow?")
