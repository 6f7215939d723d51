from __future__ import annotations

import contextlib
import gzip
import random
import tracemalloc
import zlib
from collections.abc import Callable

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from collector.receive.inflate import InflateError, TooLargeError, inflate

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstandard.compress,
}


@given(body=st.binary(max_size=300_000), name=st.sampled_from(sorted(COMPRESS)))
def test_what_was_compressed_comes_back(body: bytes, name: str) -> None:
    assert inflate(COMPRESS[name](body), name, 300_000) == body


@given(body=st.binary(min_size=1, max_size=2000), name=st.sampled_from(sorted(COMPRESS)), data=st.data())
def test_what_is_cut_off_anywhere_is_never_half_a_body(body: bytes, name: str, data: st.DataObject) -> None:
    whole = COMPRESS[name](body)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with pytest.raises(InflateError):
        inflate(cut, name, 10_000)


@given(body=st.binary(max_size=2000), name=st.sampled_from(sorted(COMPRESS)))
def test_any_bytes_are_a_body_or_a_fault(body: bytes, name: str) -> None:
    with contextlib.suppress(InflateError, TooLargeError):
        assert len(inflate(body, name, 1 << 20)) <= 1 << 20


@pytest.mark.parametrize("name", sorted(COMPRESS))
def test_the_cap_holds_while_decompressing(name: str) -> None:
    random_body = random.Random(1).randbytes(5000)
    assert len(inflate(COMPRESS[name](random_body), name, 5000)) == 5000
    with pytest.raises(TooLargeError, match=f"expected at most 4999 bytes after {name}, found more"):
        inflate(COMPRESS[name](random_body), name, 4999)
    bomb = COMPRESS[name](bytes(200 << 20))
    tracemalloc.start()
    with pytest.raises(TooLargeError):
        inflate(bomb, name, 1 << 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 24 << 20
