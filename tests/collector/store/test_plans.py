"""No question and no write walks through a whole table: what is quick at a hundred sessions is quick at a hundred thousand."""

from __future__ import annotations

import re
import sqlite3

from collector.report import OutboxEntry
from collector.sessions.keys import SessionKey, key_ref
from collector.sessions.state import Chunk, TraceRecord
from collector.store import SessionFilter, Store
from tests.collector.store.makers import SECOND, put, report

BIG = ("sessions", "listing", "reports", "traces", "refs", "chunks", "marks", "roles", "outbox", "names")
WALKS = (
    "count(*)",  # numbers of the whole store
    "WHERE due = 1",  # the index holds nothing else
    "FROM outbox WHERE state != 'done' GROUP BY destination",  # likewise, and only what waits
)


def walks(connection: sqlite3.Connection, statement: str) -> list[str]:
    if not re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH)", statement) or any(known in statement for known in WALKS):
        return []
    rows = connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
    found = [row[3] for row in rows if re.match(rf"SCAN ({'|'.join(BIG)})\b", row[3])]
    # In order of an index, or of the listing itself, and with a limit, a scan reads a page and stops.
    return [
        plan
        for plan in found
        if not (("USING" in plan or plan == "SCAN listing") and "ORDER BY" in statement and "LIMIT" in statement)
    ]


def test_no_statement_walks_through_a_table() -> None:
    store = Store(None, now_ns=lambda: 10**6 * SECOND)
    store.start()
    statements: dict[str, None] = {}
    try:
        with store._database.read() as connection:
            connection.set_trace_callback(lambda statement: statements.update({statement: None}))
        one, two = report(1), report(2, service="bank")
        key = SessionKey("session", "s-1")
        put(
            store,
            one,
            traces=((one.session_id, TraceRecord("t1")),),
            refs=(("tt1", "", one.session_id), (key_ref(key), key_ref(key), one.session_id)),
            stale=(("tt9", "", one.session_id),),
            chunks=(Chunk("t1", (b"x",), b""),),
        )
        put(store, two, gone=((one.session_id, two.session_id),), inherits=((two.session_id, one.session_id),))
        put(store, report(3), expired=(two.session_id,))
        for order in ("recent", "weakest"):
            for chosen in (
                SessionFilter(order=order),
                SessionFilter(order=order, service="shop"),
                SessionFilter(order=order, grade="C"),
                SessionFilter(order=order, reason="idle"),
                SessionFilter(order=order, role="planner", text="s", since_ns=0, until_ns=10**18, partial=False),
            ):
                page = store.sessions(chosen, page_size=1)
                store.sessions(chosen, page.next_token, 1)
        for session_id in (one.session_id, two.session_id):
            store.session(session_id)
            store.report(session_id)
            store.report(session_id, 1)
            store.trace_json(session_id)
            store.revisions(session_id)
            store.archive.load(session_id)
        store.archive.sessions_of(["tt1", "lt1"])
        store.archive.carriers(key_ref(key))
        store.archive.entries("t1")
        store.archive.lineage(key)
        store.archive.facts(["t1"], 10)
        store.archive.open_sessions()
        store.archive.due_sessions()
        store.committed(0)
        store.positions()
        store.last_chunk()
        store.outbox_put([OutboxEntry("a", "traces", "traces", b"x")])
        store.outbox("traces")
        store.outbox_park("a", "no")
        store.outbox_unpark("traces")
        store.outbox_trim("traces", 0)
        store.outbox_done(["a"])
        store.claim_name("s-1", one.session_id)
        store.expendable(1, 1)
        store.purge(0, 0).result()
        store.delete(two.session_id).result()
        with store._database.read() as connection:
            connection.set_trace_callback(None)
            found = {statement: plans for statement in statements if (plans := walks(connection, statement))}
        assert len(statements) > 80
        assert found == {}
    finally:
        store.stop()
