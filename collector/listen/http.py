"""An HTTP server on a socket of ours, in a loop of ours: uvicorn without its signals, with a deadline and a bound on request headers.

Separate from the applications because the OTLP and the admin listener run the same server; and because what uvicorn leaves open (a client
that sends its header or its body for ever, or a header of any size) has to be closed in one place.

Rules:
- HTTP/1.1 is spoken, whatever else a request asks for (`upgrade: h2c`, as some clients always do): what follows its header is its body, and
  the next request. The parser would leave it unread, and an empty body is a message, too: it would be acknowledged for the one that was sent.
- an application is woken once for a body of the usual size, and not for each segment of it that the network brings.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from array import array
from collections.abc import Iterator
from typing import Any

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from collector.listen.tls import Certificates

_HEADER_SIZE = 64 << 10
BODY_PIECE = 256 << 10  # bytes of a body that the application is woken for; less only for its end
_TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class HttpServer:
    """Serve one ASGI application on one bound socket. Times are in seconds; `body_timeout` 0: the application sees to it."""

    def __init__(
        self,
        application: Any,
        sock: socket.socket,
        certificates: Certificates,
        *,
        connections: int = 0,
        header_timeout: float = 10.0,
        body_timeout: float = 0.0,
        idle_timeout: float = 75.0,
    ) -> None:
        host, port = sock.getsockname()[:2]
        self.host, self.port = str(host), int(port)
        self._socket = sock
        bounds = {"header_timeout": header_timeout, "body_timeout": body_timeout}
        protocol = type("Protocol", (_BoundedProtocol,), bounds)
        config = uvicorn.Config(
            application,
            http=protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=connections or None,
            timeout_keep_alive=max(1, round(idle_timeout)),
            timeout_graceful_shutdown=None,
        )
        config.load()
        config.ssl = certificates.http_context()
        self._server = _Server(config)
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Return once the socket is served."""
        self._task = asyncio.create_task(self._server.serve(sockets=[self._socket]), name=f"http {self.port}")
        while not self._server.started:
            if self._task.done():
                await self._task
            await asyncio.sleep(0.001)

    async def stop(self, deadline: float) -> None:
        """Take no new connection, let requests finish, and after `deadline` seconds cut them off. Idempotent, safe without start."""
        if self._task is None:
            self._socket.close()
            return
        self._server.config.timeout_graceful_shutdown = max(0.1, deadline)  # type: ignore[assignment]  # seconds; a float serves
        self._server.should_exit = True
        task, self._task = self._task, None
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(task, deadline + 0.5)


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the service."""
        yield


class _Parser(httptools.HttpRequestParser):
    def __init__(self, protocol: _BoundedProtocol) -> None:
        super().__init__(protocol)
        self.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn: the request before is answered
        self._protocol = protocol

    def feed_data(self, data: bytes | bytearray | memoryview | array[int]) -> None:
        try:
            super().feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if self.get_method() == b"CONNECT":
                raise httptools.HttpParserError("CONNECT") from None
            self._protocol.stay(bytes(data[upgrade.args[0] :]))


class _BoundedProtocol(HttpToolsProtocol):
    header_timeout = 10.0
    body_timeout = 0.0
    _header_timer: asyncio.TimerHandle | None = None
    _body_timer: asyncio.TimerHandle | None = None

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.parser = _Parser(self)
        self._unread = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn declares it
        super().connection_made(transport)
        self._header_size = 0
        if self.limit_concurrency and len(self.connections) > 2 * self.limit_concurrency:
            transport.abort()  # so many have not even asked yet, or they would have been told that they are too many
        else:
            self._wait_for_header()

    def connection_lost(self, exc: Exception | None) -> None:
        self._header_came()
        self._body_came()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unread = data
        while self._unread and not self.transport.is_closing():
            piece, self._unread = self._unread, b""
            super().data_received(piece)
        if self._header_timer is None or self.transport.is_closing():
            return
        self._header_size += len(data)  # the parser keeps all of a header until it is whole
        if self._header_size > _HEADER_SIZE:
            self.transport.write(_TOO_LONG)
            self.transport.close()

    def on_message_begin(self) -> None:
        self._header_size = 0
        self._wait_for_header()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._header_came()
        if self.body_timeout and self._body_timer is None:
            self._body_timer = self.loop.call_later(self.body_timeout, self.transport.close)
        if not self.parser.should_upgrade():
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        cycle = self.cycle
        if cycle.response_complete:
            return
        cycle.body += body
        if len(cycle.body) >= BODY_PIECE:
            self.flow.pause_reading()
            cycle.message_event.set()

    def on_message_complete(self) -> None:
        self._body_came()
        if not self.parser.should_upgrade():
            super().on_message_complete()

    def stay(self, behind: bytes) -> None:
        """Read a request again, and what came behind its header, as if it had asked for no other protocol."""
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        named = [b"%s: %s" % header for header in self.headers if header[0] != b"upgrade"]
        self.parser = _Parser(self)
        self._unread = b"\r\n".join([b"%s %s HTTP/%s" % (method, self.url, version), *named, b"", behind])

    def _wait_for_header(self) -> None:
        if self._header_timer is None:
            self._header_timer = self.loop.call_later(self.header_timeout, self.timeout_keep_alive_handler)

    def _header_came(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _body_came(self) -> None:
        if self._body_timer is not None:
            self._body_timer.cancel()
            self._body_timer = None
