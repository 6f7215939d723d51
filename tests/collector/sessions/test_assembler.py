"""Close rules, limits and repeats, one at a time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from collector.clock import seconds
from collector.sessions.assembler import Assembler
from collector.sessions.model import Closed, Discarded, Rules, Sighting
from collector.sessions.spans import Sight
from collector.sessions.state import TAIL, TAIL_SIZE
from tests.collector.sessions.worlds import MemoryArchive, span

A, B = "a" * 32, "b" * 32


class World:
    """An assembler and its time."""

    def __init__(self, **rules: Any) -> None:
        self.archive = MemoryArchive()
        self.assembler = Assembler(Rules(**rules), self.archive)
        self.now = 1_000

    def take(self, *sightings: Sighting) -> list[Sight]:
        return [self.assembler.observe(sighting, seconds(self.now)) for sighting in sightings]

    def wait(self, for_s: float) -> list[Any]:
        """Let time pass; return (reason, partial, spans) of what closed, or "discarded"."""
        self.now += for_s  # type: ignore[assignment]
        return self.short(self.assembler.tick(seconds(self.now)))

    def short(self, ends: list[Closed | Discarded]) -> list[Any]:
        self.store()
        found: list[Any] = []
        for end in ends:
            if isinstance(end, Closed):
                self.assembler.settle(end.session.session_id, end.session.revision)
                found.append((end.reason, end.partial, end.spans))
            else:
                found.append("discarded")
        self.store()
        return found

    def store(self) -> None:
        self.archive.apply(self.assembler.changes(), seconds(self.now))
        self.assembler.stored()


def test_roots_ended_waits_for_the_grace_only() -> None:
    world = World()
    world.take(span(A, 2, 1), span(A, 1))
    assert world.wait(14.9) == []
    assert world.wait(0.2) == [("roots_ended", (), 2)]


def test_an_unresolved_parent_or_an_open_root_waits_for_idle() -> None:
    world = World()
    world.take(span(A, 2, 1))
    assert world.wait(299) == []
    assert world.wait(1) == [("idle", ("unresolved_parents",), 1)]
    world.take(span(B, 1, ended=False))
    assert world.wait(300) == [("idle", ("unended_spans",), 1)]


def test_a_session_that_never_is_quiet_closes_at_its_maximum_age() -> None:
    world = World(max_age_ns=seconds(1000))
    ends = []
    for number in range(2, 13):
        world.take(span(A, number, 1))
        ends += world.wait(100)
    assert ends == [("max_age", ("unresolved_parents",), 10)]


def test_an_end_event_closes_at_the_next_tick() -> None:
    world = World()
    world.take(span(A, 2, 1, ends_session=True))
    assert world.wait(0) == [("explicit", ("unresolved_parents",), 1)]
    world.take(span(A, 1))
    assert world.wait(15) == [("roots_ended", (), 2)]


def test_a_session_of_sampled_traces_may_lack_some_and_a_trace_alone_does_not() -> None:
    world = World()
    world.take(span(A, 2, 1, sampled=True), span(A, 1))
    assert world.wait(15) == [("roots_ended", (), 2)]
    world.take(span(B, 2, 1, sampled=True, session="s1"), span(B, 1, session="s1"))
    assert world.wait(15) == [("roots_ended", ("sampled",), 2)]


def test_a_drain_closes_all_that_is_open() -> None:
    world = World()
    world.take(span(A, 1), span(B, 1, agent=False))
    assert world.short(world.assembler.drain()) == [("drain", ("drained",), 1), "discarded"]
    assert world.assembler.open_sessions == 0


def test_repeats_count_and_do_not_keep_a_session_awake() -> None:
    world = World()
    complete, start_only = span(A, 1, body="all"), span(A, 1, ended=False)
    assert world.take(start_only, complete, start_only, complete) == [
        Sight.NEW,
        Sight.BETTER,
        Sight.STALE,
        Sight.DUPLICATE,
    ]
    world.wait(10)
    world.take(complete)
    assert world.wait(5) == [("roots_ended", (), 1)]
    assert world.take(complete, start_only) == [Sight.DUPLICATE, Sight.STALE]
    assert world.assembler.open_sessions == 0
    world.store()
    (record,) = world.archive.sessions.values()
    assert (record.duplicates, record.stale, record.late, record.revision) == (3, 2, 0, 1)


def test_log_records_are_known_by_what_they_say() -> None:
    world = World()
    assert world.take(span(A, 1), span(A, 1, log=True, body="x"), span(A, 1, log=True, body="y")) == [Sight.NEW] * 3
    assert world.take(span(A, 1, log=True, body="x")) == [Sight.DUPLICATE]


def test_a_trace_without_an_agent_is_discarded_and_becomes_a_session_when_one_follows() -> None:
    world = World()
    world.take(span(A, 2, 1, agent=False), span(A, 1, agent=False))
    assert world.wait(15) == ["discarded"]
    world.take(span(A, 3, 1))
    assert world.wait(15) == [("roots_ended", (), 3)]


def test_past_its_limit_a_session_keeps_its_skeleton_and_both_ends() -> None:
    world = World(session_spans=10)
    total = 10 + TAIL + 50
    for number in range(1, total + 1):
        world.take(span(A, number, 1 if number > 1 else 0, agent=number == 1))
    world.take(*(span(A, total + n, 1, skeleton=True, agent=n == 1) for n in range(1, 21)))
    assert world.wait(15) == [("roots_ended", ("span_limit",), total + 20)]
    (record,) = world.archive.sessions.values()
    kept = [msgspec.msgpack.decode(payload)[1] for payload in world.archive.facts[A]]
    tail = [msgspec.msgpack.decode(payload)[1] for _, payload in record.tail]
    assert kept == [*range(1, 11), *range(total + 1, total + 11)]
    assert (len(tail), tail[-1]) == (TAIL, total + 20)


def test_past_its_size_a_session_keeps_its_skeleton_and_both_ends() -> None:
    size = len(span(A, 100, 1, body="x" * 1000).payload)
    world = World(session_size=10 * size)
    world.take(span(A, 1), *(span(A, number, 1, agent=False, body="x" * 1000) for number in range(100, 130)))
    world.take(*(span(A, number, 1, skeleton=True, body="x" * 1000) for number in range(130, 150)))
    world.take(span(A, 150, 1, agent=False))
    assert world.wait(15) == [("roots_ended", ("size_limit",), 52)]
    (record,) = world.archive.sessions.values()
    kept = [msgspec.msgpack.decode(payload)[1] for payload in world.archive.facts[A]]
    tail = [msgspec.msgpack.decode(payload)[1] for _, payload in record.tail]
    assert kept == [1, *range(100, 109), *range(130, 140)]
    assert tail == [*range(109, 130), *range(140, 151)]
    assert (record.size, record.kept, record.dropped) == (sum(map(len, world.archive.facts[A])), 20, 32)
    assert 19 * size < record.size <= 20 * size


def test_the_end_that_is_kept_of_a_session_past_its_size_is_bounded_in_bytes() -> None:
    world = World(session_size=1000)
    world.take(span(A, 1), *(span(A, number, 1, body="x" * 100_000) for number in range(2, 31)))
    assert world.wait(15) == [("roots_ended", ("size_limit",), 30)]
    (record,) = world.archive.sessions.values()
    assert [msgspec.msgpack.decode(payload)[1] for _, payload in record.tail] == list(range(21, 31))
    world.take(span(A, 31, 1, body="x" * TAIL_SIZE))
    assert world.wait(15) == [("roots_ended", ("size_limit",), 31)]
    (record,) = world.archive.sessions.values()
    assert [msgspec.msgpack.decode(payload)[1] for _, payload in record.tail] == [31]


def test_past_its_size_a_session_still_learns_that_a_span_has_ended() -> None:
    world = World(session_size=400)
    start_only, complete = span(A, 1, ended=False, body="x" * 200), span(A, 1, body="x" * 500)
    world.take(start_only)
    world.store()
    assert world.take(complete, complete) == [Sight.BETTER, Sight.DUPLICATE]
    assert world.wait(15) == [("roots_ended", ("size_limit",), 1)]
    (record,) = world.archive.sessions.values()
    assert (record.tail, record.dropped, world.archive.facts[A]) == (((A, complete.payload),), 0, [start_only.payload])


def test_a_session_of_endless_traces_stays_bounded() -> None:
    world = World(session_spans=10, resident_spans=50)
    for number in range(1, 3000):
        world.take(span(f"{number:032x}", 1, session="s"))
    world.store()
    assert world.assembler.open_sessions == 1
    assert world.assembler.resident_traces <= 20
    (record,) = world.archive.sessions.values()
    assert (record.kept, record.dropped) == (10, 2989)


def test_many_short_sessions_leave_memory_when_they_are_stored() -> None:
    world = World(resident_spans=200)
    for number in range(600):
        world.take(span(f"{number:032x}", 1))
        if number % 20 == 19:
            world.wait(15)
    assert (world.assembler.open_sessions, len(world.archive.sessions)) == (0, 600)
    assert world.assembler.resident_traces <= 22


def test_one_weak_key_over_many_sessions_joins_none_of_them_and_costs_no_more_each(monkeypatch: Any) -> None:
    from collector.sessions import grouping, membership

    sizes: list[int] = []

    def components(members: Iterable[Any], ambiguous: Any) -> Any:
        sizes.append(len(list(members)))
        return grouping.components(list(members), ambiguous)

    monkeypatch.setattr(membership, "components", components)
    world = World()
    for number in range(500):
        world.take(span(f"{number:032x}", 1, session=f"s{number}", thread="1"))
        if number == 250:
            world.store()
    assert world.assembler.open_sessions == 500
    assert sum(sizes) <= 4


def test_a_weak_key_joins_as_long_as_it_is_clear_whom_it_means() -> None:
    world = World()
    world.take(span(A, 1, session="s", thread="t"), span(B, 1, thread="t"))
    assert world.assembler.open_sessions == 1
    world.take(span("c" * 32, 1, session="other", thread="t"))
    assert world.assembler.open_sessions == 3


def test_a_session_that_a_span_of_another_parts_from_it_closes_like_any() -> None:
    world = World()
    world.take(span(A, 3, session="s", conversation="c"), span(B, 1, conversation="c"))
    assert world.assembler.open_sessions == 1
    world.take(span(A, 1, session="s", conversation="other"))  # an earlier root says that A is of another conversation
    assert world.assembler.open_sessions == 2
    assert sorted(world.wait(15)) == [("roots_ended", (), 1), ("roots_ended", (), 2)]
    assert world.assembler.open_sessions == 0


def test_after_the_reopen_window_the_same_key_is_another_session() -> None:
    world = World(reopen_window_ns=seconds(100))
    world.take(span(A, 1, session="s"))
    assert world.wait(15) == [("roots_ended", (), 1)]
    world.now += 101
    assert world.take(span(A, 1, session="s")) == [Sight.NEW]
    assert world.wait(15) == [("roots_ended", (), 1)]
    names = sorted(world.archive.sessions)
    assert names[1] == names[0] + "~2"


def test_past_its_limit_a_session_keeps_the_spans_that_its_skeleton_stands_in() -> None:
    world = World(session_spans=3)
    world.take(*(span(A, number, 1, agent=False) for number in (11, 12, 13)))
    world.take(span(A, 4, 3, skeleton=True), span(A, 3, 2, agent=False), span(A, 14, 2, agent=False))
    world.take(span(A, 2, 1, agent=False), span(A, 1))
    assert world.wait(15) == [("roots_ended", ("span_limit",), 8)]
    kept = [msgspec.msgpack.decode(payload)[1] for payload in world.archive.facts[A]]
    assert kept == [11, 12, 13, 4, 3, 2], "14 is a leaf; of twice the limit there is no more room"


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize("sent", ["before", "with", "after"])
def test_what_comes_of_a_deleted_session_begins_anew_also_before_the_deletion_is_stored(
    in_memory: bool, sent: str
) -> None:
    world = World(resident_spans=0 if not in_memory else 100)
    world.take(span(A, 1, session="s"))
    assert world.wait(15) == [("roots_ended", (), 1)]
    (first,) = world.archive.sessions
    assert world.assembler.knows(first) is in_memory
    pending = world.assembler.changes()  # a checkpoint that is on its way, and holds nothing of the deletion
    world.assembler.delete(first)
    assert (world.assembler.deleting, world.assembler.knows(first)) == (True, False)
    if sent == "before":
        assert world.take(span(A, 1, session="s")) == [Sight.NEW]
    world.archive.apply(pending)
    world.assembler.stored()
    if sent == "with":
        assert world.take(span(A, 1, session="s")) == [Sight.NEW]
    deletion = world.assembler.changes()
    if sent == "after":
        assert world.take(span(A, 1, session="s")) == [Sight.NEW]
    world.archive.apply(deletion)
    world.assembler.stored()
    world.store()
    assert world.wait(15) == [("roots_ended", (), 1)]
    assert (list(world.archive.deleted), sorted(world.archive.sessions)) == ([first], [first, first + "~2"])
    assert len(world.archive.facts[A]) == 1


def test_open_sessions_close_by_rules_that_change() -> None:
    world = World()
    world.take(span(A, 2, 1), span(B, 1))
    world.now += 5
    world.assembler.change(Rules(grace_ns=seconds(4), idle_ns=seconds(10), reopen_window_ns=seconds(20)))
    assert world.wait(0) == [("roots_ended", (), 1)]
    assert world.wait(5) == [("idle", ("unresolved_parents",), 1)]
    world.now += 21
    assert world.take(span(B, 1)) == [Sight.NEW]
