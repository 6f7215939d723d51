"""Tests of agents.py and rules.py: every rule fires just over its limit and not at it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestratorx.agents import ClientAdvisor, ComplianceChecker, RiskModeler
from orchestratorx.briefs import brief_for
from orchestratorx.policy import PolicyViolationError
from orchestratorx.portfolio import Book, parse_book
from orchestratorx.rules import LIMIT_KEYS, RULES, RULES_OF, limit_of
from orchestratorx.state import initial_state

FLAT: dict[str, tuple[float, ...]] = {"AQL-EQ": (0.0,) * 10}


def book(positions: Mapping[str, float], **changes: Any) -> Book:
    mandate = {"name": "any", "permitted_asset_classes": ["equity", "government_bond", "corporate_bond"]}
    described = {"issuer": "Issuer", "sector": "sector", "asset_class": "equity"}
    return parse_book(
        {
            "portfolio_id": "PF-1",
            "name": "A book",
            "equity": 1000.0,
            "mandate": mandate | changes.pop("mandate", {}),
            "positions": [
                {"instrument": name, "value": value} | (described if name.startswith("OWN") else {})
                for name, value in positions.items()
            ],
        }
    )


def found(agent: Any, reviewed: Book, **brief: Any) -> list[tuple[str, str]]:
    fields = brief_for(agent.name, initial_state("run", reviewed, 12)) | brief
    return [(finding.code, finding.subject) for finding in agent(fields).findings]


def compliance(positions: Mapping[str, float], **changes: Any) -> list[tuple[str, str]]:
    return found(ComplianceChecker(), book(positions, **changes), risk_summary={"status": "completed"})


def test_codes_severities_and_keys_are_unique_and_in_order() -> None:
    assert list(RULES) == [f"RSK-00{n}" for n in range(1, 7)] + [f"CMP-00{n}" for n in range(1, 6)]
    assert len(LIMIT_KEYS) == len(RULES)
    assert all(rule.reason and rule.title and rule.unit for rule in RULES.values())
    assert (*RULES_OF["RiskModeler"], *RULES_OF["ComplianceChecker"]) == tuple(RULES)


def test_the_specification_prints_the_table_of_rules() -> None:
    page = (Path(__file__).parents[1] / "SPECIFICATION.md").read_text(encoding="utf-8")
    for rule in RULES.values():
        row = (rule.code, rule.severity.value, f"`{rule.key}`", f"{rule.limit:g}", rule.unit, rule.title, rule.reason)
        assert f"| {' | '.join(row)} |" in page


def test_a_mandate_can_tighten_a_limit_and_not_loosen_it() -> None:
    assert limit_of("CMP-002", {"max_issuer_weight": 0.05}) == 0.05
    assert limit_of("CMP-002", {"max_issuer_weight": 0.50}) == 0.10


def test_an_issuer_at_the_limit_passes_and_one_over_it_does_not() -> None:
    assert compliance({"AQL-EQ": 100.0}) == []
    assert compliance({"AQL-EQ": 100.01}) == [("CMP-002", "Aquila Software")]
    assert compliance({"AQL-EQ": 60.0}, mandate={"limits": {"max_issuer_weight": 0.05}}) == [
        ("CMP-002", "Aquila Software")
    ]


def test_short_positions_count_as_exposure() -> None:
    assert compliance({"AQL-EQ": -150.0}) == [("CMP-002", "Aquila Software")]


def test_leverage_is_gross_exposure_over_equity() -> None:
    limits = {"max_leverage": 0.5}
    split = {"AQL-EQ": 90.0, "DLM-EQ": 90.0, "FNT-EQ": 90.0, "HLX-EQ": 90.0, "JNP-EQ": 90.0}
    assert compliance(split, mandate={"limits": limits}) == []
    assert compliance(split | {"LMB-EQ": -60.0}, mandate={"limits": limits}) == [("CMP-004", "portfolio")]


def test_a_restricted_sector_is_a_breach_at_any_size() -> None:
    restricted = {"restricted_sectors": ["tobacco"]}
    assert compliance({"RED-EQ": 0.01}, mandate=restricted) == [("CMP-003", "tobacco")]
    assert compliance({"RED-EQ": 0.01}) == []


def test_a_book_cannot_rename_the_sector_that_it_holds() -> None:
    lie = {"instrument": "RED-EQ", "value": 1.0, "issuer": "x", "sector": "wellness", "asset_class": "equity"}
    honest = book({"RED-EQ": 1.0}, mandate={"restricted_sectors": ["tobacco"]})
    renamed = parse_book(honest.model_dump() | {"positions": [lie]})
    assert found(ComplianceChecker(), renamed, risk_summary={"status": "completed"}) == [("CMP-003", "tobacco")]


def test_an_asset_class_outside_the_mandate_is_a_breach() -> None:
    assert compliance({"TRS-2Y": 10.0}, mandate={"permitted_asset_classes": ["equity"]}) == [
        ("CMP-001", "government_bond")
    ]


def test_a_sector_over_its_weight_is_a_breach_though_its_issuers_are_not() -> None:
    names = {"AQL-EQ": 99.0, "BRT-EQ": 99.0, "CDR-EQ": 99.0}
    assert compliance(names, mandate={"limits": {"max_sector_weight": 0.297}}) == []
    assert compliance(names, mandate={"limits": {"max_sector_weight": 0.29}}) == [("CMP-005", "technology")]


HISTORIES: dict[str, tuple[dict[str, tuple[float, ...]], dict[str, float], str]] = {
    # up and down by a whole position of equity: volatility 1.6 % a day is 25 % a year; VaR under 3 %
    "RSK-001": ({"AQL-EQ": (0.016, -0.016) * 50}, {"AQL-EQ": 1000.0}, "portfolio"),
    "RSK-002": ({"AQL-EQ": (0.0,) * 90 + (-0.04,) * 10}, {"AQL-EQ": 1000.0}, "portfolio"),
    "RSK-003": ({"AQL-EQ": (-0.004,) * 120}, {"AQL-EQ": 1000.0}, "portfolio"),
    "RSK-004": ({"AQL-EQ": (0.0,) * 99 + (-0.3,)}, {"AQL-EQ": 1000.0}, "portfolio"),
    "RSK-005": (FLAT, {"OWN": 1.0}, "OWN"),
    "RSK-006": (FLAT, {"AQL-EQ": 480e6 * 0.2 * 11}, "AQL-EQ"),
}


@pytest.mark.parametrize("code", HISTORIES)
def test_each_risk_rule_fires_on_its_own_world(code: str) -> None:
    history, positions, subject = HISTORIES[code]
    assert (code, subject) in found(RiskModeler(history), book(positions))


def test_a_quiet_book_has_no_risk_findings() -> None:
    assert found(RiskModeler(FLAT), book({"AQL-EQ": 1000.0})) == []


@pytest.mark.parametrize("agent", [RiskModeler(), ComplianceChecker()])
@pytest.mark.parametrize("lost", ["mandate", "positions", "portfolio_id"])
def test_required_specialists_refuse_an_incomplete_brief(agent: Any, lost: str) -> None:
    brief = brief_for(agent.name, initial_state("run", book({"AQL-EQ": 1.0}), 12))
    for given in ({name: value for name, value in brief.items() if name != lost}, brief | {lost: None}):
        with pytest.raises(PolicyViolationError, match=f"the brief lacks {lost}"):
            agent(given)


def test_the_advisor_says_how_much_to_sell() -> None:
    opened = {
        "count": 3,
        "items": [
            {"code": "CMP-002", "subject": "Aquila Software", "message": "m"},
            {"code": "CMP-004", "subject": "portfolio", "message": "m"},
            {"code": "RSK-003", "subject": "portfolio", "message": "largest drawdown 40.0 %, limit 35.0 %"},
        ],
    }
    brief = brief_for("ClientAdvisor", initial_state("run", book({"AQL-EQ": 1600.0}), 12)) | {"open_findings": opened}
    assert ClientAdvisor()(brief).evidence["actions"] == [
        "CMP-002: reduce Aquila Software by 1,500",
        "CMP-004: reduce gross exposure by 100",
        "RSK-003: bring portfolio back within its limit (largest drawdown 40.0 %, limit 35.0 %)",
    ]


@pytest.mark.parametrize("brief", [{}, {"open_findings": []}, {"open_findings": None, "positions": []}])
def test_an_advisor_without_findings_has_nothing_to_plan_and_says_so(brief: dict[str, Any]) -> None:
    result = ClientAdvisor()(brief)
    assert (result.evidence, result.summary) == ({"actions": []}, "no finding was handed over: nothing to plan")
