"""One run of an agent, and its calls: what is known of it, and how two records of one run or one call become one.

Separate from how runs are found in spans (`visits.py`): everything behind that sees only these.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from collector.facts import Content, Message, ModelCall, ToolCall, Usage, Visit, values
from collector.facts.placeholders import is_placeholder
from collector.recovery import names
from collector.recovery.node import Node

LOOK_BACK = 64
"""How many runs or calls are looked at for one that is the same, recorded twice: more do not go on at once."""


class Timed(Protocol):
    """What has a time: a run or a call."""

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
            if a and ((f.named and a is f.name) or not is_placeholder(a))
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
        twin.fact = merge_models(twin.fact, model.fact)
        twin.conventions |= model.conventions
        return twin

    def add_tool(self, tool: Tool) -> None:
        """Add a call of a tool; one that another instrumentation recorded beside it is the same call."""
        key = names.agent_key(tool.fact.name)
        twin = _twin([t for t in self.tools[-LOOK_BACK:] if names.agent_key(t.fact.name) == key], tool)
        if twin is None:
            tool.visit = self
            self.tools.append(tool)
        else:
            twin.fact = merge_tools(twin.fact, tool.fact)
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


def overlap(a: Timed, b: Timed, both: bool = False) -> float:
    """Share of the shorter run (`both`: of the longer) that lies in the other; 1 where both are instants at one place."""
    inner = min(a.end, b.end) - max(a.start, b.start)
    lengths = (a.end - a.start, b.end - b.start)
    length = max(lengths) if both else min(lengths)
    if length <= 0:
        return 1.0 if inner >= 0 else 0.0
    return inner / length


def _twin(calls: list[_Call], call: _Call) -> _Call | None:
    """The record of the same call by another instrumentation: at its time, and of no convention that the call is of."""
    others = [c for c in calls[-LOOK_BACK:] if not c.conventions & call.conventions and overlap(c, call) >= 0]
    return max(others, key=lambda c: overlap(c, call, both=True), default=None)


def merge_models(outer: ModelCall, inner: ModelCall) -> ModelCall:
    """Two records of one call, the outer first."""
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


def merge_tools(outer: ToolCall, inner: ToolCall) -> ToolCall:
    """Two records of one call, the outer first."""
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
        loose=outer.loose or inner.loose,
        to_all=outer.to_all or inner.to_all,
        broken_off=outer.broken_off or inner.broken_off,
    )


def join_twin(kept: AgentVisit, other: AgentVisit) -> None:
    """Union of two recordings of one run; its calls count once."""
    models, tools = other.models, other.tools
    other.models, other.tools = [], []
    kept.take(other)
    for model in models:
        kept.add_model(model)
    for tool in tools:
        kept.add_tool(tool)
