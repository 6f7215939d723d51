"""Runs that stand in another agent's: called by it, through the tool or the transfer span between, where there is one.

Separate from what is merely asked for (`asked.py`), because nesting alone makes a handoff, and a request only says which kind.
"""

from __future__ import annotations

from collections.abc import Sequence

from collector.facts import Mode
from collector.recovery import names
from collector.recovery.edges.edge import Edge, Edges, place, waited
from collector.recovery.signals import Signal
from collector.recovery.visit import LOOK_BACK, AgentVisit


def nested(edges: Edges) -> None:
    """A visit that stands in another's: called by it, through the tool or the transfer span between, where there is one."""
    by_tool = {id(s.tool): s for s in edges.signals if s.tool is not None}
    by_node = {s.node.key: s for s in edges.signals if s.tool is None and s.sure and s.mode != "return"}
    by_source: dict[int, list[Signal]] = {}
    for signal in edges.signals:
        by_source.setdefault(id(signal.source), []).append(signal)
    beside: dict[tuple[int, int], list[Signal]] = {}
    for signal in edges.signals:
        if signal.source.parent is not None and signal.mode in ("", "transfer") and not signal.failed:
            beside.setdefault(place(signal.source), []).append(signal)
    circles: set[tuple[int, int, str]] = set()  # of which somebody was called
    led = {id(member): visit for visit in edges.visits.all for member in visit.team if member is not visit}
    for visit in edges.visits.all:
        parent = visit.parent
        if parent is None:
            continue
        handed = _handed_on(edges, beside.get(place(visit), ()), visit)
        if handed is not None:  # within one call the callee gave control to another
            edges.take_up(handed, visit)
            continue
        led_by_caller = any(f.leads for f in parent.facts)
        circle = next((f.circle for f in visit.facts if f.circle and not led_by_caller), "")
        if circle and (*place(visit), circle) in circles:
            continue  # goes on from another of its circle: messages or order tell from whom
        circles.add((*place(visit), circle))
        lead = led.get(id(visit))
        if lead is not None and place(lead) == place(visit):
            asked_for = next((e.signal for e in edges.incoming.get(id(lead), ()) if e.signal is not None), None)
            if visit.start >= lead.end and (visit.via is not None or asked_for is not None):
                continue  # a later step of the group that was called: its order tells where it comes from
            if visit.via is None and asked_for is not None:  # a step beside: the request for the group was for it, too
                edges.add(Edge(parent, visit, asked_for.mode or "transfer", asked_for.evidence, asked_for))
                continue
        found = by_tool.get(id(visit.via)) if visit.via is not None else None
        lost = False  # a span between never came: what it was, only times tell
        for up in visit.first.ancestors():
            if edges.visits.owner[up.key] is not parent and up.key not in by_node:
                break
            found = by_node.get(up.key, found)
            lost = lost or up.guessed
        if found is not None and found.tool is None and found.target and not edges.is_called(visit, found.target):
            found = None
        if visit.via is None and found is None:
            # A framework that starts the target inside the source's span: the source's latest open request for this agent.
            asked = (
                s
                for s in reversed(by_source.get(id(parent), []))
                if (not s.taken_by or (s.tool is not None and s.tool.fact.to_all))
                and s.start <= visit.start
                and (edges.is_called(visit, s.target) or (s.sure and s.tool is not None and not s.target))
            )
            request = next(asked, None)
            if request is not None:
                went_on = any(m.start >= visit.end for m in parent.models) or waited(request, visit)
                by_call: Mode = request.mode or ("delegate" if went_on else "transfer")
                edges.add(Edge(parent, visit, by_call, request.evidence, request))
                continue
        if found is not None and found.failed and found.stated:
            edges.incoming[id(visit)] = []  # the producer's own word: asked for, and not taken up
            continue
        if found is None and visit.via is None and all(f.by_tool for f in visit.facts):
            continue  # the program's own run, beside the one that it stands in
        mode: Mode = (found.mode if found is not None else "") or "delegate"
        called_by = {names.agent_key(f.called_by) for f in visit.facts if f.called_by}
        named = (found is not None and bool(found.target)) or bool(called_by & parent.keys)
        evidence = "explicit" if named else "inferred" if lost else "structural"
        edges.add(Edge(parent, visit, mode, evidence, found, visit.via))


def _handed_on(edges: Edges, signals: Sequence[Signal], visit: AgentVisit) -> Signal | None:
    """The latest open request for this run by one beside it, below the same run and in the same call of a tool."""
    for signal in reversed(signals[-LOOK_BACK:]):
        if signal.taken_by or signal.source is visit or signal.start > visit.start:
            continue
        if edges.is_called(visit, signal.target) or (not signal.target and signal.sure and visit.via is not None):
            return signal
    return None
