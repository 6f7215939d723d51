"""Microsoft Agent Framework of old (1.0.0 betas) in a mill: orchestrations whose managers are no agents.

    pip install "agent-framework-core==1.0.0b251114" "mcp[ws]<2"              -> agent_framework_mill.py native|off SCENE OUT

off: content capture off.

handoff: Annahme hands over to Müller with JSON in the call's `context`, Müller to Lager with labelled lines. magentic: the manager, which asks
a model and is no agent, asks Müller, then Lager. manager: a group chat whose manager asks a model who speaks: Müller, Lager. sequence: Annahme,
Müller, Lager. fan: Annahme's words go to Müller and Lager at once. tools: Annahme calls Müller, who calls Lager.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from capturing import ChatServer, ask, handoff, returned, say, tracer_provider, write_expected

SESSION = "Mühle/7 ü"
BOSS = "magentic_orchestrator"
GRAIN = {"korn": "Roggen", "säcke": 12, "feucht": False, "befund": [], "notiz": None}
FLOUR = "Typ: 997\nSäcke: 11\nRest:"
FINE = {"typ": "997", "säcke": "11", "rest": "", "message": FLOUR}
STORED = "Im Lager, Regal vier, alles trocken."
ORDER = {"auftrag": "Mahle zwölf Säcke", "stufe": 0, "eilig": False}
GRAIN_TEXT, ORDER_TEXT = (json.dumps(v, ensure_ascii=False) for v in (GRAIN, ORDER))
NEXT = "Wie viel ist noch im Lager?"


def _ledger(done: bool, speaker: str, instruction: str) -> Any:
    def item(answer: Any) -> dict[str, Any]:
        return {"reason": "weil", "answer": answer}

    ledger = {
        "is_request_satisfied": item(done),
        "is_in_loop": item(False),
        "is_progress_being_made": item(True),
        "next_speaker": item(speaker),
        "instruction_or_question": item(instruction),
    }
    return say(json.dumps(ledger, ensure_ascii=False))


def _next(speaker: str | None, message: str = "", final: str | None = None) -> Any:
    return say(
        json.dumps({"next_agent": speaker, "message": message, "finish": speaker is None, "final_response": final})
    )


ANSWERS: dict[str, dict[str, list[Any]]] = {
    "handoff": {
        "Annahme;": [ask(("handoff_to_m_ller", {"context": GRAIN_TEXT})), say("Übergeben.")],
        "Müller;": [ask(("handoff_to_lager", {"context": FLOUR})), say("")],
        "Lager;": [say(STORED)],
    },
    "magentic": {
        "Leitung;": [
            say("Fakten: keine."),
            say("Plan: mahlen, lagern."),
            _ledger(False, "Müller", ORDER_TEXT),
            _ledger(False, "Lager", NEXT),
            _ledger(True, "Lager", "fertig"),
            say("Alles gemahlen."),
        ],
        "Müller;": [say(FLOUR)],
        "Lager;": [say(STORED)],
    },
    "manager": {
        "Leitung;": [_next("Müller", ORDER_TEXT), _next("Lager", NEXT), _next(None, final="Fertig.")],
        "Müller;": [say(FLOUR)],
        "Lager;": [say(STORED)],
    },
    "sequence": {"Annahme;": [say(GRAIN_TEXT)], "Müller;": [say(FLOUR)], "Lager;": [say(STORED)]},
    "fan": {"Annahme;": [say(GRAIN_TEXT)], "Müller;": [say(FLOUR)], "Lager;": [say(STORED)]},
    "tools": {
        "Annahme;": [ask(("mueller", {"task": ORDER_TEXT})), say("Fertig.")],
        "Müller;": [ask(("lager", {"task": NEXT})), say(FLOUR)],
        "Lager;": [say(STORED)],
    },
}


async def run(scene: str, url: str, provider: Any) -> None:
    """One run."""
    from agent_framework import (
        AgentExecutor,
        ChatAgent,
        GroupChatBuilder,
        HandoffBuilder,
        MagenticBuilder,
        SequentialBuilder,
        WorkflowBuilder,
    )
    from agent_framework.openai import OpenAIChatClient

    def client() -> Any:
        return OpenAIChatClient(model_id="modell-2", base_url=url, api_key="none")

    def agent(name: str, **rest: Any) -> Any:
        return ChatAgent(client(), instructions=f"Du bist {name};", name=name, description=f"{name} der Mühle", **rest)

    flow: Any
    with provider.get_tracer("mühle").start_as_current_span("tag", attributes={"session.id": SESSION}):
        start, mill, store = agent("Annahme"), agent("Müller"), agent("Lager")
        if scene == "tools":
            mill = agent("Müller", tools=[store.as_tool(name="lager")])
            await agent("Annahme", tools=[mill.as_tool(name="mueller")]).run("Roggen mahlen")
            return
        if scene == "handoff":
            team = HandoffBuilder(name="mühle", participants=[start, mill, store]).set_coordinator(start)
            team = team.add_handoff(start, mill).add_handoff(mill, store)
            flow = team.with_termination_condition(lambda said: any("Im Lager" in (m.text or "") for m in said)).build()
        elif scene == "magentic":
            team = MagenticBuilder().participants(Müller=mill, Lager=store)
            flow = team.with_standard_manager(chat_client=client(), instructions="Du bist Leitung;").build()
        elif scene == "manager":
            team = GroupChatBuilder().set_prompt_based_manager(client(), instructions="Du bist Leitung;")
            flow = team.participants([mill, store]).build()
        elif scene == "sequence":
            flow = SequentialBuilder().participants([start, mill, store]).build()
        else:
            people = [AgentExecutor(a, id=f"k{i}") for i, a in enumerate((start, mill, store))]
            flow = WorkflowBuilder().set_start_executor(people[0]).add_fan_out_edges(people[0], people[1:]).build()
        await flow.run("Roggen mahlen")


def expected(kind: str, scene: str) -> dict[str, Any]:
    """The ground truth."""
    told = kind == "native"
    truth: dict[str, Any] = {
        "session_id": SESSION,
        "session_id_visible": True,
        "sessions": 1,
        "agents": ["Annahme", "Müller", "Lager"],
        "returns": [],
        "dropped": [],
        "decoys": [],
    }

    def data(
        n: int, source: str, target: str, fields: Any, mode: str = "transfer", form: str = "json", **rest: Any
    ) -> Any:
        return handoff(n, source, target, mode, fields, form=form, recorded=told, **rest)

    def back(source: str, target: str, text: str) -> Any:
        return returned(source, target, text, recorded=told)

    if scene == "handoff":
        return truth | {
            "handoffs": [
                data(1, "Annahme", "Müller", GRAIN),
                data(2, "Müller", "Lager", FINE, form="labelled", optional=["context"]),
            ],
            "decoys": ["the coordinator only passes on"],
        }
    if scene == "magentic":
        return truth | {
            "agents": [BOSS, "Müller", "Lager"],
            "handoffs": [
                data(1, BOSS, "Müller", ORDER, "delegate"),
                data(2, BOSS, "Lager", {"message": NEXT}, "delegate", "text"),
            ],
            "returns": [back("Müller", BOSS, FLOUR), back("Lager", BOSS, STORED)],
        }
    if scene == "manager":
        boss = "groupchat_orchestrator"
        return truth | {
            "agents": [boss, "Müller", "Lager"],
            "handoffs": [
                data(1, boss, "Müller", ORDER, "delegate"),
                data(2, boss, "Lager", {"message": NEXT}, "delegate", "text"),
            ],
            "returns": [back("Müller", boss, FLOUR), back("Lager", boss, STORED)],
            "decoys": ["Lager sees what Müller said, and is not asked by Müller"],
        }
    if scene == "sequence":
        return truth | {
            "handoffs": [data(1, "Annahme", "Müller", GRAIN), data(2, "Müller", "Lager", FINE, form="labelled")]
        }
    if scene == "fan":
        return truth | {"handoffs": [data(1, "Annahme", "Müller", GRAIN), data(2, "Annahme", "Lager", GRAIN)]}
    return truth | {
        "handoffs": [
            data(1, "Annahme", "Müller", ORDER, "delegate"),
            data(2, "Müller", "Lager", {"message": NEXT}, "delegate", "text", optional=["task"]),
        ],
        "returns": [back("Lager", "Müller", STORED), back("Müller", "Annahme", FLOUR)],
    }


def main() -> None:
    kind, scene, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    os.environ |= {"ENABLE_OTEL": "true", "ENABLE_SENSITIVE_DATA": str(kind == "native").lower()}
    provider = tracer_provider(folder, "mühle")
    from opentelemetry import trace

    trace.set_tracer_provider(provider)
    asyncio.run(run(scene, ChatServer(ANSWERS[scene]).url, provider))
    provider.shutdown()
    write_expected(folder, expected(kind, scene))


if __name__ == "__main__":
    main()
