"""Microsoft Agent Framework in a quarry: managers that are agents, a guest in between, a graph that splits and joins, a workflow as an agent, a resumed run.

    pip install agent-framework-core agent-framework-orchestrations agent-framework-openai
                                                    -> agent_framework_quarry.py native|off SCENE OUT
    ... openinference-instrumentation-agent-framework            -> agent_framework_quarry.py openinference SCENE OUT

off: content capture off.

magentic: Leitung, the manager, asks Sprenger, then Labor, then Sprenger again. manager: a group chat in which Leitung, an agent, says who
speaks: Sprenger, Labor. guest: Annahme hands over to Labor, who asks the user; the run goes on in a second trace, and Labor hands over to
Lager. join: Annahme's words go to Sprenger and Labor, a function joins theirs, Lager gets both. switch: Annahme's words are routed to Labor.
nested: Annahme, a workflow of Sprenger and Labor that stands as the agent Abbau, and Lager. resume: Annahme, Labor, Lager; the run breaks off
after Annahme and goes on from its checkpoint in a second trace. gather: Sprenger and Labor at once, a function asks Lager about what both say.
sub: Annahme, a workflow of Sprenger and Labor below an executor of its own, and Lager. auto: Annahme hands over to Labor, who goes on by itself
once, calls Sprenger like a tool, and hands over to Lager. apart: Sprenger and Labor at once, a function takes what both say.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from capturing import ChatServer, ask, handoff, returned, say, tracer_provider, write_expected

SESSION = "Bruch-3/å"
STONE = {"block": 12, "gestein": "Gneis", "risse": [], "tiefe_m": 0, "bemerkung": None}
ORDER = {"auftrag": "Prüfe Block 12", "proben": 2, "eilig": False, "notiz": ""}
BLAST = "Ladung: 4 kg\nBohrloch: 3\nRest:"
LAB = "Druckfestigkeit liegt bei 180 MPa, der Block ist gut."
AGAIN = "Sprenge noch einmal, aber mit halber Ladung."
HALF = "Mit halber Ladung gesprengt, Block liegt frei."


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _ledger(done: bool, speaker: str, instruction: str) -> str:
    """What the Magentic manager's agent is asked for at each step."""

    def item(answer: Any) -> dict[str, Any]:
        return {"reason": "weil", "answer": answer}

    return _json(
        {
            "is_request_satisfied": item(done),
            "is_in_loop": item(False),
            "is_progress_being_made": item(True),
            "next_speaker": item(speaker),
            "instruction_or_question": item(instruction),
        }
    )


def _next(speaker: str | None, final: str | None = None) -> str:
    """What a group chat's manager agent is asked for at each step."""
    return _json({"terminate": speaker is None, "reason": "weil", "next_speaker": speaker, "final_message": final})


STONE_TEXT, ORDER_TEXT = _json(STONE), _json(ORDER)
ANSWERS: dict[str, dict[str, list[Any]]] = {
    "magentic": {
        "Leitung;": [
            say("Fakten: Block 12."),
            say("Plan: sprengen, prüfen."),
            say(_ledger(False, "Sprenger", ORDER_TEXT)),
            say(_ledger(False, "Labor", "Miss die Druckfestigkeit.")),
            say(_ledger(False, "Sprenger", AGAIN)),
            say(_ledger(True, "Labor", "fertig")),
            say("Block 12 ist gebrochen."),
        ],
        "Sprenger;": [say(BLAST), say(HALF)],
        "Labor;": [say(LAB)],
    },
    "manager": {
        "Leitung;": [say(_next("Sprenger")), say(_next("Labor")), say(_next(None, "Fertig."))],
        "Sprenger;": [say(BLAST)],
        "Labor;": [say(LAB)],
    },
    "guest": {
        "Annahme;": [ask(("handoff_to_Labor", {}), text=STONE_TEXT)],
        "Labor;": [say("Wie tief war der Block?"), ask(("handoff_to_Lager", {}), text=LAB)],
        "Lager;": [say("Im Lager.")],
    },
    "join": {
        "Annahme;": [say(STONE_TEXT)],
        "Sprenger;": [say(BLAST)],
        "Labor;": [say(LAB)],
        "Lager;": [say("Im Lager.")],
    },
    "switch": {"Annahme;": [say(STONE_TEXT)], "Labor;": [say(LAB)]},
    "nested": {
        "Annahme;": [say(STONE_TEXT)],
        "Sprenger;": [say(BLAST)],
        "Labor;": [say(LAB)],
        "Lager;": [say("Im Lager.")],
    },
    "resume": {"Annahme;": [say(STONE_TEXT)], "Labor;": [say(LAB)], "Lager;": [say("Im Lager.")]},
    "gather": {"Sprenger;": [say(BLAST)], "Labor;": [say(LAB)], "Lager;": [say("Im Lager.")]},
    "sub": {
        "Annahme;": [say(STONE_TEXT)],
        "Sprenger;": [say(BLAST)],
        "Labor;": [say(LAB)],
        "Lager;": [say("Im Lager.")],
    },
    "auto": {
        "Annahme;": [ask(("handoff_to_Labor", {}), text=STONE_TEXT)],
        "Labor;": [
            say("Ich messe noch."),
            ask(("sprengen", {"task": ORDER_TEXT})),
            ask(("handoff_to_Lager", {}), text=LAB),
        ],
        "Sprenger;": [say(BLAST)],
        "Lager;": [say("Im Lager.")],
    },
    "apart": {"Sprenger;": [say(BLAST)], "Labor;": [say(LAB)]},
}


async def run(scene: str, url: str, provider: Any) -> None:
    """One run."""
    from agent_framework import (
        Agent,
        AgentExecutor,
        AgentExecutorRequest,
        AgentExecutorResponse,
        Case,
        Default,
        InMemoryCheckpointStorage,
        Message,
        WorkflowBuilder,
        WorkflowContext,
        WorkflowExecutor,
        executor,
    )
    from agent_framework.openai import OpenAIChatCompletionClient
    from agent_framework_orchestrations import (
        ConcurrentBuilder,
        GroupChatBuilder,
        HandoffBuilder,
        MagenticBuilder,
        SequentialBuilder,
    )

    def agent(name: str, **rest: Any) -> Any:
        client = OpenAIChatCompletionClient("modell-3", base_url=url, api_key="none")
        return Agent(client, f"Du bist {name};", name=name, description=f"{name} im Bruch", **rest)

    def turn() -> Any:
        return provider.get_tracer("bruch").start_as_current_span("tag", attributes={"session.id": SESSION})

    if scene == "magentic":
        flow = MagenticBuilder(participants=[agent("Sprenger"), agent("Labor")], manager_agent=agent("Leitung")).build()
        with turn():
            await flow.run("Block 12 brechen")
    elif scene == "manager":
        flow = GroupChatBuilder(
            participants=[agent("Sprenger"), agent("Labor")], orchestrator_agent=agent("Leitung")
        ).build()
        with turn():
            await flow.run("Block 12 brechen")
    elif scene == "guest":
        people = [agent(n, require_per_service_call_history_persistence=True) for n in ("Annahme", "Labor", "Lager")]
        team = HandoffBuilder(
            name="bruch",
            participants=people,
            termination_condition=lambda said: any("Im Lager" in (m.text or "") for m in said),
        )
        flow = team.with_start_agent(people[0]).build()
        with turn():
            result = await flow.run("Block 12 annehmen")
        wait = result.get_request_info_events()[0]
        with turn():
            await flow.run(responses={wait.request_id: [Message("user", ["Drei Meter tief."])]})
    elif scene == "join":

        async def join(given: Any, ctx: Any) -> None:
            text = "\n\n".join(f"{r.executor_id}: {r.agent_response.text}" for r in given)
            await ctx.send_message(AgentExecutorRequest(messages=[Message("user", [text])], should_respond=True))

        join.__annotations__ = {"given": list[AgentExecutorResponse], "ctx": WorkflowContext[AgentExecutorRequest]}
        collect = executor(id="sammler")(join)
        start, blast, lab, store = (agent(n) for n in ("Annahme", "Sprenger", "Labor", "Lager"))
        flow = (
            WorkflowBuilder(start_executor=start)
            .add_fan_out_edges(start, [blast, lab])
            .add_fan_in_edges([blast, lab], collect)
            .add_edge(collect, store)
            .build()
        )
        with turn():
            await flow.run("Block 12 annehmen")
    elif scene == "switch":
        start, lab, store = (AgentExecutor(agent(n), id=f"k-{i}") for i, n in enumerate(("Annahme", "Labor", "Lager")))
        flow = (
            WorkflowBuilder(start_executor=start)
            .add_switch_case_edge_group(
                start, [Case(condition=lambda r: "Gneis" in r.agent_response.text, target=lab), Default(target=store)]
            )
            .build()
        )
        with turn():
            await flow.run("Block 12 annehmen")
    elif scene == "nested":
        inner = SequentialBuilder(participants=[agent("Sprenger"), agent("Labor")]).build().as_agent("Abbau")
        flow = SequentialBuilder(participants=[agent("Annahme"), inner, agent("Lager")]).build()
        with turn():
            await flow.run("Block 12 annehmen")
    elif scene == "gather":
        store = agent("Lager")

        async def both(given: Any) -> Any:
            return (await store.run("\n\n".join(r.agent_response.text for r in given))).text

        flow = ConcurrentBuilder(participants=[agent("Sprenger"), agent("Labor")]).with_aggregator(both).build()
        with turn():
            await flow.run("Block 12 brechen")
    elif scene == "sub":
        inner = WorkflowExecutor(
            SequentialBuilder(participants=[agent("Sprenger"), agent("Labor")]).build(), id="abbau"
        )
        start, store = agent("Annahme"), agent("Lager")

        async def into(given: Any, ctx: Any) -> None:
            await ctx.send_message(list(given.full_conversation))

        async def out(given: Any, ctx: Any) -> None:
            text = given if isinstance(given, str) else getattr(given, "text", None) or given[-1].text
            await ctx.send_message(AgentExecutorRequest(messages=[Message("user", [text])], should_respond=True))

        into.__annotations__ = {"given": AgentExecutorResponse, "ctx": WorkflowContext[list[Message]]}
        out.__annotations__ = {"given": Any, "ctx": WorkflowContext[AgentExecutorRequest]}
        before, after = executor(id="hinein")(into), executor(id="heraus")(out)
        flow = (
            WorkflowBuilder(start_executor=start)
            .add_edge(start, before)
            .add_edge(before, inner)
            .add_edge(inner, after)
            .add_edge(after, store)
            .build()
        )
        with turn():
            await flow.run("Block 12 annehmen")
    elif scene == "auto":
        keep = {"require_per_service_call_history_persistence": True}
        lab = agent("Labor", tools=[agent("Sprenger").as_tool(name="sprengen")], **keep)
        people = [agent("Annahme", **keep), lab, agent("Lager", **keep)]
        team = HandoffBuilder(
            name="bruch",
            participants=people,
            termination_condition=lambda said: any("Im Lager" in (m.text or "") for m in said),
        )
        with turn():
            await team.with_start_agent(people[0]).with_autonomous_mode(agents=[lab]).build().run("Block 12 annehmen")
    elif scene == "resume":
        storage = InMemoryCheckpointStorage()

        def chain(limit: int) -> Any:
            people = [AgentExecutor(agent(n), id=n) for n in ("Annahme", "Labor", "Lager")]
            builder = WorkflowBuilder(
                start_executor=people[0], max_iterations=limit, checkpoint_storage=storage, name="bruch"
            )
            return builder.add_chain(people).build()

        with turn(), suppress(Exception):
            await chain(1).run("Block 12 annehmen")
        last = await storage.get_latest(workflow_name="bruch")
        with turn():
            await chain(9).run(checkpoint_id=last.checkpoint_id, checkpoint_storage=storage)
    else:
        flow = ConcurrentBuilder(participants=[agent("Sprenger"), agent("Labor")]).build()
        with turn():
            await flow.run("Block 12 brechen")


def expected(kind: str, scene: str) -> dict[str, Any]:
    """The ground truth."""
    told = kind != "off"
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

    def data(n: int, source: str, target: str, fields: dict[str, Any], mode: str = "transfer") -> dict[str, Any]:
        return handoff(n, source, target, mode, fields, recorded=told)

    def lines(n: int, source: str, target: str, mode: str = "transfer") -> dict[str, Any]:
        fields = {"ladung": "4 kg", "bohrloch": "3", "rest": "", "message": BLAST}
        return handoff(n, source, target, mode, fields, form="labelled", recorded=told)

    if scene == "magentic":
        return truth | {
            "agents": ["Leitung", "Sprenger", "Labor"],
            "handoffs": [
                data(1, "Leitung", "Sprenger", ORDER, "delegate"),
                words(2, "Leitung", "Labor", "Miss die Druckfestigkeit.", "delegate"),
                words(3, "Leitung", "Sprenger", AGAIN, "delegate"),
            ],
            "returns": [
                returned("Sprenger", "Leitung", BLAST, recorded=told),
                returned("Labor", "Leitung", LAB, recorded=told),
                returned("Sprenger", "Leitung", HALF, recorded=told),
            ],
            "decoys": ["what Leitung writes for itself (facts, plan, ledger) is passed to nobody"],
        }
    if scene == "manager":
        return truth | {
            "agents": ["Leitung", "Sprenger", "Labor"],
            "handoffs": [data(1, "Leitung", "Sprenger", {}, "delegate"), data(2, "Leitung", "Labor", {}, "delegate")],
            "returns": [
                returned("Sprenger", "Leitung", BLAST, recorded=told),
                returned("Labor", "Leitung", LAB, recorded=told),
            ],
            "decoys": ["Labor sees what Sprenger said, and is not asked by Sprenger"],
        }
    if scene == "guest":
        return truth | {
            "agents": ["Annahme", "Labor", "Lager"],
            "handoffs": [data(1, "Annahme", "Labor", STONE), words(2, "Labor", "Lager", LAB)],
            "decoys": [
                "the user is asked and answers in between; Labor runs in two traces, and hands nothing to itself"
            ],
        }
    if scene == "join":
        return truth | {
            "agents": ["Annahme", "Sprenger", "Labor", "Lager"],
            "handoffs": [
                data(1, "Annahme", "Sprenger", STONE),
                data(2, "Annahme", "Labor", STONE),
                lines(3, "Sprenger", "Lager"),
                words(4, "Labor", "Lager", LAB),
            ],
            "decoys": ["sammler is a function, no agent"],
        }
    if scene == "switch":
        return truth | {
            "agents": ["Annahme", "Labor"],
            "handoffs": [data(1, "Annahme", "Labor", STONE)],
            "decoys": ["Lager is not chosen"],
        }
    if scene == "nested":
        return truth | {
            "agents": ["Annahme", "Sprenger", "Labor", "Lager"],
            "handoffs": [
                data(1, "Annahme", "Sprenger", STONE),
                lines(2, "Sprenger", "Labor"),
                words(3, "Labor", "Lager", LAB),
            ],
            "decoys": ["Abbau is a workflow that stands where an agent may: no agent"],
        }
    if scene == "gather":
        return truth | {
            "agents": ["Sprenger", "Labor", "Lager"],
            "handoffs": [lines(1, "Sprenger", "Lager"), words(2, "Labor", "Lager", LAB)],
            "decoys": ["the function that asks Lager is no agent"],
        }
    if scene == "sub":
        return truth | {
            "agents": ["Annahme", "Sprenger", "Labor", "Lager"],
            "handoffs": [
                data(1, "Annahme", "Sprenger", STONE),
                lines(2, "Sprenger", "Labor"),
                words(3, "Labor", "Lager", LAB),
            ],
            "decoys": ["abbau is a workflow, hinein and heraus are functions"],
        }
    if scene == "auto":
        return truth | {
            "agents": ["Annahme", "Labor", "Sprenger", "Lager"],
            "handoffs": [
                data(1, "Annahme", "Labor", STONE),
                data(2, "Labor", "Sprenger", ORDER, "delegate"),
                words(3, "Labor", "Lager", LAB),
            ],
            "returns": [returned("Sprenger", "Labor", BLAST, recorded=told)],
            "decoys": ["Labor goes on by itself, and hands nothing to itself"],
        }
    if scene == "resume":
        return truth | {
            "agents": ["Annahme", "Labor", "Lager"],
            "handoffs": [data(1, "Annahme", "Labor", STONE), words(2, "Labor", "Lager", LAB)],
            "decoys": ["the second trace goes on from a checkpoint: Annahme runs once"],
        }
    return truth | {
        "agents": ["Sprenger", "Labor"],
        "decoys": ["both are given the user's words, and a function takes theirs"],
    }


def main() -> None:
    kind, scene, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
    provider = tracer_provider(folder, "bruch")
    if kind == "openinference":
        from openinference.instrumentation.agent_framework import AgentFrameworkToOpenInferenceProcessor

        mapper = AgentFrameworkToOpenInferenceProcessor()
        inner = provider._active_span_processor
        inner._span_processors = (mapper, *inner._span_processors)
    from opentelemetry import trace

    trace.set_tracer_provider(provider)
    from agent_framework.observability import enable_instrumentation

    enable_instrumentation(enable_sensitive_data=kind != "off")
    server = ChatServer(ANSWERS[scene])
    asyncio.run(run(scene, server.url, provider))
    provider.shutdown()
    write_expected(folder, expected(kind, scene))


if __name__ == "__main__":
    main()
