"""Which runs caused a run: span links and message ids, followed back through whatever passed a message on.

Separate from the edges because it is a walk over spans of many traces; which of the causes is a handoff is decided there.
"""

from __future__ import annotations

from collector.recovery.tree import Node, SpanKey, Tree
from collector.recovery.visits import AgentVisit, Tool, Visits


class Causes:
    """The nearest runs before each run, by links and messages."""

    def __init__(self, tree: Tree, visits: Visits) -> None:
        self.tree, self.visits = tree, visits
        self._around: dict[int, Node] = {}
        self._carried: dict[SpanKey, list[AgentVisit]] = {}  # the span that a message came to -> the runs it started
        for visit in visits.all:
            node = next((n for n in (visit.first, *visit.first.ancestors()) if tree.delivers(n)), None)
            if node is not None:
                self._around[id(visit)] = node
            elif visit.first.parent is not None and visit.first.parent.parent is not None:
                node = (
                    visit.first.parent
                )  # the first of a run was started by no message; what it sends stands beside it
            if node is not None:
                self._carried.setdefault(node.key, []).append(visit)

    def of(self, visit: AgentVisit) -> list[tuple[AgentVisit, Tool | None]]:
        """The runs that the message to this run came from, in order of time; with the tool call that sent it and waited, where one did."""
        start = self._around.get(id(visit))
        if start is None:
            return []
        found: dict[int, tuple[AgentVisit, Tool | None]] = {}
        seen = {start.key}
        waiting = self.tree.causes(start)
        while waiting:
            cause = waiting.pop()
            tool: Node | None = None
            for up in (cause, *cause.ancestors()):
                owner = self.visits.owner[up.key]
                if owner is None:
                    started = [v for v in self._carried.get(up.key, ()) if v.start <= cause.start or up is cause]
                    owner = started[-1] if started else None
                    tool = None
                elif tool is None and any(t.node is up for t in owner.tools):
                    tool = up
                if owner is not None and (tool is not None or up in owner.nodes or self.visits.owner[up.key] is None):
                    if owner is not visit:
                        waits = next((t for t in owner.tools if t.node is tool and t.end >= visit.end), None)
                        found[id(owner)] = (owner, waits)
                    break
                further = self.tree.causes(up)
                if owner is None and further:
                    if up.key not in seen:
                        seen.add(up.key)
                        waiting += further
                    break
        return sorted(found.values(), key=lambda f: (f[0].start, f[0].first.key))
