"""OTLP over gRPC: the Export methods of the three services, on raw bytes.

Separate from the HTTP server because only the wrapping differs: both hand the same bytes to admission. grpc decompresses by itself and holds
`limits.message_size` against the message before and after.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc
from grpc import aio

from collector.otlp.response import Signal, export_response, retry_metadata
from collector.receive.admit import Admission, Request
from collector.receive.answers import Answer, RefusedError

_PATIENCE_S = 3.0
"""Time in which any message may arrive; longer only as many as `limits.in_flight_size` has room for, were they of the largest size."""
_SLOW = 4  # and these at least

SERVICES: dict[str, Signal] = {
    "opentelemetry.proto.collector.trace.v1.TraceService": "traces",
    "opentelemetry.proto.collector.logs.v1.LogsService": "logs",
    "opentelemetry.proto.collector.metrics.v1.MetricsService": "metrics",
}


def handlers(admission: Admission, message_timeout: float) -> list[grpc.GenericRpcHandler]:
    """The OTLP services over one admission. `message_timeout` is in seconds."""
    limits = admission.limits
    room = limits.in_flight_size // limits.message_size if limits.in_flight_size else limits.in_flight
    slow = _Slow(max(_SLOW, room), message_timeout)
    return [
        grpc.method_handlers_generic_handler(
            service,
            {"Export": grpc.stream_unary_rpc_method_handler(_Export(admission, signal, slow).call)},
        )
        for service, signal in SERVICES.items()
    ]


class _Export:
    """One method. It is served as if its requests were streams: grpc reads one no further than we ask, and we can refuse it unread."""

    def __init__(self, admission: Admission, signal: Signal, slow: _Slow) -> None:
        self._admission = admission
        self._signal = signal
        self._slow = slow

    async def call(self, messages: AsyncIterator[bytes], context: aio.ServicerContext) -> bytes:
        try:
            with self._admission.slot() as slot:
                body = await self._slow.read(messages)
                slot.grow(len(body))
                slot.enter()
                receipt = await self._admission.admit(Request("grpc", self._signal, "protobuf", body), slot)
        except RefusedError as refusal:
            self._admission.count_refusal("grpc", self._signal, refusal)
            details = [("grpc-status-details-bin", refusal.body("protobuf"))]
            if refusal.retry_after:
                details.append(retry_metadata(refusal.retry_after))
            await context.abort(refusal.answer.value.grpc, refusal.message, tuple(details))
        return export_response(self._signal, "protobuf", *receipt) if receipt.rejected else b""


class _Slow:
    """Messages that take long to arrive: grpc holds what there is of one, and of how much nobody is told before it is whole.

    `places` for so many of them, which have `timeout` seconds; the others are told to come back when their patience has passed.
    """

    def __init__(self, places: int, timeout: float) -> None:
        self._places = places
        self._timeout = timeout

    async def read(self, messages: AsyncIterator[bytes]) -> bytes:
        """Return the one message of a call. Raises `RefusedError`."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        placed = False

        def stay() -> None:
            nonlocal placed
            if self._places > 0:
                self._places -= 1
                placed = True
                limit.reschedule(started + self._timeout)

        timer = loop.call_later(min(_PATIENCE_S, self._timeout) * 0.9, stay)
        try:
            async with asyncio.timeout(min(_PATIENCE_S, self._timeout)) as limit:
                return await anext(messages)
        except TimeoutError as error:
            if not placed:
                raise RefusedError(Answer.BUSY, "expected few messages that arrive slowly, found more") from error
            raise RefusedError(
                Answer.SLOW, f"expected the message within {self._timeout:g} s (receive.grpc.message_timeout)"
            ) from error
        except StopAsyncIteration as error:
            raise RefusedError(Answer.MALFORMED, "expected one message, found none") from error
        finally:
            timer.cancel()
            self._places += placed
