"""Tests of answers.py: what an agent cannot get past the supervisor."""

from __future__ import annotations

import pytest

from orchestratorx.answers import EVIDENCE_LIMIT, checked
from orchestratorx.policy import PolicyViolationError
from orchestratorx.rules import RULES, RULES_OF
from orchestratorx.state import ADVISOR, AgentResult, ReportStatus
from scripted import LIES, book, finding, tells, world


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_a_policy_violation_and_never_a_clean_report(lie: str) -> None:
    made = world(risk=[LIES[lie]], attempts=3).run(book())
    assert made.report.status is ReportStatus.INCOMPLETE
    assert made.path.count("RiskModeler") == 1
    assert made.state["findings"] == []
    assert "PolicyViolationError" in made.report.incomplete[0]


def test_an_honest_answer_is_taken_as_it_is() -> None:
    answer = tells("RSK-001", "RSK-006")("RiskModeler", {})
    assert checked("RiskModeler", answer) == answer


def test_what_is_kept_shares_nothing_with_the_agent() -> None:
    evidence = {"measures": [1]}
    kept = checked("RiskModeler", AgentResult("RiskModeler", (), RULES_OF["RiskModeler"], evidence))
    evidence["measures"].append(2)
    assert kept.evidence == {"measures": [1]}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (AgentResult("RiskModeler", (), ("RSK-001",)), "did not say that it evaluated RSK-002, RSK-003"),
        (AgentResult("RiskModeler", (finding("CMP-002", agent="RiskModeler"),), tuple(RULES)), "not one of its rules"),
        (AgentResult("RiskModeler", (), tuple(RULES), {"x": "y" * EVIDENCE_LIMIT}), "expected at most 65536"),
        (AgentResult("RiskModeler", (), tuple(RULES), {"x": float("nan")}), "evidence is not JSON"),
        (AgentResult("RiskModeler", (), tuple(RULES), [1]), "expected evidence to be an object"),  # type: ignore[arg-type]
        (AgentResult("RiskModeler", (), tuple(RULES), summary=3), "expected summary to be text"),  # type: ignore[arg-type]
        (AgentResult("RiskModeler", (), tuple(RULES), error="but"), "it does not return a failure"),
    ],
)
def test_a_refusal_says_what_was_wrong(answer: AgentResult, message: str) -> None:
    with pytest.raises(PolicyViolationError, match=message):
        checked("RiskModeler", answer)


def test_the_advisor_finds_nothing_of_its_own() -> None:
    answer = AgentResult(ADVISOR, (finding("CMP-002", agent=ADVISOR),), (), {"actions": []})
    with pytest.raises(PolicyViolationError, match="rule 'CMP-002' is not one of its rules"):
        checked(ADVISOR, answer)


@pytest.mark.parametrize("actions", [None, 5, [1], "sell"])
def test_a_mitigation_plan_is_a_list_of_text(actions: object) -> None:
    with pytest.raises(PolicyViolationError, match="expected actions to be a list of text"):
        checked(ADVISOR, AgentResult(ADVISOR, evidence={"actions": actions}))
