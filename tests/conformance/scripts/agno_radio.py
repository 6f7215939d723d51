"""Agno in a radio station: workflows, and teams whose leader gives one task to all, or lets a member answer in its place.

    pip install agno openai openinference-instrumentation-agno     -> agno_radio.py SCENE openinference OUT
    pip install agno openai opentelemetry-instrumentation-agno     -> agno_radio.py SCENE openllmetry OUT

SCENE is one of
- workflow: Researcher, then Checker and Timer at once, then Announcer, by a workflow of steps;
- loop: Author and Editor, twice round, by a loop in a workflow, whose step is a team in the end;
- all: a leader that gives its task to all members;
- route: a leader that lets one member answer in its place.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from capturing import ChatServer, ask, handoff, returned, say, tracer_provider, write_expected

os.environ["AGNO_TELEMETRY"] = "false"

SESSION = "broadcast-6"
NEWS = {"topic": "flood", "minutes": 0, "guests": []}
NEWS_TEXT = json.dumps(NEWS)
CHECKED, TIMED = "All facts are right, one name is missing.", "Two minutes and ten seconds, no longer."
TASK = "Find a tune for the morning show."
ROUTE = {"member_id": "weather", "task": '{"town": "Ulm", "days": 3, "units": null}'}

ANSWERS = {
    "workflow": {
        "You are Researcher.": [say(NEWS_TEXT)],
        "You are Checker.": [say(CHECKED)],
        "You are Timer.": [say(TIMED)],
        "You are Announcer.": [say("Good evening, here is the news.")],
    },
    "loop": {
        "You are Author.": [say("First draft of the play."), say("Second draft of the play.")],
        "You are Editor.": [say("Shorten the first act, please."), say("Now it is fine, go on air.")],
        "You are Producer.": [
            ask(("delegate_task_to_member", {"member_id": "speaker", "task": "Read the play aloud."})),
            say("On air at eight."),
        ],
        "You are Speaker.": [say("Read in forty minutes.")],
    },
    "all": {
        "You are Music.": [ask(("delegate_task_to_members", {"task": TASK})), say("We play the waltz.")],
        "You are Jazz.": [say("Take five by the trio.")],
        "You are Classic.": [say("A waltz by the band.")],
    },
    "route": {
        "You are Desk.": [ask(("delegate_task_to_member", ROUTE)), say("unused")],
        "You are Weather.": [say("Rain in Ulm for three days.")],
        "You are Traffic.": [say("unused")],
    },
}


def expected(scene: str) -> dict[str, Any]:
    """The ground truth."""
    truth = {
        "session_id": SESSION,
        "session_id_visible": True,
        "sessions": 1,
        "returns": [],
        "dropped": [],
        "decoys": [],
    }
    if scene == "workflow":
        return truth | {
            "agents": ["Researcher", "Checker", "Timer", "Announcer"],
            "handoffs": [
                handoff(1, "Researcher", "Checker", "transfer", NEWS),
                handoff(2, "Researcher", "Timer", "transfer", NEWS),
                handoff(3, "Checker", "Announcer", "transfer", {"message": CHECKED}, form="text"),
                handoff(4, "Timer", "Announcer", "transfer", {"message": TIMED}, form="text"),
            ],
            "decoys": ["Bulletin is the workflow, checks a step of two at once"],
        }
    if scene == "loop":
        texts = [
            "First draft of the play.",
            "Shorten the first act, please.",
            "Second draft of the play.",
            "Now it is fine, go on air.",
        ]
        ways = [("Author", "Editor"), ("Editor", "Author"), ("Author", "Editor"), ("Editor", "Producer")]
        rows = [handoff(n + 1, *ways[n], "transfer", {"message": texts[n]}, form="text") for n in range(4)]
        return truth | {
            "agents": ["Author", "Editor", "Producer", "Speaker"],
            "handoffs": [
                *rows,
                handoff(5, "Producer", "Speaker", "delegate", {"task": "Read the play aloud."}, form="text"),
            ],
            "returns": [returned("Speaker", "Producer", "Read in forty minutes.")],
        }
    if scene == "all":
        return truth | {
            "agents": ["Music", "Jazz", "Classic"],
            "handoffs": [
                handoff(1, "Music", "Jazz", "delegate", {"task": TASK}, form="text"),
                handoff(2, "Music", "Classic", "delegate", {"task": TASK}, form="text"),
            ],
            "returns": [
                returned("Jazz", "Music", "Take five by the trio."),
                returned("Classic", "Music", "A waltz by the band."),
            ],
        }
    return truth | {
        "agents": ["Desk", "Weather"],
        "handoffs": [handoff(1, "Desk", "Weather", "delegate", {"town": "Ulm", "days": 3, "units": None})],
        "returns": [returned("Weather", "Desk", "Rain in Ulm for three days.")],
        "decoys": ["Traffic is a member that is not asked"],
    }


def run(scene: str, url: str) -> None:
    from agno.agent import Agent
    from agno.models.openai import OpenAIChat
    from agno.team import Team
    from agno.workflow import Loop, Parallel, Step, Workflow

    def model() -> Any:
        return OpenAIChat(id="scripted-9", base_url=url, api_key="none")

    def agent(name: str) -> Any:
        return Agent(name=name, id=name.lower(), model=model(), instructions=f"You are {name}.")

    def team(name: str, *members: str, **rest: Any) -> Any:
        people: Any = [agent(m) for m in members]
        return Team(name=name, id=name.lower(), model=model(), instructions=f"You are {name}.", members=people, **rest)

    if scene == "workflow":
        checks: Any = Parallel(
            Step(name="facts", agent=agent("Checker")), Step(name="time", agent=agent("Timer")), name="checks"
        )
        Workflow(
            name="Bulletin",
            steps=[Step(name="find", agent=agent("Researcher")), checks, Step(name="say", agent=agent("Announcer"))],
        ).run("What is new?", session_id=SESSION)
    elif scene == "loop":
        author, editor = agent("Author"), agent("Editor")
        drafts = Loop(
            name="drafts", steps=[Step(name="write", agent=author), Step(name="edit", agent=editor)], max_iterations=2
        )
        Workflow(name="Play", steps=[drafts, Step(name="air", team=team("Producer", "Speaker"))]).run(
            "A play.", session_id=SESSION
        )
    elif scene == "all":
        team("Music", "Jazz", "Classic", delegate_to_all_members=True).run("A tune?", session_id=SESSION)
    else:
        team("Desk", "Weather", "Traffic", respond_directly=True).run("Weather in Ulm?", session_id=SESSION)


def main(scene: str, kind: str, folder: Path) -> None:
    provider = tracer_provider(folder, "radio")
    context: Any = nullcontext()
    if kind == "openinference":
        from openinference.instrumentation import using_session
        from openinference.instrumentation.agno import AgnoInstrumentor as OpenInference

        OpenInference().instrument(tracer_provider=provider)
        context = using_session(SESSION)
    else:
        from opentelemetry.instrumentation.agno import AgnoInstrumentor as OpenLLMetry

        OpenLLMetry().instrument(tracer_provider=provider)
    with context, provider.get_tracer("radio").start_as_current_span("POST /air", attributes={"session.id": SESSION}):
        run(scene, ChatServer(ANSWERS[scene]).url)
    provider.force_flush()
    write_expected(folder, expected(scene))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
