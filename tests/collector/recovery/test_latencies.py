"""Latencies: from where they are measured, when they are not known, and what is noted of them."""

from __future__ import annotations

from collector.recovery import Recovered
from tests.collector.spans import Trace, recovered, relays


def told(result: Recovered) -> list[tuple[str, list[str]]]:
    """Latency and notes of each handoff."""
    handoffs = result.document["handoffs"]
    return [(str(h["latency_ms"]), [n.code for n in result.notes if n.where == h["handoff_id"]]) for h in handoffs]


def test_a_target_that_began_before_the_request_ended_has_no_latency_and_a_note() -> None:
    t = Trace()
    root = t.span("w", 0, 90)
    t.tool("transfer_to_tracker", 18, 30, t.agent("desk", 1, 31, root), arguments={"goal": "g"})
    t.agent("tracker", 25, 80, root)

    result = recovered(t)
    assert relays(result) == ['desk -> tracker transfer explicit None {"goal": "g"}']
    assert told(result) == [("None", ["latency_negative"])]
    assert result.document["handoffs"][0]["notes"] == [
        "the target began before the request ended; the latency is not known"
    ]


def test_a_transfer_that_the_next_trace_takes_up_may_have_waited_for_a_user() -> None:
    first, second = Trace(), Trace(number=2, start_ms=5_000)
    root = first.span("turn", 0, 40, session__id="s")
    first.tool("transfer_to_tracker", 18, 19, first.agent("desk", 1, 30, root), arguments={"goal": "g"})
    second.agent("tracker", 10, 80, second.span("turn", 0, 90, session__id="s"))

    result = recovered(first, second)
    assert told(result) == [("4991", ["latency_user_wait"])]


def test_a_target_in_another_trace_that_a_message_led_to_waited_for_nobody() -> None:
    first, second = Trace(), Trace(number=2, start_ms=50)
    root = first.span("turn", 0, 40, session__id="s")
    call = first.tool("transfer_to_tracker", 18, 19, first.agent("desk", 1, 30, root), arguments={"goal": "g"})
    second.agent("tracker", 10, 80, second.span("turn", 0, 90, session__id="s", links=(call,)))

    assert told(recovered(first, second)) == [("41", [])]
