"""claude-agent-sdk in an abbey: two sub-agents at once, the one of which calls a plain tool; a third in a later turn of the same client.

    pip install claude-agent-sdk openinference-instrumentation-claude-agent-sdk opentelemetry-exporter-otlp     -> claude_agent_sdk_abbey.py SCENE OUT

The messages of the program's child process are scripted; what it is asked is answered by the script's transport. SCENE is query (one question,
no client) or client (two questions).
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from capturing import handoff, returned, tracer_provider, write_expected

SESSION = "5f0c7a1e-0000-4000-8000-00000000abbe"
COPY = {"description": "Copy a page", "prompt": '{"page": 12, "ink": "red", "notes": []}', "subagent_type": "scribe"}
BREW = {"description": "Brew beer", "prompt": "Brew beer for the feast.", "subagent_type": "brewer", "model": "haiku"}
PRAY = {"description": "Sing", "prompt": "Psalm: 23\nVoices: 0", "subagent_type": "cantor"}


def init() -> dict[str, Any]:
    return {
        "type": "system",
        "subtype": "init",
        "session_id": SESSION,
        "model": "model-c",
        "tools": ["Agent", "Read"],
        "cwd": "/abbey",
    }


def said(*blocks: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": 5}
    message = {
        "id": "m",
        "role": "assistant",
        "model": "model-c",
        "content": list(blocks),
        "usage": usage,
        "type": "message",
    }
    return {"type": "assistant", "message": message, "parent_tool_use_id": parent, "session_id": SESSION}


def call(identity: str, name: str, given: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": name, "input": given}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def answer(identity: str, words: str, parent: str | None = None) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": identity, "content": [text(words)]}
    return {
        "type": "user",
        "message": {"role": "user", "content": [block]},
        "parent_tool_use_id": parent,
        "session_id": SESSION,
    }


def result(words: str) -> dict[str, Any]:
    return {
        "type": "result", "subtype": "success", "duration_ms": 5, "duration_api_ms": 4, "is_error": False, "num_turns": 2, "result": words,
        "session_id": SESSION, "total_cost_usd": 0.01, "usage": {"input_tokens": 20, "output_tokens": 10},
    }  # fmt: skip


FIRST = [
    init(),
    said(text("Two things to do."), call("t1", "Agent", COPY), call("t2", "Agent", BREW)),
    said(call("t3", "Read", {"file_path": "/abbey/psalter"}), parent="t1"),
    answer("t3", "Beatus vir", parent="t1"),
    said(text("Page 12 is copied."), parent="t1"),
    said(text("Forty barrels are brewed."), parent="t2"),
    answer("t1", "Page 12 is copied."),
    answer("t2", "Forty barrels are brewed."),
    said(text("The feast may begin.")),
    result("The feast may begin."),
]
SECOND = [
    init(),
    said(call("t4", "Agent", PRAY)),
    said(text("Dominus pascit me."), parent="t4"),
    answer("t4", "Dominus pascit me."),
    said(text("Amen.")),
    result("Amen."),
]


def transport(scripts: list[list[dict[str, Any]]]) -> Any:
    """A child process that says what the script says."""
    from claude_agent_sdk import Transport

    class Scripted(Transport):
        def __init__(self) -> None:
            self._out: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

        async def connect(self) -> None:
            pass

        async def write(self, data: str) -> None:
            for line in data.splitlines():
                asked = json.loads(line)
                if asked.get("type") == "control_request":
                    told = {"subtype": "success", "request_id": asked["request_id"], "response": {}}
                    await self._out.put({"type": "control_response", "response": told})
                elif asked.get("type") == "user":
                    for message in scripts.pop(0):
                        await self._out.put(message)

        async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
            while (message := await self._out.get()) is not None:
                await asyncio.sleep(0.01)
                yield message

        async def close(self) -> None:
            await self._out.put(None)

        def is_ready(self) -> bool:
            return True

        async def end_input(self) -> None:
            await self._out.put(None)

    return Scripted()


async def run(scene: str) -> None:
    from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, query

    if scene == "query":
        async for _message in query(
            prompt="Prepare the feast.", options=ClaudeAgentOptions(), transport=transport([FIRST])
        ):
            pass
        return
    async with ClaudeSDKClient(options=ClaudeAgentOptions(), transport=transport([FIRST, SECOND])) as client:
        for words in ("Prepare the feast.", "And the psalm?"):
            await client.query(words)
            async for _message in client.receive_response():
                pass


def expected(scene: str) -> dict[str, Any]:
    """The ground truth."""
    main = "ClaudeAgentSDK"
    copied = {"page": 12, "ink": "red", "notes": []}
    about: dict[str, Any] = {"optional": ["description", "prompt", "model"]}
    handoffs = [
        handoff(1, main, "scribe", "delegate", {"description": COPY["description"], "prompt": copied}, **about),
        handoff(2, main, "brewer", "delegate", {k: v for k, v in BREW.items() if k != "subagent_type"}, **about),
        handoff(3, main, "cantor", "delegate", {"description": "Sing", "prompt": PRAY["prompt"]}, **about),
    ]
    returns = [
        returned("scribe", main, "Page 12 is copied."),
        returned("brewer", main, "Forty barrels are brewed."),
        returned("cantor", main, "Dominus pascit me."),
    ]
    many = 2 if scene == "query" else 3
    return {
        "session_id": SESSION,
        "session_id_visible": True,
        "sessions": 1,
        "agents": [main, "scribe", "brewer", "cantor"][: many + 1],
        "handoffs": handoffs[:many],
        "returns": returns[:many],
        "dropped": [],
        "decoys": ["Read is a plain tool of scribe's"],
    }


def main() -> None:
    scene, folder = sys.argv[1], Path(sys.argv[2])
    from opentelemetry import trace

    provider = tracer_provider(folder, "abbey")
    trace.set_tracer_provider(provider)
    from openinference.instrumentation.claude_agent_sdk import ClaudeAgentSDKInstrumentor

    ClaudeAgentSDKInstrumentor().instrument(tracer_provider=provider)
    asyncio.run(run(scene))
    provider.force_flush()
    write_expected(folder, expected(scene))


if __name__ == "__main__":
    main()
