"""What follows from the edges found: which transfer was a delegation after all, and the return of each delegation.

Separate from the ladder because it looks at edges and not at spans: it needs all of them.
"""

from __future__ import annotations

from bisect import bisect_left

from collector.facts import values
from collector.recovery.edges.edge import Edge, Edges, place
from collector.recovery.signals import Signal
from collector.recovery.visit import AgentVisit


def resumed(edges: Edges) -> None:
    """An agent that asked for another by a call, and runs again right after it though nobody handed back, was waiting: a delegation."""
    beside: dict[tuple[str, int], list[AgentVisit]] = {}
    for visit in edges.visits.all:
        beside.setdefault((visit.trace_id, id(visit.parent)), []).append(visit)
    asked_out = {id(e.source) for e in edges.all if e.signal is not None}
    gone: set[int] = set()
    for edge in edges.all:
        target, signal = edge.target, edge.signal
        if target is None or signal is None or signal.mode or edge.mode != "transfer":
            continue
        last = target.team[-1] if target.team else target
        if id(last) in asked_out or any(f.one_way for f in edge.source.facts):
            continue
        group = beside[target.trace_id, id(target.parent)]
        later = bisect_left(group, last.end, key=lambda v: v.start)
        again = next((v for v in group[later : later + 3] if v is not last and v is not edge.source), None)
        if again is None or again.key != edge.source.key:
            continue
        guesses = edges.incoming.get(id(again), [])
        if any(e.evidence != "inferred" for e in guesses):
            continue
        edge.mode, edge.back = "delegate", last
        gone.update(id(e) for e in guesses)  # the way back is a return, not a handoff of its own
        edges.incoming[id(again)] = [edge]
    edges.all = [e for e in edges.all if id(e) not in gone]


def answered(edges: Edges) -> None:
    """Whom a manager's turn asks answers to the manager: a delegation. The way back to its next turn is a return, and no handoff of its own."""
    asked: set[tuple[str, int]] = set()
    for edge in edges.all:
        if edge.target is not None and edge.mode == "transfer" and _leads(edge.source) and not _leads(edge.target):
            edge.mode = "delegate"
            asked.add((edge.source.key, id(edge.target)))
    back = [
        e for e in edges.all if e.target is not None and e.mode == "transfer" and (e.target.key, id(e.source)) in asked
    ]
    for edge in back:
        edges.outgoing[id(edge.source)].remove(edge)
    gone = {id(e) for e in back}
    edges.all = [e for e in edges.all if id(e) not in gone]


def _leads(visit: AgentVisit) -> bool:
    return any(f.leads for f in visit.facts)


def made_again(edges: Edges) -> None:
    """A call that was broken off to wait for a person, and made once more when the run was resumed, is one delegation: the one that was answered."""
    calls = [
        (e, via) for e in edges.all if e.mode == "delegate" and e.target is not None and (via := e.via) is not None
    ]
    later: dict[tuple[str, str, str, str], Edge] = {}
    gone: set[int] = set()
    for edge, via in sorted(calls, key=lambda c: (c[1].start, c[1].node.key), reverse=True):
        assert edge.target is not None
        given = via.fact.arguments.value if via.fact.arguments is not None else None
        call = (edge.source.key, edge.target.key, via.fact.name, repr(values.parse(given)))
        if via.fact.broken_off and call in later:
            gone.add(id(edge))
        later[call] = edge
    if gone:
        edges.all = [e for e in edges.all if id(e) not in gone]


def returns(edges: Edges) -> None:
    """A completed delegation has one return; one that a span states by itself says what it carried, and needs no delegation."""
    stated: dict[int, Signal] = {id(s.source): s for s in edges.signals if s.mode == "return"}
    for edge in [e for e in edges.all if e.mode == "delegate" and e.target is not None]:
        target, via = edge.target, edge.via
        assert target is not None
        said = stated.pop(id(target), None)
        last = edge.back or _last_of(edges, target)
        broken = via is not None and (via.fact.failed or via.fact.broken_off)
        ended = any(n.span.end_ns for n in last.nodes) and not broken
        if said is None and not ended:
            continue
        answer = said.arguments if said is not None else via.fact.result if via is not None else None
        resumed = edge.back is not None  # that control came back, only the order of the runs tells
        evidence = said.evidence if said is not None else "inferred" if resumed else edge.evidence
        edges.all.append(Edge(last, edge.source, "return", evidence, said, answer=answer, of=edge))
    for said in stated.values():
        back = edges.before_named(said.target, said.source)
        if back is not None and not said.failed:
            edges.all.append(Edge(said.source, back, "return", said.evidence, said, answer=said.arguments))


def _last_of(edges: Edges, called: AgentVisit) -> AgentVisit:
    """Who has the last word in a call: of the runs in it that control went on to, the one that ended last."""
    last, seen, waiting = called, {id(called)}, [called]
    while waiting:
        for edge in edges.outgoing.get(id(waiting.pop()), ()):
            on = edge.target
            if on is not None and edge.mode == "transfer" and place(on) == place(called) and id(on) not in seen:
                seen.add(id(on))
                waiting.append(on)
                last = max(last, on, key=lambda v: v.end)
    return last
