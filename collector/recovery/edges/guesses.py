"""Handoffs that nothing says and order or words let see: the last rung, for runs that nothing better explains.

Separate because here nobody says it: a run that has a source is left alone, but for one that is known to have waited for several.
"""

from __future__ import annotations

from collections.abc import Iterable

from collector.recovery import words
from collector.recovery.edges.edge import Edge, Edges, place
from collector.recovery.order import Order, quotes
from collector.recovery.visit import AgentVisit


def by_order(edges: Edges) -> None:
    """Visits side by side in one trace: each comes from those before it."""
    groups: dict[tuple[str, int, int], list[AgentVisit]] = {}
    called = {id(e.target) for e in edges.all if e.mode == "delegate"}
    for visit in edges.visits.all:
        in_circle = any(f.circle for f in visit.facts)
        if (id(visit) not in called or visit.via is not None or in_circle) and not visit.adrift:
            team = any(f.team for f in visit.facts)
            scope = edges.tree.run_of(visit.trace_id) if team else visit.trace_id
            groups.setdefault((scope, *place(visit)), []).append(visit)
    for group in groups.values():
        order = Order(group)
        for visit in group:
            known = {id(e.source): e for e in edges.incoming.get(id(visit), ())}
            if not edges.is_free(visit) and not _joins(visit, known.values()):
                continue
            for source in _last(edges, order.before(visit)) if quotes(visit) else order.before(visit):
                if source.key != visit.key and id(source) not in known:
                    edges.add(Edge(source, visit, "transfer", "inferred"))


def _last(edges: Edges, sources: list[AgentVisit]) -> list[AgentVisit]:
    """Of the runs that a run quotes those that gave control to none of the others: of a team, the one that it came to last."""
    quoted = {id(v) for v in sources}
    return [v for v in sources if not any(id(e.target) in quoted for e in edges.outgoing.get(id(v), ()) if e.signal)]


def _joins(visit: AgentVisit, incoming: Iterable[Edge]) -> bool:
    """Whether runs beside the one that a message or a span names as the cause were waited for, too."""
    caused = [e for e in incoming if e.signal is None and e.via is None and e.mode == "transfer"]
    return bool(caused) and caused == list(incoming) and any(f.broadcast for f in visit.facts)


def by_words(edges: Edges) -> None:
    """A program that runs one agent after another in traces of their own: the words of the one are what the other was given."""
    spoken: dict[str, AgentVisit] = {}
    for visit in edges.visits.all:
        if visit.parent is None and edges.is_free(visit):
            for form in words.taken_in(visit):
                source = spoken.get(form)
                if source is not None and source.key != visit.key and source.trace_id != visit.trace_id:
                    edges.add(Edge(source, visit, "transfer", "inferred"))
                    edges.tree.runs.join(source.trace_id, visit.trace_id)
                    break
        for form in words.passed_on(visit):
            spoken[form] = visit
