"""What the agent of each run is called, and which runs that nothing names are workflows around agents.

Separate from the visits because a name may stand elsewhere: on another span by the agent's id, or in the name of the span itself.
"""

from __future__ import annotations

from collections import Counter

from collector.facts import Known, ToolCall, Visit
from collector.facts.placeholders import is_placeholder
from collector.recovery import names
from collector.recovery.node import Node, SpanKey
from collector.recovery.tree import Tree


class Naming:
    """The names of a session's agents. `known`: those that spans list; `frames`: spans of workflows that look like runs."""

    def __init__(self, tree: Tree) -> None:
        self.known: dict[str, None] = {}
        self._ids: dict[str, str] = {}
        self._around: set[SpanKey] = set()
        self.frames: set[SpanKey] = set()
        runs: list[tuple[Node, Visit]] = []
        for node in tree.ordered:
            for fact in node.span.facts:
                if isinstance(fact, Visit):
                    runs.append((node, fact))
                    self._list(fact.peers)
                elif isinstance(fact, Known):
                    self._list(fact.names)
                    self._ids.update(fact.ids)
        if any(not fact.name for _node, fact in runs):
            for node, fact in runs:
                if not fact.by_span and self.of(node, fact):
                    self._is_around(node)
            self.frames = self._frames(tree)

    def of(self, node: Node, fact: Visit) -> str:
        """The name of a run's agent, "" where nothing names it."""
        if fact.by_call:
            return _called(node) or (fact.by_call if _is_outermost(node) else "")
        if fact.name and (fact.named or not is_placeholder(fact.name)):
            return names.clean(self._ids.get(fact.name, fact.name))
        if fact.agent_id in self._ids:
            return self._ids[fact.agent_id]
        own = next(iter(fact.aliases), node.span.name)
        by_span = fact.by_span and node.key not in self._around and not is_placeholder(own)
        return names.clean(own) if by_span else ""

    def _list(self, listed: tuple[str, ...]) -> None:
        self.known.update(dict.fromkeys(n for n in listed if n and not is_placeholder(n)))

    def _is_around(self, named: Node) -> None:
        for up in named.ancestors():
            if up.key in self._around:
                return
            self._around.add(up.key)

    def _frames(self, tree: Tree) -> set[SpanKey]:
        """Unnamed runs around two or more named ones, no tool call between: a workflow's span, not one of theirs, unless it is a manager's turn."""
        outermost: dict[SpanKey, SpanKey | None] = {}  # by span: the outermost of the unnamed runs that it stands in
        inside: Counter[SpanKey] = Counter()
        for node in tree.ordered:
            facts = [f for f in node.span.facts if isinstance(f, Visit)]
            above = outermost.get(node.parent.key) if node.parent is not None else None
            if any(self.of(node, f) for f in facts):
                inside.update([above] if above is not None else [])
                above = None
            elif any(not f.name and not f.leads for f in facts):
                above = above or node.key
            elif any(isinstance(f, ToolCall) for f in node.span.facts):
                above = None
            outermost[node.key] = above
        return {key for key, count in inside.items() if count > 1}


def _called(node: Node) -> str:
    """The name of the tool call that a span stands in, with no run between."""
    for up in node.ancestors():
        for fact in up.span.facts:
            if isinstance(fact, ToolCall):
                return fact.name
        if any(isinstance(f, Visit) for f in up.span.facts):
            return ""
    return ""


def _is_outermost(node: Node) -> bool:
    return not any(isinstance(f, (Visit, ToolCall)) for up in node.ancestors() for f in up.span.facts)
