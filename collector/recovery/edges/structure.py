"""Runs whose cause the spans tell otherwise than by nesting: by a name, by the time of a call, by a link or a message.

Separate from the guesses, which come after, because here the producer says it, if only by where or when it writes a span.
"""

from __future__ import annotations

from bisect import bisect_right

from collector.facts import Mode
from collector.recovery import names
from collector.recovery.causes import Causes
from collector.recovery.edges.edge import Edge, Edges
from collector.recovery.visit import LOOK_BACK, AgentVisit, Tool


def named_on_visit(edges: Edges) -> None:
    """The visit's own span says which agent it came from."""
    for visit in edges.visits.all:
        if not edges.is_free(visit):
            continue
        for attribute, mode, evidence in _NAMED:
            name = next((n for f in visit.facts if (n := getattr(f, attribute))), "")
            source = edges.before_named(name, visit) if name else None
            if source is not None:
                edges.add(Edge(source, visit, mode, evidence))
                break


_NAMED: tuple[tuple[str, Mode, str], ...] = (
    ("called_by", "delegate", "explicit"),  # an attribute for this alone
    ("came_from", "transfer", "structural"),  # a graph's parent, which each producer means in its own way
)


def by_time(edges: Edges) -> None:
    """A tool that reads like a question to this agent, and the visit lies in the call's time: a delegation whose nesting was lost."""
    calls: dict[tuple[str, str], list[tuple[Tool, AgentVisit]]] = {}
    for source in edges.visits.all:
        for tool in source.tools:
            wanted = names.asked_in_tool_name(tool.fact.name) or tool.fact.name
            found = edges.visits.names.find(wanted) or edges.visits.names.find(tool.fact.name)
            if found and not tool.fact.plain and tool.end > tool.start:
                calls.setdefault((tool.node.span.trace_id, names.agent_key(found)), []).append((tool, source))
    for stack in calls.values():
        stack.sort(key=lambda c: c[0].start)
    for visit in edges.visits.all:
        if not edges.is_free(visit) or visit.virtual:
            continue
        stack = calls.get((visit.trace_id, visit.key), [])
        last = bisect_right(stack, visit.start, key=lambda c: c[0].start)
        for tool, source in reversed(stack[max(0, last - LOOK_BACK) : last]):
            if source is not visit and visit.end <= tool.end:
                visit.via = tool
                edges.add(Edge(source, visit, "delegate", "structural", None, tool))
                break


def beside(edges: Edges) -> None:
    """Runs that their producer shows beside their caller: the latest open call of an agent in whose time one lies made it, each call one."""
    flat = [v for v in edges.visits.all if edges.is_free(v) and any(f.flat for f in v.facts)]
    if not flat:
        return
    taken = {id(e.via) for e in edges.all if e.via is not None}
    calls: dict[str, list[tuple[Tool, AgentVisit]]] = {}
    for source in edges.visits.all:
        for tool in source.tools:
            if tool.end > tool.start and id(tool) not in taken:
                calls.setdefault(tool.node.span.trace_id, []).append((tool, source))
    for stack in calls.values():
        stack.sort(key=lambda c: (c[0].start, c[0].node.key))
    for visit in flat:
        stack = calls.get(visit.trace_id, [])
        last = bisect_right(stack, visit.start, key=lambda c: c[0].start)
        around = [c for c in stack[max(0, last - LOOK_BACK) : last] if c[1] is not visit and visit.end <= c[0].end]
        around = [c for c in around if id(c[0]) not in taken]
        if around:
            nearest = max(c[1].start for c in around)  # of nested callers the inner one
            tool, source = next(c for c in around if c[1].start == nearest)
            taken.add(id(tool))
            edges.add(Edge(source, visit, "delegate", "structural", None, tool))
            _go_on_in(edges, tool, visit)


def _go_on_in(edges: Edges, tool: Tool, called: AgentVisit) -> None:
    """Who was called, and whom control went on to from there within the call's time, stand in the call."""
    waiting = [called]
    while waiting:
        visit = waiting.pop()
        visit.via = tool
        for edge in edges.outgoing.get(id(visit), ()):
            on = edge.target
            if on is not None and edge.mode == "transfer" and on.via is None and on.end <= tool.end:
                waiting.append(on)


def caused(edges: Edges) -> None:
    """A link or a message leads from the span around a visit back to another agent's run: handed over, or called by a tool that waited."""
    causes = Causes(edges.tree, edges.visits)
    for visit in edges.visits.all:
        if not edges.is_free(visit) or visit.parent is not None:
            continue
        for source, tool in causes.of(visit):
            if source.key != visit.key and source.start <= visit.start:
                visit.via = tool
                edges.add(Edge(source, visit, "delegate" if tool else "transfer", "structural", None, tool))
