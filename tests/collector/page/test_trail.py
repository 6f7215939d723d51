"""What became of a field, handoff by handoff."""

from __future__ import annotations

import time
from typing import Any

from collector.page.trail import EVENTS, FieldTrail, difference, trail
from tests.collector.page.makers import analysis, handoff


def events(found: FieldTrail) -> list[tuple[int, str, bool, int]]:
    return [(hop.number, hop.event, hop.required, hop.before) for hop in found.hops]


def test_a_field_is_introduced_carried_changed_emptied_and_dropped() -> None:
    found = trail(
        analysis(
            handoff(1, "a", "b", {"goal": "ship"}),
            handoff(2, "b", "c", {"goal": "ship"}),
            handoff(3, "c", "b", {"goal": "ship today"}),
            handoff(4, "b", "c", {"goal": ""}),
            handoff(5, "c", "b", {"plan": "x"}),
            handoff(6, "b", "a", {"goal": "ship today"}),
            b=["goal"],
            c=["goal"],
        ),
        "goal",
    )
    assert events(found) == [
        (1, "introduced", True, 0),
        (2, "carried", True, 1),
        (3, "changed", True, 2),
        (4, "emptied", True, 3),
        (5, "dropped", True, 3),
        (6, "carried", False, 3),
    ]
    assert found.hops[2].compared == (("gone", "ship"), ("new", "ship today"))
    assert (found.elsewhere, found.names) == (0, ("goal", "plan"))


def test_a_field_that_the_source_never_had_is_missing_and_says_where_it_stopped() -> None:
    found = trail(
        analysis(handoff(1, "a", "b", {"goal": "x"}), handoff(2, "b", "c"), handoff(3, "c", "d"), d=["goal"]), "goal"
    )
    assert events(found) == [(1, "introduced", False, 0), (2, "dropped", False, 1), (3, "missing", True, 0)]
    assert found.hops[2].remark == "last handed over in handoff 1, and it never reached c"


def test_runs_do_not_know_of_each_other() -> None:
    found = trail(
        analysis(handoff(1, "a", "b", {"goal": "x"}, run="one"), handoff(2, "b", "c", run="two"), c=["goal"]), "goal"
    )
    assert [hop.event for hop in found.hops] == ["introduced", "missing"]


def test_what_nobody_can_know_is_neither_missing_nor_dropped() -> None:
    cut: dict[str, Any] = {"truncated": True}
    seen = handoff(5, "b", "c", {"goal": "x"})
    seen["fields"][0]["seen_in"] = "history"
    found = trail(
        analysis(
            handoff(1, "a", "b", {"goal": "x"}),
            handoff(2, "b", "c", recorded=False),
            handoff(3, "b", "c", **cut),
            handoff(4, "b", "c", {"goal": "y"}, status="dropped"),
            seen,
            c=["goal"],
        ),
        "goal",
    )
    assert [hop.event for hop in found.hops] == ["introduced", "not recorded", "unrecorded", "refused", "visible"]
    assert {hop.event for hop in found.hops} <= EVENTS.keys()


def test_of_two_redacted_values_only_hashes_are_the_same() -> None:
    def passed(value: str) -> FieldTrail:
        both = [handoff(n, a, b, {"goal": value}) for n, a, b in ((1, "a", "b"), (2, "b", "c"))]
        for one in both:
            one["fields"][0]["state"] = "redacted"
        return trail(analysis(*both), "goal")

    assert [hop.remark for hop in passed("blake2b:00ff").hops] == ["", "same hash as before"]
    assert passed("[REDACTED]").hops[1].remark == "redacted, so nobody can say whether it is the same value"


def test_a_comparison_ends_soon_whatever_the_texts_are() -> None:
    begun = time.process_time()
    pieces = difference("a b " * 50_000, "b a " * 50_000)
    assert time.process_time() - begun < 2
    assert pieces[-1][0] == "more"


def test_a_session_without_the_field_has_no_hop() -> None:
    assert trail(analysis(handoff(1, "a", "b", {"goal": "x"})), "nothing").hops == ()
