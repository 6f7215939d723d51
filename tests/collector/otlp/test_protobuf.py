"""OTLP in protobuf, heads and whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from collector.otlp import encode, json, protobuf
from collector.otlp.errors import MalformedError
from collector.otlp.heads import Head
from collector.otlp.model import Batch, Link, Resource, Span
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
        batch, heads = protobuf.decode_traces(body), protobuf.read_heads(body, ("session.id",))
        assert json.decode_traces(line) == batch
        assert json.read_heads(line, ("session.id",)) == heads
        assert list(heads) == [Head(span.trace_id, span.span_id, span.parent_span_id) for span in batch.spans]
        assert batch.rejections == heads.rejections == ()


def test_session_keys_are_found_on_spans_and_resources_and_of_each_the_first() -> None:
    other = "f" * 32
    resource = Resource({"group_id": "g", "service.name": "s"})

    def span(trace_id: str, number: int, **attributes: str) -> Span:
        return Span(trace_id, f"{number:016x}", "s", attributes=attributes, resource=resource)

    batch = Batch(
        spans=(span(TRACE, 1), span(TRACE, 2, thread="t"), span(TRACE, 3, session="a"), span(other, 4, session=""))
    )

    for body, decoder in ((encode.encode_traces(batch), protobuf), (encode.encode_traces_json(batch), json)):
        assert decoder.read_heads(body, ("session", "thread", "group_id", "absent")).keys == {
            TRACE: {"thread": "t", "session": "a", "group_id": "g"},
            other: {"group_id": "g"},
        }
        assert decoder.read_heads(body).keys == {}


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
    heads = protobuf.read_log_heads(body)
    assert [head.trace_id for head in heads] == [TRACE, ""]
    assert heads.rejections == batch.rejections


def test_a_log_request_that_is_broken_says_where() -> None:
    with pytest.raises(MalformedError, match=r"^expected a protobuf ExportLogsServiceRequest, found .* at byte 0$"):
        protobuf.decode_logs(b"\x0a\x05ab")
