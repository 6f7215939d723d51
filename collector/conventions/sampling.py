"""Whether a span says that it was sampled: that others like it were left out.

Separate from the mappers because samplers mark spans of every producer alike. A trace that is kept is kept whole, so this
tells of traces that are missing, not of spans.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from collector.otlp.model import Span

_STATE: Final = re.compile(r"(?:^|,)\s*ot=(?:[^,;]*;)*(?:th:0*[1-9a-f][0-9a-f]*|p:0*[1-9][0-9]*)(?:[;,\s]|$)", re.ASCII)
"""OpenTelemetry's part of a tracestate: a threshold above none, or in the older draft a power of a half."""

SAMPLE_RATE: Final = "SampleRate"
SAMPLER: Final = "sampler.type"
SAMPLER_PARAM: Final = "sampler.param"
_MARKS: Final = frozenset((SAMPLE_RATE, SAMPLER))
_BY_CHANCE: Final = frozenset(("probabilistic", "ratelimiting", "lowerbound"))


def was_sampled(span: Span) -> bool:
    """Tell whether less than all was kept where this span was: by OpenTelemetry's tracestate, Honeycomb's rate or Jaeger's sampler.

    >>> [was_sampled(Span("", "", "", trace_state=state)) for state in ("ot=th:8", "x=1,ot=rv:7;th:0", "ot=p:2", "")]
    [True, False, True, False]
    """
    if span.trace_state and _STATE.search(span.trace_state):
        return True
    return not _MARKS.isdisjoint(span.attributes) and _marked(span.attributes)


def _marked(attributes: Mapping[str, Any]) -> bool:
    rate = attributes.get(SAMPLE_RATE)
    if isinstance(rate, int | float) and rate > 1:
        return True
    sampler = attributes.get(SAMPLER)
    if not isinstance(sampler, str) or sampler not in _BY_CHANCE:
        return False
    return sampler != "probabilistic" or attributes.get(SAMPLER_PARAM) not in (1, "1", "1.0")
