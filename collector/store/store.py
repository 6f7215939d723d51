"""The store: one face over the tables.

Separate from the SQL so that the rest of the collector asks for what it means, from any thread.

Rules:
- questions are answered on the thread that asks, from the last commit; they may block on the disk (use a thread from an
  event loop);
- writes are futures of the one writing thread, in the order they were asked for.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from concurrent.futures import Future
from pathlib import Path

import msgspec

from collector.emit.series import Series
from collector.report import Emitter, OutboxEntry, Position, Report
from collector.sessions.model import Changes
from collector.store import archive, outbox, reports, retention, roles
from collector.store.archive import SqliteArchive
from collector.store.database import Database
from collector.store.rows import (
    Committed,
    Deleted,
    Known,
    OutboxStats,
    Page,
    RevisionRow,
    RolesView,
    SessionFilter,
    SessionRow,
    StoreStats,
)


class Checkpoint(msgspec.Struct, frozen=True):
    """What is to change together. `position`: all of the journal before it is in `changes` (None: no journal).

    `replay_from`: where a restart must begin to read, if something before `position` is still held for forwarding.
    """

    changes: Changes
    position: Position | None = None
    replay_from: Position | None = None
    reports: tuple[Report, ...] = ()
    outbox: tuple[OutboxEntry, ...] = ()


class Stored(msgspec.Struct, frozen=True):
    """What a checkpoint did: the number of the last chunk of facts, the reports that were new, what was deleted by id."""

    chunk: int
    committed: tuple[tuple[str, int], ...]
    deleted: dict[str, Deleted] = {}


class Store:
    """The collector's database. `path` None keeps it in memory; `durable` False spares the disk what no restart needs."""

    def __init__(
        self,
        path: Path | None,
        *,
        series_limit: int = 2000,
        now_ns: Callable[[], int] = time.time_ns,
        durable: bool = True,
    ) -> None:
        self.path = path
        self._now_ns = now_ns
        self._database = Database(path, durable=durable)
        self._series_limit = series_limit
        self._watching = True
        self.archive = SqliteArchive(self._database)

    def start(self) -> None:
        """Open it. Raises StoreError."""
        self._database.start()

    def stop(self, deadline_s: float = 10.0) -> bool:
        """Finish what was asked and close; False if the deadline passed first."""
        return self._database.stop(deadline_s)

    # -- the engine's side ---------------------------------------------------------------------------------------------

    def checkpoint(self, checkpoint: Checkpoint, emitter: Emitter) -> Future[Stored]:
        """Write a checkpoint, reports and all that they give outward in one transaction."""

        def job(connection: sqlite3.Connection) -> Stored:
            now_ns = self._now_ns()
            changes = checkpoint.changes
            archive.let_go(connection, changes, now_ns)
            # With the position that it is as of: no restart reads again what was of a deleted session.
            deleted = {session_id: retention.delete(connection, session_id, now_ns) for session_id in changes.deleted}
            chunk = archive.apply(connection, changes)
            outbox.put(connection, checkpoint.outbox, now_ns)
            committed = [
                (report.session_id, report.revision)
                for report in checkpoint.reports
                if reports.commit(connection, report, emitter, series_limit=self._series_limit, now_ns=now_ns)
            ]
            for name, position in (("position", checkpoint.position), ("replay_from", checkpoint.replay_from)):
                connection.execute(
                    "INSERT OR REPLACE INTO meta(name, value) VALUES (?, ?)",
                    (name, None if position is None else msgspec.msgpack.encode(position)),
                )
            return Stored(chunk, tuple(committed), deleted)

        return self._database.write(job)

    def positions(self) -> tuple[Position | None, Position | None]:
        """Return the journal's position that the store stands at, and where a restart must begin to read."""
        with self._database.read() as connection:
            found = dict(connection.execute("SELECT name, value FROM meta WHERE name IN ('position', 'replay_from')"))
        position, held = (
            None if (value := found.get(name)) is None else msgspec.msgpack.decode(value, type=Position)
            for name in ("position", "replay_from")
        )
        return position, held

    def last_chunk(self) -> int:
        """Return the number of the last chunk of facts."""
        with self._database.read() as connection:
            found: int | None = connection.execute("SELECT max(id) FROM chunks").fetchone()[0]
            return found or 0

    # -- questions -----------------------------------------------------------------------------------------------------

    def sessions(self, chosen: SessionFilter | None = None, page_token: str = "", page_size: int = 50) -> Page:
        """List reported sessions that stand, a page at a time (at most 1000 rows). Raises PageTokenError."""
        with self._database.read() as connection:
            return reports.list_sessions(connection, chosen or SessionFilter(), page_token, page_size)

    def session(self, session_id: str) -> SessionRow | None:
        """Return one session, open and superseded ones included."""
        with self._database.read() as connection:
            return reports.one_session(connection, session_id)

    def report(self, session_id: str, revision: int | None = None) -> Report | None:
        """Return one report, the last by default."""
        with self._database.read() as connection:
            return reports.read_report(connection, session_id, revision)

    def trace_json(self, session_id: str, revision: int | None = None) -> bytes | None:
        """Return the trace document of one report, the last by default."""
        with self._database.read() as connection:
            return reports.read_trace(connection, session_id, revision)

    def revisions(self, session_id: str) -> tuple[RevisionRow, ...]:
        """Return a session's reports, first to last."""
        with self._database.read() as connection:
            return reports.list_revisions(connection, session_id)

    def committed(self, after: int, limit: int = 100) -> tuple[Committed, ...]:
        """Return the reports committed after one, in order."""
        with self._database.read() as connection:
            return reports.committed_after(connection, after, limit)

    def last_sequence(self) -> int:
        """Return the number of the last report committed."""
        with self._database.read() as connection:
            return reports.last_sequence(connection)

    async def watch(self, after: int | None = None) -> AsyncGenerator[Committed, None]:
        """Yield reports as they are committed: from one on (a client that comes back), or from now on; until `end_watches`."""
        loop = asyncio.get_running_loop()
        changed = asyncio.Event()

        def listener() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(changed.set)

        self._database.committed.append(listener)
        try:
            last = await asyncio.to_thread(self.last_sequence) if after is None else after
            while self._watching:
                changed.clear()
                found = await asyncio.to_thread(self.committed, last)
                for committed in found:
                    last = committed.sequence
                    yield committed
                if not found and self._watching:
                    await changed.wait()
        finally:
            self._database.committed.remove(listener)

    def end_watches(self) -> None:
        """End all watches, those to come as well."""
        self._watching = False
        for listener in list(self._database.committed):
            listener()

    def metrics(self) -> tuple[Series, ...]:
        """Return all metric series."""
        with self._database.read() as connection:
            rows = connection.execute("SELECT state FROM series ORDER BY instrument, attributes")
            return tuple(Series.from_bytes(state) for (state,) in rows)

    def roles(self, since_ns: int, until_ns: int, step_ns: int = roles.HOUR_NS, limit: int = 100) -> RolesView:
        """Return totals by role of the sessions closed in a time, to the hour, with series in steps of whole hours."""
        with self._database.read() as connection:
            return roles.view(connection, since_ns, until_ns, step_ns, limit)

    def known(self) -> Known:
        """Return the services and roles that sessions can be filtered by."""
        with self._database.read() as connection:
            return roles.known(connection)

    def open_sessions(self) -> int:
        """Return how many sessions with an agent in them are open; cheap, unlike `stats`."""
        with self._database.read() as connection:
            found: int = connection.execute(
                "SELECT count(*) FROM sessions WHERE state = 'open' AND agent = 1"
            ).fetchone()[0]
            return found

    def stats(self) -> StoreStats:
        """Return the store in numbers."""
        with self._database.read() as connection:
            used = retention.used(connection)
            counts = connection.execute(
                """SELECT (SELECT count(*) FROM listing WHERE listed = 1),
                (SELECT count(*) FROM sessions WHERE state = 'open' AND agent = 1), (SELECT count(*) FROM reports),
                (SELECT count(*) FROM sessions WHERE due = 1)"""
            ).fetchone()
        files = [] if self.path is None else [self.path, self.path.with_name(self.path.name + "-wal")]
        size = sum(file.stat().st_size for file in files if file.exists())
        return StoreStats(used, size or used, *counts)

    # -- outbox --------------------------------------------------------------------------------------------------------

    def outbox(self, destination: str, limit: int = 100, now_ns: int = 0) -> tuple[OutboxEntry, ...]:
        """Return the oldest entries that wait for a destination."""
        with self._database.read() as connection:
            return outbox.waiting(connection, destination, limit)

    def outbox_stats(self) -> tuple[OutboxStats, ...]:
        """Count what is held for each destination."""
        with self._database.read() as connection:
            return outbox.stats(connection)

    def outbox_put(self, entries: Sequence[OutboxEntry]) -> None:
        """Add entries that come with no report. Waits for the commit, as the next four do."""
        self._database.write(lambda connection: outbox.put(connection, entries, self._now_ns())).result()

    def outbox_done(self, ids: Iterable[str]) -> None:
        """Note that entries were delivered."""
        self._database.write(lambda connection: outbox.done(connection, ids, self._now_ns())).result()

    def outbox_park(self, entry_id: str, reason: str) -> None:
        """Set an entry aside that its destination will never take."""
        self._database.write(lambda connection: outbox.park(connection, entry_id, reason, self._now_ns())).result()

    def outbox_unpark(self, destination: str) -> int:
        """Let parked entries be tried again; return how many."""
        return self._database.write(lambda connection: outbox.unpark(connection, destination, self._now_ns())).result()

    def outbox_trim(self, destination: str, max_bytes: int) -> int:
        """Drop the oldest entries beyond a bound, parked ones first; return how many."""
        return self._database.write(
            lambda connection: outbox.trim(connection, destination, max_bytes, self._now_ns())
        ).result()

    def claim_name(self, stem: str, session_id: str) -> str:
        """Return the file stem that a session owns: this one, or one of its own where another session has it. Waits.

        "" where the session was deleted: nothing of it may be written any more.
        """

        def job(connection: sqlite3.Connection) -> str:
            deleted = "SELECT 1 FROM sessions WHERE id = ? AND state = 'deleted'"
            if connection.execute(deleted, (session_id,)).fetchone() is not None:
                return ""
            for candidate in (stem, f"{stem}-{session_id[:8]}", f"{stem}-{session_id}"):
                connection.execute(
                    "INSERT OR IGNORE INTO names(folded, stem, session_id) VALUES (?, ?, ?)",
                    (candidate.casefold(), candidate, session_id),
                )
                owner = connection.execute(
                    "SELECT session_id FROM names WHERE folded = ?", (candidate.casefold(),)
                ).fetchone()[0]
                if owner == session_id:
                    return candidate
            return f"{stem}-{session_id}"

        return self._database.write(job).result()

    # -- keeping house -------------------------------------------------------------------------------------------------

    def purge(self, reopen_window_ns: int, discarded_window_ns: int) -> Future[int]:
        """Drop a portion of the working state that nothing can need; 0 when there is none."""
        return self._database.write(
            lambda connection: retention.purge(connection, self._now_ns(), reopen_window_ns, discarded_window_ns)
        )

    def expendable(self, max_age_ns: int = 0, max_bytes: int = 0) -> list[str]:
        """Return a portion of the sessions that are over age or size, oldest first; delete them one by one."""
        with self._database.read() as connection:
            return retention.expendable(connection, self._now_ns(), max_age_ns, max_bytes)

    def delete(self, session_id: str) -> Future[Deleted]:
        """Delete a session and all that was made of it, as long as no engine runs: one deletes by its checkpoints."""
        return self._database.write(lambda connection: retention.delete(connection, session_id, self._now_ns()))
