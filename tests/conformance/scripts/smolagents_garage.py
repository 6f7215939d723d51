"""smolagents in a garage: managed agents three deep, one of them called twice, one call with additional arguments.

pip install "smolagents[openai]" openinference-instrumentation-smolagents          -> smolagents_garage.py openinference OUT
pip install "smolagents[openai]" opentelemetry-instrumentation-genai-smolagents    -> smolagents_garage.py otel OUT
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from capturing import ChatServer, ask, handoff, returned, tracer_provider, write_expected

SESSION = "Wagen 12/ü"
MORE = {"kennzeichen": "B-ÄX 12", "km": 0, "teile": [], "eilig": False}
ONE, TWO = "Miss die Bremse vorn.", "Miss die Bremse hinten.\nWert: mm\nGrenze: 2"
ANSWERS: dict[str, list[Any]] = {
    "ICH BIN meister": [
        ask(("werkstatt_1", {"task": "Prüfe den Wagen.", "additional_args": MORE})),
        ask(("final_answer", {"answer": "Bremsen sind gut."})),
    ],
    "ICH BIN werkstatt_1": [
        ask(("pruefer", {"task": ONE})),
        ask(("pruefer", {"task": TWO})),
        ask(("final_answer", {"answer": "Vorn acht, hinten sieben."})),
    ],
    "ICH BIN pruefer": [
        ask(("final_answer", {"answer": "Acht Millimeter."})),
        ask(("final_answer", {"answer": "Sieben Millimeter."})),
    ],
}


def run(url: str) -> None:
    """One run."""
    from smolagents import OpenAIServerModel, ToolCallingAgent

    def agent(name: str, *managed: Any) -> Any:
        return ToolCallingAgent(
            tools=[],
            model=OpenAIServerModel(model_id="scripted-1", api_base=url, api_key="none"),
            name=name,
            description=name,
            managed_agents=list(managed),
            instructions=f"ICH BIN {name}",
            verbosity_level=0,
        )

    agent("meister", agent("werkstatt_1", agent("pruefer"))).run("Ist der Wagen fertig?")


def expected() -> dict[str, Any]:
    """The ground truth."""
    boss, shop, tester = "meister", "werkstatt_1", "pruefer"
    lines = {"wert": "mm", "grenze": "2"}
    return {
        "session_id": SESSION,
        "session_id_visible": True,
        "sessions": 1,
        "agents": [boss, shop, tester],
        "handoffs": [
            handoff(1, boss, shop, "delegate", {"task": "Prüfe den Wagen.", **MORE}),
            handoff(2, shop, tester, "delegate", {"task": ONE}, form="text"),
            handoff(3, shop, tester, "delegate", {"task": TWO}, form="text", optional=list(lines)),
        ],
        "returns": [
            returned(tester, shop, "Acht Millimeter."),
            returned(tester, shop, "Sieben Millimeter."),
            returned(shop, boss, "Vorn acht, hinten sieben."),
        ],
        "dropped": [],
        "decoys": [],
    }


def main() -> None:
    kind, folder = sys.argv[1], Path(sys.argv[2])
    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
    provider = tracer_provider(folder, "werkstatt")
    if kind == "otel":
        from opentelemetry.instrumentation.genai.smolagents import SmolagentsInstrumentor as Official

        Official().instrument(tracer_provider=provider)
    else:
        from openinference.instrumentation.smolagents import SmolagentsInstrumentor

        SmolagentsInstrumentor().instrument(tracer_provider=provider)
    with provider.get_tracer("werkstatt").start_as_current_span("wagen", attributes={"session.id": SESSION}):
        run(ChatServer(ANSWERS).url)
    provider.shutdown()
    write_expected(folder, expected())


if __name__ == "__main__":
    main()
