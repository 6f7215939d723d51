"""What a sender is told when a request is not accepted: the one table of answers, with its status on both protocols.

Separate from the servers because both answer from it, and because the answers table of docs/operations.md is checked against it.

Rules:
- an answer is permanent (sending the same again cannot help) or retryable, as the OTLP specification tells the two apart: on gRPC
  UNAVAILABLE, and RESOURCE_EXHAUSTED with a RetryInfo; on HTTP 429 and 503, with Retry-After;
- a retryable answer always says after how many seconds to come back;
- a failure of our own is retryable: what was not accepted must not be lost.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import grpc

from collector.otlp.response import Encoding, status_body


class _Row(NamedTuple):
    http: int
    grpc: grpc.StatusCode
    retryable: bool
    when: str
    advice: str


class Answer(Enum):
    """Every way in which a request is not accepted."""

    MALFORMED = _Row(
        400, grpc.StatusCode.INVALID_ARGUMENT, False,
        "the body is no OTLP message of this signal, or not what its content-encoding says",
        "repair the exporter; the message names the place",
    )  # fmt: skip
    UNAUTHENTICATED = _Row(
        401, grpc.StatusCode.UNAUTHENTICATED, False,
        "a bearer token is asked for; there is none, a wrong one, or an expired one",
        "send the header `authorization: Bearer TOKEN`",
    )  # fmt: skip
    NOT_FOUND = _Row(
        404, grpc.StatusCode.UNIMPLEMENTED, False,
        "the path or method is no OTLP signal, or metrics are sent and nothing downstream takes them",
        "send to /v1/traces, /v1/logs or /v1/metrics; switch off the metrics exporter or set `export.metrics.endpoint`",
    )  # fmt: skip
    METHOD = _Row(405, grpc.StatusCode.UNIMPLEMENTED, False, "the HTTP method is not POST", "use POST")
    SLOW = _Row(
        408, grpc.StatusCode.DEADLINE_EXCEEDED, False,
        "the body did not arrive within `receive.http.body_timeout`, or the message within `receive.grpc.message_timeout`",
        "send smaller requests, or raise the limit",
    )  # fmt: skip
    TOO_LARGE = _Row(
        413, grpc.StatusCode.RESOURCE_EXHAUSTED, False,
        "the body passes `limits.message_size`, or `limits.decompressed_size` once decompressed",
        "send smaller batches, or raise the limit",
    )  # fmt: skip
    MEDIA = _Row(
        415, grpc.StatusCode.UNIMPLEMENTED, False,
        "the content type is not application/x-protobuf or application/json, or the content-encoding not gzip, deflate, zstd or identity",
        "use one of these",
    )  # fmt: skip
    BUSY = _Row(
        429, grpc.StatusCode.RESOURCE_EXHAUSTED, True,
        "more requests are being admitted than `limits.in_flight` or `limits.in_flight_size` allow, or many gRPC messages arrive slowly",
        "send the same again after the time that the answer says",
    )  # fmt: skip
    OVERLOADED = _Row(
        503, grpc.StatusCode.UNAVAILABLE, True,
        "memory, disk, open sessions or the intake queue are at their limit, the collector is stopping, or it failed",
        "send the same again after the time that the answer says",
    )  # fmt: skip


class RefusedError(Exception):
    """A request that is not accepted. `reason` is the short name it is counted under; `retry_after` is in seconds, 0 unless retryable."""

    def __init__(self, answer: Answer, message: str, reason: str = "", retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.answer = answer
        self.message = message
        self.reason = reason or answer.name.lower()
        self.retry_after = max(retry_after, 1.0) if answer.value.retryable else 0.0

    def body(self, encoding: Encoding) -> bytes:
        """The google.rpc.Status of this answer, with a RetryInfo where it is retryable."""
        return status_body(encoding, self.answer.value.grpc.value[0], self.message, self.retry_after or None)
