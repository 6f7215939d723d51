"""What an OTLP receiver answers, as bytes: the response of a signal, and google.rpc.Status for an error.

Apart from the servers so that gRPC, HTTP with protobuf and HTTP with JSON say the same thing. OTLP specification, "OTLP
response": a full success is an empty response, a partial one names the rejected count and why, an error over HTTP has a
Status as its body.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from collector.otlp.model import Rejection

Signal = Literal["traces", "logs", "metrics"]
Encoding = Literal["protobuf", "json"]

_KINDS: dict[Signal, tuple[type, str]] = {
    "traces": (ExportTraceServiceResponse, "rejected_spans"),
    "logs": (ExportLogsServiceResponse, "rejected_log_records"),
    "metrics": (ExportMetricsServiceResponse, "rejected_data_points"),
}
_JSON_NAMES = {
    "rejected_spans": "rejectedSpans",
    "rejected_log_records": "rejectedLogRecords",
    "rejected_data_points": "rejectedDataPoints",
}
_NAMED = 3


def export_response(signal: Signal, encoding: Encoding, rejected: int = 0, message: str = "") -> bytes:
    """The body of a response: empty for a full success, else a partial success.

    `rejected` 0 with a message is what the specification calls a warning.
    """
    kind, field = _KINDS[signal]
    if encoding == "protobuf":
        response = kind()
        if rejected or message:
            setattr(response.partial_success, field, rejected)
            response.partial_success.error_message = message
        return bytes(response.SerializeToString())
    if not rejected and not message:
        return b"{}"
    partial: dict[str, str] = {_JSON_NAMES[field]: str(rejected)} if rejected else {}
    if message:
        partial["errorMessage"] = message
    return msgspec.json.encode({"partialSuccess": partial})


def rejection_message(rejections: Sequence[Rejection]) -> str:
    """One line for the sender: the first few rejected items, each by path and reason, and how many there are more."""
    named = "; ".join(f"{rejection.path}: {rejection.reason}" for rejection in rejections[:_NAMED])
    more = len(rejections) - _NAMED
    return f"{named}; and {more} more" if more > 0 else named


def status_body(encoding: Encoding, code: int, message: str, retry_after_s: float | None = None) -> bytes:
    """A google.rpc.Status: `code` of google.rpc.Code (as gRPC numbers them), with RetryInfo where a delay is given.

    Over gRPC the protobuf form is what goes into `grpc-status-details-bin`.
    """
    if encoding == "json":
        body: dict[str, object] = {"code": code, "message": message}
        if retry_after_s is not None:
            body["details"] = [
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{retry_after_s:.9g}s"}
            ]
        return msgspec.json.encode(body)
    status = Status(code=code, message=message)
    if retry_after_s is not None:
        status.details.add().Pack(_retry_info(retry_after_s))
    return bytes(status.SerializeToString())


def retry_metadata(retry_after_s: float) -> tuple[str, bytes]:
    """The trailing metadata in which the Python SDK's gRPC exporter looks for the delay; it does not read the status's details."""
    return "google.rpc.retryinfo-bin", bytes(_retry_info(retry_after_s).SerializeToString())


def _retry_info(retry_after_s: float) -> RetryInfo:
    delay = Duration()
    delay.FromNanoseconds(round(retry_after_s * 1e9))
    return RetryInfo(retry_delay=delay)
