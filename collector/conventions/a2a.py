"""A2A between processes: the SDK's own spans (a2a-sdk 1.x), and the draft convention's client and server spans.

The SDK's spans are method names without attributes, many of them plumbing: they hold a place in the tree and say nothing, so a remote call
is seen where the HTTP instrumentation carries the trace on. The draft's spans are named by their method and name the agent that is called:
the client's is a call that waits, the server's is that agent's run. Neither holds what was said.
"""

from __future__ import annotations

from collections.abc import Iterator

from collector.conventions import reading
from collector.conventions.base import Carriers, Convention
from collector.facts import Fact, ToolCall, Visit
from collector.otlp.model import KIND_CLIENT, KIND_SERVER, STATUS_ERROR, Span

_SENDS = frozenset({"sendmessage", "sendstreamingmessage", "message/send", "message/stream"})


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    method = reading.text(a, "a2a.method.name", "rpc.method") or span.name.partition(" ")[0]
    name = reading.text(a, "gen_ai.agent.name")
    if method.casefold() not in _SENDS or not name:
        return
    if span.kind == KIND_CLIENT:
        yield ToolCall(
            name=method,
            call_id=reading.text(a, "a2a.message.id"),
            arguments=reading.content(a, "gen_ai.tool.call.arguments"),
            result=reading.content(a, "gen_ai.tool.call.result"),
            target=name,
            mode="delegate",
            certain=True,
            runs_target=True,
            failed=span.status_code == STATUS_ERROR,
        )
    elif span.kind == KIND_SERVER:
        yield Visit(name=name, named=True)


def _marks(span: Span) -> bool:
    return span.kind in (KIND_CLIENT, KIND_SERVER) and any(k.startswith("a2a.") for k in span.attributes)


CONVENTION = Convention(
    name="a2a",
    content_switch="A2A spans never carry content: instrument the agents at both ends",
    facts=_facts,
    scopes=("a2a-python-sdk",),
    marks=_marks,
    carriers=Carriers(without_call=("input",)),
)
