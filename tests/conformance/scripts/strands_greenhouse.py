"""Strands Agents in a greenhouse: a swarm that goes out from one agent and comes back, and agents as tools side by side.

    pip install strands-agents opentelemetry-exporter-otlp     -> strands_greenhouse.py swarm|swarm-latest|tools OUT

The swarm: Leitung asks for an agent that is not there (refused), hands to two agents in one answer (the last is taken), loops Leitung ->
Gießer 1 -> Gießer 10 -> Leitung, and calls a tool `handoff_to_gewaechs` that is no handoff. The tools: Leitung asks two agents in one answer,
one of which asks a third.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterable
from pathlib import Path
from typing import Any

from capturing import Answer, ask, handoff, returned, say, tracer_provider, write_expected

SESSION = "Haus 3 / früh"


def scripted(answers: list[Answer]) -> Any:
    """A Strands model that gives these answers in order."""
    from strands.models import Model

    class Scripted(Model):
        def update_config(self, **_config: Any) -> None:
            pass

        def get_config(self) -> dict[str, Any]:
            return {"model_id": "modell-g-1"}

        def structured_output(self, *_arguments: Any, **_more: Any) -> Any:
            raise NotImplementedError

        async def stream(self, *_arguments: Any, **_more: Any) -> AsyncIterable[Any]:
            import json

            answer = answers.pop(0)
            calls = answer.get("calls", ())
            yield {"messageStart": {"role": "assistant"}}
            if answer["content"] is not None:
                yield {"contentBlockStart": {"start": {}}}
                yield {"contentBlockDelta": {"delta": {"text": answer["content"]}}}
                yield {"contentBlockStop": {}}
            for n, (name, arguments) in enumerate(calls):
                yield {
                    "contentBlockStart": {
                        "start": {"toolUse": {"name": name, "toolUseId": f"tu_{id(answer) % 9973}_{n}"}}
                    }
                }
                yield {
                    "contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(arguments, ensure_ascii=False)}}}
                }
                yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}
            yield {
                "metadata": {
                    "usage": {"inputTokens": 11, "outputTokens": 3, "totalTokens": 14},
                    "metrics": {"latencyMs": 1},
                }
            }

    return Scripted()


def to(name: str, message: str, context: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
    arguments: dict[str, Any] = {"agent_name": name, "message": message}
    return "handoff_to_agent", arguments if context is None else {**arguments, "context": context}


BED = {"Beet Nr": 0, "pflanzen": ["Tomate 'Zoë'", "Minze"], "trocken": False, "dünger": None}
PUMP = {"druck_bar": 2.5, "ventile": [], "rückmeldung": {"an": "Leitung", "bis": "12:00"}}
LOG = {"liter": 40, "Hinweis an alle": "Ventil 3 klemmt\nnicht öffnen"}


def swarm(folder: Path) -> None:
    from strands import Agent, tool
    from strands.multiagent import Swarm

    @tool
    def handoff_to_gewaechs(message: str) -> str:
        """Puts a plant into the glasshouse."""
        return "Gewächs steht."

    def agent(name: str, answers: list[Answer], tools: list[Any] | None = None) -> Any:
        return Agent(
            name=name,
            model=scripted(answers),
            tools=tools or [],
            callback_handler=None,
            trace_attributes={"session.id": SESSION},
            system_prompt=f"Du bist {name}.",
        )

    nodes = [
        agent(
            "Leitung",
            [
                ask(to("Imker", "Bienen?", {"völker": 2}), text="Erst die Bienen."),
                ask(to("Gießer 10", "nur zur Probe"), to("Gießer 1", "bitte gießen", BED)),
                say("Weitergegeben."),
                say("Alles gegossen, Feierabend."),
            ],
        ),
        agent(
            "Gießer 1",
            [
                ask(("handoff_to_gewaechs", {"message": "Minze"})),
                ask(to("Gießer 10", "Pumpe prüfen", PUMP)),
                say("ist unterwegs"),
            ],
            [handoff_to_gewaechs],
        ),
        agent("Gießer 10", [ask(to("Leitung", "fertig", LOG)), say("zurück")]),
    ]
    Swarm(nodes, entry_point=nodes[0])("Haus 3 versorgen")
    write_expected(
        folder,
        {
            "session_id": SESSION,
            "session_id_visible": True,
            "sessions": 1,
            "agents": ["Leitung", "Gießer 1", "Gießer 10"],
            "handoffs": [
                handoff(1, "Leitung", "Gießer 1", "transfer", {"message": "bitte gießen", **BED}),
                handoff(2, "Gießer 1", "Gießer 10", "transfer", {"message": "Pumpe prüfen", **PUMP}),
                handoff(3, "Gießer 10", "Leitung", "transfer", {"message": "fertig", **LOG}),
            ],
            "returns": [],
            "dropped": [
                {
                    "source": "Leitung",
                    "target": "Imker",
                    "why": "there is no such agent: the tool answers with an error",
                },
                {"source": "Leitung", "target": "Gießer 10", "why": "two handoffs in one answer: the last is taken"},
            ],
            "decoys": ["handoff_to_gewaechs is a tool of the application", "Gießer 1 and Gießer 10 are two agents"],
        },
    )


def tools(folder: Path) -> None:
    from strands import Agent, tool

    def agent(name: str, answers: list[Answer], its: list[Any] | None = None) -> Any:
        return Agent(
            name=name,
            model=scripted(answers),
            tools=its or [],
            callback_handler=None,
            trace_attributes={"session.id": SESSION},
            system_prompt=f"Du bist {name}.",
        )

    @tool
    def schaedling_pruefen(beet: int, befund: str | None, bilder: list[str]) -> str:
        """Asks the botanist."""
        return str(agent("Botanik Ø", [say("Keine Läuse.")])("prüfen"))

    @tool
    def giessen(query: str) -> str:
        """Asks the waterer."""
        return str(
            agent(
                "Gießer 1",
                [ask(("schaedling_pruefen", {"beet": 2, "befund": "", "bilder": []})), say("Gegossen.")],
                [schaedling_pruefen],
            )("gießen")
        )

    @tool
    def messen(query: str) -> str:
        """Asks the meter."""
        return str(agent("Messer_agent", [say("21 Grad.")])("messen"))

    boss = agent(
        "Leitung",
        [
            ask(
                ("giessen", {"query": "Beet: 2\nMenge: 40 l\nDünger:"}),
                ("messen", {"query": '{"fühler": [1, 2], "einheit": null}'}),
            ),
            say("Fertig."),
        ],
        [giessen, messen],
    )
    boss("Haus 3 versorgen")
    write_expected(
        folder,
        {
            "session_id": SESSION,
            "session_id_visible": True,
            "sessions": 1,
            "agents": ["Leitung", "Gießer 1", "Messer_agent", "Botanik Ø"],
            "handoffs": [
                handoff(
                    1,
                    "Leitung",
                    "Gießer 1",
                    "delegate",
                    {"message": "Beet: 2\nMenge: 40 l\nDünger:", "Beet": "2", "Menge": "40 l", "Dünger": ""},
                    form="labelled",
                ),
                handoff(2, "Leitung", "Messer_agent", "delegate", {"fühler": [1, 2], "einheit": None}),
                handoff(3, "Gießer 1", "Botanik Ø", "delegate", {"beet": 2, "befund": "", "bilder": []}),
            ],
            "returns": [
                returned("Messer_agent", "Leitung", "21 Grad.\n"),
                returned("Botanik Ø", "Gießer 1", "Keine Läuse.\n"),
                returned("Gießer 1", "Leitung", "Gegossen.\n"),
            ],
            "dropped": [],
            "decoys": ["the agents run side by side and do not hand over to each other"],
        },
    )


def main(kind: str, folder: Path) -> None:
    if kind == "swarm-latest":
        os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
    from opentelemetry import trace

    provider = tracer_provider(folder, "gewaechshaus")
    trace.set_tracer_provider(provider)
    {"swarm": swarm, "swarm-latest": swarm, "tools": tools}[kind](folder)
    provider.force_flush()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
