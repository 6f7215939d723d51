"""The spans of one session as trees: parents, owners, and the runs that causal links make of several traces.

Separate from the graph of agents because it knows nothing of agents. Spans may lack their parents, come in any order, be twice there,
and have clocks that disagree; none of that raises.
"""

from __future__ import annotations

from collections.abc import Iterable

from collector.facts import Envelope, ModelCall, SpanFacts, ToolCall, Visit
from collector.facts.placeholders import is_placeholder
from collector.otlp.model import KIND_SERVER
from collector.recovery.node import Node, SpanKey
from collector.recovery.records import with_records
from collector.recovery.surroundings import Surroundings


class Runs:
    """Which traces are one causal run (a union-find whose representative is the earliest trace)."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}
        self._first: dict[str, tuple[int, str]] = {}

    def __contains__(self, trace: str) -> bool:
        return trace in self._parent

    def add(self, trace: str, start: int) -> None:
        """Note a span of a trace."""
        self._parent.setdefault(trace, trace)
        self._first[trace] = min(self._first.get(trace, (start, trace)), (start, trace))

    def of(self, trace: str) -> str:
        """The earliest trace of the run."""
        root = trace
        while self._parent[root] != root:
            root = self._parent[root]
        while self._parent[trace] != root:
            self._parent[trace], trace = root, self._parent[trace]
        return root

    def join(self, one: str, other: str) -> None:
        """Make two runs one."""
        a, b = sorted((self.of(one), self.of(other)), key=lambda t: self._first[t])
        self._parent[b] = a


class Tree:
    """All spans of a session, deduplicated, joined to parents and grouped into runs."""

    def __init__(self, spans: Iterable[SpanFacts]) -> None:
        self.nodes: dict[SpanKey, Node] = {}
        logs: list[SpanFacts] = []
        for span in spans:
            if span.log:
                logs.append(span)
                continue
            key = (span.trace_id, span.span_id)
            known = self.nodes.get(key)
            if known is None:
                self.nodes[key] = Node(span)
            elif _better(span, known.span):
                known.span = span
        self.loose_logs: list[SpanFacts] = []
        for log in sorted(logs, key=lambda s: (s.start_ns, s.trace_id, s.span_id, s.richness)):
            node = self.nodes.get((log.trace_id, log.span_id))
            if node is None:
                self.loose_logs.append(log)
            elif log not in node.logs:
                node.logs.append(log)
        for node in self.nodes.values():
            if node.logs:
                node.span = with_records(node.span, node.logs)
        self._stand_for_the_missing()
        self.ordered: list[Node] = []
        self._join()
        self._align_clocks()
        self._messages = {
            f.id: node for node in self.ordered for f in node.span.facts if isinstance(f, Envelope) and f.id
        }
        self.runs = Runs()
        self._runs()

    def _stand_for_the_missing(self) -> None:
        """A parent that never came (a crash, a filter, sampling) stands where its children show that it was.

        It has the missing span's own id, so that the handoffs keep their identity should it still come. Where a child names the agent that it
        belongs to, it is that agent's run, or a part of the one around it; else a part of whatever went on around it in its process.
        """
        orphans: dict[SpanKey, list[Node]] = {}
        for node in self.nodes.values():
            missing = (node.span.trace_id, node.span.parent_span_id)
            if node.span.parent_span_id and missing not in self.nodes:
                orphans.setdefault(missing, []).append(node)
        first: dict[str, int] = {}
        for trace, start in ((n.span.trace_id, n.start) for n in self.nodes.values()) if orphans else ():
            first[trace] = min(first.get(trace, start), start)
        inside = [
            (min(n.start for n in children), key, children)
            for key, children in orphans.items()
            if _names_agent(children)
            or min(n.start for n in children) > first[key[0]]  # else the trace came from elsewhere
        ]
        if inside:
            around = Surroundings(self.nodes, {key[0] for _start, key, _children in inside})
            for _start, key, children in sorted(inside, key=lambda o: o[:2]):
                self._stand(key, children, around)

    def _stand(self, key: SpanKey, children: list[Node], around: Surroundings) -> None:
        agent = _names_agent(children)
        start, end = min(n.start for n in children), max(n.end for n in children)
        above = around.run_of(key[0], agent, start, end) if agent else None
        is_run = bool(agent) and above is None
        guessed = above is None and not is_run
        if above is None:
            above = around.of(key, children, start, end)
        if above is None and not is_run:
            return
        pattern = children[0].span
        self.nodes[key] = Node(
            SpanFacts(
                trace_id=key[0],
                span_id=key[1],
                parent_span_id=above.span.span_id if above is not None else "",
                start_ns=start,
                end_ns=0,
                service=pattern.service,
                instance=pattern.instance,
                convention=pattern.convention,
                facts=(Visit(name=agent),) if is_run else (),
            )
        )
        self.nodes[key].missing_end = end
        self.nodes[key].guessed = guessed

    def _join(self) -> None:
        nodes = sorted(self.nodes.values(), key=lambda n: (n.start, n.key))
        for node in nodes:
            parent = (
                self.nodes.get((node.span.trace_id, node.span.parent_span_id)) if node.span.parent_span_id else None
            )
            if parent is not None and parent is not node:
                node.parent = parent
        for node in nodes:  # a cycle of parents is broken at its earliest span, which becomes a root
            seen = {id(node)}
            up = node
            while up.parent is not None:
                if id(up.parent) in seen:
                    _earliest_above(up.parent).parent = None
                    break
                seen.add(id(up.parent))
                up = up.parent
                if up.order:
                    break
            node.order = 1
        for (
            node
        ) in nodes:  # what a run left open caught the spans that came after it: they are those of the run around it
            while node.parent is not None and node.parent.parent is not None and _left_open(node.parent, node):
                node.parent = node.parent.parent
            if node.parent is not None:
                node.parent.children.append(node)
        stack = [n for n in reversed(nodes) if n.parent is None]
        while stack:
            node = stack.pop()
            node.order = len(self.ordered)
            self.ordered.append(node)
            stack.extend(reversed(node.children))

    def _align_clocks(self) -> None:
        """Move what another process recorded outside of the span that waited for it to the middle of that span (as Jaeger does).

        A child before its parent is skewed in any case; one after its parent's end only where the parent waits: a tool's call, a client's
        span with a server's below it. What a queue delivers late stays late.
        """
        for node in self.ordered:
            parent = node.parent
            if parent is None:
                continue
            if parent.clock == node.clock:
                node.shift = parent.shift
                continue
            waits = node.span.kind == KIND_SERVER or any(isinstance(f, ToolCall) for f in parent.span.facts)
            if node.start < parent.start or (waits and node.start > parent.end):
                slack = (parent.end - parent.start) - (node.end - node.start)
                node.shift = parent.start + max(slack, 0) // 2 - node.span.start_ns

    def _runs(self) -> None:
        """Traces that a causal link or a message joins, or that a producer says to be one team's, are one run, named by its earliest trace."""
        for node in self.ordered:
            trace = node.span.trace_id
            self.runs.add(trace, node.start)
        teams: dict[str, str] = {}
        for node in self.ordered:
            trace = node.span.trace_id
            for linked, _span in node.span.causes:
                if linked in self.runs:
                    self.runs.join(trace, linked)
            for fact in node.span.facts:
                if isinstance(fact, Visit) and fact.team:
                    self.runs.join(trace, teams.setdefault(fact.team, trace))
                elif isinstance(fact, Envelope) and fact.cause in self._messages:
                    self.runs.join(trace, self._messages[fact.cause].span.trace_id)

    def delivers(self, node: Node) -> bool:
        """Whether a message came to this span: by a link, or as a message that has an id."""
        return bool(node.span.causes) or any(isinstance(f, Envelope) and f.id for f in node.span.facts)

    def causes(self, node: Node) -> list[Node]:
        """The spans that this one's links, or the message that its own answers, say to have caused it."""
        found = [self.nodes[key] for key in node.span.causes if key in self.nodes]
        for fact in node.span.facts:
            if isinstance(fact, Envelope) and fact.cause in self._messages:
                found.append(self._messages[fact.cause])
        return found

    def run_of(self, trace: str) -> str:
        """The run that a trace belongs to, by the name of its earliest trace."""
        return self.runs.of(trace)


def _earliest_above(node: Node) -> Node:
    """Of a cycle of parents the span that started first."""
    around = [node]
    while (up := around[-1].parent) is not None and up is not node:
        around.append(up)
    return min(around, key=lambda n: (n.start, n.key))


def _names_agent(children: Iterable[Node]) -> str:
    """The agent that calls without their parent name, "" where none does."""
    named = {f.agent for n in children for f in n.span.facts if isinstance(f, (ModelCall, ToolCall)) and f.agent}
    return min((a for a in named if not is_placeholder(a)), default="")


def _left_open(run: Node, later: Node) -> bool:
    leaks = any(isinstance(f, Visit) and f.leaks for f in run.span.facts)
    return leaks and run.clock == later.clock and 0 < run.span.end_ns <= later.span.start_ns


def _better(new: SpanFacts, old: SpanFacts) -> bool:
    return (new.richness, repr(new)) > (old.richness, repr(old))
