"""Google ADK in a bakery: transfers that go round with content off, a loop of two, agents as tools three deep and two at once.

pip install google-adk opentelemetry-exporter-otlp     -> adk_bakery.py transfer-off|loop|tools|groups OUT

groups: an agent transfers to a sequence of two, and in the next user turn (a trace of its own) to two that run at once. With ADK 1.x, which
nests the target in the source, and with 2.x, which puts it beside.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from capturing import Answer, ask, handoff, returned, say, tracer_provider, write_expected

SESSION = "Backstube-2 №7"


def scripted(answers: list[Answer]) -> Any:
    """An ADK model that gives these answers in order."""
    from google.adk.models import BaseLlm, LlmResponse
    from google.genai import types

    class Scripted(BaseLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncGenerator[Any, None]:
            answer = answers.pop(0)
            parts = []
            if answer["content"] is not None:
                parts.append(types.Part(text=answer["content"]))
            for n, (name, arguments) in enumerate(answer.get("calls", ())):
                parts.append(
                    types.Part(
                        function_call=types.FunctionCall(id=f"c{id(answer) % 9973}-{n}", name=name, args=arguments)
                    )
                )
            usage = types.GenerateContentResponseUsageMetadata(
                prompt_token_count=12, candidates_token_count=4, total_token_count=16
            )
            yield LlmResponse(content=types.Content(role="model", parts=parts), usage_metadata=usage)

    return Scripted(model="modell-b-1")


def agent(name: str, answers: list[Answer], **more: Any) -> Any:
    from google.adk.agents import LlmAgent

    return LlmAgent(
        name=name, model=scripted(answers), instruction=f"Du bist {name}.", description=f"macht {name}", **more
    )


def expected(
    agents: list[str], handoffs: list[Any], returns: Any = (), dropped: Any = (), decoys: Any = ()
) -> dict[str, Any]:
    return {
        "session_id": SESSION, "session_id_visible": True, "sessions": 1, "agents": agents, "handoffs": handoffs,
        "returns": list(returns), "dropped": list(dropped), "decoys": list(decoys),
    }  # fmt: skip


def transfer() -> tuple[Any, dict[str, Any]]:
    def go(name: str, text: str | None = None) -> Answer:
        return ask(("transfer_to_agent", {"agent_name": name}), text=text)

    def transfer_to_ofen(agent_name: str) -> str:
        """Puts a loaf into the oven."""
        return "drin"

    teig1 = agent(
        "Teig_1",
        [
            ask(("transfer_to_ofen", {"agent_name": "Brot"})),
            go("Teig_10", '{"mehl": 0}'),
            go("Kundschaft", "noch einmal"),
        ],
        tools=[transfer_to_ofen],
    )
    teig10 = agent("Teig_10", [go("Teig_1", "Form: rund\nRest:")])
    root = agent("Kundschaft", [go("Teig_1", '{"sorte": "Roggen"}'), say("Danke.")], sub_agents=[teig1, teig10])
    off: dict[str, Any] = {"recorded": False}
    return root, expected(
        ["Kundschaft", "Teig_1", "Teig_10"],
        [
            handoff(1, "Kundschaft", "Teig_1", "transfer", {"sorte": "Roggen", "message": ""}, **off),
            handoff(2, "Teig_1", "Teig_10", "transfer", {"mehl": 0}, **off),
            handoff(3, "Teig_10", "Teig_1", "transfer", {"form": "rund", "rest": ""}, **off),
            handoff(4, "Teig_1", "Kundschaft", "transfer", {"message": "noch einmal"}, **off),
        ],
        decoys=["transfer_to_ofen is a tool of the application", "Teig_1 and Teig_10 are two agents"],
    )


def loop() -> tuple[Any, dict[str, Any]]:
    from google.adk.agents import LoopAgent, SequentialAgent

    first, second, third = (
        '{"entwurf": "v1", "zutaten": []}',
        '{"kritik": "zu süß", "note": 0}',
        '{"entwurf": "v2", "zutaten": ["Salz"]}',
    )
    writer = agent("schreiberin", [say(first), say(third)], output_key="entwurf")
    critic = agent("kritikerin_2", [say(second), say('{"kritik": "", "note": 1}')], output_key="kritik")
    root = SequentialAgent(
        name="ablauf",
        sub_agents=[
            LoopAgent(name="schleife", sub_agents=[writer, critic], max_iterations=2),
            agent("ausgabe", [say("Gebacken.")]),
        ],
    )
    return root, expected(
        ["schreiberin", "kritikerin_2", "ausgabe"],
        [
            handoff(1, "schreiberin", "kritikerin_2", "transfer", {"message": first, "entwurf": "v1", "zutaten": []}),
            handoff(2, "kritikerin_2", "schreiberin", "transfer", {"message": second, "kritik": "zu süß", "note": 0}),
            handoff(
                3, "schreiberin", "kritikerin_2", "transfer", {"message": third, "entwurf": "v2", "zutaten": ["Salz"]}
            ),
            handoff(4, "kritikerin_2", "ausgabe", "transfer", {"message": "", "kritik": "", "note": 1}),
        ],
        decoys=["ablauf and schleife are workflow agents"],
    )


def tools() -> tuple[Any, dict[str, Any]]:
    from google.adk.tools.agent_tool import AgentTool

    c = agent("Waage_agent", [say("2 kg")])
    b = agent(
        "Teig_1",
        [ask(("Waage_agent", {"request": "Wiege:\n- Mehl\n- Salz"})), say("Teig fertig.")],
        tools=[AgentTool(c)],
    )
    d = agent("Ofen", [say('{"grad": 240}')])
    root = agent(
        "Kundschaft",
        [
            ask(
                ("Teig_1", {"request": '{"sorte": "Roggen", "salz": null}'}),
                ("Ofen", {"request": "Grad: 240\nUmluft: nein"}),
            ),
            say("Danke."),
        ],
        tools=[AgentTool(b), AgentTool(d)],
    )
    return root, expected(
        ["Kundschaft", "Teig_1", "Ofen", "Waage_agent"],
        [
            handoff(1, "Kundschaft", "Teig_1", "delegate", {"sorte": "Roggen", "salz": None}),
            handoff(
                2,
                "Kundschaft",
                "Ofen",
                "delegate",
                {"message": "Grad: 240\nUmluft: nein", "grad": "240", "umluft": "nein"},
                form="labelled",
            ),
            handoff(3, "Teig_1", "Waage_agent", "delegate", {"message": "Wiege:\n- Mehl\n- Salz"}, form="text"),
        ],
        [
            returned("Ofen", "Kundschaft", '{"grad": 240}'),
            returned("Waage_agent", "Teig_1", "2 kg"),
            returned("Teig_1", "Kundschaft", "Teig fertig."),
        ],
        decoys=["Teig_1 and Ofen run side by side"],
    )


def groups() -> tuple[Any, dict[str, Any]]:
    from google.adk.agents import ParallelAgent, SequentialAgent

    first, second = "Bitte 200 Brote backen.", '{"filialen": ["Nord", "Süd"], "brote": 0}'
    line = SequentialAgent(
        name="strasse",
        sub_agents=[agent("kneter", [say("Teig geknetet, 12 kg.")]), agent("ofen_1", [say("200 Brote gebacken.")])],
    )
    fan = ParallelAgent(
        name="touren",
        sub_agents=[agent("tour_nord", [say("Nord beliefert.")]), agent("tour_sued", [say("Süd beliefert.")])],
    )
    root = agent(
        "meister",
        [
            ask(("transfer_to_agent", {"agent_name": "strasse"}), text=first),
            ask(("transfer_to_agent", {"agent_name": "touren"}), text=second),
        ],
        sub_agents=[line, fan],
    )
    parts = json.loads(second)
    return root, expected(
        ["meister", "kneter", "ofen_1", "tour_nord", "tour_sued"],
        [
            handoff(1, "meister", "kneter", "transfer", {"message": first}, form="text"),
            handoff(2, "kneter", "ofen_1", "transfer", {"message": "Teig geknetet, 12 kg."}, form="text"),
            handoff(3, "meister", "tour_nord", "transfer", {"message": second, **parts}),
            handoff(4, "meister", "tour_sued", "transfer", {"message": second, **parts}),
        ],
        decoys=["strasse and touren are workflow agents"],
    )


async def run(root: Any, turns: int) -> None:
    from google.adk.runners import Runner
    from google.adk.sessions import InMemorySessionService
    from google.genai import types

    sessions = InMemorySessionService()
    await sessions.create_session(app_name="backstube", user_id="u", session_id=SESSION)
    runner = Runner(app_name="backstube", agent=root, session_service=sessions)
    for _ in range(turns):
        async for _event in runner.run_async(
            user_id="u",
            session_id=SESSION,
            new_message=types.Content(role="user", parts=[types.Part(text="Ein Brot, bitte")]),
        ):
            pass


def main(kind: str, folder: Path) -> None:
    if kind != "transfer-off":
        os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
        os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
    from opentelemetry import trace

    provider = tracer_provider(folder, "backstube")
    trace.set_tracer_provider(provider)
    root, truth = {"transfer-off": transfer, "loop": loop, "tools": tools, "groups": groups}[kind]()
    asyncio.run(run(root, 2 if kind == "groups" else 1))
    provider.force_flush()
    write_expected(folder, truth)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
