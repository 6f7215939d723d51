"""MCP: the framework's, the client's and the server's span are one call; an agent behind a server; the protocol's other spans are none."""

from __future__ import annotations

from collector.otlp.model import KIND_CLIENT, KIND_SERVER
from tests.collector.spans import Trace, recovered, relays

SDK = "mcp-python-sdk"


def test_three_spans_of_one_call_are_one_and_an_agent_behind_it_is_called_once() -> None:
    t = Trace("app")
    a = t.agent("Wirtin", 0, 100)
    tool = t.tool("wetter", 10, 90, a, {"ort": "Ålesund", "tage": 0}, "Regen")
    t.span("MCP send initialize", 5, 6, a, kind=KIND_CLIENT, scope=SDK, mcp__method__name="initialize")
    client = t.span("MCP send tools/call wetter", 11, 89, tool, kind=KIND_CLIENT, scope=SDK)
    named = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "wetter", "mcp.method.name": "tools/call"}
    server = t.span("tools/call wetter", 20, 80, client, kind=KIND_SERVER, scope=SDK, attributes=named)
    t.agent("Meteorologe", 30, 70, server)

    assert relays(recovered(t)) == [
        'Wirtin -> Meteorologe delegate structural 20 {"ort": "Ålesund", "tage": 0}',
        'Meteorologe -> Wirtin return structural 20 {"message": "Regen"}',
    ]


def test_a_server_without_an_agent_is_a_tool_whatever_its_name() -> None:
    t = Trace("app")
    a = t.agent("Wirtin", 0, 100)
    t.span("MCP send tools/call transfer_to_küche", 11, 20, a, kind=KIND_CLIENT, scope=SDK)
    t.span("MCP send tools/list", 21, 22, a, kind=KIND_CLIENT, scope=SDK)
    t.chat(30, 40, a, "x", "Fertig.")

    assert relays(recovered(t)) == []
