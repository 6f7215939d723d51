"""Two processes that speak A2A: a shipping company's agent asks a shipyard's, with the trace carried on by the HTTP instrumentations.

    pip install "a2a-sdk[http-server]" "httpx<1" uvicorn opentelemetry-sdk opentelemetry-exporter-otlp-proto-http
                opentelemetry-instrumentation-httpx opentelemetry-instrumentation-starlette  -> a2a_shipyard.py OUT

Disponentin Nø asks Werft-Agent by the tool `werft_fragen`; in the shipyard's process Werft-Agent asks Schweißer 2 by `schweisser_fragen`, and
each answers. A second question to the shipyard is refused. The agents' own spans are written by hand, by the GenAI convention; the SDK's
spans and the HTTP spans are the real ones.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from capturing import handoff, returned, tracer_provider, write_expected

SESSION = "Fahrt 7/Ø"
ASKED = {"schiff": "Ægir", "schaden": "Riss", "laenge_cm": 0, "fotos": [], "frist": None}
INNER = {"platte": "B-3", "dicke_mm": 12, "eilig": False}
INNER_ANSWER = "Naht in zwei Stunden."
ANSWER = {"angebot_eur": 0, "bemerkung": "Kulanz", "beginn": "06:30"}
WRONG = {"schiff": "?", "schaden": ""}


def agent_span(tracer: Any, name: str, **attributes: Any) -> Any:
    """An agent's run."""
    named = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, **attributes}
    return tracer.start_as_current_span(f"invoke_agent {name}", attributes=named)


def tool_span(tracer: Any, name: str, arguments: dict[str, Any]) -> Any:
    """A tool's run."""
    given = json.dumps(arguments, ensure_ascii=False)
    named = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.arguments": given}
    return tracer.start_as_current_span(f"execute_tool {name}", attributes=named)


def answer(span: Any, text: str) -> str:
    """Note a tool's result."""
    span.set_attribute("gen_ai.tool.call.result", text)
    return text


def card(port: int) -> Any:
    """What the shipyard says of itself."""
    from a2a.types import AgentCard, AgentInterface

    url = AgentInterface(url=f"http://127.0.0.1:{port}/", protocol_binding="JSONRPC", protocol_version="1.0")
    return AgentCard(
        name="Werft-Agent",
        description="Repairs ships",
        version="1",
        supported_interfaces=[url],
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
    )


def serve(folder: Path, port: int) -> None:
    """The shipyard's process."""
    import uvicorn
    from a2a.helpers import new_text_message
    from a2a.server.agent_execution import AgentExecutor
    from a2a.server.request_handlers import DefaultRequestHandler
    from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
    from a2a.server.tasks import InMemoryTaskStore
    from opentelemetry import trace
    from opentelemetry.instrumentation.starlette import StarletteInstrumentor
    from starlette.applications import Starlette

    provider = tracer_provider(folder, "werft", "server.otlp.jsonl")
    trace.set_tracer_provider(provider)
    tracer = provider.get_tracer("werft")

    class Shipyard(AgentExecutor):
        async def execute(self, context: Any, event_queue: Any) -> None:
            if json.loads(context.get_user_input())["schiff"] == "?":
                raise ValueError("no such ship")
            with agent_span(tracer, "Werft-Agent"):
                with tool_span(tracer, "schweisser_fragen", INNER) as call, agent_span(tracer, "Schweißer 2"):
                    await asyncio.sleep(0.01)
                    answer(call, INNER_ANSWER)
                await event_queue.enqueue_event(new_text_message(json.dumps(ANSWER, ensure_ascii=False)))

        async def cancel(self, context: Any, event_queue: Any) -> None:
            raise NotImplementedError

    handler = DefaultRequestHandler(agent_executor=Shipyard(), task_store=InMemoryTaskStore(), agent_card=card(port))
    app = Starlette(routes=[*create_agent_card_routes(card(port)), *create_jsonrpc_routes(handler, "/")])
    StarletteInstrumentor.instrument_app(app, tracer_provider=provider)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")
    provider.shutdown()


async def ask(folder: Path, port: int) -> None:
    """The shipping company's process."""
    import httpx
    from a2a.client import ClientConfig, ClientFactory
    from a2a.helpers import get_stream_response_text, new_text_message
    from a2a.types import Role, SendMessageRequest
    from opentelemetry import trace
    from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor

    provider = tracer_provider(folder, "reederei", "client.otlp.jsonl")
    trace.set_tracer_provider(provider)
    tracer = provider.get_tracer("reederei")
    http = httpx.AsyncClient(timeout=10)
    HTTPXClientInstrumentor.instrument_client(http, tracer_provider=provider)
    client = ClientFactory(ClientConfig(httpx_client=http, streaming=False)).create(card(port))

    async def question(given: dict[str, Any]) -> str:
        with tool_span(tracer, "werft_fragen", given) as call:
            text = json.dumps(given, ensure_ascii=False)
            message = new_text_message(text, role=Role.ROLE_USER)
            try:
                said = [
                    get_stream_response_text(r) async for r in client.send_message(SendMessageRequest(message=message))
                ]
            except Exception as error:
                call.set_status(trace.StatusCode.ERROR, str(error))
                return "refused"
            return answer(call, said[-1])

    with agent_span(tracer, "Disponentin Nø", **{"session.id": SESSION}):
        await question(ASKED)
        await question(WRONG)
    await http.aclose()
    provider.shutdown()


def expected() -> dict[str, Any]:
    """The ground truth."""
    return {
        "session_id": SESSION,
        "session_id_visible": True,
        "sessions": 1,
        "agents": ["Disponentin Nø", "Werft-Agent", "Schweißer 2"],
        "handoffs": [
            handoff(1, "Disponentin Nø", "Werft-Agent", "delegate", ASKED),
            handoff(2, "Werft-Agent", "Schweißer 2", "delegate", INNER),
        ],
        "returns": [
            returned("Schweißer 2", "Werft-Agent", INNER_ANSWER),
            returned("Werft-Agent", "Disponentin Nø", json.dumps(ANSWER, ensure_ascii=False)),
        ],
        "dropped": [],
        "decoys": ["the SDK's queue and handler spans are no agents", "the second question reaches no agent"],
    }


def main() -> None:
    folder = Path(sys.argv[1])
    port = 39417
    if len(sys.argv) > 2:
        serve(folder, port)
        return
    server = subprocess.Popen([sys.executable, __file__, str(folder), "serve"])
    time.sleep(4)
    try:
        asyncio.run(ask(folder, port))
    finally:
        server.terminate()
        server.wait(10)
    for suffix in (".jsonl", ".pb"):
        parts = [(folder / f"{part}.otlp").with_suffix(f".otlp{suffix}") for part in ("server", "client")]
        (folder / f"traces.otlp{suffix}").write_bytes(b"".join(part.read_bytes() for part in parts))
        for part in parts:
            part.unlink()
    write_expected(folder, expected())


if __name__ == "__main__":
    main()
