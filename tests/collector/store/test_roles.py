"""Totals by role: they are of what is listed now, whatever was committed, revised, superseded and deleted on the way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.store import FieldTotals, Known, Moment, PairTotals, RoleContractUse, RolesView, Store
from collector.store.roles import HOUR_NS
from tests.collector.store.makers import handoff, put, report

NOTHING = PairTotals("", "", 0, 0, None, 0, 0, 0, 0, 0)


@pytest.fixture
def store() -> Iterator[Store]:
    made = Store(None, now_ns=lambda: 100 * HOUR_NS)
    made.start()
    yield made
    made.stop()


def everything(store: Store) -> RolesView:
    return store.roles(0, 1000 * HOUR_NS)


def held(number: int, score: float, **values: object) -> object:
    return handoff(number, contracted=True, score=score, **values)


def test_pairs_fields_and_contracts_are_summed_over_sessions(store: Store) -> None:
    first = (
        held(1, 0.4, missing_fields=("goal",), present_fields=("plan",)),
        held(2, 1.0, present_fields=("goal",), empty_fields=("plan",)),
    )
    second = (
        held(1, 0.7, missing_fields=("goal",)),
        handoff(2, target_role="writer", score=1.0, extra_fields=("x",)),
        handoff(3, target_role="writer", score=None, unscored="not_recorded", recorded=False),
        held(4, None, unscored="dropped", status="dropped", missing_fields=("goal",)),  # type: ignore[arg-type]
        handoff(5, target_role="planner", mode="return", score=None, unscored="return_without_contract"),
        held(6, None, unscored="unrecorded_field", unrecorded_fields=("plan",)),  # type: ignore[arg-type]
    )
    put(store, report(1, handoffs=first, contract_name="desk", closed_ns=5 * HOUR_NS))
    put(store, report(2, handoffs=second, contract_name="desk", closed_ns=7 * HOUR_NS + 1))
    assert everything(store) == RolesView(
        pairs=(
            PairTotals(
                "planner", "researcher", 5, 3, 0.7, 0, 1, 0, 0, 1,
                (Moment(5 * HOUR_NS, 0.7, 2), Moment(7 * HOUR_NS, 0.7, 1)),
            ),
            PairTotals("planner", "writer", 2, 0, None, 1, 0, 1, 0, 0),
            PairTotals("planner", "planner", 1, 0, None, 0, 0, 0, 1, 0),
        ),
        pairs_in_all=3,
        whole=PairTotals("", "", 8, 3, pytest.approx(0.7), 1, 1, 1, 1, 1),  # type: ignore[arg-type]
        fields=(FieldTotals("researcher", "goal", 3, 2, 0, 0), FieldTotals("researcher", "plan", 3, 0, 1, 1)),
        contracts=(
            RoleContractUse("planner", True, "", 1),
            RoleContractUse("researcher", False, "desk", 5),
            RoleContractUse("writer", False, "", 2),
        ),
    )  # fmt: skip


def test_a_time_chooses_hours_and_a_step_joins_them(store: Store) -> None:
    for hour in range(6):
        put(store, report(hour, handoffs=(held(1, hour / 10),), contract_name="desk", closed_ns=hour * HOUR_NS))
    (pair,) = store.roles(2 * HOUR_NS, 6 * HOUR_NS, 2 * HOUR_NS).pairs
    assert pair.moments == (Moment(2 * HOUR_NS, 0.25, 2), Moment(4 * HOUR_NS, 0.45, 2))
    assert (pair.handoffs, pair.mean) == (4, 0.35)


def test_a_limit_cuts_the_list_and_not_the_sum(store: Store) -> None:
    put(store, report(handoffs=tuple(handoff(n, target_role=f"role-{n}") for n in range(5))))
    found = store.roles(0, HOUR_NS, limit=2)
    assert (len(found.pairs), found.pairs_in_all, found.whole.handoffs) == (2, 5, 5)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["put", "put", "revise", "supersede", "again", "delete"]),
            st.integers(1, 4),
            st.floats(0, 1),
        ),
        max_size=25,
    )
)
def test_totals_are_of_the_sessions_that_are_listed(steps: list[tuple[str, int, float]]) -> None:
    store = Store(None, now_ns=lambda: 100 * HOUR_NS)
    store.start()
    try:
        for revision, (step, number, score) in enumerate(steps, 1):
            made = report(
                number,
                revision,
                handoffs=(held(1, round(score, 6), missing_fields=("goal",)),),
                closed_ns=number * HOUR_NS,
            )
            if step in ("put", "revise"):
                put(store, made)
            elif step == "supersede":
                put(store, report(9, revision, handoffs=()), gone=((made.session_id, report(9).session_id),))
            elif step == "again":
                put(store, report(number, revision, handoffs=()))
            else:
                store.delete(made.session_id).result()
        rows = store.sessions().rows
        listed = [found for row in rows if (found := store.report(row.session_id)) is not None]
        scores = [row.score for found in listed for row in found.handoffs]
        whole = everything(store)
        assert (whole.whole.handoffs, sum(field.missing for field in whole.fields)) == (len(scores), len(scores))
        if not scores:
            assert whole == RolesView((), 0, NOTHING, (), ())
    finally:
        store.stop()


def test_what_can_be_filtered_by_is_known(store: Store) -> None:
    put(store, report(1, service="shop"), report(2, service="desk", roles=("writer",)), report(3, service="shop"))
    assert store.known() == Known(("desk", "shop"), ("planner", "researcher", "writer"))
