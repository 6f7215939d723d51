"""The engine end to end, in this process: requests in, reports in the store, over restarts and trouble."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from collector.engine import Accepted, Housekeeping
from collector.pipeline import Terms
from collector.sessions.keys import SessionKey
from collector.sessions.model import Rules
from collector.sessions.sightings import Scopes
from collector.store import Deleted, archive
from tests.collector.engines import CONFORMANCE, Bench, capture, case_session, crashed, journaled, run

LEAF, _, ROOT = case_session(0)


def test_a_session_closes_when_its_roots_have_ended_and_is_reported_once(tmp_path: Path) -> None:
    async def test() -> None:
        swarm = capture("langgraph-swarm__openinference")
        async with Bench(tmp_path) as bench:
            await bench.send(*swarm)
            await bench.taken()
            bench.clock.forward(16)
            (report,) = await bench.reports(1)
            assert (report.name, report.close_reason, report.partial, report.spans) == (
                "sess-pay-412", "roots_ended", (), 58,
            )  # fmt: skip
            await bench.send(*swarm)
            await bench.until(lambda: bench.engine.stats().taken.duplicates == 58)
            assert bench.engine.stats().open_sessions == 0
            bench.clock.forward(1000)
            assert await bench.reports(1) == [report]

    run(test())


def test_case_11_gives_one_report_whether_in_one_burst_or_with_idle_times_between(tmp_path: Path) -> None:
    lines = (CONFORMANCE / "cases/11-duplicates-and-two-versions/input.jsonl").read_bytes()

    async def test(folder: Path, wait_s: float) -> tuple[bytes, int, int, int, int]:
        bench = Bench(folder)
        async with bench:
            for line in lines.splitlines():
                await bench.send(line)
                await bench.taken()
                bench.clock.forward(wait_s)
                await bench.taken()
            bench.clock.forward(301)
            await bench.settled()
            (row,) = bench.store.sessions().rows
            report = bench.store.report(row.session_id)
            assert report is not None
            assert [(h.source_agent, h.target_agent, h.latency_ms) for h in report.handoffs] == [
                ("drafter", "checker", 200.0)
            ]
        async with bench:  # a stop stores all: repeats that came after the last report, too
            kept = bench.store.archive.load(row.session_id)
            assert kept is not None
        return report.trace_json, report.spans, report.tokens or 0, kept[0].duplicates, kept[0].stale

    burst = asyncio.run(test(tmp_path / "burst", 0))
    assert burst[1:] == (3, 100, 3, 1)
    assert asyncio.run(test(tmp_path / "slow", 301)) == burst


def test_a_late_span_brings_revision_two_over_the_whole_session(tmp_path: Path) -> None:
    async def test() -> None:
        async with Bench(tmp_path) as bench:
            await bench.send(ROOT)
            await bench.taken()
            bench.clock.forward(16)
            (first,) = await bench.reports(1)
            assert (first.revision, first.spans, first.late, len(first.handoffs)) == (1, 2, 0, 0)
            bench.clock.forward(3600)
            await bench.send(LEAF)
            await bench.taken()
            bench.clock.forward(16)
            (second,) = await bench.reports(2)
            assert (second.revision, second.spans, second.late, len(second.handoffs)) == (2, 3, 1, 1)
            assert [row.revision for row in bench.store.revisions(second.session_id)] == [1, 2]
            assert bench.store.report(second.session_id, 1) == first

    run(test())


def test_the_same_key_after_the_reopen_window_is_a_new_session(tmp_path: Path) -> None:
    async def test() -> None:
        async with Bench(tmp_path) as bench:
            for _ in range(2):
                await bench.send(ROOT, LEAF)
                await bench.taken()
                bench.clock.forward(16)
                await bench.settled()
                bench.clock.forward(86_401)
            first, second = await bench.reports(2)
            assert (first.name, second.name) == ("s-0", "s-0~2")
            assert second.session_id == first.session_id + "~2"
            assert (second.trace_json, second.revision) == (first.trace_json, 1)

    run(test())


def test_a_stop_closes_nothing_and_the_next_start_goes_on(tmp_path: Path) -> None:
    async def test() -> None:
        bench = Bench(tmp_path)
        async with bench:
            await bench.send(LEAF)
        assert bench.stopped is True
        bench.clock.forward(3600)  # time that nobody listened in is no quiet time
        async with bench:
            await bench.taken()
            assert bench.engine.stats().open_sessions == 1
            await bench.send(ROOT)
            await bench.taken()
            bench.clock.forward(16)
            (report,) = await bench.reports(1)
            assert (report.close_reason, report.spans, report.revision) == ("roots_ended", 3, 1)

    run(test())


@pytest.mark.parametrize("journal", [True, False])
def test_a_drain_reports_what_is_open_as_partial(tmp_path: Path, journal: bool) -> None:
    async def test() -> None:
        bench = Bench(tmp_path, journal=journal)
        async with bench:
            bench.drain = journal  # without a journal it drains unasked
            await bench.send(LEAF)
        async with bench:
            (report,) = await bench.reports(1)
            assert (report.close_reason, report.partial, report.spans) == (
                "drain",
                ("unresolved_parents", "drained"),
                1,
            )

    run(test())


def test_traces_without_an_agent_make_no_session(tmp_path: Path) -> None:
    plain = ROOT.replace(b"invoke_agent", b"http_call").replace(b"invoke_workflow", b"http_root")

    async def test() -> None:
        async with Bench(tmp_path) as bench:
            await bench.send(plain.replace(b"gen_ai.", b"plain."))
            await bench.taken()
            bench.clock.forward(16)
            await bench.until(lambda: bench.engine.stats().taken.plain_traces == 1)
            assert (bench.store.stats().reports, bench.store.sessions().rows) == (0, ())

    run(test())


def test_deleting_a_session_leaves_nothing_and_its_key_begins_anew(tmp_path: Path) -> None:
    async def test() -> None:
        async with Bench(tmp_path) as bench:
            await bench.send(ROOT, LEAF)
            await bench.taken()
            bench.clock.forward(16)
            (report,) = await bench.reports(1)
            assert (await bench.engine.delete(report.session_id)).sessions == (report.session_id,)
            assert (await bench.engine.delete(report.session_id)).sessions == ()
            assert bench.store.session(report.session_id) is None
            assert bench.store.report(report.session_id) is None
            with bench.store._database.read() as connection:
                left = {
                    table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                    for table in ("traces", "refs", "chunks", "reports", "marks", "roles", "names")
                }
            assert left == dict.fromkeys(left, 0)
            await bench.send(ROOT, LEAF)
            await bench.taken()
            bench.clock.forward(16)
            (again,) = await bench.reports(1)
            assert (again.name, again.trace_json) == ("s-0~2", report.trace_json)

    run(test())


NEVER = Housekeeping(checkpoint_s=1000)  # what is taken is stored only where someone waits for it


def test_what_was_of_a_deleted_session_does_not_come_back_after_a_crash(tmp_path: Path) -> None:
    async def test() -> None:
        async with Bench(tmp_path / "1", housekeeping=NEVER) as bench:
            bench.engine._commit.trim = lambda *_, **__: None  # type: ignore[union-attr, method-assign]
            await bench.send(LEAF)
            await bench.taken()
            other = case_session(1)[0]
            await bench.send(other)
            session_id = SessionKey("session", "s-0", service="").id()
            assert await bench.engine.delete(session_id) == Deleted((session_id,))
            assert await bench.engine.delete(session_id) == Deleted()
            await bench.send(ROOT)
            assert LEAF in journaled(bench)
            async with crashed(bench, tmp_path / "2") as again:
                again.clock.forward(16)
                again.clock.forward(301)
                reports = await again.reports(2)
                assert [(report.name, report.spans) for report in reports] == [("s-0", 2), ("s-1", 1)]

    run(test())


def test_the_requests_of_a_deleted_session_leave_the_journal_while_others_come(tmp_path: Path) -> None:
    async def test() -> None:
        async with Bench(tmp_path, housekeeping=Housekeeping(checkpoint_s=0.01)) as bench:
            await bench.send(LEAF)
            await bench.taken()
            assert LEAF in journaled(bench)
            number = 1
            await bench.engine.delete(SessionKey("session", "s-0").id())
            while LEAF in journaled(bench):
                await bench.send(case_session(number)[0])
                await bench.taken()
                number += 1
                assert number < 500
            assert bench.engine.stats().open_sessions == number - 1

    run(test())


def test_a_deletion_that_cannot_be_stored_is_told_and_happens_when_it_can(tmp_path: Path) -> None:
    async def test() -> None:
        async with Bench(tmp_path) as bench:
            await bench.send(ROOT, LEAF)
            await bench.taken()
            bench.clock.forward(16)
            (report,) = await bench.reports(1)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(archive, "apply", lambda *_: 1 // 0)
                with pytest.raises(ZeroDivisionError):
                    await bench.engine.delete(report.session_id)
                assert bench.store.report(report.session_id) is not None
            await bench.until(lambda: bench.store.report(report.session_id) is None)

    run(test())


def test_an_open_session_can_be_deleted(tmp_path: Path) -> None:
    async def test() -> None:
        async with Bench(tmp_path) as bench:
            await bench.send(LEAF)
            await bench.until(lambda: bench.store.stats().open_sessions == 1)
            (session_id,) = bench.store.archive.open_sessions()
            assert (await bench.engine.delete(session_id)).sessions == (session_id,)
            assert bench.engine.stats().open_sessions == 0
            bench.clock.forward(400)
            await bench.taken()
            assert bench.store.stats().reports == 0

    run(test())


def test_a_late_key_supersedes_the_report_made_without_it(tmp_path: Path) -> None:
    bare = ROOT.replace(b"session.id", b"unknown.id")

    async def test() -> None:
        async with Bench(tmp_path) as bench:
            await bench.send(bare)
            await bench.taken()
            bench.clock.forward(16)
            (first,) = await bench.reports(1)
            assert first.key.kind == "trace"
            await bench.send(LEAF)
            await bench.taken()
            bench.clock.forward(16)
            (second,) = await bench.reports(2)
            assert (second.name, second.key.kind, second.revision, second.spans) == ("s-0", "session", 2, 3)
            old = bench.store.report(first.session_id)
            assert old is not None
            assert old.superseded_by == second.session_id
            row = bench.store.session(first.session_id)
            assert row is not None
            assert (row.state, row.superseded_by) == ("superseded", second.session_id)

    run(test())


def test_a_late_key_that_takes_all_agents_away_supersedes_the_report_made_with_them(tmp_path: Path) -> None:
    plain = (
        LEAF.replace(f"{1:032x}".encode(), b"b" * 32).replace(b"invoke_agent", b"http_call").replace(b"gen_ai.", b"h.")
    )

    async def test() -> None:
        async with Bench(tmp_path) as bench:
            await bench.send(LEAF, plain)
            await bench.taken()
            bench.clock.forward(301)
            (first,) = await bench.reports(1)
            assert (first.name, first.spans) == ("s-0", 2)
            await bench.send(
                ROOT.replace(b'"s-0"', b'"s-9"')
            )  # the earliest span of the trace says of which session it is
            await bench.taken()
            bench.clock.forward(16)
            await bench.until(lambda: bench.store.stats().reports == 2)
            bench.clock.forward(301)
            await bench.settled()
            (row,) = bench.store.sessions().rows
            second, old = bench.store.report(row.session_id), bench.store.report(first.session_id)
            assert second is not None
            assert old is not None
            assert (second.name, second.spans, second.revision) == ("s-9", 3, 2)
            assert (old.revision, old.superseded_by) == (1, row.session_id)

    run(test())


def test_tenants_of_two_connections_never_meet(tmp_path: Path) -> None:
    async def test() -> None:
        async with Bench(tmp_path, terms=Terms(scopes=Scopes())) as bench:
            for tenant in ("acme", "zen"):
                for body in (ROOT, LEAF):
                    await bench.engine.accept(Accepted("traces", "json", body, tenant))
            await bench.taken()
            bench.clock.forward(16)
            reports = await bench.reports(2)
            assert sorted((r.name, r.tenant, r.spans) for r in reports) == [("s-0", "acme", 3), ("s-0", "zen", 3)]

    run(test())


@pytest.mark.parametrize("limit", [{"session_spans": 100}, {"session_size": 20_000}], ids=["spans", "size"])
def test_an_endless_session_pins_no_segment_and_stays_small(tmp_path: Path, limit: dict[str, int]) -> None:
    async def test() -> None:
        rules = Rules(**limit, resident_spans=200)
        async with Bench(tmp_path, rules=rules) as bench:
            for number in range(400):
                span = f"{number + 10:016x}".encode()
                await bench.send(LEAF.replace(b"e735e75439d32b6c", span))
            await bench.until(
                lambda: bench.engine.stats().taken.spans == 400 and bench.engine.stats().open_sessions == 1
            )
            assert bench.engine._intake.assembler.resident_spans <= 200
            bench.clock.forward(301)
            (report,) = await bench.reports(1)
            reason = "span_limit" if "session_spans" in limit else "size_limit"
            assert (report.spans, report.partial) == (400, ("unresolved_parents", reason))
            facts, _ = bench.store.archive.facts([f"{1:032x}"], 1 << 60)
            held = {"session_spans": len(facts), "session_size": sum(map(len, facts))}
            assert all(1.9 * bound < held[name] <= 2 * bound for name, bound in limit.items()), "all are agents' spans"
        kept = sum(path.stat().st_size for path in (tmp_path / "journal").iterdir())
        assert kept == 0

    run(test())


def test_other_rules_and_bounds_of_age_are_taken_while_it_runs(tmp_path: Path) -> None:
    async def test() -> None:
        async with Bench(tmp_path) as bench:
            await bench.send(ROOT, LEAF)
            await bench.taken()
            await bench.engine.reload(Terms(), Rules(grace_ns=1), Housekeeping(purge_s=0, max_age_ns=10**9))
            bench.clock.forward(0.1)
            await bench.reports(1)
            bench.clock.forward(2)
            await bench.until(lambda: not bench.store.sessions().rows)

    run(test())


def test_over_a_size_the_oldest_sessions_go_and_no_more_than_that(tmp_path: Path) -> None:
    async def test() -> None:
        async with Bench(tmp_path) as bench:
            for number in range(60):
                await bench.send(*case_session(number))
                if number % 20 == 19:
                    await bench.taken()
                    bench.clock.forward(16)
                    await bench.settled()
            bound = bench.store.stats().bytes_used * 2 // 3
            await bench.engine.reload(Terms(), Rules(), Housekeeping(purge_s=0, max_bytes=bound))
            await bench.until(lambda: bench.store.stats().bytes_used <= bound)
            await bench.engine.reload(Terms(), Rules(), Housekeeping(purge_s=1000))
            left = [int(row.name.removeprefix("s-")) for row in bench.store.sessions(page_size=500).rows]
            assert sorted(left) == list(range(60 - len(left), 60))
            assert len(left) >= 20, "a portion at a time, until it fits"

    run(test())


def test_start_and_stop_are_safe_twice_without_each_other_and_bounded(tmp_path: Path) -> None:
    async def test() -> None:
        bench = Bench(tmp_path)
        async with bench:
            await bench.engine.start()
            await bench.send(LEAF)
            assert await bench.engine.stop(10)
            assert await bench.engine.stop(10)
            bench.engine.tick()
        unstarted = Bench(tmp_path / "other")
        async with unstarted:
            pass
        assert await unstarted.engine.stop(1)

    run(test())
