"""Agno in a newsroom: a team in a team, under an instrumentation of choice.

    pip install agno openai openinference-instrumentation-agno     -> agno_newsroom.py openinference OUT
    pip install agno openai opentelemetry-instrumentation-agno     -> agno_newsroom.py openllmetry OUT

Rédaction Nord gives Enquête 1 a task as JSON, then gives the team Desk Été a text; its leader gives Enquête 12 a task in labelled lines.
Enquête 1 has a tool `transfer_task_to_archive` that is no delegation. Rédaction Nord then asks Enquête 1 once more.
"""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from capturing import ChatServer, ask, handoff, returned, say, tracer_provider, write_expected

os.environ["AGNO_TELEMETRY"] = "false"

SESSION = "édition 2026/0"
BRIEF = {"sujet": "Crue", "délai": None, "sources": [], "embargo": False, "mots": 0}
BRIEF_TEXT = '{"sujet": "Crue", "délai": null, "sources": [], "embargo": false, "mots": 0}'
DESK = "Mets en page « La crue », sans photo."
LABELLED = "Titre: La crue\nPhoto:\nColonnes: 3"
AGAIN = "Vérifie encore le débit."

ANSWERS = {
    "Je suis Nord.": [
        ask(("delegate_task_to_member", {"member_id": "enquête-1", "task": BRIEF_TEXT})),
        ask(("delegate_task_to_member", {"member_id": "desk-été", "task": DESK})),
        ask(("delegate_task_to_member", {"member_id": "enquête-1", "task": AGAIN})),
        say("Bouclé."),
    ],
    "Je suis Enquête un.": [
        ask(("transfer_task_to_archive", {"member_id": "enquête-12", "task": "rien"})),
        say("La crue monte de 0,4 m."),
        say("Débit vérifié: 310 m³/s."),
    ],
    "Je suis Été.": [
        ask(("delegate_task_to_member", {"member_id": "enquête-12", "task": LABELLED})),
        say("Page montée en trois colonnes."),
    ],
    "Je suis Enquête douze.": [say("Titre vérifié, trois colonnes.")],
}


def expected(kind: str) -> dict[str, Any]:
    """The ground truth."""
    north, one, summer, twelve = "Rédaction Nord", "Enquête 1", "Desk Été", "Enquête 12"
    return {
        "session_id": SESSION,
        "session_id_visible": kind == "openinference",
        "sessions": 1,
        "agents": [north, one, summer, twelve],
        "handoffs": [
            handoff(1, north, one, "delegate", BRIEF),
            handoff(2, north, summer, "delegate", {"task": DESK}, form="text"),
            handoff(
                3,
                summer,
                twelve,
                "delegate",
                {"task": LABELLED, "titre": "La crue", "photo": "", "colonnes": "3"},
                form="labelled",
            ),
            handoff(4, north, one, "delegate", {"task": AGAIN}, form="text"),
        ],
        "returns": [
            returned(one, north, "La crue monte de 0,4 m."),
            returned(twelve, summer, "Titre vérifié, trois colonnes."),
            returned(summer, north, "Page montée en trois colonnes."),
            returned(one, north, "Débit vérifié: 310 m³/s."),
        ],
        "dropped": [],
        "decoys": [
            "transfer_task_to_archive {member_id, task} of Enquête 1 is a plain tool",
            "member ids are not names: enquête-1 is Enquête 1, a prefix of Enquête 12",
        ],
    }


def team(url: str) -> Any:
    """The team."""
    from agno.agent import Agent
    from agno.models.openai import OpenAIChat
    from agno.team import Team

    def transfer_task_to_archive(member_id: str, task: str) -> str:
        """Put a clipping into the archive. (A plain tool; NOT a delegation.)"""
        return f"classé: {member_id}, {task}"

    def model() -> Any:
        return OpenAIChat(id="scripted-1", base_url=url, api_key="none")

    one = Agent(
        name="Enquête 1",
        id="enquête-1",
        model=model(),
        instructions="Je suis Enquête un.",
        tools=[transfer_task_to_archive],
    )
    twelve = Agent(name="Enquête 12", id="enquête-12", model=model(), instructions="Je suis Enquête douze.")
    desk = Team(name="Desk Été", id="desk-été", model=model(), members=[twelve], instructions="Je suis Été.")
    return Team(name="Rédaction Nord", id="nord", model=model(), members=[one, desk], instructions="Je suis Nord.")


def main() -> None:
    kind, folder = sys.argv[1], Path(sys.argv[2])
    provider = tracer_provider(folder, "newsroom")
    server = ChatServer(ANSWERS)
    around: Any = nullcontext()
    if kind == "openinference":
        from openinference.instrumentation.agno import AgnoInstrumentor as OpenInference

        OpenInference().instrument(tracer_provider=provider)
    else:
        from opentelemetry.instrumentation.agno import AgnoInstrumentor

        AgnoInstrumentor().instrument(tracer_provider=provider)
    with around:
        print(team(server.url).run("Bouclez l'édition.", session_id=SESSION).content)
    provider.shutdown()
    write_expected(folder, expected(kind))


if __name__ == "__main__":
    main()
