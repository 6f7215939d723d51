"""Tests of risk.py against figures worked out by hand and laws of the measures."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestratorx.portfolio import Holding
from orchestratorx.risk import measure


def holding(name: str, value: float, volume: float | None = 1000.0) -> Holding:
    return Holding(instrument=name, value=value, issuer=name, sector="s", asset_class="equity", daily_volume=volume)


def test_measures_of_four_days_by_hand() -> None:
    found = measure([holding("A", 50.0)], 100.0, {"A": (0.02, -0.04, 0.02, -0.04)})
    # half of the equity is invested: daily returns of 1 %, -2 %, 1 %, -2 %
    assert found.volatility == pytest.approx(math.sqrt(3) / 100 * math.sqrt(252))
    assert found.var_95 == pytest.approx(0.02)
    assert found.expected_shortfall_95 == pytest.approx(0.02)
    assert found.max_drawdown == pytest.approx(1 - 0.98 * 1.01 * 0.98)
    assert found.stress_loss == pytest.approx(0.02)
    assert (found.days, found.unmodelled, found.days_to_liquidate) == (4, 0.0, 0.25)


def test_a_hedge_takes_volatility_and_not_stress() -> None:
    history = {"A": (0.02, -0.03, 0.01), "B": (0.02, -0.03, 0.01)}
    found = measure([holding("A", 50.0), holding("B", -50.0)], 100.0, history)
    assert found.volatility == pytest.approx(0.0)
    assert found.stress_loss == pytest.approx(0.015 + 0.010)


def test_a_fall_of_more_than_everything_is_everything() -> None:
    assert measure([holding("A", 1000.0)], 100.0, {"A": (0.0, -0.2, 0.1)}).max_drawdown == 1.0


def test_what_has_no_history_counts_as_unmodelled_only() -> None:
    found = measure([holding("A", 50.0), holding("Z", -25.0, None)], 100.0, {"A": (0.01, 0.01)})
    assert (found.unmodelled, found.stress_loss) == (0.25, 0.0)
    assert measure([holding("Z", 25.0, None)], 100.0, {}).days == 0


days = st.lists(st.floats(-0.05, 0.05), min_size=3, max_size=30)


@given(days, st.floats(1.0, 3.0))
def test_risk_grows_with_leverage_and_is_never_negative(daily: list[float], times: float) -> None:
    history = {"A": tuple(daily)}
    small, large = (measure([holding("A", 100.0 * scale)], 100.0, history) for scale in (1.0, times))
    for name, value in small.to_dict().items():
        assert value >= 0
        if name not in ("days",):
            assert large.to_dict()[name] >= value - 1e-6
    assert large.volatility == pytest.approx(small.volatility * times)
