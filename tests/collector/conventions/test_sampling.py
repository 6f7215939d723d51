"""What samplers write on the spans that they keep."""

from __future__ import annotations

from typing import Any

import pytest

from collector.conventions import extract
from collector.conventions.sampling import was_sampled
from collector.otlp.model import Batch, Span
from collector.sessions.sightings import Scopes, sightings


def span(state: str = "", **attributes: Any) -> Span:
    named = {name.replace("__", "."): value for name, value in attributes.items()}
    return Span("a" * 32, "b" * 16, "work", trace_state=state, attributes=named)


@pytest.mark.parametrize(
    ("kept", "sampled"),
    [
        (span(), False),
        (span("ot=th:8"), True),
        (span("ot=th:0"), False),
        (span("ot=th:00"), False),
        (span("vendor=th:8"), False),
        (span("vendor=1, ot=rv:6e6d1a75832a2f;th:c8"), True),
        (span("ot=rv:6e6d1a75832a2f"), False),
        (span("ot=p:0;r:5"), False),
        (span("ot=p:3;r:5"), True),
        (span("ot=p:x"), False),
        (span("ot=th:zz"), False),
        (span("boot=th:8"), False),
        (span("ot="), False),
        (span(SampleRate=1), False),
        (span(SampleRate=20), True),
        (span(SampleRate="often"), False),
        (span(sampler__type="const", sampler__param=True), False),
        (span(sampler__type="probabilistic", sampler__param=0.1), True),
        (span(sampler__type="probabilistic", sampler__param=1.0), False),
        (span(sampler__type="ratelimiting", sampler__param=2), True),
        (span(sampler__type=["probabilistic"]), False),
    ],
    ids=lambda value: f"{value.trace_state} {dict(value.attributes)}" if isinstance(value, Span) else str(value),
)
def test_a_sampler_that_left_others_out_is_known_by_its_mark(kept: Span, sampled: bool) -> None:
    assert was_sampled(kept) is sampled
    (sighting,) = sightings(extract(Batch((kept,))).spans, Scopes())
    assert sighting.sampled is sampled
