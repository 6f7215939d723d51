"""The admin HTTP application: /healthz, /readyz, /metrics, /api/v1 and the page behind one door.

Separate from what it serves because the door is the same for all of it: a token where one is demanded (or, for reading, the cookie that a
browser got for it), a host name that is ours (so that no web page can reach a loopback listener through a name of its own), and headers that
let a browser do nothing with the answer, unless the page says otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from collector.admin.api import error_response
from collector.listen.tokens import Tokens
from collector.page.login import Logins
from collector.query.reader import QueryError

_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
_PROBES = ("/healthz", "/readyz")
_WAY_IN = ("/login", "/logout")
_READING = ("GET", "HEAD")
_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)

Check = Callable[[], str]
"""Says why a part is not ready, or "" where it is."""


def application(
    *,
    routes: Sequence[BaseRoute],
    metrics: Callable[[str], Awaitable[tuple[bytes, str]]],
    ready: Mapping[str, Check],
    tokens: Tokens,
    logins: Logins,
    open_health: bool,
    hosts: Sequence[str],
    loopback: bool,
) -> ASGIApp:
    """The ASGI application. `metrics` gives body and content type for an Accept header; `hosts` empty and not `loopback`: any host."""

    async def healthz(_request: Request) -> Response:
        return _state(200, {"status": "ok"})

    async def readyz(_request: Request) -> Response:
        parts = {name: check() or "ok" for name, check in ready.items()}
        fine = all(state == "ok" for state in parts.values())
        return _state(200 if fine else 503, {"status": "ready" if fine else "not ready", "parts": parts})

    async def exposition(request: Request) -> Response:
        body, content_type = await metrics(request.headers.get("accept", ""))
        return Response(body, headers={"content-type": content_type})

    own = [
        Route("/healthz", healthz, methods=["GET"]),
        Route("/readyz", readyz, methods=["GET"]),
        Route("/metrics", exposition, methods=["GET"]),
    ]
    app = Starlette(
        routes=[*own, *routes],
        exception_handlers={HTTPException: _http_fault, QueryError: _query_fault, Exception: _failed},
    )
    names = tuple(host.lower() for host in hosts) or (_LOOPBACK_NAMES if loopback else ())
    return _Door(app, tokens, logins, (*_WAY_IN, *(_PROBES if open_health else ())), names)


class _Door:
    def __init__(
        self, app: ASGIApp, tokens: Tokens, logins: Logins, open_paths: Sequence[str], hosts: Sequence[str]
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._logins = logins
        self._open = frozenset(open_paths)
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}

        async def safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(pair for pair in _SAFE if pair[0] not in given)]
            await send(message)

        refusal = self._refusal(scope, headers)
        await (refusal or self._app)(scope, receive, safely)

    def _refusal(self, scope: Scope, headers: dict[bytes, str]) -> Response | None:
        path: str = scope["path"]
        host = _host_name(headers.get(b"host", ""))
        if self._hosts and host not in self._hosts:
            return error_response(
                421, f"expected a host of {', '.join(sorted(self._hosts))} (admin.http.hosts), found {host[:80]!r}"
            )
        if path in self._open or path.startswith("/static/"):
            return None
        fault = self._tokens.fault(headers.get(b"authorization"))
        if not fault:
            return None
        if scope["method"] in _READING and b"authorization" not in headers:
            if self._logins.accepts(headers.get(b"cookie", "")):
                return None
            if "text/html" in headers.get(b"accept", ""):
                query = scope["query_string"].decode("latin-1")
                return RedirectResponse("/login?" + urlencode({"next": path + (f"?{query}" if query else "")}), 303)
        return error_response(401, fault, {"www-authenticate": "Bearer"})


def _host_name(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.rpartition(":")[0].lower() if ":" in host else host.lower()


def _state(status: int, values: dict[str, Any]) -> Response:
    return Response(json.dumps(values), status, media_type="application/json")


async def _http_fault(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # as it is registered
    if error.status_code == 404:
        return error_response(404, f"expected a path of docs/api.md, found {request.url.path[:80]!r}")
    return error_response(error.status_code, error.detail.lower(), dict(error.headers or {}))


async def _query_fault(_request: Request, error: Exception) -> Response:
    assert isinstance(error, QueryError)  # as it is registered
    return error_response(error.fault.value[1], error.message)


async def _failed(_request: Request, _error: Exception) -> Response:
    return error_response(500, "the collector failed to answer; its log says why")
