"""The routes of the page.

Separate from the views, which know no HTTP, and from the API, which answers programs. The store is read on another thread, never on the event
loop; what an address asks for and is not there is a page that says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from collector.page import words
from collector.page.ledger import LETTERS
from collector.page.links import TraceLinks
from collector.page.login import LoginPage, Logins
from collector.page.roles import LIMIT, RANGES, Roles, roles, window
from collector.page.session import COMPARED, SessionView, session_view
from collector.page.sessions import PAGE_SIZE, WITHIN, AddressError, Listing, Wanted, listing, parameters, wanted
from collector.page.trail import EVENTS, FieldTrail, trail
from collector.page.writer import Writer
from collector.report import Report
from collector.store import PageTokenError, SessionRow, Store
from orbitrelay import GRADES, analyse, loads

_QUIET_S = 1.0
"""Least time between two events of the live list: a busy collector closes more sessions than anybody can read."""

_T = TypeVar("_T")


class MissingError(Exception):
    """Something that an address asks for and that is not there."""


class Page:
    """Everything that a person looks at. `now_ns` gives the time; `links` makes addresses of traces."""

    def __init__(
        self, store: Store, logins: Logins, links: TraceLinks, *, now_ns: Callable[[], int], version: str
    ) -> None:
        self._store = store
        self._links = links
        self._now_ns = now_ns
        self._write = Writer(logins, version)
        self._login = LoginPage(logins, self._write)

    def routes(self) -> list[Route]:
        """For a Starlette application."""
        session = "/sessions/{session_id}"
        return [
            Route("/", self._answering(self._list), methods=["GET"]),
            Route("/live", self._live, methods=["GET"]),
            Route(session, self._answering(self._session), methods=["GET"]),
            Route(session + "/field", self._answering(self._field), methods=["GET"]),
            Route("/roles", self._answering(self._roles), methods=["GET"]),
            *self._login.routes(),
            *self._write.routes(),
        ]

    def _answering(self, view: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                return await view(request)
            except (AddressError, PageTokenError) as error:
                return self._write(request, "fault.html", 400, title="That address cannot be meant", message=str(error))
            except MissingError as error:
                return self._write(request, "fault.html", 404, title="Not here", message=str(error))

        return answer

    # -- sessions ------------------------------------------------------------------------------------------------------

    async def _list(self, request: Request) -> Response:
        asked = wanted(request.query_params)
        made = await _elsewhere(lambda: self._listing(asked))
        only_rows = request.headers.get("x-orbitrelay-part") == "rows"
        return self._write(
            request,
            "rows.html" if only_rows else "sessions.html",
            list=made,
            asked=parameters(asked),
            within={name: label for name, (label, _) in WITHIN.items()},
            grades=[grade for grade, _ in GRADES],
        )

    def _listing(self, asked: Wanted) -> Listing:
        sequence = self._store.last_sequence()  # first: a report that comes meanwhile is told of again, and not missed
        page = self._store.sessions(asked.chosen(self._now_ns()), asked.page, PAGE_SIZE)
        return listing(asked, page, self._store.known(), sequence, self._store.open_sessions())

    async def _live(self, request: Request) -> Response:
        after = request.headers.get("last-event-id") or request.query_params.get("after", "")
        last = int(after) if after.isascii() and after.isdigit() and len(after) < 19 else None

        async def events() -> AsyncIterator[ServerSentEvent]:
            """One event for all that was committed since the last, with the number of the latest."""
            told = last
            async for made in self._store.watch(last):
                if told is not None and made.sequence <= told:
                    continue
                await asyncio.sleep(_QUIET_S / 4)  # sessions close in flocks
                told = await asyncio.to_thread(self._store.last_sequence)
                yield ServerSentEvent(data=str(told), id=str(told), event="report")
                await asyncio.sleep(_QUIET_S * 3 / 4)

        return EventSourceResponse(events(), ping=15)

    # -- one session ---------------------------------------------------------------------------------------------------

    async def _session(self, request: Request) -> Response:
        session_id = request.path_params["session_id"]
        revision, first = _whole(request, "revision"), _whole(request, "from")
        found = await _elsewhere(lambda: self._session_view(session_id, revision, first or 1))
        if isinstance(found, SessionRow):
            return self._write(request, "open.html", name=words.shown(found.name, 120), opened=words.moment(found.opened_ns),
                               opened_iso=words.iso(found.opened_ns), session_id=found.session_id)  # fmt: skip
        heir = await _elsewhere(lambda: self._heir(found))
        return self._write(request, "session.html", view=found, letters=LETTERS, heir=heir)

    def _session_view(self, session_id: str, revision: int | None, first: int) -> SessionView | SessionRow:
        report = self._store.report(session_id, revision)
        if report is None:
            return self._without_report(session_id, revision)
        revisions = self._store.revisions(session_id)
        before: dict[int, Report] = {}
        for row in revisions[-COMPARED:] if len(revisions) > 1 else ():
            other = self._store.report(session_id, row.revision)
            if other is not None:
                before[row.revision] = other
        return session_view(report, analyse(loads(report.trace_json)), revisions, before, self._links, first)

    def _without_report(self, session_id: str, revision: int | None) -> SessionRow:
        row = self._store.session(session_id)
        if row is None:
            raise MissingError(f"no session {words.shown(session_id)!r} is kept: it was never here, or it was deleted")
        if row.revision:
            raise MissingError(f"the session has revisions 1 to {row.revision}, and none with the number {revision}")
        return row

    def _heir(self, view: SessionView) -> str:
        row = self._store.session(view.report.superseded_by) if view.report.superseded_by else None
        return words.shown(row.name) if row is not None else ""

    async def _field(self, request: Request) -> Response:
        session_id, name = request.path_params["session_id"], request.query_params.get("name", "")
        revision = _whole(request, "revision")

        def follow() -> tuple[Report, FieldTrail]:
            report = self._store.report(session_id, revision)
            if report is None:
                self._without_report(session_id, revision)
                raise MissingError("the session is open: its fields can be followed once it closes")
            return report, trail(analyse(loads(report.trace_json)), name)

        report, found = await _elsewhere(follow)
        if name not in found.names:
            raise MissingError(f"no handoff of this session has to do with a field {words.shown(name)!r}")
        return self._write(
            request,
            "field.html",
            session_id=session_id,
            session=words.shown(report.name, 120),
            revision=revision,
            trail=found,
            name=words.shown(name),
            names=[(key, words.shown(key, 40)) for key in found.names[:500]],
            events=EVENTS,
        )

    # -- roles ---------------------------------------------------------------------------------------------------------

    async def _roles(self, request: Request) -> Response:
        range_ = request.query_params.get("range", "") or "7d"
        if range_ not in RANGES:
            raise AddressError(f"expected range one of {', '.join(RANGES)}, found {words.shown(range_)!r}")

        def read() -> Roles:
            now = self._now_ns()
            return roles(self._store.roles(*window(range_, now), limit=LIMIT), range_, now)

        return self._write(request, "roles.html", roles=await _elsewhere(read), ranges=RANGES)


async def _elsewhere(read: Callable[[], _T]) -> _T:
    return await asyncio.to_thread(read)


def _whole(request: Request, name: str) -> int | None:
    text = request.query_params.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise AddressError(f"expected {name} as a whole number, found {words.shown(text)!r}")
    return int(text)
