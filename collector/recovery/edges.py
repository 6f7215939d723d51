"""From visits and signals to handoffs: who handed over to whom, in which mode, on what evidence.

Separate from content: an edge stands or falls by spans, order, markers and whose words are whose; what was passed is `carried.py`'s.

The ladder, highest first: a signal that the target's visit takes up (explicit); a visit that stands in another agent's visit or names
who it came from (structural); the order of visits of one trace, or words that reappear (inferred). A lower rung never overrides a higher.
Every step is a sweep over sorted lists: linear in visits and signals, but for the logarithm.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from collector.facts import Content, Mode
from collector.recovery import names, words
from collector.recovery.causes import Causes
from collector.recovery.order import Order
from collector.recovery.signals import Signal
from collector.recovery.tree import Tree
from collector.recovery.visit import LOOK_BACK, AgentVisit, Tool
from collector.recovery.visits import Visits


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
    back: AgentVisit | None = None  # of a delegation to a team: the run in it that came last


class Edges:
    """All handoffs of a session, unordered."""

    def __init__(self, tree: Tree, visits: Visits, signals: list[Signal]) -> None:
        self.tree, self.visits, self.signals = tree, visits, signals
        self.incoming: dict[int, list[Edge]] = {}
        self.outgoing: dict[int, list[Edge]] = {}
        self.all: list[Edge] = []
        self._by_key: dict[str, list[AgentVisit]] = {}
        self._first_in_trace: dict[str, AgentVisit] = {}
        self._acts: dict[
            tuple[str, str], list[tuple[int, tuple[str, str]]]
        ] = {}  # of an agent in a trace: its runs and calls
        for visit in visits.all:
            self._first_in_trace.setdefault(visit.trace_id, visit)
            acts = self._acts.setdefault((visit.trace_id, visit.key), [])
            acts.append((visit.start, visit.first.key))
            acts += [(m.node.start, m.node.key) for m in visit.models]
            acts += [(t.node.start, t.node.key) for t in visit.tools]
            for key in visit.keys:
                self._by_key.setdefault(key, []).append(visit)
        for acts in self._acts.values():
            acts.sort()
        self._nested()
        self._signalled()
        self._named_on_visit()
        self._by_time()
        self._beside()
        self._caused()
        self._by_order()
        self._by_words()
        self._resumed()
        self._returns()
        self._dropped()

    def _add(self, edge: Edge) -> None:
        self.all.append(edge)
        self.outgoing.setdefault(id(edge.source), []).append(edge)
        if edge.target is not None:
            self.incoming.setdefault(id(edge.target), []).append(edge)
            if edge.signal is not None:
                edge.signal.taken_by.append(edge.target)

    def _free(self, visit: AgentVisit) -> bool:
        return id(visit) not in self.incoming

    def _keys_of(self, wanted: str) -> str:
        """The key of the agent that a signal's target spells."""
        return names.agent_key(self.visits.names.find(wanted) or wanted) if wanted else ""

    def _is(self, visit: AgentVisit, wanted: str) -> bool:
        return bool(wanted) and (names.agent_key(wanted) in visit.keys or self._keys_of(wanted) in visit.keys)

    # ---- explicit and structural

    def _nested(self) -> None:
        """A visit that stands in another's: called by it, through the tool or the transfer span between, where there is one."""
        by_tool = {id(s.tool): s for s in self.signals if s.tool is not None}
        by_node = {s.node.key: s for s in self.signals if s.tool is None and s.sure and s.mode != "return"}
        by_source: dict[int, list[Signal]] = {}
        for signal in self.signals:
            by_source.setdefault(id(signal.source), []).append(signal)
        beside: dict[tuple[int, int], list[Signal]] = {}
        for signal in self.signals:
            if signal.source.parent is not None and signal.mode in ("", "transfer") and not signal.failed:
                beside.setdefault(_place(signal.source), []).append(signal)
        led = {id(member): visit for visit in self.visits.all for member in visit.team if member is not visit}
        for visit in self.visits.all:
            parent = visit.parent
            if parent is None:
                continue
            handed = self._handed_on(beside.get(_place(visit), ()), visit)
            if handed is not None:  # within one call the callee gave control to another
                self._take_up(handed, visit)
                continue
            lead = led.get(id(visit))
            if lead is not None and _place(lead) == _place(visit):
                asked_for = next((e.signal for e in self.incoming.get(id(lead), ()) if e.signal is not None), None)
                if visit.start >= lead.end and (visit.via is not None or asked_for is not None):
                    continue  # a later step of the group that was called: its order tells where it comes from
                if (
                    visit.via is None and asked_for is not None
                ):  # a step beside: the request for the group was for it, too
                    self._add(Edge(parent, visit, asked_for.mode or "transfer", asked_for.evidence, asked_for))
                    continue
            found = by_tool.get(id(visit.via)) if visit.via is not None else None
            lost = False  # a span between never came: what it was, only times tell
            for up in visit.first.ancestors():
                if self.visits.owner[up.key] is not parent and up.key not in by_node:
                    break
                found = by_node.get(up.key, found)
                lost = lost or up.guessed
            if found is not None and found.tool is None and found.target and not self._is(visit, found.target):
                found = None
            if visit.via is None and found is None:
                # A framework that starts the target inside the source's span: the source's latest open request for this agent.
                asked = (
                    s
                    for s in reversed(by_source.get(id(parent), []))
                    if not s.taken_by
                    and s.start <= visit.start
                    and (self._is(visit, s.target) or (s.sure and s.tool is not None and not s.target))
                )
                request = next(asked, None)
                if request is not None:
                    went_on = any(m.start >= visit.end for m in parent.models)  # it waited for the answer
                    by_call: Mode = request.mode or ("delegate" if went_on else "transfer")
                    self._add(Edge(parent, visit, by_call, request.evidence, request))
                    continue
            if found is not None and found.failed and found.stated:
                self.incoming[id(visit)] = []  # the producer's own word: asked for, and not taken up
                continue
            mode: Mode = (found.mode if found is not None else "") or "delegate"
            named = found is not None and bool(found.target)
            evidence = "explicit" if named else "inferred" if lost else "structural"
            self._add(Edge(parent, visit, mode, evidence, found, visit.via))

    def _handed_on(self, signals: Sequence[Signal], visit: AgentVisit) -> Signal | None:
        """The latest open request for this run by one beside it, below the same run and in the same call of a tool."""
        for signal in reversed(signals[-LOOK_BACK:]):
            if signal.taken_by or signal.source is visit or signal.start > visit.start:
                continue
            if self._is(visit, signal.target) or (not signal.target and signal.sure and visit.via is not None):
                return signal
        return None

    def _signalled(self) -> None:
        """Each visit takes up the latest open request for its agent; a request that names nobody goes to whoever runs next."""
        waiting: dict[tuple[str, str], list[Signal]] = {}
        asked: dict[str, list[Signal]] = {}  # the same, whatever the run, but for requests told by a name alone
        unnamed: dict[tuple[str, int], list[Signal]] = {}
        pending = iter([s for s in self.signals if not s.taken_by and not s.failed and s.mode != "return"])
        head = next(pending, None)
        for visit in self.visits.all:
            while head is not None and head.start <= visit.start:
                run = self.tree.run_of(head.node.span.trace_id)
                if head.target:
                    waiting.setdefault((run, self._keys_of(head.target)), []).append(head)
                    if head.sure or head.tool:
                        asked.setdefault(self._keys_of(head.target), []).append(head)
                elif head.sure:
                    unnamed.setdefault((run, id(head.source.parent)), []).append(head)
                head = next(pending, None)
            if not self._free(visit):
                continue
            run = self.tree.run_of(visit.trace_id)
            open_for = [waiting[run, k] for k in visit.keys if (run, k) in waiting]
            chosen = self._latest(open_for, visit) or self._latest([unnamed.get((run, id(visit.parent)), [])], visit)
            if chosen is None and visit.parent is None:
                chosen = self._from_another_run(asked, visit)
            if chosen is not None:
                self._take_up(chosen, visit)

    def _latest(self, stacks: Iterable[list[Signal]], visit: AgentVisit) -> Signal | None:
        best: Signal | None = None
        for stack in stacks:
            while stack and (stack[-1].taken_by or self._source_came_back(stack[-1], visit)):
                stack.pop()
            signal = next((s for s in reversed(stack[-LOOK_BACK:]) if s.source is not visit and not s.taken_by), None)
            if signal is not None and (best is None or (signal.start, signal.sure) > (best.start, best.sure)):
                best = signal
        return best

    def _from_another_run(self, asked: dict[str, list[Signal]], visit: AgentVisit) -> Signal | None:
        """A request that the session's next trace takes up: runs that nothing joins but the session and the name asked for."""
        if self._first_in_trace[visit.trace_id] is not visit:
            return None
        found: list[Signal] = []
        for stack in (asked[key] for key in visit.keys if key in asked):
            while stack and stack[-1].taken_by:
                stack.pop()
            found += [s for s in stack[-1:] if s.source is not visit and s.source.trace_id != visit.trace_id]
        latest = max(found, key=lambda s: (s.start, s.node.key), default=None)
        if latest is None or self._acts_after(latest, visit.start):
            return None
        self.tree.runs.join(latest.node.span.trace_id, visit.trace_id)
        return latest

    def _take_up(self, signal: Signal, visit: AgentVisit) -> None:
        tool = signal.tool
        inside = tool is not None and tool.start <= visit.start and visit.end <= tool.end and visit.end > visit.start
        mode: Mode = signal.mode or ("delegate" if inside else "transfer")
        self._add(Edge(signal.source, visit, mode, signal.evidence if signal.target else "inferred", signal, tool))

    def _source_came_back(self, signal: Signal, visit: AgentVisit) -> bool:
        """Whether the asking agent had another turn in between: then the request is over."""
        source = signal.source
        same = self._by_key.get(source.key, [])
        first = bisect_right(same, signal.start, key=lambda v: v.start)
        for other in same[first : first + LOOK_BACK]:
            if other.start >= visit.start:
                return False
            if other is not source and other.trace_id == visit.trace_id and other.parent is source.parent:
                return True
        return False

    def _named_on_visit(self) -> None:
        """The visit's own span says which agent it came from."""
        for visit in self.visits.all:
            if not self._free(visit):
                continue
            modes: tuple[tuple[str, Mode], ...] = (("called_by", "delegate"), ("came_from", "transfer"))
            for attribute, mode in modes:
                name = next((n for f in visit.facts if (n := getattr(f, attribute))), "")
                source = self._before_named(name, visit) if name else None
                if source is not None:
                    self._add(Edge(source, visit, mode, "structural"))
                    break

    def _before_named(self, name: str, visit: AgentVisit) -> AgentVisit | None:
        """The latest visit of that agent in the same run that began before."""
        candidates = self._by_key.get(self._keys_of(name), [])
        last = bisect_right(candidates, visit.start, key=lambda v: v.start)
        run = self.tree.run_of(visit.trace_id)
        for candidate in reversed(candidates[:last]):
            if candidate is not visit and self.tree.run_of(candidate.trace_id) == run:
                return candidate
        return None

    def _by_time(self) -> None:
        """A tool that reads like a question to this agent, and the visit lies in the call's time: a delegation whose nesting was lost."""
        calls: dict[tuple[str, str], list[tuple[Tool, AgentVisit]]] = {}
        for source in self.visits.all:
            for tool in source.tools:
                wanted = names.asked_in_tool_name(tool.fact.name) or tool.fact.name
                found = self.visits.names.find(wanted) or self.visits.names.find(tool.fact.name)
                if found and not tool.fact.plain and tool.end > tool.start:
                    calls.setdefault((tool.node.span.trace_id, names.agent_key(found)), []).append((tool, source))
        for stack in calls.values():
            stack.sort(key=lambda c: c[0].start)
        for visit in self.visits.all:
            if not self._free(visit) or visit.virtual:
                continue
            stack = calls.get((visit.trace_id, visit.key), [])
            last = bisect_right(stack, visit.start, key=lambda c: c[0].start)
            for tool, source in reversed(stack[max(0, last - LOOK_BACK) : last]):
                if source is not visit and visit.end <= tool.end:
                    visit.via = tool
                    self._add(Edge(source, visit, "delegate", "structural", None, tool))
                    break

    def _beside(self) -> None:
        """Runs that their producer shows beside their caller: the latest open call of an agent in whose time one lies made it, each call one."""
        flat = [v for v in self.visits.all if self._free(v) and any(f.flat for f in v.facts)]
        if not flat:
            return
        taken = {id(e.via) for e in self.all if e.via is not None}
        calls: dict[str, list[tuple[Tool, AgentVisit]]] = {}
        for source in self.visits.all:
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
                self._add(Edge(source, visit, "delegate", "structural", None, tool))
                self._go_on_in(tool, visit)

    def _go_on_in(self, tool: Tool, called: AgentVisit) -> None:
        """Who was called, and whom control went on to from there within the call's time, stand in the call."""
        waiting = [called]
        while waiting:
            visit = waiting.pop()
            visit.via = tool
            for edge in self.outgoing.get(id(visit), ()):
                on = edge.target
                if on is not None and edge.mode == "transfer" and on.via is None and on.end <= tool.end:
                    waiting.append(on)

    def _caused(self) -> None:
        """A link or a message leads from the span around a visit back to another agent's run: handed over, or called by a tool that waited."""
        causes = Causes(self.tree, self.visits)
        for visit in self.visits.all:
            if not self._free(visit) or visit.parent is not None:
                continue
            for source, tool in causes.of(visit):
                if source.key != visit.key and source.start <= visit.start:
                    visit.via = tool
                    self._add(Edge(source, visit, "delegate" if tool else "transfer", "structural", None, tool))

    # ---- inferred

    def _by_order(self) -> None:
        """Visits side by side in one trace: each comes from those before it."""
        groups: dict[tuple[str, int, int], list[AgentVisit]] = {}
        called = {id(e.target) for e in self.all if e.mode == "delegate"}
        for visit in self.visits.all:
            if (id(visit) not in called or visit.via is not None) and not visit.adrift:
                team = any(f.team for f in visit.facts)
                scope = self.tree.run_of(visit.trace_id) if team else visit.trace_id
                groups.setdefault((scope, *_place(visit)), []).append(visit)
        for group in groups.values():
            order = Order(group)
            for visit in group:
                known = {id(e.source): e for e in self.incoming.get(id(visit), ())}
                if not self._free(visit) and not self._joins(visit, known.values()):
                    continue
                for source in order.before(visit):
                    if source.key != visit.key and id(source) not in known:
                        self._add(Edge(source, visit, "transfer", "inferred"))

    def _joins(self, visit: AgentVisit, incoming: Iterable[Edge]) -> bool:
        """Whether runs beside the one that a message or a span names as the cause were waited for, too."""
        caused = [e for e in incoming if e.signal is None and e.via is None and e.mode == "transfer"]
        return bool(caused) and caused == list(incoming) and any(f.broadcast for f in visit.facts)

    def _by_words(self) -> None:
        """A program that runs one agent after another in traces of their own: the words of the one are what the other was given."""
        spoken: dict[str, AgentVisit] = {}
        for visit in self.visits.all:
            if visit.parent is None and self._free(visit):
                for form in words.taken_in(visit):
                    source = spoken.get(form)
                    if source is not None and source.key != visit.key and source.trace_id != visit.trace_id:
                        self._add(Edge(source, visit, "transfer", "inferred"))
                        self.tree.runs.join(source.trace_id, visit.trace_id)
                        break
            for form in words.passed_on(visit):
                spoken[form] = visit

    # ---- what follows from the edges

    def _resumed(self) -> None:
        """An agent that asked for another by a call, and runs again right after it though nobody handed back, was waiting: a delegation."""
        beside: dict[tuple[str, int], list[AgentVisit]] = {}
        for visit in self.visits.all:
            beside.setdefault((visit.trace_id, id(visit.parent)), []).append(visit)
        asked_out = {id(e.source) for e in self.all if e.signal is not None}
        gone: set[int] = set()
        for edge in self.all:
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
            guesses = self.incoming.get(id(again), [])
            if any(e.evidence != "inferred" for e in guesses):
                continue
            edge.mode, edge.back = "delegate", last
            gone.update(id(e) for e in guesses)  # the way back is a return, not a handoff of its own
            self.incoming[id(again)] = [edge]
        self.all = [e for e in self.all if id(e) not in gone]

    def _returns(self) -> None:
        """A completed delegation has one return; one that a span states by itself says what it carried, and needs no delegation."""
        stated: dict[int, Signal] = {id(s.source): s for s in self.signals if s.mode == "return"}
        for edge in [e for e in self.all if e.mode == "delegate" and e.target is not None]:
            target, via = edge.target, edge.via
            assert target is not None
            said = stated.pop(id(target), None)
            last = edge.back or self._last_of(target)
            ended = any(n.span.end_ns for n in last.nodes) and not (via is not None and via.fact.failed)
            if said is None and not ended:
                continue
            answer = said.arguments if said is not None else via.fact.result if via is not None else None
            evidence = said.evidence if said is not None else edge.evidence
            self.all.append(Edge(last, edge.source, "return", evidence, said, answer=answer, of=edge))
        for said in stated.values():
            back = self._before_named(said.target, said.source)
            if back is not None and not said.failed:
                self.all.append(Edge(said.source, back, "return", said.evidence, said, answer=said.arguments))

    def _last_of(self, called: AgentVisit) -> AgentVisit:
        """Who has the last word in a call: of the runs in it that control went on to, the one that ended last."""
        last, seen, waiting = called, {id(called)}, [called]
        while waiting:
            for edge in self.outgoing.get(id(waiting.pop()), ()):
                on = edge.target
                if on is not None and edge.mode == "transfer" and _place(on) == _place(called) and id(on) not in seen:
                    seen.add(id(on))
                    waiting.append(on)
                    last = max(last, on, key=lambda v: v.end)
        return last

    def _dropped(self) -> None:
        """Requests that nobody took up."""
        visited = {v.key for v in self.visits.all}
        for signal in self.signals:
            if signal.taken_by or signal.weak or not signal.target or signal.mode == "return":
                continue
            target = self.visits.names.find(signal.target)
            if not signal.sure:
                known = bool(target) and names.agent_key(target) != signal.source.key
                if not visited - {signal.source.key} or not (known or not self._acts_after(signal)):
                    continue
            mode: Mode = signal.mode or "transfer"
            name = target or signal.target
            self.all.append(Edge(signal.source, None, mode, signal.evidence, signal, signal.tool, name))

    def _acts_after(self, signal: Signal, until: int | None = None) -> bool:
        """Whether the source does anything after the request in its trace (before `until`): a call, a further visit."""
        key = (signal.source.trace_id, signal.source.key)
        acts = self._acts.get(key, [])
        later = acts[bisect_right(acts, signal.start, key=lambda a: a[0]) :]
        return any(k != signal.node.key for start, k in later if until is None or start < until)


def _place(visit: AgentVisit) -> tuple[int, int]:
    """Where a run stands: below which run, and in which call of that run's."""
    return id(visit.parent), id(visit.via)
