"""OTLP in protobuf, checked and decoded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from collector.otlp import json, protobuf
from collector.otlp.checked import Checked
from collector.otlp.errors import MalformedError
from collector.otlp.model import Link
from tests.collector.otlp.worlds import SPAN, TRACE, traces_protobuf

CAPTURES = Path(__file__).parents[2] / "conformance" / "captures"


def requests(path: Path) -> Iterator[bytes]:
    data, at = path.read_bytes(), 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        yield data[at + 4 : at + 4 + size]
        at += 4 + size


@pytest.mark.parametrize("capture", sorted(path.parent.name for path in CAPTURES.glob("*/expected.json")))
def test_a_capture_says_the_same_in_both_encodings(capture: str) -> None:
    lines = (CAPTURES / capture / "traces.otlp.jsonl").read_bytes().splitlines()
    bodies = list(requests(CAPTURES / capture / "traces.otlp.pb"))

    assert len(lines) == len(bodies)
    for line, body in zip(lines, bodies, strict=True):
        batch = protobuf.decode_traces(body)
        assert json.decode_traces(line) == batch
        assert batch.rejections == ()
        assert json.check_traces(line) == protobuf.check_traces(body) == Checked(len(batch.spans))


def test_spans_of_one_request_share_their_resource_and_scope() -> None:
    first, second = protobuf.decode_traces(traces_protobuf({}, {"name": "b"})).spans

    assert first.resource is second.resource
    assert first.scope is second.scope


def test_the_last_of_two_attributes_with_one_key_counts() -> None:
    pairs = [KeyValue(key="k", value=AnyValue(int_value=1)), KeyValue(key="k", value=AnyValue(string_value="b"))]

    assert protobuf.decode_traces(traces_protobuf({"attributes": pairs})).spans[0].attributes == {"k": "b"}


def test_values_of_every_kind_are_read_and_no_value_is_none() -> None:
    request = ExportTraceServiceRequest.FromString(traces_protobuf({}))
    span = request.resource_spans[0].scope_spans[0].spans[0]
    values = {
        "text": AnyValue(string_value=""),
        "flag": AnyValue(bool_value=False),
        "number": AnyValue(int_value=0),
        "double": AnyValue(double_value=0.0),
        "bytes": AnyValue(bytes_value=b""),
        "none": AnyValue(),
    }
    for key, value in values.items():
        span.attributes.add(key=key, value=value)
    span.attributes.add(key="absent")
    span.attributes.add(key="list").value.array_value.values.extend([AnyValue(int_value=1), AnyValue()])

    attributes = protobuf.decode_traces(request.SerializeToString()).spans[0].attributes

    assert [(key, value, type(value)) for key, value in attributes.items()] == [
        ("text", "", str),
        ("flag", False, bool),
        ("number", 0, int),
        ("double", 0.0, float),
        ("bytes", b"", bytes),
        ("none", None, type(None)),
        ("absent", None, type(None)),
        ("list", [1, None], list),
    ]


def test_links_without_ids_are_counted_as_dropped() -> None:
    request = ExportTraceServiceRequest.FromString(traces_protobuf({"dropped_links_count": 2}))
    links = request.resource_spans[0].scope_spans[0].spans[0].links
    links.add()
    links.add(trace_id=bytes.fromhex(TRACE), span_id=bytes.fromhex(SPAN))

    span = protobuf.decode_traces(request.SerializeToString()).spans[0]

    assert (span.links, span.dropped_links_count) == ((Link(TRACE, SPAN),), 3)


def test_text_that_is_no_utf8_is_mended_and_the_rest_is_as_it_came() -> None:
    body = traces_protobuf({"name": "caf@", "trace_state": "x"}, {"name": "b"}).replace(b"@", b"\xc3")

    first, second = protobuf.decode_traces(body).spans

    assert (first.name, first.trace_state, second.name) == ("caf\ufffd", "x", "b")


def test_log_records_are_read_and_a_broken_one_costs_itself() -> None:
    request = ExportLogsServiceRequest()
    records = request.resource_logs.add().scope_logs.add().log_records
    records.add(trace_id=bytes.fromhex(TRACE), span_id=b"x", event_name="a")
    records.add(event_name="@", body=AnyValue(string_value="hello"))
    records.add(event_name="c", severity_number=9)
    # Three records of equal shape; the second's text is made longer than the record.
    body = request.SerializeToString().replace(b"\x0a\x05hello", b"\x0a\x7fhello")

    batch = protobuf.decode_logs(body)

    assert [(log.event_name, log.trace_id, log.span_id, log.severity_number) for log in batch.logs] == [
        ("a", TRACE, "", 0),
        ("c", "", "", 9),
    ]
    assert [rejection.path for rejection in batch.rejections] == ["resource_logs[0].scope_logs[0].log_records[1]"]
    assert protobuf.check_logs(body) == Checked(2, batch.rejections)


def test_a_log_request_that_is_broken_says_where() -> None:
    with pytest.raises(MalformedError, match=r"^expected a protobuf ExportLogsServiceRequest, found .* at byte 0$"):
        protobuf.decode_logs(b"\x0a\x05ab")
