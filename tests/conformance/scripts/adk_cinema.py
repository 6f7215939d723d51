"""Google ADK in a cinema: a graph workflow, transfers to a peer and back up, typed agents as tools at once, an agent behind A2A.

    pip install google-adk opentelemetry-exporter-otlp                                  -> adk_cinema.py SCENE latest|old|old-off OUT
    ... openinference-instrumentation-google-adk                                        -> adk_cinema.py SCENE openinference OUT
    ... "a2a-sdk[http-server]" uvicorn opentelemetry-instrumentation-httpx opentelemetry-instrumentation-asgi -> adk_cinema.py remote KIND OUT

old and old-off are schema 1 with content, and with ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=false. SCENE is one of
- graph: a workflow whose first agent gives to two at once, whose answers a node joins for a fourth; a function stands between;
- peers: Kasse transfers to Saal 1, which transfers to its peer Saal 2, which transfers back up, where the next user turn goes on;
- typed: an agent asks two agents with input schemas in one answer, the one of which asks a third;
- remote: the sub agent is in another process, behind A2A.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from adk_bakery import agent, expected
from capturing import Answer, ask, handoff, returned, say, tracer_provider, write_expected

SESSION = "Vorstellung 21/4"


def go(name: str, words: str | None = None) -> Answer:
    return ask(("transfer_to_agent", {"agent_name": name}), text=words)


def graph() -> tuple[Any, dict[str, Any]]:
    from google.adk.workflow import START, JoinNode, Workflow

    plan = '{"film": "Nosferatu", "plaetze": 0, "rabatt": null}'
    left, right = "Der Ton ist geprüft, alles klar.", "Das Licht ist geprüft, eine Lampe fehlt."
    leiter, ton, licht, chef = (
        agent("leiter", [say(plan)]),
        agent("tonmeister", [say(left)]),
        agent("lichtmeister", [say(right)]),
        agent("chefin", [say("Vorführung kann beginnen.")]),
    )
    join = JoinNode(name="sammeln")

    def bericht(node_input: dict[str, Any]) -> str:
        """Write what the two said one below the other."""
        return "\n".join(str(v) for v in node_input.values())

    root = Workflow(
        name="vorfuehrung",
        edges=[(START, leiter), (leiter, (ton, licht)), ((ton, licht), join), (join, bericht), (bericht, chef)],
    )
    return root, expected(
        ["leiter", "tonmeister", "lichtmeister", "chefin"],
        [
            handoff(1, "leiter", "tonmeister", "transfer", {"message": plan, **json.loads(plan)}),
            handoff(2, "leiter", "lichtmeister", "transfer", {"message": plan, **json.loads(plan)}),
            handoff(3, "tonmeister", "chefin", "transfer", {"message": left}, form="text"),
            handoff(4, "lichtmeister", "chefin", "transfer", {"message": right}, form="text"),
        ],
        decoys=["sammeln and bericht are nodes, no agents"],
    )


def peers() -> tuple[Any, dict[str, Any]]:
    first, second, third = (
        "Zwei Karten für Reihe 4.",
        '{"reihe": 4, "loge": false, "wunsch": ""}',
        "Verkauft, bitte Quittung.",
    )
    saal1 = agent("Saal_1", [go("Saal_2", second)])
    saal2 = agent("Saal_2", [go("Kasse", third)])
    root = agent("Kasse", [go("Saal_1", first), say("Quittung gedruckt."), say("Gern.")], sub_agents=[saal1, saal2])
    return root, expected(
        ["Kasse", "Saal_1", "Saal_2"],
        [
            handoff(1, "Kasse", "Saal_1", "transfer", {"message": first}, form="text"),
            handoff(2, "Saal_1", "Saal_2", "transfer", {"message": second, **json.loads(second)}),
            handoff(3, "Saal_2", "Kasse", "transfer", {"message": third}, form="text"),
        ],
        decoys=["the second user turn goes to Kasse, who is in charge"],
    )


def typed() -> tuple[Any, dict[str, Any]]:
    from google.adk.tools.agent_tool import AgentTool
    from pydantic import BaseModel

    class Seats(BaseModel):
        row: int
        seats: list[int]
        note: str | None = None

    class Snack(BaseModel):
        item: str
        count: int

    order, snack = {"row": 7, "seats": [], "note": None}, {"item": "popcorn", "count": 0}
    fridge = agent("Kuehlung", [say("Vier Grad.")])
    bar = agent(
        "Bar",
        [ask(("Kuehlung", {"request": "Ist das Eis kalt?"})), say("Popcorn ist aus.")],
        tools=[AgentTool(fridge)],
        input_schema=Snack,
    )
    plan = agent("Saalplan", [say('{"frei": [1, 2]}')], input_schema=Seats)
    root = agent(
        "Kasse", [ask(("Saalplan", order), ("Bar", snack)), say("Danke.")], tools=[AgentTool(plan), AgentTool(bar)]
    )
    return root, expected(
        ["Kasse", "Saalplan", "Bar", "Kuehlung"],
        [
            handoff(1, "Kasse", "Saalplan", "delegate", order),
            handoff(2, "Kasse", "Bar", "delegate", snack),
            handoff(3, "Bar", "Kuehlung", "delegate", {"message": "Ist das Eis kalt?"}, form="text"),
        ],
        [
            returned("Saalplan", "Kasse", '{"frei": [1, 2]}'),
            returned("Kuehlung", "Bar", "Vier Grad."),
            returned("Bar", "Kasse", "Popcorn ist aus."),
        ],
    )  # fmt: skip


def remote() -> tuple[Any, dict[str, Any]]:
    import socket
    import time

    import uvicorn
    from google.adk.a2a.utils.agent_to_a2a import to_a2a
    from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
    from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
    from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor

    HTTPXClientInstrumentor().instrument()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    far = agent("Verleih", [say("Die Kopie kommt am Freitag.")])
    server = uvicorn.Server(
        uvicorn.Config(
            OpenTelemetryMiddleware(to_a2a(far, host="127.0.0.1", port=port)),
            host="127.0.0.1",
            port=port,
            log_level="warning",
        )
    )
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    words = "Wann kommt die Kopie von Metropolis?"
    near = RemoteA2aAgent(
        name="Verleih", description="verleiht", agent_card=f"http://127.0.0.1:{port}/.well-known/agent-card.json"
    )
    root = agent("Kasse", [go("Verleih", words)], sub_agents=[near])
    return root, expected(
        ["Kasse", "Verleih"],
        [handoff(1, "Kasse", "Verleih", "transfer", {"message": words}, form="text")],
        decoys=["Verleih runs once, told by the process that asks and by the one that answers"],
    )


async def run(root: Any, turns: int) -> None:
    from google.adk.apps import App
    from google.adk.runners import Runner
    from google.adk.sessions import InMemorySessionService
    from google.genai import types

    sessions = InMemorySessionService()
    await sessions.create_session(app_name="kino", user_id="u", session_id=SESSION)
    try:
        runner = Runner(app_name="kino", agent=root, session_service=sessions)
    except Exception:  # a workflow is an app's root, not a runner's agent
        runner = Runner(app=App(name="kino", root_agent=root), session_service=sessions)
    for _ in range(turns):
        message = types.Content(role="user", parts=[types.Part(text="Guten Abend")])
        async for _event in runner.run_async(user_id="u", session_id=SESSION, new_message=message):
            pass


def main(scene: str, kind: str, folder: Path) -> None:
    if kind == "latest":
        os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
        os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
    elif kind.startswith("old"):
        os.environ["ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN"] = "1"
        os.environ["ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS"] = "false" if kind == "old-off" else "true"
    from opentelemetry import trace

    provider = tracer_provider(folder, "kino")
    trace.set_tracer_provider(provider)
    if kind == "openinference":
        from openinference.instrumentation.google_adk import GoogleADKInstrumentor

        GoogleADKInstrumentor().instrument(tracer_provider=provider)
    root, truth = {"graph": graph, "peers": peers, "typed": typed, "remote": remote}[scene]()
    asyncio.run(run(root, 2 if scene == "peers" else 1))
    provider.force_flush()
    truth["session_id"] = SESSION
    if kind == "old-off":
        for row in truth["handoffs"]:
            row["recorded"] = False
        for row in truth["returns"]:
            row["recorded"] = False
    write_expected(folder, truth)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
