"""The specialists: each does one job on what its brief hands it, and knows of no other.

Separate from the orchestrator, which decides when they run and does not trust their answers. They keep no state
between calls, so one instance serves concurrent runs. RiskModeler and ComplianceChecker refuse to work from an
incomplete brief; ClientAdvisor and Reporter make the best of what they get.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestratorx.briefs import BRIEF_FIELDS, Brief
from orchestratorx.deadline import call_with_deadline
from orchestratorx.llm import DISCLAIMER, LLM, FakeLLM, LLMError, Prompt, tidy
from orchestratorx.policy import DeadlineExceeded, PolicyViolationError
from orchestratorx.portfolio import Holding, Mandate, Position, holdings, returns
from orchestratorx.risk import measure
from orchestratorx.rules import RULES, RULES_OF, limit_of
from orchestratorx.state import ADVISOR, REPORTER, AgentResult, Finding
from orchestratorx.telemetry import chat_span, tool_span

__all__ = ["ClientAdvisor", "ComplianceChecker", "Reporter", "RiskModeler", "Specialist", "default_specialists"]

Specialist = Callable[[Brief], AgentResult]

# amounts are money: what differs by less than this share of equity is rounding
TOLERANCE = 1e-9


def _demand(agent: str, brief: Brief) -> None:
    lost = [name for name in BRIEF_FIELDS[agent] if brief.get(name) in (None, "", [], {})]
    if lost:
        raise PolicyViolationError(f"{agent}: the brief lacks {', '.join(lost)}")


def _holdings(brief: Brief) -> tuple[Holding, ...]:
    return holdings(tuple(Position.model_validate(item) for item in brief["positions"]))


def _finding(code: str, subject: str, message: str) -> Finding:
    rule = RULES[code]
    return Finding(code, rule.severity, message, subject, rule.agent)


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"


@dataclass(frozen=True, slots=True)
class RiskModeler:
    """Measures the book's risk from historical returns and holds it against the limits RSK-001 to RSK-006."""

    history: Mapping[str, tuple[float, ...]] = field(default_factory=returns)
    name: str = "RiskModeler"

    def __call__(self, brief: Brief) -> AgentResult:
        """Findings, with the measures as evidence."""
        _demand(self.name, brief)
        equity, mandate = float(brief["equity"]), Mandate.model_validate(brief["mandate"])
        held = _holdings(brief)
        with tool_span("measure_risk", {"portfolio_id": brief["portfolio_id"], "holdings": len(held)}):
            measures = measure(held, equity, self.history)
        findings = []
        for code, value, noun in (
            ("RSK-001", measures.volatility, "annualised volatility"),
            ("RSK-002", measures.var_95, "one-day 95 % value at risk"),
            ("RSK-003", measures.max_drawdown, "largest drawdown"),
            ("RSK-004", measures.stress_loss, "one-day stress loss"),
        ):
            limit = limit_of(code, mandate.limits)
            if value > limit + TOLERANCE:
                findings.append(_finding(code, "portfolio", f"{noun} {_percent(value)}, limit {_percent(limit)}"))
        unmodelled = limit_of("RSK-005", mandate.limits)
        days = limit_of("RSK-006", mandate.limits)
        for holding in held:
            share = abs(holding.value) / equity
            if holding.instrument not in self.history and share > unmodelled + TOLERANCE:
                message = f"{holding.instrument} ({_percent(share)} of equity) has no price history"
                findings.append(_finding("RSK-005", holding.instrument, message))
        for holding in held:
            needed = abs(holding.value) / (holding.daily_volume * 0.20) if holding.daily_volume else 0.0
            if needed > days + TOLERANCE:
                message = f"{holding.instrument} takes {needed:.0f} trading days to sell, limit {days:.0f}"
                findings.append(_finding("RSK-006", holding.instrument, message))
        summary = f"volatility {_percent(measures.volatility)}, one-day 95 % VaR {_percent(measures.var_95)}, " + (
            f"{len(findings)} finding(s)" if findings else "no findings"
        )
        evidence = {"measures": measures.to_dict()}
        return AgentResult(self.name, tuple(findings), RULES_OF[self.name], evidence, summary)


@dataclass(frozen=True, slots=True)
class ComplianceChecker:
    """Holds the book against its mandate and the house's limits: CMP-001 to CMP-005."""

    name: str = "ComplianceChecker"

    def __call__(self, brief: Brief) -> AgentResult:
        """Findings, with the exposures as evidence."""
        _demand(self.name, brief)
        equity, mandate = float(brief["equity"]), Mandate.model_validate(brief["mandate"])
        held = _holdings(brief)
        with tool_span("measure_exposure", {"portfolio_id": brief["portfolio_id"], "holdings": len(held)}):
            issuers = _exposure(held, equity, lambda holding: holding.issuer)
            sectors = _exposure(held, equity, lambda holding: holding.sector)
            classes = _exposure(held, equity, lambda holding: holding.asset_class)
            gross = sum(abs(holding.value) for holding in held) / equity
        findings = [
            _finding("CMP-001", name, f"{name} ({_percent(share)} of equity) is outside the mandate {mandate.name!r}")
            for name, share in classes.items()
            if name not in mandate.permitted_asset_classes and share > limit_of("CMP-001", mandate.limits) + TOLERANCE
        ]
        for code, shares, noun in (("CMP-002", issuers, "issuer"), ("CMP-005", sectors, "sector")):
            limit = limit_of(code, mandate.limits)
            findings += [
                _finding(code, name, f"{noun} {name} is {_percent(share)} of equity, limit {_percent(limit)}")
                for name, share in shares.items()
                if share > limit + TOLERANCE
            ]
        findings += [
            _finding("CMP-003", name, f"restricted sector {name} is held ({_percent(share)} of equity)")
            for name, share in sectors.items()
            if name in mandate.restricted_sectors and share > limit_of("CMP-003", mandate.limits)
        ]
        limit = limit_of("CMP-004", mandate.limits)
        if gross > limit + TOLERANCE:
            message = f"gross exposure is {gross:.2f} times equity, limit {limit:.2f}"
            findings.append(_finding("CMP-004", "portfolio", message))
        findings.sort(key=lambda finding: finding.code)
        evidence = {
            "gross_exposure": round(gross, 6),
            "largest_issuer": max(issuers, key=lambda name: issuers[name]),
            "rules": list(RULES_OF[self.name]),
            "risk_review": brief["risk_summary"]["status"],
        }
        summary = f"{len(held)} holdings against mandate {mandate.name!r}: " + (
            f"{len(findings)} finding(s)" if findings else "no findings"
        )
        return AgentResult(self.name, tuple(findings), RULES_OF[self.name], evidence, summary)


def _exposure(held: tuple[Holding, ...], equity: float, key: Callable[[Holding], str]) -> dict[str, float]:
    """Gross exposure as a share of equity, largest first, then by name."""
    shares: dict[str, float] = defaultdict(float)
    for holding in held:
        shares[key(holding)] += abs(holding.value) / equity
    return dict(sorted(shares.items(), key=lambda item: (-item[1], item[0])))


@dataclass(frozen=True, slots=True)
class ClientAdvisor:
    """Works out what would bring high findings back within their limits. Proposes; decides nothing."""

    name: str = ADVISOR

    def __call__(self, brief: Brief) -> AgentResult:
        """A plan of actions as evidence, one an open finding."""
        opened = brief.get("open_findings") or {}
        items = list(opened.get("items", ())) if isinstance(opened, dict) else []
        limits = (brief.get("mandate") or {}).get("limits", {})
        equity = float(brief.get("equity") or 0.0)
        held = _holdings(brief) if brief.get("positions") else ()
        with tool_span("plan_mitigation", {"portfolio_id": brief.get("portfolio_id"), "findings": len(items)}):
            actions = [_action(item, held, equity, limits) for item in items]
        summary = f"{len(actions)} action(s) proposed" if actions else "no finding was handed over: nothing to plan"
        return AgentResult(self.name, evidence={"actions": actions}, summary=summary)


def _action(item: Mapping[str, Any], held: tuple[Holding, ...], equity: float, limits: Mapping[str, float]) -> str:
    code, subject = str(item["code"]), str(item["subject"])
    if code == "CMP-002":
        exposure = sum(abs(holding.value) for holding in held if holding.issuer == subject)
        return f"{code}: reduce {subject} by {exposure - limit_of(code, limits) * equity:,.0f}"
    if code == "CMP-004":
        gross = sum(abs(holding.value) for holding in held)
        return f"{code}: reduce gross exposure by {gross - limit_of(code, limits) * equity:,.0f}"
    if code == "CMP-001":
        return f"{code}: sell all of {subject}, or have the mandate changed first"
    return f"{code}: bring {subject} back within its limit ({item['message']})"


@dataclass(frozen=True, slots=True)
class Reporter:
    """Has the model word the client-facing narrative. What the report states is built from the state, not by this."""

    llm: LLM = field(default_factory=FakeLLM)
    llm_timeout: float = 15.0
    note: str | None = None
    name: str = REPORTER

    def __call__(self, brief: Brief) -> AgentResult:
        """The narrative and who worded it as evidence; a backend that fails is replaced, with a note."""
        prompt = Prompt(facts=dict(brief))
        notes = [self.note] if self.note else []
        text, author = "", self.llm
        try:
            text = tidy(_ask(self.llm, prompt, self.llm_timeout))
            if not text:
                raise LLMError("answered with no text")
        except Exception as error:  # whatever a backend raises, the run goes on
            said = str(error) if isinstance(error, LLMError | DeadlineExceeded) else type(error).__name__
            notes.append(f"model backend {self.llm.provider}/{self.llm.model}: {said}; wording by FakeLLM")
            author = FakeLLM()
            text = _ask(author, prompt, self.llm_timeout)
        evidence = {"narrative": f"{text} {DISCLAIMER}", "by": f"{author.provider}/{author.model}"}
        return AgentResult(self.name, evidence=evidence, summary="report worded", notes=tuple(notes))


def _ask(llm: LLM, prompt: Prompt, timeout: float) -> str:
    with chat_span(llm.provider, llm.model, prompt) as completions:
        completion = call_with_deadline(lambda: llm.complete(prompt), timeout)
        completions.append(completion)
    return completion.text


def default_specialists(
    llm: LLM | None = None, llm_timeout: float = 15.0, note: str | None = None
) -> dict[str, Specialist]:
    """The four specialists by name."""
    return {
        "RiskModeler": RiskModeler(),
        "ComplianceChecker": ComplianceChecker(),
        ADVISOR: ClientAdvisor(),
        REPORTER: Reporter(llm or FakeLLM(), llm_timeout, note),
    }
