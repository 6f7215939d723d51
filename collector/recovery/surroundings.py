"""Where a span stood whose parent never came: what went on around it in its process.

Separate from the tree because it reads times, which prove less than a parent does: it is asked only for parents that are missing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping

from collector.facts import ModelCall, ToolCall, Visit
from collector.recovery import names
from collector.recovery.node import Node, SpanKey

_NEAR = 16
"""How many spans that began right before are asked what they are part of."""

_DEEP = 100
"""How far up that is looked."""


class Surroundings:
    """The spans of traces in which parents are missing, by start."""

    def __init__(self, nodes: Mapping[SpanKey, Node], traces: Iterable[str]) -> None:
        self._nodes = nodes
        self._by_trace: dict[str, list[Node]] = {trace: [] for trace in traces}
        self._models: dict[str, list[Node]] = {}
        self._runs: dict[tuple[str, str], list[Node]] = {}
        for node in sorted(nodes.values(), key=lambda n: (n.start, -n.end, n.key)):
            trace = node.span.trace_id
            if trace in self._by_trace:
                self._by_trace[trace].append(node)
                for fact in node.span.facts:
                    if isinstance(fact, ModelCall):
                        self._models.setdefault(trace, []).append(node)
                    elif isinstance(fact, Visit) and fact.name:
                        self._runs.setdefault((trace, names.agent_key(fact.name)), []).append(node)

    def run_of(self, trace: str, agent: str, start: int, end: int) -> Node | None:
        """The innermost run of that agent that holds this time."""
        runs = self._runs.get((trace, names.agent_key(agent)), ())
        return min(
            (n for n in runs if n.start <= start and end <= n.end), key=lambda n: (n.end - n.start, n.key), default=None
        )

    def of(self, missing: SpanKey, children: list[Node], start: int, end: int) -> Node | None:
        """What the missing parent of these spans was part of; None where nothing or more than one thing went on around them.

        An agent whose model answers meanwhile does not wait for another's run: that ran beside it.
        """
        spans = self._by_trace[missing[0]]
        clock = children[0].clock
        has_run = any(isinstance(f, Visit) for n in children for f in n.span.facts)
        at = bisect_left(spans, start, key=lambda n: n.start)
        first = min(children, key=lambda n: (n.start, -n.end, n.key))
        while at < len(spans) and spans[at] is not first:
            at += 1
        found: Node | None = None
        for near in reversed(spans[max(0, at - _NEAR) : at]):
            around = self._holding(near, missing, clock, start, end)
            if around is not None and has_run:
                around = self._waiting(around, missing, clock, start, end)
            if around is None:
                continue
            if found is None or self._is_under(around, found.key):
                found = around
            elif not self._is_under(found, around.key):
                return None
        return found

    def _chain(self, node: Node) -> Iterator[Node]:
        up: Node | None = node
        for _ in range(_DEEP):  # parents may also go round in a circle
            if up is None:
                return
            yield up
            up = self._nodes.get((up.span.trace_id, up.span.parent_span_id))

    def _holding(self, node: Node, missing: SpanKey, clock: tuple[str, str], start: int, end: int) -> Node | None:
        """The innermost of a span and what it is part of that holds this time, in the same process and not below the missing span itself."""
        found: Node | None = None
        for up in self._chain(node):
            if (up.span.trace_id, up.span.parent_span_id) == missing:
                return None
            if found is None and up.clock == clock and up.start <= start and end <= up.end and not _is_model(up):
                found = up
        return found

    def _waiting(self, around: Node, missing: SpanKey, clock: tuple[str, str], start: int, end: int) -> Node | None:
        """Of what is around another's run the innermost that may wait for it: the call of a tool, a run whose models are silent, or no run."""
        up: Node | None = around
        for _ in range(_DEEP):
            if up is None or any(isinstance(f, ToolCall) for f in up.span.facts):
                return up
            if not any(isinstance(f, Visit) for f in up.span.facts) or not self._speaks(up, missing, start, end):
                return up
            above = self._nodes.get((up.span.trace_id, up.span.parent_span_id))
            up = self._holding(above, missing, clock, start, end) if above is not None else None
        return None

    def _speaks(self, run: Node, missing: SpanKey, start: int, end: int) -> bool:
        models = self._models.get(run.span.trace_id, [])
        last = bisect_left(models, end, key=lambda n: n.start)
        near = (m for m in models[max(0, last - _NEAR) : last] if m.end > start)
        return any(self._is_under(m, run.key) and not self._is_under(m, missing) for m in near)

    def _is_under(self, node: Node, key: SpanKey) -> bool:
        return any(key in (up.key, (up.span.trace_id, up.span.parent_span_id)) for up in self._chain(node))


def _is_model(node: Node) -> bool:
    return any(isinstance(f, ModelCall) for f in node.span.facts)
