"""Small spans for tests: a session as a few lines, with ids and times that a reader can follow.

`Trace` numbers its spans from 1; times are milliseconds from the trace's start.
"""

from __future__ import annotations

import json
from typing import Any

from collector.contracts.model import ResolvedContract
from collector.otlp.model import Batch, Event, Link, LogRecord, Resource, Scope, Span
from collector.recovery import Recovered, extract, recover

T0 = 1_780_000_000_000_000_000
MS = 1_000_000


class Trace:
    """Builds the spans of one trace."""

    def __init__(
        self, scope: str = "demo", number: int = 1, service: str = "app", start_ms: float = 0, **resource: Any
    ) -> None:
        self.trace_id = f"{number:032x}"
        self.scope = Scope(scope)
        self.resource = Resource({"service.name": service, **resource})
        self.start_ms = start_ms
        self.spans: list[Span] = []
        self.logs: list[LogRecord] = []

    def span(
        self,
        name: str,
        start: float,
        end: float | None,
        parent: Span | None = None,
        *,
        events: tuple[Event, ...] = (),
        links: tuple[Span, ...] = (),
        status: int = 0,
        kind: int = 1,
        scope: str = "",
        **attributes: Any,
    ) -> Span:
        """Add a span. `__` in an attribute's name stands for a dot; `attributes={...}` takes names that no keyword can spell."""
        named = {k.replace("__", "."): v for k, v in attributes.items() if k != "attributes"} | attributes.get(
            "attributes", {}
        )
        base = T0 + int(self.start_ms * MS)
        made = Span(
            trace_id=self.trace_id,
            span_id=f"{int(self.trace_id, 16) * 1000 + len(self.spans) + 1:016x}",
            name=name,
            parent_span_id=parent.span_id if parent is not None else "",
            kind=kind,
            start_unix_nano=base + int(start * MS),
            end_unix_nano=0 if end is None else base + int(end * MS),
            attributes=named,
            events=events,
            links=tuple(Link(s.trace_id, s.span_id) for s in links),
            status_code=status,
            scope=Scope(scope) if scope else self.scope,
            resource=self.resource,
        )
        self.spans.append(made)
        return made

    def agent(self, name: str, start: float, end: float | None, parent: Span | None = None, **attributes: Any) -> Span:
        """Add an `invoke_agent` span by the GenAI convention."""
        named = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
        return self.span(
            f"invoke_agent {name}",
            start,
            end,
            parent,
            **{**attributes, "attributes": named | attributes.get("attributes", {})},
        )

    def tool(
        self,
        name: str,
        start: float,
        end: float,
        parent: Span,
        arguments: Any = None,
        result: Any = None,
        **attributes: Any,
    ) -> Span:
        """Add an `execute_tool` span by the GenAI convention; arguments and results that are no text are written as JSON."""
        named: dict[str, Any] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
        if arguments is not None:
            named["gen_ai.tool.call.arguments"] = arguments if isinstance(arguments, str) else json.dumps(arguments)
        if result is not None:
            named["gen_ai.tool.call.result"] = result if isinstance(result, str) else json.dumps(result)
        return self.span(
            f"execute_tool {name}",
            start,
            end,
            parent,
            **{**attributes, "attributes": named | attributes.get("attributes", {})},
        )

    def chat(
        self,
        start: float,
        end: float,
        parent: Span,
        heard: str | None = None,
        said: str | None = None,
        calls: Any = (),
        **attributes: Any,
    ) -> Span:
        """Add a `chat` span by the GenAI convention; `calls` are (name, arguments) that the answer asks for."""
        named: dict[str, Any] = {"gen_ai.operation.name": "chat"}
        if heard is not None:
            named["gen_ai.input.messages"] = json.dumps(
                [{"role": "user", "parts": [{"type": "text", "content": heard}]}]
            )
        if said is not None or calls:
            parts: list[dict[str, Any]] = [{"type": "text", "content": said}] if said is not None else []
            parts += [
                {"type": "tool_call", "id": f"call-{i}", "name": n, "arguments": a} for i, (n, a) in enumerate(calls)
            ]
            named["gen_ai.output.messages"] = json.dumps([{"role": "assistant", "parts": parts}])
        return self.span(
            "chat m", start, end, parent, **{**attributes, "attributes": named | attributes.get("attributes", {})}
        )


def recovered(*traces: Trace, contract: ResolvedContract | None = None) -> Recovered:
    """Recover the handoffs of one session made of these traces."""
    batch = Batch(tuple(s for t in traces for s in t.spans), tuple(r for t in traces for r in t.logs))
    return recover(extract(batch).spans, contract)


def relays(result: Recovered) -> list[str]:
    """The handoffs, a line each: `1 a -> b transfer explicit 240 {fields}`, and what else is worth saying of each."""
    out = []
    for h in result.document["handoffs"]:
        fields = {f["name"]: f["value"] for f in h["fields"] if "seen_in" not in f}
        seen = [f["name"] for f in h["fields"] if "seen_in" in f]
        parts = [
            f"{h['source_agent']} -> {h['target_agent']}",
            h["origin"]["mode"],
            h["origin"]["evidence"],
            str(h["latency_ms"]),
        ]
        parts += [json.dumps(fields, ensure_ascii=False)] if h.get("recorded", True) else ["unrecorded"]
        parts += [k for k in ("redacted", "truncated") if h.get(k)]
        parts += [h["status"]] if "status" in h else []
        parts += [f"seen {seen}"] if seen else []
        out.append(" ".join(parts))
    return out
