"""Runs and calls that other spans tell of: the callee without a span of its own, and the workflow's span that lists the calls in it.

Separate from how runs are found in their own spans.
"""

from __future__ import annotations

from collections.abc import Iterable

from collector.facts import ToolCall, Transcript, Visit
from collector.recovery import names
from collector.recovery.node import Node, SpanKey
from collector.recovery.visit import AgentVisit, Tool
from collector.recovery.visits import Visits, below


def complete(visits: Visits) -> Visits:
    """Add the runs and calls that no span of their own shows, and put all in order."""
    stand_in(visits)
    visits.settle()
    tell(visits)
    return visits


def stand_in(visits: Visits) -> None:
    """A call whose callee has no span of its own: the call's span stands for the callee's run."""
    directory = names.Directory([v.name for v in visits.all] + list(visits.known))
    # Runs that nothing stands above: another process may have recorded the callee's.
    elsewhere: dict[str, list[AgentVisit]] = {}
    for visit in visits.all:
        if visits.above(visit) is None:
            elsewhere.setdefault(visit.key, []).append(visit)
    by_key: dict[str, list[AgentVisit]] = {}
    for visit in visits.all:
        by_key.setdefault(visit.key, []).append(visit)
    waiting = list(visits.all)
    while waiting:
        visit = waiting.pop()
        for tool in visit.tools:
            fact = tool.fact
            if tool.visit is not visit or not (fact.runs_target and fact.target) or fact.failed:
                continue
            if _has_visit_below(visits, tool.node, visit) or _recorded_elsewhere(tool, by_key):
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
            visits.all.append(stand_in)
            for node in below(tool.node):
                if visits.owner[node.key] is visit:
                    visits.owner[node.key] = stand_in
            inside = {n.key for n in below(tool.node)}
            stand_in.models = [m for m in visit.models if m.node.key in inside]
            stand_in.tools = [t for t in visit.tools if t.node.key in inside]
            visit.models = [m for m in visit.models if m.node.key not in inside]
            visit.tools = [t for t in visit.tools if t.node.key not in inside]
            for inner in stand_in.tools:
                inner.visit = stand_in
            waiting.append(stand_in)  # whose callees may have no spans either


def _recorded_elsewhere(tool: Tool, by_key: dict[str, list[AgentVisit]]) -> bool:
    """Whether another instrumentation shows the callee's run, in a tree of its own."""
    return any(
        v.convention != tool.convention
        and v.first.span.service == tool.node.span.service
        and tool.start <= v.start
        and v.end <= tool.end
        for v in by_key.get(names.agent_key(tool.fact.target), ())
    )


def _has_visit_below(visits: Visits, node: Node, owner: AgentVisit) -> bool:
    return any(visits.owner[n.key] not in (owner, None) for n in below(node))


def tell(visits: Visits) -> None:
    """Calls that the span of a workflow tells of the runs in it become calls of those runs, and name how inner runs were called."""
    places: dict[SpanKey, list[int]] = {}
    for place, visit in enumerate(visits.all):
        for node in visit.nodes:
            places.setdefault(node.key, []).append(place)
    for node in visits.tree.ordered:
        told = [f for f in node.span.facts if isinstance(f, Transcript)]
        if not told:
            continue
        inside = {n.key for n in below(node)}
        open_runs = [visits.all[place] for place in sorted({p for key in inside for p in places.get(key, ())})]
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
                if transcript.result is not None and run.content("output") is None:
                    run.facts.append(Visit(output=transcript.result))
                if transcript.after:
                    run.facts.append(Visit(after=transcript.after))
                if not run.tools:  # else its own spans tell
                    _tell(run, transcript.calls, [v for v in inner.get(id(run), []) if v.via is None])


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
