"""The walk over protobuf bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.otlp import encode, wire
from collector.otlp.errors import MalformedError
from collector.otlp.model import Batch
from tests.collector.otlp import worlds


@settings(max_examples=40, deadline=None)
@given(batch=worlds.batch)
def test_mending_a_sound_request_changes_nothing(batch: Batch) -> None:
    body = encode.encode_traces(batch)

    assert wire.mend(body, ExportTraceServiceRequest.DESCRIPTOR) == (body, {})


@given(body=st.binary(max_size=64))
def test_noise_is_mended_into_a_message_or_refused(body: bytes) -> None:
    try:
        mended, _ = wire.mend(body, ExportTraceServiceRequest.DESCRIPTOR)
    except MalformedError:
        return
    ExportTraceServiceRequest.FromString(mended)


@given(value=st.integers(0, 2**64 - 1))
def test_varints_round_trip(value: int) -> None:
    data = wire.encode_varint(value)

    assert wire.read_varint(data, 0, len(data)) == (value, len(data))


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff" * 10, b"\xff" * 9 + b"\x02"])
def test_a_varint_without_an_end_or_over_64_bits_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        wire.read_varint(data, 0, len(data))
