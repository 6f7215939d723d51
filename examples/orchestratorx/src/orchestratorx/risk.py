"""Risk measures of a book from historical returns: pure numpy, no rules.

Separate from the RiskModeler, which holds them against limits. All measures assume that today's weights were held over
the whole history (the usual historical simulation), and that a share of equity which is not invested earns nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from orchestratorx.portfolio import Holding

__all__ = ["TRADING_DAYS", "Measures", "measure"]

TRADING_DAYS = 252
PARTICIPATION = 0.20


@dataclass(frozen=True, slots=True)
class Measures:
    """Risk of a book. Shares are of equity; losses are positive numbers.

    volatility: standard deviation of daily returns (n - 1) times the root of 252. var_95 / expected_shortfall_95: the
    5 % quantile of daily losses (linear interpolation) and the mean of the losses at or beyond it. max_drawdown: the
    largest fall from a peak of the compounded series, as a share of the peak, at most 1. stress_loss: every holding on
    its worst day at once. days_to_liquidate: the slowest holding at 20 % of its daily volume.
    """

    volatility: float
    var_95: float
    expected_shortfall_95: float
    max_drawdown: float
    stress_loss: float
    days_to_liquidate: float
    unmodelled: float
    days: int

    def to_dict(self) -> dict[str, float]:
        """The measures by name, rounded to 6 decimals."""
        return {name: round(value, 6) for name, value in asdict(self).items()}


def measure(holdings: Sequence[Holding], equity: float, history: Mapping[str, Sequence[float]]) -> Measures:
    """The measures of a book; holdings without history count in `unmodelled` and nowhere else."""
    known = [holding for holding in holdings if holding.instrument in history]
    days = max((len(history[holding.instrument]) for holding in known), default=0)
    unmodelled = sum(abs(holding.value) for holding in holdings if holding.instrument not in history) / equity
    liquidation = max(
        (abs(h.value) / (h.daily_volume * PARTICIPATION) for h in holdings if h.daily_volume), default=0.0
    )
    if not known:
        return Measures(0.0, 0.0, 0.0, 0.0, 0.0, liquidation, unmodelled, 0)
    weights = np.array([holding.value / equity for holding in known])
    table = np.array([history[holding.instrument] for holding in known])
    contributions = weights[:, None] * table
    daily = contributions.sum(axis=0)
    quantile = float(np.quantile(-daily, 0.95))
    tail = -daily[-daily >= quantile]
    wealth = np.concatenate(([1.0], np.cumprod(np.maximum(1.0 + daily, 0.0))))
    peaks = np.maximum.accumulate(wealth)
    return Measures(
        volatility=float(daily.std(ddof=1) * np.sqrt(TRADING_DAYS)),
        var_95=max(quantile, 0.0),
        expected_shortfall_95=max(float(tail.mean()), 0.0),
        max_drawdown=float((1.0 - wealth / peaks).max()),
        stress_loss=max(float(-contributions.min(axis=1).sum()), 0.0),
        days_to_liquidate=liquidation,
        unmodelled=unmodelled,
        days=days,
    )
