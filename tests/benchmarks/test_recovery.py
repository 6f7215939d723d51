"""What recovering a session costs grows with its size and no faster, whatever the framework: counted in calls, which no busy machine changes."""

from __future__ import annotations

import cProfile

import pytest

from benchmarks.loads import CAPTURES
from benchmarks.recovery import session
from collector.recovery import extract, recover


def of_each_producer() -> list[str]:
    """The first capture of each framework with each instrumentation."""
    first: dict[tuple[str, ...], str] = {}
    for name in sorted(path.parent.name for path in CAPTURES.glob("*/traces.otlp.pb")):
        first.setdefault(tuple(name.split("__")[:2]), name)
    return list(first.values())


def calls_a_span(name: str, size: int) -> float:
    facts = extract(session(name, size)).spans
    profile = cProfile.Profile()
    profile.runcall(recover, facts)
    return sum(entry.callcount for entry in profile.getstats()) / len(facts)


@pytest.mark.parametrize("name", of_each_producer())
def test_four_times_the_spans_take_four_times_the_calls(name: str) -> None:
    assert calls_a_span(name, 1600) < 1.1 * calls_a_span(name, 400)
