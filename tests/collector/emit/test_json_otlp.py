from __future__ import annotations

import json

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from collector.emit.json_otlp import from_json


def read(document: object) -> ExportTraceServiceRequest:
    return from_json(json.dumps(document).encode(), ExportTraceServiceRequest())


def one(**span: object) -> Span:
    return read({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).resource_spans[0].scope_spans[0].spans[0]


def test_every_field_arrives_also_those_that_recovery_does_not_read() -> None:
    span = one(
        traceId="0AF7651916CD43DD8448EB211C80319C",
        spanId="00f067aa0ba902b7",
        traceState="a=1",
        flags=257,
        name="x",
        kind="SPAN_KIND_SERVER",
        startTimeUnixNano="1700000000000000001",
        end_time_unix_nano=1700000000000000002,
        status={"code": 2, "message": "no"},
        links=[{"traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "00f067aa0ba902b8"}],
        attributes=[
            {"key": "i", "value": {"intValue": "-7"}},
            {"key": "f", "value": {"doubleValue": "NaN"}},
            {"key": "b", "value": {"bytesValue": "AAE"}},
            {"key": "empty", "value": {"arrayValue": {}}},
            {"key": "none", "value": {}},
        ],
        unknown={"is": ["left", "out"]},
    )
    expected = Span(
        trace_id=bytes.fromhex("0af7651916cd43dd8448eb211c80319c"),
        span_id=bytes.fromhex("00f067aa0ba902b7"),
        trace_state="a=1",
        flags=257,
        name="x",
        kind=Span.SPAN_KIND_SERVER,
        start_time_unix_nano=1700000000000000001,
        end_time_unix_nano=1700000000000000002,
        status=Status(code=Status.STATUS_CODE_ERROR, message="no"),
        links=[
            Span.Link(
                trace_id=bytes.fromhex("0af7651916cd43dd8448eb211c80319c"), span_id=bytes.fromhex("00f067aa0ba902b8")
            )
        ],
        attributes=[
            KeyValue(key="i", value=AnyValue(int_value=-7)),
            KeyValue(key="f", value=AnyValue(double_value=float("nan"))),
            KeyValue(key="b", value=AnyValue(bytes_value=b"\x00\x01")),
            KeyValue(key="empty", value=AnyValue(array_value=ArrayValue())),
            KeyValue(key="none", value=AnyValue()),
        ],
    )
    assert span.SerializeToString(deterministic=True) == expected.SerializeToString(deterministic=True)


def test_a_value_that_its_field_cannot_hold_is_left_out_and_the_rest_goes_on() -> None:
    span = one(
        name="x", traceId="zz", kind="NO_SUCH", startTimeUnixNano=-1, flags=1 << 40, status=7, attributes={"a": 1}
    )
    assert span == Span(name="x")


@pytest.mark.parametrize("body", [b"[]", b"7", b"{", b""])
def test_what_is_no_json_object_is_an_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_json(body, ExportTraceServiceRequest())


def test_nesting_beyond_the_bound_is_cut_and_costs_no_stack() -> None:
    def nested(levels: int) -> bytes:
        value = '{"arrayValue":{"values":[' * levels + "{}" + "]}}" * levels
        span = f'{{"name":"x","attributes":[{{"key":"k","value":{value}}}]}}'
        return f'{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{span}]}}]}}]}}'.encode()

    request = from_json(nested(100), ExportTraceServiceRequest())
    assert request.resource_spans[0].scope_spans[0].spans[0].name == "x"
    assert ExportTraceServiceRequest.FromString(request.SerializeToString()) == request
    with pytest.raises(ValueError, match="nested too deeply"):
        from_json(nested(100_000), ExportTraceServiceRequest())


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    st.one_of(
        st.builds(AnyValue, string_value=TEXT),
        st.builds(AnyValue, int_value=st.integers(-(2**63), 2**63 - 1)),
        st.builds(AnyValue, double_value=st.floats(allow_nan=False)),
        st.builds(AnyValue, bool_value=st.booleans()),
        st.builds(AnyValue, bytes_value=st.binary(max_size=5)),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda values: AnyValue(array_value=ArrayValue(values=values))),
        st.dictionaries(TEXT, inner, max_size=3).map(
            lambda values: AnyValue(
                kvlist_value=KeyValueList(values=[KeyValue(key=k, value=v) for k, v in values.items()])
            )
        ),
    ),
    max_leaves=6,
)


@given(st.lists(st.builds(KeyValue, key=TEXT, value=VALUES), max_size=4), st.integers(0, 2**64 - 1), TEXT)
def test_what_protobuf_writes_as_json_comes_back_equal(attributes: list[KeyValue], time_ns: int, name: str) -> None:
    spans = [Span(name=name, start_time_unix_nano=time_ns, attributes=attributes, kind=Span.SPAN_KIND_CLIENT)]
    request = ExportTraceServiceRequest(resource_spans=[ResourceSpans(scope_spans=[ScopeSpans(spans=spans)])])
    text = json_format.MessageToJson(request).encode()  # no ids in it: those are base64 here and hex in OTLP
    assert from_json(text, ExportTraceServiceRequest()) == request
