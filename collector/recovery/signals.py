"""What asks for a handoff: explicit transfers, calls of handing-over tools, calls in a model's answer; each a `Signal` with its source.

Separate from the edges because a signal is only a request: whether it was taken up, and by whom, takes all visits of the session.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from collector.facts import Call, Content, Message, Mode, Transfer
from collector.facts.placeholders import is_placeholder
from collector.recovery import names
from collector.recovery.node import Node
from collector.recovery.tree import Tree
from collector.recovery.visit import LOOK_BACK, AgentVisit, Model, Tool
from collector.recovery.visits import Visits
from collector.recovery.words import answers


@dataclass(slots=True, eq=False)
class Signal:
    """A request to hand over. `target` is the name it gives, "" where it gives none. `sure`: a marker says so, not only a name."""

    source: AgentVisit
    node: Node
    start: int
    end: int
    target: str = ""
    mode: Mode = ""
    sure: bool = False
    weak: bool = False
    failed: bool = False
    evidence: str = "explicit"
    arguments: Content | None = None
    stated: bool = False
    beside: str | None = None  # what the source said in the same answer
    result: Content | None = None
    call_id: str = ""
    call: str = ""
    reason: str = ""
    tool: Tool | None = None
    within: Tool | None = None  # the tool call in whose span a transfer is told
    spelled: bool = False  # the target is only what a tool's name spells, and no agent has that name
    order: int = 0  # among the calls of one answer
    taken_by: list[AgentVisit] = field(default_factory=list)

    @property
    def convention(self) -> str:
        return self.node.span.convention


def find(tree: Tree, visits: Visits) -> list[Signal]:
    """All signals of the session in order of time; what several spans say of one request is one signal."""
    by_key: dict[str, list[AgentVisit]] = {}
    for visit in visits.all:
        for key in visit.keys:
            by_key.setdefault(key, []).append(visit)
    tools = {n.key: t for v in visits.all for t in v.tools for n in t.nodes}
    aim = _Aim(tree, visits.names, by_key)
    out: list[Signal] = []
    for node in tree.ordered:
        owner = visits.owner[node.key]
        for fact in node.span.facts:
            if isinstance(fact, Transfer):
                source = _named_source(by_key, fact.source, node, owner)
                if source is not None:
                    out.append(_of_transfer(fact, node, source, visits.names))
                    out[-1].within = next((tools[up.key] for up in node.ancestors() if up.key in tools), None)
    for visit in visits.all:
        out += [s for tool in visit.tools if (s := _of_tool(tool, visit, aim)) is not None]
    for visit in visits.all:
        out += _of_answers(visit, aim)
    out.sort(key=lambda s: (s.start, s.node.key, s.order, s.call_id, s.target))
    return _merge(_aimed(out, visits.names))


def _named_source(
    by_key: dict[str, list[AgentVisit]], name: str, node: Node, owner: AgentVisit | None
) -> AgentVisit | None:
    """The visit that a transfer goes out from: the named agent's, the enclosing one's where the name is its own or none is given."""
    if not name or (owner is not None and names.agent_key(name) in owner.keys):
        return owner
    candidates = by_key.get(names.agent_key(name), [])
    before = candidates[: bisect_right(candidates, node.start, key=lambda v: v.start)]
    same = next((v for v in reversed(before) if v.trace_id == node.span.trace_id), None)
    return same or (before[-1] if before else owner)


def _of_transfer(fact: Transfer, node: Node, source: AgentVisit, agents: names.Directory) -> Signal:
    target = "" if is_placeholder(fact.target) and not agents.find(fact.target) else fact.target
    return Signal(
        source, node, node.start, node.end, target, fact.mode, sure=True, weak=fact.weak, failed=fact.failed,
        evidence=fact.evidence, arguments=fact.content, stated=fact.stated, call_id=fact.call_id, call=fact.call, reason=fact.reason,
    )  # fmt: skip


class _Aim:
    """Whom a tool named like a handover names."""

    def __init__(self, tree: Tree, agents: names.Directory, by_key: dict[str, list[AgentVisit]]) -> None:
        self._tree, self.agents, self._by_key = tree, agents, by_key

    def of(self, tool: str, source: AgentVisit, node: Node) -> str:
        """The agent; of several that the name may spell, the other one that runs next. "" where the tool names none, or nobody can tell."""
        spelled = self.agents.of_tool(tool)
        if len(spelled) < 2:
            return spelled[0] if spelled else ""
        keys = [key for name in spelled if (key := names.agent_key(name)) != source.key]
        following = [v for key in keys if (v := self._next(key, node)) is not None]
        return min(following, key=lambda v: (v.start, v.first.key)).name if following else ""

    def at(self, tool: str, arguments: Content | None, source: AgentVisit, node: Node) -> str:
        """The agent that the tool's name names, else the one that an argument of it names."""
        named = self.of(tool, source, node)
        if named or arguments is None:
            return named
        return self.agents.find(names.target_in_arguments(tool, arguments.value))

    def _next(self, key: str, node: Node) -> AgentVisit | None:
        runs = self._by_key.get(key, [])
        run = self._tree.run_of(node.span.trace_id)
        first = bisect_left(runs, node.start, key=lambda v: v.start)
        return next((v for v in runs[first : first + LOOK_BACK] if self._tree.run_of(v.trace_id) == run), None)


def _of_tool(tool: Tool, visit: AgentVisit, aim: _Aim) -> Signal | None:
    fact = tool.fact
    target = fact.target
    if not fact.certain:
        if fact.plain:
            return None
        target = aim.agents.find(target) or aim.at(fact.name, fact.arguments, visit, tool.node)
        if not target:
            return None
    elif fact.loose and not aim.agents.find(target):
        target = aim.agents.find(aim.of(fact.name, visit, tool.node))
    return Signal(
        visit, tool.node, tool.start, tool.end, target, fact.mode, sure=fact.certain, failed=fact.failed,
        arguments=fact.arguments, result=fact.result, call_id=fact.call_id, call=fact.name, tool=tool,
    )  # fmt: skip


def _of_answers(visit: AgentVisit, aim: _Aim) -> list[Signal]:
    """Handing-over calls that a model asked for and no tool span shows."""
    out = []
    plain = {t.fact.call_id or t.fact.name for t in visit.tools} | {t.fact.name for t in visit.tools}
    said = answers(visit)
    for model, message in said:
        for order, call in enumerate(message.calls):
            if call.name in plain or (call.id and call.id in plain):
                continue
            node = model.node if model is not None else visit.first
            target = aim.at(call.name, call.arguments, visit, node)
            if not target:
                continue
            end = node.end if model is not None else visit.end
            out.append(
                Signal(
                    visit,
                    node,
                    node.start,
                    end,
                    target,
                    arguments=call.arguments,
                    beside=_whole(said, model, message).text,
                    call_id=call.id,
                    call=call.name,
                    order=order,
                )
            )
    return out


def _whole(said: Sequence[tuple[Model | None, Message]], model: Model | None, message: Message) -> Message:
    """The message with all that its answer says: some models' answers are several messages, text in one and each call in another."""
    if message.text is not None or model is None:
        return message
    texts = [m.text for of, m in said if of is model and m.text]
    return msgspec.structs.replace(message, text="\n".join(texts)) if texts else message


def _aimed(signals: list[Signal], agents: names.Directory) -> list[Signal]:
    """Transfers that name no target take the one of the call behind them: the first handing-over call of the source's last answer before."""
    calls: dict[int, list[Signal]] = {}
    gone: set[int] = set()
    for signal in sorted(signals, key=lambda s: (s.end if s.sure else s.start, s.sure)):
        if not signal.sure:
            if signal.tool is None or agents.find(signal.target):
                calls.setdefault(id(signal.source), []).append(signal)
        elif not signal.target and signal.tool is None and calls.get(id(signal.source)):
            asked = calls[id(signal.source)]
            last = asked[-1].start
            first = next((i for i in range(len(asked) - 1, -1, -1) if asked[i].start != last), -1) + 1
            call = min(asked[first:], key=lambda s: s.order)
            asked.remove(call)
            gone.add(id(call))
            _absorb(signal, call)
            signal.spelled = not agents.find(signal.target)
    return [s for s in signals if id(s) not in gone]


def _merge(signals: list[Signal]) -> list[Signal]:
    """One request seen by several spans (handoff span, tool span, the model's call) becomes one signal with the union of what they say."""
    out: list[Signal] = []
    by_source: dict[int, list[Signal]] = {}
    for signal in sorted(signals, key=lambda s: (not (s.sure and not s.tool), not s.sure, s.start)):
        same = by_source.setdefault(id(signal.source), [])
        twin = next((s for s in same if _same_request(s, signal)), None)
        if twin is None:
            same.append(signal)
            out.append(signal)
        else:
            _absorb(twin, signal)
    out.sort(key=lambda s: (s.start, s.node.key))
    return out


def _same_request(a: Signal, b: Signal) -> bool:
    if a.call_id and b.call_id:
        return a.call_id == b.call_id
    by_a, by_b = a.within or a.tool, b.within or b.tool
    if (a.within or b.within) and by_a is not None and by_b is not None and by_a is not by_b:
        return False  # told inside one tool's span, asked for by another
    if a.node is b.node and a.tool is None and b.tool is None and not a.call and not b.call and a.sure and b.sure:
        return False  # two that one span tells are two
    if a.node is b.node:
        return not (a.target and b.target) or names.agent_key(a.target) == names.agent_key(b.target)
    if a.tool is not None and b.tool is not None:
        return False  # two spans of tools are two calls
    if not a.target and a.tool is None:
        return False  # its call is found (`_aimed`), or not recorded
    if a.target and b.target and names.agent_key(a.target) != names.agent_key(b.target):
        return False
    if a.failed != b.failed or (a.stated and b.stated):
        return False  # what is stated by a span of its own is told once
    if a.tool is None and b.tool is None and a.call_id == b.call_id == "" and a.sure and b.sure:
        # The same transfer told twice (inside the tool and again as it is raised): one lies in the other's surroundings.
        return bool(a.target) and a.call == b.call and a.node.parent is not None and b.node.parent is not None
    return True


def _absorb(kept: Signal, other: Signal) -> None:
    kept.target = kept.target or other.target
    kept.mode = kept.mode or other.mode
    kept.sure = kept.sure or other.sure
    kept.weak = kept.weak and other.weak
    if kept.arguments is None:
        kept.arguments = other.arguments
    kept.beside = kept.beside if kept.beside is not None else other.beside
    kept.result = kept.result or other.result
    kept.call_id = kept.call_id or other.call_id
    kept.call = kept.call or other.call
    kept.reason = kept.reason or other.reason
    kept.tool = kept.tool or other.tool
    kept.within = kept.within or other.within


def call_behind(signal: Signal) -> tuple[Message | None, Call | None]:
    """The model's answer that asked for this handoff, and the call in it; (None, None) where it is not recorded."""
    said = [(m, message) for m, message in answers(signal.source) if m is None or m.node.start <= signal.end]
    wanted = signal.target
    best: tuple[Message | None, Call | None] = (None, None)
    for model, message in said:
        for call in message.calls:
            if signal.call_id and call.id:
                if signal.call_id == call.id:
                    return _whole(said, model, message), call
                continue
            by_name = signal.call and call.name == signal.call
            by_target = bool(wanted) and wanted in names.Directory([wanted]).of_tool(call.name)
            if by_name or by_target:
                best = (_whole(said, model, message), call)
    if best[1] is None and said and signal.tool is None:
        # A handoff span without a name of the call (a tool renamed by the user): the one call in the last answer that has any.
        last = next((_whole(said, model, m) for model, m in reversed(said) if m.calls), None)
        tools = {t.fact.name for t in signal.source.tools} | {
            t.fact.call_id for t in signal.source.tools if t.fact.call_id
        }
        if last is not None:
            free = [c for c in last.calls if c.name not in tools and c.id not in tools]
            if len(free) == 1:
                return last, free[0]
    return best
