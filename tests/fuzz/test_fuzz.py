"""A short run of every fuzz target, and again every input that ever broke one. `make fuzz` runs for longer."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.seeds import kept, seeds
from tests.fuzz.targets import TARGETS

INTERESTING = [
    b"\x00",
    b"\xff",
    b"\x0a",
    b"\x12",
    b'"',
    b"\\",
    b"[" * 300,
    b"{",
    b"}",
    b"null",
    b"1e999",
    b"\xed\xa0\x80",
    b"\\ud800",
]


@pytest.mark.parametrize(("target", "name"), [(target, name) for target in TARGETS for name in kept(target)])
def test_what_was_once_found_stays_fixed(target: str, name: str) -> None:
    TARGETS[target](kept(target)[name])


@pytest.mark.parametrize("target", TARGETS)
def test_every_seed_keeps_the_promises(target: str) -> None:
    assert seeds(target)
    for seed in seeds(target):
        TARGETS[target](seed)


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_mutated_seeds_keep_the_promises(target: str, data: st.DataObject) -> None:
    body = data.draw(st.sampled_from(seeds(target)))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(body)))
        end = data.draw(st.integers(start, min(len(body), start + 40)))
        put = data.draw(st.one_of(st.sampled_from(INTERESTING), st.binary(max_size=6), st.just(body[start:end] * 2)))
        body = body[:start] + put + body[end:]
    TARGETS[target](body)
