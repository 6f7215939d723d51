"""Batches survive both encodings whole."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from google.protobuf import json_format
from hypothesis import given, settings
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.otlp import encode, json, protobuf
from collector.otlp.model import Batch, Resource, Scope, Span
from tests.collector.otlp import worlds

WAYS: list[tuple[Callable[[Batch], bytes], Callable[[bytes], Batch], str]] = [
    (encode.encode_traces, protobuf.decode_traces, "spans"),
    (encode.encode_traces_json, json.decode_traces, "spans"),
    (encode.encode_logs, protobuf.decode_logs, "logs"),
    (encode.encode_logs_json, json.decode_logs, "logs"),
]


@pytest.mark.parametrize(("write", "read", "part"), WAYS)
@settings(max_examples=40, deadline=None)
@given(batch=worlds.batch)
def test_a_batch_written_and_read_is_the_same_batch(
    write: Callable[[Batch], bytes], read: Callable[[bytes], Batch], part: str, batch: Batch
) -> None:
    back = read(write(batch))

    # Items of one resource and scope come together; between these groups the order is that of first appearance.
    assert sorted(map(repr, getattr(back, part))) == sorted(map(repr, getattr(batch, part)))
    assert back.rejections == ()


@settings(max_examples=40, deadline=None)
@given(batch=worlds.batch)
def test_json_made_protobuf_says_the_same(batch: Batch) -> None:
    request = encode.traces_to_protobuf(encode.encode_traces_json(batch))
    records = encode.logs_to_protobuf(encode.encode_logs_json(batch))

    assert repr(protobuf.decode_traces(request)) == repr(protobuf.decode_traces(encode.encode_traces(batch)))
    assert repr(protobuf.decode_logs(records)) == repr(protobuf.decode_logs(encode.encode_logs(batch)))


def test_spans_of_one_process_and_library_share_a_group() -> None:
    resource, scope, other = Resource({"service.name": "a"}), Scope("lib"), Scope("other")
    spans = tuple(
        Span(worlds.TRACE, f"{i:016x}", "s", scope=scope if i % 2 else other, resource=resource) for i in range(1, 5)
    )

    request = ExportTraceServiceRequest.FromString(encode.encode_traces(Batch(spans=spans)))

    groups = [[len(ss.spans) for ss in rs.scope_spans] for rs in request.resource_spans]
    assert groups == [[2, 2]]


def test_an_integer_over_64_bits_is_kept_as_its_text() -> None:
    span = Span(worlds.TRACE, worlds.SPAN, "s", attributes={"n": 2**70})

    for write, read in ((encode.encode_traces, protobuf), (encode.encode_traces_json, json)):
        assert read.decode_traces(write(Batch(spans=(span,)))).spans[0].attributes == {"n": str(2**70)}


def test_json_is_canonical_for_a_stock_protobuf_parser_apart_from_its_hex_ids() -> None:
    span = Span(
        worlds.TRACE,
        worlds.SPAN,
        "s",
        kind=3,
        start_unix_nano=worlds.START,
        attributes={"a": [1, {"b": 0.5}], "c": b"x"},
    )
    text = msgspec.json.decode(encode.encode_traces_json(Batch(spans=(span,))))
    item = text["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    del item["traceId"], item["spanId"]

    parsed = json_format.ParseDict(text, ExportTraceServiceRequest())

    expected = ExportTraceServiceRequest.FromString(encode.encode_traces(Batch(spans=(span,))))
    for message in (parsed, expected):
        message.resource_spans[0].scope_spans[0].spans[0].ClearField("trace_id")
        message.resource_spans[0].scope_spans[0].spans[0].ClearField("span_id")
        message.resource_spans[0].scope_spans[0].spans[0].ClearField("status")
        message.resource_spans[0].ClearField("resource")
        message.resource_spans[0].scope_spans[0].ClearField("scope")
    assert parsed == expected
