"""Runs and their audit trails, kept in a database: what makes a run open to questions after the process is gone.

Separate from the trace, which knows nothing of storage. Any SQLAlchemy URL; SQLite by default. Every entry is committed
as it is made, so a process that dies leaves the trail up to its last hop. A registry that cannot write stops the run: a
run that cannot be audited is not one.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from orchestratorx.orchestrator import Orchestrator, Run, new_run_id
from orchestratorx.portfolio import Book
from orchestratorx.trace import Clock, Entry, document, utc_now

__all__ = ["Registry", "RegistryError", "RunRecord", "record_run"]

RUNNING, CRASHED, INTERRUPTED = "running", "crashed", "interrupted"

_metadata = sa.MetaData()

_runs = sa.Table(
    "orchestratorx_runs",
    _metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("run_id", sa.String(200), nullable=False, unique=True),
    sa.Column("portfolio_id", sa.String(200), nullable=False),
    sa.Column("status", sa.String(20), nullable=False),
    sa.Column("owner", sa.String(200), nullable=False),
    sa.Column("started_at", sa.String(40), nullable=False),
    sa.Column("ended_at", sa.String(40)),
    sa.Column("head", sa.String(64)),
    sa.Column("result", sa.Text),
)

_entries = sa.Table(
    "orchestratorx_entries",
    _metadata,
    sa.Column("run_id", sa.String(200), sa.ForeignKey("orchestratorx_runs.run_id"), primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("body", sa.Text, nullable=False),
)


class RegistryError(Exception):
    """The database could not be reached, read or written."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What is kept of a run beside its trail. `result` is None until it ended with a report.

    `status` is that of the report, or `running`, `crashed`, `interrupted` (its process died). `head` is the hash of the
    last entry of the trail, kept apart from it.
    """

    run_id: str
    portfolio_id: str
    status: str
    started_at: str
    ended_at: str | None
    head: str | None
    result: Mapping[str, Any] | None

    @property
    def ended(self) -> bool:
        """Whether no more entries will come."""
        return self.status != RUNNING


@contextmanager
def _guarded() -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
        raise RegistryError(f"the registry cannot be used: {str(cause).splitlines()[0]}") from error


class Registry:
    """The registry of runs. Methods block; safe from several threads and processes."""

    def __init__(self, url: str, *, clock: Clock = utc_now, owner: str | None = None) -> None:
        try:
            self._url = sa.make_url(url)
        except SQLAlchemyError:
            raise RegistryError(f"expected an SQLAlchemy URL, found {url!r}") from None
        self._clock = clock
        self._owner = owner or platform.node() or "localhost"
        self._engine: sa.Engine | None = None

    def start(self) -> None:
        """Open the database and create what is missing."""
        if self._engine is not None:
            return
        url, arguments = self._url, {}
        sqlite = url.get_backend_name() == "sqlite"
        if sqlite:
            arguments["timeout"] = 30
            if url.database and url.database != ":memory:":
                try:
                    Path(url.database).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                except OSError as error:
                    raise RegistryError(f"the registry cannot be used: {error}") from None
        with _guarded():
            try:
                engine = sa.create_engine(url, connect_args=arguments, pool_pre_ping=not sqlite)
            except ImportError as error:
                raise RegistryError(f"the registry cannot be used: {error} (extra postgres?)") from None
            if sqlite:
                sa.event.listen(engine, "connect", _tune_sqlite)
            try:
                _metadata.create_all(engine)
            except SQLAlchemyError:
                # two processes that start at once both try to create: the second finds everything there
                _metadata.create_all(engine)
        self._engine = engine

    def stop(self) -> None:
        """Close the database."""
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None

    def _db(self) -> sa.Engine:
        if self._engine is None:
            raise RegistryError("the registry is not started")
        return self._engine

    def interrupt_orphans(self) -> int:
        """Mark what this machine left running as interrupted; return how many.

        A run of a sister process that is marked by mistake takes its own status when it ends.
        """
        mine = sa.and_(_runs.c.status == RUNNING, _runs.c.owner == self._owner)
        with _guarded(), self._db().begin() as connection:
            return connection.execute(sa.update(_runs).where(mine).values(status=INTERRUPTED)).rowcount

    def begin(self, run_id: str, portfolio_id: str) -> None:
        """Register a run that is about to start."""
        row = {
            "run_id": run_id,
            "portfolio_id": portfolio_id,
            "status": RUNNING,
            "owner": self._owner,
            "started_at": self._clock().isoformat(timespec="microseconds"),
        }
        with _guarded(), self._db().begin() as connection:
            connection.execute(sa.insert(_runs).values(row))

    def append(self, run_id: str, entry: Entry) -> None:
        """Keep one entry of a run's trail."""
        body = json.dumps(dict(entry), ensure_ascii=True)
        with _guarded(), self._db().begin() as connection:
            connection.execute(sa.insert(_entries).values(run_id=run_id, seq=entry["seq"], body=body))

    def finish(self, run: Run) -> None:
        """Keep a run's result and the head of its trail."""
        result = {"report": run.report.to_dict(), "path": list(run.path)}
        self._close(run.run_id, run.report.status.value, run.trace.head, json.dumps(result))

    def crash(self, run_id: str) -> None:
        """Mark a run that ended without a report."""
        entries = self.entries(run_id)
        self._close(run_id, CRASHED, entries[-1]["hash"] if entries else None, None)

    def _close(self, run_id: str, status: str, head: str | None, result: str | None) -> None:
        values = {
            "status": status,
            "head": head,
            "result": result,
            "ended_at": self._clock().isoformat(timespec="microseconds"),
        }
        with _guarded(), self._db().begin() as connection:
            connection.execute(sa.update(_runs).where(_runs.c.run_id == run_id).values(values))

    def get(self, run_id: str) -> RunRecord | None:
        """One run, or None."""
        with _guarded(), self._db().connect() as connection:
            row = connection.execute(sa.select(_runs).where(_runs.c.run_id == run_id)).mappings().one_or_none()
        return None if row is None else _record(row)

    def entries(self, run_id: str, after: int = 0) -> list[dict[str, Any]]:
        """The entries of a run with a seq over `after`, oldest first."""
        wanted = sa.and_(_entries.c.run_id == run_id, _entries.c.seq > after)
        with _guarded(), self._db().connect() as connection:
            rows = connection.execute(sa.select(_entries.c.body).where(wanted).order_by(_entries.c.seq))
            return [json.loads(body) for (body,) in rows]

    def trace(self, run_id: str) -> dict[str, Any]:
        """The trace document of a run."""
        return document(run_id, self.entries(run_id))

    def page(self, limit: int, before: int | None = None) -> tuple[list[RunRecord], int | None]:
        """Up to `limit` runs, newest first, and the cursor of the next page (None at the end)."""
        query = sa.select(_runs).order_by(_runs.c.id.desc()).limit(limit + 1)
        if before is not None:
            query = query.where(_runs.c.id < before)
        with _guarded(), self._db().connect() as connection:
            rows = list(connection.execute(query).mappings())
        more = len(rows) > limit
        return [_record(row) for row in rows[:limit]], rows[limit - 1]["id"] if more else None


def _record(row: sa.RowMapping) -> RunRecord:
    return RunRecord(
        run_id=row["run_id"],
        portfolio_id=row["portfolio_id"],
        status=row["status"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        head=row["head"],
        result=json.loads(row["result"]) if row["result"] else None,
    )


def _tune_sqlite(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    # readers (the event stream) do not wait for writers
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def record_run(orchestrator: Orchestrator, registry: Registry, book: Book, run_id: str | None = None) -> Run:
    """Run a review and keep it, entry by entry; raises RegistryError when it cannot be kept.

    A run that `begin` has registered already is not registered again.
    """
    name = run_id or new_run_id()
    if run_id is None:
        registry.begin(name, book.portfolio_id)
    try:
        run = orchestrator.run(book, run_id=name, sink=lambda entry: registry.append(name, entry))
    except Exception:
        registry.crash(name)
        raise
    registry.finish(run)
    return run
