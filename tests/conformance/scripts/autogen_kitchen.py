"""AutoGen AgentChat in a kitchen: an orchestrator of Magentic-One, a guest who is asked in between, a team in a team, agents as tools, a graph with a way back.

    pip install autogen-agentchat "autogen-ext[openai]"                -> autogen_kitchen.py native|bare SCENE OUT
    ... openinference-instrumentation-autogen-agentchat                -> autogen_kitchen.py openinference|openinference-off SCENE OUT

bare: without the runtime's spans. openinference-off: the same, and all content hidden.

magentic: the orchestrator asks Koch, then Kellner, then Koch once more. guest: a swarm; Kellner hands over to Koch, Koch to the guest, who hands back
in a run of its own; Koch hands over to Kellner. nested: Gremium, a society of mind of Saucier and Konditor, and then Chefin. tools: Chefin calls
Saucier twice, and the brigade of Konditor and Kellner. teams: a team of Saucier and Konditor, and Chefin, take turns in another. relay: Chefin calls
a swarm, in which Saucier hands over to Konditor by a tool of another name. chain: the program runs Saucier, and gives Konditor its words. loop: a
graph; Saucier writes, Konditor sends back once, Kellner comes last.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from capturing import Answer, ChatServer, ask, handoff, returned, say, tracer_provider, write_expected

SESSION = "Tisch/4 ä"
TASK = "Menü 7 für den Abend planen"
BOSS = "MagenticOneOrchestrator"
DISH = {"gang": "Suppe", "allergene": ["Sellerie", "Ei"], "salz": 0, "notiz": None}
WISH = {"tisch": 4, "wünsche": ["ohne Salz", "warm"], "eilig": False, "kommentar": ""}
READY = {"teller": 2, "anrichten": "tief", "deko": []}
SAUCE = "Soße: Béarnaise\nMenge: 300 ml\nRest:"
MIXED = {"soße": "Béarnaise", "menge": "300 ml", "rest": "", "message": SAUCE}
CAKE = "Der Kuchen steht im Ofen und ist um acht fertig."
JURY = "Beide Gänge passen zusammen, der Wein fehlt noch."


def _ledger(done: bool, speaker: str, instruction: str) -> Answer:
    """What Magentic-One's orchestrator asks its model for at each step."""

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


FIRST, SECOND, THIRD = (
    json.dumps(DISH, ensure_ascii=False),
    "Frage die Gäste nach dem Wein.",
    "Koche die Suppe ohne Sellerie.",
)

ANSWERS: dict[str, dict[str, list[Any]]] = {
    "magentic": {
        "Menü 7": [
            say("Fakten: keine."),
            say("Plan: erst Koch, dann Kellner."),
            _ledger(False, "Koch", FIRST),
            _ledger(False, "Kellner", SECOND),
            _ledger(False, "Koch", THIRD),
            _ledger(True, "Koch", "fertig"),
            say("Das Menü steht."),
        ],
        "Koch;": [say("Suppe ist gekocht, zwei Liter."), say("Ohne Sellerie gekocht.")],
        "Kellner;": [say("Die Gäste wollen Riesling zum Fisch.")],
    },
    "guest": {
        "Kellner;": [ask(("transfer_to_koch", {})), say("Serviert. ENDE")],
        "Koch;": [ask(("transfer_to_gast", {})), ask(("transfer_to_kellner", {}))],
    },
    "nested": {
        "Saucier;": [say(SAUCE)],
        "Konditor;": [say(CAKE)],
        "Gremium;": [say(JURY)],
        "Chefin;": [say("Dann servieren wir so.")],
    },
    "tools": {
        "Chefin;": [
            ask(("Saucier", {"task": json.dumps(DISH, ensure_ascii=False)})),
            ask(("Saucier", {"task": "Noch einmal, aber ohne Ei."})),
            ask(("brigade", {"task": "Richtet den Nachtisch an."})),
            say("Alles fertig."),
        ],
        "Saucier;": [say(SAUCE), say("Ohne Ei gerührt, hält nicht ganz.")],
        "Konditor;": [say(CAKE)],
        "Kellner;": [say("Der Nachtisch ist auf dem Tisch.")],
    },
    "teams": {"Saucier;": [say(SAUCE)], "Konditor;": [say(CAKE)], "Chefin;": [say("Dann servieren wir so.")]},
    "relay": {
        "Chefin;": [ask(("posten", {"task": "Richtet den Nachtisch an."})), say("Alles fertig.")],
        "Saucier;": [ask(("weiterreichen", {}))],
        "Konditor;": [say(f"{CAKE} ENDE")],
    },
    "chain": {"Saucier;": [say(SAUCE)], "Konditor;": [say(CAKE)]},
    "loop": {
        "Saucier;": [say(json.dumps(DISH, ensure_ascii=False)), say(json.dumps(READY, ensure_ascii=False))],
        "Konditor;": [say("ZURÜCK: zu viel Ei, bitte ohne."), say("GUT: so nehmen wir es.")],
        "Kellner;": [say("Serviert.")],
    },
}  # fmt: skip


async def run(scene: str, url: str, provider: Any) -> None:
    """One run."""
    from autogen_agentchat.agents import AssistantAgent, SocietyOfMindAgent
    from autogen_agentchat.base import Handoff
    from autogen_agentchat.conditions import HandoffTermination, TextMentionTermination
    from autogen_agentchat.messages import HandoffMessage
    from autogen_agentchat.teams import DiGraphBuilder, GraphFlow, MagenticOneGroupChat, RoundRobinGroupChat, Swarm
    from autogen_agentchat.tools import AgentTool, TeamTool
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    info = {
        "vision": False,
        "function_calling": True,
        "json_output": False,
        "family": "unknown",
        "structured_output": False,
    }

    def client(**rest: Any) -> Any:
        return OpenAIChatCompletionClient(model="scripted-1", base_url=url, api_key="none", model_info=info, **rest)

    def agent(name: str, **rest: Any) -> Any:
        return AssistantAgent(
            name, rest.pop("client", client()), system_message=f"Du bist {name};", description=name, **rest
        )

    def turn() -> Any:
        return provider.get_tracer("küche").start_as_current_span("abend", attributes={"session.id": SESSION})

    if scene == "magentic":
        with turn():
            await MagenticOneGroupChat([agent("Koch"), agent("Kellner")], client()).run(task=TASK)
    elif scene == "guest":
        waiter = agent("Kellner", handoffs=[Handoff(target="Koch", message=json.dumps(WISH, ensure_ascii=False))])
        cook = agent(
            "Koch",
            handoffs=[
                Handoff(target="Gast", message="Wirklich ohne Salz?"),
                Handoff(target="Kellner", message=json.dumps(READY, ensure_ascii=False)),
            ],
        )
        team = Swarm([waiter, cook], termination_condition=HandoffTermination("Gast") | TextMentionTermination("ENDE"))
        with turn():
            await team.run(task=TASK)
        with turn():
            await team.run(task=HandoffMessage(source="Gast", target="Koch", content="Ja, ganz ohne."))
    elif scene == "nested":
        inner = RoundRobinGroupChat([agent("Saucier"), agent("Konditor")], max_turns=2)
        jury = SocietyOfMindAgent("Gremium", inner, client(), instruction="Ihr seid Gremium; fasst zusammen:")
        with turn():
            await RoundRobinGroupChat([jury, agent("Chefin")], max_turns=2).run(task=TASK)
    elif scene == "teams":
        inner = RoundRobinGroupChat([agent("Saucier"), agent("Konditor")], name="Posten", max_turns=2)
        with turn():
            await RoundRobinGroupChat([inner, agent("Chefin")], max_turns=2).run(task=TASK)
    elif scene == "relay":
        to = Handoff(target="Konditor", name="weiterreichen", message=json.dumps(READY, ensure_ascii=False))
        swarm = Swarm(
            [agent("Saucier", handoffs=[to]), agent("Konditor")], termination_condition=TextMentionTermination("ENDE")
        )
        tool = TeamTool(swarm, name="posten", description="Nachtisch", return_value_as_last_message=True)
        boss = agent("Chefin", tools=[tool], client=client(parallel_tool_calls=False), max_tool_iterations=5)
        with turn():
            await boss.run(task=TASK)
    elif scene == "chain":
        with turn():
            said = await agent("Saucier").run(task=TASK)
            await agent("Konditor").run(task=said.messages[-1].to_text())
    elif scene == "tools":
        brigade = RoundRobinGroupChat([agent("Konditor"), agent("Kellner")], max_turns=2)
        tools = [
            AgentTool(agent("Saucier"), return_value_as_last_message=True),
            TeamTool(brigade, name="brigade", description="Nachtisch", return_value_as_last_message=True),
        ]
        boss = agent("Chefin", tools=tools, client=client(parallel_tool_calls=False), max_tool_iterations=5)
        with turn():
            await boss.run(task=TASK)
    else:
        sauce, cake, waiter = agent("Saucier"), agent("Konditor"), agent("Kellner")
        graph = DiGraphBuilder().add_node(sauce).add_node(cake).add_node(waiter)
        graph.add_edge(sauce, cake)
        graph.add_edge(cake, sauce, condition=lambda said: "ZURÜCK" in said.to_model_text())
        graph.add_edge(cake, waiter, condition=lambda said: "GUT" in said.to_model_text())
        graph.set_entry_point(sauce)
        with turn():
            await GraphFlow(graph.get_participants(), graph=graph.build(), max_turns=8).run(task=TASK)


def expected(kind: str, scene: str) -> dict[str, Any]:
    """The ground truth."""
    told = kind in ("native", "openinference", "openlit")
    truth: dict[str, Any] = {
        "session_id": SESSION,
        "session_id_visible": True,
        "sessions": 1,
        "returns": [],
        "dropped": [],
        "decoys": [],
    }

    def words(n: int, source: str, target: str, text: str, mode: str = "transfer", **rest: Any) -> dict[str, Any]:
        return handoff(
            n, source, target, mode, {"message": text}, form="text", recorded=rest.pop("recorded", told), **rest
        )

    def data(
        n: int, source: str, target: str, fields: dict[str, Any], mode: str = "transfer", **rest: Any
    ) -> dict[str, Any]:
        return handoff(n, source, target, mode, fields, recorded=rest.pop("recorded", told), **rest)

    if scene == "magentic":
        return truth | {
            "agents": [BOSS, "Koch", "Kellner"],
            "handoffs": [
                data(1, BOSS, "Koch", DISH, "delegate"),
                words(2, BOSS, "Kellner", SECOND, "delegate"),
                words(3, BOSS, "Koch", THIRD, "delegate"),
            ],
            "returns": [
                returned("Koch", BOSS, "Suppe ist gekocht, zwei Liter."),
                returned("Kellner", BOSS, "Die Gäste wollen Riesling zum Fisch."),
                returned("Koch", BOSS, "Ohne Sellerie gekocht."),
            ],
            "decoys": ["Kellner sees what Koch said, and is not asked by Koch"],
        }
    if scene == "guest":
        return truth | {
            "agents": ["Kellner", "Koch"],
            "handoffs": [data(1, "Kellner", "Koch", WISH), data(2, "Koch", "Kellner", READY)],
            "dropped": [{"source": "Koch", "target": "Gast", "why": "Gast is a person: no agent takes it up"}],
            "decoys": ["Gast answers, and Koch goes on in another run: no handoff to itself"],
        }
    if scene == "nested":
        return truth | {
            "agents": ["Gremium", "Saucier", "Konditor", "Chefin"],
            "handoffs": [
                words(1, "Gremium", "Saucier", TASK, "delegate"),
                handoff(2, "Saucier", "Konditor", "transfer", MIXED, form="labelled", recorded=told),
                words(3, "Gremium", "Chefin", JURY),
            ],
            "returns": [returned("Konditor", "Gremium", CAKE)],
        }  # fmt: skip
    mixed = handoff(1, "Saucier", "Konditor", "transfer", MIXED, form="labelled", recorded=told)
    if scene == "teams":
        return truth | {
            "agents": ["Saucier", "Konditor", "Chefin"],
            "handoffs": [mixed, words(2, "Konditor", "Chefin", CAKE)],
            "decoys": ["Posten is a team, no agent"],
        }
    if scene == "chain":
        return truth | {
            "agents": ["Saucier", "Konditor"],
            "handoffs": [mixed | {"recorded": kind.startswith("open") and told}],
        }
    if scene == "relay":
        calls = kind.startswith("open")
        return truth | {
            "agents": ["Chefin", "Saucier", "Konditor"],
            "handoffs": [
                words(
                    1,
                    "Chefin",
                    "Saucier",
                    "Richtet den Nachtisch an.",
                    "delegate",
                    optional=["task"],
                    recorded=told or calls,
                ),
                data(2, "Saucier", "Konditor", READY),
            ],
            "returns": [returned("Konditor", "Chefin", f"{CAKE} ENDE")],
            "decoys": ["posten is a team, no agent"],
        }
    if scene == "tools":
        # AutoGen's own spans have no arguments of tools; OpenInference's have them even where inputs are hidden
        calls = kind.startswith("open")
        return truth | {
            "agents": ["Chefin", "Saucier", "Konditor", "Kellner"],
            "handoffs": [
                data(1, "Chefin", "Saucier", DISH, "delegate", recorded=calls),
                words(
                    2, "Chefin", "Saucier", "Noch einmal, aber ohne Ei.", "delegate", optional=["task"], recorded=calls
                ),
                words(
                    3,
                    "Chefin",
                    "Konditor",
                    "Richtet den Nachtisch an.",
                    "delegate",
                    optional=["task"],
                    recorded=told or calls,
                ),
                words(4, "Konditor", "Kellner", CAKE),
            ],
            "returns": [
                returned("Saucier", "Chefin", SAUCE),
                returned("Saucier", "Chefin", "Ohne Ei gerührt, hält nicht ganz."),
                returned("Kellner", "Chefin", "Der Nachtisch ist auf dem Tisch."),
            ],
            "decoys": ["brigade is a team, no agent"],
        }
    return truth | {
        "agents": ["Saucier", "Konditor", "Kellner"],
        "handoffs": [
            data(1, "Saucier", "Konditor", DISH),
            words(2, "Konditor", "Saucier", "ZURÜCK: zu viel Ei, bitte ohne."),
            data(3, "Saucier", "Konditor", READY),
            words(4, "Konditor", "Kellner", "GUT: so nehmen wir es."),
        ],
        "decoys": ["the graph's manager is no agent"],
    }


def main() -> None:
    kind, scene, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    if kind in ("bare", "openinference-off"):
        os.environ["AUTOGEN_DISABLE_RUNTIME_TRACING"] = "true"
    provider = tracer_provider(folder, "küche")
    from opentelemetry import trace

    trace.set_tracer_provider(provider)
    if kind.startswith("openinference"):
        from openinference.instrumentation import TraceConfig
        from openinference.instrumentation.autogen_agentchat import AutogenAgentChatInstrumentor

        hidden = kind == "openinference-off"
        config = TraceConfig(hide_inputs=hidden, hide_outputs=hidden)
        AutogenAgentChatInstrumentor().instrument(tracer_provider=provider, config=config)
    if kind == "openlit":
        import openlit

        openlit.init(disable_metrics=True)
    asyncio.run(run(scene, ChatServer(ANSWERS[scene]).url, provider))
    provider.shutdown()
    write_expected(folder, expected(kind, scene))


if __name__ == "__main__":
    main()
