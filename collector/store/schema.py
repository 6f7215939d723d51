"""The store's tables and how an older file becomes a newer one.

Separate so that the version of the file and everything that depends on it stand in one place.

Rules:
- `PRAGMA user_version` is the number of steps applied; a step is never changed once released, only followed by another;
- a file of a later version is refused, not guessed at, and so is another program's; neither is written to.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

APPLICATION_ID: Final = 0x4F524249  # "ORBI": tools that look at files can tell what this is

_FIRST: Final = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;

CREATE TABLE sessions(
  id TEXT PRIMARY KEY,
  lineage TEXT NOT NULL,               -- the id of the first generation
  generation INTEGER NOT NULL,
  state TEXT NOT NULL,                 -- open, closed, superseded, expired, deleted
  superseded_by TEXT NOT NULL DEFAULT '',
  due INTEGER NOT NULL DEFAULT 0,      -- closed, and its report not yet committed
  last_ns INTEGER NOT NULL,
  closed_ns INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  agent INTEGER NOT NULL,
  record BLOB NOT NULL,
  reported INTEGER NOT NULL DEFAULT 0, -- the last revision committed
  listed INTEGER NOT NULL DEFAULT 0,   -- reported and not superseded
  reported_ns INTEGER NOT NULL DEFAULT 0,
  row BLOB                             -- SessionRow of it
) WITHOUT ROWID;
CREATE INDEX sessions_lineage ON sessions(lineage, generation);
CREATE INDEX sessions_state ON sessions(state, closed_ns);
CREATE INDEX sessions_heir ON sessions(superseded_by) WHERE superseded_by != '';
CREATE INDEX sessions_due ON sessions(id) WHERE due = 1;

-- What lists choose by, of the sessions that are reported; narrow, and on the disk in the order of the list, so that a
-- filter that has to look at all of them reads little.
CREATE TABLE listing(
  reported_ns INTEGER NOT NULL,
  session_id TEXT NOT NULL,
  listed INTEGER NOT NULL,
  rank REAL NOT NULL,                  -- mean score; what has none sorts last
  service TEXT NOT NULL,
  grade TEXT NOT NULL,
  reason TEXT NOT NULL,
  partial INTEGER NOT NULL,
  search TEXT NOT NULL,
  PRIMARY KEY(reported_ns, session_id)
) WITHOUT ROWID;
CREATE INDEX listing_weakest ON listing(rank, session_id);
CREATE INDEX listing_service ON listing(service, reported_ns, session_id);
CREATE INDEX listing_grade ON listing(grade, reported_ns, session_id);
CREATE INDEX listing_reason ON listing(reason, reported_ns, session_id);
CREATE TRIGGER listing_follows AFTER UPDATE OF listed ON sessions WHEN new.listed != old.listed
BEGIN UPDATE listing SET listed = new.listed WHERE reported_ns = new.reported_ns AND session_id = new.id; END;

CREATE TABLE roles(role TEXT, reported_ns INTEGER, session_id TEXT, PRIMARY KEY(role, reported_ns, session_id)) WITHOUT ROWID;
CREATE INDEX roles_session ON roles(session_id);

CREATE TABLE traces(trace_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, record BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX traces_session ON traces(session_id);
CREATE TABLE refs(ref TEXT, top TEXT, session_id TEXT, PRIMARY KEY(ref, top, session_id)) WITHOUT ROWID;
CREATE INDEX refs_session ON refs(session_id);
CREATE TABLE chunks(id INTEGER PRIMARY KEY AUTOINCREMENT, trace_id TEXT NOT NULL, facts BLOB NOT NULL, entries BLOB NOT NULL);
CREATE INDEX chunks_trace ON chunks(trace_id);

CREATE TABLE reports(
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL,
  revision INTEGER NOT NULL,
  header BLOB NOT NULL,
  trace BLOB NOT NULL,
  analysis BLOB NOT NULL,
  UNIQUE(session_id, revision)
);
CREATE TABLE marks(session_id TEXT, mark TEXT, PRIMARY KEY(session_id, mark)) WITHOUT ROWID;

CREATE TABLE series(instrument TEXT, attributes TEXT, state BLOB NOT NULL, PRIMARY KEY(instrument, attributes)) WITHOUT ROWID;

CREATE TABLE outbox(
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  destination TEXT NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  payload BLOB,
  size INTEGER NOT NULL,
  state TEXT NOT NULL,                 -- waiting, parked, done
  note TEXT NOT NULL DEFAULT '',
  changed_ns INTEGER NOT NULL
);
CREATE INDEX outbox_state ON outbox(destination, state, seq);
CREATE INDEX outbox_changed ON outbox(state, changed_ns);
CREATE INDEX outbox_files ON outbox(name) WHERE kind = 'file';
CREATE TABLE names(folded TEXT PRIMARY KEY, stem TEXT NOT NULL, session_id TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX names_session ON names(session_id);
"""

RELAY_FIGURES: Final = (
    "handoffs", "scored", "points", "dropped", "not_recorded", "return_without_contract", "unrecorded_field",
)  # fmt: skip
FIELD_FIGURES: Final = ("required", "missing", "empty", "unrecorded")


def _totals(table: str, totals: str, keys: tuple[str, ...], figures: tuple[str, ...]) -> str:
    """The tables of one kind of figure: by session, and in total by hour; triggers keep the totals to what is listed."""
    every = (*keys, *figures)

    def change(row: str, sign: str) -> str:
        values = ", ".join([f"{row}.hour", *(f"{row}.{key}" for key in keys), *(f"{sign}{row}.{f}" for f in figures)])
        sums = ", ".join(f"{figure} = {figure} + excluded.{figure}" for figure in figures)
        same = " AND ".join(f"{key} = {row}.{key}" for key in ("hour", *keys))
        return (
            f"INSERT INTO {totals}(hour, {', '.join(every)}) VALUES ({values}) "  # noqa: S608 - names from here
            f"ON CONFLICT DO UPDATE SET {sums}; DELETE FROM {totals} WHERE {same} AND {figures[0]} = 0;"
        )

    columns = "".join(f", {key} TEXT" for key in keys) + "".join(f", {figure} INTEGER" for figure in figures)
    return f"""
    CREATE TABLE {table}(session_id TEXT, hour INTEGER, listed INTEGER{columns}, PRIMARY KEY(session_id, {", ".join(keys)})) WITHOUT ROWID;
    CREATE TABLE {totals}(hour INTEGER{columns}, PRIMARY KEY(hour, {", ".join(keys)})) WITHOUT ROWID;
    CREATE TRIGGER {table}_put AFTER INSERT ON {table} WHEN new.listed BEGIN {change("new", "")} END;
    CREATE TRIGGER {table}_gone AFTER DELETE ON {table} WHEN old.listed BEGIN {change("old", "-")} END;
    CREATE TRIGGER {table}_shown AFTER UPDATE OF listed ON {table} WHEN new.listed AND NOT old.listed BEGIN {change("new", "")} END;
    CREATE TRIGGER {table}_hidden AFTER UPDATE OF listed ON {table} WHEN old.listed AND NOT new.listed BEGIN {change("old", "-")} END;
    CREATE TRIGGER {table}_of_session AFTER UPDATE OF listed ON sessions WHEN new.listed != old.listed
    BEGIN UPDATE {table} SET listed = new.listed WHERE session_id = new.id; END;
    """  # noqa: S608 - names from here


_SECOND: Final = _totals(
    "relays", "relay_totals", ("source_role", "target_role", "mode", "contract"), RELAY_FIGURES
) + _totals("required_fields", "field_totals", ("target_role", "field"), FIELD_FIGURES)
"""Reports of before this step are not in the totals: none was made by a released version."""

STEPS: Final[tuple[str, ...]] = (_FIRST, _SECOND)
"""One script a version."""

VERSION: Final = len(STEPS)


class StoreError(Exception):
    """The store's file cannot be used; the message says why."""


def connect(path: Path) -> sqlite3.Connection:
    """Open a file that is there, to look at it; `start` of the store is another way. Raises sqlite3.Error."""
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=30)


def version(connection: sqlite3.Connection) -> int:
    """Return the version of the file, 0 for a new one; nothing is written. Raises StoreError where it is no store."""
    owner, found = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    if owner != APPLICATION_ID and (owner or found or connection.execute("SELECT 1 FROM sqlite_master").fetchone()):
        raise StoreError("expected a store, found the database of another program")
    return int(found)


def check(connection: sqlite3.Connection) -> int:
    """Return the version of a file that can be used, or brought to this version. Raises StoreError."""
    found = version(connection)
    if found > VERSION:
        raise StoreError(f"the store is of version {found}; this program reads up to {VERSION}")
    return found


def migrate(connection: sqlite3.Connection) -> int:
    """Bring the file to this version, each step in a transaction; return the version it had. Raises StoreError."""
    found = check(connection)
    if found == 0:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for number, step in enumerate(STEPS[found:], start=found + 1):
        connection.executescript(f"BEGIN IMMEDIATE; {step} PRAGMA user_version = {number}; COMMIT;")
    return found
