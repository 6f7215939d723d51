"""The order of runs side by side: which runs came right before a run, where nothing but time, steps or words tells.

Separate from the edges, which only ask here where no higher rung of the ladder holds.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from collector.facts import Content, values
from collector.recovery import names, words
from collector.recovery.visit import LOOK_BACK, AgentVisit

MOST_SOURCES = 32
"""Of more runs that all ended right before a run, order tells nothing: they ran beside it, not for it. It also keeps a crowd's cost linear."""


class Order:
    """The runs of one group (side by side in one trace, or of one team), and who came before whom."""

    def __init__(self, group: list[AgentVisit]) -> None:
        self._group = group
        self._stepped = all(v.step is not None for v in group)
        self._order = _Steps(group) if self._stepped else _Ends(group)

    def before(self, visit: AgentVisit) -> list[AgentVisit]:
        """The runs that handed over to this one, as far as order tells.

        Those that its span says it waited for; else those whose words it quotes, where it quotes all it was given; else those of the step
        before, or those that ended last. Where the words of several are recorded, only those whose words it saw; of a crowd, none.
        """
        before = self._order.before(visit)
        if any(f.after for f in visit.facts):
            return _awaited(self._group, visit, before)
        if quotes(visit):
            return _quoted(self._group, visit, before)
        if len(before) > 1 and not self._stepped:
            quoted = {id(v): words.quoted_in(v, visit) for v in before[:LOOK_BACK]}
            if any(quoted.values()):
                return [v for v in before[:LOOK_BACK] if quoted[id(v)] is not False]
        return before if len(before) <= MOST_SOURCES else []


class _Ends:
    """Visits of one group by their ends: who ended last before a moment."""

    def __init__(self, group: list[AgentVisit]) -> None:
        self.by_end = sorted(group, key=lambda v: (v.end, v.start, v.first.key))
        self.latest_start: list[int] = []
        latest = 0
        for visit in self.by_end:
            latest = max(latest, visit.start)
            self.latest_start.append(latest)

    def before(self, visit: AgentVisit) -> list[AgentVisit]:
        """The runs that ended before this one began, less those that ended before another of them began."""
        done = bisect_right(self.by_end, visit.start, key=lambda v: v.end)
        while done and self.by_end[done - 1].start >= visit.start:  # runs without length at the same instant
            done -= 1
        if not done:
            return []
        latest = self.latest_start[done - 1]
        first = bisect_right(self.by_end, latest, hi=done, key=lambda v: v.end)
        return [v for v in self.by_end[first:done] if v is not visit] or [
            v for v in self.by_end[:done] if v.start == latest and v is not visit
        ]


def quotes(visit: AgentVisit) -> bool:
    """Whether a run quotes all that it was given, and that is recorded."""
    return any(f.quotes for f in visit.facts) and _given(visit) is not None


def _given(visit: AgentVisit) -> Content | None:
    return visit.content("input") or words.first_heard(visit)


def _quoted(group: list[AgentVisit], visit: AgentVisit, before: list[AgentVisit]) -> list[AgentVisit]:
    """Of a run that quotes all that it was given: the earlier runs whose words it quotes, without those that came by way of another of them.

    Words too short to tell an origin count for the runs right before it.
    """
    given = _given(visit)
    if given is None or values.is_redacted(given.value):
        return before
    at = bisect_left(group, visit.start, key=lambda v: v.start)
    earlier = [v for v in group[max(0, at - LOOK_BACK) : at] if v.end <= visit.start]
    found = [v for v in earlier if words.quoted_in(v, visit)]
    direct = [v for v in found if not any(w is not v and words.quoted_in(v, w) for w in found)]
    if direct or values.is_empty(given.value):  # given nothing by its crew, it may still have been told by the program
        return direct
    return [v for v in before if words.quoted_in(v, visit) is None]


def _awaited(group: list[AgentVisit], visit: AgentVisit, before: list[AgentVisit]) -> list[AgentVisit]:
    """The last runs before this one of each agent that its span says it waited for, side by side as they ran.

    A name that is no agent's is a step between: what ran before it is among the runs `before`.
    """
    wanted = {names.agent_key(n) for f in visit.facts for n in f.after}
    at = bisect_left(group, visit.start, key=lambda v: v.start)
    found: dict[str, list[AgentVisit]] = {}
    for earlier in reversed(group[max(0, at - LOOK_BACK) : at]):
        for key in earlier.keys & wanted:
            runs = found.setdefault(key, [])
            if not runs or (earlier.step is not None and earlier.step == runs[0].step):
                runs.append(earlier)
    out = {id(v): v for runs in found.values() for v in runs}
    if wanted - set(found):
        out |= {id(v): v for v in before}
    return sorted(out.values(), key=lambda v: (v.start, v.first.key))


class _Steps:
    """Visits of one group by the producer's own step numbers, which count anew under every parent span."""

    def __init__(self, group: list[AgentVisit]) -> None:
        self.by_step: dict[str, dict[int, list[AgentVisit]]] = {}
        for visit in group:
            under = self.by_step.setdefault(visit.first.span.parent_span_id, {})
            under.setdefault(visit.step or 0, []).append(visit)
        self.steps = {parent: sorted(steps) for parent, steps in self.by_step.items()}

    def before(self, visit: AgentVisit) -> list[AgentVisit]:
        """The runs of the step before."""
        parent = visit.first.span.parent_span_id
        at = bisect_left(self.steps[parent], visit.step or 0)
        return self.by_step[parent][self.steps[parent][at - 1]] if at else []
