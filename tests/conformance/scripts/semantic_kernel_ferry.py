"""Semantic Kernel on a ferry: its orchestrations but the handoff, and agents called like functions.

    pip install semantic-kernel                                     -> semantic_kernel_ferry.py native|off SCENE OUT

off: the spans without what is said in them.

sequence: Brücke, Deck, Kasse, one after another. apart: Deck and Kasse at once, on the same task. chat: a round of Brücke, Deck, and Brücke
again. magentic: the manager asks Deck, then Kasse, then Deck once more. functions: Brücke calls Deck, which calls Kasse; then Deck again.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from capturing import Answer, ChatServer, ask, handoff, returned, say, tracer_provider, write_expected

SESSION = "Fähre/2 ö"
TASK = "Fahrt 9 vorbereiten"
BOSS = "MagenticManagerActor"
LOAD = {"fahrt": 9, "autos": 31, "lkw": 0, "gefahrgut": [], "notiz": None}
DECK = "Spur: 2\nAutos: 31\nRest:"
LINES = {"spur": "2", "autos": "31", "rest": "", "message": DECK}
CASH = "Kasse geschlossen, 412 Euro eingenommen."
AGAIN = "Zähle die Autos noch einmal."
LOAD_TEXT = json.dumps(LOAD, ensure_ascii=False)
COUNTED = "Es sind wirklich 31 Autos an Deck."


def _ledger(done: bool, speaker: str, instruction: str) -> Answer:
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


ANSWERS: dict[str, dict[str, list[Any]]] = {
    "sequence": {"Brücke;": [say(LOAD_TEXT)], "Deck;": [say(DECK)], "Kasse;": [say("Abgelegt.")]},
    "apart": {"Deck;": [say(DECK)], "Kasse;": [say(CASH)]},
    "chat": {"Brücke;": [say(LOAD_TEXT), say("Dann legen wir ab.")], "Deck;": [say(DECK)]},
    "magentic": {
        "Fahrt 9": [
            say("Fakten: keine."),
            say("Plan: laden, kassieren."),
            _ledger(False, "Deck", LOAD_TEXT),
            _ledger(False, "Kasse", "Mache die Kasse zu."),
            _ledger(False, "Deck", AGAIN),
            _ledger(True, "Deck", "fertig"),
            say("Fahrt 9 ist bereit."),
        ],
        "Deck;": [say(DECK), say(COUNTED)],
        "Kasse;": [say(CASH)],
    },
    "functions": {
        "Brücke;": [
            ask(("Deck-Deck", {"messages": LOAD_TEXT})),
            ask(("Deck-Deck", {"messages": AGAIN})),
            say("Wir legen ab."),
        ],
        "Deck;": [ask(("Kasse-Kasse", {"messages": "Ist die Kasse zu?"})), say(DECK), say(COUNTED)],
        "Kasse;": [say(CASH)],
    },
}


async def run(scene: str, url: str, provider: Any) -> None:
    """One run."""
    from openai import AsyncOpenAI
    from semantic_kernel.agents import (
        ChatCompletionAgent,
        ConcurrentOrchestration,
        GroupChatOrchestration,
        MagenticOrchestration,
        RoundRobinGroupChatManager,
        SequentialOrchestration,
        StandardMagenticManager,
    )
    from semantic_kernel.agents.runtime import InProcessRuntime
    from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion

    def service() -> Any:
        return OpenAIChatCompletion(ai_model_id="modell-3", async_client=AsyncOpenAI(base_url=url, api_key="none"))

    def agent(name: str, called: str = "", **rest: Any) -> Any:
        return ChatCompletionAgent(
            name=called or name,
            description=f"{name} der Fähre",
            instructions=f"Du bist {name};",
            service=service(),
            **rest,
        )

    bridge, deck, cash = agent("Brücke", "Bruecke"), agent("Deck"), agent("Kasse")
    with provider.get_tracer("fähre").start_as_current_span("fahrt", attributes={"session.id": SESSION}):
        if scene == "functions":
            deck = agent("Deck", plugins=[cash])
            await agent("Brücke", "Bruecke", plugins=[deck]).get_response(TASK)
            return
        orchestration: Any
        if scene == "sequence":
            orchestration = SequentialOrchestration(members=[bridge, deck, cash])
        elif scene == "apart":
            orchestration = ConcurrentOrchestration(members=[deck, cash])
        elif scene == "chat":
            orchestration = GroupChatOrchestration(
                members=[bridge, deck], manager=RoundRobinGroupChatManager(max_rounds=3)
            )
        else:
            manager = StandardMagenticManager(chat_completion_service=service())
            orchestration = MagenticOrchestration(members=[deck, cash], manager=manager)
        runtime = InProcessRuntime(tracer_provider=provider)
        runtime.start()
        result = await orchestration.invoke(task=TASK, runtime=runtime)
        await result.get(timeout=30)
        await runtime.stop_when_idle()


def expected(kind: str, scene: str) -> dict[str, Any]:
    """The ground truth."""
    told = kind == "native"
    truth: dict[str, Any] = {
        "session_id": SESSION,
        "session_id_visible": True,
        "sessions": 1,
        "handoffs": [],
        "returns": [],
        "dropped": [],
        "decoys": [],
    }

    def words(n: int, source: str, target: str, text: str, mode: str = "transfer", **rest: Any) -> dict[str, Any]:
        return handoff(n, source, target, mode, {"message": text}, form="text", recorded=told, **rest)

    def data(n: int, source: str, target: str, mode: str = "transfer") -> dict[str, Any]:
        return handoff(n, source, target, mode, LOAD, recorded=told)

    def lines(n: int, source: str, target: str) -> dict[str, Any]:
        return handoff(n, source, target, "transfer", LINES, form="labelled", recorded=told)

    if scene == "sequence":
        handoffs = [data(1, "Bruecke", "Deck"), lines(2, "Deck", "Kasse")]
        return truth | {"agents": ["Bruecke", "Deck", "Kasse"], "handoffs": handoffs}
    if scene == "apart":
        return truth | {
            "agents": ["Deck", "Kasse"],
            "decoys": ["both are given the user's task, and the program takes theirs"],
        }
    if scene == "chat":
        return truth | {
            "agents": ["Bruecke", "Deck"],
            "handoffs": [data(1, "Bruecke", "Deck"), lines(2, "Deck", "Bruecke")],
            "decoys": ["the round's manager is no agent"],
        }
    if scene == "magentic":
        return truth | {
            "agents": [BOSS, "Deck", "Kasse"],
            "handoffs": [
                data(1, BOSS, "Deck", "delegate"),
                words(2, BOSS, "Kasse", "Mache die Kasse zu.", "delegate"),
                words(3, BOSS, "Deck", AGAIN, "delegate"),
            ],
            "returns": [
                returned("Deck", BOSS, DECK, recorded=told),
                returned("Kasse", BOSS, CASH, recorded=told),
                returned("Deck", BOSS, COUNTED, recorded=told),
            ],
            "decoys": ["Kasse sees what Deck said, and is not asked by Deck"],
        }
    return truth | {
        "agents": ["Bruecke", "Deck", "Kasse"],
        "handoffs": [
            data(1, "Bruecke", "Deck", "delegate"),
            words(2, "Deck", "Kasse", "Ist die Kasse zu?", "delegate", optional=["messages"]),
            words(3, "Bruecke", "Deck", AGAIN, "delegate", optional=["messages"]),
        ],
        "returns": [
            returned("Kasse", "Deck", CASH, recorded=told),
            returned("Deck", "Bruecke", DECK, recorded=told),
            returned("Deck", "Bruecke", COUNTED, recorded=told),
        ],
    }


def main() -> None:
    kind, scene, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    switch = "SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS"
    os.environ[f"{switch}_SENSITIVE" if kind == "native" else switch] = "true"
    provider = tracer_provider(folder, "fähre")
    from opentelemetry import trace

    trace.set_tracer_provider(provider)
    asyncio.run(run(scene, ChatServer(ANSWERS[scene]).url, provider))
    provider.shutdown()
    write_expected(folder, expected(kind, scene))


if __name__ == "__main__":
    main()
