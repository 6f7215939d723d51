"""Which runs caused a run: span links and message ids, followed back through whatever passed a message on.

Separate from the edges because it is a walk over spans of many traces; which of the causes is a handoff is decided there.
"""

from __future__ import annotations

from bisect import bisect_right

from collector.recovery.node import Node, SpanKey
from collector.recovery.tree import Tree
from collector.recovery.visit import AgentVisit, Tool
from collector.recovery.visits import Visits


class Causes:
    """The nearest runs before each run, by links and messages."""

    def __init__(self, tree: Tree, visits: Visits) -> None:
        self.tree, self.visits = tree, visits
        self._around: dict[int, Node] = {}
        self._first: dict[tuple[SpanKey, str], AgentVisit] = {}  # of an agent for one message
        self._carried: dict[
            SpanKey, list[AgentVisit]
        ] = {}  # the span that a message came to -> the runs it started, in order
        self._tools = {t.node.key: t for v in visits.all for t in v.tools}
        for visit in visits.all:
            node = next((n for n in (visit.first, *visit.first.ancestors()) if tree.delivers(n)), None)
            if node is not None:
                self._around[id(visit)] = node
                self._first.setdefault((node.key, visit.key), visit)
            elif visit.first.parent is not None and visit.first.parent.parent is not None:
                node = (
                    visit.first.parent
                )  # the first of a run was started by no message; what it sends stands beside it
            for up in (node, *node.ancestors()) if node is not None else ():
                # a message to a workflow in a workflow started what runs in it, too
                if visits.owner[up.key] not in (None, visit):
                    break
                if up is node or tree.delivers(up):
                    self._carried.setdefault(up.key, []).append(visit)

    def of(self, visit: AgentVisit) -> list[tuple[AgentVisit, Tool | None]]:
        """The runs that the message to this run came from, in order of time; with the tool call that sent it and waited, where one did."""
        start = self._around.get(id(visit))
        if start is None or self._first[start.key, visit.key] is not visit:
            return []  # one message hands over once: an agent that runs again for it goes on by itself
        found: dict[int, tuple[AgentVisit, Tool | None]] = {}
        seen = {start.key}
        waiting = self.tree.causes(start)
        while waiting:
            cause = waiting.pop()
            tool: Tool | None = None
            for up in (cause, *cause.ancestors()):
                owner = self.visits.owner[up.key]
                if owner is not None:
                    tool = tool or self._tools.get(up.key)
                    if tool is None and up not in owner.nodes:
                        continue
                else:
                    owner = self._last_started(up, cause)
                if owner is not None:
                    if owner is not visit:
                        waits = tool if tool is not None and tool.visit is owner and tool.end >= visit.end else None
                        found[id(owner)] = (owner, waits)
                    break
                further = self.tree.causes(up)
                if further:
                    if up.key not in seen:
                        seen.add(up.key)
                        waiting += further
                    break
        return sorted(found.values(), key=lambda f: (f[0].start, f[0].first.key))

    def _last_started(self, node: Node, cause: Node) -> AgentVisit | None:
        """The last run that the message to this span started before it sent another."""
        started = self._carried.get(node.key, [])
        last = len(started) if node is cause else bisect_right(started, cause.start, key=lambda v: v.start)
        return started[last - 1] if last else None
