"""The list: addresses, and rows from a store."""

from __future__ import annotations

import msgspec
import pytest

from collector.page import words
from collector.page.roles import roles
from collector.page.sessions import AddressError, Wanted, listing, wanted
from collector.store import Known, Page, PairTotals, RolesView, SessionFilter, Store
from tests.collector.store.makers import SECOND, handoff, put, report


def test_an_address_is_read_and_written_back() -> None:
    asked = wanted({"service": "shop", "grade": "C", "text": " a&b ", "within": "24h", "order": "weakest", "role": ""})
    assert asked == Wanted(service="shop", grade="C", text="a&b", within="24h", order="weakest")
    assert asked.address() == "/?service=shop&grade=C&within=24h&text=a%26b&order=weakest"
    assert asked.address(order="recent", page="x=") == "/?service=shop&grade=C&within=24h&text=a%26b&page=x%3D"
    assert (Wanted().address(), Wanted().filtered, asked.filtered) == ("/", False, True)


def test_times_choose_by_the_close_in_utc() -> None:
    day = 86_400 * SECOND
    asked = wanted({"since": "2027-01-15T08:00", "until": "2027-01-15T09:00"})
    assert asked.chosen(0) == SessionFilter(since_ns=1_800_000_000 * SECOND, until_ns=1_800_003_600 * SECOND)
    assert wanted({"within": "24h"}).chosen(10 * day).since_ns == 9 * day


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"grade": "E"}, "expected grade one of A, B, C, D, F, found 'E'"),
        ({"within": "year"}, "expected within one of 1h, 24h, 7d, 30d, found 'year'"),
        ({"servce": "x"}, "expected filters service, role, grade, within, since, until, text, found 'servce'"),
        ({"since": "yesterday"}, "expected since as a time such as 2026-11-30T12:00, found 'yesterday'"),
    ],
)
def test_an_address_that_cannot_be_meant_is_refused(query: dict[str, str], message: str) -> None:
    with pytest.raises(AddressError) as caught:
        wanted(query)
    assert str(caught.value) == message


def test_a_name_that_no_address_can_hold_is_not_offered() -> None:
    long = "x" * 100_000
    made = listing(Wanted(), Page((), ""), Known(("shop", long), ("planner", long)), 0, 0)
    assert (made.services, made.roles) == ((("shop", "shop"),), (("planner", "planner"),))
    pair = PairTotals("planner", long, 1, 0, None, 1, 0, 0, 0, 0)
    (shown,) = roles(RolesView((pair,), 1, pair, (), ()), "24h", 0).pairs
    assert (shown.target_key, shown.target) == ("", words.shown(long))


def test_a_row_says_what_it_cannot_say() -> None:
    store = Store(None)
    store.start()
    try:
        none = handoff(score=None, grade="", unscored="not_recorded", recorded=False)
        put(
            store,
            report(1, mean_contracted=0.7),
            report(2),
            report(3, mean_score=None, grade="", scored=0, unscored=1, weakest_handoff="", handoffs=(none,), partial=("sampled",)),
            report(4, mean_score=None, grade="", scored=0, weakest_handoff="", handoffs=()),
        )  # fmt: skip
        made = listing(Wanted(), store.sessions(), store.known(), 4, 0)
    finally:
        store.stop()
    rows = [(row.name, row.score, row.grade_class, row.why_no_score, [tag for tag, _ in row.tags]) for row in made.rows]
    assert rows == [
        ("s-4", "–", "g-none", "no handoffs", []),
        ("s-3", "–", "g-none", "nothing scored", ["partial"]),
        ("s-2", "0.70", "g-none", "", ["no contract"]),
        ("s-1", "0.70", "g-c", "", []),
    ]
    assert (made.older, made.newest, msgspec.structs.astuple(made)[4:6]) == (
        "",
        "",
        ((("shop", "shop"),), (("planner", "planner"), ("researcher", "researcher"))),
    )
