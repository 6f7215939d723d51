"""Every way we know of getting a request wrong, over both protocols: the status, what was kept, and the next good request served."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple

import grpc
import pytest
import zstandard
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from collector.config.options import Limits

pytestmark = pytest.mark.anyio

PROTOBUF, JSON = "application/x-protobuf", "application/json"
TRACE, SPAN = bytes(range(1, 17)), bytes(range(1, 9))
LIMITS = Limits(message_size=64 << 10, decompressed_size=128 << 10)


def request(*ids: tuple[bytes, bytes], name: str = "work", parent: bytes = b"") -> bytes:
    message = ExportTraceServiceRequest()
    spans = message.resource_spans.add().scope_spans.add().spans
    for trace_id, span_id in ids or ((TRACE, SPAN),):
        spans.add(
            trace_id=trace_id,
            span_id=span_id,
            parent_span_id=parent,
            name=name,
            start_time_unix_nano=1,
            end_time_unix_nano=2,
        )
    return message.SerializeToString()


def document(**span: Any) -> bytes:
    whole = {
        "traceId": TRACE.hex(),
        "spanId": SPAN.hex(),
        "name": "work",
        "startTimeUnixNano": "1",
        "endTimeUnixNano": "2",
    } | span
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [whole]}]}]}).encode()


def deep(levels: int) -> bytes:
    """An attribute that is an array in an array in an array..."""
    value = b"\x0a\x01x"
    for _ in range(levels):
        value = b"\x0a" + varint(len(value)) + value
        value = b"\x2a" + varint(len(value)) + value
    pair = b"\x0a\x01k" + b"\x12" + varint(len(value)) + value
    span = b"\x0a\x10" + TRACE + b"\x12\x08" + SPAN + b"\x4a" + varint(len(pair)) + pair
    scope = b"\x12" + varint(len(span)) + span
    resource = b"\x12" + varint(len(scope)) + scope
    return b"\x0a" + varint(len(resource)) + resource


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def logs_with_bad_text() -> bytes:
    message = ExportLogsServiceRequest()
    record = message.resource_logs.add().scope_logs.add().log_records.add()
    record.body.string_value = "@@@@"
    return message.SerializeToString().replace(b"@@@@", b"\xff\xfe\xfd\xfc")


GOOD, GOOD_JSON = request(), document()


class Post(NamedTuple):
    """One wrong HTTP request. `status` is the answer; `kept` and `rejected` are the effect."""

    name: str
    status: int
    body: bytes = GOOD
    media: str = PROTOBUF
    path: str = "/v1/traces"
    method: str = "POST"
    headers: dict[str, str] = {}  # noqa: RUF012  # never changed
    kept: int = 0
    rejected: int = 0


POSTS = [
    Post("text instead of protobuf", 400, b"hello"),
    Post("JSON sent as protobuf", 400, GOOD_JSON),
    Post("protobuf sent as JSON", 400, GOOD, JSON),
    Post("protobuf cut off", 400, GOOD[:-3]),
    Post("length that points beyond the end", 400, b"\x0a\xff\x7f"),
    Post("varint without an end", 400, b"\xff" * 12),
    Post("wire type that does not exist", 400, b"\x0f\x01"),
    Post("group that is never closed", 400, b"\x0b"),
    Post("JSON cut off", 400, GOOD_JSON[:-4], JSON),
    Post("JSON of nothing", 400, b"", JSON),
    Post("JSON list", 400, b"[]", JSON),
    Post("JSON text", 400, b'"spans"', JSON),
    Post("JSON null", 400, b"null", JSON),
    Post("JSON with spans that are no list", 400, b'{"resourceSpans": {"scopeSpans": 3}}', JSON),
    Post("JSON nested ten thousand deep", 400, b'{"resourceSpans":' + b"[" * 10_000, JSON),
    Post("JSON in UTF-16", 400, GOOD_JSON.decode().encode("utf-16"), JSON),
    Post("gzip that is none", 400, GOOD, headers={"content-encoding": "gzip"}),
    Post("gzip cut off", 400, gzip.compress(GOOD)[:-6], headers={"content-encoding": "gzip"}),
    Post("gzip with a wrong checksum", 400, gzip.compress(GOOD)[:-8] + bytes(8), headers={"content-encoding": "gzip"}),
    Post("gzip and then more", 400, gzip.compress(GOOD) + b"more", headers={"content-encoding": "gzip"}),
    Post("gzip of a hundred empty members", 400, gzip.compress(b"") * 100, headers={"content-encoding": "gzip"}),
    Post("deflate that is none", 400, b"\x00\x01\x02", headers={"content-encoding": "deflate"}),
    Post("zstd cut off", 400, zstandard.compress(GOOD)[:-3], headers={"content-encoding": "zstd"}),
    Post("zstd of nothing", 400, b"", headers={"content-encoding": "zstd"}),
    Post("compressed twice, said once", 400, gzip.compress(gzip.compress(GOOD)), headers={"content-encoding": "gzip"}),
    Post("gzip bomb", 413, gzip.compress(bytes(50 << 20)), headers={"content-encoding": "gzip"}),
    Post("deflate bomb", 413, zlib.compress(bytes(50 << 20)), headers={"content-encoding": "deflate"}),
    Post("zstd bomb", 413, zstandard.compress(bytes(200 << 20)), headers={"content-encoding": "zstd"}),
    Post("body over the limit", 413, bytes((64 << 10) + 1)),
    Post("encoding nobody knows", 415, headers={"content-encoding": "br"}),
    Post("two encodings", 415, headers={"content-encoding": "gzip, gzip"}),
    Post("content type of a form", 415, media="application/x-www-form-urlencoded"),
    Post("no content type", 415, media=""),
    Post("content type of gRPC", 415, media="application/grpc"),
    Post("GET", 405, b"", method="GET"),
    Post("PUT", 405, method="PUT"),
    Post("path that is no signal", 404, path="/v1/profiles"),
    Post("path with a slash behind", 404, path="/v1/traces/"),
    Post("path of nothing", 404, path="/"),
    Post("metrics that nobody takes", 404, path="/v1/metrics"),
    Post("span without a trace id", 200, request((b"", SPAN)), rejected=1),
    Post("span id of nine bytes", 200, request((TRACE, b"123456789")), rejected=1),
    Post("trace id of zeros", 200, request((bytes(16), SPAN)), rejected=1),
    Post("one bad span of three", 200, request((TRACE, SPAN), (TRACE, b""), (TRACE, b"12345678")), kept=2, rejected=1),
    Post("JSON with an id that is no hex", 200, document(traceId="z" * 32), JSON, rejected=1),
    Post("JSON with an odd id", 200, document(spanId="abc"), JSON, rejected=1),
]


class Call(NamedTuple):
    """One wrong gRPC call."""

    name: str
    status: grpc.StatusCode
    body: bytes = GOOD
    method: str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
    compression: grpc.Compression = grpc.Compression.NoCompression
    kept: int = 0
    rejected: int = 0


INVALID, NONE = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNIMPLEMENTED
CALLS = [
    Call("text instead of protobuf", INVALID, b"hello"),
    Call("JSON", INVALID, GOOD_JSON),
    Call("protobuf cut off", INVALID, GOOD[:-3]),
    Call("length that points beyond the end", INVALID, b"\x0a\xff\x7f"),
    Call("varint without an end", INVALID, b"\xff" * 12),
    Call("gzip inside", INVALID, gzip.compress(GOOD)),
    Call("message over the limit", grpc.StatusCode.RESOURCE_EXHAUSTED, bytes((64 << 10) + 1)),
    Call("gzip bomb", grpc.StatusCode.RESOURCE_EXHAUSTED, bytes(50 << 20), compression=grpc.Compression.Gzip),
    Call("deflate bomb", grpc.StatusCode.RESOURCE_EXHAUSTED, bytes(50 << 20), compression=grpc.Compression.Deflate),
    Call("metrics that nobody takes", NONE, b"", "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"),
    Call(
        "service that does not exist", NONE, GOOD, "/opentelemetry.proto.collector.profiles.v1.ProfilesService/Export"
    ),
    Call("method that does not exist", NONE, GOOD, "/opentelemetry.proto.collector.trace.v1.TraceService/Import"),
    Call("span without a trace id", grpc.StatusCode.OK, request((b"", SPAN)), rejected=1),
    Call("trace id of zeros", grpc.StatusCode.OK, request((bytes(16), SPAN)), rejected=1),
    Call(
        "one bad span of three",
        grpc.StatusCode.OK,
        request((TRACE, SPAN), (TRACE, b""), (TRACE, b"12345678")),
        kept=2,
        rejected=1,
    ),
]


@pytest.fixture(scope="module")
async def served(receiving: Callable[..., AbstractAsyncContextManager[Any]]) -> AsyncIterator[Any]:
    async with receiving(LIMITS) as receiver:
        yield receiver


@pytest.fixture
def receiver(served: Any) -> Any:
    """The one receiver of this module, all its tests through, with nothing kept and nothing counted."""
    served.kept.clear()
    served.counts.clear()
    return served


@pytest.mark.parametrize("post", POSTS, ids=lambda post: post.name)
async def test_a_wrong_http_request_gets_its_status_and_the_next_good_one_is_served(receiver: Any, post: Post) -> None:
    headers = {"content-type": post.media, **post.headers} if post.media else post.headers
    response = await receiver.http.request(post.method, post.path, content=post.body, headers=headers)
    assert response.status_code == post.status, response.content
    if post.status != 200:
        protobuf = post.media == PROTOBUF
        assert response.headers["content-type"] == (PROTOBUF if protobuf else JSON)
        message = Status.FromString(response.content).message if protobuf else response.json()["message"]
        assert len(message) > 10
        assert "\n" not in message
        assert receiver.kept == []
    assert (receiver.counts.get("traces accepted", 0), receiver.counts.get("traces rejected", 0)) == (
        post.kept,
        post.rejected,
    )
    assert len(receiver.kept) == (1 if post.kept else 0)
    receiver.kept.clear()
    assert ((await receiver.post(GOOD)).status_code, receiver.kept) == (200, [("traces", "protobuf", GOOD)])


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
async def test_a_wrong_grpc_call_gets_its_status_and_the_next_good_one_is_served(receiver: Any, call: Call) -> None:
    status, response = grpc.StatusCode.OK, b""
    try:
        response = await receiver.channel.unary_unary(call.method)(call.body, compression=call.compression)
    except grpc.aio.AioRpcError as error:
        status = error.code()
    assert status == call.status
    assert ExportTraceServiceResponse.FromString(response).partial_success.rejected_spans == call.rejected
    assert receiver.counts.get("traces accepted", 0) == call.kept
    receiver.kept.clear()
    assert (await receiver.export(GOOD), receiver.kept) == (b"", [("traces", "protobuf", GOOD)])


@pytest.mark.parametrize(
    ("body", "media", "kept"),
    [
        (b"", PROTOBUF, 0),
        (b"{}", JSON, 0),
        (GOOD + b"\xfa\x3f\x01x", PROTOBUF, 1),
        (document(traceId=TRACE.hex().upper()), JSON, 1),
        (document(kind="SPAN_KIND_CLIENT", fieldOfTomorrow=[1, {"a": 2}]), JSON, 1),
        (document(startTimeUnixNano=1), JSON, 1),
        (document(name=""), JSON, 1),
        (request(name="\x00\u202e<script>"), PROTOBUF, 1),
    ],
    ids=[
        "empty",
        "empty json",
        "unknown field",
        "upper case",
        "unknown json field",
        "number",
        "no name",
        "hostile name",
    ],
)
async def test_what_the_specification_allows_is_accepted(receiver: Any, body: bytes, media: str, kept: int) -> None:
    response = await receiver.http.post("/v1/traces", content=body, headers={"content-type": media + "; charset=utf-8"})
    assert (response.status_code, response.content, len(receiver.kept)) == (
        200,
        b"" if media == PROTOBUF else b"{}",
        kept,
    )
    assert response.headers["content-type"] == media


async def test_an_attribute_of_any_depth_does_not_stop_the_service(receiver: Any) -> None:
    for levels in (10, 90, 500):
        response = await receiver.post(deep(levels))
        assert response.status_code in {200, 400}
    assert (await receiver.post(GOOD)).status_code == 200


async def test_log_text_that_is_no_utf8_does_not_stop_the_service(receiver: Any) -> None:
    response = await receiver.post(logs_with_bad_text(), "logs")
    assert response.status_code in {200, 400}
    assert (await receiver.post(GOOD)).status_code == 200
