"""The one table of rule codes: what each means, how grave it is, its limit and the reason for the limit.

Separate from the agents that evaluate the rules, because three parties read it: the agents (limits), the orchestrator
(which refuses a finding whose code or severity is not in the table) and the specification (which prints it).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["LIMIT_KEYS", "RULES", "RULES_OF", "Rule", "Severity", "limit_of"]


class Severity(StrEnum):
    """How grave a finding is; `rank` orders them."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """0 for low to 3 for critical."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the house.

    `limit` is in `unit`; a mandate may name a stricter one under `key`, and the stricter of the two applies.
    """

    code: str
    agent: str
    severity: Severity
    title: str
    key: str
    limit: float
    unit: str
    reason: str


_TABLE = (
    Rule(
        "RSK-001",
        "RiskModeler",
        Severity.MEDIUM,
        "annualised volatility over the limit",
        "max_volatility",
        0.20,
        "of equity a year",
        "a diversified equity index moves about 15 to 18 % a year; more than 20 % is a view, not diversification",
    ),
    Rule(
        "RSK-002",
        "RiskModeler",
        Severity.MEDIUM,
        "one-day 95 % value at risk over the limit",
        "max_var_95",
        0.03,
        "of equity",
        "one day in twenty loses more than this; 3 % is twice what a 15 % volatile book loses",
    ),
    Rule(
        "RSK-003",
        "RiskModeler",
        Severity.HIGH,
        "largest drawdown over the limit",
        "max_drawdown",
        0.35,
        "of the peak",
        "a book that is down 35 % needs to gain 54 % to come back, and clients leave before it does",
    ),
    Rule(
        "RSK-004",
        "RiskModeler",
        Severity.CRITICAL,
        "one-day stress loss over the limit",
        "max_stress_loss",
        0.25,
        "of equity",
        "every holding on its worst day at once; a quarter of the equity gone in a day brings the lender's call first",
    ),
    Rule(
        "RSK-005",
        "RiskModeler",
        Severity.MEDIUM,
        "holding without price history",
        "max_unmodelled",
        0.0,
        "of equity",
        "a holding that is not in the data has no risk in the figures: they understate, and must say so",
    ),
    Rule(
        "RSK-006",
        "RiskModeler",
        Severity.LOW,
        "days to liquidate over the limit",
        "max_days_to_liquidate",
        10.0,
        "trading days at 20 % of average daily volume",
        "two weeks is the usual notice of a client who leaves",
    ),
    Rule(
        "CMP-001",
        "ComplianceChecker",
        Severity.HIGH,
        "asset class outside the mandate",
        "max_outside_mandate",
        0.0,
        "of equity",
        "the mandate names what may be held; the rest was never agreed",
    ),
    Rule(
        "CMP-002",
        "ComplianceChecker",
        Severity.HIGH,
        "single-issuer weight over the limit",
        "max_issuer_weight",
        0.10,
        "of equity",
        "one default must not cost more than a bad year; 10 % is the limit of the UCITS directive for one issuer",
    ),
    Rule(
        "CMP-003",
        "ComplianceChecker",
        Severity.CRITICAL,
        "restricted sector held",
        "max_restricted",
        0.0,
        "of equity",
        "an exclusion is a promise to the client, not a preference: there is no amount of it that is small",
    ),
    Rule(
        "CMP-004",
        "ComplianceChecker",
        Severity.HIGH,
        "gross exposure over the limit",
        "max_leverage",
        1.50,
        "times equity",
        "at 1.5 times, a fall of two thirds takes the equity; above it, losses outrun margin calls",
    ),
    Rule(
        "CMP-005",
        "ComplianceChecker",
        Severity.MEDIUM,
        "sector weight over the limit",
        "max_sector_weight",
        0.40,
        "of equity",
        "issuers of one sector fall together: many names are not many bets",
    ),
)

RULES: dict[str, Rule] = {rule.code: rule for rule in _TABLE}

RULES_OF: dict[str, tuple[str, ...]] = {
    agent: tuple(rule.code for rule in _TABLE if rule.agent == agent) for agent in ("RiskModeler", "ComplianceChecker")
}

LIMIT_KEYS: frozenset[str] = frozenset(rule.key for rule in _TABLE)


def limit_of(code: str, limits: Mapping[str, float]) -> float:
    """The limit that applies: the stricter of the house's and the mandate's."""
    rule = RULES[code]
    return min(rule.limit, limits.get(rule.key, rule.limit))
