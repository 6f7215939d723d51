"""What a start makes of what the last run left."""

from __future__ import annotations

from pathlib import Path

from collector.journal import Journal
from collector.report import Record
from tests.collector.engines import Bench, case_session, crashed, journaled, run

LEAF, STALE, ROOT = case_session(0)


def test_what_the_store_holds_leaves_the_journal_at_the_start(tmp_path: Path) -> None:
    async def test() -> None:
        async with Bench(tmp_path / "1") as bench:
            bench.engine._commit.trim = lambda *_, **__: None  # type: ignore[union-attr, method-assign]
            await bench.send(ROOT, LEAF)
            await bench.taken()
            bench.clock.forward(16)
            reports = await bench.reports(1)
            async with crashed(bench, tmp_path / "2") as again:
                assert journaled(again) == b""
                assert await again.reports(1) == reports

    run(test())


def test_what_was_accepted_under_a_clock_that_was_set_back_since_closes_by_the_clock_as_it_is(tmp_path: Path) -> None:
    async def test() -> None:
        async with Bench(tmp_path / "1") as bench:
            bench.clock.forward(5 * 3600)
            await bench.send(ROOT)
            await bench.taken()
            await bench.until(lambda: bench.engine._intake.idle)
            await bench.send(LEAF)
            async with crashed(bench, tmp_path / "2") as again:  # five hours before
                again.clock.forward(16)
                (report,) = await again.reports(1)
                assert (report.spans, report.close_reason) == (3, "roots_ended")

    run(test())


def test_damage_in_the_middle_of_the_journal_costs_its_own_records_and_is_counted(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    journal.open()
    _, bad, _ = journal.append([Record("traces", "json", body, 1) for body in (LEAF, STALE, ROOT)])
    journal.close()
    (path,) = (tmp_path / "journal").iterdir()
    data = bytearray(path.read_bytes())
    data[bad.position.offset + 60] ^= 0xFF
    path.write_bytes(data)

    async def test() -> None:
        async with Bench(tmp_path) as bench:
            assert (bench.engine.stats().damages, bench.engine.stats().taken.stale) == (1, 0)
            bench.clock.forward(16)
            (report,) = await bench.reports(1)
            assert report.spans == 3

    run(test())
