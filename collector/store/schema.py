"""The store's tables and how an older file becomes a newer one.

Separate so that the version of the file and everything that depends on it stand in one place.

Rules:
- `PRAGMA user_version` is the number of steps applied; a step is never changed once released, only followed by another;
- a file of a later version is refused, not guessed at.
"""

from __future__ import annotations

import sqlite3
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
  reported INTEGER NOT NULL DEFAULT 0, -- the last revision committed; the columns below are of it
  listed INTEGER NOT NULL DEFAULT 0,   -- reported and not superseded
  reported_ns INTEGER NOT NULL DEFAULT 0,
  rank REAL NOT NULL DEFAULT 2,        -- mean score; what has none sorts last
  service TEXT NOT NULL DEFAULT '',
  grade TEXT NOT NULL DEFAULT '',
  reason TEXT NOT NULL DEFAULT '',
  partial INTEGER NOT NULL DEFAULT 0,
  search TEXT NOT NULL DEFAULT '',
  row BLOB                             -- SessionRow
) WITHOUT ROWID;
CREATE INDEX sessions_lineage ON sessions(lineage, generation);
CREATE INDEX sessions_state ON sessions(state, closed_ns);
CREATE INDEX sessions_heir ON sessions(superseded_by) WHERE superseded_by != '';
CREATE INDEX sessions_due ON sessions(id) WHERE due = 1;
CREATE INDEX sessions_recent ON sessions(reported_ns, id) WHERE listed = 1;
CREATE INDEX sessions_weakest ON sessions(rank, id) WHERE listed = 1;
CREATE INDEX sessions_service ON sessions(service, reported_ns, id) WHERE listed = 1;
CREATE INDEX sessions_grade ON sessions(grade, reported_ns, id) WHERE listed = 1;
CREATE INDEX sessions_reason ON sessions(reason, reported_ns, id) WHERE listed = 1;

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
CREATE INDEX outbox_waiting ON outbox(destination, seq) WHERE state = 'waiting';
CREATE INDEX outbox_parked ON outbox(destination, seq) WHERE state = 'parked';
CREATE INDEX outbox_done ON outbox(changed_ns) WHERE state = 'done';
CREATE TABLE names(folded TEXT PRIMARY KEY, stem TEXT NOT NULL, session_id TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX names_session ON names(session_id);
"""

STEPS: Final[tuple[str, ...]] = (_FIRST,)
"""One script a version."""

VERSION: Final = len(STEPS)


class StoreError(Exception):
    """The store's file cannot be used; the message says why."""


def migrate(connection: sqlite3.Connection) -> int:
    """Bring the file to this version, each step in a transaction; return the version it had. Raises StoreError."""
    found: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if found > VERSION:
        raise StoreError(f"the store is of version {found}; this program reads up to {VERSION}")
    if found == 0:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for version, step in enumerate(STEPS[found:], start=found + 1):
        connection.executescript(f"BEGIN IMMEDIATE; {step} PRAGMA user_version = {version}; COMMIT;")
    return found
