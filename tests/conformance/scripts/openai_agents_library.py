"""openai-agents in a city library, under an instrumentation of choice: OpenLIT, the official one, its predecessor, or two at once.

    pip install openai-agents openlit                                               -> openai_agents_library.py openlit OUT
    pip install openai-agents opentelemetry-instrumentation-genai-openai-agents ... -> openai_agents_library.py official OUT
    pip install openai-agents opentelemetry-instrumentation-openai-agents-v2        -> openai_agents_library.py v2 OUT
    pip install openai-agents openinference-instrumentation-openai-agents opentelemetry-instrumentation-openai-agents
                                                                                    -> openai_agents_library.py two|openllmetry OUT

Empfang asks Katalog-Agent Zoë (an agent as a tool), then hands over to Mahnwesen 2, which asks Prüfer 1, which asks Prüfer 10 (delegation
three deep), calls a function `transfer_to_kasse` that is no handoff, and hands back with words and no arguments.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from capturing import ChatServer, ask, handoff, returned, say, tracer_provider, write_expected

SESSION = "Ausleihe 77/ß"
BOOK = {"signatur": "Ph 12/β", "exemplar": 0, "vorgemerkt": False, "notiz": ""}
DUNNING = {
    "leser": "L-0042",
    "gebuehr_cent": 0,
    "posten": [],
    "frist": None,
    "grund": "Buch verspätet: 'Tœdliche Fuge'",
}
CHECK = {"input": "Stimmt die Frist?\nKonto L-0042"}
RULE = {"input": '{"paragraf": "§ 7", "kulanz": true, "tage": []}'}

ANSWERS = {
    "Empfang": [
        ask(("katalog_fragen", {"input": json.dumps(BOOK, ensure_ascii=False)})),
        ask(("transfer_to_mahnwesen_2", DUNNING)),
        say("Erledigt: keine Gebühr."),
    ],
    "Katalog-Agent Zoë": [say("Verfügbar ab Montag.")],
    "Mahnwesen 2": [
        ask(("transfer_to_kasse", {"betrag_cent": 0})),
        ask(("frist_klaeren", CHECK)),
        ask(("transfer_to_empfang", {}), text="Gebühr erlassen, bitte dem Leser sagen."),
    ],
    "Prüfer 1": [ask(("regel_lesen", RULE)), say("Frist war Sonntag, gilt Montag.")],
    "Prüfer 10": [say("Kulanz bis drei Tage.")],
}


def instrument(kind: str, provider: Any) -> None:
    """Switch the instrumentation on."""
    if kind == "openlit":
        import openlit

        openlit.init(disable_metrics=True)
    elif kind == "official":
        from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
        from opentelemetry.instrumentation.genai.openai_agents import OpenAIAgentsInstrumentor as Official

        OpenAIInstrumentor().instrument(tracer_provider=provider)
        Official().instrument(tracer_provider=provider)
    elif kind == "v2":
        from opentelemetry.instrumentation.openai_agents import OpenAIAgentsInstrumentor as Older

        Older().instrument(tracer_provider=provider)
    if kind in ("two", "openllmetry"):
        from opentelemetry.instrumentation.openai_agents import OpenAIAgentsInstrumentor as OpenLLMetry

        OpenLLMetry().instrument(tracer_provider=provider)
    if kind == "two":
        from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor as OpenInference

        OpenInference().instrument(tracer_provider=provider, exclusive_processor=False)


async def run(url: str) -> None:
    """One user turn."""
    from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool, trace
    from agents import handoff as to
    from openai import AsyncOpenAI
    from pydantic import BaseModel

    class Dunning(BaseModel):
        leser: str
        gebuehr_cent: int
        posten: list[str]
        frist: str | None
        grund: str

    @function_tool
    def transfer_to_kasse(betrag_cent: int) -> str:
        """Book an amount."""
        return "gebucht"

    model = OpenAIChatCompletionsModel("modell-3", AsyncOpenAI(base_url=url, api_key="none"))

    def agent(name: str, **rest: Any) -> Agent:
        return Agent(name=name, instructions=f"Du bist {name}.", model=model, **rest)

    rules = agent("Prüfer 10")
    checker = agent("Prüfer 1", tools=[rules.as_tool("regel_lesen", "Read a rule")])
    catalogue = agent("Katalog-Agent Zoë")
    dunning = agent("Mahnwesen 2", tools=[transfer_to_kasse, checker.as_tool("frist_klaeren", "Check a date")])
    desk = agent(
        "Empfang",
        tools=[catalogue.as_tool("katalog_fragen", "Ask the catalogue")],
        handoffs=[to(dunning, input_type=Dunning, on_handoff=lambda _context, _given: None)],
    )
    dunning.handoffs.append(desk)
    config = RunConfig(workflow_name="Bücherei", group_id=SESSION)
    with trace("Bücherei", group_id=SESSION):
        await Runner.run(desk, "Das Buch ist verspätet.", run_config=config)


def expected(kind: str) -> dict[str, Any]:
    """The ground truth."""
    desk, dunning, checker, rules, catalogue = "Empfang", "Mahnwesen 2", "Prüfer 1", "Prüfer 10", "Katalog-Agent Zoë"
    text = "Gebühr erlassen, bitte dem Leser sagen."
    return {
        "session_id": SESSION,
        "session_id_visible": kind != "openllmetry",
        "sessions": 1,
        "agents": [desk, catalogue, dunning, checker, rules],
        "handoffs": [
            handoff(1, desk, catalogue, "delegate", BOOK),
            handoff(2, desk, dunning, "transfer", DUNNING),
            handoff(3, dunning, checker, "delegate", {"message": CHECK["input"]}, form="text"),
            handoff(4, checker, rules, "delegate", {"paragraf": "§ 7", "kulanz": True, "tage": []}),
            handoff(5, dunning, desk, "transfer", {"message": text}, form="text"),
        ],
        "returns": [
            returned(catalogue, desk, "Verfügbar ab Montag."),
            returned(rules, checker, "Kulanz bis drei Tage."),
            returned(checker, dunning, "Frist war Sonntag, gilt Montag."),
        ],
        "dropped": [],
        "decoys": ["tool transfer_to_kasse (Mahnwesen 2) books an amount", "Prüfer 1 and Prüfer 10 are two agents"],
    }


def main() -> None:
    kind, folder = sys.argv[1], Path(sys.argv[2])
    for key in ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",):
        os.environ.setdefault(key, "SPAN_ONLY" if kind == "official" else "true")
    os.environ.setdefault("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental")
    provider = tracer_provider(folder, "buecherei")
    from opentelemetry import trace as otel

    otel.set_tracer_provider(provider)
    from agents import set_trace_processors

    set_trace_processors([])  # not to the vendor
    instrument(kind, provider)
    server = ChatServer(ANSWERS)
    with provider.get_tracer("ausleihe").start_as_current_span("POST /ausleihe") as root:
        if kind in ("two", "v2"):  # neither tells the session
            root.set_attribute("session.id", SESSION)
        asyncio.run(run(server.url))
    provider.shutdown()
    write_expected(folder, expected(kind))


if __name__ == "__main__":
    main()
