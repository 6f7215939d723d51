"""Sessions, traces and facts in the store: what the assembler's changes write, and what it asks back.

Separate from reports because these rows live only as long as a session can still go on; reports outlive them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final, Literal, cast

import msgspec
from zlib_ng import zlib_ng as zlib

from collector.emit.metrics import OF_THE_SESSION
from collector.sessions.keys import KINDS, SessionKey
from collector.sessions.model import Changes
from collector.sessions.state import Lineage, SessionRecord, TraceRecord
from collector.store.database import Database

_SESSION: Final = msgspec.msgpack.Decoder(SessionRecord)
_TRACE: Final = msgspec.msgpack.Decoder(TraceRecord)
_FACTS: Final = msgspec.msgpack.Decoder(list[bytes])
_encode = msgspec.msgpack.Encoder().encode
_SHOWING: Final = 2 * len(KINDS)  # more top keys than there are kinds: two of them are of one kind
COMPRESSION: Final = (
    2  # zlib's level, here and of reports: measured, smaller than level 1 of zlib itself, and sooner done
)
_LIST: Final = 500  # bound parameters of one statement


class SqliteArchive:
    """`sessions.state.Archive` over the store; reads on the caller's thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def sessions_of(self, refs: list[str]) -> set[str]:
        """Return the ids of sessions that hold or await any of the traces."""
        found: set[str] = set()
        with self._database.read() as connection:
            for some in _portions(refs):
                query = f"SELECT session_id FROM refs WHERE ref IN ({_marks(some)})"  # noqa: S608
                found.update(row[0] for row in connection.execute(query, some))
        return found

    def carriers(self, ref: str) -> set[str]:
        """Return the ids of sessions that carry a key: those of no better key, and a few of the others."""
        with self._database.read() as connection:
            rows = connection.execute(
                """SELECT session_id FROM refs WHERE ref = ?1 AND top = ?1
                UNION SELECT session_id FROM (SELECT session_id FROM refs WHERE ref = ?1 AND top != ?1 LIMIT ?2)""",
                (ref, _SHOWING),
            )
            return {row[0] for row in rows}

    def load(self, session_id: str) -> tuple[SessionRecord, list[TraceRecord]] | None:
        """Return a session that may still go on, and its traces."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT record FROM sessions WHERE id = ? AND state IN ('open', 'closed')", (session_id,)
            ).fetchone()
            if row is None:
                return None
            traces = connection.execute("SELECT record FROM traces WHERE session_id = ?", (session_id,))
            return _SESSION.decode(row[0]), [_TRACE.decode(trace) for (trace,) in traces]

    def entries(self, trace_id: str) -> list[bytes]:
        """Return the pieces of a trace's span table."""
        with self._database.read() as connection:
            return [
                row[0]
                for row in connection.execute("SELECT entries FROM chunks WHERE trace_id = ? ORDER BY id", (trace_id,))
            ]

    def lineage(self, key: SessionKey) -> Lineage | None:
        """Return the latest session of a key."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT generation, revision, state, closed_ns FROM sessions WHERE lineage = ? ORDER BY generation DESC LIMIT 1",
                (key.id(),),
            ).fetchone()
        if row is None:
            return None
        generation, revision, state, closed_ns = row
        known = "closed" if state == "expired" else state
        return Lineage(
            generation, revision, cast("Literal['open', 'closed', 'superseded', 'deleted']", known), closed_ns
        )

    def open_sessions(self) -> list[str]:
        """Return the ids of sessions that are open."""
        with self._database.read() as connection:
            return [row[0] for row in connection.execute("SELECT id FROM sessions WHERE state = 'open' ORDER BY id")]

    def due_sessions(self) -> list[str]:
        """Return the ids of sessions that closed and whose report was not committed."""
        with self._database.read() as connection:
            return [row[0] for row in connection.execute("SELECT id FROM sessions WHERE due = 1 ORDER BY id")]

    def facts(self, trace_ids: Iterable[str], until: int) -> tuple[list[bytes], bool]:
        """Return the encoded span facts of traces, chunks up to number `until`; and whether all could be read."""
        payloads: list[bytes] = []
        whole = True
        with self._database.read() as connection:
            for trace_id in trace_ids:
                rows = connection.execute(
                    "SELECT facts FROM chunks WHERE trace_id = ? AND id <= ? ORDER BY id", (trace_id, until)
                )
                for (packed,) in rows:
                    try:
                        payloads += _FACTS.decode(zlib.decompress(packed))
                    except (zlib.error, msgspec.DecodeError):  # type: ignore[misc]  # its stub gives an instance for the class
                        whole = False
        return payloads, whole


def let_go(connection: sqlite3.Connection, changes: Changes, now_ns: int) -> None:
    """Write what is no session any more. Before the deletions: they take what a session has superseded, too."""
    for session_id in changes.expired:
        expire(connection, session_id)
    for old, new in changes.gone:
        connection.execute("UPDATE traces SET session_id = ? WHERE session_id = ?", (new, old))
        connection.execute("UPDATE OR REPLACE refs SET session_id = ? WHERE session_id = ?", (new, old))
        connection.execute(
            "UPDATE sessions SET superseded_by = ? WHERE superseded_by = ? AND superseded_by != ''", (new, old)
        )
        connection.execute(
            "UPDATE sessions SET state = 'superseded', superseded_by = ?, closed_ns = ?, due = 0, listed = 0 WHERE id = ?",
            (new, now_ns, old),
        )
    inherit = "INSERT OR IGNORE INTO marks SELECT ?, mark FROM marks WHERE session_id = ?"
    connection.executemany(inherit, [(new, old) for old, new in changes.gone])
    # A session that traces left may go on beside the one that they came to, of which nothing has been said.
    own = ", ".join(map(repr, OF_THE_SESSION))
    connection.executemany(f"{inherit} AND mark NOT IN ({own})", changes.inherits)


def apply(connection: sqlite3.Connection, changes: Changes) -> int:
    """Write what is new and what changed; return the number of the last chunk."""
    connection.executemany(
        """INSERT INTO sessions(id, lineage, generation, state, due, last_ns, closed_ns, revision, agent, record)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO UPDATE SET state = excluded.state, due = excluded.due,
        last_ns = excluded.last_ns, closed_ns = excluded.closed_ns, revision = excluded.revision, agent = excluded.agent,
        record = excluded.record, superseded_by = CASE WHEN excluded.agent THEN '' ELSE superseded_by END,
        listed = reported > 0 AND (excluded.agent OR superseded_by = '')""",
        [
            (
                record.session_id,
                record.key.id(),
                record.generation,
                record.state,
                record.due,
                record.last_ns,
                record.closed_ns,
                record.revision,
                record.agent,
                _encode(record),
            )
            for record in changes.sessions
        ],
    )
    # What was reported of a session whose agents have all gone to others is of those others now.
    connection.executemany(
        "UPDATE sessions SET superseded_by = ?, listed = 0 WHERE id = ? AND agent = 0 AND revision > 0 AND superseded_by = ''",
        changes.inherits,
    )
    connection.executemany(
        """INSERT OR IGNORE INTO marks SELECT ?1, mark FROM marks WHERE session_id = ?2
        AND EXISTS (SELECT 1 FROM sessions WHERE id = ?2 AND superseded_by = ?1)""",
        changes.inherits,
    )
    connection.executemany(
        "INSERT OR REPLACE INTO traces(trace_id, session_id, record) VALUES (?, ?, ?)",
        [(trace.trace_id, session_id, _encode(trace)) for session_id, trace in changes.traces],
    )
    connection.executemany("DELETE FROM refs WHERE ref = ? AND top = ? AND session_id = ?", changes.stale)
    connection.executemany("INSERT OR IGNORE INTO refs(ref, top, session_id) VALUES (?, ?, ?)", changes.refs)
    connection.executemany(
        "INSERT INTO chunks(trace_id, facts, entries) VALUES (?, ?, ?)",
        [(chunk.trace_id, zlib.compress(_encode(chunk.facts), COMPRESSION), chunk.entries) for chunk in changes.chunks],
    )
    row = connection.execute("SELECT max(id) FROM chunks").fetchone()
    return row[0] or 0


def expire(connection: sqlite3.Connection, session_id: str) -> None:
    """Drop what a session would need to go on. A session that was reported stays as its reports."""
    connection.execute(
        "DELETE FROM chunks WHERE trace_id IN (SELECT trace_id FROM traces WHERE session_id = ?)", (session_id,)
    )
    for table in ("traces", "refs", "marks"):
        connection.execute(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))  # noqa: S608
    connection.execute("DELETE FROM sessions WHERE id = ? AND reported = 0 AND state != 'superseded'", (session_id,))
    connection.execute("UPDATE sessions SET state = 'expired' WHERE id = ? AND state = 'closed'", (session_id,))


def unlist(connection: sqlite3.Connection, session_id: str) -> None:
    """Take a session off the lists."""
    connection.execute(
        """DELETE FROM listing WHERE session_id = ?1
        AND reported_ns = (SELECT reported_ns FROM sessions WHERE id = ?1)""",
        (session_id,),
    )


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _portions(values: Sequence[str]) -> Iterable[Sequence[str]]:
    return (values[start : start + _LIST] for start in range(0, len(values), _LIST))
