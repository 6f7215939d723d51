"""CrewAI in a theatre: its own tracing, or an instrumentation of choice.

    pip install crewai                                           -> crewai_theatre.py native OUT
    pip install crewai openinference-instrumentation-crewai      -> crewai_theatre.py wrappers|events OUT
    pip install crewai opentelemetry-instrumentation-crewai      -> crewai_theatre.py openllmetry OUT
    two at once                                                  -> crewai_theatre.py native+wrappers OUT

Režie delegates to Světla 1, asks Světla 10, and asks for Zvuk, who does not exist. Inspice goes on with Režie's result, and has a tool
`delegate_to_storage` that is no delegation; Režie comes last, with Inspice's result. Střih runs beside, given nothing.
"""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OPENAI_API_KEY": "none", "CREWAI_TRACING_ENABLED": "false"}

from capturing import ChatServer, ask, handoff, returned, say, tracer_provider, write_expected

SESSION = "Zkouška #0/čtvrtek"
CUE = {"scéna": 3, "barvy": ["modrá", "jantar"], "stmívat": False, "poznámka": "", "strop": None}
CUE_TEXT = '{"scéna": 3, "barvy": ["modrá", "jantar"], "stmívat": false, "poznámka": "", "strop": null}'
DESIGN = "Návrh: noční park\nSvětla: modrá 40 %\nZvuk:\nDélka: 12 min"
PLAN = "Plán je hotový, generálka v 18:30 na velké scéně."

ANSWERS = {
    "Režie": [
        ask(("delegate_work_to_coworker", {"task": "Nasviť park", "context": CUE_TEXT, "coworker": "Světla 1"})),
        ask(
            (
                "ask_question_to_coworker",
                {"question": "Stačí 40 %?", "context": "Modrá 40 %, diváci v mlze.", "coworker": "světla 10"},
            )
        ),
        ask(("delegate_work_to_coworker", {"task": "Nazvuč park", "context": "", "coworker": "Zvuk"})),
        say(DESIGN),
        say("Premiéra potvrzena."),
    ],
    "Světla 1": [say("Park je nasvícen, jantar jen na lavičce.")],
    "Světla 10": [say("Ano, 40 % stačí.")],
    "Inspice": [ask(("delegate_to_storage", {"coworker": "Režie", "task": "kulisy"})), say(PLAN)],
    "Střih": [say("Upoutávka má třicet vteřin.")],
}


def expected(kind: str) -> dict[str, Any]:
    """The ground truth."""
    direct, one, ten, stage = "Režie", "Světla 1", "Světla 10", "Inspice"
    design = {"návrh": "noční park", "světla": "modrá 40 %", "zvuk": "", "délka": "12 min"}
    whole = kind != "openllmetry"
    return {
        "session_id": SESSION,
        "session_id_visible": whole,
        "sessions": 1,
        "agents": [direct, one, ten, "Střih", stage],
        "handoffs": [
            handoff(1, direct, one, "delegate", {"task": "Nasviť park", "context": CUE_TEXT}),
            handoff(2, direct, ten, "delegate", {"question": "Stačí 40 %?", "context": "Modrá 40 %, diváci v mlze."}),
            handoff(3, direct, stage, "transfer", {**design, "message": DESIGN}, form="labelled"),
            handoff(4, stage, direct, "transfer", {"message": PLAN}, form="text"),
        ],
        "returns": [
            returned(one, direct, "Park je nasvícen, jantar jen na lavičce."),
            returned(ten, direct, "Ano, 40 % stačí."),
        ],
        "dropped": [
            {"source": direct, "target": "Zvuk", "why": "there is no such coworker: the tool answers with an error"}
        ],
        "decoys": [
            "delegate_to_storage {coworker, task} of Inspice is a plain tool",
            "Střih runs between, and is given nothing of the task before",
            "Světla 1 is a prefix of Světla 10",
        ],
    }


def instrument(kind: str, provider: Any) -> Any:
    """Switch the telemetry on; what the crew runs in."""
    if kind == "native":
        from crewai.telemetry.tracing.session import TraceSession

        providers = SimpleNamespace(
            tracer_provider=provider,
            get_tracer=lambda name="crewai": provider.get_tracer(name),
            emit_log=lambda *_a, **_k: None,
        )
        session = TraceSession("run-0000-čt", attributes={"gen_ai.conversation.id": SESSION}, providers=providers)
        return session.activate()
    if kind == "openlit":
        import openlit
        from opentelemetry import trace

        trace.set_tracer_provider(provider)
        openlit.init(disable_metrics=True)
        return nullcontext()
    if kind == "openllmetry":
        from opentelemetry.instrumentation.crewai import CrewAIInstrumentor

        CrewAIInstrumentor().instrument(tracer_provider=provider)
        return nullcontext()
    from openinference.instrumentation import TraceConfig, using_session
    from openinference.instrumentation.crewai import CrewAIInstrumentor as OpenInference

    hidden = kind.endswith("-off")
    config = TraceConfig(hide_inputs=hidden, hide_outputs=hidden)
    OpenInference().instrument(tracer_provider=provider, use_event_listener=kind.startswith("events"), config=config)
    return using_session(SESSION)


def crew(url: str) -> Any:
    """The crew."""
    from crewai import LLM, Agent, Crew, Process, Task
    from crewai.tools import tool

    @tool("delegate_to_storage")
    def storage(coworker: str, task: str) -> str:
        """Put scenery into storage. (A plain tool; NOT a handoff.)"""
        return f"uloženo: {task}, {coworker}"

    def agent(role: str, delegates: bool = False, tools: tuple[Any, ...] = ()) -> Any:
        llm = LLM(model="openai/scripted-1", base_url=url, api_key="none")
        return Agent(
            role=role, goal="Hrát", backstory="Divadlo.", llm=llm, allow_delegation=delegates, tools=list(tools)
        )

    direct, one, ten = agent("Režie", True), agent("Světla 1"), agent("Světla 10")
    stage, cut = agent("Inspice", tools=(storage,)), agent("Střih")
    design = Task(name="návrh", description="Navrhni scénu.", expected_output="Návrh.", agent=direct)
    trailer = Task(name="upoutávka", description="Sestříhej.", expected_output="Video.", agent=cut, context=[])
    plan = Task(name="plán", description="Naplánuj.", expected_output="Plán.", agent=stage, context=[design])
    final = Task(name="premiéra", description="Potvrď.", expected_output="Ano.", agent=direct, context=[plan])
    return Crew(
        name="Divadlo 5",
        agents=[direct, one, ten, stage, cut],
        tasks=[design, trailer, plan, final],
        process=Process.sequential,
    )


def main() -> None:
    kind, folder = sys.argv[1], Path(sys.argv[2])
    provider = tracer_provider(folder, "theatre")
    server = ChatServer(ANSWERS)
    with ExitStack() as stack:
        for one in kind.split("+"):
            stack.enter_context(instrument(one, provider))
        crew(server.url).kickoff(inputs={"session_id": SESSION})
        from crewai.events import crewai_event_bus

        crewai_event_bus.flush()
    provider.shutdown()
    write_expected(folder, expected(kind))


if __name__ == "__main__":
    main()
