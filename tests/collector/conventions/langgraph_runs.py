"""LangGraph runs for tests: what all its instrumentations record, written down the way of one of them.

Separate from the tests because three mappers read the same runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from collector.otlp.model import Span
from tests.collector.spans import Trace

Writer = Callable[[str, str, dict[str, Any], Any, Any], tuple[str, dict[str, Any]]]
"""(kind, run name, metadata, inputs, outputs) -> (span name, attributes); kind is chain, llm or tool."""


class Graph:
    """One run of a graph, recorded by one instrumentation."""

    def __init__(self, t: Trace, writer: Writer, name: str = "LangGraph") -> None:
        self.t, self.writer = t, writer
        self.metadata: dict[str, dict[str, Any]] = {}
        self.root = self.run("chain", name, 0, 900, None, {"ls_integration": "langgraph", "thread_id": "s"})

    def run(
        self,
        kind: str,
        name: str,
        start: float,
        end: float | None,
        parent: Span | None,
        metadata: dict[str, Any],
        inputs: Any = None,
        outputs: Any = None,
        **more: Any,
    ) -> Span:
        """Any run."""
        span_name, attributes = self.writer(kind, name, metadata, inputs, outputs)
        span = self.t.span(span_name, start, end, parent, attributes=attributes, **more)
        self.metadata[span.span_id] = metadata
        return span

    def node(
        self,
        name: str,
        step: int,
        start: float,
        end: float | None,
        outputs: Any = None,
        *,
        parent: Span | None = None,
        inputs: Any = None,
        pushed: bool = False,
        trigger: str = "",
        **more: Any,
    ) -> Span:
        """A node's run; in the graph that runs in `parent`'s node, else in the outermost graph."""
        above = self.metadata[parent.span_id] if parent is not None else self.metadata[self.root.span_id]
        outer = above.get("langgraph_checkpoint_ns", "")
        metadata = above | {
            "langgraph_step": step,
            "langgraph_node": name,
            "langgraph_triggers": [trigger or ("__pregel_push" if pushed else f"branch:to:{name}")],
            "langgraph_path": ["__pregel_push", 0, False] if pushed else ["__pregel_pull", name],
            "langgraph_checkpoint_ns": f"{outer}|{name}:n{step}" if outer else f"{name}:n{step}",
        }
        return self.run("chain", name, start, end, parent or self.root, metadata, inputs, outputs, **more)

    def inside(
        self,
        kind: str,
        name: str,
        start: float,
        end: float,
        parent: Span,
        inputs: Any = None,
        outputs: Any = None,
        *,
        more: dict[str, Any] | None = None,
        **metadata: Any,
    ) -> Span:
        """A run inside a node: it inherits the node's metadata."""
        return self.run(
            kind, name, start, end, parent, self.metadata[parent.span_id] | metadata, inputs, outputs, **(more or {})
        )

    def model(
        self,
        start: float,
        end: float,
        parent: Span,
        text: str = "",
        *calls: tuple[str, dict[str, Any]],
        heard: str = "go",
    ) -> Span:
        """A model's call."""
        return self.inside("llm", "ChatFake", start, end, parent, [asked(heard)], [said(text, *calls)])

    def agent(self, name: str, start: float, end: float | None, parent: Span, **more: Any) -> Span:
        """The run of an agent made by `create_agent`, in a node or a tool."""
        metadata = self.metadata[parent.span_id] | {"lc_agent_name": name}
        return self.run("chain", name, start, end, parent, metadata, **more)

    def tool(
        self,
        name: str,
        start: float,
        end: float,
        parent: Span,
        inputs: Any = None,
        outputs: Any = None,
        destination: str = "",
    ) -> Span:
        """A tool's run; `destination`: marked as one that hands over."""
        marked: dict[str, Any] = {"__handoff_destination": destination} if destination else {}
        return self.inside("tool", name, start, end, parent, inputs, outputs, langgraph_node="tools", **marked)


def said(text: str, *calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """An assistant's message as LangChain serializes it."""
    made = [{"name": n, "args": a, "id": f"c-{n}"} for n, a in calls]
    return {"type": "ai", "data": {"content": text, "type": "ai", "tool_calls": made}}


def asked(text: str) -> dict[str, Any]:
    """A user's message as LangChain serializes it."""
    return {"type": "human", "data": {"content": text, "type": "human"}}


def text_of(value: Any) -> str:
    """Content as recorded: JSON, but for text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
