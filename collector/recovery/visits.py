"""Agent visits: which spans are one run of one agent, what it is called, and which model and tool calls are its own.

Separate from the edges because duplicates are settled here once: native spans and an instrumentation's, wrappers and what they wrap,
two instrumentations on one application. Behind this module a run of an agent is one `AgentVisit`, and a call is one call.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise

from collector.facts import ModelCall, ToolCall, Visit
from collector.facts.placeholders import is_placeholder
from collector.recovery import names
from collector.recovery.naming import Naming
from collector.recovery.node import Node
from collector.recovery.tree import Tree
from collector.recovery.visit import LOOK_BACK, AgentVisit, Model, Tool, join_twin, merge_models, merge_tools, overlap

_SAME = 0.8
"""Share of its time that a run lies in another's, to be the same in another instrumentation's words."""


class Visits:
    """All visits of a session, in order of start, with every span's owner. `stand_ins.complete` adds those that have no spans of their own."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.owner: dict[tuple[str, str], AgentVisit | None] = {}
        self._naming = Naming(tree)
        self.known = self._naming.known
        self._model_at: dict[tuple[str, str], Model] = {}
        self._runs: dict[tuple[str, str], list[AgentVisit]] | None = None
        self.names = names.Directory(())
        self.all: list[AgentVisit] = self._find()
        self._calls()
        self._executed()
        self._drop_idle()
        self._twins()

    def settle(self) -> None:
        """Put in order what was found, once runs without spans of their own have been added."""
        self._nest()
        self.all.sort(key=lambda v: (v.start, v.first.key))
        self.names = names.Directory([v.name for v in self.all] + list(self.known))

    # ---- spans to visits

    def _find(self) -> list[AgentVisit]:
        """Visits in tree order; a span nested in a run of the same agent, with no tool call between, is that run."""
        found: list[AgentVisit] = []
        siblings: dict[tuple[object, str], AgentVisit] = {}  # the latest run of each agent below each parent
        tool_since: dict[tuple[str, str], bool] = {}  # a tool call stands between the span and its owner's span
        turns: dict[
            tuple[str, str], AgentVisit
        ] = {}  # below each parent whose turn it is, where runs are told in steps
        for node in self.tree.ordered:
            above = self.owner.get(node.parent.key) if node.parent is not None else None
            place = (node.span.trace_id, node.span.parent_span_id)
            crossed = node.parent is not None and tool_since[node.parent.key]
            visit = None
            for fact in node.span.facts:
                if not isinstance(fact, Visit):
                    continue
                new = AgentVisit(node, fact, self._naming.of(node, fact))
                if fact.steps:
                    visit = turns.get(place)
                    if visit is not None and visit.key == new.key:
                        visit.take(new)
                    else:
                        visit = turns[place] = new
                        found.append(new)
                elif visit is not None:
                    visit.take(new)
                elif above is not None and not crossed and self._goes_on(above, new):
                    end = above.end
                    above.take(new)
                    if above.first.ended and new.convention != above.convention:
                        above.end = (
                            end  # another producer's span inside may be closed late, by what cleans up after a program
                        )
                    visit = above
                else:
                    twin = self._beside(node, new, siblings)
                    if twin is not None:
                        twin.take(new)
                        visit = twin
                    else:
                        found.append(new)
                        visit = new
                        if node.parent is not None:
                            siblings.update({(node.parent.key, key): new for key in new.keys})
            is_tool = any(isinstance(f, ToolCall) for f in node.span.facts)
            turn = turns.get(place) if visit is None else None
            if turn is not None:
                turn.end = max(turn.end, node.end)
                above = turn
            self.owner[node.key] = visit if visit is not None else above
            tool_since[node.key] = is_tool or (crossed and visit is None)
        return found

    def _goes_on(self, above: AgentVisit, new: AgentVisit) -> bool:
        """Whether a run in another is that run."""
        return _same_run(above, new) and not (new.name and above.first.key in self._naming.frames)

    def _beside(self, node: Node, new: AgentVisit, siblings: dict[tuple[object, str], AgentVisit]) -> AgentVisit | None:
        """A run that the same producer shows by two spans side by side: same parent, same agent, other layer, one inside the other's time."""
        layer = new.facts[0].layer
        if not layer or node.parent is None:
            return None
        for key in sorted(new.keys):
            other = siblings.get((node.parent.key, key))
            layers = {f.layer for f in other.facts} if other is not None else set()
            if other is not None and layer not in layers and "" not in layers and overlap(other, new) >= 0.9:
                return other
        return None

    def _calls(self) -> None:
        flat: dict[str, list[AgentVisit]] = {}
        for visit in sorted(self.all, key=lambda v: v.start):
            if any(f.flat for f in visit.facts):
                flat.setdefault(visit.trace_id, []).append(visit)
        for node in self.tree.ordered:
            owner = self.owner[node.key]
            if node.span.trace_id in flat and any(isinstance(f, (ModelCall, ToolCall)) for f in node.span.facts):
                owner = self.owner[node.key] = _in_time(flat[node.span.trace_id], node, owner)
            for fact in node.span.facts:
                if isinstance(fact, ModelCall):
                    self._add_model(node, fact, owner or self._told(node, fact.agent))
                elif isinstance(fact, ToolCall):
                    self._add_tool(node, fact, owner or self._told(node, fact.agent))

    def _told(self, node: Node, agent: str) -> AgentVisit | None:
        """Whose call this is where it stands in no run and names its agent: the run's of that agent in whose time it began."""
        if not agent or is_placeholder(agent):
            return None
        if self._runs is None:
            self._runs = {}
            for visit in sorted(self.all, key=lambda v: (v.start, v.first.key)):
                for key in visit.keys:
                    self._runs.setdefault((visit.trace_id, key), []).append(visit)
        runs = self._runs.get((node.span.trace_id, names.agent_key(agent)), [])
        at = bisect_right(runs, node.start, key=lambda v: v.start)
        found = next((v for v in reversed(runs[max(0, at - LOOK_BACK) : at]) if node.start <= v.end), None)
        self.owner[node.key] = found or self.owner[node.key]
        return found

    def _executed(self) -> None:
        """Calls that a helper ran belong to the run whose model asked for them, and what went on below them, too."""
        helpers = [v for v in self.all if all(f.executes for f in v.facts)]
        if not helpers:
            return
        asked: dict[tuple[str, str], AgentVisit] = {}
        for visit in self.all:
            said = [m.fact.said for m in visit.models] or [visit.messages("said")]
            ids = (c.id for messages in said for m in messages or () for c in m.calls if c.id)
            asked.update(((visit.trace_id, call_id), visit) for call_id in ids)
        heirs: dict[int, AgentVisit | None] = {}
        for helper in helpers:
            heirs[id(helper)] = self.above(helper)
            for tool in helper.tools:
                asker = asked.get((helper.trace_id, tool.fact.call_id))
                if asker is not None:
                    asker.add_tool(tool)
                    heirs[id(helper)] = asker
        for key, owner in self.owner.items():
            if owner is not None and id(owner) in heirs:
                self.owner[key] = heirs[id(owner)]
        self.all = [v for v in self.all if id(v) not in heirs]

    def _add_model(self, node: Node, fact: ModelCall, owner: AgentVisit | None) -> None:
        if owner is None:
            return
        for up in node.ancestors():  # a call that an inner instrumentation records once more
            if self.owner[up.key] is not owner:
                break
            outer = self._model_at.get(up.key)
            if outer is not None:
                outer.fact = merge_models(outer.fact, fact)
                return
            if any(isinstance(f, ToolCall) for f in up.span.facts):
                break
        model = Model(node, fact)
        self._model_at[node.key] = owner.add_model(model)

    def _add_tool(self, node: Node, fact: ToolCall, owner: AgentVisit | None) -> None:
        if owner is None:
            return
        for tool in reversed(owner.tools[-64:]):
            nested = any(up is tool.node for up in node.ancestors())
            same_id = (
                bool(fact.call_id) and fact.call_id == tool.fact.call_id and tool.convention != node.span.convention
            )
            same_name = names.agent_key(fact.name) == names.agent_key(tool.fact.name)
            if same_id or (nested and same_name):
                tool.fact = merge_tools(tool.fact, fact)
                tool.end = max(tool.end, node.end)
                tool.conventions.add(node.span.convention)
                tool.nodes.append(node)
                return
        owner.add_tool(Tool(node, fact, owner))

    # ---- what is no visit, what is one visit twice

    def _drop_idle(self) -> None:
        """Soft visits that did no agent's work, wrappers around agents, and runs without any name, give what they own to whoever is above."""
        named = {names.agent_key(n) for n in self.known} | {
            k for v in self.all for k in v.keys if not all(f.soft for f in v.facts)
        }
        inside: dict[int, list[AgentVisit]] = {}
        for visit in self.all:
            if (outer := self.above(visit)) is not None:
                inside.setdefault(id(outer), []).append(visit)
        self._join_steps(inside)
        gone: set[int] = set()
        for visit in self.all:
            idle = not visit.models and not visit.tools
            soft = all(f.soft for f in visit.facts) and not visit.models and not (visit.keys & named)
            wrapper = all(f.wraps for f in visit.facts) and idle and id(visit) in inside
            inner = inside.get(id(visit), [])
            mute = all(f.asks for f in visit.facts) and bool(inner) and not self._asks(visit, inner)
            if soft or wrapper or mute or not visit.name:
                gone.add(id(visit))
        if not gone:
            return
        self._lead_teams(inside, gone)
        for visit in self.all:
            up = self.above(visit)
            while up is not None and id(up) in gone and not visit.adrift:
                visit.adrift = not up.name and bool(up.models or up.tools)
                up = self.above(up)
        for node in self.tree.ordered:
            owner = self.owner[node.key]
            while owner is not None and id(owner) in gone:
                owner = self.above(owner)
            self.owner[node.key] = owner
        for visit in self.all:
            if id(visit) in gone:
                heir = self.owner[visit.first.key]
                if heir is not None:
                    heir.models += visit.models
                    for tool in visit.tools:
                        tool.visit = heir
                    heir.tools += visit.tools
        self.all = [v for v in self.all if id(v) not in gone]

    def _asks(self, visit: AgentVisit, inner: Iterable[AgentVisit]) -> bool:
        """Whether one of the runs in this one stands in a tool call of its own, or such a call stands for a run."""
        calls = {n.key for t in visit.tools for n in t.nodes}
        return any(t.fact.runs_target for t in visit.tools) or any(
            up.key in calls for run in inner for up in run.first.ancestors()
        )

    def _lead_teams(self, inside: dict[int, list[AgentVisit]], gone: set[int]) -> None:
        """Who asks for the team that a wrapper is, asks for the run in it that comes first."""
        for wrapper in reversed(self.all):  # the outermost last, as its team is the larger
            if id(wrapper) not in gone or id(wrapper) not in inside:
                continue
            members: list[AgentVisit] = []
            waiting = list(inside[id(wrapper)])
            while waiting:
                visit = waiting.pop()
                if id(visit) in gone:
                    waiting += inside.get(id(visit), [])
                else:
                    members.append(visit)
            if members:
                members.sort(key=lambda v: (v.start, v.first.key))
                members[0].team_keys |= wrapper.keys
                members[0].keys |= wrapper.keys
                members[0].team = members

    def _join_steps(self, inside: dict[int, list[AgentVisit]]) -> None:
        """A step around one agent, which says that the step is its own, is that agent's run under the agent's name."""
        joined: dict[int, AgentVisit] = {}
        for visit in self.all:
            inner = inside.get(id(visit), [])
            if len(inner) == 1 and all(f.wraps for f in visit.facts) and visit.key in inner[0].keys:
                name = inner[0].name
                visit.take(inner[0])
                visit.name = name
                joined[id(inner[0])] = visit
                inside[id(visit)] = inside.pop(id(inner[0]), [])
        if joined:
            for key, owner in self.owner.items():
                if owner is not None and id(owner) in joined:
                    self.owner[key] = joined[id(owner)]
            for tool in (t for v in joined.values() for t in v.tools):
                tool.visit = joined.get(id(tool.visit), tool.visit)
            self.all = [v for v in self.all if id(v) not in joined]

    def above(self, visit: AgentVisit) -> AgentVisit | None:
        """The visit that this one stands in."""
        for up in visit.first.ancestors():
            owner = self.owner[up.key]
            if owner is not None and owner is not visit:
                return owner
        return None

    def _twins(self) -> None:
        """One run that two instrumentations recorded in trees of their own: same agent, same service, same time, other convention."""
        groups: dict[tuple[str, str], list[AgentVisit]] = {}
        for visit in sorted(self.all, key=lambda v: (v.start, v.first.key)):
            groups.setdefault((visit.first.span.service, visit.key), []).append(visit)
        merged: dict[int, AgentVisit] = {}
        for visits in groups.values():
            if len({v.convention for v in visits}) < 2:
                continue
            kept: list[AgentVisit] = []
            for visit in visits:
                others = [k for k in kept[-LOOK_BACK:] if visit.convention not in {n.span.convention for n in k.nodes}]
                others = [k for k in others if overlap(k, visit) >= _SAME]
                twin = max(others, key=lambda k: overlap(k, visit, both=True), default=None)
                if twin is None:
                    kept.append(visit)
                else:
                    join_twin(twin, visit)
                    self.tree.runs.join(twin.trace_id, visit.trace_id)
                    merged[id(visit)] = twin
        if merged:
            for key, owner in self.owner.items():
                if owner is not None and id(owner) in merged:
                    self.owner[key] = merged[id(owner)]
            self.all = [v for v in self.all if id(v) not in merged]

    def _nest(self) -> None:
        """Which visit a visit stands in, and through which tool call."""
        by_node = {n.key: t for v in self.all for t in v.tools for n in t.nodes}
        for visit in self.all:
            if visit.virtual:
                continue
            visit.parent = self.above(visit)
            if visit.parent is None:
                continue
            for up in visit.first.ancestors():
                if self.owner[up.key] is not visit.parent:
                    break
                if up.key in by_node:
                    visit.via = by_node[up.key]
                    break


def _in_time(flat: list[AgentVisit], node: Node, owner: AgentVisit | None) -> AgentVisit | None:
    """Whose call this is, where a producer shows runs side by side and hangs their calls anywhere: the innermost run's in whose time it lies."""
    if owner is not None and (not any(f.flat for f in owner.facts) or owner.start <= node.start <= owner.end):
        return owner
    at = bisect_right(flat, node.start, key=lambda v: v.start)
    around = [v for v in flat[max(0, at - LOOK_BACK) : at] if node.end <= v.end]
    nested = all(a.end >= b.end for a, b in pairwise(around))  # runs that only overlap ran at once: nobody can tell
    return around[-1] if around and nested else owner


def below(node: Node) -> Iterable[Node]:
    """All spans under a span."""
    stack = list(node.children)
    while stack:
        child = stack.pop()
        yield child
        stack.extend(child.children)


def _same_run(above: AgentVisit, new: AgentVisit) -> bool:
    if (
        not new.name or not above.name
    ):  # one that names nobody; but a default name of the same producer is another agent's
        given = all(any(f.name for f in v.facts) for v in (above, new))
        return not (given and above.convention == new.convention)
    if above.key != new.key and all(f.soft for f in above.facts) != new.facts[0].soft:
        return False  # a step and the agent that runs in it, each with a name of its own
    return bool(above.keys & new.keys)
