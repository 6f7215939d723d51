"""OTLP to a downstream: one export request sent once, and what the answer means.

Separate from the outbox, which decides what is sent when and how often. The OTLP specification
(https://opentelemetry.io/docs/specs/otlp/) says which answers may be tried again: over gRPC CANCELLED,
DEADLINE_EXCEEDED, ABORTED, OUT_OF_RANGE, UNAVAILABLE, DATA_LOSS, and RESOURCE_EXHAUSTED with a RetryInfo; over HTTP 429,
502, 503 and 504, and a connection that failed. Any other refusal is for good. A partial success is a success.

Of an answer the status decides; its body, which may have no end, is read for no longer than a request may take. A web page is no
success, whatever its status: who gives one is no OTLP endpoint.
"""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import gzip
import os
import ssl
import time
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import grpc
import httpx
import msgspec
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from collector.config.options import Destination
from collector.emit.text import clean

MAX_ANSWER = 1 << 20
MAX_RETRY_AFTER_S = 3600.0
"""Longest wait that a downstream may ask for; what it asks beyond is cut to this."""

_RESPONSES: dict[str, Any] = {
    "traces": ExportTraceServiceResponse,
    "logs": ExportLogsServiceResponse,
    "metrics": ExportMetricsServiceResponse,
}
_METHODS = {
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    "metrics": "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
}
RETRYABLE_CODES = frozenset(
    {
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.OUT_OF_RANGE,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DATA_LOSS,
    }
)
RETRYABLE_STATUSES = frozenset({429, 502, 503, 504})


class RetryableError(Exception):
    """The request was not taken now; it may be sent again, after `after_s` seconds at least where the answer said so."""

    def __init__(self, reason: str, message: str, after_s: float = 0.0) -> None:
        super().__init__(message)
        self.reason = reason
        self.after_s = min(after_s, MAX_RETRY_AFTER_S)


class RefusedError(Exception):
    """The request will never be taken. `reason` is a status, of few values."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Sent(msgspec.Struct, frozen=True):
    """The request was taken. `rejected`: items of it that were not (partial success), and why."""

    rejected: int = 0
    message: str = ""


class Sink(Protocol):
    """Where one destination's entries go."""

    async def send(self, kind: str, payload: bytes, name: str = "") -> Sent:
        """Deliver once. Raises RetryableError or RefusedError."""

    async def stop(self) -> None:
        """Close connections."""


def make_sink(destination: Destination) -> Sink:
    """Return the sink for an OTLP destination. Raises OSError for a certificate or token file that cannot be read."""
    return GrpcSink(destination) if destination.protocol == "grpc" else HttpSink(destination)


class GrpcSink:
    """OTLP/gRPC. The channel connects when the first request is sent, and again by itself."""

    def __init__(self, destination: Destination) -> None:
        self._destination = destination
        self._credentials = channel_credentials(destination)
        self._channel: grpc.aio.Channel | None = None

    async def send(self, kind: str, payload: bytes, name: str = "") -> Sent:
        """Deliver one encoded export request."""
        if self._channel is None:
            self._channel = self._open()
        call = self._channel.unary_unary(_METHODS[kind])  # no serialiser: bytes go as they are
        try:
            answer: bytes = await call(
                payload, timeout=self._destination.timeout, metadata=tuple(request_headers(self._destination).items())
            )
        except grpc.aio.AioRpcError as error:
            raise _grpc_error(error) from None
        return _partial(kind, answer, len(payload))

    async def stop(self) -> None:
        """Close the channel."""
        if self._channel is not None:
            await self._channel.close()
            self._channel = None

    def _open(self) -> grpc.aio.Channel:
        gzipped = self._destination.compression == "gzip"
        compression = grpc.Compression.Gzip if gzipped else grpc.Compression.NoCompression
        target = target_of(self._destination.endpoint)
        options = [("grpc.max_receive_message_length", MAX_ANSWER), ("grpc.max_reconnect_backoff_ms", 5000)]
        if self._credentials is None:
            return grpc.aio.insecure_channel(target, options, compression)
        return grpc.aio.secure_channel(target, self._credentials, options, compression)


class HttpSink:
    """OTLP/HTTP with protobuf. The signal's path (`/v1/traces`) is added unless the endpoint ends in it."""

    def __init__(self, destination: Destination) -> None:
        self._destination = destination
        context = _ssl_context(destination) if is_secure(destination.endpoint) else False
        self._client = httpx.AsyncClient(verify=context, timeout=destination.timeout, follow_redirects=False)

    async def send(self, kind: str, payload: bytes, name: str = "") -> Sent:
        """Deliver one encoded export request."""
        headers, size = {**request_headers(self._destination), "content-type": "application/x-protobuf"}, len(payload)
        if self._destination.compression == "gzip":
            headers["content-encoding"] = "gzip"
            payload = await asyncio.to_thread(gzip.compress, payload, 1, mtime=0)
        request = self._client.build_request("POST", self._url(kind), content=payload, headers=headers)
        end = asyncio.get_running_loop().time() + self._destination.timeout
        try:
            async with asyncio.timeout_at(end):  # httpx's own timeouts are of one read, and a peer can dribble
                response = await self._client.send(request, stream=True)
            try:
                answer = await _bounded(response, end)
            finally:
                await response.aclose()
        except TimeoutError:
            raise RetryableError("connection", f"no answer within {self._destination.timeout:g} s") from None
        except (httpx.TransportError, ssl.SSLError) as error:
            raise RetryableError("connection", f"{type(error).__name__}: {error}") from None
        if response.is_success:
            if is_page(response.headers.get("content-type")):
                raise RefusedError("page", f"http {response.status_code} with a web page: expected an OTLP endpoint")
            return _partial(kind, answer, size)
        message = f"http {response.status_code}: {_message(answer)}"
        if response.status_code in RETRYABLE_STATUSES:
            raise RetryableError(str(response.status_code), message, retry_after(response.headers.get("retry-after")))
        raise RefusedError(str(response.status_code), message)

    async def stop(self) -> None:
        """Close connections."""
        await self._client.aclose()

    def _url(self, kind: str) -> str:
        base = self._destination.endpoint.rstrip("/")
        path = f"/v1/{kind}"
        return base if base.endswith(path) else f"{base}{path}"


def token(destination: Destination) -> str:
    """Return the bearer token as its file or environment variable has it now, or "". Raises OSError."""
    if destination.token_file:
        return Path(destination.token_file).read_text().strip()
    return os.environ.get(destination.token_env, "").strip() if destination.token_env else ""


def request_headers(destination: Destination) -> dict[str, str]:
    """Return the headers of a request, in lower case, the token as it is now. Raises RetryableError for an unusable token."""
    headers = {key.lower(): value for key, value in destination.headers.items()}
    try:
        bearer = token(destination)
    except OSError as error:
        raise RetryableError("token", f"token file cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise RetryableError("token", "token file cannot be read: it is no text") from None
    if not (bearer.isascii() and bearer.isprintable()):  # the clients would say the whole header in their fault
        raise RetryableError("token", "expected one token, on one line, found more or other characters")
    if bearer:
        headers["authorization"] = f"Bearer {bearer}"
    return headers


def is_secure(endpoint: str) -> bool:
    """Whether an endpoint is to be reached over TLS."""
    return endpoint.startswith("https://")


def target_of(endpoint: str) -> str:
    """Return the gRPC target of an endpoint that is a URL or `host:port`."""
    return urlsplit(endpoint).netloc if "://" in endpoint else endpoint


def channel_credentials(destination: Destination) -> grpc.ChannelCredentials | None:
    """Return what a gRPC channel needs for TLS, or None for plain text. Raises OSError for an unreadable file."""
    if not is_secure(destination.endpoint):
        return None

    def read(path: str) -> bytes | None:
        return Path(path).read_bytes() if path else None

    return grpc.ssl_channel_credentials(
        read(destination.ca_file), read(destination.key_file), read(destination.cert_file)
    )


def _ssl_context(destination: Destination) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=destination.ca_file or None)
    if destination.cert_file:
        context.load_cert_chain(destination.cert_file, destination.key_file or None)
    return context


def is_page(content_type: str | None) -> bool:
    """Whether an answer is a web page."""
    return (content_type or "").partition(";")[0].strip().lower() in {"text/html", "application/xhtml+xml"}


async def _bounded(response: httpx.Response, end: float) -> bytes:
    """The body of an answer, as far as it can be read by a time of the loop: what the answer is, its status has said."""
    answer = bytearray()
    with contextlib.suppress(httpx.DecodingError, TimeoutError):
        async with asyncio.timeout_at(end):
            async for chunk in response.aiter_bytes():
                answer += chunk
                if len(answer) > MAX_ANSWER:
                    break
    return bytes(answer[:MAX_ANSWER])


def _partial(kind: str, answer: bytes, size: int) -> Sent:
    """What a successful answer to a request of `size` bytes says was rejected; one that cannot be read says nothing."""
    try:
        partial = _RESPONSES[kind].FromString(answer).partial_success
    except DecodeError:
        return Sent()
    counts = [value for field, value in partial.ListFields() if field.name.startswith("rejected_")]
    return Sent(min(max(sum(counts), 0), size), clean(partial.error_message, 500))


def _message(answer: bytes) -> str:
    """The text of a refusal: a google.rpc.Status by the specification, else whatever it is."""
    with contextlib.suppress(DecodeError):
        status = Status.FromString(answer)
        if status.message:
            return clean(status.message, 500)
    return clean(answer[:500].decode("utf-8", "replace"), 500)


def retry_after(value: str | None) -> float:
    """Return the seconds of a Retry-After header, given as seconds or as a date; 0 where it is absent or unreadable."""
    if not value:
        return 0.0
    with contextlib.suppress(ValueError):
        return float(min(max(int(value), 0), MAX_RETRY_AFTER_S))
    with contextlib.suppress(ValueError, TypeError, OverflowError):
        return max(email.utils.parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    return 0.0


def _grpc_error(error: grpc.aio.AioRpcError) -> RetryableError | RefusedError:
    code = error.code()
    reason = code.name.lower()
    message = f"grpc {code.name}: {clean(error.details() or '', 500)}"
    delay = _retry_delay(error)
    if code in RETRYABLE_CODES or (code is grpc.StatusCode.RESOURCE_EXHAUSTED and delay is not None):
        return RetryableError(reason, message, delay or 0.0)
    return RefusedError(reason, message)


def _retry_delay(error: grpc.aio.AioRpcError) -> float | None:
    """The RetryInfo of an answer, in seconds, or None."""
    for key, value in error.trailing_metadata() or ():
        if key != "grpc-status-details-bin":
            continue
        with contextlib.suppress(DecodeError):
            for detail in Status.FromString(value).details:
                info = RetryInfo()
                if detail.Unpack(info):
                    return float(info.retry_delay.seconds + info.retry_delay.nanos / 1e9)
    return None
