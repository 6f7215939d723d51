"""The list of sessions: what its address chooses, and what a row says.

Separate from the routes because a filter in an address is input like any other: read here, refused here, and written back here.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal
from urllib.parse import urlencode

import msgspec
from markupsafe import Markup

from collector.page import words
from collector.page.chart import bar, grade_of
from collector.page.svg import grade_class
from collector.store import Known, Page, SessionFilter, SessionRow
from orbitrelay import GRADES

PAGE_SIZE: Final = 50
WITHIN: Final = {
    "1h": ("last hour", 3_600),
    "24h": ("last 24 hours", 86_400),
    "7d": ("last 7 days", 604_800),
    "30d": ("last 30 days", 2_592_000),
}
_ORDERS: Final = ("recent", "weakest")
_FIELDS: Final = ("service", "role", "grade", "within", "since", "until", "text")
_SECOND: Final = 1_000_000_000
_LONGEST: Final = 200


class AddressError(ValueError):
    """An address that cannot be meant; the message says what was expected and what was found."""


class Wanted(msgspec.Struct, frozen=True):
    """What an address of the list asks for. Times are as they were written: UTC, to the minute."""

    service: str = ""
    role: str = ""
    grade: str = ""
    within: str = ""
    since: str = ""
    until: str = ""
    text: str = ""
    order: Literal["recent", "weakest"] = "recent"
    page: str = ""

    @property
    def filtered(self) -> bool:
        """Whether anything is left out."""
        return any(getattr(self, name) for name in _FIELDS)

    def address(self, **changes: str) -> str:
        """The address of this list with changes; a change starts again at its first page."""
        values = {**msgspec.structs.asdict(self), "page": "", **changes}
        query = urlencode(
            {name: value for name, value in values.items() if value and (name, value) != ("order", "recent")}
        )
        return "/" + (f"?{query}" if query else "")

    def chosen(self, now_ns: int) -> SessionFilter:
        """The store's filter. Raises AddressError for a time that is none."""
        since = _time("since", self.since)
        if self.within:
            since = max(since or 0, now_ns - WITHIN[self.within][1] * _SECOND)
        return SessionFilter(
            service=self.service,
            role=self.role,
            grade=self.grade,
            text=self.text,
            since_ns=since,
            until_ns=_time("until", self.until),
            order=self.order,
        )


def wanted(query: Mapping[str, str]) -> Wanted:
    """Read an address. Empty values are as good as none, as a form sends them. Raises AddressError."""
    for name in query:
        if name not in (*_FIELDS, "order", "page"):
            raise AddressError(f"expected filters {', '.join(_FIELDS)}, found {words.shown(name)!r}")
    values = {
        name: value.strip()[:_LONGEST] if name != "page" else value for name, value in query.items() if value.strip()
    }
    for name, choices in (
        ("grade", [grade for grade, _ in GRADES]),
        ("within", list(WITHIN)),
        ("order", list(_ORDERS)),
    ):
        if name in values and values[name] not in choices:
            raise AddressError(f"expected {name} one of {', '.join(choices)}, found {words.shown(values[name])!r}")
    made = msgspec.convert(values, Wanted)
    made.chosen(0)
    return made


class Row(msgspec.Struct, frozen=True):
    """One line of the list, as it is written."""

    session_id: str
    name: str
    service: str
    score: str
    grade: str
    grade_class: str
    bar: Markup
    why_no_score: str
    weakest: str
    weakest_score: str
    weakest_grade: str
    weakest_class: str
    bottlenecks: int
    handoffs: int
    dropped: int
    unscored: int
    duration: str
    tokens: str
    closed: str
    closed_iso: str
    tags: tuple[tuple[str, str], ...]  # what it says, and why
    revision: int


class Listing(msgspec.Struct, frozen=True):
    """The whole list. `newer` and `older` are addresses, "" for none."""

    wanted: Wanted
    rows: tuple[Row, ...]
    older: str
    newest: str
    services: tuple[tuple[str, str], ...]  # what to ask for, and how it is written
    roles: tuple[tuple[str, str], ...]
    sequence: int
    open_sessions: int


def listing(asked: Wanted, page: Page, known: Known, sequence: int, open_sessions: int) -> Listing:
    """Make the list from a page of the store."""
    return Listing(
        wanted=asked,
        rows=tuple(_row(row) for row in page.rows),
        older=asked.address(page=page.next_token) if page.next_token else "",
        newest=asked.address() if asked.page else "",
        services=_with(known.services, asked.service),
        roles=_with(known.roles, asked.role),
        sequence=sequence,
        open_sessions=open_sessions,
    )


def _row(row: SessionRow) -> Row:
    weakest = grade_of(row.weakest_score)
    held = row.mean_contracted is not None
    return Row(
        session_id=row.session_id,
        name=words.shown(row.name),
        service=words.shown(row.service),
        score=words.score(row.mean_score),
        grade=row.grade,
        grade_class=grade_class(row.grade, held),
        bar=bar(row.mean_score, grade_class(row.grade, held)) if row.mean_score is not None else Markup(""),
        why_no_score="" if row.mean_score is not None else "nothing scored" if row.handoffs else "no handoffs",
        weakest=f"{words.shown(row.weakest_source, 32)} → {words.shown(row.weakest_target, 32)}" if row.weakest_handoff else "",
        weakest_score=words.score(row.weakest_score),
        weakest_grade=weakest,
        weakest_class=grade_class(weakest, held),
        bottlenecks=row.bottlenecks,
        handoffs=row.handoffs,
        dropped=row.dropped,
        unscored=row.unscored,
        duration=words.span(row.first_span_ns, row.last_span_ns),
        tokens=words.count(row.tokens),
        closed=words.moment(row.closed_ns),
        closed_iso=words.iso(row.closed_ns),
        tags=tuple(_tags(row)),
        revision=row.revision,
    )  # fmt: skip


def _tags(row: SessionRow) -> list[tuple[str, str]]:
    tags = []
    if row.mean_score is not None and row.mean_contracted is None:
        tags.append(
            (
                "no contract",
                "no handoff was held against a contract, so completeness says nothing of what was asked for",
            )
        )
    if row.partial:
        tags.append(
            ("partial", "the collector knows of something that it lacks: " + ", ".join(row.partial).replace("_", " "))
        )
    return tags  # fmt: skip


def _with(values: tuple[str, ...], chosen: str) -> tuple[tuple[str, str], ...]:
    every = values if not chosen or chosen in values else (*values, chosen)
    return tuple((value, words.shown(value, 40)) for value in every if words.addressable(value))


def _time(name: str, written: str) -> int | None:
    if not written:
        return None
    try:
        at = datetime.fromisoformat(written)
    except ValueError:
        raise AddressError(
            f"expected {name} as a time such as 2026-11-30T12:00, found {words.shown(written)!r}"
        ) from None
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()) * _SECOND


def parameters(asked: Wanted) -> dict[str, Any]:
    """What the address says, for the forms of the page."""
    return msgspec.structs.asdict(asked)
