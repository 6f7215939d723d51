"""The ids of all spans at once: an answer only where the decoder would say the same of each span."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.otlp import encode, protobuf
from collector.otlp.checked import Checked
from collector.otlp.columns import count_spans
from collector.otlp.errors import MalformedError
from collector.otlp.model import Batch
from collector.otlp.wire import encode_varint
from tests.collector.otlp import worlds
from tests.collector.otlp.test_protobuf import CAPTURES, requests

TRACE, SPAN = bytes.fromhex(worlds.TRACE), bytes.fromhex(worlds.SPAN)


def field(number: int, content: bytes) -> bytes:
    return encode_varint(number << 3 | 2) + encode_varint(len(content)) + content


def request(*spans: bytes) -> bytes:
    """Each span, with times, in a scope of its own, of one resource."""
    return field(1, b"".join(field(2, field(2, span + TIMES)) for span in spans))


TIMES = b"\x39" + bytes(8) + b"\x41" + bytes(8)
GOOD = field(1, TRACE) + field(2, SPAN)
LONG_LENGTH = b"\x0a\x90\x00" + TRACE  # sixteen in two bytes
FAULTS = {
    "no trace id": field(2, SPAN),
    "no span id": field(1, TRACE),
    "nothing at all": b"",
    "a short trace id": field(1, TRACE[:8]) + field(2, SPAN),
    "a short span id": field(1, TRACE) + field(2, SPAN[:7]),
    "a trace id of zeros": field(1, bytes(16)) + field(2, SPAN),
    "a span id of zeros": field(1, TRACE) + field(2, bytes(8)),
    "a short parent": GOOD + field(4, b"abc"),
    "a parent without an end": GOOD + field(4, SPAN + b"more"),
    "a parent of twice the size": GOOD + field(4, SPAN * 2),
    "a second trace id that is short": GOOD + field(1, b"abc"),
    "a second span id of zeros": GOOD + field(2, bytes(8)),
}
ODD = {
    "two trace ids": GOOD + field(1, TRACE),
    "two span ids": GOOD + field(2, SPAN),
    "ids in the other order": field(2, SPAN) + field(1, TRACE),
    "a name before the ids": field(5, b"name") + GOOD,
    "a length in two bytes": LONG_LENGTH + field(2, SPAN),
    "a trace id in the place of another type": b"\x08\x05" + GOOD,
    "a parent of zeros": GOOD + field(4, bytes(8)),
    "two parents, the first short": GOOD + field(4, SPAN[:7]) + field(4, SPAN),
}
COUNTED = {
    "no parent": GOOD,
    "a parent": GOOD + field(4, SPAN),
    "an empty parent, as the OpenTelemetry Collector writes it": GOOD + field(4, b""),
    "a parent behind the trace state": GOOD + field(3, b"a=b") + field(4, SPAN),
    "a parent behind the name": GOOD + field(5, b"name") + field(4, SPAN),
    "two parents": GOOD + field(4, SPAN) + field(4, SPAN),
}


@pytest.mark.parametrize("capture", sorted(path.parent.name for path in CAPTURES.glob("*/expected.json")))
def test_what_the_encoders_of_the_field_send_is_counted(capture: str) -> None:
    for body in requests(Path(CAPTURES / capture / "traces.otlp.pb")):
        assert count_spans(body) == len(protobuf.decode_traces(body).spans)


@given(batch=worlds.batch)
@settings(max_examples=60, deadline=None)
def test_what_encoders_write_is_counted(batch: Batch) -> None:
    assert count_spans(encode.encode_traces(batch)) == len(batch.spans)


def test_an_empty_request_holds_no_spans() -> None:
    assert count_spans(b"") == 0


@pytest.mark.parametrize("name", FAULTS)
def test_a_bad_span_is_no_answer_wherever_it_stands(name: str) -> None:
    for spans in ((FAULTS[name],), (GOOD, FAULTS[name]), (FAULTS[name], GOOD)):
        assert count_spans(request(*spans)) is None


@pytest.mark.parametrize("name", COUNTED)
def test_a_good_span_is_counted_wherever_it_stands(name: str) -> None:
    for spans in ((COUNTED[name],), (GOOD, COUNTED[name]), (COUNTED[name], GOOD)):
        assert count_spans(request(*spans)) == len(spans)


def test_a_span_shorter_than_any_with_times_is_left_to_the_decoder() -> None:
    body = field(1, field(2, field(2, GOOD)))

    assert count_spans(body) is None
    assert protobuf.check_traces(body) == Checked(1)


def test_a_span_without_ids_is_not_hidden_by_one_that_has_them_twice() -> None:
    body = request(GOOD + field(1, TRACE) + field(2, SPAN), field(5, b"name"))

    assert count_spans(body) is None
    assert protobuf.check_traces(body).accepted == 1


spans = st.sampled_from([*COUNTED.values(), *FAULTS.values(), *ODD.values(), GOOD + field(9, field(1, b"\xff"))])


@given(spans=st.lists(spans, max_size=4), cut=st.none() | st.integers(0, 300))
@settings(max_examples=400, deadline=None)
def test_the_check_says_what_the_decoder_does(spans: list[bytes], cut: int | None) -> None:
    body = request(*spans)[:cut]
    assert _said(lambda: protobuf.check_traces(body)) == _said(lambda: _decoded(body))


def _decoded(body: bytes) -> Checked:
    batch = protobuf.decode_traces(body)
    assert count_spans(body) in (None, len(batch.spans))
    assert protobuf.trace_ids(body) == {span.trace_id for span in batch.spans}
    return Checked(len(batch.spans), batch.rejections)


def _said(work: Callable[[], Checked]) -> Checked | str:
    try:
        return work()
    except MalformedError as error:
        return str(error)


@given(batch=worlds.batch, data=st.data())
@settings(max_examples=150, deadline=None)
def test_what_the_c_parser_refuses_by_the_true_schema_is_no_answer(batch: Batch, data: st.DataObject) -> None:
    body = bytearray(encode.encode_traces(batch))
    if body:
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    try:
        ExportTraceServiceRequest.FromString(bytes(body))
    except DecodeError:
        assert count_spans(bytes(body)) is None
