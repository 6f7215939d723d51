"""Pydantic AI in an orchard: an output function that hands over, a graph whose nodes run agents, agents behind tools at once, streamed.

    pip install "pydantic-ai-slim" pydantic-graph opentelemetry-exporter-otlp     -> pydantic_ai_orchard.py SCENE VERSION OUT

VERSION is that of the instrumentation, 2 to 5, or logfire. SCENE is one of
- output: an agent whose output functions run another agent, with two arguments; the one that it picks first refuses;
- graph: a graph (pydantic-graph) of three nodes, of which the last sends back to the first once;
- tools: two agents asked at once, the one of which asks a third, and an agent that is streamed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capturing import Answer, ask, handoff, returned, say, tracer_provider, write_expected

SESSION = "harvest-9"


def scripted(answers: list[Answer]) -> Any:
    """A model that gives these answers in order."""
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import DeltaToolCall, FunctionModel

    def answer(_messages: Any, _info: Any) -> Any:
        said = answers.pop(0)
        words = [TextPart(said["content"])] if said["content"] is not None else []
        return ModelResponse(parts=[*words, *(ToolCallPart(name, given) for name, given in said.get("calls", ()))])

    async def stream(_messages: Any, _info: Any) -> AsyncIterator[Any]:
        said = answers.pop(0)
        if said["content"] is not None:
            yield said["content"]
        for place, (name, given) in enumerate(said.get("calls", ())):
            yield {place: DeltaToolCall(name, json.dumps(given))}

    return FunctionModel(answer, stream_function=stream)


def agent(name: str, answers: list[Answer], **rest: Any) -> Any:
    from pydantic_ai import Agent

    return Agent(scripted(answers), name=name, instructions=f"You are {name}.", **rest)


def truth(agents: list[str], handoffs: list[Any], returns: Any = (), decoys: Any = ()) -> dict[str, Any]:
    return {
        "session_id": SESSION, "session_id_visible": True, "sessions": 1, "agents": agents, "handoffs": handoffs,
        "returns": list(returns), "dropped": [], "decoys": list(decoys),
    }  # fmt: skip


@dataclass
class Notes:
    """The state of the graph."""

    label: str = ""


PRESS = {"apples_kg": 0, "sort": "Boskoop", "remarks": []}


def output(span: Any) -> dict[str, Any]:
    press = agent("presser", [say("Forty litres of juice.")])

    async def hand_off_to_presser(apples_kg: int, sort: str, remarks: list[str]) -> str:
        """Hand over to the presser."""
        return str((await press.run(f"Press {apples_kg} kg of {sort}, {remarks}")).output)

    async def refuse(reason: str) -> str:
        """Refuse."""
        return reason

    router = agent(
        "router", [ask(("final_result_hand_off_to_presser", PRESS))], output_type=[hand_off_to_presser, refuse]
    )

    async def run() -> None:
        with span():
            await router.run("Juice from the Boskoop, please.")

    asyncio.run(run())
    return truth(
        ["router", "presser"],
        [handoff(1, "router", "presser", "delegate", PRESS)],
        [returned("presser", "router", "Forty litres of juice.")],
        ["hand_off_to_presser is an output function of router's"],
    )  # fmt: skip


def graph(span: Any) -> dict[str, Any]:
    from pydantic_graph import GraphBuilder

    first, second = (
        '{"label": "Most", "year": 0, "colors": []}',
        '{"label": "Most 2026", "year": 2026, "colors": ["red"]}',
    )
    asked, done = "The year is missing on the label, please add it.", "Approved, as it is."
    writer = agent("label_writer", [say(first), say(second)])
    critic = agent("label_critic", [say(asked), say(done)])
    printer = agent("printer", [say("Printed 200 labels.")])

    builder: Any = GraphBuilder(name="labels", state_type=Notes, input_type=str, output_type=str)

    async def write(ctx: Any) -> str:
        return str((await writer.run(ctx.inputs)).output)

    async def review(ctx: Any) -> str:
        said = str((await critic.run(ctx.inputs)).output)
        ctx.state.label = ctx.inputs
        return said

    async def finish(ctx: Any) -> str:
        return str((await printer.run(ctx.state.label)).output)

    first_step, second_step, last_step = (
        builder.step(write, node_id="Write"),
        builder.step(review, node_id="Review"),
        builder.step(finish, node_id="Print"),
    )
    choice = (
        builder.decision()
        .branch(builder.match(str, matches=lambda said: "Approved" in said).to(last_step))
        .branch(builder.match(str).to(first_step))
    )
    builder.add(
        builder.edge_from(builder.start_node).to(first_step),
        builder.edge_from(first_step).to(second_step),
        builder.edge_from(second_step).to(choice),
        builder.edge_from(last_step).to(builder.end_node),
    )
    labels = builder.build()

    async def run() -> None:
        with span():
            await labels.run(state=Notes(), inputs="Write a label.")

    asyncio.run(run())
    return truth(
        ["label_writer", "label_critic", "printer"],
        [
            handoff(1, "label_writer", "label_critic", "transfer", json.loads(first)),
            handoff(2, "label_critic", "label_writer", "transfer", {"message": asked}, form="text"),
            handoff(3, "label_writer", "label_critic", "transfer", json.loads(second)),
            handoff(4, "label_critic", "printer", "transfer", json.loads(second), optional=["label"]),
        ],
        decoys=["the printer is given the writer's label, once the critic lets it pass"],
    )


def tools(span: Any) -> dict[str, Any]:
    pick = {"rows": [3, 4], "until": "18:00", "ladder": None}
    sort = "Sort the crates by size."
    weigh = {"crate": 0}
    scale = agent("scale", [say("Zero kilograms.")])
    sorter = agent("sorter", [ask(("weigh_", weigh)), say("Sorted in three sizes.")])
    picker = agent("picker", [say("Rows 3 and 4 are picked.")])
    chief = agent("chief", [ask(("pick_", pick), ("sort", {"order": sort})), say("All done.")])

    @sorter.tool_plain
    async def weigh_(crate: int) -> str:
        """Weigh a crate."""
        return str((await scale.run(f"Weigh crate {crate}")).output)

    @chief.tool_plain
    async def pick_(rows: list[int], until: str, ladder: str | None) -> str:
        """Pick rows."""
        async with picker.run_stream(f"Pick {rows} until {until}") as result:
            return str(await result.get_output())

    @chief.tool_plain(name="sort")
    async def sort_(order: str) -> str:
        """Sort crates."""
        await asyncio.sleep(0.05)
        return str((await sorter.run(order)).output)

    async def run() -> None:
        with span():
            await chief.run("Harvest.")

    asyncio.run(run())
    return truth(
        ["chief", "picker", "sorter", "scale"],
        [
            handoff(1, "chief", "picker", "delegate", pick),
            handoff(2, "chief", "sorter", "delegate", {"order": sort}, form="text"),
            handoff(3, "sorter", "scale", "delegate", weigh),
        ],
        [
            returned("picker", "chief", "Rows 3 and 4 are picked."),
            returned("scale", "sorter", "Zero kilograms."),
            returned("sorter", "chief", "Sorted in three sizes."),
        ],
    )


def main(scene: str, version: str, folder: Path) -> None:
    from opentelemetry import trace
    from pydantic_ai import Agent
    from pydantic_ai.models.instrumented import InstrumentationSettings

    provider = tracer_provider(folder, "orchard")
    if version == "logfire":
        import logfire

        logfire.configure(
            send_to_logfire=False,
            console=False,
            service_name="orchard",
            inspect_arguments=False,
            additional_span_processors=[provider._active_span_processor],
        )
        logfire.instrument_pydantic_ai()
        tracer = trace.get_tracer("orchard")
    else:
        trace.set_tracer_provider(provider)
        tracer = provider.get_tracer("orchard")
        settings: Any = {"tracer_provider": provider, "version": int(version)}
        Agent.instrument_all(InstrumentationSettings(**settings))

    def span() -> Any:
        return tracer.start_as_current_span("POST /harvest", attributes={"session.id": SESSION})

    expected = {"output": output, "graph": graph, "tools": tools}[scene](span)
    provider.force_flush()
    expected["session_id_visible"] = version != "logfire"  # which takes the key for a secret
    write_expected(folder, expected)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
