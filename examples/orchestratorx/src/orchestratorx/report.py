"""The report of a run, built from the state alone.

Separate from the Reporter, whose model only words the narrative: a report is clean because of what the specialists
returned, and no text can make it so.
"""

from __future__ import annotations

from orchestratorx.briefs import actions_of
from orchestratorx.policy import BUDGET_RULES, REQUIRED_SPECIALISTS
from orchestratorx.state import ADVISOR, AgentResult, Escalation, Outcome, Report, ReportStatus, ReviewState

__all__ = ["build_report"]


def _outcomes(state: ReviewState, reporter: AgentResult) -> dict[str, str]:
    named = dict.fromkeys(REQUIRED_SPECIALISTS, "not run")
    named |= {result.agent: result.outcome.value for result in state["results"]}
    return named | {reporter.agent: reporter.outcome.value}


def _lacks(state: ReviewState, reporter: AgentResult, spent: bool) -> tuple[str, ...]:
    lacks = []
    last = {result.agent: result for result in state["results"]}
    for agent in REQUIRED_SPECIALISTS:
        result = last.get(agent)
        if result is None:
            lacks.append(f"{agent} was not run")
        elif result.outcome is not Outcome.COMPLETED:
            lacks.append(f"{agent} {result.outcome.value}: {result.error}")
    advisor = last.get(ADVISOR)
    if advisor is not None and advisor.outcome is not Outcome.COMPLETED:
        lacks.append(f"{ADVISOR} {advisor.outcome.value}: {advisor.error}")
    if spent:
        lacks.append(f"the hop budget of {state['hop_budget']} was spent before the review was done")
    if reporter.outcome is not Outcome.COMPLETED:
        lacks.append(f"{reporter.agent} {reporter.outcome.value}: {reporter.error}")
    return tuple(lacks)


def build_report(state: ReviewState, reporter: AgentResult) -> Report:
    """The report of a state whose last decision sent control to the Reporter, with the Reporter's wording.

    Status, gravest first: halted, incomplete, findings, clean.
    """
    escalation = state["escalations"][-1]
    spent = state["decisions"][-1].rule in BUDGET_RULES
    lacks = _lacks(state, reporter, spent)
    if escalation is Escalation.HALT:
        status = ReportStatus.HALTED
    elif lacks:
        status = ReportStatus.INCOMPLETE
    elif state["findings"]:
        status = ReportStatus.FINDINGS
    else:
        status = ReportStatus.CLEAN
    plans = [actions_of(result) for result in state["results"] if result.agent == ADVISOR]
    return Report(
        run_id=state["run_id"],
        portfolio_id=state["book"].portfolio_id,
        status=status,
        escalation=escalation,
        halted=escalation is Escalation.HALT,
        budget_spent=spent,
        findings=tuple(state["findings"]),
        outcomes=_outcomes(state, reporter),
        incomplete=lacks,
        mitigation=tuple(action for plan in plans for action in plan),
        narrative=str(reporter.evidence.get("narrative", "")),
        narrative_by=str(reporter.evidence.get("by", "nobody")),
    )
