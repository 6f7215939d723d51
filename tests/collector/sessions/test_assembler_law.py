"""The law of sessions, by a state machine: however spans arrive, the last reports are those of one tidy delivery."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any, NamedTuple

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from collector.clock import seconds
from collector.sessions.assembler import Assembler
from collector.sessions.model import Changes, Closed, Discarded, Sighting
from tests.collector.sessions.worlds import RULES, MemoryArchive, best_versions, law, span

TRACES = ["a" * 32, "b" * 32, "c" * 32, "d" * 32]
KEYS = st.fixed_dictionaries(
    {},
    optional={
        "session": st.sampled_from(["s1", "s2"]),
        "conversation": st.sampled_from(["c1", "c2"]),
        "thread": st.sampled_from(["t1", "t2"]),
    },
)


class Shape(NamedTuple):
    """What does not differ between versions of a span."""

    parent: int
    at: int
    agent: bool
    links: tuple[str, ...]
    values: dict[str, Any]
    log: bool


SHAPES = st.builds(
    Shape,
    parent=st.integers(0, 4),
    at=st.integers(1, 5),
    agent=st.sampled_from([True, True, False]),
    links=st.one_of(st.just(()), st.just(()), st.tuples(st.sampled_from(TRACES))),
    values=st.one_of(st.just({}), KEYS),
    log=st.sampled_from([False, False, False, True]),
)
SPANS = [(trace, number) for trace in TRACES for number in (1, 2, 3)]
WORLDS = st.tuples(*[SHAPES for _ in SPANS])
CHOICES = st.tuples(st.integers(0, len(SPANS) - 1), st.booleans(), st.sampled_from(["", "x", "yy"]))


class Sessions(RuleBasedStateMachine):
    """The assembler with an archive behind it and a journal before it, as the engine joins them."""

    def __init__(self) -> None:
        super().__init__()
        self.archive = MemoryArchive()
        self.assembler = Assembler(RULES, self.archive)
        self.now = seconds(1000)
        self.delivered: list[Sighting] = []
        self.journal: list[Sighting] = []
        self.reports: dict[str, frozenset[bytes]] = {}
        self.revisions: set[tuple[str, int]] = set()
        self.lives: Counter[str] = Counter()  # by trace: how often it was deleted

    @initialize(world=WORLDS)
    def shape(self, world: tuple[Shape, ...]) -> None:
        self.world = dict(zip(SPANS, world, strict=True))

    @rule(batch=st.lists(CHOICES, min_size=1, max_size=5))
    def deliver(self, batch: list[tuple[int, bool, str]]) -> None:
        self.take([self.sighting(*choice) for choice in batch])

    def sighting(self, which: int, ended: bool, body: str) -> Sighting:
        """A version of a span; one that has not ended does not carry its keys yet."""
        trace, number = SPANS[which]
        shape = self.world[trace, number]
        return span(
            trace,
            number,
            0 if number in (1, shape.parent) else shape.parent,
            at=shape.at,
            ended=ended,
            body=body,
            agent=shape.agent,
            links=shape.links,
            log=shape.log,
            **(shape.values if ended or shape.log else {}),
        )

    def take(self, batch: list[Sighting]) -> None:
        for sighting in batch:
            self.delivered.append(sighting)
            self.journal.append(sighting)
            self.assembler.observe(sighting, self.now)

    @rule(data=st.data())
    def deliver_again(self, data: st.DataObject) -> None:
        if self.delivered:
            self.take([data.draw(st.sampled_from(self.delivered))])

    @rule(wait=st.sampled_from([1, 16, 301, 5000]))
    def wait(self, wait: int) -> None:
        self.now += seconds(wait)
        self.commit(self.assembler.tick(self.now))

    @rule()
    def checkpoint(self) -> None:
        self.commit([])

    @rule(jump=st.sampled_from([-5000, 0, 5000]))
    def restart(self, jump: int) -> None:
        """Lose what memory holds; the clock may have been set; the journal is replayed from the last commit."""
        self.now += seconds(jump)
        self.assembler = Assembler(RULES, self.archive)
        standing = self.archive.sessions.keys() - self.archive.superseded.keys()
        self.assembler.restore(sorted(s for s in standing if self.archive.sessions[s].state == "open"), self.now)
        for sighting in self.journal:
            self.assembler.observe(sighting, self.now)

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        """Delete a session, open or closed, in memory or not: what was delivered of it is as if it had never been."""
        members, archive = self.assembler._members, self.archive
        away = archive.superseded.keys() | archive.deleted.keys() | members.gone.keys()  # these go on under another id
        ids = sorted(members.sessions.keys() | archive.sessions.keys() - away)
        if not ids:
            return
        session_id = data.draw(st.sampled_from(ids))
        held = members.sessions.get(session_id)
        traces = (
            set(held.traces)
            if held is not None
            else {t for t, (owner, _) in archive.traces.items() if owner == session_id}
        )
        self.lives.update(traces)
        self.assembler.delete(session_id)
        self.commit([])
        self.delivered = [sighting for sighting in self.delivered if sighting.trace_id not in traces]
        gone = [session_id, *(old for old, new in archive.superseded.items() if new == session_id)]
        for old in gone:
            self.reports.pop(old, None)

    @invariant()
    def whatever_is_open_is_waited_for(self) -> None:
        """No session depends on another span to come: each has a moment at which it is asked whether it is due."""
        sessions = self.assembler._members.sessions.values()
        assert [s.session_id for s in sessions if s.state == "open" and not s.timer_ns] == []

    def commit(self, closed: list[Closed | Discarded]) -> None:
        self.keep(self.assembler.changes())
        self.assembler.stored()
        self.journal.clear()
        for end in closed:
            if isinstance(end, Closed):
                session_id = end.session.session_id
                assert (session_id, end.session.revision) not in self.revisions
                self.revisions.add((session_id, end.session.revision))
                payloads = best_versions(f for trace in end.traces for f in self.archive.facts[trace])
                assert end.spans + end.logs == len(payloads)
                self.report(end, payloads)
                self.assembler.settle(session_id, end.session.revision)

    def keep(self, changes: Changes) -> None:
        self.archive.apply(changes, self.now)

    def report(self, end: Closed, payloads: frozenset[bytes]) -> None:
        self.reports[end.session.session_id] = payloads

    def teardown(self) -> None:
        self.wait(10**6)
        passed_on = self.archive.superseded.keys() | self.archive.outdated
        standing = {s: r for s, r in self.reports.items() if s not in passed_on}
        expected = law(self.delivered)
        if not self.lives:
            assert standing == expected
        # A deletion parts and joins nothing that stands, whatever key is clear now; but each span is in one session, and no other is.
        assert sorted(chain.from_iterable(standing.values())) == sorted(chain.from_iterable(expected.values()))
        assert self.assembler.open_sessions == 0


Sessions.TestCase.settings = settings(
    max_examples=100, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestSessions = Sessions.TestCase
