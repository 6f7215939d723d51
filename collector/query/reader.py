"""The query service without a wire: requests in, responses out, over the store.

Separate from gRPC and HTTP so that both answer alike: neither knows the store, and this knows neither.

Rules:
- the store is read on another thread, never on the event loop;
- what is asked for and is not there is a `QueryError` that says so; an empty list is an answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from enum import Enum
from typing import Any

import grpc
from google.protobuf.timestamp_pb2 import Timestamp

from collector.pb.orbitrelay.v1 import query_pb2 as pb
from collector.query.messages import report_message, session_message
from collector.report import Report
from collector.store import PageTokenError, SessionFilter, Store

_PAGE, _LARGEST_PAGE = 50, 500
_GRADES = ("A", "B", "C", "D", "F")


class Fault(Enum):
    """Why a query is not answered, with its status on both protocols."""

    NOT_FOUND = (grpc.StatusCode.NOT_FOUND, 404)
    INVALID = (grpc.StatusCode.INVALID_ARGUMENT, 400)


class QueryError(Exception):
    """A query that is not answered."""

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(message)
        self.fault = fault
        self.message = message


class Reader:
    """Answers queries. `dossier` renders a report as Markdown; `delete` says whether there was such a session."""

    def __init__(
        self, store: Store, dossier: Callable[[Report], str], delete: Callable[[str], Awaitable[bool]]
    ) -> None:
        self._store = store
        self._dossier = dossier
        self._delete = delete

    async def list_sessions(self, request: pb.ListSessionsRequest) -> pb.ListSessionsResponse:
        """One page of sessions. Raises `QueryError`."""
        size = request.page_size or _PAGE
        if size > _LARGEST_PAGE:
            raise QueryError(Fault.INVALID, f"expected page_size at most {_LARGEST_PAGE}, found {size}")
        if request.filter.grade and request.filter.grade not in _GRADES:
            raise QueryError(
                Fault.INVALID, f"expected filter.grade one of A, B, C, D, F, found {request.filter.grade!r}"
            )
        try:
            page = await asyncio.to_thread(self._store.sessions, _filter(request), request.page_token, size)
        except PageTokenError as error:
            raise QueryError(Fault.INVALID, f"expected page_token as it was given, found another ({error})") from error
        return pb.ListSessionsResponse(
            sessions=[session_message(row) for row in page.rows], next_page_token=page.next_token
        )

    async def get_trace(self, request: pb.GetTraceRequest) -> pb.GetTraceResponse:
        """The trace document. Raises `QueryError`."""
        report = await self._report(request)
        return pb.GetTraceResponse(trace_json=report.trace_json)

    async def get_report(self, request: pb.GetReportRequest) -> pb.GetReportResponse:
        """The report. Raises `QueryError`."""
        return pb.GetReportResponse(report=report_message(await self._report(request)))

    async def get_dossier(self, request: pb.GetDossierRequest) -> pb.GetDossierResponse:
        """The dossier. Raises `QueryError`."""
        report = await self._report(request)
        return pb.GetDossierResponse(markdown=await asyncio.to_thread(self._dossier, report))

    async def watch_reports(self, request: pb.WatchReportsRequest) -> AsyncIterator[pb.WatchReportsResponse]:
        """Reports as they are made, until the caller stops asking."""
        after = request.after if request.HasField("after") else None
        async for made in self._store.watch(after):
            report = await asyncio.to_thread(self._store.report, made.session_id, made.revision)
            if report is not None:  # else deleted meanwhile
                yield pb.WatchReportsResponse(sequence=made.sequence, report=report_message(report))

    async def delete_session(self, request: pb.DeleteSessionRequest) -> pb.DeleteSessionResponse:
        """Delete a session and its content. Raises `QueryError`."""
        if not await self._delete(request.session_id):
            raise _unknown(request.session_id)
        return pb.DeleteSessionResponse()

    async def _report(self, request: Any) -> Report:
        revision = request.revision or None
        report = await asyncio.to_thread(self._store.report, request.session_id, revision)
        if report is not None:
            return report
        row = await asyncio.to_thread(self._store.session, request.session_id)
        if row is None:
            raise _unknown(request.session_id)
        if revision is None or row.revision == 0:
            raise QueryError(
                Fault.NOT_FOUND, f"session {request.session_id!r} is open: it has no report before it closes"
            )
        raise QueryError(Fault.NOT_FOUND, f"expected a revision from 1 to {row.revision}, found {revision}")


def _unknown(session_id: str) -> QueryError:
    return QueryError(Fault.NOT_FOUND, f"expected the id of a session that is kept, found {session_id[:80]!r}")


def _filter(request: pb.ListSessionsRequest) -> SessionFilter:
    wanted = request.filter
    return SessionFilter(
        service=wanted.service,
        role=wanted.role,
        grade=wanted.grade,
        reason=wanted.close_reason,
        since_ns=_nanoseconds(wanted.since) if wanted.HasField("since") else None,
        until_ns=_nanoseconds(wanted.until) if wanted.HasField("until") else None,
        text=wanted.text,
        partial=wanted.partial if wanted.HasField("partial") else None,
        order="weakest" if request.order == pb.SESSION_ORDER_WEAKEST else "recent",
    )


def _nanoseconds(moment: Timestamp) -> int:
    return int(moment.seconds) * 1_000_000_000 + int(moment.nanos)
