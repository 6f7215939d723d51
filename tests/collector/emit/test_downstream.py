from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)
from opentelemetry.sdk.metrics.export import MetricsData

from collector.config.options import Destination
from collector.emit.downstream import RefusedError, RetryableError, Sent, make_sink, retry_after
from collector.emit.otlp_metrics import MetricsPush
from tests.collector.emit.receiver import Answer, Receiver, free_port, grpc_receiver, http_receiver
from tests.collector.emit.test_otlp_metrics import reader, rows

SERVERS: dict[str, Callable[..., AbstractContextManager[int]]] = {"grpc": grpc_receiver, "http": http_receiver}
PATHS = {
    "grpc": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "http": "/v1/traces",
}
Code = grpc.StatusCode


def send(destination: Destination, payload: bytes = b"\x0a\x00", kind: str = "traces") -> Sent:
    async def once() -> Sent:
        sink = make_sink(destination)
        try:
            return await sink.send(kind, payload)
        finally:
            await sink.stop()

    return asyncio.run(once())


@pytest.fixture(params=["grpc", "http"])
def protocol(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
def destination(protocol: Any, receiver: Receiver) -> Iterator[Destination]:
    with SERVERS[protocol](receiver) as port:
        yield Destination(endpoint=f"http://127.0.0.1:{port}", protocol=protocol, headers={"X-Team": "a"})


def test_a_request_arrives_as_it_was_with_headers_token_and_path(
    destination: Destination, receiver: Receiver, protocol: str, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("s3cret\n")
    with_token = Destination(
        endpoint=destination.endpoint, protocol=destination.protocol, headers={"X-Team": "a"},
        token_file=str(tmp_path / "token"),
    )  # fmt: skip
    assert send(with_token, b"\x0a\x00" * 1000) == Sent()
    (got,) = receiver.got
    assert (got.path, got.body) == (PATHS[protocol], b"\x0a\x00" * 1000)
    assert got.headers["x-team"] == "a"
    assert got.headers["authorization"] == "Bearer s3cret"
    if protocol == "http":
        assert (got.headers["content-type"], got.headers["content-encoding"]) == ("application/x-protobuf", "gzip")


def test_a_partial_success_is_a_success_that_says_how_many_were_not_taken(
    destination: Destination, receiver: Receiver
) -> None:
    partial = ExportTracePartialSuccess(rejected_spans=3, error_message="bad\nids")
    receiver.answers = [Answer(body=ExportTraceServiceResponse(partial_success=partial).SerializeToString())]
    assert send(destination, b"\x0a\x00" * 2) == Sent(3, "bad\ufffdids")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer(429, after=7), ("retry", "429", 7.0)),
        (Answer(503, Status(message="busy").SerializeToString()), ("retry", "503", 0.0)),
        (Answer(502), ("retry", "502", 0.0)),
        (Answer(504), ("retry", "504", 0.0)),
        (Answer(503, after=10**9), ("retry", "503", 3600.0)),
        (Answer(400), ("refused", "400", 0.0)),
        (Answer(401), ("refused", "401", 0.0)),
        (Answer(413), ("refused", "413", 0.0)),
        (Answer(500), ("refused", "500", 0.0)),
        (Answer(302), ("refused", "302", 0.0)),
    ],
)
def test_http_answers_mean_what_the_specification_says(
    answer: Answer, expected: tuple[str, str, float], receiver: Receiver
) -> None:
    receiver.answers = [answer]
    with http_receiver(receiver) as port:
        assert outcome(Destination(endpoint=f"http://127.0.0.1:{port}", protocol="http")) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer(Code.UNAVAILABLE), ("retry", "unavailable", 0.0)),
        (Answer(Code.UNAVAILABLE, after=1.5), ("retry", "unavailable", 1.5)),
        (Answer(Code.RESOURCE_EXHAUSTED, after=2), ("retry", "resource_exhausted", 2.0)),
        (Answer(Code.RESOURCE_EXHAUSTED), ("refused", "resource_exhausted", 0.0)),
        (Answer(Code.ABORTED), ("retry", "aborted", 0.0)),
        (Answer(Code.OUT_OF_RANGE), ("retry", "out_of_range", 0.0)),
        (Answer(Code.DATA_LOSS), ("retry", "data_loss", 0.0)),
        (Answer(Code.CANCELLED), ("retry", "cancelled", 0.0)),
        (Answer(Code.DEADLINE_EXCEEDED), ("retry", "deadline_exceeded", 0.0)),
        (Answer(Code.INVALID_ARGUMENT), ("refused", "invalid_argument", 0.0)),
        (Answer(Code.UNAUTHENTICATED), ("refused", "unauthenticated", 0.0)),
        (Answer(Code.UNIMPLEMENTED), ("refused", "unimplemented", 0.0)),
        (Answer(Code.INTERNAL), ("refused", "internal", 0.0)),
    ],
)
def test_grpc_answers_mean_what_the_specification_says(
    answer: Answer, expected: tuple[str, str, float], receiver: Receiver
) -> None:
    receiver.answers = [answer]
    with grpc_receiver(receiver) as port:
        assert outcome(Destination(endpoint=f"127.0.0.1:{port}")) == expected


def outcome(destination: Destination) -> tuple[str, str, float]:
    try:
        send(destination)
    except RetryableError as error:
        return ("retry", error.reason, error.after_s)
    except RefusedError as error:
        return ("refused", error.reason, 0.0)
    return ("sent", "", 0.0)


def test_nobody_listening_is_retryable(protocol: Any) -> None:
    gone = Destination(endpoint=f"http://127.0.0.1:{free_port()}", protocol=protocol, timeout=2.0)
    kind, reason, _ = outcome(gone)
    assert (kind, reason) == ("retry", "unavailable" if protocol == "grpc" else "connection")


@pytest.mark.parametrize(("value", "seconds"), [("7", 7), ("-5", 0), ("soon", 0), (None, 0), ("9" * 400, 3600)])
def test_retry_after_is_read_as_seconds(value: str | None, seconds: float) -> None:
    assert retry_after(value) == seconds


@pytest.mark.parametrize(("ahead", "low", "high"), [(60, 30, 60), (-60, 0, 0)])
def test_retry_after_is_read_as_a_date(ahead: int, low: float, high: float) -> None:
    assert low <= retry_after(formatdate(time.time() + ahead, usegmt=True)) <= high


def test_an_unreadable_token_file_is_retryable_and_its_content_unsaid(tmp_path: Path, protocol: Any) -> None:
    missing = Destination(endpoint="http://127.0.0.1:1", protocol=protocol, token_file=str(tmp_path / "none"))
    assert outcome(missing) == ("retry", "token", 0.0)


@pytest.mark.parametrize("content", [b"s3cr3t\nother\n", "s3cr\u00e9t".encode(), b"s3cr\xfft", b"s3cr\x00t"])
def test_a_token_that_no_header_can_carry_is_retryable_and_unsaid(
    tmp_path: Path, protocol: Any, content: bytes, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "token").write_bytes(content)
    destination = Destination(
        endpoint=f"http://127.0.0.1:{free_port()}", protocol=protocol, token_file=str(tmp_path / "token")
    )
    with pytest.raises(RetryableError) as caught:
        send(destination)
    assert caught.value.reason == "token"
    assert not MetricsPush(lambda: MetricsData([]), destination, 60.0).push()
    assert "metrics not pushed" in caplog.text
    assert "s3cr" not in f"{caught.value} {caplog.text} {capfd.readouterr()}"


def test_a_success_is_one_also_where_its_body_cannot_be_read() -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-encoding", "gzip")
            self.send_header("content-length", "7")
            self.end_headers()
            self.wfile.write(b"garbage")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        assert send(Destination(endpoint=f"http://127.0.0.1:{server.server_port}", protocol="http")) == Sent()
        thread.join(5)


@contextmanager
def raw_receiver(head: bytes, piece: bytes, pause_s: float = 0.05) -> Iterator[Destination]:
    """A server that answers with `head`, and then with `piece` for ever."""
    done = threading.Event()

    def answer(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection, suppress(OSError):
            connection.recv(65536)
            connection.sendall(head)
            while piece and not done.wait(pause_s):
                connection.sendall(piece)
            done.wait(10)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer, args=(server,))
        thread.start()
        yield Destination(endpoint=f"http://127.0.0.1:{server.getsockname()[1]}", protocol="http", timeout=0.5)
        done.set()
        thread.join(10)


OK = b"HTTP/1.1 200 OK\r\n"
PAGE = OK + b"content-type: text/html; charset=utf-8\r\ncontent-length: 6\r\n\r\n<html>"


@pytest.mark.parametrize(
    ("head", "piece", "expected"),
    [
        (OK, b"x: 1\r\n", ("retry", "connection", 0.0)),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n", ("retry", "connection", 0.0)),
        (OK + b"content-length: 9999\r\n\r\n", b"\n", ("sent", "", 0.0)),
        (OK + b"transfer-encoding: chunked\r\n\r\n", b"1\r\n\n\r\n", ("sent", "", 0.0)),
        (b"HTTP/1.1 503 Busy\r\ncontent-length: 9999\r\n\r\n", b"\n", ("retry", "503", 0.0)),
        (PAGE, b"", ("refused", "page", 0.0)),
    ],
    ids=["head", "continue", "body", "chunks", "refusal", "page"],
)
def test_an_answer_without_end_takes_no_longer_than_a_request_may_and_a_page_is_none(
    head: bytes, piece: bytes, expected: tuple[str, str, float]
) -> None:
    with raw_receiver(head, piece) as destination:
        started = time.monotonic()
        assert outcome(destination) == expected
        assert time.monotonic() - started < 3


@pytest.mark.parametrize(
    ("head", "piece", "taken"),
    [
        (OK + b"transfer-encoding: chunked\r\n\r\n", b"10000\r\n" + b"x" * 65536 + b"\r\n", True),
        (PAGE, b"", False),
        (b"HTTP/1.1 302 Found\r\nlocation: /login\r\ncontent-length: 0\r\n\r\n", b"", False),
    ],
    ids=["endless", "page", "redirection"],
)
def test_a_push_leaves_the_body_of_an_answer_and_takes_no_page_for_a_success(
    head: bytes, piece: bytes, taken: bool
) -> None:
    with raw_receiver(head, piece, 0.001) as destination:
        assert MetricsPush(reader(rows()), destination, 60.0).push() is taken


@pytest.mark.parametrize(("rejected", "counted"), [(-5, 0), (2**63 - 1, 2)])
def test_no_more_is_rejected_than_was_sent(
    rejected: int, counted: int, destination: Destination, receiver: Receiver
) -> None:
    partial = ExportTracePartialSuccess(rejected_spans=rejected)
    receiver.answers = [Answer(body=ExportTraceServiceResponse(partial_success=partial).SerializeToString())]
    assert send(destination, b"\x0a\x00") == Sent(counted)


def test_an_endpoint_that_has_the_signals_path_keeps_it(receiver: Receiver) -> None:
    with http_receiver(receiver) as port:
        send(Destination(endpoint=f"http://127.0.0.1:{port}/otlp/v1/logs", protocol="http"), kind="logs")
        send(Destination(endpoint=f"http://127.0.0.1:{port}/otlp/", protocol="http"), kind="metrics")
    assert [got.path for got in receiver.got] == ["/otlp/v1/logs", "/otlp/v1/metrics"]
