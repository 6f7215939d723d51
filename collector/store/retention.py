"""What leaves the store, and when: working state after its window, reports by age and size, anything on request.

Separate so that deletion is in one place and can be checked to be complete.

Rules:
- a deleted session leaves its generation number behind (its id is never given to another), and nothing else;
- its files go by the outbox, as they came: behind what is being written, and after a crash, too;
- work is done in portions, so that no transaction holds the writer for long.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from collector.emit.files import FILES, SUFFIXES
from collector.report import OutboxEntry
from collector.store.archive import expire, unlist
from collector.store.outbox import forget, put
from collector.store.rows import Deleted

PORTION: Final = 200


def purge(connection: sqlite3.Connection, now_ns: int, reopen_window_ns: int, discarded_window_ns: int) -> int:
    """Drop the working state of sessions that can no longer go on; return how many, at most a portion."""
    rows = connection.execute(
        """SELECT id FROM sessions WHERE state = 'closed' AND due = 0 AND closed_ns < ?1 AND (revision = 0 OR closed_ns < ?2)
        UNION ALL SELECT id FROM sessions WHERE state = 'superseded' AND reported = 0 AND closed_ns < ?2 LIMIT ?3""",
        (now_ns - discarded_window_ns, now_ns - reopen_window_ns, PORTION),
    ).fetchall()
    for (session_id,) in rows:
        expire(connection, session_id)
        connection.execute("DELETE FROM sessions WHERE id = ? AND state = 'superseded'", (session_id,))
    forget(connection, now_ns)
    # A deleted session's number is needed only while something of its key may still come.
    connection.execute("DELETE FROM sessions WHERE state = 'deleted' AND closed_ns < ?", (now_ns - _TOMBSTONE_NS,))
    connection.execute("PRAGMA incremental_vacuum(1000)")
    return len(rows)


def delete(connection: sqlite3.Connection, session_id: str, now_ns: int) -> Deleted:
    """Delete a session, what it superseded, and all that was made of them."""
    ids = [
        row[0]
        for row in connection.execute(
            """SELECT id FROM sessions WHERE id = ?1 AND state != 'deleted'
            UNION SELECT id FROM sessions WHERE superseded_by = ?1 AND superseded_by != '' ORDER BY id""",
            (session_id,),
        )
    ]
    stems: list[str] = []
    for found in ids:
        expire(connection, found)
        own = [row[0] for row in connection.execute("SELECT stem FROM names WHERE session_id = ?", (found,))]
        for table in ("reports", "roles", "relays", "required_fields", "names"):
            connection.execute(f"DELETE FROM {table} WHERE session_id = ?", (found,))  # noqa: S608
        # "0" follows "/": all names in the session's folder.
        connection.execute(
            "DELETE FROM outbox WHERE kind = 'file' AND name >= ?1 || '/' AND name < ?1 || '0'", (found,)
        )
        removals = [f"{found}/{stem}{suffix}" for stem in own for suffix in SUFFIXES]
        put(connection, [OutboxEntry(f"remove/{name}", FILES, "file", b"", name) for name in removals], now_ns)
        stems += own
        unlist(connection, found)
        connection.execute(
            """UPDATE sessions SET state = 'deleted', closed_ns = ?, due = 0, listed = 0, reported = 0, superseded_by = '',
            record = x'', row = NULL WHERE id = ?""",
            (now_ns, found),
        )
    return Deleted(tuple(ids), tuple(stems))


def expendable(connection: sqlite3.Connection, now_ns: int, max_age_ns: int, max_bytes: int) -> list[str]:
    """Return reported sessions, oldest first, that are over the age, or over the size; at most a portion. 0: no bound."""
    chosen = _oldest(connection, now_ns - max_age_ns, PORTION) if max_age_ns else []
    if not chosen and max_bytes and used(connection) > max_bytes:
        chosen = _oldest(connection, now_ns, PORTION // 10)
    return chosen


_TOMBSTONE_NS: Final = 90 * 86_400_000_000_000


def used(connection: sqlite3.Connection) -> int:
    """Return the bytes of pages in use."""
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _oldest(connection: sqlite3.Connection, before_ns: int, limit: int) -> list[str]:
    rows = connection.execute(
        """SELECT session_id FROM listing CROSS JOIN sessions ON id = session_id
        WHERE listing.listed = 1 AND listing.reported_ns < ? AND state != 'open' AND due = 0 ORDER BY listing.reported_ns, session_id LIMIT ?""",
        (before_ns, limit),
    )
    return [row[0] for row in rows]
