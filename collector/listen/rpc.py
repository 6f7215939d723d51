"""A gRPC server on an endpoint: grpc.aio with the bounds, the keepalive and the tokens that every listener of ours has.

Separate from the services because the OTLP and the admin listener start the same server.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

import grpc
from grpc import aio

from collector.config.values import split_address
from collector.listen.errors import StartError
from collector.listen.sockets import address_of, probe
from collector.listen.tls import Certificates
from collector.listen.tokens import Tokens


class RpcServer:
    """Serve generic handlers on one endpoint; `option` is the option that a fault of the endpoint is reported against."""

    def __init__(
        self,
        endpoint: str,
        option: str,
        certificates: Certificates,
        tokens: Tokens,
        *,
        message_size: int,
        streams: int = 0,
        connections: int = 0,
        open_services: Collection[str] = (),
    ) -> None:
        self._endpoint, self._option = endpoint, option
        self._certificates = certificates
        options: list[tuple[str, int]] = [
            ("grpc.max_receive_message_length", message_size),
            ("grpc.max_metadata_size", 64 << 10),
            ("grpc.so_reuseport", 0),
            # OpenTelemetry SDKs and Collectors ping every 10 s, also without calls; grpc's default bans what pings oftener than every 5 min.
            ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
            ("grpc.keepalive_permit_without_calls", 1),
            ("grpc.keepalive_time_ms", 60_000),
            ("grpc.keepalive_timeout_ms", 20_000),
            ("grpc.server_handshake_timeout_ms", 10_000),
        ]
        if connections:
            options.append(("grpc.max_allowed_incoming_connections", connections))
        if streams:
            options.append(("grpc.max_concurrent_streams", streams))
        interceptors = [_Authenticate(tokens, frozenset(open_services))] if tokens.demanded else []
        self._server = aio.server(options=options, interceptors=interceptors)
        self._running = False
        self.port = 0

    def add(self, handlers: Sequence[grpc.GenericRpcHandler]) -> None:
        """Serve these, too. Before `start`."""
        self._server.add_generic_rpc_handlers(tuple(handlers))

    @property
    def server(self) -> aio.Server:
        """The server itself, for generated `add_...Servicer_to_server` functions."""
        return self._server

    def bind(self) -> None:
        """Take the port. Raises `StartError`."""
        probe(self._endpoint, self._option)
        host, port = split_address(self._endpoint)
        address = address_of(host or "::", port)  # no host: every interface, as for HTTP
        credentials = self._certificates.grpc_credentials()
        try:
            if credentials is None:
                self.port = self._server.add_insecure_port(address)
            else:
                self.port = self._server.add_secure_port(address, credentials)
        except RuntimeError as error:
            raise StartError(f"cannot listen on {self._endpoint!r} ({self._option}): {error}") from error

    async def start(self) -> None:
        """Serve. After `bind`."""
        await self._server.start()
        self._running = True

    async def stop(self, deadline: float) -> None:
        """Take no new call, let calls finish, and after `deadline` seconds cut them off. Idempotent, safe without start."""
        if self._running:
            self._running = False
            await self._server.stop(deadline)


class _Authenticate(aio.ServerInterceptor):  # type: ignore[misc]  # grpc has no types
    """Refuse every call without an accepted token, whatever its kind."""

    def __init__(self, tokens: Tokens, open_services: frozenset[str]) -> None:
        self._tokens = tokens
        self._open = open_services

    async def intercept_service(
        self, continuation: Callable[[Any], Awaitable[Any]], details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler | None:
        if details.method.split("/")[1] not in self._open:
            sent = next((value for key, value in details.invocation_metadata if key == "authorization"), None)
            fault = self._tokens.fault(sent)
            if fault:
                return _refuse(await continuation(details), fault)
        return await continuation(details)


def _refuse(handler: grpc.RpcMethodHandler | None, fault: str) -> grpc.RpcMethodHandler:
    async def unary(_messages: Any, context: aio.ServicerContext) -> None:
        await context.abort(grpc.StatusCode.UNAUTHENTICATED, fault)

    async def stream(_messages: Any, context: aio.ServicerContext) -> Any:
        await context.abort(grpc.StatusCode.UNAUTHENTICATED, fault)
        yield b""

    # As of a stream, whose messages grpc does not read unless they are asked for.
    if handler is not None and handler.response_streaming:
        return grpc.stream_stream_rpc_method_handler(stream)
    return grpc.stream_unary_rpc_method_handler(unary)
