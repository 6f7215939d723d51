"""The HTTP twin of the query service: /api/v1, the same messages as JSON.

Separate from the gRPC service because only the wrapping is HTTP's; both are thin around the reader.

Rules:
- field names, query parameters and values are those of proto/orbitrelay/v1, in snake_case;
- a trace document and a dossier are given as they are, not inside a message.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from collector.admin.openapi import text
from collector.admin.parameters import LIST, ORDERS, moment, one_of, parameters, whole
from collector.pb.orbitrelay.v1 import query_pb2 as pb
from collector.query.reader import Reader


class Api:
    """The routes of /api/v1."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def routes(self) -> list[Route]:
        """For a Starlette application."""
        session = "/api/v1/sessions/{session_id}"
        return [
            Route("/api/v1/sessions", self._list, methods=["GET"]),
            Route(session + "/report", self._report, methods=["GET"]),
            Route(session + "/trace", self._trace, methods=["GET"]),
            Route(session + "/dossier", self._dossier, methods=["GET"]),
            Route(session, self._delete, methods=["DELETE"]),
            Route("/api/v1/reports/watch", self._watch, methods=["GET"]),
            Route("/api/v1/openapi.json", self._openapi, methods=["GET"]),
        ]

    async def _list(self, request: Request) -> Response:
        given = parameters(request, LIST)
        query = pb.ListSessionsRequest(
            page_size=whole("page_size", given.get("page_size", "0")),
            page_token=given.get("page_token", ""),
            order=one_of("order", given.get("order", "recent"), ORDERS),
        )
        for name in ("service", "role", "grade", "close_reason", "text"):
            setattr(query.filter, name, given.get(name, ""))
        for name in ("since", "until"):
            if name in given:
                moment(name, given[name], getattr(query.filter, name))
        if "partial" in given:
            query.filter.partial = one_of("partial", given["partial"], {"true": True, "false": False})
        return message_response(await self._reader.list_sessions(query))

    async def _report(self, request: Request) -> Response:
        query = pb.GetReportRequest(session_id=_id(request), revision=_revision(request))
        return message_response(await self._reader.get_report(query))

    async def _trace(self, request: Request) -> Response:
        query = pb.GetTraceRequest(session_id=_id(request), revision=_revision(request))
        return Response((await self._reader.get_trace(query)).trace_json, media_type="application/json")

    async def _dossier(self, request: Request) -> Response:
        query = pb.GetDossierRequest(session_id=_id(request), revision=_revision(request))
        return Response((await self._reader.get_dossier(query)).markdown, media_type="text/markdown")

    async def _delete(self, request: Request) -> Response:
        parameters(request, ())
        await self._reader.delete_session(pb.DeleteSessionRequest(session_id=_id(request)))
        return Response(status_code=204)

    async def _openapi(self, _request: Request) -> Response:
        return Response(text(), media_type="application/json")

    async def _watch(self, request: Request) -> Response:
        given = parameters(request, ("after",))
        after = request.headers.get("last-event-id") or given.get("after")
        query = pb.WatchReportsRequest()
        if after is not None:
            query.after = whole("after", after)

        async def events() -> AsyncIterator[ServerSentEvent]:
            async for response in self._reader.watch_reports(query):
                yield ServerSentEvent(data=_json(response).decode(), id=str(response.sequence), event="report")

        return EventSourceResponse(events(), ping=15)


def message_response(message: Message, status: int = 200) -> Response:
    """A message as JSON."""
    return Response(_json(message), status, media_type="application/json")


def error_response(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    """A fault as JSON: `{"error": {"status": 404, "message": "..."}}`."""
    body = json.dumps({"error": {"status": status, "message": message}}, ensure_ascii=False)
    return Response(body, status, headers, media_type="application/json")


def _json(message: Message) -> bytes:
    values = MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
    ordered = _ordered(values, message.DESCRIPTOR)
    return json.dumps(ordered, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _ordered(value: Any, kind: Any) -> Any:
    """The fields in the order of the protocol file: protobuf's own printer puts those that are not set last."""
    if isinstance(value, list):
        return [_ordered(item, kind) for item in value]
    if kind is None or not isinstance(value, dict):
        return value
    return {field.name: _ordered(value[field.name], field.message_type) for field in kind.fields if field.name in value}


def _id(request: Request) -> str:
    return str(request.path_params["session_id"])


def _revision(request: Request) -> int:
    return whole("revision", parameters(request, ("revision",)).get("revision", "0"))
