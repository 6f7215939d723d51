"""OTLP/JSON as senders spell it."""

from __future__ import annotations

import json as stdlib_json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from collector.otlp import encode, json, protobuf
from collector.otlp.checked import Checked
from collector.otlp.model import LogRecord, Rejection
from collector.otlp.values import Limits
from tests.collector.otlp.worlds import SPAN, START, TRACE, span_json, traces_json

CASES = Path(__file__).parents[2] / "conformance" / "cases"
CAPTURES = Path(__file__).parents[2] / "conformance" / "captures"


def attribute_values(*values: str) -> list[Any]:
    """What attributes of these JSON texts are read as."""
    pairs = ",".join(f'{{"key":"k{i}","value":{value}}}' for i, value in enumerate(values))
    span = f'{{"traceId":"{TRACE}","spanId":"{SPAN}","startTimeUnixNano":"1","attributes":[{pairs}]}}'
    return list(json.decode_traces(traces_json(span)).spans[0].attributes.values())


def test_ids_are_read_by_their_length_and_bad_ones_cost_one_span_each() -> None:
    batch = json.decode_traces((CASES / "07-id-encodings" / "input.json").read_bytes())

    assert [(span.name, span.trace_id, span.span_id, span.parent_span_id) for span in batch.spans] == [
        ("invoke_agent alpha", "196564cb388197d41299eb99a670f5f9", "4e0c9e1f9737e503", ""),
        ("invoke_agent beta", "196564cb388197d41299eb99a670f5f9", "61a0e50e421860cd", "4e0c9e1f9737e503"),
        ("invoke_agent epsilon", "196564cb388197d41299eb99a670f5f9", "fff69e789bfc3f1a", "4e0c9e1f9737e503"),
    ]
    assert batch.rejections == (
        Rejection("$.resourceSpans[0].scopeSpans[0].spans[2].traceId", "expected an id, found zeros"),
        Rejection("$.resourceSpans[0].scopeSpans[0].spans[3].spanId", "expected 16 hex digits, found 'abc'"),
    )


@pytest.mark.parametrize("spell", [str, str.upper, str.title], ids=["lower", "upper", "mixed"])
@pytest.mark.parametrize("encoding", ["hex", "base64", "base64 without padding", "URL-safe base64"])
def test_every_spelling_of_an_id_is_the_same_id(spell: Any, encoding: str) -> None:
    spellings = {
        "hex": ("fbff00112233445566778899aabbccdd", "fbffaabbccddeeff"),
        "base64": ("+/8AESIzRFVmd4iZqrvM3Q==", "+/+qu8zd7v8="),
        "base64 without padding": ("+/8AESIzRFVmd4iZqrvM3Q", "+/+qu8zd7v8"),
        "URL-safe base64": ("-_8AESIzRFVmd4iZqrvM3Q==", "-_-qu8zd7v8="),
    }
    trace, span = spellings[encoding]
    if encoding == "hex":
        trace, span = spell(trace), spell(span)

    read = json.decode_traces(traces_json(span_json(traceId=trace, spanId=span, parentSpanId=span))).spans[0]

    assert (read.trace_id, read.span_id, read.parent_span_id) == (*spellings["hex"], spellings["hex"][1])


def test_lenient_spellings_say_what_canonical_ones_say() -> None:
    batch = json.decode_traces((CASES / "08-lenient-json" / "input.json").read_bytes())

    one, two = batch.spans
    assert batch.rejections == ()
    assert (two.kind, two.status_code, two.parent_span_id, two.flags) == (1, 1, one.span_id, 256)
    assert (two.start_unix_nano, two.end_unix_nano) == (1780000001100000000, 1780000002000000000)
    assert dict(two.attributes) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "two",
        "session.id": "sess-8",
        "gen_ai.usage.input_tokens": 7,
        "empty.value": None,
        "no.value": None,
        "nested": {"k": False},
    }


@pytest.mark.parametrize(
    ("texts", "read"),
    [
        (['{"intValue":7}', '{"intValue":"7"}', '{"intValue":7.0}', '{"intValue":"7e0"}', '{"intValue":" 7 "}'], [7] * 5),
        (['{"intValue":"-9223372036854775808"}', '{"intValue":9223372036854775807}'], [-(2**63), 2**63 - 1]),
        (['{"intValue":9223372036854775808}', '{"intValue":"many"}'], ["9223372036854775808", "many"]),
        (['{"doubleValue":1}', '{"doubleValue":"1.5"}', '{"doubleValue":-0.0}'], [1.0, 1.5, -0.0]),
        (['{"doubleValue":"Infinity"}', '{"doubleValue":"-Infinity"}'], [math.inf, -math.inf]),
        (['{"boolValue":false}', '{"stringValue":""}', '{"intValue":0}'], [False, "", 0]),
        (['{"bytesValue":"AP8="}', '{"bytesValue":"AP8"}', '{"bytesValue":"_w=="}'], [b"\x00\xff", b"\x00\xff", b"\xff"]),
        (["{}", "null", '{"stringValue":null}', '{"arrayValue":null}', '{"later":1}'], [None] * 5),
        (['{"arrayValue":{}}', '{"kvlistValue":{"values":null}}'], [[], {}]),
        (['{"arrayValue":{"values":[{"intValue":"1"},null,{},{"arrayValue":{}}]}}'], [[1, None, None, []]]),
    ],
)  # fmt: skip
def test_values_are_read_however_they_are_spelled(texts: list[str], read: list[Any]) -> None:
    assert attribute_values(*texts) == read


def test_a_number_that_is_none_is_read_as_that() -> None:
    assert math.isnan(attribute_values('{"doubleValue":"NaN"}')[0])


def test_names_in_snake_case_are_the_same_names() -> None:
    def snake(body: bytes) -> bytes:
        text = re.sub(rb'"([a-z]+(?:[A-Z][a-z]+)+)"(?=\s*:)', lambda m: b'"%s"' % _snake(m[1]), body)
        assert text != body
        return text

    for path in (CAPTURES / "strands-agents__native-swarm", CAPTURES / "autogen-agentchat__native"):
        for line in (path / "traces.otlp.jsonl").read_bytes().splitlines():
            assert json.decode_traces(snake(line)) == json.decode_traces(line)
            assert json.check_traces(snake(line)) == json.check_traces(line)


def _snake(name: bytes) -> bytes:
    return re.sub(rb"[A-Z]", lambda m: b"_" + m[0].lower(), name)


def test_names_of_both_kinds_may_mix_and_content_is_left_alone() -> None:
    content = '{"trace_id": "x", "span_id": 1}'
    span = span_json(traceId=None, trace_id=TRACE, attributes=[{"key": "trace_id", "value": {"string_value": content}}])

    assert json.decode_traces(traces_json(span)).spans[0].attributes == {"trace_id": content}


def test_scopes_of_old_senders_are_read() -> None:
    body = traces_json(span_json()).replace(b"scopeSpans", b"instrumentationLibrarySpans")
    body = body.replace(b'"spans"', b'"instrumentationLibrary":{"name":"old"},"spans"')

    assert json.decode_traces(body).spans[0].scope.name == "old"


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        ("SPAN_KIND_CLIENT", 3),
        ("CLIENT", 3),
        ("client", 3),
        ("3", 3),
        (3.0, 3),
        ("SPAN_KIND_NEW", 0),
        (99, 99),
        (None, 0),
    ],
)
def test_enums_are_read_by_number_and_by_name(kind: Any, number: int) -> None:
    assert json.decode_traces(traces_json(span_json(kind=kind))).spans[0].kind == number


def test_log_records_are_read_with_or_without_a_span() -> None:
    def record(**members: Any) -> dict[str, Any]:
        return {"timeUnixNano": "5", "body": {"stringValue": "hi"}} | members

    records = [
        record(traceId=TRACE, spanId=SPAN, severityNumber="SEVERITY_NUMBER_WARN2", eventName="e"),
        record(traceId=TRACE, severityNumber=9),
        record(spanId=SPAN),
        record(traceId="0" * 32, spanId="x"),
        record(body=7),
    ]
    body = stdlib_json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}).encode()

    batch = json.decode_logs(body)

    assert [(log.trace_id, log.span_id, log.severity_number, log.body) for log in batch.logs] == [
        (TRACE, SPAN, 14, "hi"),
        (TRACE, "", 9, "hi"),
        ("", "", 0, "hi"),
        ("", "", 0, "hi"),
    ]
    assert batch.rejections == (
        Rejection("$.resourceLogs[0].scopeLogs[0].logRecords[4].body", "expected object | null, found int"),
    )
    assert json.check_logs(body) == Checked(4, batch.rejections)


def test_what_is_over_a_limit_is_cut_and_marked_in_both_encodings() -> None:
    span = span_json(
        attributes=[
            {"key": "long", "value": {"stringValue": "abcdef"}},
            {"key": "list", "value": {"arrayValue": {"values": [{"stringValue": "abcdef"}, {"arrayValue": {}}]}}},
            {"key": "fits", "value": {"stringValue": "abc"}},
        ]
    )
    body = traces_json(span)
    expected = {
        "long": "abc",
        "long.truncated": True,
        "list": ["abc", None],
        "list.truncated": True,
        "fits": "abc",
    }

    limits = Limits(length=3, depth=1)
    assert json.decode_traces(body, limits).spans[0].attributes == expected
    assert protobuf.decode_traces(encode.traces_to_protobuf(body), limits).spans[0].attributes == expected


def test_a_log_body_over_a_limit_is_cut_and_marked() -> None:
    body = b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"1","body":{"stringValue":"abcdef"}}]}]}]}'

    for record in (
        json.decode_logs(body, Limits(length=2)).logs[0],
        protobuf.decode_logs(encode.logs_to_protobuf(body), Limits(length=2)).logs[0],
    ):
        assert record == LogRecord(body="ab", time_unix_nano=1, attributes={"body.truncated": True})


def test_times_keep_every_nanosecond() -> None:
    for time in (START + 1, str(START + 1), float(START)):
        read = json.decode_traces(traces_json(span_json(startTimeUnixNano=time))).spans[0]
        assert read.start_unix_nano == int(time)
