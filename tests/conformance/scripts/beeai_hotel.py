"""BeeAI in a hotel: handoff tools two deep, a workflow of agents.

    pip install beeai-framework openinference-instrumentation-beeai opentelemetry-exporter-otlp     -> beeai_hotel.py SCENE OUT

SCENE is one of
- handoffs: Concierge hands the room to Housekeeping, which asks Linen, and then the dinner to Kitchen by a tool with a name of its own;
- workflow: three agents one after another, each with an input of its own.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from capturing import Answer, ChatServer, ask, handoff, returned, tracer_provider, write_expected

SESSION = "room-404"
ROOM = {"room": 404, "beds": ["twin"], "wish": None}
LINEN = "Two sets of sheets, please."
DINNER = "Table for: 0\nDish: soup\nTime: 19:00"


def done(text: str) -> Answer:
    """An agent's last answer, which it gives by a tool."""
    return ask(("final_answer", {"response": text}))


ANSWERS = {
    "handoffs": {
        "role of Concierge": [
            ask(("housekeeping", {"task": json.dumps(ROOM)})),
            ask(("order_dinner", {"task": DINNER})),
            done("All is arranged."),
        ],
        "role of Housekeeping": [ask(("linen", {"task": LINEN})), done("Room 404 is ready.")],
        "role of Linen": [done("Sheets are on the way.")],
        "role of Kitchen": [done("Soup at seven.")],
    },
    "workflow": {
        "role of Scout": [done("Three guests arrive on Monday.")],
        "role of Planner": [done("Rooms 1 to 3 for Monday.")],
        "role of Writer": [done("Dear guests, welcome.")],
    },
}


def expected(scene: str) -> dict[str, Any]:
    """The ground truth."""
    truth = {
        "session_id": SESSION,
        "session_id_visible": True,
        "sessions": 1,
        "dropped": [],
        "decoys": ["final_answer is no handoff"],
    }
    if scene == "handoffs":
        form = {"message": DINNER, "Table for": "0", "Dish": "soup", "Time": "19:00"}
        return truth | {
            "agents": ["Concierge", "Housekeeping", "Linen", "Kitchen"],
            "handoffs": [
                handoff(1, "Concierge", "Housekeeping", "delegate", ROOM, optional=["task"]),
                handoff(2, "Housekeeping", "Linen", "delegate", {"task": LINEN}, form="text"),
                handoff(3, "Concierge", "Kitchen", "delegate", form, form="labelled", optional=["task"]),
            ],
            "returns": [
                returned("Linen", "Housekeeping", "Sheets are on the way."),
                returned("Housekeeping", "Concierge", "Room 404 is ready."),
                returned("Kitchen", "Concierge", "Soup at seven."),
            ],
        }  # fmt: skip
    return truth | {
        "agents": ["Scout", "Planner", "Writer"],
        "handoffs": [
            handoff(1, "Scout", "Planner", "transfer", {"message": "Three guests arrive on Monday."}, form="text"),
            handoff(2, "Planner", "Writer", "transfer", {"message": "Rooms 1 to 3 for Monday."}, form="text"),
        ],
        "returns": [],
    }


async def run(scene: str, url: str) -> None:
    from beeai_framework.adapters.openai import OpenAIChatModel
    from beeai_framework.agents.requirement import RequirementAgent
    from beeai_framework.memory import UnconstrainedMemory
    from beeai_framework.tools.handoff import HandoffTool
    from beeai_framework.workflows.agent import AgentWorkflow, AgentWorkflowInput

    def model() -> Any:
        return OpenAIChatModel("modell-6", api_key="none", base_url=url)

    def agent(name: str, *tools: Any) -> Any:
        return RequirementAgent(
            llm=model(),
            name=name,
            description=f"Is {name}.",
            role=name,
            tools=list(tools),
            memory=UnconstrainedMemory(),
        )

    if scene == "handoffs":
        linen, kitchen = agent("Linen"), agent("Kitchen")
        house = agent("Housekeeping", HandoffTool(linen))
        await agent("Concierge", HandoffTool(house), HandoffTool(kitchen, name="order_dinner")).run(
            "A room and dinner."
        )
    else:
        flow = AgentWorkflow(name="Welcome")
        for name in ("Scout", "Planner", "Writer"):
            flow.add_agent(name=name, role=name, instructions=f"You are {name}.", llm=model())
        await flow.run(
            [
                AgentWorkflowInput(prompt="Who comes?"),
                AgentWorkflowInput(prompt="Plan the rooms."),
                AgentWorkflowInput(prompt="Write to the guests."),
            ]
        )


def main(scene: str, folder: Path) -> None:
    from opentelemetry import trace

    provider = tracer_provider(folder, "hotel")
    trace.set_tracer_provider(provider)
    from openinference.instrumentation import using_session
    from openinference.instrumentation.beeai import BeeAIInstrumentor

    BeeAIInstrumentor().instrument(tracer_provider=provider)
    with using_session(SESSION):
        asyncio.run(run(scene, ChatServer(ANSWERS[scene]).url))
    provider.force_flush()
    write_expected(folder, expected(scene))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
