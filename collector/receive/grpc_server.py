"""OTLP over gRPC: the Export methods of the three services, on raw bytes.

Separate from the HTTP server because only the wrapping differs: both hand the same bytes to admission. grpc decompresses by itself and holds
`limits.message_size` against the message before and after.
"""

from __future__ import annotations

import grpc
from grpc import aio

from collector.otlp.response import Signal, export_response, retry_metadata
from collector.receive.admit import Admission, Request
from collector.receive.answers import RefusedError

SERVICES: dict[str, Signal] = {
    "opentelemetry.proto.collector.trace.v1.TraceService": "traces",
    "opentelemetry.proto.collector.logs.v1.LogsService": "logs",
    "opentelemetry.proto.collector.metrics.v1.MetricsService": "metrics",
}


def handlers(admission: Admission) -> list[grpc.GenericRpcHandler]:
    """The OTLP services over one admission."""
    return [
        grpc.method_handlers_generic_handler(
            service, {"Export": grpc.unary_unary_rpc_method_handler(_Export(admission, signal).call)}
        )
        for service, signal in SERVICES.items()
    ]


class _Export:
    def __init__(self, admission: Admission, signal: Signal) -> None:
        self._admission = admission
        self._signal = signal

    async def call(self, body: bytes, context: aio.ServicerContext) -> bytes:
        try:
            with self._admission.slot(len(body)) as slot:
                receipt = await self._admission.admit(Request("grpc", self._signal, "protobuf", body), slot)
        except RefusedError as refusal:
            self._admission.count_refusal("grpc", self._signal, refusal)
            details = [("grpc-status-details-bin", refusal.body("protobuf"))]
            if refusal.retry_after:
                details.append(retry_metadata(refusal.retry_after))
            await context.abort(refusal.answer.value.grpc, refusal.message, tuple(details))
        return export_response(self._signal, "protobuf", *receipt) if receipt.rejected else b""
