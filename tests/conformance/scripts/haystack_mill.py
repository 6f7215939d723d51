"""Haystack in a mill: an agent that has two agents as tools, the one of which has a third; agents in a pipeline.

    pip install haystack-ai opentelemetry-haystack opentelemetry-exporter-otlp     -> haystack_mill.py SCENE OUT

SCENE is one of
- tools: Miller asks the agents behind `grind` and `weigh`; the one behind `grind` asks that behind `sharpen`;
- pipeline: an agent whose words are the next one's input.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from capturing import ChatServer, ask, handoff, returned, say, tracer_provider, write_expected

SESSION = "sack-77"
GRAIN = {"grain": "rye", "kg": 0, "sieves": []}
WORDS = "Ground 40 kg of rye, very fine."


def user(text: str) -> dict[str, Any]:
    """What an agent that is a tool is given."""
    return {"messages": [{"role": "user", "content": [{"text": text}]}]}


ANSWERS = {
    "tools": {
        "Miller": [
            ask(("grind", user(json.dumps(GRAIN)))),
            ask(("weigh", user("How heavy is the sack?"))),
            say("All is done."),
        ],
        "Grinder": [ask(("sharpen", user("Sharpen stone two, please."))), say("The rye is ground.")],
        "Smith": [say("Stone two is sharp.")],
        "Scale": [say("Forty kilograms.")],
    },
    "pipeline": {"Grinder": [say(WORDS)], "Baker": [say("Bread is in the oven.")]},
}


def expected(scene: str) -> dict[str, Any]:
    """The ground truth."""
    truth = {"session_id": SESSION, "session_id_visible": True, "sessions": 1, "dropped": [], "decoys": []}
    if scene == "tools":
        return truth | {
            "agents": ["Miller", "grind", "weigh", "sharpen"],
            "handoffs": [
                handoff(1, "Miller", "grind", "delegate", GRAIN),
                handoff(2, "grind", "sharpen", "delegate", {"message": "Sharpen stone two, please."}, form="text"),
                handoff(3, "Miller", "weigh", "delegate", {"message": "How heavy is the sack?"}, form="text"),
            ],
            "returns": [
                returned("sharpen", "grind", "Stone two is sharp."),
                returned("grind", "Miller", "The rye is ground."),
                returned("weigh", "Miller", "Forty kilograms."),
            ],
        }
    return truth | {
        "agents": ["grinder", "baker"],
        "handoffs": [handoff(1, "grinder", "baker", "transfer", {"message": WORDS}, form="text")],
        "returns": [],
    }


def run(scene: str, url: str) -> None:
    from haystack import Pipeline
    from haystack.components.agents import Agent
    from haystack.components.generators.chat import OpenAIChatGenerator
    from haystack.dataclasses import ChatMessage
    from haystack.tools import AgentTool
    from haystack.utils import Secret

    def agent(name: str, *tools: Any) -> Any:
        model = OpenAIChatGenerator(api_key=Secret.from_token("none"), model="modell-8", api_base_url=url)
        return Agent(chat_generator=model, system_prompt=f"You are {name}.", tools=list(tools))

    if scene == "tools":
        smith = AgentTool(agent=agent("Smith"), name="sharpen", description="Sharpens.")
        grinder = AgentTool(agent=agent("Grinder", smith), name="grind", description="Grinds.")
        scale = AgentTool(agent=agent("Scale"), name="weigh", description="Weighs.")
        pipeline = Pipeline()
        pipeline.add_component("Miller", agent("Miller", grinder, scale))
        pipeline.run({"Miller": {"messages": [ChatMessage.from_user("Grind my rye.")]}})
    else:
        from haystack import component

        @component
        class Ask:
            """Make the last words the next question."""

            def __init__(self) -> None:
                component.set_input_types(self, last_message=ChatMessage)
                component.set_output_types(self, messages=list[ChatMessage])

            def run(self, **given: Any) -> dict[str, Any]:
                return {"messages": [ChatMessage.from_user(str(given["last_message"].text))]}

        pipeline = Pipeline()
        pipeline.add_component("grinder", agent("Grinder"))
        pipeline.add_component("ask", Ask())
        pipeline.add_component("baker", agent("Baker"))
        pipeline.connect("grinder.last_message", "ask.last_message")
        pipeline.connect("ask.messages", "baker.messages")
        pipeline.run({"grinder": {"messages": [ChatMessage.from_user("Grind my rye.")]}})


def main(scene: str, folder: Path) -> None:
    os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
    os.environ["HAYSTACK_CONTENT_TRACING_ENABLED"] = "true"
    from opentelemetry import trace

    provider = tracer_provider(folder, "mill")
    trace.set_tracer_provider(provider)
    from haystack import tracing
    from haystack_integrations.tracing.opentelemetry import OpenTelemetryTracer

    tracer = provider.get_tracer("mill")
    tracing.tracer.is_content_tracing_enabled = True
    tracing.enable_tracing(OpenTelemetryTracer(tracer))
    with tracer.start_as_current_span("POST /mill", attributes={"session.id": SESSION}):
        run(scene, ChatServer(ANSWERS[scene]).url)
    provider.force_flush()
    write_expected(folder, expected(scene))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
