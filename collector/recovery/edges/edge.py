"""Handoffs as they are found: one of them, all of them, and what every rung of the ladder asks of a session.

Separate from the rungs, each of which adds to what is here and asks what those above it have found.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from collector.facts import Content, Mode
from collector.recovery import names
from collector.recovery.signals import Signal
from collector.recovery.tree import Tree
from collector.recovery.visit import AgentVisit, Tool
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
    """All handoffs of a session, unordered. `by_key`: runs by the keys of their agents, in order of time."""

    def __init__(self, tree: Tree, visits: Visits, signals: list[Signal]) -> None:
        self.tree, self.visits, self.signals = tree, visits, signals
        self.incoming: dict[int, list[Edge]] = {}
        self.outgoing: dict[int, list[Edge]] = {}
        self.all: list[Edge] = []
        self.by_key: dict[str, list[AgentVisit]] = {}
        self.first_in_trace: dict[str, AgentVisit] = {}
        self._acts: dict[
            tuple[str, str], list[tuple[int, tuple[str, str]]]
        ] = {}  # of an agent in a trace: its runs and calls
        for visit in visits.all:
            self.first_in_trace.setdefault(visit.trace_id, visit)
            acts = self._acts.setdefault((visit.trace_id, visit.key), [])
            acts.append((visit.start, visit.first.key))
            acts += [(m.node.start, m.node.key) for m in visit.models]
            acts += [(t.node.start, t.node.key) for t in visit.tools]
            for key in visit.keys:
                self.by_key.setdefault(key, []).append(visit)
        for acts in self._acts.values():
            acts.sort()

    def add(self, edge: Edge) -> None:
        """Take in a handoff; the request that it answers is taken up."""
        self.all.append(edge)
        self.outgoing.setdefault(id(edge.source), []).append(edge)
        if edge.target is not None:
            self.incoming.setdefault(id(edge.target), []).append(edge)
            if edge.signal is not None:
                edge.signal.taken_by.append(edge.target)

    def is_free(self, visit: AgentVisit) -> bool:
        """Whether no handoff leads to a run yet."""
        return id(visit) not in self.incoming

    def keys_of(self, wanted: str) -> str:
        """The key of the agent that a signal's target spells."""
        return names.agent_key(self.visits.names.find(wanted) or wanted) if wanted else ""

    def is_called(self, visit: AgentVisit, wanted: str) -> bool:
        """Whether a run is of the agent that a request names."""
        return bool(wanted) and (names.agent_key(wanted) in visit.keys or self.keys_of(wanted) in visit.keys)

    def take_up(self, signal: Signal, visit: AgentVisit) -> None:
        """Take in the handoff of a request to the run that answers it."""
        mode: Mode = signal.mode or ("delegate" if waited(signal, visit) else "transfer")
        evidence = signal.evidence if signal.target else "inferred"
        self.add(Edge(signal.source, visit, mode, evidence, signal, signal.tool))

    def before_named(self, name: str, visit: AgentVisit) -> AgentVisit | None:
        """The latest visit of that agent in the same run that began before."""
        candidates = self.by_key.get(self.keys_of(name), [])
        last = bisect_right(candidates, visit.start, key=lambda v: v.start)
        run = self.tree.run_of(visit.trace_id)
        for candidate in reversed(candidates[:last]):
            if candidate is not visit and self.tree.run_of(candidate.trace_id) == run:
                return candidate
        return None

    def acts_after(self, signal: Signal, until: int | None = None) -> bool:
        """Whether the source does anything after the request in its trace (before `until`): a call, a further visit."""
        key = (signal.source.trace_id, signal.source.key)
        acts = self._acts.get(key, [])
        later = acts[bisect_right(acts, signal.start, key=lambda a: a[0]) :]
        return any(k != signal.node.key for start, k in later if until is None or start < until)


def waited(signal: Signal, visit: AgentVisit) -> bool:
    """Whether the call that asked for a run went on until that run had ended."""
    tool = signal.tool
    return tool is not None and tool.start <= visit.start and visit.end <= tool.end and visit.end > visit.start


def place(visit: AgentVisit) -> tuple[int, int]:
    """Where a run stands: below which run, and in which call of that run's."""
    return id(visit.parent), id(visit.via)
