"""What the engine refuses, why, and until when."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from collector import semconv
from collector.build import make_rules
from collector.config.options import Limits as OptionLimits
from collector.config.options import Options
from collector.engine import Durability, Limits, Overloaded
from collector.store import archive
from tests.collector.engines import Bench, case_session, run
from tests.collector.journal.faults import FaultyFiles

LEAF, _, ROOT = case_session(0)


def test_what_does_not_fit_is_refused_with_its_reason(tmp_path: Path) -> None:
    other = case_session(1)[0]

    async def refused(bench: Bench, body: bytes = LEAF) -> tuple[str, float, bool]:
        with pytest.raises(Overloaded) as caught:
            await bench.send(body)
        return caught.value.reason, caught.value.retry_after_s, caught.value.permanent

    async def test() -> None:
        async with Bench(tmp_path / "1", limits=Limits(queue_requests=0, queue_size=1, disk_free=0)) as bench:
            bench.engine._gate._accepted_bytes += 1
            assert await refused(bench) == ("queue", 1.0, False)
            bench.engine._gate._accepted_bytes -= 1
        assert await refused(bench) == ("stopping", 5.0, False)
        async with Bench(tmp_path / "2", limits=Limits(open_sessions=1)) as bench:
            await bench.send(LEAF)
            await bench.taken()
            assert await refused(bench, other) == ("sessions", 10.0, False)
            await bench.send(ROOT)
            await bench.taken()
            bench.clock.forward(16)
            assert [report.spans for report in await bench.reports(1)] == [3], "what is open can end"
            await bench.send(other)
        async with Bench(tmp_path / "3", limits=Limits(memory=1000)) as bench:
            await bench.send(LEAF)
            await bench.taken()
            assert await refused(bench) == ("memory", 5.0, False)
        async with Bench(tmp_path / "4", limits=Limits(disk_free=1 << 62)) as bench:
            assert await refused(bench) == ("disk", 10.0, False)
            assert bench.engine.stats().refused == {"disk": 1}

    run(test())


def test_a_full_disk_refuses_retryably_and_keeps_what_was_accepted(tmp_path: Path) -> None:
    async def test() -> None:
        files = FaultyFiles()
        bench = Bench(tmp_path, files=files, limits=Limits(disk_free=0))
        async with bench:
            await bench.send(ROOT)
            files.room = 10
            with pytest.raises(Overloaded, match="disk"):
                await bench.send(LEAF)
            files.room = None
            await bench.send(LEAF)
            await bench.taken()
            bench.clock.forward(16)
            (report,) = await bench.reports(1)
            assert report.spans == 3

    run(test())


def test_an_fsync_that_fails_behind_the_acknowledgement_is_counted(tmp_path: Path) -> None:
    counted: Counter[str] = Counter()

    async def test() -> None:
        files = FaultyFiles()
        durability = Durability("interval", 0.01)
        async with Bench(
            tmp_path,
            files=files,
            durability=durability,
            limits=Limits(disk_free=0),
            count=lambda n, k: counted.update({n: k}),
        ) as bench:
            files.sync_fails = True
            await bench.send(LEAF)
            await bench.until(lambda: counted[semconv.H_JOURNAL_FAILED] == 1)
            files.sync_fails = False

    run(test())


def test_an_accepted_request_that_cannot_be_read_is_counted_and_the_next_is_taken(tmp_path: Path) -> None:
    counted: Counter[str] = Counter()

    async def test() -> None:
        async with Bench(tmp_path, count=lambda n, k: counted.update({n: k})) as bench:
            await bench.send(b"{", LEAF)
            await bench.taken()
            assert (counted[semconv.H_RECOVERY_FAILED], bench.engine.stats().taken.spans) == (1, 1)

    run(test())


def test_a_memory_bound_that_was_reached_is_left_when_sessions_close(tmp_path: Path) -> None:
    options = Options(limits=OptionLimits(memory=200_000))

    async def test() -> None:
        rules = make_rules(options)
        async with Bench(tmp_path, rules=rules, limits=Limits(memory=options.limits.memory)) as bench:
            number = 0
            while (trouble := bench.engine.trouble()) is None:
                await bench.send(case_session(number)[0])
                await bench.taken()
                number += 1
            assert trouble.reason == "memory"
            assert bench.engine.stats().open_sessions > 20
            bench.clock.forward(301)
            await bench.until(lambda: bench.engine.trouble() is None)
            assert bench.engine.stats().open_sessions == 0

    run(test())


def test_a_store_that_cannot_be_written_refuses_and_goes_on_where_it_stood(tmp_path: Path) -> None:
    async def test() -> None:
        async with Bench(tmp_path) as bench:
            broken = [True]

            apply = archive.apply

            def full(*arguments: Any) -> int:
                if broken:
                    raise sqlite3.OperationalError("database or disk is full")
                return apply(*arguments)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(archive, "apply", full)
                await bench.send(ROOT, LEAF)
                await bench.until(lambda: bench.engine.trouble() is not None)
                with pytest.raises(Overloaded, match="disk: the store cannot be written"):
                    await bench.send(LEAF)
                broken.clear()
                await bench.until(lambda: bench.engine.trouble() is None)
                bench.clock.forward(16)
                (report,) = await bench.reports(1)
                assert report.spans == 3

    run(test())
