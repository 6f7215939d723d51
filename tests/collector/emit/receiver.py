"""A downstream OTLP receiver over real sockets, gRPC and HTTP, that answers as it is told and can go away and come back."""

from __future__ import annotations

import gzip
import socket
import ssl
import threading
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status


class Got(NamedTuple):
    """One request as it came: `path` is the HTTP path or the gRPC method."""

    path: str
    body: bytes
    headers: dict[str, str]


class Answer(NamedTuple):
    """HTTP status or gRPC code; `after` seconds in Retry-After or RetryInfo."""

    status: Any = 200
    body: bytes = b""
    after: float | None = None


class Receiver:
    """Keeps what it got. `answers` are given in turn, then everything is taken."""

    def __init__(self) -> None:
        self.got: list[Got] = []
        self.answers: list[Answer] = []
        self._lock = threading.Lock()

    def take(self, got: Got) -> Answer:
        with self._lock:
            self.got.append(got)
            return self.answers.pop(0) if self.answers else Answer()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def http_receiver(receiver: Receiver, port: int = 0, context: ssl.SSLContext | None = None) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            headers = {key.lower(): value for key, value in self.headers.items()}
            answer = receiver.take(Got(self.path, body, headers))
            self.send_response(answer.status)
            self.send_header("content-length", str(len(answer.body)))
            if answer.after is not None:
                self.send_header("retry-after", f"{answer.after:.0f}")
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    connections: list[socket.socket] = []

    class Server(ThreadingHTTPServer):
        daemon_threads = False
        allow_reuse_address = True

        def get_request(self) -> tuple[socket.socket, Any]:
            connection, address = super().get_request()
            connections.append(connection)
            return connection, address

        def handle_error(self, *_: object) -> None:
            """A client that goes away is no fault here."""

    server = Server(("127.0.0.1", port), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        server.server_close()
        thread.join()


@contextmanager
def grpc_receiver(
    receiver: Receiver, port: int = 0, credentials: grpc.ServerCredentials | None = None
) -> Iterator[int]:
    class Handlers(grpc.GenericRpcHandler):  # type: ignore[misc]
        def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
            def export(request: bytes, context: grpc.ServicerContext) -> bytes:
                headers = {key: str(value) for key, value in context.invocation_metadata()}
                answer = receiver.take(Got(details.method, request, headers))
                if answer.status == 200:
                    return bytes(answer.body)
                if answer.after is not None:
                    context.set_trailing_metadata((("grpc-status-details-bin", _retry_info(answer)),))
                context.abort(answer.status, "not now")
                raise AssertionError

            return grpc.unary_unary_rpc_method_handler(export)

    server = grpc.server(futures.ThreadPoolExecutor(4), [Handlers()], options=[("grpc.so_reuseport", 0)])
    address = f"127.0.0.1:{port}"
    bound = server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
    server.start()
    try:
        yield bound
    finally:
        server.stop(0).wait()


def _retry_info(answer: Answer) -> bytes:
    detail = AnyMessage()
    nanos = round((answer.after or 0) * 1e9)
    detail.Pack(RetryInfo(retry_delay=Duration(seconds=nanos // 10**9, nanos=nanos % 10**9)))
    return bytes(Status(code=answer.status.value[0], details=[detail]).SerializeToString())
