"""openai-agents in a tram depot under Logfire, with Chat Completions: handing-over tools of the user's naming, agents called beside a handoff.

    pip install openai-agents logfire opentelemetry-exporter-otlp     -> openai_agents_depot.py OUT

"Agent" asks two agents and hands over (`open_case`) in one answer; "Ops 1" asks an agent whose first run breaks, passes on with words alone
(`pass_it_on`) to "Ops 10", which asks for two handovers in one answer, of which one is done. The next user turn, a trace of its own, goes on
with the agent that had the last word.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from capturing import ChatServer, ask, handoff, returned, say, tracer_provider, write_expected

SESSION = "depot/№ 4"
CASE = {"tram": "4711", "fault": "door 3 sticks", "since": None, "photos": [], "urgent": False}
DOORS = {"tram": "4711", "door": 3}
SPARES = "Part: door motor\nStock at: depot north"
WORDS = "Motor is worn, needs two people. Tram stays in hall 2."
DONE = "Done, motor replaced."

ANSWERS = {
    "Agent;": [
        ask(("check_doors", {"input": json.dumps(DOORS)}), ("check_spares", {"input": SPARES}), ("open_case", CASE))
    ],
    "Doors;": [say("Door 3 failed 4 of 10 tries.")],
    "Spares;": [say("One motor in stock.")],
    "Ops 1;": [
        ask(("verify", {"input": "first try"})),
        ask(("verify", {"input": "second try, please"})),
        ask(("pass_it_on", {}), text=WORDS),
        say("Repaired, back on line 4."),
        say("Yes, since this morning."),
    ],
    "Verifier;": [
        ask(("measure", {"what": "volts"})),
        ask(("measure", {"what": "volts"})),
        ask(("measure", {"what": "amps"})),
        say("Motor draws too much."),
    ],
    "Ops 10;": [ask(("transfer_to_ops_1", {}), ("transfer_to_agent", {}), text=DONE)],
}


async def run(url: str) -> None:
    """Two user turns."""
    from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool, trace
    from agents import handoff as to
    from agents.extensions.handoff_filters import remove_all_tools
    from openai import AsyncOpenAI
    from pydantic import BaseModel

    class Case(BaseModel):
        tram: str
        fault: str
        since: str | None
        photos: list[str]
        urgent: bool

    measured: list[str] = []

    @function_tool(failure_error_function=None)
    def measure(what: str) -> str:
        """Measure at the motor."""
        measured.append(what)
        if len(measured) == 2:
            raise RuntimeError("meter is off")
        return "7"

    model = OpenAIChatCompletionsModel("model-3", AsyncOpenAI(base_url=url, api_key="none"))

    def agent(name: str, **rest: Any) -> Agent:
        return Agent(name=name, instructions=f"You are {name};", model=model, **rest)

    ops = agent("Ops 1", tools=[agent("Verifier", tools=[measure]).as_tool("verify", "Verify")])
    night = agent("Ops 10")
    case = to(
        ops,
        tool_name_override="open_case",
        input_type=Case,
        on_handoff=lambda _context, _given: None,
        input_filter=remove_all_tools,
    )
    checks = [agent("Doors").as_tool("check_doors", "Doors"), agent("Spares").as_tool("check_spares", "Spares")]
    desk = agent("Agent", tools=checks, handoffs=[case])
    ops.handoffs.append(to(night, tool_name_override="pass_it_on"))
    night.handoffs += [ops, desk]
    config = RunConfig(workflow_name="Depot", group_id=SESSION, nest_handoff_history=True)
    with trace("Depot", group_id=SESSION):
        first = await Runner.run(desk, "Door 3 of tram 4711 sticks.", run_config=config)
    again = [*first.to_input_list(), {"role": "user", "content": "Is it on line 4?"}]
    with trace("Depot", group_id=SESSION):
        await Runner.run(first.last_agent, again, run_config=config)


def expected() -> dict[str, Any]:
    """The ground truth."""
    spares = dict(line.split(": ") for line in SPARES.splitlines())
    return {
        "session_id": SESSION,
        "session_id_visible": True,
        "sessions": 1,
        "agents": ["Agent", "Doors", "Spares", "Ops 1", "Verifier", "Ops 10"],
        "handoffs": [
            handoff(1, "Agent", "Doors", "delegate", DOORS),
            handoff(2, "Agent", "Spares", "delegate", {"message": SPARES, **spares}, form="labelled"),
            handoff(3, "Agent", "Ops 1", "transfer", CASE),
            handoff(4, "Ops 1", "Verifier", "delegate", {"message": "first try"}, form="text"),
            handoff(5, "Ops 1", "Verifier", "delegate", {"message": "second try, please"}, form="text"),
            handoff(6, "Ops 1", "Ops 10", "transfer", {"message": WORDS}, form="text"),
            handoff(7, "Ops 10", "Ops 1", "transfer", {"message": DONE}, form="text"),
        ],
        "returns": [
            returned("Doors", "Agent", "Door 3 failed 4 of 10 tries."),
            returned("Spares", "Agent", "One motor in stock."),
            returned("Verifier", "Ops 1", "Motor draws too much."),
        ],
        "dropped": [{"source": "Ops 10", "target": "Agent", "why": "the second handover of one answer is ignored"}],
        "decoys": ["the next user turn is no handoff", "Ops 1 and Ops 10 are two agents", "Agent is an agent's name"],
    }


def main() -> None:
    import logfire

    folder = Path(sys.argv[1])
    provider = tracer_provider(folder, "depot")
    logfire.configure(
        send_to_logfire=False,
        console=False,
        additional_span_processors=[provider._active_span_processor],
        service_name="depot",
        inspect_arguments=False,
    )
    logfire.instrument_openai_agents()
    asyncio.run(run(ChatServer(ANSWERS).url))
    provider.shutdown()
    write_expected(folder, expected())


if __name__ == "__main__":
    main()
