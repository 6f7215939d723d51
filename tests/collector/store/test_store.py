"""The store: idempotent commits, lists that page, an outbox, deletion, backup, versions."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.emit.planner import Outlets, SessionEmitter
from collector.pipeline import dossier
from collector.report import OutboxEntry, Position
from collector.store import Checkpoint, Committed, PageTokenError, SessionFilter, Store, StoreError
from collector.store.database import Database
from tests.collector.store.makers import SECOND, Counting, changes, handoff, put, report


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "data" / "store.db" if request.param == "file" else None, now_ns=lambda: 100 * SECOND)
    made.start()
    yield made
    made.stop()


def names(store: Store, **chosen: object) -> list[str]:
    return [row.name for row in store.sessions(SessionFilter(**chosen)).rows]  # type: ignore[arg-type]


def totals(store: Store) -> list[int]:
    return [series.count for series in store.metrics()]


def test_a_report_comes_back_as_it_was_and_is_committed_once(store: Store) -> None:
    made = report()
    assert put(store, made) == ((made.session_id, 1),)
    assert put(store, made) == ()
    assert store.report(made.session_id) == made
    assert store.trace_json(made.session_id) == made.trace_json
    assert (totals(store), len(store.outbox("traces"))) == ([1], 1)
    assert (store.report("none"), store.trace_json("none"), store.session("none")) == (None, None, None)


def test_a_revision_counts_no_handoff_again(store: Store) -> None:
    put(store, report())
    put(store, report(revision=2, handoffs=(handoff(1), handoff(2)), close_reason="roots_ended"))
    assert totals(store) == [2]
    assert [(row.revision, row.close_reason) for row in store.revisions(report().session_id)] == [
        (1, "idle"), (2, "roots_ended"),
    ]  # fmt: skip
    row = store.session(report().session_id)
    assert row is not None
    assert (row.revision, row.handoffs, row.weakest_source) == (2, 2, "pln")


def test_a_session_merged_away_is_superseded_and_its_samples_count_for_the_heir(store: Store) -> None:
    old, new = report(1), report(2)
    put(store, old)
    put(store, new, gone=((old.session_id, new.session_id),))
    assert totals(store) == [1]
    assert names(store) == ["s-2"]
    found = store.report(old.session_id)
    assert found is not None
    assert found.superseded_by == new.session_id


@pytest.mark.parametrize(("goes_on", "sessions"), [(True, 2), (False, 1)])
def test_a_session_that_parts_is_counted_once_more_if_both_stand(store: Store, goes_on: bool, sessions: int) -> None:
    emitter = SessionEmitter(Outlets(), dossier)
    old, new = report(1, handoffs=(handoff(1), handoff(2))), report(2, handoffs=(handoff(2),))
    store.checkpoint(Checkpoint(changes(old), reports=(old,)), emitter).result()
    records = [msgspec.structs.replace(record, agent=goes_on) for record in changes(old).sessions]
    moved = changes(new, inherits=((new.session_id, old.session_id),))
    moved = msgspec.structs.replace(moved, sessions=(*moved.sessions, *records))
    store.checkpoint(Checkpoint(moved), emitter).result()
    store.checkpoint(Checkpoint(changes(), reports=(new,)), emitter).result()
    again = msgspec.structs.replace(new, revision=2)
    store.checkpoint(Checkpoint(changes(), reports=(again,)), emitter).result()
    found = {series.instrument: 0 for series in store.metrics()}
    for series in store.metrics():
        found[series.instrument] += series.count or series.sum_nano // 10**9
    assert (found["orbitrelay.session.count"], found["orbitrelay.handoff.count"]) == (sessions, 2)


def test_a_failing_write_costs_no_other(store: Store) -> None:
    class Broken:
        def plan(self, *_: object) -> None:
            raise RuntimeError("broken")

    bad = store.checkpoint(Checkpoint(changes(report(1)), reports=(report(1),)), Broken())  # type: ignore[arg-type]
    good = store.checkpoint(Checkpoint(changes(report(2)), reports=(report(2),)), Counting())
    with pytest.raises(RuntimeError, match="broken"):
        bad.result(10)
    assert good.result(10).committed == ((report(2).session_id, 1),)
    assert store.session(report(1).session_id) is None


def test_positions_are_kept_with_what_they_stand_for(tmp_path: Path) -> None:
    for expected in ((None, None), (Position(3, 40), Position(2, 9))):
        store = Store(tmp_path / "store.db")
        store.start()
        assert store.positions() == expected
        store.checkpoint(Checkpoint(changes(), Position(3, 40), Position(2, 9)), Counting()).result()
        store.stop()


def test_lists_choose_by_every_filter(store: Store) -> None:
    put(
        store,
        report(1),
        report(2, service="bank", grade="A", mean_score=1.0, roles=("auditor",), partial=("drained",)),
        report(
            3, close_reason="drain", mean_score=None, grade="", handoffs=(handoff(1, missing_fields=("goal_50%",)),)
        ),
    )
    assert names(store) == ["s-3", "s-2", "s-1"]
    assert names(store, order="weakest") == ["s-1", "s-2", "s-3"]
    assert names(store, service="bank") == ["s-2"]
    assert names(store, grade="C") == ["s-1"]
    assert names(store, reason="drain") == ["s-3"]
    assert names(store, role="planner") == ["s-3", "s-1"]
    assert names(store, role="planner", order="weakest") == ["s-1", "s-3"]
    assert names(store, role="planner", service="bank") == []
    assert names(store, partial=True) == ["s-2"]
    assert names(store, since_ns=3 * SECOND, until_ns=4 * SECOND) == ["s-2"]
    assert names(store, text="GOAL_50%") == ["s-3"]
    assert names(store, text="goalx50") == []
    assert names(store, text="S-1") == ["s-1"]


@given(
    means=st.lists(st.sampled_from([None, 0.1, 0.5, 0.9]), max_size=12),
    size=st.integers(1, 5),
    chosen=st.sampled_from(["recent", "weakest", "role"]),
)
def test_pages_hold_each_session_once_and_in_order(means: list[float | None], size: int, chosen: str) -> None:
    store = Store(None)
    store.start()
    try:
        put(store, *(report(n % 4 + 100 * n, mean_score=mean, closed_ns=n % 3) for n, mean in enumerate(means)))
        kind = SessionFilter(role="planner") if chosen == "role" else SessionFilter(order=chosen)  # type: ignore[arg-type]
        seen: list[str] = []
        token = ""
        while True:
            page = store.sessions(kind, token, size)
            seen += [row.name for row in page.rows]
            token = page.next_token
            if not token:
                break
            assert len(page.rows) == size
        assert seen == [row.name for row in store.sessions(kind, page_size=1000).rows]
        assert len(set(seen)) == len(means)
    finally:
        store.stop()


@pytest.mark.parametrize("token", ["x", "ä", "WzEsMl0", "WyJ3ZWFrZXN0IiwxLCJ4Il0"])
def test_a_page_token_that_no_page_gave_is_refused(store: Store, token: str) -> None:
    with pytest.raises(PageTokenError):
        store.sessions(page_token=token)


def test_the_outbox_keeps_order_and_gives_nothing_twice(store: Store) -> None:
    entries = [OutboxEntry(f"e{n}", "traces", "traces", b"x" * 10) for n in range(6)]
    store.outbox_put(entries)
    assert store.outbox("traces", 2) == tuple(entries[:2])
    store.outbox_done(["e0", "e2"])
    store.outbox_put(entries)
    store.outbox_park("e1", "refused for good")
    assert [entry.id for entry in store.outbox("traces")] == ["e3", "e4", "e5"]
    (held,) = store.outbox_stats()
    assert (held.destination, held.waiting, held.waiting_bytes, held.parked, held.parked_bytes) == (
        "traces",
        3,
        30,
        1,
        10,
    )
    assert store.outbox_trim("traces", 25) == 2  # the parked one first
    assert [entry.id for entry in store.outbox("traces")] == ["e4", "e5"]
    store.outbox_park("e5", "no")
    assert store.outbox_unpark("traces") == 1
    assert [entry.id for entry in store.outbox("traces")] == ["e4", "e5"]
    assert store.outbox("logs") == ()


def test_a_file_name_belongs_to_one_session(store: Store) -> None:
    assert store.claim_name("Chat", "1111111122") == "Chat"
    assert store.claim_name("chat", "2222222233") == "chat-22222222"
    assert store.claim_name("Chat", "1111111122") == "Chat"
    assert store.claim_name("chat", "2222222244") == "chat-2222222244"


def test_what_is_over_age_or_size_is_named_oldest_first_and_deletion_is_complete(store: Store) -> None:
    made = [report(n) for n in (1, 2, 3)]
    put(store, *made)
    assert store.expendable() == []
    assert store.expendable(max_age_ns=97 * SECOND) == [made[0].session_id]
    assert store.expendable(max_bytes=1) == [each.session_id for each in made]
    store.claim_name("s-1", made[0].session_id)
    deleted = store.delete(made[0].session_id).result()
    assert (deleted.sessions, deleted.stems) == ((made[0].session_id,), ("s-1",))
    assert names(store) == ["s-3", "s-2"]
    assert store.report(made[0].session_id) is None
    removals = [(entry.name, entry.payload) for entry in store.outbox("files")]
    assert removals == [(f"{made[0].session_id}/s-1{suffix}", b"") for suffix in (".trace.json", ".dossier.md")]
    assert store.outbox_trim("files", 1) == 0, "what removes files is not dropped at the bound"
    assert store.claim_name("s-1", made[0].session_id) == "", "a write that was under way when it was deleted"


def test_working_state_goes_after_its_window_and_reports_stay(store: Store) -> None:
    made = report(1)
    put(store, made)
    assert store.purge(200 * SECOND, 200 * SECOND).result() == 0
    assert store.purge(90 * SECOND, 90 * SECOND).result() == 1
    row = store.session(made.session_id)
    assert row is not None
    assert row.state == "expired"
    assert store.archive.load(made.session_id) is None
    assert store.report(made.session_id) == made


def test_a_watcher_gets_what_is_committed_and_can_come_back(store: Store) -> None:
    async def test() -> None:
        put(store, report(1))
        watch = store.watch()
        waiting = asyncio.ensure_future(anext(watch))
        await asyncio.sleep(0.1)
        await asyncio.to_thread(put, store, report(2))
        second = Committed(2, report(2).session_id, 1)
        assert await asyncio.wait_for(waiting, 5) == second
        await watch.aclose()
        again = store.watch(after=1)
        assert await asyncio.wait_for(anext(again), 5) == second
        await again.aclose()

    asyncio.run(test())


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database" * 1000)
    with pytest.raises(StoreError, match=r"cannot use store '.*text\.db': file is not a database"):
        Store(tmp_path / "text.db").start()


def test_a_thread_that_reads_first_waits_for_no_writer(tmp_path: Path) -> None:
    database = Database(tmp_path / "store.db")
    database.start()
    writing, read = threading.Event(), threading.Event()

    def hold(_: sqlite3.Connection) -> bool:
        writing.set()
        return read.wait(10)

    future = database.write(hold)
    assert writing.wait(10)

    def ask() -> None:
        with database.read() as connection:
            connection.execute("SELECT count(*) FROM sessions").fetchone()
        read.set()

    thread = threading.Thread(target=ask)
    thread.start()
    assert future.result()
    thread.join()
    with database.read() as connection:
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)
    database.stop()


def test_files_are_for_their_owner_only(tmp_path: Path) -> None:
    store = Store(tmp_path / "data" / "store.db")
    store.start()
    put(store, report())
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "data").iterdir()} == {0o600}
    store.stop()


def test_start_and_stop_are_safe_twice_and_without_each_other(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.db")
    assert store.stop()
    with pytest.raises(StoreError, match="not running"):
        store.sessions()
    with pytest.raises(StoreError, match="not running"):
        store.outbox_put([])
    store.start()
    store.start()
    put(store, report())
    assert store.stop()
    assert store.stop()
    store.start()
    assert names(store) == ["s-1"]
    store.stop()
