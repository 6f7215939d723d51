"""CrewAI at a newspaper: a manager of its own making, tasks at once, crews in a flow; under the telemetry that `crewai_theatre.py` switches on.

    pip install crewai ...      -> crewai_press.py native|wrappers|events|openllmetry hierarchy|fan|flow OUT

hierarchy: CrewAI's own manager delegates to Recherche 1 and asks Recherche 10, and delegates to Satz in the next task. fan: Recherche 1 and
Recherche 10 work at once, and Satz is given both results. flow: a flow runs a crew of Recherche 1, and then one of Satz, whose task quotes
the first one's result; Archiv runs last, and is told nothing of it.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from capturing import ChatServer, ask, handoff, returned, say, tracer_provider, write_expected
from crewai_theatre import SESSION, instrument

BRIEF = '{"thema": "Hafen", "zeilen": 0, "quellen": [], "frist": null}'
DOUBT = "Zahl: 42\nQuelle: Archiv"
ONE, TEN, PAGE, STORE, BOSS = "Recherche 1", "Recherche 10", "Satz", "Archiv", "Crew Manager"
FOUND, CHECKED = "Im Hafen liegen 42 Schiffe.", "Geprüft: es sind 42 Schiffe."

ANSWERS: dict[str, dict[str, list[Any]]] = {
    "hierarchy": {
        BOSS: [
            ask(("delegate_work_to_coworker", {"task": "Schiffe zählen", "context": BRIEF, "coworker": ONE})),
            ask(("ask_question_to_coworker", {"question": "Stimmt das?", "context": DOUBT, "coworker": TEN})),
            say("42 Schiffe, geprüft."),
            ask(("delegate_work_to_coworker", {"task": "Setzen", "context": "Seite 3", "coworker": PAGE})),
            say("Seite 3 ist gesetzt."),
        ],
        ONE: [say(FOUND)],
        TEN: [say(CHECKED)],
        PAGE: [say("Gesetzt auf Seite 3.")],
    },
    "fan": {ONE: [say(FOUND)], TEN: [say(CHECKED)], PAGE: [say("Gesetzt auf Seite 3.")]},
    "flow": {ONE: [say(FOUND)], PAGE: [say("Gesetzt auf Seite 3.")], STORE: [say("Alles abgelegt.")]},
}


def expected(kind: str, scene: str) -> dict[str, Any]:
    """The ground truth."""
    truth: dict[str, Any] = {
        "session_id": SESSION,
        "session_id_visible": kind != "openllmetry",
        "sessions": 1,
        "returns": [],
        "dropped": [],
        "decoys": [],
    }
    if scene == "hierarchy":
        return truth | {
            "agents": [BOSS, ONE, TEN, PAGE],
            "handoffs": [
                handoff(1, BOSS, ONE, "delegate", {"task": "Schiffe zählen", **json.loads(BRIEF)}),
                handoff(2, BOSS, TEN, "delegate", {"question": "Stimmt das?", "context": DOUBT}),
                handoff(3, BOSS, PAGE, "delegate", {"task": "Setzen", "context": "Seite 3"}),
            ],
            "returns": [returned(ONE, BOSS, FOUND), returned(TEN, BOSS, CHECKED), returned(PAGE, BOSS, "Gesetzt auf Seite 3.")],
            "decoys": ["the manager's second task is its own, and no handoff"],
        }  # fmt: skip
    if scene == "fan":
        return truth | {
            "agents": [ONE, TEN, PAGE],
            "handoffs": [
                handoff(1, ONE, PAGE, "transfer", {"message": FOUND}, form="text"),
                handoff(2, TEN, PAGE, "transfer", {"message": CHECKED}, form="text"),
            ],
        }
    return truth | {
        "agents": [ONE, PAGE, STORE],
        "handoffs": [handoff(1, ONE, PAGE, "transfer", {"message": FOUND}, form="text")],
        "decoys": ["Archiv runs after Satz, and is told nothing of it"],
    }


def run(scene: str, url: str) -> None:
    """One run."""
    from crewai import LLM, Agent, Crew, Process, Task
    from crewai.flow.flow import Flow, listen, start

    def llm() -> Any:
        return LLM(model="openai/scripted-1", base_url=url, api_key="none")

    def agent(role: str) -> Any:
        return Agent(role=role, goal="Zeitung machen", backstory="Presse.", llm=llm())

    def task(name: str, text: str, **rest: Any) -> Any:
        return Task(name=name, description=text, expected_output="Text.", **rest)

    def alone(role: str, text: str) -> str:
        who = agent(role)
        return str(Crew(name=role, agents=[who], tasks=[task("arbeit", text, agent=who)]).kickoff().raw)

    if scene == "hierarchy":
        crew = Crew(
            name="Blatt",
            agents=[agent(ONE), agent(TEN), agent(PAGE)],
            tasks=[task("zählen", "Zähle die Schiffe."), task("setzen", "Setze die Seite.")],
            process=Process.hierarchical,
            manager_llm=llm(),
        )
    elif scene == "fan":
        one, ten, page = agent(ONE), agent(TEN), agent(PAGE)
        both = [
            task("a", "Zähle.", agent=one, async_execution=True),
            task("b", "Prüfe.", agent=ten, async_execution=True),
        ]
        crew = Crew(name="Blatt", agents=[one, ten, page], tasks=[*both, task("c", "Setze.", agent=page, context=both)])
    else:

        class Edition(Flow[Any]):
            @start()
            def research(self) -> str:
                return alone(ONE, "Zähle die Schiffe.")

            @listen(research)
            def write(self, found: str) -> str:
                return alone(PAGE, f"Setze die Seite über: {found}")

            @listen(write)
            def store(self, _page: str) -> str:
                return alone(STORE, "Räume den Tisch ab.")

        Edition().kickoff()
        return
    crew.kickoff(inputs={"session_id": SESSION})


def main() -> None:
    kind, scene, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    provider = tracer_provider(folder, "press")
    server = ChatServer(ANSWERS[scene])
    with ExitStack() as stack:
        stack.enter_context(instrument(kind, provider))
        run(scene, server.url)
        from crewai.events import crewai_event_bus

        crewai_event_bus.flush()
    provider.shutdown()
    write_expected(folder, expected(kind, scene))


if __name__ == "__main__":
    main()
