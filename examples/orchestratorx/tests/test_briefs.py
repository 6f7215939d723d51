"""Tests of briefs.py: what crosses, and that contracts.yaml and the specification say the same."""

from __future__ import annotations

import fnmatch
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from orchestratorx.agents import default_specialists
from orchestratorx.briefs import BRIEF_FIELDS, RETURN_FIELDS, Handoff, brief_for, incomplete, return_fields
from orchestratorx.orchestrator import Orchestrator
from orchestratorx.portfolio import demo_book
from orchestratorx.state import AgentResult, Escalation, Outcome, initial_state
from scripted import book, entries, raises, tells, world

ROLES = {
    "risk_modeler": "RiskModeler",
    "compliance_checker": "ComplianceChecker",
    "client_advisor": "ClientAdvisor",
    "reporter": "Reporter",
}


def contracts() -> dict[str, Any]:
    rule: dict[str, Any] = yaml.safe_load((files("orchestratorx") / "contracts.yaml").read_text())["rules"][0]
    return rule


def test_contracts_are_the_briefs() -> None:
    found = contracts()["contract"]
    back = found.pop("supervisor.return")
    assert {ROLES[role]: tuple(fields) for role, fields in found.items()} == BRIEF_FIELDS
    assert (tuple(back["fields"]), back["accept"]) == (RETURN_FIELDS, "carried")


def test_every_agent_of_the_graph_has_one_role() -> None:
    agents = ["supervisor", *default_specialists()]
    patterns = contracts()["roles"]
    matched = {
        a: [role for role, globs in patterns.items() if any(fnmatch.fnmatchcase(a, g) for g in globs)] for a in agents
    }
    assert matched == {"supervisor": ["supervisor"]} | {agent: [role] for role, agent in ROLES.items()}


def test_the_specification_lists_the_same_fields() -> None:
    page = (Path(__file__).parents[1] / "SPECIFICATION.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| supervisor -> (\w+) \| \w+ \| (.*) \|$", page, re.MULTILINE)
    assert {agent: tuple(fields.split(", ")) for agent, fields in rows} == BRIEF_FIELDS
    assert f"| any specialist -> supervisor | return | {', '.join(RETURN_FIELDS)} |" in page


def test_every_field_of_every_complete_brief_has_a_value() -> None:
    for name in ("compliant", "concentrated", "restricted"):
        made = Orchestrator().run(demo_book(name))
        state = made.state
        for agent in BRIEF_FIELDS:
            brief = brief_for(agent, state)
            assert tuple(brief) == BRIEF_FIELDS[agent]
            assert not [key for key, value in brief.items() if value in (None, "", [], {})]


def test_a_brief_shares_nothing_with_the_state() -> None:
    state = initial_state("run", book(), 12)
    brief = brief_for("RiskModeler", state)
    brief["mandate"]["name"] = "anything goes"
    assert brief_for("RiskModeler", state)["mandate"]["name"] == "balanced"


def test_the_risk_summary_says_that_the_risk_review_failed() -> None:
    seen: list[Any] = []

    def look(agent: str, brief: dict[str, Any]) -> Any:
        seen.append(brief["risk_summary"])
        return tells()(agent, brief)

    world(risk=[raises(OSError("x"))], compliance=[look]).run(book())
    assert seen == [{"status": "failed"}]


def test_a_failed_specialist_gives_back_an_error_and_no_findings() -> None:
    failed = AgentResult("RiskModeler", outcome=Outcome.FAILED, error="OSError: x")
    assert return_fields(failed) == {"status": "failed", "error": "OSError: x"}


def test_no_findings_are_said_and_not_left_empty() -> None:
    back = return_fields(AgentResult("RiskModeler", evidence={"a": 1}))
    assert back == {"status": "completed", "findings": {"count": 0, "items": []}, "evidence": {"a": 1}}


def test_the_incomplete_handoff_is_one_and_no_other() -> None:
    state = initial_state("run", demo_book("concentrated"), 12)
    state["escalations"].append(Escalation.MITIGATE)
    whole = {agent: Handoff("supervisor", agent, "delegate", "r", brief_for(agent, state)) for agent in BRIEF_FIELDS}
    altered = {agent: incomplete(handoff) for agent, handoff in whole.items()}
    assert {agent for agent in whole if whole[agent] != altered[agent]} == {"ClientAdvisor"}
    fields = altered["ClientAdvisor"].fields
    assert ("mandate" in fields, fields["open_findings"]) == (False, [])


def test_the_incomplete_handoff_costs_the_client_the_plan_and_hides_no_finding() -> None:
    whole, lossy = (Orchestrator(alter=a).run(demo_book("concentrated")) for a in (lambda h: h, incomplete))
    assert whole.report.findings == lossy.report.findings
    assert (len(whole.report.mitigation), lossy.report.mitigation) == (3, ())
    hop = next(hop for hop in entries(lossy, "hop") if hop["target"] == "ClientAdvisor")
    assert hop["fields"] == ["equity", "open_findings", "portfolio_id", "positions"]
