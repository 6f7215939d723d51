"""From visits and signals to handoffs: who handed over to whom, in which mode, on what evidence.

Separate from content: an edge stands or falls by spans, order and markers, whatever was recorded of what it carried.

The ladder, highest first: a signal that the target's visit takes up (explicit); a visit that stands in another agent's visit or names
who it came from (structural); the order of visits of one trace (inferred). A lower rung never overrides a higher one.
"""

from __future__ import annotations

from dataclasses import dataclass

from collector.facts import Content, Mode
from collector.recovery import names
from collector.recovery.signals import Signal
from collector.recovery.tree import Tree
from collector.recovery.visits import AgentVisit, Tool, Visits

EVIDENCE = ("explicit", "structural", "inferred")


@dataclass(slots=True, eq=False)
class Edge:
    """One handoff between two visits. `target` None: dropped, `target_name` says who was asked."""

    source: AgentVisit
    target: AgentVisit | None
    mode: Mode
    evidence: str
    signal: Signal | None = None
    via: Tool | None = None
    target_name: str = ""
    answer: Content | None = None  # of a return
    of: Edge | None = None  # of a return: the delegation it answers


class Edges:
    """All handoffs of a session, unordered."""

    def __init__(self, tree: Tree, visits: Visits, signals: list[Signal]) -> None:
        self.tree, self.visits, self.signals = tree, visits, signals
        self.agents = list(dict.fromkeys([v.name for v in visits.all] + list(visits.known)))
        self.incoming: dict[int, list[Edge]] = {}
        self.all: list[Edge] = []
        self._nested()
        self._signalled()
        self._named_on_visit()
        self._by_time()
        self._by_order()
        self._resumed()
        self._returns()
        self._dropped()

    def _add(self, edge: Edge) -> None:
        self.all.append(edge)
        if edge.target is not None:
            self.incoming.setdefault(id(edge.target), []).append(edge)
        if edge.signal is not None and edge.target is not None:
            edge.signal.taken_by.append(edge.target)

    def _free(self, visit: AgentVisit) -> bool:
        return id(visit) not in self.incoming

    # ---- explicit and structural

    def _nested(self) -> None:
        """A visit that stands in another's: called by it, through the tool or the transfer span between, where there is one."""
        by_tool = {id(s.tool): s for s in self.signals if s.tool is not None}
        by_node = {s.node.key: s for s in self.signals if s.tool is None and s.sure}
        for visit in self.visits.all:
            if visit.parent is None:
                continue
            signal = by_tool.get(id(visit.via)) if visit.via is not None else None
            for up in visit.first.ancestors():
                if self.visits.owner[up.key] is not visit.parent and up.key not in by_node:
                    break
                signal = by_node.get(up.key, signal)
            if signal is not None and signal.target and not self._is(visit, signal.target) and signal.tool is None:
                signal = None
            if visit.via is None and signal is None:
                asked = [
                    s
                    for s in self.signals
                    if s.source is visit.parent
                    and not s.taken_by
                    and s.start <= visit.start
                    and self._is(visit, s.target)
                ]
                if asked:  # a framework that starts the target inside the source's span
                    signal = asked[-1]
                    self._add(Edge(visit.parent, visit, signal.mode or "transfer", signal.evidence, signal))
                    continue
            mode: Mode = (signal.mode if signal is not None else "") or "delegate"
            named = signal is not None and bool(signal.target)
            self._add(Edge(visit.parent, visit, mode, "explicit" if named else "structural", signal, visit.via))

    def _is(self, visit: AgentVisit, wanted: str) -> bool:
        if not wanted:
            return False
        if names.agent_key(wanted) in visit.keys:
            return True
        found = names.match(wanted, self.agents)
        return bool(found) and names.agent_key(found) in visit.keys

    def _signalled(self) -> None:
        """Each visit takes up the latest open request for its agent; a request that names nobody goes to whoever runs next."""
        waiting = [s for s in self.signals if not s.taken_by and not s.failed]
        for visit in self.visits.all:
            if not self._free(visit):
                continue
            run = self.tree.run_of[visit.trace_id]
            options = [
                s for s in waiting
                if not s.taken_by and s.source is not visit and s.start <= visit.start
                and self.tree.run_of[s.node.span.trace_id] == run and s.source.parent in (visit.parent, s.source.parent)
                and not self._source_came_back(s, visit)
            ]  # fmt: skip
            named = [s for s in options if self._is(visit, s.target)]
            unnamed = [s for s in options if not s.target and s.sure and s.source.parent is visit.parent]
            chosen = max(named or unnamed, key=lambda s: (s.start, s.sure, s.node.key), default=None)
            if chosen is None:
                continue
            inside = (
                chosen.tool is not None
                and chosen.tool.start <= visit.start
                and visit.end <= chosen.tool.end
                and visit.end > visit.start
            )
            mode: Mode = chosen.mode or ("delegate" if inside else "transfer")
            self._add(
                Edge(chosen.source, visit, mode, chosen.evidence if chosen.target else "inferred", chosen, chosen.tool)
            )

    def _source_came_back(self, signal: Signal, visit: AgentVisit) -> bool:
        """Whether the asking agent had another turn in between: then the request is over."""
        return any(
            v is not signal.source and v.key == signal.source.key and signal.start < v.start < visit.start
            and v.trace_id == visit.trace_id and v.parent is signal.source.parent
            for v in self.visits.all
        )  # fmt: skip

    def _named_on_visit(self) -> None:
        """The visit's own span says which agent it came from."""
        for visit in self.visits.all:
            if not self._free(visit):
                continue
            for attribute, mode in (("called_by", "delegate"), ("came_from", "transfer")):
                name = next((n for f in visit.facts if (n := getattr(f, attribute))), "")
                before = [v for v in self.visits.all if v is not visit and self._is(v, name) and v.start <= visit.start]
                before = [v for v in before if self.tree.run_of[v.trace_id] == self.tree.run_of[visit.trace_id]]
                if before:
                    source = max(before, key=lambda v: (v.start, v.first.key))
                    self._add(Edge(source, visit, mode, "structural"))  # type: ignore[arg-type]
                    break

    def _by_time(self) -> None:
        """A tool that reads like a question to this agent, and the visit lies in the call's time: a delegation whose nesting was lost."""
        calls = [(t, v) for v in self.visits.all for t in v.tools if not t.fact.plain and t.end > t.start]
        for visit in self.visits.all:
            if not self._free(visit) or visit.virtual:
                continue
            for tool, source in calls:
                wanted = names.asked_in_tool_name(tool.fact.name) or tool.fact.name
                inside = tool.start <= visit.start and visit.end <= tool.end
                if (
                    source is not visit
                    and inside
                    and tool.node.span.trace_id == visit.trace_id
                    and self._is(visit, wanted)
                ):
                    visit.via = tool
                    self._add(Edge(source, visit, "delegate", "structural", None, tool))
                    break

    # ---- inferred

    def _by_order(self) -> None:
        """Visits side by side in one trace, in order of time: each comes from those that ended last before it began."""
        groups: dict[tuple[str, int], list[AgentVisit]] = {}
        called = {id(e.target) for e in self.all if e.mode == "delegate"}
        for visit in self.visits.all:
            if id(visit) not in called:
                groups.setdefault((visit.trace_id, id(visit.parent)), []).append(visit)
        for visits in groups.values():
            stepped = all(v.step is not None for v in visits)
            for visit in visits:
                if not self._free(visit):
                    continue
                before = _before_by_step(visits, visit) if stepped else _before(visits, visit)
                for source in before:
                    if source.key != visit.key:
                        self._add(Edge(source, visit, "transfer", "inferred"))

    # ---- what follows from the edges

    def _resumed(self) -> None:
        """An agent that asked for another by a call, and runs again right after it though nobody handed back, was waiting: a delegation."""
        by_trace: dict[str, list[AgentVisit]] = {}
        for visit in self.visits.all:
            by_trace.setdefault(visit.trace_id, []).append(visit)
        asked_out = {id(e.source) for e in self.all if e.signal is not None}
        for visits in by_trace.values():
            for edge in [
                e
                for e in self.all
                if e.signal is not None
                and e.target is not None
                and e.mode == "transfer"
                and e.source.trace_id == visits[0].trace_id
            ]:
                target = edge.target
                assert target is not None
                if id(target) in asked_out or edge.signal is None or edge.signal.mode:
                    continue
                following = [
                    v for v in visits if v.start >= target.end and v.parent is target.parent and v is not target
                ]
                if not following:
                    continue
                again = min(following, key=lambda v: (v.start, v.first.key))
                incoming = self.incoming.get(id(again), [])
                if again.key != edge.source.key or any(e.evidence != "inferred" for e in incoming):
                    continue
                edge.mode = "delegate"
                for guess in incoming:
                    self.all.remove(guess)
                self.incoming[id(again)] = [edge]  # the way back is a return, not a handoff of its own

    def _returns(self) -> None:
        """A completed delegation has one return."""
        for edge in [e for e in self.all if e.mode == "delegate" and e.target is not None]:
            target = edge.target
            assert target is not None
            ended = any(n.span.end_ns for n in target.nodes)
            if not ended or (edge.via is not None and edge.via.fact.failed):
                continue
            answer = edge.via.fact.result if edge.via is not None and edge.via.fact.result is not None else None
            self.all.append(Edge(target, edge.source, "return", edge.evidence, None, None, answer=answer, of=edge))

    def _dropped(self) -> None:
        """Requests that nobody took up."""
        visited = {v.key for v in self.visits.all}
        for signal in self.signals:
            if signal.taken_by or signal.weak:
                continue
            target = names.match(signal.target, self.agents) if signal.target else ""
            others = visited - {signal.source.key}
            if not signal.sure:
                known = bool(target) and names.agent_key(target) != signal.source.key
                if not others or not (known or self._last_act(signal)):
                    continue
            if not signal.target:
                continue
            self.all.append(
                Edge(
                    signal.source,
                    None,
                    signal.mode or "transfer",
                    signal.evidence,
                    signal,
                    signal.tool,
                    target or signal.target,
                )
            )

    def _last_act(self, signal: Signal) -> bool:
        """Whether the source does nothing after the request in that run: no call, no further visit."""
        run = self.tree.run_of[signal.node.span.trace_id]
        for visit in self.visits.all:
            if visit.key == signal.source.key and self.tree.run_of[visit.trace_id] == run:
                if visit is not signal.source and visit.start > signal.start:
                    return False
                nodes = [m.node for m in visit.models] + [t.node for t in visit.tools]
                if any(n is not signal.node and n.start > signal.start for n in nodes):
                    return False
        return True


def _before(visits: list[AgentVisit], visit: AgentVisit) -> list[AgentVisit]:
    """The runs that ended before this one began and after which none of the others both began and ended."""
    done = [v for v in visits if v is not visit and v.end <= visit.start and v.start < visit.start]
    if not done:
        return []
    latest_start = max(v.start for v in done)
    return [v for v in done if v.end > latest_start or v.start == latest_start]


def _before_by_step(visits: list[AgentVisit], visit: AgentVisit) -> list[AgentVisit]:
    steps = sorted({v.step for v in visits if v.step is not None and v.step < (visit.step or 0)})
    return [v for v in visits if v.step == steps[-1]] if steps else []
