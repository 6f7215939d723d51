"""What senders are answered."""

from __future__ import annotations

import json

import pytest
from google.protobuf import json_format
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from collector.otlp.model import Rejection
from collector.otlp.response import Signal, export_response, rejection_message, status_body


@pytest.mark.parametrize("signal", ["traces", "logs", "metrics"])
def test_a_full_success_is_empty(signal: Signal) -> None:
    assert export_response(signal, "protobuf") == b""
    assert export_response(signal, "json") == b"{}"


@pytest.mark.parametrize(
    ("signal", "member"),
    [("traces", "rejectedSpans"), ("logs", "rejectedLogRecords"), ("metrics", "rejectedDataPoints")],
)
def test_a_partial_success_counts_and_explains(signal: Signal, member: str) -> None:
    assert json.loads(export_response(signal, "json", 2, "why")) == {
        "partialSuccess": {member: "2", "errorMessage": "why"}
    }


def test_both_encodings_of_a_partial_success_say_the_same() -> None:
    response = ExportTraceServiceResponse.FromString(export_response("traces", "protobuf", 3, "why"))

    assert json_format.MessageToDict(response) == json.loads(export_response("traces", "json", 3, "why"))


def test_a_warning_rejects_nothing() -> None:
    assert json.loads(export_response("traces", "json", 0, "careful")) == {
        "partialSuccess": {"errorMessage": "careful"}
    }


def test_the_message_names_the_first_rejected_and_counts_the_rest() -> None:
    assert rejection_message([Rejection("$.a", "bad")]) == "$.a: bad"
    assert rejection_message([Rejection(f"$.a[{i}]", "bad") for i in range(5)]) == (
        "$.a[0]: bad; $.a[1]: bad; $.a[2]: bad; and 2 more"
    )


def test_an_error_says_code_message_and_when_to_come_back() -> None:
    status = Status.FromString(status_body("protobuf", 14, "queue is full", retry_after_s=1.5))
    retry = RetryInfo()
    assert status.details[0].Unpack(retry)

    assert (status.code, status.message, retry.retry_delay.ToMilliseconds()) == (14, "queue is full", 1500)
    assert json.loads(status_body("json", 14, "queue is full", retry_after_s=1.5)) == {
        "code": 14,
        "message": "queue is full",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.5s"}],
    }
    assert json.loads(status_body("json", 3, "bad")) == {"code": 3, "message": "bad"}
    assert Status.FromString(status_body("protobuf", 3, "bad")) == Status(code=3, message="bad")
