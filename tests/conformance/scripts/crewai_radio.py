"""CrewAI at a radio station: a manager of the program's, guardrails, results given on past a task, crews at once in a flow; as in `crewai_theatre.py`.

    pip install crewai ...      -> crewai_radio.py KIND SCENE OUT     KIND: native, wrappers, events, wrappers-off, events-off, openllmetry, A+B

boss: Leitung, the program's manager agent, delegates to Reporter 1 and to Reporter 2, and asks for Technik in an answer's wrong spelling.
guard: Reporter 1's text is refused once, then Schnitt goes on with the second. past: Reporter 1 and Reporter 2 at once; Schnitt has the result
of the second, Sprecher those of Reporter 1 and Schnitt. flow: Reporter 1's and Reporter 2's crews at once, then Sprecher's, whose task quotes
both. twice: a crew of Reporter 1 and Schnitt, for two inputs. alone: agents without a crew, in a flow: Reporter 1, then Sprecher, who is told
its words. skipped: a conditional task of Schnitt's is left out between Reporter 1's and Sprecher's.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from time import sleep
from typing import Any

from capturing import ChatServer, ask, handoff, returned, say, tracer_provider, write_expected
from crewai_theatre import SESSION, instrument

BOSS, ONE, TWO, CUT, VOICE = "Leitung", "Reporter 1", "Reporter 2", "Schnitt", "Sprecher"
BRIEF = '{"thema": "Hochwasser", "minuten": 0, "orte": ["Passau", "Linz"], "gast": null}'
FOUND = "Der Pegel steht bei 8,20 Metern."
CHECKED = "Die Brücke in Linz ist gesperrt."
NOTES = "Titel: Hochwasser\nLänge: 3 min\nMusik:"
NOTED = {"titel": "Hochwasser", "länge": "3 min", "musik": "", "message": NOTES}
TAPE, AIR = "Beitrag geschnitten, drei Minuten zwölf.", "Auf Sendung um sieben."
BAD = "Kein Text."

ANSWERS: dict[str, dict[str, list[Any]]] = {
    "boss": {
        BOSS: [
            ask(("delegate_work_to_coworker", {"task": "Pegel lesen", "context": BRIEF, "coworker": ONE})),
            ask(("delegate_work_to_coworker", {"task": "Brücke prüfen", "context": "Linz, Nordufer", "coworker": '["reporter 2"]'})),
            ask(("ask_question_to_coworker", {"question": "Ton da?", "context": "", "coworker": "Technik"})),
            say(AIR),
        ],
        ONE: [say(FOUND)],
        TWO: [say(CHECKED)],
    },
    "guard": {ONE: [say(BAD), say(NOTES)], CUT: [say(TAPE)]},
    "past": {ONE: [say(FOUND)], TWO: [say(CHECKED)], CUT: [say(TAPE)], VOICE: [say(AIR)]},
    "flow": {ONE: [say(FOUND)], TWO: [say(CHECKED)], VOICE: [say(AIR)]},
    "twice": {ONE: [say(NOTES), say(FOUND)], CUT: [say(TAPE), say("Auch geschnitten, zwei Minuten.")]},
    "alone": {ONE: [say(FOUND)], VOICE: [say(AIR)]},
    "skipped": {ONE: [say(FOUND)], VOICE: [say(AIR)]},
}  # fmt: skip


def expected(kind: str, scene: str) -> dict[str, Any]:
    """The ground truth."""
    told = not kind.endswith("-off")
    truth: dict[str, Any] = {
        "session_id": SESSION,
        "session_id_visible": True,
        "sessions": 1,
        "returns": [],
        "dropped": [],
        "decoys": [],
    }

    def words(n: int, source: str, target: str, text: str) -> dict[str, Any]:
        return handoff(n, source, target, "transfer", {"message": text}, form="text", recorded=told)

    if scene == "boss":
        second = {"task": "Brücke prüfen", "context": "Linz, Nordufer"}
        seen = kind != "wrappers-off"  # the coworker is but an argument there
        return truth | {
            "agents": [BOSS, ONE, TWO],
            "handoffs": [
                handoff(
                    1,
                    BOSS,
                    ONE,
                    "delegate",
                    {"task": "Pegel lesen", **json.loads(BRIEF)},
                    recorded=told,
                    edge_visible=seen,
                ),
                handoff(2, BOSS, TWO, "delegate", second, recorded=told, edge_visible=seen),
            ],
            "returns": [returned(ONE, BOSS, FOUND, recorded=told), returned(TWO, BOSS, CHECKED, recorded=told)]
            if seen
            else [],
            "dropped": [{"source": BOSS, "target": "Technik", "why": "there is no such coworker"}] if told else [],
            "decoys": ["Technik is asked for, and does not exist"],
        }
    if scene == "guard":
        return truth | {
            "agents": [ONE, CUT],
            "handoffs": [handoff(1, ONE, CUT, "transfer", NOTED, form="labelled", recorded=told)],
            "decoys": ["Reporter 1 works twice: its first text was refused, and went nowhere"],
        }
    if scene == "past":
        return truth | {
            "agents": [ONE, TWO, CUT, VOICE],
            "handoffs": [words(1, TWO, CUT, CHECKED), words(2, ONE, VOICE, FOUND), words(3, CUT, VOICE, TAPE)],
            "decoys": ["Schnitt is not given what Reporter 1 found"],
        }
    if scene == "flow":
        return truth | {
            "agents": [ONE, TWO, VOICE],
            "handoffs": [words(1, ONE, VOICE, FOUND), words(2, TWO, VOICE, CHECKED)],
        }
    if scene == "twice":
        return truth | {
            "agents": [ONE, CUT],
            "handoffs": [
                handoff(1, ONE, CUT, "transfer", NOTED, form="labelled", recorded=told),
                words(2, ONE, CUT, FOUND),
            ],
            "decoys": ["the second round of the crew is given nothing of the first"],
        }
    if scene == "alone":
        return truth | {"agents": [ONE, VOICE], "handoffs": [words(1, ONE, VOICE, FOUND)]}
    return truth | {
        "agents": [ONE, VOICE],
        "handoffs": [words(1, ONE, VOICE, FOUND)],
        "decoys": ["Schnitt's task is left out"],
    }


def run(scene: str, url: str) -> None:
    """One run."""
    from crewai import LLM, Agent, Crew, Process, Task
    from crewai.flow.flow import Flow, and_, listen, start
    from crewai.tasks.conditional_task import ConditionalTask

    def llm() -> Any:
        return LLM(model="openai/scripted-1", base_url=url, api_key="none")

    def agent(role: str, **rest: Any) -> Any:
        return Agent(role=role, goal="Senden", backstory="Radio.", llm=llm(), **rest)

    def task(name: str, text: str, kind: Any = Task, **rest: Any) -> Any:
        return kind(name=name, description=text, expected_output="Text.", **rest)

    def crew(name: str, text: str) -> Any:
        who = agent(name)
        return Crew(name=f"Team {name}", agents=[who], tasks=[task("arbeit", text, agent=who)])

    inputs = {"session_id": SESSION}
    if scene == "boss":
        Crew(
            name="Funk",
            agents=[agent(ONE), agent(TWO)],
            tasks=[task("sendung", "Mache die Sendung.")],
            process=Process.hierarchical,
            manager_agent=agent(BOSS, allow_delegation=True),
        ).kickoff(inputs=inputs)
    elif scene == "guard":
        one, cut = agent(ONE), agent(CUT)

        def check(output):  # noqa: ANN001, ANN202 (CrewAI reads annotations, and knows none that stand as text)
            return (":" in output.raw, output.raw if ":" in output.raw else "Bitte mit Titel.")

        first = task("text", "Schreibe.", agent=one, guardrail=check, guardrail_max_retries=2)
        Crew(name="Funk", agents=[one, cut], tasks=[first, task("schnitt", "Schneide.", agent=cut)]).kickoff(
            inputs=inputs
        )
    elif scene == "past":
        one, two, cut, voice = (agent(r) for r in (ONE, TWO, CUT, VOICE))
        a = task("a", "Pegel.", agent=one, async_execution=True)
        b = task("b", "Brücke.", agent=two, async_execution=True)
        c = task("c", "Schneide.", agent=cut, context=[b])
        d = task("d", "Sprich.", agent=voice, context=[a, c])
        Crew(name="Funk", agents=[one, two, cut, voice], tasks=[a, b, c, d]).kickoff(inputs=inputs)
    elif scene == "twice":
        one, cut = agent(ONE), agent(CUT)
        tasks = [task("text", "Schreibe über {ort}.", agent=one), task("schnitt", "Schneide.", agent=cut)]
        rounds = [inputs | {"ort": "Passau"}, inputs | {"ort": "Linz"}]
        Crew(name="Funk", agents=[one, cut], tasks=tasks).kickoff_for_each(inputs=rounds)
    elif scene == "skipped":
        one, cut, voice = agent(ONE), agent(CUT), agent(VOICE)
        maybe = task("schnitt", "Schneide.", ConditionalTask, condition=lambda said: "lang" in said.raw, agent=cut)
        first, last = task("text", "Schreibe.", agent=one), task("sprich", "Sprich.", agent=voice)
        Crew(name="Funk", agents=[one, cut, voice], tasks=[first, maybe, last]).kickoff(inputs=inputs)
    elif scene == "flow":

        class Show(Flow[Any]):
            @start()
            def level(self) -> str:
                return str(crew(ONE, "Lies den Pegel.").kickoff().raw)

            @start()
            def bridge(self) -> str:
                sleep(0.5)  # Reporter 1 begins first
                return str(crew(TWO, "Prüfe die Brücke.").kickoff().raw)

            @listen(and_(level, bridge))
            def speak(self) -> str:
                first, second = self.method_outputs[:2]
                return str(crew(VOICE, f"Sprich über: {first} Und: {second}").kickoff().raw)

        Show().kickoff()
    else:

        class Solo(Flow[Any]):
            @start()
            def level(self) -> str:
                return str(agent(ONE).kickoff("Lies den Pegel.").raw)

            @listen(level)
            def speak(self, found: str) -> str:
                return str(agent(VOICE).kickoff(f"Sprich über: {found}").raw)

        Solo().kickoff()


def _in_words(answer: Any) -> Any:
    """An answer as models wrote it for CrewAI of old, which calls tools by text."""
    if not answer.get("calls"):
        return say(f"Thought: I now can give a great answer\nFinal Answer: {answer['content']}")
    name, arguments = answer["calls"][0]
    tool = " ".join(name.split("_")).capitalize()
    return say(f"Thought: needed\nAction: {tool}\nAction Input: {json.dumps(arguments, ensure_ascii=False)}")


def main() -> None:
    kind, scene, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    provider = tracer_provider(folder, "radio")
    old = version("crewai").startswith("0.")
    answers = ANSWERS[scene]
    server = ChatServer(
        {f"You are {a}.": [_in_words(s) for s in said] for a, said in answers.items()} if old else answers
    )
    with ExitStack() as stack:
        for one in kind.split("+"):
            stack.enter_context(instrument(one, provider))
        root = provider.get_tracer("radio").start_as_current_span("sendung", attributes={"session.id": SESSION})
        stack.enter_context(root)
        run(scene, server.url)
        if not old:
            from crewai.events import crewai_event_bus

            crewai_event_bus.flush()
    provider.shutdown()
    write_expected(folder, expected(kind, scene))


if __name__ == "__main__":
    main()
