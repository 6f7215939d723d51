"""Requests: each run takes up the latest open request for its agent, and what nobody took up was dropped.

Separate from how requests are read in spans (`signals.py`). A request is over when whoever asked has had another turn in between.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from collector.facts import Mode
from collector.recovery import names
from collector.recovery.edges.edge import Edge, Edges
from collector.recovery.signals import Signal
from collector.recovery.visit import LOOK_BACK, AgentVisit


def signalled(edges: Edges) -> None:
    """Each visit takes up the latest open request for its agent; a request that names nobody goes to whoever runs next."""
    waiting: dict[tuple[str, str], list[Signal]] = {}
    asked: dict[str, list[Signal]] = {}  # the same, whatever the run, but for requests told by a name alone
    unnamed: dict[tuple[str, int], list[Signal]] = {}
    wanted = [s for s in edges.signals if not s.taken_by and not s.failed and s.mode != "return"]
    pending = iter([s for s in wanted if not _to_itself(edges, s)])
    head = next(pending, None)
    for visit in edges.visits.all:
        while head is not None and head.start <= visit.start:
            run = edges.tree.run_of(head.node.span.trace_id)
            if head.target and not head.spelled:
                waiting.setdefault((run, edges.keys_of(head.target)), []).append(head)
                if head.sure or head.tool:
                    asked.setdefault(edges.keys_of(head.target), []).append(head)
            elif head.sure:
                unnamed.setdefault((run, id(head.source.parent)), []).append(head)
            head = next(pending, None)
        if not edges.is_free(visit):
            continue
        run = edges.tree.run_of(visit.trace_id)
        open_for = [waiting[run, k] for k in visit.keys if (run, k) in waiting]
        chosen = _latest(edges, open_for, visit) or _latest(edges, [unnamed.get((run, id(visit.parent)), [])], visit)
        if chosen is None and visit.parent is None:
            chosen = _from_another_run(edges, asked, visit)
        if chosen is not None:
            edges.take_up(chosen, visit)
            for signal in _beside(chosen, open_for):
                edges.take_up(signal, visit)


def _beside(chosen: Signal, stacks: Iterable[list[Signal]]) -> list[Signal]:
    """The latest open requests for the same agent by runs that went on at the same time as the one whose request was taken up: one run answers all."""
    found: dict[int, Signal] = {id(chosen.source): chosen}
    for stack in stacks:
        for signal in reversed(stack[-LOOK_BACK:]):
            together = signal.source.start < chosen.source.end and chosen.source.start < signal.source.end
            if not signal.taken_by and together and signal.source.parent is chosen.source.parent:
                found.setdefault(id(signal.source), signal)
    return [signal for signal in found.values() if signal is not chosen]


def _to_itself(edges: Edges, signal: Signal) -> bool:
    """Whether an agent asks for itself, by a tool's name alone: it only goes on. A marker that says so is its producer's word."""
    return not signal.sure and edges.is_called(signal.source, signal.target)


def _latest(edges: Edges, stacks: Iterable[list[Signal]], visit: AgentVisit) -> Signal | None:
    best: Signal | None = None
    for stack in stacks:
        while stack and (stack[-1].taken_by or _source_came_back(edges, stack[-1], visit)):
            stack.pop()
        signal = next((s for s in reversed(stack[-LOOK_BACK:]) if s.source is not visit and not s.taken_by), None)
        if signal is not None and (best is None or (signal.start, signal.sure) > (best.start, best.sure)):
            best = signal
    return best


def _from_another_run(edges: Edges, asked: dict[str, list[Signal]], visit: AgentVisit) -> Signal | None:
    """A request that the session's next trace takes up: runs that nothing joins but the session and the name asked for."""
    if edges.first_in_trace[visit.trace_id] is not visit:
        return None
    found: list[Signal] = []
    for stack in (asked[key] for key in visit.keys if key in asked):
        while stack and stack[-1].taken_by:
            stack.pop()
        found += [s for s in stack[-1:] if s.source is not visit and s.source.trace_id != visit.trace_id]
    latest = max(found, key=lambda s: (s.start, s.node.key), default=None)
    if latest is None or edges.acts_after(latest, visit.start):
        return None
    edges.tree.runs.join(latest.node.span.trace_id, visit.trace_id)
    return latest


def _source_came_back(edges: Edges, signal: Signal, visit: AgentVisit) -> bool:
    """Whether the asking agent had another turn in between: then the request is over."""
    source = signal.source
    same = edges.by_key.get(source.key, [])
    first = bisect_right(same, signal.start, key=lambda v: v.start)
    for other in same[first : first + LOOK_BACK]:
        if other.start >= visit.start:
            return False
        if other is not source and other.trace_id == visit.trace_id and other.parent is source.parent:
            return True
    return False


def dropped(edges: Edges) -> None:
    """Requests that nobody took up."""
    visited = {v.key for v in edges.visits.all}
    for signal in edges.signals:
        if signal.taken_by or signal.weak or not signal.target or signal.mode == "return":
            continue
        target = edges.visits.names.find(signal.target)
        if not signal.sure:
            known = bool(target) and names.agent_key(target) != signal.source.key
            if not visited - {signal.source.key} or not (known or not edges.acts_after(signal)):
                continue
        mode: Mode = signal.mode or "transfer"
        name = target or signal.target
        edges.all.append(Edge(signal.source, None, mode, signal.evidence, signal, signal.tool, name))
