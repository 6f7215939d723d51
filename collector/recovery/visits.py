"""Agent visits: which spans are one run of one agent, what it is called, and which model and tool calls are its own.

Separate from the edges because duplicates are settled here once: native spans and an instrumentation's, wrappers and what they wrap,
two instrumentations on one application. Behind this module a run of an agent is one `AgentVisit`, and a call is one call.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise
from typing import Protocol, TypeVar

from collector.facts import Content, Known, Message, ModelCall, ToolCall, Transcript, Usage, Visit, values
from collector.recovery import names
from collector.recovery.tree import Node, Tree

_LOOK_BACK = 64
"""How many runs or calls are looked at for one that is the same, recorded twice: more do not go on at once."""

_SAME = 0.8
"""Share of its time that a run lies in another's, to be the same in another instrumentation's words."""


class _Timed(Protocol):
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


class Model:
    """One model call (spans of two instrumentations for one call are one)."""

    __slots__ = ("conventions", "end", "fact", "node", "start")

    def __init__(self, node: Node, fact: ModelCall) -> None:
        self.node, self.fact = node, fact
        self.start, self.end = node.start, node.end
        self.conventions = {node.span.convention}


class Tool:
    """One tool call, in the visit that made it."""

    __slots__ = ("convention", "conventions", "end", "fact", "node", "nodes", "start", "visit")

    def __init__(self, node: Node, fact: ToolCall, visit: AgentVisit | None) -> None:
        self.node, self.fact, self.visit = node, fact, visit
        self.nodes = [node]  # of every instrumentation that recorded the call
        self.start, self.end = node.start, node.end
        self.convention = node.span.convention
        self.conventions = {node.span.convention}


_Call = TypeVar("_Call", Model, Tool)


class AgentVisit:
    """One run of an agent: from its start until it gives control away or ends."""

    __slots__ = (
        "adrift",
        "answers",
        "end",
        "facts",
        "keys",
        "models",
        "name",
        "nodes",
        "parent",
        "start",
        "team",
        "team_keys",
        "tools",
        "via",
        "virtual",
        "visible",
    )  # fmt: skip

    def __init__(self, node: Node, fact: Visit, name: str) -> None:
        self.nodes: list[Node] = [node]
        self.facts: list[Visit] = [fact]
        self.name = name
        self.start, self.end = node.start, node.end
        self.parent: AgentVisit | None = None
        self.via: Tool | None = None
        self.models: list[Model] = []
        self.tools: list[Tool] = []
        self.virtual = False
        self.team: list[AgentVisit] = []  # of the first run in a group that was asked for as one: its runs in order
        self.team_keys: set[str] = set()  # what that group is asked for by
        self.adrift = False  # called by a run whose agent nothing names
        self.answers: list[tuple[Model | None, Message]] | None = None
        self.visible: str | None = None
        self.keys: set[str] = set()
        self._name_keys()

    def _name_keys(self) -> None:
        self.keys = {
            names.agent_key(a)
            for f in self.facts
            for a in (f.name, *f.aliases)
            if a and ((f.named and a is f.name) or not names.is_placeholder(a))
        }
        if self.name:
            self.keys.add(names.agent_key(self.name))
        self.keys |= self.team_keys

    @property
    def key(self) -> str:
        return names.agent_key(self.name)

    @property
    def first(self) -> Node:
        """The span that stands for the visit: its earliest, outermost one."""
        return self.nodes[0]

    @property
    def trace_id(self) -> str:
        return self.first.span.trace_id

    @property
    def convention(self) -> str:
        return self.first.span.convention

    @property
    def role(self) -> str:
        return next((f.role for f in self.facts if f.role), "")

    @property
    def step(self) -> int | None:
        return next((f.step for f in self.facts if f.step is not None), None)

    def take(self, other: AgentVisit) -> None:
        """Absorb another description of the same run."""
        self.nodes += other.nodes
        self.facts += other.facts
        if not self.name:
            self.name = other.name
        self.nodes.sort(key=lambda n: (n.start, -n.end, n.key))
        self.start = min(self.start, other.start)
        self.end = max(self.end, other.end)
        self.models += other.models
        self.tools += other.tools
        self._name_keys()

    def add_model(self, model: Model) -> Model:
        """Add a call of a model; one that another instrumentation recorded beside it is the same call."""
        twin = _twin(self.models, model)
        if twin is None:
            self.models.append(model)
            return model
        twin.fact = _merge_models(twin.fact, model.fact)
        twin.conventions |= model.conventions
        return twin

    def add_tool(self, tool: Tool) -> None:
        """Add a call of a tool; one that another instrumentation recorded beside it is the same call."""
        key = names.agent_key(tool.fact.name)
        twin = _twin([t for t in self.tools[-_LOOK_BACK:] if names.agent_key(t.fact.name) == key], tool)
        if twin is None:
            tool.visit = self
            self.tools.append(tool)
        else:
            twin.fact = _merge_tools(twin.fact, tool.fact)
            twin.conventions |= tool.conventions
            twin.nodes += tool.nodes
            twin.start, twin.end = min(twin.start, tool.start), max(twin.end, tool.end)

    def content(self, attribute: str) -> Content | None:
        """The first recorded `input`, `output` or `state` of the spans of this run."""
        return next((c for f in self.facts if (c := getattr(f, attribute)) is not None), None)

    def messages(self, attribute: str) -> tuple[Message, ...] | None:
        """The first recorded `heard` or `said` of the agent's own spans."""
        return next((m for f in self.facts if (m := getattr(f, attribute)) is not None), None)

    def models_in_order(self) -> list[Model]:
        """Its model calls by start."""
        return sorted(self.models, key=lambda m: (m.node.start, m.node.key))

    def usage(self) -> Usage | None:
        """Tokens of the visit: of its model calls, else its own figures."""
        own = [m.fact.usage for m in self.models if m.fact.usage is not None]
        if own:
            return Usage(_sum(u.input for u in own), _sum(u.output for u in own))
        return next((f.usage for f in self.facts if f.usage is not None), None)


def _sum(values: Iterable[int | None]) -> int | None:
    known = [v for v in values if v is not None]
    return sum(known) if known else None


class Visits:
    """All visits of a session, in order of start, with every span's owner."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.owner: dict[tuple[str, str], AgentVisit | None] = {}
        self.known: dict[str, None] = {}
        self.ids: dict[str, str] = {}
        self._model_at: dict[tuple[str, str], Model] = {}
        self._known()
        self.all: list[AgentVisit] = self._find()
        self._calls()
        self._drop_idle()
        self._twins()
        self._stand_ins()
        self._nest()
        self.all.sort(key=lambda v: (v.start, v.first.key))
        self._told()
        self.names = names.Directory([v.name for v in self.all] + list(self.known))

    # ---- names

    def _known(self) -> None:
        for node in self.tree.ordered:
            for fact in node.span.facts:
                if isinstance(fact, Known):
                    self.known.update(dict.fromkeys(n for n in fact.names if n and not names.is_placeholder(n)))
                    self.ids.update(fact.ids)
                elif isinstance(fact, Visit):
                    self.known.update(dict.fromkeys(n for n in fact.peers if n and not names.is_placeholder(n)))

    def _name(self, fact: Visit) -> str:
        if fact.name and (fact.named or not names.is_placeholder(fact.name)):
            return names.clean(self.ids.get(fact.name, fact.name))
        return self.ids.get(fact.agent_id, "") if fact.agent_id else ""

    # ---- spans to visits

    def _find(self) -> list[AgentVisit]:
        """Visits in tree order; a span nested in a run of the same agent, with no tool call between, is that run."""
        found: list[AgentVisit] = []
        siblings: dict[tuple[object, str], AgentVisit] = {}  # the latest run of each agent below each parent
        tool_since: dict[tuple[str, str], bool] = {}  # a tool call stands between the span and its owner's span
        for node in self.tree.ordered:
            above = self.owner.get(node.parent.key) if node.parent is not None else None
            crossed = node.parent is not None and tool_since[node.parent.key]
            visit = None
            for fact in node.span.facts:
                if not isinstance(fact, Visit):
                    continue
                new = AgentVisit(node, fact, self._name(fact))
                if visit is not None:
                    visit.take(new)
                elif above is not None and not crossed and _same_run(above, new):
                    above.take(new)
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
            self.owner[node.key] = visit if visit is not None else above
            tool_since[node.key] = is_tool or (crossed and visit is None)
        return found

    def _beside(self, node: Node, new: AgentVisit, siblings: dict[tuple[object, str], AgentVisit]) -> AgentVisit | None:
        """A run that the same producer shows by two spans side by side: same parent, same agent, other layer, one inside the other's time."""
        layer = new.facts[0].layer
        if not layer or node.parent is None:
            return None
        for key in sorted(new.keys):
            other = siblings.get((node.parent.key, key))
            layers = {f.layer for f in other.facts} if other is not None else set()
            if other is not None and layer not in layers and "" not in layers and _overlap(other, new) >= 0.9:
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
                    self._add_model(node, fact, owner)
                elif isinstance(fact, ToolCall):
                    self._add_tool(node, fact, owner)

    def _add_model(self, node: Node, fact: ModelCall, owner: AgentVisit | None) -> None:
        if owner is None:
            return
        for up in node.ancestors():  # a call that an inner instrumentation records once more
            if self.owner[up.key] is not owner:
                break
            outer = self._model_at.get(up.key)
            if outer is not None:
                outer.fact = _merge_models(outer.fact, fact)
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
                tool.fact = _merge_tools(tool.fact, fact)
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
            if (outer := self._above(visit)) is not None:
                inside.setdefault(id(outer), []).append(visit)
        self._join_steps(inside)
        gone: set[int] = set()
        for visit in self.all:
            idle = not visit.models and not visit.tools
            soft = all(f.soft for f in visit.facts) and not visit.models and not (visit.keys & named)
            wrapper = all(f.wraps for f in visit.facts) and idle and id(visit) in inside
            if soft or wrapper or not visit.name:
                gone.add(id(visit))
        if not gone:
            return
        self._lead_teams(inside, gone)
        for visit in self.all:
            up = self._above(visit)
            while up is not None and id(up) in gone and not visit.adrift:
                visit.adrift = not up.name and bool(up.models or up.tools)
                up = self._above(up)
        for node in self.tree.ordered:
            owner = self.owner[node.key]
            while owner is not None and id(owner) in gone:
                owner = self._above(owner)
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

    def _told(self) -> None:
        """Calls that the span of a workflow tells of the runs in it become calls of those runs, and name how inner runs were called."""
        for node in self.tree.ordered:
            told = [f for f in node.span.facts if isinstance(f, Transcript)]
            if not told:
                continue
            inside = {n.key for n in _below(node)}
            open_runs = [v for v in self.all if any(n.key in inside for n in v.nodes)]
            inner: dict[int, list[AgentVisit]] = {}
            for visit in open_runs:
                if visit.parent is not None:
                    inner.setdefault(id(visit.parent), []).append(visit)
            outer = [v for v in open_runs if v.parent is None or not any(n.key in inside for n in v.parent.nodes)]
            for transcript in told:
                run = next((v for v in outer if names.agent_key(transcript.agent) in v.keys), None)
                if run is not None:
                    outer.remove(run)
                    if transcript.given is not None and run.content("input") is None:
                        run.facts.append(Visit(input=transcript.given, quotes=True))
                    if not run.tools:  # else its own spans tell
                        _tell(run, transcript.calls, [v for v in inner.get(id(run), []) if v.via is None])

    def _above(self, visit: AgentVisit) -> AgentVisit | None:
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
                others = [k for k in kept[-_LOOK_BACK:] if visit.convention not in {n.span.convention for n in k.nodes}]
                others = [k for k in others if _overlap(k, visit) >= _SAME]
                twin = max(others, key=lambda k: _overlap(k, visit, both=True), default=None)
                if twin is None:
                    kept.append(visit)
                else:
                    _join_twin(twin, visit)
                    self.tree.runs.join(twin.trace_id, visit.trace_id)
                    merged[id(visit)] = twin
        if merged:
            for key, owner in self.owner.items():
                if owner is not None and id(owner) in merged:
                    self.owner[key] = merged[id(owner)]
            self.all = [v for v in self.all if id(v) not in merged]

    def _stand_ins(self) -> None:
        """A call whose callee has no span of its own: the call's span stands for the callee's run."""
        directory = names.Directory([v.name for v in self.all] + list(self.known))
        elsewhere: dict[
            str, list[AgentVisit]
        ] = {}  # runs that nothing stands above: another process may have recorded the callee's
        for visit in self.all:
            if self._above(visit) is None:
                elsewhere.setdefault(visit.key, []).append(visit)
        by_key: dict[str, list[AgentVisit]] = {}
        for visit in self.all:
            by_key.setdefault(visit.key, []).append(visit)
        waiting = list(self.all)
        while waiting:
            visit = waiting.pop()
            for tool in visit.tools:
                fact = tool.fact
                if tool.visit is not visit or not (fact.runs_target and fact.target) or fact.failed:
                    continue
                if self._has_visit_below(tool.node, visit) or self._recorded_elsewhere(tool, by_key):
                    continue
                name = directory.find(fact.target) or fact.target
                remote = elsewhere.get(names.agent_key(name), [])
                recorded = next((v for v in remote if v.trace_id != visit.trace_id), None)
                if recorded is not None:
                    remote.remove(recorded)
                    continue
                stand_in = AgentVisit(tool.node, Visit(name=name, output=fact.result), name)
                stand_in.virtual = True
                stand_in.parent, stand_in.via = visit, tool
                self.all.append(stand_in)
                for node in _below(tool.node):
                    if self.owner[node.key] is visit:
                        self.owner[node.key] = stand_in
                inside = {n.key for n in _below(tool.node)}
                stand_in.models = [m for m in visit.models if m.node.key in inside]
                stand_in.tools = [t for t in visit.tools if t.node.key in inside]
                visit.models = [m for m in visit.models if m.node.key not in inside]
                visit.tools = [t for t in visit.tools if t.node.key not in inside]
                for inner in stand_in.tools:
                    inner.visit = stand_in
                waiting.append(stand_in)  # whose callees may have no spans either

    def _recorded_elsewhere(self, tool: Tool, by_key: dict[str, list[AgentVisit]]) -> bool:
        """Whether another instrumentation shows the callee's run, in a tree of its own."""
        return any(
            v.convention != tool.convention
            and v.first.span.service == tool.node.span.service
            and tool.start <= v.start
            and v.end <= tool.end
            for v in by_key.get(names.agent_key(tool.fact.target), ())
        )

    def _has_visit_below(self, node: Node, owner: AgentVisit) -> bool:
        return any(self.owner[n.key] not in (owner, None) for n in _below(node))

    def _nest(self) -> None:
        """Which visit a visit stands in, and through which tool call."""
        by_node = {n.key: t for v in self.all for t in v.tools for n in t.nodes}
        for visit in self.all:
            if visit.virtual:
                continue
            visit.parent = self._above(visit)
            if visit.parent is None:
                continue
            for up in visit.first.ancestors():
                if self.owner[up.key] is not visit.parent:
                    break
                if up.key in by_node:
                    visit.via = by_node[up.key]
                    break


def _tell(run: AgentVisit, calls: Iterable[ToolCall], inner: list[AgentVisit]) -> None:
    """Give a run its calls; a call that names an agent is how the next inner run of that agent was called."""
    for call in calls:
        tool = Tool(run.first, call, run)
        wanted = names.agent_key(call.target) if call.target and not call.failed else ""
        called = next((v for v in inner if wanted and wanted in v.keys), None)
        if called is not None:
            inner.remove(called)
            called.via = tool
            tool.start, tool.end = called.start, called.end
        run.tools.append(tool)


def _in_time(flat: list[AgentVisit], node: Node, owner: AgentVisit | None) -> AgentVisit | None:
    """Whose call this is, where a producer shows runs side by side and hangs their calls anywhere: the innermost run's in whose time it lies."""
    if owner is not None and (not any(f.flat for f in owner.facts) or owner.start <= node.start <= owner.end):
        return owner
    at = bisect_right(flat, node.start, key=lambda v: v.start)
    around = [v for v in flat[max(0, at - _AT_ONCE) : at] if node.end <= v.end]
    nested = all(a.end >= b.end for a, b in pairwise(around))  # runs that only overlap ran at once: nobody can tell
    return around[-1] if around and nested else owner


_AT_ONCE = 64
"""How many runs of one trace are looked at: more do not run at once."""


def _below(node: Node) -> Iterable[Node]:
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


def _overlap(a: _Timed, b: _Timed, both: bool = False) -> float:
    """Share of the shorter run (`both`: of the longer) that lies in the other; 1 where both are instants at one place."""
    inner = min(a.end, b.end) - max(a.start, b.start)
    lengths = (a.end - a.start, b.end - b.start)
    length = max(lengths) if both else min(lengths)
    if length <= 0:
        return 1.0 if inner >= 0 else 0.0
    return inner / length


def _twin(calls: list[_Call], call: _Call) -> _Call | None:
    """The record of the same call by another instrumentation: at its time, and of no convention that the call is of."""
    others = [c for c in calls[-_LOOK_BACK:] if not c.conventions & call.conventions and _overlap(c, call) >= 0]
    return max(others, key=lambda c: _overlap(c, call, both=True), default=None)


def _merge_models(outer: ModelCall, inner: ModelCall) -> ModelCall:
    return ModelCall(
        model=outer.model or inner.model,
        agent=outer.agent or inner.agent,
        usage=outer.usage or inner.usage,
        heard=outer.heard or inner.heard,
        said=outer.said or inner.said,
    )


def _fuller(one: Content | None, other: Content | None) -> Content | None:
    """Of two records of a call's arguments the one that names them."""
    found = [c for c in (one, other) if c is not None]
    return next((c for c in found if isinstance(values.parse(c.value), dict)), found[0] if found else None)


def _merge_tools(outer: ToolCall, inner: ToolCall) -> ToolCall:
    return ToolCall(
        name=outer.name or inner.name,
        call_id=outer.call_id or inner.call_id,
        agent=outer.agent or inner.agent,
        arguments=_fuller(outer.arguments, inner.arguments),
        result=outer.result or inner.result,
        target=outer.target or inner.target,
        mode=outer.mode or inner.mode,
        certain=outer.certain or inner.certain,
        plain=(outer.plain or inner.plain) and not (outer.certain or inner.certain),
        runs_target=outer.runs_target or inner.runs_target,
        failed=outer.failed or inner.failed,
    )


def _join_twin(kept: AgentVisit, other: AgentVisit) -> None:
    """Union of two recordings of one run; its calls count once."""
    models, tools = other.models, other.tools
    other.models, other.tools = [], []
    kept.take(other)
    for model in models:
        kept.add_model(model)
    for tool in tools:
        kept.add_tool(tool)
