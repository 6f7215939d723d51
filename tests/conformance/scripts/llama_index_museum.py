"""LlamaIndex in a museum, under an instrumentation of choice.

    pip install llama-index-core llama-index-llms-openai-like openinference-instrumentation-llama-index
                                                    -> llama_index_museum.py openinference workflow|tools OUT
    ... opentelemetry-instrumentation-llamaindex    -> llama_index_museum.py openllmetry workflow|tools OUT
    ... opentelemetry-instrumentation-genai-llama-index     -> llama_index_museum.py otel workflow|tools OUT

workflow: an AgentWorkflow. Kasse hands over to Führung 1, which uses the plain tool `transfer_to_depot` and hands over to Archiv, which hands
back to Kasse with an empty reason; Kasse says the last word. tools: Kuratorin asks Restaurator by a tool, and twice Archiv (the second time
through Restaurator).
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from capturing import ChatServer, ask, handoff, returned, say, tracer_provider, write_expected

SESSION = "Besuch 12/ö"
REASON = 'Gruppe: "3b"\nKinder: 24\nSprache: Française'
BRIEF = {"objekt": "Vase 7", "schäden": [], "frist": None, "wert_eur": 0}

ANSWERS: dict[str, dict[str, list[Any]]] = {
    "workflow": {
        "Kasse": [
            ask(("handoff", {"to_agent": "Führung 1", "reason": REASON})),
            say("Eintritt frei, viel Spaß."),
        ],
        "Führung 1": [
            ask(("transfer_to_depot", {"objekt": "Vase 7"})),
            ask(("handoff", {"to_agent": "Archiv", "reason": '{"signatur": "A/0", "jahr": 0, "kopie": false}'})),
        ],
        "Archiv": [ask(("handoff", {"to_agent": "Kasse", "reason": ""}))],
    },
    "tools": {
        "Kuratorin": [
            ask(("restaurator_fragen", BRIEF)),
            ask(("archiv_fragen", {"frage": "Woher stammt Vase 7?"})),
            say("Vase 7 bleibt."),
        ],
        "Restaurator": [ask(("archiv_fragen", {"frage": "Alte Fotos?"})), say("Zwei Risse.")],
        "Archiv": [say("Fotos von 1931."), say("Aus Meißen.")],
    },
}


def expected(scene: str) -> dict[str, Any]:
    """The ground truth."""
    truth: dict[str, Any] = {"session_id": SESSION, "session_id_visible": True, "sessions": 1, "dropped": []}
    if scene == "workflow":
        desk, guide, archive = "Kasse", "Führung 1", "Archiv"
        return truth | {
            "agents": [desk, guide, archive],
            "handoffs": [
                handoff(
                    1, desk, guide, "transfer", {"reason": REASON}, form="text",
                    optional=["gruppe", "kinder", "sprache"],
                ),
                handoff(2, guide, archive, "transfer", {"signatur": "A/0", "jahr": 0, "kopie": False}),
                handoff(3, archive, desk, "transfer", {"reason": ""}),
            ],
            "returns": [],
            "decoys": ["transfer_to_depot of Führung 1 is a plain tool"],
        }  # fmt: skip
    head, restorer, archive = "Kuratorin", "Restaurator", "Archiv"
    return truth | {
        "agents": [head, restorer, archive],
        "handoffs": [
            handoff(1, head, restorer, "delegate", BRIEF),
            handoff(2, restorer, archive, "delegate", {"frage": "Alte Fotos?"}, form="text"),
            handoff(3, head, archive, "delegate", {"frage": "Woher stammt Vase 7?"}, form="text"),
        ],
        "returns": [
            returned(archive, restorer, "Fotos von 1931."),
            returned(restorer, head, "Zwei Risse."),
            returned(archive, head, "Aus Meißen."),
        ],
        "decoys": [],
    }


async def run(scene: str, url: str) -> None:
    """One visit."""
    from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
    from llama_index.core.tools import FunctionTool
    from llama_index.llms.openai_like import OpenAILike

    llm = OpenAILike(
        model="scripted-1", api_base=url, api_key="none", is_chat_model=True, is_function_calling_model=True
    )

    def agent(name: str, tools: list[Any], **rest: Any) -> Any:
        return FunctionAgent(
            name=name, description=name, system_prompt=f"Du bist {name}.", tools=tools, llm=llm, **rest
        )

    if scene == "workflow":

        def transfer_to_depot(objekt: str) -> str:
            """Put an object into the depot. (A plain tool; NOT a handoff.)"""
            return f"{objekt} liegt im Depot."

        desk = agent("Kasse", [], can_handoff_to=["Führung 1"])
        guide = agent("Führung 1", [FunctionTool.from_defaults(transfer_to_depot)], can_handoff_to=["Archiv"])
        archive = agent("Archiv", [], can_handoff_to=["Kasse"])
        flow = AgentWorkflow(agents=[desk, guide, archive], root_agent="Kasse")
        print(await flow.run(user_msg="Eine Klasse möchte ins Museum."))
        return

    archive = agent("Archiv", [])

    async def archiv_fragen(frage: str) -> str:
        """Ask the archive."""
        return str(await archive.run(user_msg=frage))

    asked = FunctionTool.from_defaults(async_fn=archiv_fragen)
    restorer = agent("Restaurator", [asked])

    async def restaurator_fragen(objekt: str, schäden: list[str], frist: str | None, wert_eur: int) -> str:  # noqa: PLC2401
        """Ask the restorer."""
        brief = {"objekt": objekt, "schäden": schäden, "frist": frist, "wert_eur": wert_eur}
        return str(await restorer.run(user_msg=json.dumps(brief, ensure_ascii=False)))

    head = agent("Kuratorin", [FunctionTool.from_defaults(async_fn=restaurator_fragen), asked])
    print(await head.run(user_msg="Was tun mit Vase 7?"))


def main() -> None:
    kind, scene, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    provider = tracer_provider(folder, "museum")
    if kind == "openinference":
        from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

        LlamaIndexInstrumentor().instrument(tracer_provider=provider)
    elif kind == "otel":
        os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
        os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
        from opentelemetry.instrumentation.genai.llama_index import LlamaIndexInstrumentor as Official

        Official().instrument(tracer_provider=provider)
    else:
        from opentelemetry import trace as otel
        from opentelemetry.instrumentation.llamaindex import LlamaIndexInstrumentor as OpenLLMetry

        otel.set_tracer_provider(provider)
        OpenLLMetry().instrument(tracer_provider=provider)
    server = ChatServer(ANSWERS[scene])
    with provider.get_tracer("museum").start_as_current_span("POST /besuch") as root:
        root.set_attribute("session.id", SESSION)
        asyncio.run(run(scene, server.url))
    provider.shutdown()
    write_expected(folder, expected(scene))


if __name__ == "__main__":
    main()
