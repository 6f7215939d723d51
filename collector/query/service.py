"""The query service over gRPC, and grpc.health.v1 beside it.

Separate from the reader because only the wrapping is gRPC's.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import grpc
from grpc import aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1._async import HealthServicer

from collector.pb.orbitrelay.v1 import query_pb2 as pb
from collector.pb.orbitrelay.v1 import query_pb2_grpc
from collector.query.reader import QueryError, Reader

SERVICE = "orbitrelay.v1.QueryService"
HEALTH = "grpc.health.v1.Health"
_Request = TypeVar("_Request")
_Response = TypeVar("_Response")


class QueryService(query_pb2_grpc.QueryServiceServicer):
    """The generated service, answered by a reader; the names of its methods are the protocol's."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def ListSessions(
        self, request: pb.ListSessionsRequest, context: aio.ServicerContext
    ) -> pb.ListSessionsResponse:
        """See query.proto."""
        return await _answered(self._reader.list_sessions, request, context)

    async def GetTrace(self, request: pb.GetTraceRequest, context: aio.ServicerContext) -> pb.GetTraceResponse:
        """See query.proto."""
        return await _answered(self._reader.get_trace, request, context)

    async def GetReport(self, request: pb.GetReportRequest, context: aio.ServicerContext) -> pb.GetReportResponse:
        """See query.proto."""
        return await _answered(self._reader.get_report, request, context)

    async def GetDossier(self, request: pb.GetDossierRequest, context: aio.ServicerContext) -> pb.GetDossierResponse:
        """See query.proto."""
        return await _answered(self._reader.get_dossier, request, context)

    async def DeleteSession(
        self, request: pb.DeleteSessionRequest, context: aio.ServicerContext
    ) -> pb.DeleteSessionResponse:
        """See query.proto."""
        return await _answered(self._reader.delete_session, request, context)

    async def WatchReports(
        self, request: pb.WatchReportsRequest, context: aio.ServicerContext
    ) -> AsyncIterator[pb.WatchReportsResponse]:
        """See query.proto."""
        async for response in self._reader.watch_reports(request):
            yield response
        await context.abort(grpc.StatusCode.UNAVAILABLE, "the collector is stopping")


class HealthService:
    """grpc.health.v1: the empty service name (whether requests would be accepted) and the query service, serving or not."""

    def __init__(self) -> None:
        self._servicer: Any = HealthServicer()
        self._ready = False

    def add_to(self, server: aio.Server) -> None:
        """Register the service."""
        health_pb2_grpc.add_HealthServicer_to_server(self._servicer, server)

    async def set(self, serving: bool) -> None:
        """Tell those who ask, and those who watch, of both."""
        self._ready = serving
        for name in ("", SERVICE):
            await self._servicer.set(name, _status(serving))

    async def ready(self, ready: bool) -> None:
        """Tell of the empty name alone: what is stored can be asked for also while nothing is accepted."""
        if ready is not self._ready:
            self._ready = ready
            await self._servicer.set("", _status(ready))


def _status(serving: bool) -> int:
    return int(health_pb2.HealthCheckResponse.SERVING if serving else health_pb2.HealthCheckResponse.NOT_SERVING)


def add_query_service(reader: Reader, server: aio.Server) -> None:
    """Register the query service."""
    register: Any = query_pb2_grpc.add_QueryServiceServicer_to_server  # generated, without types
    register(QueryService(reader), server)


async def _answered(
    method: Callable[[_Request], Awaitable[_Response]], request: _Request, context: aio.ServicerContext
) -> _Response:
    try:
        return await method(request)
    except QueryError as error:
        await context.abort(error.fault.value[0], error.message)
        raise
