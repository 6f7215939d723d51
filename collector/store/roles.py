"""Totals by role in the store: what each pair of roles handed over, and which fields went missing, hour by hour.

Separate from reports because a page over a hundred thousand sessions must not open one of them: a session adds its figures here when its
report is committed, and the totals follow by triggers (schema.py) when it is revised, superseded, listed again or deleted.

Rules:
- completeness here is of handoffs held against a contract; what could not be scored is counted under its reason, and never left out;
- scores are kept as whole millionths, so that what is taken away again leaves nothing behind.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from typing import Final

from collector.report import HandoffRow, Report
from collector.store.rows import FieldTotals, Known, Moment, PairTotals, RoleContractUse, RolesView
from collector.store.schema import FIELD_FIGURES, RELAY_FIGURES

HOUR_NS: Final = 3_600_000_000_000
_KNOWN: Final = 200
_MILLION: Final = 1_000_000


def record(connection: sqlite3.Connection, report: Report) -> None:
    """Put a session's figures in the place of those it gave before."""
    hour = report.closed_ns // HOUR_NS
    (listed,) = connection.execute("SELECT listed FROM sessions WHERE id = ?", (report.session_id,)).fetchone() or (0,)
    contract = report.contract_name or report.contract_hash[:12]
    relays: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0] * len(RELAY_FIGURES))
    fields: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0] * len(FIELD_FIGURES))
    for row in report.handoffs:
        key = (row.source_role, row.target_role, row.mode, contract if row.contracted else "")
        _add(relays[key], RELAY_FIGURES, _relay(row))
        for figure, names in (
            ("", row.present_fields),
            ("missing", row.missing_fields),
            ("empty", row.empty_fields),
            ("unrecorded", row.unrecorded_fields),
        ):
            for name in names if row.contracted and row.status != "dropped" else ():
                _add(fields[row.target_role, name], FIELD_FIGURES, {"required": 1, figure: 1})
    for table, found, keys in (("relays", relays, 4), ("required_fields", fields, 2)):
        connection.execute(f"DELETE FROM {table} WHERE session_id = ?", (report.session_id,))  # noqa: S608 - names from here
        figures = len(RELAY_FIGURES if table == "relays" else FIELD_FIGURES)
        marks = ", ".join("?" * (3 + keys + figures))
        connection.executemany(
            f"INSERT INTO {table} VALUES ({marks})",  # noqa: S608 - names from here
            [(report.session_id, hour, listed, *key, *values) for key, values in found.items()],
        )


def view(connection: sqlite3.Connection, since_ns: int, until_ns: int, step_ns: int, limit: int) -> RolesView:
    """Return the totals of reports closed in a time, to the hour; `step_ns` is the width of one point of a series.

    `limit`: of pairs, the busiest first, and of fields, the most often missing or empty first.
    """
    span = (since_ns // HOUR_NS, -(-until_ns // HOUR_NS))
    step = max(1, step_ns // HOUR_NS)
    figures = ", ".join(f"sum({name})" for name in RELAY_FIGURES)
    series: dict[tuple[str, str], list[Moment]] = defaultdict(list)
    for source, target, bucket, scored, points in connection.execute(
        """SELECT source_role, target_role, hour / ?3 AS bucket, sum(scored), sum(points) FROM relay_totals
        WHERE hour >= ?1 AND hour < ?2 AND contract != '' GROUP BY 1, 2, 3 HAVING sum(scored) > 0 ORDER BY 3""",
        (*span, step),
    ):
        series[source, target].append(Moment(bucket * step * HOUR_NS, points / scored / _MILLION, scored))
    rows = connection.execute(
        f"""SELECT source_role, target_role, {figures},
        sum(CASE WHEN contract = '' THEN scored ELSE 0 END), sum(CASE WHEN contract = '' THEN points ELSE 0 END)
        FROM relay_totals WHERE hour >= ? AND hour < ? GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2""",  # noqa: S608
        span,
    ).fetchall()
    pairs = [_pair(*row, moments=tuple(series[row[0], row[1]])) for row in rows]
    fields = connection.execute(
        """SELECT target_role, field, sum(required), sum(missing), sum(empty), sum(unrecorded) FROM field_totals
        WHERE hour >= ? AND hour < ? GROUP BY 1, 2
        HAVING sum(missing) + sum(empty) + sum(unrecorded) > 0 ORDER BY 4 DESC, 5 DESC, 6 DESC, 1, 2 LIMIT ?""",
        (*span, limit),
    )
    uses = connection.execute(
        """SELECT target_role, mode = 'return', contract, sum(handoffs) FROM relay_totals WHERE hour >= ? AND hour < ?
        GROUP BY 1, 2, 3 ORDER BY 1, 2, 4 DESC LIMIT ?""",
        (*span, 2 * limit),
    )
    return RolesView(
        pairs=tuple(pairs[:limit]),
        pairs_in_all=len(pairs),
        whole=_sum(pairs),
        fields=tuple(FieldTotals(*row) for row in fields),
        contracts=tuple(RoleContractUse(role, bool(back), contract, n) for role, back, contract, n in uses),
    )


def known(connection: sqlite3.Connection) -> Known:
    """Return the services and roles that can be filtered by, in order; at most 200 of each."""
    return Known(
        _distinct(connection, "SELECT min(service) FROM listing WHERE listed = 1 AND service > ?"),
        _distinct(connection, "SELECT min(role) FROM roles WHERE role > ?"),
    )


def _distinct(connection: sqlite3.Connection, following: str) -> tuple[str, ...]:
    """Step from one value of an index to the next, so that the cost is of the values and not of the sessions."""
    found: list[str] = []
    while len(found) < _KNOWN:
        (value,) = connection.execute(following, (found[-1] if found else "",)).fetchone()
        if value is None:
            break
        found.append(value)
    return tuple(found)


def _relay(row: HandoffRow) -> dict[str, int]:
    if row.score is None:
        return {"handoffs": 1, row.unscored: 1}
    return {"handoffs": 1, "scored": 1, "points": round(row.score * _MILLION)}


def _add(into: list[int], names: tuple[str, ...], figures: dict[str, int]) -> None:
    for index, name in enumerate(names):
        into[index] += figures.get(name, 0)


def _pair(
    source: str,
    target: str,
    handoffs: int,
    scored: int,
    points: int,
    dropped: int,
    not_recorded: int,
    return_without_contract: int,
    unrecorded_field: int,
    free: int,
    free_points: int,
    *,
    moments: tuple[Moment, ...] = (),
) -> PairTotals:
    held = scored - free
    return PairTotals(
        source_role=source,
        target_role=target,
        handoffs=handoffs,
        scored=held,
        mean=(points - free_points) / held / _MILLION if held else None,
        without_contract=free,
        dropped=dropped,
        not_recorded=not_recorded,
        return_without_contract=return_without_contract,
        unrecorded_field=unrecorded_field,
        moments=moments,
    )


def _sum(pairs: list[PairTotals]) -> PairTotals:
    scored = sum(pair.scored for pair in pairs)
    points = sum(pair.mean * pair.scored for pair in pairs if pair.mean is not None)
    return PairTotals(
        source_role="",
        target_role="",
        handoffs=sum(pair.handoffs for pair in pairs),
        scored=scored,
        mean=points / scored if scored else None,
        without_contract=sum(pair.without_contract for pair in pairs),
        dropped=sum(pair.dropped for pair in pairs),
        not_recorded=sum(pair.not_recorded for pair in pairs),
        return_without_contract=sum(pair.return_without_contract for pair in pairs),
        unrecorded_field=sum(pair.unrecorded_field for pair in pairs),
    )
