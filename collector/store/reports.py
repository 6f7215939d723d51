"""Reports in the store: one transaction that commits a revision with all that it gives outward, and the questions asked of them.

Separate from sessions' working state because reports outlive it, and because everything that must change together with
a revision (verdict, metric totals, outbox) is here in one function.
"""

from __future__ import annotations

import base64
import binascii
import sqlite3
from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec
from zlib_ng import zlib_ng as zlib

from collector.emit.series import Series, fold
from collector.report import Emitter, HandoffRow, MetricDelta, OutboxEntry, PreviousState, Report
from collector.sessions.keys import SessionKey
from collector.store import roles
from collector.store.archive import COMPRESSION, unlist
from collector.store.outbox import put
from collector.store.rows import Committed, Page, RevisionRow, SessionFilter, SessionRow

_ROW: Final = msgspec.msgpack.Decoder(SessionRow)
_encode = msgspec.msgpack.Encoder().encode
_MAX_PAGE: Final = 1000
_LATEST_NS: Final = (1 << 63) - 1
_TOKEN: Final = tuple[str, Annotated[int, msgspec.Meta(ge=-_LATEST_NS, le=_LATEST_NS)] | float, str]


class PageTokenError(ValueError):
    """The page token is not one that a page of the same order gave."""


def commit(
    connection: sqlite3.Connection,
    report: Report,
    emitter: Emitter,
    *,
    series_limit: int,
    now_ns: int,
    extra: Sequence[OutboxEntry] = (),
) -> bool:
    """Commit one revision and what the emitter plans for it. False, and nothing done, if it was committed before."""
    known = connection.execute(
        "SELECT 1 FROM reports WHERE session_id = ? AND revision = ?", (report.session_id, report.revision)
    ).fetchone()
    if known is not None:
        return False
    emission = emitter.plan(report, previous(connection, report.session_id))
    fold_metrics(connection, emission.metrics, series_limit, now_ns)
    put(connection, [*emission.outbox, *extra], now_ns)
    connection.executemany(
        "INSERT OR IGNORE INTO marks(session_id, mark) VALUES (?, ?)",
        [(report.session_id, mark) for mark in emission.sampled],
    )
    header = msgspec.structs.replace(report, trace_json=b"", report_json=b"", dossier="")
    connection.execute(
        "INSERT INTO reports(session_id, revision, header, trace, analysis) VALUES (?, ?, ?, ?, ?)",
        (
            report.session_id,
            report.revision,
            zlib.compress(header.to_bytes(), COMPRESSION),
            zlib.compress(report.trace_json, COMPRESSION),
            zlib.compress(report.report_json, COMPRESSION),
        ),
    )
    _list(connection, report)
    roles.record(connection, report)
    return True


def previous(connection: sqlite3.Connection, session_id: str) -> PreviousState:
    """Return what a session, and all that it superseded, has given before."""
    marks = connection.execute(
        """SELECT mark FROM marks WHERE session_id IN
        (SELECT id FROM sessions WHERE superseded_by = ?1 AND superseded_by != '' UNION SELECT ?1)""",
        (session_id,),
    )
    rows = connection.execute(
        """SELECT header, max(revision), session_id = ?1 AS own FROM reports
        WHERE session_id IN (SELECT id FROM sessions WHERE superseded_by = ?1 AND superseded_by != '' UNION SELECT ?1)
        GROUP BY session_id ORDER BY own, seq""",
        (session_id,),
    )
    handoffs: dict[str, HandoffRow] = {}
    revision = 0
    for header, last, _ in rows:
        handoffs |= {row.handoff_id: row for row in Report.from_bytes(zlib.decompress(header)).handoffs}
        revision = max(revision, last)
    return PreviousState(frozenset(mark for (mark,) in marks), handoffs, revision)


def fold_metrics(connection: sqlite3.Connection, deltas: Sequence[MetricDelta], limit: int, now_ns: int) -> None:
    """Add deltas to the series."""

    def lookup(instrument: str, key: str) -> Series | None:
        row = connection.execute(
            "SELECT state FROM series WHERE instrument = ? AND attributes = ?", (instrument, key)
        ).fetchone()
        return None if row is None else Series.from_bytes(row[0])

    def size(instrument: str) -> int:
        count: int = connection.execute("SELECT count(*) FROM series WHERE instrument = ?", (instrument,)).fetchone()[0]
        return count

    connection.executemany(
        "INSERT OR REPLACE INTO series(instrument, attributes, state) VALUES (?, ?, ?)",
        [(s.instrument, s.key, s.to_bytes()) for s in fold(deltas, lookup, size, limit, now_ns)],
    )


def _held(time_ns: int) -> int:
    """The nearest time that a column can hold: one that is asked for may be of any year."""
    return min(max(time_ns, 0), _LATEST_NS)


def _list(connection: sqlite3.Connection, report: Report) -> None:
    row = _summary(report)
    missing = sorted({name for handoff in report.handoffs for name in handoff.missing_fields})
    agents = sorted({agent for handoff in report.handoffs for agent in (handoff.source_agent, handoff.target_agent)})
    search = "\n".join([row.name, row.session_id, report.service, *agents, *row.roles, *missing]).casefold()
    unlist(connection, report.session_id)
    connection.execute(
        """UPDATE sessions SET due = due AND revision != ?1, reported = ?1, listed = superseded_by = '', reported_ns = ?2,
        row = ?3 WHERE id = ?4""",
        (report.revision, report.closed_ns, _encode(row), report.session_id),
    )
    connection.execute(
        """INSERT INTO listing(reported_ns, session_id, listed, rank, service, grade, reason, partial, search)
        SELECT ?, id, listed, ?, ?, ?, ?, ?, ? FROM sessions WHERE id = ?""",
        (
            report.closed_ns,
            2.0 if report.mean_score is None else report.mean_score,
            report.service,
            report.grade,
            report.close_reason,
            bool(report.partial),
            search[:8192],
            report.session_id,
        ),
    )
    connection.execute("DELETE FROM roles WHERE session_id = ?", (report.session_id,))
    connection.executemany(
        "INSERT OR IGNORE INTO roles(role, reported_ns, session_id) VALUES (?, ?, ?)",
        [(role, report.closed_ns, report.session_id) for role in row.roles],
    )


def _summary(report: Report) -> SessionRow:
    weakest = next((row for row in report.handoffs if row.handoff_id == report.weakest_handoff), None)
    return SessionRow(
        session_id=report.session_id,
        key=report.key,
        generation=report.generation,
        state="closed",
        revision=report.revision,
        close_reason=report.close_reason,
        opened_ns=report.opened_ns,
        closed_ns=report.closed_ns,
        first_span_ns=report.first_span_ns,
        last_span_ns=report.last_span_ns,
        service=report.service,
        tenant=report.tenant,
        environment=report.environment,
        partial=report.partial,
        spans=report.spans,
        agents=report.agents,
        roles=report.roles,
        handoffs=len(report.handoffs),
        dropped=sum(row.status == "dropped" for row in report.handoffs),
        scored=report.scored,
        unscored=report.unscored,
        mean_score=report.mean_score,
        mean_contracted=report.mean_contracted,
        grade=report.grade,
        weakest_handoff=report.weakest_handoff,
        weakest_source=weakest.source_agent if weakest else "",
        weakest_target=weakest.target_agent if weakest else "",
        weakest_score=weakest.score if weakest else None,
        bottlenecks=len(report.bottlenecks),
        turns=report.turns,
        tokens=report.tokens,
        contract_name=report.contract_name,
        contract_hash=report.contract_hash,
    )


def list_sessions(connection: sqlite3.Connection, chosen: SessionFilter, page_token: str, page_size: int) -> Page:
    """Return one page. Raises PageTokenError."""
    size = max(1, min(page_size, _MAX_PAGE))
    table, column = "listing", "listing.reported_ns" if chosen.order == "recent" else "rank"
    ident = "listing.session_id"
    where, values = ["listed = 1"], []

    def only(condition: str, value: Any) -> None:
        where.append(condition)
        values.append(value)

    if chosen.role and chosen.order == "recent":
        # CROSS JOIN keeps SQLite to this order: the role's sessions, newest first, and no sort.
        table = "roles CROSS JOIN listing USING (reported_ns, session_id)"
        column, ident = "roles.reported_ns", "roles.session_id"
        only("role = ?", chosen.role)
    elif chosen.role:
        only("listing.session_id IN (SELECT session_id FROM roles WHERE role = ?)", chosen.role)
    for name in ("service", "grade", "reason"):
        if value := getattr(chosen, name):
            only(f"{name} = ?", value)
    if chosen.partial is not None:
        only("partial = ?", chosen.partial)
    if chosen.since_ns is not None:
        only(f"{column if table != 'listing' else 'listing.reported_ns'} >= ?", _held(chosen.since_ns))
    if chosen.until_ns is not None:
        only(f"{column if table != 'listing' else 'listing.reported_ns'} < ?", _held(chosen.until_ns))
    if chosen.text:
        only("instr(search, ?) > 0", chosen.text.casefold())
    direction, beyond = ("DESC", "<") if chosen.order == "recent" else ("ASC", ">")
    if page_token:
        where.append(f"({column}, {ident}) {beyond} (?, ?)")
        values += _untoken(page_token, chosen.order)
    query = (
        f"SELECT {column}, {ident} FROM {table} WHERE {' AND '.join(where)} "  # noqa: S608 - only names from here
        f"ORDER BY {column} {direction}, {ident} {direction} LIMIT ?"
    )
    found = connection.execute(query, (*values, size + 1)).fetchall()
    token = _token(chosen.order, *found[size - 1]) if len(found) > size else ""
    rows = (
        connection.execute("SELECT row FROM sessions WHERE id = ?", (ident,)).fetchone() for _, ident in found[:size]
    )
    return Page(tuple(_ROW.decode(row) for (row,) in rows), token)


def one_session(connection: sqlite3.Connection, session_id: str) -> SessionRow | None:
    """Return one session, reported or not; None if there is none."""
    found = connection.execute(
        "SELECT state, superseded_by, row, record FROM sessions WHERE id = ? AND agent = 1", (session_id,)
    ).fetchone()
    if found is None or found[0] == "deleted":
        return None
    state, superseded_by, row, record = found
    if row is not None:
        return msgspec.structs.replace(_ROW.decode(row), state=state, superseded_by=superseded_by)
    read = msgspec.msgpack.decode(record, type=_Unreported)
    return SessionRow(session_id, read.key, read.generation, state, 0, superseded_by, opened_ns=read.opened_ns)


class _Unreported(msgspec.Struct):
    key: SessionKey
    generation: int
    opened_ns: int


def read_report(connection: sqlite3.Connection, session_id: str, revision: int | None) -> Report | None:
    """Return one report whole, the last where `revision` is None; None if there is none."""
    row = connection.execute(
        """SELECT header, trace, analysis, superseded_by FROM reports JOIN sessions ON id = session_id
        WHERE session_id = ?1 AND (reports.revision = ?2 OR ?2 IS NULL) ORDER BY reports.revision DESC LIMIT 1""",
        (session_id, revision),
    ).fetchone()
    if row is None:
        return None
    header, trace, analysis, superseded_by = row
    return msgspec.structs.replace(
        Report.from_bytes(zlib.decompress(header)),
        trace_json=zlib.decompress(trace),
        report_json=zlib.decompress(analysis),
        superseded_by=superseded_by,
    )


def read_trace(connection: sqlite3.Connection, session_id: str, revision: int | None) -> bytes | None:
    """Return the trace document of one report."""
    row = connection.execute(
        """SELECT trace FROM reports WHERE session_id = ?1 AND (revision = ?2 OR ?2 IS NULL)
        ORDER BY revision DESC LIMIT 1""",
        (session_id, revision),
    ).fetchone()
    return None if row is None else zlib.decompress(row[0])


def list_revisions(connection: sqlite3.Connection, session_id: str) -> tuple[RevisionRow, ...]:
    """Return a session's reports, first to last."""
    rows = connection.execute("SELECT seq, header FROM reports WHERE session_id = ? ORDER BY revision", (session_id,))
    found = []
    for sequence, header in rows:
        report = Report.from_bytes(zlib.decompress(header))
        found.append(
            RevisionRow(
                session_id,
                report.revision,
                sequence,
                report.close_reason,
                report.closed_ns,
                report.partial,
                report.mean_score,
                report.grade,
                report.spans,
            )
        )
    return tuple(found)


def committed_after(connection: sqlite3.Connection, sequence: int, limit: int) -> tuple[Committed, ...]:
    """Return reports committed after one, in order."""
    rows = connection.execute(
        "SELECT seq, session_id, revision FROM reports WHERE seq > ? ORDER BY seq LIMIT ?", (sequence, limit)
    )
    return tuple(Committed(*row) for row in rows)


def last_sequence(connection: sqlite3.Connection) -> int:
    """Return the number of the last report, 0 if there is none."""
    found: int | None = connection.execute("SELECT max(seq) FROM reports").fetchone()[0]
    return found or 0


def _token(order: str, value: float, session_id: str) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode([order, value, session_id])).decode().rstrip("=")


def _untoken(token: str, order: str) -> tuple[float, str]:
    try:
        data = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        found, value, session_id = msgspec.json.decode(data, type=_TOKEN)
    except (binascii.Error, msgspec.DecodeError, UnicodeError, ValueError):
        raise PageTokenError(f"expected a page token that a page gave, got {token[:40]!r}") from None
    if found != order:
        raise PageTokenError(f"the page token is of a list in the order {found!r}, not {order!r}")
    return value, session_id
