from __future__ import annotations

from collector.page.roles import roles, window
from collector.store import FieldTotals, Moment, PairTotals, RoleContractUse, RolesView
from collector.store.roles import HOUR_NS

NOW = 1_000 * HOUR_NS + 5


def test_a_range_ends_with_the_step_that_is_now() -> None:
    assert window("24h", NOW) == (977 * HOUR_NS, 1_001 * HOUR_NS, HOUR_NS)
    assert window("7d", NOW) == ((1_002 - 168) * HOUR_NS, 1_002 * HOUR_NS, 6 * HOUR_NS)


def test_what_has_no_verdict_is_counted_under_its_reason() -> None:
    moment = Moment(990 * HOUR_NS, 0.4, 8)
    judged = PairTotals("a", "b", 10, 8, 0.4, 0, 1, 1, 0, 0, (moment,))
    free = PairTotals("b", "c", 1_990, 0, None, 1_990, 0, 0, 0, 0)
    whole = PairTotals("", "", 2_000, 8, 0.4, 1_990, 1, 1, 0, 0)
    found = RolesView(
        (judged, free), 5, whole, (FieldTotals("b", "goal", 10, 7, 2, 1),), (RoleContractUse("c", False, "", 1_990),)
    )
    made = roles(found, "24h", NOW)
    assert (made.judged, made.score, made.grade, made.pairs_left_out) == ("< 1 %", "0.40", "D", 3)
    assert made.parts == (
        ("judged", "held against a contract and scored", "8", "< 1 %"),
        ("free", "no contract for the target's role: nothing was asked for", "1\u202f990", "> 99 %"),
        ("not-recorded", "its content was not recorded", "1", "< 1 %"),
        ("lost", "asked for and never taken up", "1", "< 1 %"),
    )
    assert made.pairs[0].unjudged == (("1", "its content was not recorded"), ("1", "asked for and never taken up"))
    assert (made.pairs[1].grade, made.pairs[1].chart) == ("", None)
    assert (made.fields[0].share, made.fields[0].missing, made.contracts[0].contract) == ("90 %", "7", "")


def test_nothing_at_all_is_said_to_be_nothing() -> None:
    nothing = PairTotals("", "", 0, 0, None, 0, 0, 0, 0, 0)
    made = roles(RolesView((), 0, nothing, (), ()), "7d", NOW)
    assert (made.handoffs, made.score, made.judged, made.coverage) == (0, "–", "–", None)
