"""Group commit: one fsync for many, and nobody is told before it is true."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from collector.journal import FsyncPolicy, GroupCommit, Journal, JournalFullError
from collector.report import Record
from tests.collector.journal.faults import FaultyFiles


class Bench:
    """A committing thread over a disk that misbehaves, and what it told."""

    def __init__(self, fsync: FsyncPolicy = "always", **options: Any) -> None:
        self.files = FaultyFiles()
        self.told: list[tuple[int, object]] = []
        self.groups = 0
        self.enough = threading.Condition()
        journal = Journal(Path("/journal"), files=self.files)
        journal.open()
        self.failures: list[int] = []
        self.commit = GroupCommit(
            journal, fsync=fsync, settled=self.settled, failed=lambda: self.failures.append(1), **options
        )

    def settled(self, outcomes: list[tuple[Any, Record | Exception]]) -> None:
        with self.enough:
            self.groups += 1
            self.told += [
                (token, self.durable(one) if isinstance(one, Record) else type(one)) for token, one in outcomes
            ]
            self.enough.notify()

    def durable(self, record: Record) -> bool:
        return any(record.body in durable for durable in self.files.durable.values())

    def send(self, *numbers: int) -> list[tuple[int, object]]:
        for number in numbers:
            self.commit.submit(number, Record("traces", "json", b"body-%d" % number, 1))
        with self.enough:
            assert self.enough.wait_for(lambda: len(self.told) >= len(numbers), 10)
            told, self.told = self.told, []
        return told


def test_always_tells_after_the_fsync_and_shares_it() -> None:
    bench = Bench("always", delay_s=0.05)
    bench.commit.start()
    assert bench.send(*range(50)) == [(number, True) for number in range(50)]
    assert bench.files.syncs < 10
    assert bench.commit.stop(5)


def test_a_fault_that_nobody_thought_of_is_told_and_the_next_group_is_written() -> None:
    bench = Bench("always")
    bench.commit.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench.files, "append", lambda *_: 1 // 0)
        assert bench.send(1) == [(1, ZeroDivisionError)]
    assert bench.send(2) == [(2, True)]
    assert bench.commit.stop(5)


def test_interval_tells_at_once_and_syncs_soon() -> None:
    bench = Bench("interval", interval_s=0.05)
    bench.commit.start()
    assert bench.send(1) == [(1, False)]
    assert bench.commit.stop(5)
    assert bench.durable(Record("traces", "json", b"body-1", 1))


def test_never_leaves_it_to_the_system() -> None:
    bench = Bench("never")
    bench.commit.start()
    assert bench.send(1) == [(1, False)]
    assert bench.commit.stop(5)


@pytest.mark.parametrize("trouble", ["room", "sync"])
def test_what_cannot_be_made_durable_is_refused_and_gone(trouble: str) -> None:
    bench = Bench("always")
    bench.commit.start()
    if trouble == "room":
        bench.files.room = 5
    else:
        bench.files.sync_fails = True
    assert bench.send(1) == [(1, OSError)]
    bench.files.room, bench.files.sync_fails = None, False
    assert bench.send(2) == [(2, True)]
    assert len(bench.failures) == 1
    assert bench.commit.stop(5)
    assert not any(b"body-1" in data for data in bench.files.written.values())


def test_at_its_bound_it_refuses_and_after_a_trim_it_takes_again() -> None:
    bench = Bench("always", max_size=100)
    bench.commit.start()
    told = [bench.send(number)[0][1] for number in range(5)]
    assert told == [True, True, True, JournalFullError, JournalFullError]
    assert bench.commit.full
    assert bench.failures == [], "to be full is no fault of the disk"
    bench.commit.trim(bench.commit.journal.end)
    bench.send(8)  # the trim follows the group that is refused
    assert bench.send(9) == [(9, True)]
    assert bench.commit.stop(5)


def test_a_segment_that_is_ended_early_goes_as_soon_as_nothing_in_it_is_needed() -> None:
    bench = Bench("interval", interval_s=60)
    bench.commit.start()
    bench.send(1)
    needed = bench.commit.journal.end
    bench.send(2)
    bench.commit.trim(needed, roll=True)
    bench.send(3)  # the segment is ended before or after it
    bench.send(4)
    assert (bench.commit.journal.segments, bench.durable(Record("traces", "json", b"body-2", 1))) == (2, True)
    bench.commit.trim(bench.commit.journal.end)
    bench.send(5)
    bench.send(6)
    assert bench.commit.stop(5)
    kept = b"".join(bench.files.written.values())
    assert [b"body-%d" % number in kept for number in (1, 2, 4, 5, 6)] == [False, False, True, True, True]


def test_stop_writes_what_waits_and_is_safe_twice_and_without_start() -> None:
    bench = Bench("always")
    assert bench.commit.stop(1)
    bench.commit.start()
    bench.commit.start()
    for number in range(20):
        bench.commit.submit(number, Record("traces", "json", b"body-%d" % number, 1))
    assert bench.commit.stop(5)
    assert [outcome for _, outcome in bench.told] == [True] * 20
    assert bench.commit.stop(5)
    with pytest.raises(RuntimeError, match="not running"):
        bench.commit.submit(1, Record("traces", "json", b"", 1))
