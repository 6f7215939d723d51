"""Which runs caused a run: links through whatever passed a message on, one message to many, and what is no cause."""

from __future__ import annotations

import pytest

from collector.conventions.base import Convention, Registry, every_cause, no_cause
from collector.conventions.extract import extract
from collector.conventions.genai import facts
from collector.otlp.model import Batch, Span
from collector.recovery import recover
from tests.collector.spans import Trace

SCOPE = "post"


def edges(*traces: Trace, causal: bool = True) -> list[str]:
    convention = Convention("post", facts, scopes=(SCOPE,), causes=every_cause if causal else no_cause)
    batch = Batch(tuple(s for t in traces for s in t.spans))
    result = recover(extract(batch, Registry([convention])).spans)
    return [
        f"{h['source_agent']} -> {h['target_agent']} {h['origin']['evidence']}" for h in result.document["handoffs"]
    ]


def hop(number: int, agent: str, *causes: Span) -> tuple[Trace, Span]:
    """A trace in which an agent runs for a message, and what it sends."""
    t = Trace(SCOPE, number, start_ms=number * 100)
    came = t.span("process", 0, 50, links=causes)
    if agent:
        t.agent(agent, 1, 40, came)
    return t, t.span("send", 45, 46, came)


def test_a_message_leads_to_the_run_before_through_those_that_only_pass_it_on() -> None:
    start, first = hop(1, "")
    a, sent = hop(2, "Amt", first)
    router, passed = hop(3, "", sent)
    b, _ = hop(4, "Bote", passed)

    assert edges(b, router, a, start) == ["Amt -> Bote structural"]


def test_several_messages_to_one_run_are_a_handoff_each() -> None:
    start, first = hop(1, "")
    a, from_a = hop(2, "Amt", first)
    b, from_b = hop(3, "Bote", first)
    c, _ = hop(4, "Chefin", from_a, from_b)

    assert edges(start, a, b, c) == ["Amt -> Chefin structural", "Bote -> Chefin structural"]


def test_messages_that_go_round_end() -> None:
    a, sent = hop(1, "")
    b, back = hop(2, "", sent)
    a.spans[0] = Trace(SCOPE, 1, start_ms=100).span("process", 0, 50, links=(back,))
    c, _ = hop(3, "Chefin", back)

    assert edges(a, b, c) == []


@pytest.mark.parametrize("causal", [True, False])
def test_a_link_counts_only_where_its_producer_s_links_are_causes(causal: bool) -> None:
    start, first = hop(1, "")
    a, sent = hop(2, "Amt", first)
    b, _ = hop(3, "Bote", sent)

    assert edges(start, a, b, causal=causal) == (["Amt -> Bote structural"] if causal else [])
