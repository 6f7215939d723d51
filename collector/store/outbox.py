"""What waits to be delivered, in the store: entries come with the revision that they tell of, and go when delivered.

Separate from the sender, which knows destinations and no SQL.

Rules:
- an id is put once: of a delivered entry the id is remembered for `REMEMBERED_NS`, so that a replay sends nothing twice;
- first in, first out, for each destination;
- what a destination refuses for good is parked: kept, counted, and not sent until someone says so.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Final

from collector.report import OutboxEntry
from collector.store.rows import OutboxStats

REMEMBERED_NS: Final = 86_400_000_000_000


def put(connection: sqlite3.Connection, entries: Iterable[OutboxEntry], now_ns: int) -> None:
    """Add entries whose ids were not there before."""
    connection.executemany(
        """INSERT OR IGNORE INTO outbox(id, destination, kind, name, payload, size, state, changed_ns)
        VALUES (?, ?, ?, ?, ?, ?, 'waiting', ?)""",
        [(e.id, e.destination, e.kind, e.name, e.payload, len(e.payload), now_ns) for e in entries],
    )


def waiting(connection: sqlite3.Connection, destination: str, limit: int) -> tuple[OutboxEntry, ...]:
    """Return the oldest entries that wait for a destination."""
    rows = connection.execute(
        """SELECT id, destination, kind, payload, name FROM outbox
        WHERE destination = ? AND state = 'waiting' ORDER BY seq LIMIT ?""",
        (destination, limit),
    )
    return tuple(OutboxEntry(*entry) for entry in rows)


def done(connection: sqlite3.Connection, ids: Iterable[str], now_ns: int) -> None:
    """Note that entries were delivered; only their ids stay."""
    connection.executemany(
        "UPDATE outbox SET state = 'done', payload = NULL, size = 0, note = '', changed_ns = ? WHERE id = ?",
        [(now_ns, entry) for entry in ids],
    )


def park(connection: sqlite3.Connection, entry: str, reason: str, now_ns: int) -> None:
    """Set an entry aside that its destination will never take."""
    connection.execute(
        "UPDATE outbox SET state = 'parked', note = ?, changed_ns = ? WHERE id = ? AND state = 'waiting'",
        (reason[:1000], now_ns, entry),
    )


def unpark(connection: sqlite3.Connection, destination: str, now_ns: int) -> int:
    """Let parked entries be tried again; return how many."""
    return connection.execute(
        "UPDATE outbox SET state = 'waiting', note = '', changed_ns = ? WHERE destination = ? AND state = 'parked'",
        (now_ns, destination),
    ).rowcount


def trim(connection: sqlite3.Connection, destination: str, max_bytes: int, now_ns: int) -> int:
    """Drop the oldest entries, parked ones first, until a destination holds no more than that; return how many."""
    entries: list[tuple[str, int]] = []
    for state in ("parked", "waiting"):
        rows = connection.execute(
            "SELECT id, size FROM outbox WHERE destination = ? AND state = ? AND size > 0 ORDER BY seq",
            (destination, state),
        )
        entries += rows
    held = sum(size for _, size in entries)
    dropped: list[str] = []
    for entry, size in entries:
        if held <= max_bytes:
            break
        dropped.append(entry)
        held -= size
    done(connection, dropped, now_ns)
    return len(dropped)


def stats(connection: sqlite3.Connection) -> tuple[OutboxStats, ...]:
    """Count what is held for each destination."""
    rows = connection.execute(
        """SELECT destination, sum(state = 'waiting'), sum(CASE state WHEN 'waiting' THEN size ELSE 0 END),
        sum(state = 'parked'), sum(CASE state WHEN 'parked' THEN size ELSE 0 END),
        coalesce(min(CASE state WHEN 'waiting' THEN changed_ns END), 0)
        FROM outbox WHERE state != 'done' GROUP BY destination ORDER BY destination"""
    )
    return tuple(OutboxStats(*row) for row in rows)


def forget(connection: sqlite3.Connection, now_ns: int) -> None:
    """Let the ids go of what was delivered long ago."""
    connection.execute("DELETE FROM outbox WHERE state = 'done' AND changed_ns < ?", (now_ns - REMEMBERED_NS,))
