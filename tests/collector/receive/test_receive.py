"""Good requests over both protocols, refusals that say when to come back, and senders that take their time."""

from __future__ import annotations

import asyncio
import gzip
import time
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any

import grpc
import pytest
import zstandard
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from collector.config.options import Limits
from collector.listen.http import BODY_PIECE
from collector.receive.answers import Answer, RefusedError

from .conftest import METHODS

pytestmark = pytest.mark.anyio
Receiving = Callable[..., AbstractAsyncContextManager[Any]]
GZIP = grpc.Compression.Gzip


def traces(*names: str, bad: int = 0, text: str = "") -> bytes:
    message = ExportTraceServiceRequest()
    spans = message.resource_spans.add().scope_spans.add().spans
    for number, name in enumerate(names, 1):
        span = spans.add(trace_id=number.to_bytes(16, "big"), span_id=number.to_bytes(8, "big"), name=name)
        if text:
            span.attributes.add(key="input.value").value.string_value = text
    for _ in range(bad):
        spans.add(trace_id=b"short", span_id=b"12345678", name="bad")
    return message.SerializeToString()


def logs(text: str) -> bytes:
    message = ExportLogsServiceRequest()
    record = message.resource_logs.add().scope_logs.add().log_records.add(trace_id=b"t" * 16, span_id=b"s" * 8)
    record.body.string_value = text
    return message.SerializeToString()


@pytest.fixture(scope="module")
async def served(receiving: Receiving) -> AsyncIterator[Any]:
    async with receiving(metrics=True) as receiver:
        yield receiver


@pytest.fixture
def receiver(served: Any) -> Any:
    served.kept.clear()
    served.counts.clear()
    served.fails = None
    served.chance.draw = 0.0
    return served


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("identity", traces("a")),
        ("gzip", gzip.compress(traces("a"), mtime=0)),
        ("gzip", gzip.compress(b"", mtime=0) + gzip.compress(traces("a"), mtime=0)),
        ("deflate", zlib.compress(traces("a"))),
        ("deflate", zlib.compress(traces("a"))[2:-4]),
        ("zstd", zstandard.compress(traces("a"))),
        ("GZIP", gzip.compress(traces("a"), mtime=0)),
    ],
    ids=["identity", "gzip", "gzip members", "zlib", "bare deflate", "zstd", "capitals"],
)
async def test_http_takes_each_content_encoding(receiver: Any, encoding: str, body: bytes) -> None:
    response = await receiver.post(body, content_encoding=encoding)
    assert (response.status_code, receiver.kept) == (200, [("traces", "protobuf", traces("a"))])


@pytest.mark.parametrize("compression", list(grpc.Compression), ids=lambda c: c.name)
async def test_grpc_takes_each_compression_and_each_signal(receiver: Any, compression: grpc.Compression) -> None:
    assert await receiver.export(traces("a"), compression=compression) == b""
    assert await receiver.export(logs("b"), "logs", compression=compression) == b""
    assert await receiver.export(b"\x0a\x00", "metrics", compression=compression) == b""
    assert receiver.kept == [
        ("traces", "protobuf", traces("a")),
        ("logs", "protobuf", logs("b")),
        ("metrics", "protobuf", b"\x0a\x00"),
    ]


async def test_a_partial_success_says_how_many_and_which(receiver: Any) -> None:
    body = traces("a", bad=5)
    over_grpc = ExportTraceServiceResponse.FromString(await receiver.export(body)).partial_success
    over_http = ExportTraceServiceResponse.FromString((await receiver.post(body)).content).partial_success
    assert over_grpc == over_http
    assert over_http.rejected_spans == 5
    assert "spans[1]" in over_http.error_message
    assert over_http.error_message.endswith("; and 2 more")
    assert receiver.counts == {"traces accepted": 2, "traces rejected": 10}


async def test_a_request_of_nothing_is_acknowledged_and_kept_nowhere(receiver: Any) -> None:
    assert await receiver.export(b"") == b""
    assert receiver.kept == []


@pytest.mark.parametrize(
    ("refusal", "http", "code", "seconds"),
    [
        (RefusedError(Answer.OVERLOADED, "memory is short", "memory", 7.5), 503, grpc.StatusCode.UNAVAILABLE, 7.5),
        (RefusedError(Answer.BUSY, "too much at once"), 429, grpc.StatusCode.RESOURCE_EXHAUSTED, 1.0),
        (ZeroDivisionError(), 503, grpc.StatusCode.UNAVAILABLE, 5.0),
    ],
    ids=["overloaded", "busy", "our own failure"],
)
async def test_a_refusal_says_when_to_come_back(
    receiver: Any, refusal: Exception, http: int, code: grpc.StatusCode, seconds: float
) -> None:
    receiver.fails = refusal
    response = await receiver.post(traces("a"))
    assert (response.status_code, float(response.headers["retry-after"])) == (http, round(seconds))
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await receiver.export(traces("a"))
    trailing = dict(error.value.trailing_metadata() or ())
    details = trailing["grpc-status-details-bin"]
    assert (
        RetryInfo.FromString(trailing["google.rpc.retryinfo-bin"]).retry_delay.ToTimedelta().total_seconds() == seconds
    )
    for status in (Status.FromString(response.content), Status.FromString(details)):
        info = RetryInfo()
        assert status.code == code.value[0]
        assert status.details[0].Unpack(info)
        assert info.retry_delay.seconds + info.retry_delay.nanos / 1e9 == seconds
    assert error.value.code() == code


async def test_senders_that_are_refused_together_are_told_different_times(receiver: Any) -> None:
    async def told() -> tuple[str, float]:
        receiver.fails = RefusedError(Answer.OVERLOADED, "memory is short", "memory", 5.0)
        response = await receiver.post(traces("a"))
        info = RetryInfo()
        assert Status.FromString(response.content).details[0].Unpack(info)
        return response.headers["retry-after"], info.retry_delay.ToTimedelta().total_seconds()

    answers = []
    for receiver.chance.draw in (0.0, 0.07, 0.12, 0.5, 0.999):
        answers.append(await told())
    assert answers == [("5", 5.0), ("5", 5.35), ("6", 5.6), ("8", 7.5), ("10", 9.995)]
    receiver.fails = RefusedError(Answer.MALFORMED, "no OTLP")
    assert "retry-after" not in (await receiver.post(traces("a"))).headers


async def test_more_at_once_than_the_limit_is_told_to_come_back(receiving: Receiving) -> None:
    async with receiving(Limits(in_flight=1)) as receiver:
        held = asyncio.Event()

        async def keep(*_: Any) -> None:
            await held.wait()

        receiver.admission._accept = keep
        first = asyncio.create_task(receiver.export(traces("a")))
        while receiver.admission._requests == 0:
            await asyncio.sleep(0.001)
        response = await receiver.post(traces("b"))
        assert (response.status_code, response.headers["retry-after"]) == (429, "1")
        held.set()
        assert await first == b""
        assert (await receiver.post(traces("b"))).status_code == 200


async def test_the_bytes_being_admitted_are_bounded_and_given_back(receiving: Receiving) -> None:
    async with receiving(Limits(in_flight_size=1000)) as receiver:
        with receiver.admission.slot() as slot:
            slot.grow(900)
            assert (await receiver.post(traces("a", text="x" * 200))).status_code == 429
            slot.grow(10)
        assert receiver.admission._bytes == 0
        assert (await receiver.post(traces("a", text="x" * 5000))).status_code == 200, "one alone always fits"


async def test_a_closed_admission_refuses_and_says_it_is_stopping(receiving: Receiving) -> None:
    async with receiving() as receiver:
        receiver.admission.close()
        response = await receiver.post(b"{}", encoding="application/json")
        assert (response.status_code, response.json()) == (
            503,
            {
                "code": 14,
                "message": "the collector is stopping",
                "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"}],
            },
        )
        assert receiver.counts == {"traces stopping": 1}


async def test_what_a_pattern_matches_never_reaches_the_journal(receiving: Receiving) -> None:
    async with receiving(redact=(r"sk-[a-z]+",), metrics=True) as receiver:
        await receiver.export(traces("sk-name", text="key sk-secret, ok", bad=1))
        json_body = b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"sk-secret"}}]}]}]}'
        assert (await receiver.post(json_body, "logs", "application/json")).status_code == 200
        metric = b'{"resourceMetrics":[{"resource":{"attributes":[{"key":"k","value":{"stringValue":"sk-secret"}}]}}]}'
        assert (await receiver.post(metric, "metrics", "application/json")).status_code == 200
        assert [(signal, encoding) for signal, encoding, _ in receiver.kept] == [
            ("traces", "protobuf"), ("logs", "protobuf"), ("metrics", "json"),
        ]  # fmt: skip
        assert all(b"sk-secret" not in body and b"[REDACTED]" in body for _, _, body in receiver.kept)
        assert b"sk-name" in receiver.kept[0][2], "names say what a thing is"
        assert receiver.counts["traces rejected"] == 1


async def test_a_body_that_does_not_come_is_not_waited_for(receiving: Receiving) -> None:
    async with receiving(body_timeout=0.2) as receiver:
        reader, writer = await asyncio.open_connection("127.0.0.1", receiver.http_port)
        writer.write(
            b"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-protobuf\r\ncontent-length: 100\r\n\r\nabc"
        )
        answer = await asyncio.wait_for(reader.read(), 5)
        assert answer.startswith(b"HTTP/1.1 408")
        assert receiver.admission._bytes == 0
        writer.close()


async def test_who_announces_and_does_not_send_takes_no_others_room(receiving: Receiving) -> None:
    sent = b"x" * BODY_PIECE
    async with receiving(Limits(in_flight=1, in_flight_size=10 * BODY_PIECE)) as receiver:
        held = [await asyncio.open_connection("127.0.0.1", receiver.http_port) for _ in range(5)]
        for _, writer in held:
            writer.write(b"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-protobuf\r\n")
            writer.write(b"content-length: %d\r\n\r\n" % (5 * BODY_PIECE) + sent)
            await writer.drain()
        while receiver.admission._bytes < 5 * BODY_PIECE:
            await asyncio.sleep(0.001)
        assert (await receiver.post(traces("a"))).status_code == 200
        assert await receiver.export(traces("b")) == b""
        assert (await receiver.post(traces("a", text="x" * 5 * BODY_PIECE))).status_code == 429, "what was sent is held"
        for _, writer in held:
            writer.close()


async def test_calls_that_send_nothing_are_told_to_come_back_but_for_a_few(
    receiving: Receiving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collector.receive.grpc_server._PATIENCE_S", 0.3)
    async with receiving(Limits(in_flight=1, in_flight_size=1), body_timeout=0.6) as receiver:
        method = receiver.channel.stream_unary(METHODS["traces"])
        calls = [method(timeout=10) for _ in range(10)]
        await asyncio.gather(*(call.wait_for_connection() for call in calls))
        assert await receiver.export(traces("a")) == b"", "nobody waits for them"
        codes = [await call.code() for call in calls]
        assert sorted(code.name for code in codes) == ["DEADLINE_EXCEEDED"] * 4 + ["RESOURCE_EXHAUSTED"] * 6
        assert receiver.counts == {"traces accepted": 1, "traces rejected": 0, "traces busy": 6, "traces slow": 4}
        with pytest.raises(grpc.RpcError) as none:
            await method(iter(()), timeout=10)
        assert (none.value.code().name, none.value.details()) == (
            "INVALID_ARGUMENT",
            "expected one message, found none",
        )


async def test_a_header_that_never_ends_is_cut_off(receiving: Receiving) -> None:
    async with receiving(header_timeout=0.3) as receiver:
        reader, writer = await asyncio.open_connection("127.0.0.1", receiver.http_port)
        writer.write(b"POST /v1/traces HTTP/1.1\r\n")
        started = time.monotonic()
        assert await asyncio.wait_for(reader.read(), 5) == b""
        assert time.monotonic() - started < 2
        writer.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", receiver.http_port)
        writer.write(b"POST /v1/traces HTTP/1.1\r\nx-long: " + b"a" * 100_000)
        assert (await asyncio.wait_for(reader.read(), 5)).startswith(b"HTTP/1.1 431")
        writer.close()


async def test_one_connection_too_many_is_told_so(receiving: Receiving) -> None:
    async with receiving(connections=2) as receiver:
        held = [await asyncio.open_connection("127.0.0.1", receiver.http_port) for _ in range(2)]
        assert (await receiver.post(traces("a"))).status_code == 503
        for _, writer in held:
            writer.close()
            await writer.wait_closed()
        await asyncio.sleep(0.05)
        assert (await receiver.post(traces("a"))).status_code == 200


async def test_connections_that_do_not_even_ask_are_cut_off_at_twice_as_many(receiving: Receiving) -> None:
    async with receiving(connections=2) as receiver:
        held = [await asyncio.open_connection("127.0.0.1", receiver.http_port) for _ in range(4)]
        reader, writer = await asyncio.open_connection("127.0.0.1", receiver.http_port)
        with suppress(ConnectionResetError):
            assert await asyncio.wait_for(reader.read(), 5) == b""
        for _, other in [*held, (reader, writer)]:
            other.close()


async def test_a_client_that_goes_away_leaves_nothing_behind(receiving: Receiving) -> None:
    async with receiving() as receiver:
        _, writer = await asyncio.open_connection("127.0.0.1", receiver.http_port)
        writer.write(
            b"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-protobuf\r\ncontent-length: 100\r\n\r\nabc"
        )
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.close()
        await asyncio.sleep(0.05)
        assert (receiver.admission._requests, receiver.admission._bytes, receiver.kept) == (0, 0, [])


async def test_a_chunked_body_is_taken_and_bounded(receiving: Receiving) -> None:
    async with receiving(Limits(message_size=1000)) as receiver:

        async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
            for part in parts:
                yield part

        body = traces("a")
        headers = {"content-type": "application/x-protobuf"}
        good = await receiver.http.post("/v1/traces", content=chunks(body[:5], body[5:]), headers=headers)
        long = await receiver.http.post("/v1/traces", content=chunks(bytes(600), bytes(600)), headers=headers)
        assert (good.status_code, long.status_code, receiver.kept) == (200, 413, [("traces", "protobuf", body)])


def asking(body: bytes, chunked: bool) -> bytes:
    """A request as a client writes it that would rather speak HTTP/2."""
    length = b"transfer-encoding: chunked" if chunked else b"content-length: %d" % len(body)
    framed = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if chunked else body
    return b"\r\n".join(
        (
            b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c",
            b"http2-settings: AAMAAABk\r\ncontent-type: application/x-protobuf",
            length,
            b"",
            framed,
        )
    )


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("cut", [10, 150, 236, 290, 1000])
async def test_a_client_that_asks_for_another_protocol_is_heard_whole_in_this_one(
    receiving: Receiving, chunked: bool, cut: int
) -> None:
    bodies = [traces(name) for name in "abc"]
    async with receiving() as receiver:
        reader, writer = await asyncio.open_connection("127.0.0.1", receiver.http_port)
        sent = b"".join(asking(body, chunked) for body in bodies)
        for piece in (sent[:cut], sent[cut:]):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        for _ in bodies:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
            assert head.startswith(b"HTTP/1.1 200")
            assert b"content-length: 0" in head
        assert receiver.kept == [("traces", "protobuf", body) for body in bodies]
        writer.close()


async def test_a_tunnel_is_refused(receiving: Receiving) -> None:
    async with receiving() as receiver:
        reader, writer = await asyncio.open_connection("127.0.0.1", receiver.http_port)
        writer.write(b"CONNECT localhost:80 HTTP/1.1\r\nhost: localhost\r\n\r\n" + asking(traces("a"), False))
        assert (await asyncio.wait_for(reader.read(), 5)).startswith(b"HTTP/1.1 400")
        assert receiver.kept == []
        writer.close()
