"""One table of inputs that senders should not make, for both encodings, and what becomes of each.

`accepted` and `rejected` count spans; `error` is the whole text of the MalformedError. The check and the decoder must agree
on every row, since a sender is answered by the one and the session is made from the other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from collector.otlp import json, protobuf
from collector.otlp.checked import Checked
from collector.otlp.errors import MalformedError
from collector.otlp.wire import encode_varint
from tests.collector.otlp.worlds import SPAN, TRACE, span_json, traces_json, traces_protobuf

GOOD = span_json(spanId="00000000000000aa")


class Row(NamedTuple):
    name: str
    body: bytes
    accepted: int = 0
    rejected: int = 0
    path: str = ""
    error: str = ""


def attribute(value: str) -> str:
    """A span with one attribute `k` of this JSON text."""
    head = f'"traceId":"{TRACE}","spanId":"{SPAN}","startTimeUnixNano":"1"'
    return f'{{{head},"attributes":[{{"key":"k","value":{value}}}]}}'


def beside(span: Any) -> bytes:
    """A request of this span and a good one."""
    return traces_json(span, GOOD)


AT = "$.resourceSpans[0].scopeSpans[0].spans[0]"
NEST = 5_000

JSON_ROWS = [
    # the whole request
    Row("no bytes", b"", error="expected JSON, found an end in the middle at byte 0"),
    Row("blank", b"  \n ", error="expected JSON, found an end in the middle at byte 4"),
    Row("null", b"null", error="expected object, found null at $"),
    Row("a list", b"[]", error="expected object, found array at $"),
    Row("a string", b'"resourceSpans"', error="expected object, found str at $"),
    Row("a number", b"1", error="expected object, found int at $"),
    Row("cut off", traces_json(GOOD)[:-20], error="expected JSON, found an end in the middle at byte 169"),
    Row("trailing text", b"{} {}", error="expected JSON, found trailing characters at byte 4"),
    Row("protobuf", traces_protobuf({}), error="expected JSON, found invalid character at byte 1"),
    Row("spans no list", b'{"resourceSpans":{}}', error="expected array | null, found object at $.resourceSpans"),
    Row(
        "a resource that is a number",
        b'{"resourceSpans":[{"resource":1}]}',
        error="expected object | null, found int at $.resourceSpans[0].resource",
    ),
    Row("only brackets", b"[" * 100_000, error="expected object, found array at $"),
    Row("an open string of escapes", b'{"a":"' + b'\\"' * 50_000, error="expected JSON, found an end in the middle at byte 100006"),
    Row("UTF-16", '{"resourceSpans":[]}'.encode("utf-16"), error="expected JSON, found invalid character at byte 0"),
    Row("nothing in it", b"{}"),
    Row("nulls for lists", b'{"resourceSpans":[{"resource":null,"scopeSpans":[{"scope":null,"spans":null}]}]}'),
    Row("a byte order mark", b"\xef\xbb\xbf" + traces_json(GOOD), accepted=1),
    Row("unknown members that nest deep", traces_json(GOOD)[:-1] + b',"x":' + b"[" * NEST + b"]" * NEST + b"}", accepted=1),
    # ids
    Row("no trace id", beside(span_json(traceId=None)), 1, 1, f"{AT}.traceId"),
    Row("an empty trace id", beside(span_json(traceId="")), 1, 1, f"{AT}.traceId"),
    Row("a trace id of zeros", beside(span_json(traceId="0" * 32)), 1, 1, f"{AT}.traceId"),
    Row("a short trace id", beside(span_json(traceId="abc")), 1, 1, f"{AT}.traceId"),
    Row("a trace id with blanks", beside(span_json(traceId=" " * 16 + TRACE[:16])), 1, 1, f"{AT}.traceId"),
    Row("a trace id that is no hex", beside(span_json(traceId="g" * 32)), 1, 1, f"{AT}.traceId"),
    Row("a trace id of full-width digits", beside(span_json(traceId="\uff11" * 32)), 1, 1, f"{AT}.traceId"),
    Row("a trace id as a number", beside(span_json(traceId=5)), 1, 1, f"{AT}.traceId"),
    Row("a 64-bit trace id", beside(span_json(traceId=SPAN)), 1, 1, f"{AT}.traceId"),
    Row("a UUID for a trace id", beside(span_json(traceId="5b8efff7-9803-8103-d269-b633813fc60c")), 1, 1, f"{AT}.traceId"),
    Row("no span id", beside(span_json(spanId=None)), 1, 1, f"{AT}.spanId"),
    Row("a span id of zeros", beside(span_json(spanId="0" * 16)), 1, 1, f"{AT}.spanId"),
    Row("a long span id", beside(span_json(spanId=TRACE)), 1, 1, f"{AT}.spanId"),
    Row("a parent that is no id", beside(span_json(parentSpanId="root")), 1, 1, f"{AT}.parentSpanId"),
    Row("a parent of zeros", beside(span_json(parentSpanId="0" * 16)), 2),
    Row("upper-case ids", beside(span_json(traceId=TRACE.upper(), spanId=SPAN.upper())), 2),
    Row("base64 ids", beside(span_json(traceId="W47/95gDgQPSabYzgT/GDA==", spanId="7uGbfsPBsXQ=")), 2),
    Row("a link without ids", beside(span_json(links=[{}])), 2),
    # types and numbers
    Row("a span that is null", beside("null"), 1, 1, AT),
    Row("a span that is a list", beside("[]"), 1, 1, AT),
    Row("a name that is a number", beside(span_json(name=7)), 1, 1, f"{AT}.name"),
    Row("attributes as an object", beside(span_json(attributes={"a": 1})), 1, 1, f"{AT}.attributes"),
    Row("an attribute that is null", beside(span_json(attributes=[None])), 1, 1, f"{AT}.attributes[0]"),
    Row("a bare attribute value", beside(attribute("5")), 1, 1, f"{AT}.attributes[0].value"),
    Row("a boolean as text", beside(attribute('{"boolValue":"true"}')), 1, 1, f"{AT}.attributes[0].value.boolValue"),
    Row("a double out of range", beside(attribute('{"doubleValue":1e400}')), 1, 1, f"{AT}.attributes[0].value.doubleValue"),
    Row("an integer of 5,000 digits", beside(attribute('{"intValue":%s}' % ("9" * 5000))), 1, 1, f"{AT}.attributes[0].value.intValue"),
    Row("the same as text", beside(attribute('{"intValue":"%s"}' % ("9" * 5000))), 2),
    Row("an integer over 64 bits", beside(attribute('{"intValue":"99999999999999999999"}')), 2),
    Row("text for an integer", beside(attribute('{"intValue":"many"}')), 2),
    Row("text that is no base64", beside(attribute('{"bytesValue":"*"}')), 2),
    Row("a negative time", beside(span_json(startTimeUnixNano="-1")), 1, 1, f"{AT}.startTimeUnixNano"),
    Row("a time over 64 bits", beside(span_json(endTimeUnixNano=str(2**64))), 1, 1, f"{AT}.endTimeUnixNano"),
    Row("a time as a date", beside(span_json(startTimeUnixNano="2026-01-01T00:00:00Z")), 1, 1, f"{AT}.startTimeUnixNano"),
    Row("a time of NaN", beside(span_json(startTimeUnixNano="NaN")), 1, 1, f"{AT}.startTimeUnixNano"),
    Row("a kind of no known name", beside(span_json(kind="SPAN_KIND_WHATEVER")), 2),
    Row("a kind over 32 bits", beside(span_json(kind=2**40)), 2),
    Row("a kind that is a list", beside(span_json(kind=[1])), 1, 1, f"{AT}.kind"),
    # text and depth
    Row("bytes that are no UTF-8", beside(span_json(name="@")).replace(b"@", b"\xff\xfe"), 2),
    Row("half a surrogate pair", beside(span_json(name="@")).replace(b"@", rb"\ud800"), 2),
    Row("a null character", beside(span_json(name="\0")), 2),
    Row("a value nested deep", beside(attribute('{"arrayValue":{"values":[' * NEST + "{}" + "]}}" * NEST)), 2),
    Row("a bad span and a deep one", traces_json("5", attribute('{"arrayValue":{"values":[' * NEST + "{}" + "]}}" * NEST)), 1, 1, AT),
]  # fmt: skip


def field(number: int, content: bytes) -> bytes:
    return encode_varint(number << 3 | 2) + encode_varint(len(content)) + content


def request(span: bytes) -> bytes:
    """One request of this encoded span and a good one."""
    good = field(2, field(1, bytes.fromhex(TRACE)) + field(2, bytes(7) + b"\xaa"))
    return field(1, field(2, field(2, span) + good))


def nested(levels: int) -> bytes:
    value = b""
    for _ in range(levels):
        value = field(5, field(1, value))
    return value


IDS = field(1, bytes.fromhex(TRACE)) + field(2, bytes.fromhex(SPAN))
PB_AT = "resource_spans[0].scope_spans[0].spans[0]"

NO_REQUEST = "expected a protobuf ExportTraceServiceRequest, found "

PROTOBUF_ROWS = [
    # the whole request
    Row("no bytes", b""),
    Row("JSON", traces_json(GOOD), error=f"{NO_REQUEST}JSON text at byte 0"),
    Row("text", b"hello", error=f"{NO_REQUEST}wire type 4 at byte 2"),
    Row("cut off", request(IDS)[:-3], error=f"{NO_REQUEST}a field of 62 bytes where 59 are left at byte 0"),
    Row("an endless varint", b"\xff" * 32, error=f"{NO_REQUEST}a varint without an end at byte 0"),
    Row("field number 0", b"\x02\x00", error=f"{NO_REQUEST}field number 0 at byte 0"),
    Row("a length beyond the end", b"\x0a\xff\xff\xff\xff\x0f", error=f"{NO_REQUEST}a field of 4294967295 bytes where 0 are left at byte 0"),
    Row("a wire type that is none", b"\x0f", error=f"{NO_REQUEST}wire type 7 at byte 0"),
    Row("only unknown fields", field(99, b"x")),
    Row("a resource that is broken", field(1, field(1, b"\x0a\x05")), error=f"{NO_REQUEST}a field of 5 bytes where 0 are left at byte 4"),
    Row("a scope of no text", field(1, field(2, field(1, field(1, b"\xff")) + field(2, IDS))), 1),
    # ids
    Row("no ids", request(b""), 1, 1, f"{PB_AT}.trace_id"),
    Row("a trace id of zeros", request(field(1, bytes(16)) + field(2, bytes.fromhex(SPAN))), 1, 1, f"{PB_AT}.trace_id"),
    Row("a trace id of 8 bytes", request(field(1, bytes.fromhex(SPAN)) + field(2, bytes.fromhex(SPAN))), 1, 1, f"{PB_AT}.trace_id"),
    Row("hex text for a trace id", request(field(1, TRACE.encode()) + field(2, bytes.fromhex(SPAN))), 1, 1, f"{PB_AT}.trace_id"),
    Row("no span id", request(field(1, bytes.fromhex(TRACE))), 1, 1, f"{PB_AT}.span_id"),
    Row("a span id of zeros", request(field(1, bytes.fromhex(TRACE)) + field(2, bytes(8))), 1, 1, f"{PB_AT}.span_id"),
    Row("a parent of 3 bytes", request(IDS + field(4, b"abc")), 1, 1, f"{PB_AT}.parent_span_id"),
    Row("a parent of zeros", request(IDS + field(4, bytes(8))), 2),
    Row("a link without ids", request(IDS + field(13, b"")), 2),
    # content
    Row("a name that is no UTF-8", request(IDS + field(5, b"\xff\xfe")), 2),
    Row("an attribute cut inside a character", request(IDS + field(9, field(1, b"k") + field(2, field(1, "é".encode()[:1])))), 2),
    Row("a span that breaks off", request(IDS + b"\x2a\x7f"), 1, 1, PB_AT),
    Row("a span of noise", request(b"\x93\x27\x00\xff\x13"), 1, 1, PB_AT),
    Row("an attribute that breaks off", request(IDS + field(9, b"\x0a\x09k")), 1, 1, PB_AT),
    Row("a value nested 40 deep", request(IDS + field(9, field(1, b"k") + field(2, nested(40)))), 2),
    Row("a value nested too deep to parse", request(IDS + field(9, field(1, b"k") + field(2, nested(500)))), 2),
    Row("a name with a wrong wire type", request(IDS + b"\x28\x05"), 2),
    Row("unknown fields in a span", request(IDS + field(2000, b"later")), 2),
    Row("a kind of no known number", request(IDS + b"\x30\x63"), 2),
]  # fmt: skip


def outcome(decoder: Any, row: Row) -> tuple[int, int, str]:
    batch = decoder.decode_traces(row.body)
    assert decoder.check_traces(row.body) == Checked(len(batch.spans), batch.rejections)
    return len(batch.spans), len(batch.rejections), batch.rejections[0].path if batch.rejections else ""


@pytest.mark.parametrize(
    ("decoder", "row"),
    [pytest.param(json, row, id=f"json: {row.name}") for row in JSON_ROWS]
    + [pytest.param(protobuf, row, id=f"protobuf: {row.name}") for row in PROTOBUF_ROWS],
)
def test_a_hostile_request_costs_what_is_bad_in_it_and_no_more(decoder: Any, row: Row) -> None:
    if not row.error:
        assert outcome(decoder, row) == (row.accepted, row.rejected, row.path)
        return
    for read in (decoder.check_traces, decoder.decode_traces):
        with pytest.raises(MalformedError) as caught:
            read(row.body)
        assert str(caught.value) == row.error
        assert caught.value.permanent


def test_the_table_is_long_enough_to_mean_something() -> None:
    assert len({row.name for row in JSON_ROWS}) >= 40
    assert len({row.name for row in PROTOBUF_ROWS}) >= 25
