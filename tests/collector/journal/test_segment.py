"""The bytes of a segment: whole records come back, damage costs only what it touches."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.journal.segment import HEADER, Damage, UnknownVersionError, frame, header, read
from collector.report import Position, Record

MARKER = b"\x01\x02\x03\x04\x05\x06\x07\x08"


def record(number: int, body: bytes = b"") -> Record:
    return Record("traces", "protobuf", body or b"body %d" % number, 1000 + number, "tenant")


def segment(bodies: list[bytes]) -> bytes:
    return header(7, MARKER) + b"".join(b"".join(frame(record(n, body), MARKER)) for n, body in enumerate(bodies))


def bodies(found: list[Record | Damage]) -> list[bytes]:
    return [each.body for each in found if isinstance(each, Record)]


def test_a_record_comes_back_whole_with_its_place() -> None:
    data = header(7, MARKER) + b"".join(frame(Record("logs", "json", b"{}", 5, "ä\ud800"), MARKER))
    place, end = Position(7, HEADER.size), Position(7, len(data))
    assert list(read(data, 7, MARKER)) == [Record("logs", "json", b"{}", 5, "ä\ud800", place, end)]


def test_reading_goes_on_from_any_record() -> None:
    data = segment([b"a", b"b", b"c"])
    second = list(read(data, 7, MARKER))[1]
    assert isinstance(second, Record)
    assert bodies(list(read(data, 7, MARKER, second.position.offset))) == [b"b", b"c"]


def test_a_damaged_record_costs_itself_and_is_told_with_its_place() -> None:
    data = bytearray(segment([b"first", b"second", b"third"]))
    at = data.index(b"second")
    data[at] ^= 0xFF
    first, damage, third = read(bytes(data), 7, MARKER)
    assert isinstance(first, Record)
    assert isinstance(third, Record)
    assert damage == Damage(7, first.end.offset, third.position.offset, "damaged record")
    assert str(damage) == f"segment 7: damaged record in bytes {first.end.offset} to {third.position.offset}"


def test_a_sender_cannot_plant_a_record_behind_a_damaged_place() -> None:
    planted = b"".join(frame(record(9, b"planted"), b"guessed!"))
    data = bytearray(segment([b"x" * 50 + planted, b"next"]))
    data[HEADER.size + 20] ^= 0xFF
    assert bodies(list(read(bytes(data), 7, MARKER))) == [b"next"]


def test_a_damaged_header_costs_no_record_and_a_later_version_is_refused() -> None:
    data = bytearray(segment([b"a"]))
    data[3] ^= 0xFF
    assert bodies(list(read(bytes(data), 7, MARKER))) == [b"a"]
    import struct
    import zlib

    head = HEADER.pack(b"ORBITJNL", 2, 0, 7, MARKER, 0)[:-4]
    with pytest.raises(UnknownVersionError, match=r"segment 7 is of version 2; this program reads up to 1"):
        list(read(head + struct.pack("<I", zlib.crc32(head)), 7, MARKER))


@given(st.lists(st.binary(min_size=1, max_size=60), max_size=6), st.integers(0, 400))
def test_a_cut_costs_only_what_is_behind_it(sent: list[bytes], cut: int) -> None:
    data = segment(sent)[:cut]
    found = bodies(list(read(data, 7, MARKER)))
    assert found == sent[: len(found)]
    whole = [each for each in read(segment(sent), 7, MARKER) if isinstance(each, Record) and each.end.offset <= cut]
    assert len(found) == len(whole)


@given(
    st.lists(st.binary(min_size=1, max_size=60), min_size=1, max_size=8),
    st.integers(0, 10_000),
    st.integers(1, 80),
    st.randoms(use_true_random=False),
)
def test_rubbish_anywhere_costs_only_the_records_it_touches(
    sent: list[bytes], at: int, size: int, rng: random.Random
) -> None:
    data = bytearray(segment(sent))
    at %= len(data)
    whole = [each for each in read(bytes(data), 7, MARKER) if isinstance(each, Record)]
    data[at : at + size] = rng.randbytes(len(data[at : at + size]))
    untouched = {each.received_ns for each in whole if each.end.offset <= at or each.position.offset >= at + size}
    found = [each for each in read(bytes(data), 7, MARKER) if isinstance(each, Record)]
    assert [each for each in found if each in whole] == found  # no other, and in order
    assert untouched <= {each.received_ns for each in found}


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_an_error(data: bytes) -> None:
    for each in read(data, 1, MARKER):
        assert isinstance(each, Damage)
