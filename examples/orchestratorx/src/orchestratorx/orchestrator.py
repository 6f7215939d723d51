"""The supervisor and the graph: LangGraph carries the state, `policy` decides where it goes.

Separate from the policy because this half has effects: it calls agents, keeps the audit trail, makes spans. One
compiled graph serves any number of concurrent runs; all that belongs to a run lives in its state and its RunContext,
which LangGraph hands to every node. A specialist has one edge, back to the supervisor; only the Reporter ends a run.
"""

from __future__ import annotations

import copy
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from orchestratorx.agents import Specialist, default_specialists
from orchestratorx.answers import checked
from orchestratorx.briefs import Brief, Handoff, brief_for, return_fields
from orchestratorx.deadline import call_with_deadline
from orchestratorx.llm import llm_from_environment
from orchestratorx.policy import (
    DEFAULT_HOP_BUDGET,
    REQUIRED_SPECIALISTS,
    CircuitBreaker,
    DeadlineExceeded,
    PolicyViolationError,
    RetryPolicy,
    Seam,
    assess,
    call_with_retry,
    escalation_policy,
    route,
)
from orchestratorx.portfolio import Book
from orchestratorx.report import build_report
from orchestratorx.settings import Settings
from orchestratorx.state import (
    ADVISOR,
    REPORTER,
    SUPERVISOR,
    AgentResult,
    Decision,
    Outcome,
    Report,
    ReviewState,
    initial_state,
)
from orchestratorx.telemetry import Exporter, RunSpans, exporter_from_environment
from orchestratorx.trace import Clock, Sink, Trace, digest, utc_now

__all__ = ["Limits", "Orchestrator", "Run", "RunContext", "new_run_id"]

ERROR_LIMIT = 500


class _Node(Protocol):
    def __call__(self, state: ReviewState, *, runtime: Runtime[RunContext]) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds a run. Seconds are for a whole visit, retries and pauses included.

    A run takes at most hop_budget * specialist_seconds + reporter_seconds.
    """

    hop_budget: int = DEFAULT_HOP_BUDGET
    specialist_seconds: float = 10.0
    reporter_seconds: float = 40.0
    breaker_threshold: int = 2
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    def __post_init__(self) -> None:
        if not 1 <= self.hop_budget <= 1000:
            raise ValueError(f"expected a hop budget of 1 to 1000, found {self.hop_budget}")


@dataclass(frozen=True, slots=True)
class RunContext:
    """What belongs to one run and is not state: its audit trail, its breaker, its spans."""

    trace: Trace
    breaker: CircuitBreaker
    spans: RunSpans


@dataclass(frozen=True, slots=True)
class Run:
    """A run that ended."""

    run_id: str
    report: Report
    state: ReviewState
    trace: Trace

    @property
    def path(self) -> tuple[str, ...]:
        """The agents in the order in which they had control."""
        return tuple(self.state["hops"])


class _Call(Protocol):
    def __call__(self, call: Callable[[], Any], seconds: float) -> Any: ...


def new_run_id() -> str:
    """A run id that nobody else has."""
    return f"run-{uuid.uuid4()}"


def _describe(error: BaseException) -> str:
    try:
        said = str(error)
    except Exception:
        said = "an error that cannot be printed"
    text = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return text if len(text) <= ERROR_LIMIT else text[: ERROR_LIMIT - 1] + "…"


def _as_is(handoff: Handoff) -> Handoff:
    return handoff


class Orchestrator:
    """Runs reviews on one compiled graph.

    `seam` is the escalation policy; `alter` may change what is handed over (the demonstration of an incomplete handoff
    uses it); `call` runs a specialist under a deadline; `clock`, `sleep` and `monotonic` are the time.
    """

    def __init__(
        self,
        specialists: Mapping[str, Specialist] | None = None,
        *,
        limits: Limits | None = None,
        seam: Seam = escalation_policy,
        alter: Callable[[Handoff], Handoff] = _as_is,
        exporter: Exporter | None = None,
        call: _Call = call_with_deadline,
        clock: Clock = utc_now,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._specialists = dict(specialists) if specialists is not None else default_specialists()
        lacking = {*REQUIRED_SPECIALISTS, ADVISOR, REPORTER} - set(self._specialists)
        if lacking:
            raise ValueError(f"expected every specialist, found none for {', '.join(sorted(lacking))}")
        self._limits = limits or Limits()
        self._seam = seam
        self._alter = alter
        self._exporter = exporter or exporter_from_environment()
        self._call = call
        self._clock = clock
        self._sleep = sleep
        self._monotonic = monotonic
        self.graph = self._compile()

    @classmethod
    def from_settings(
        cls, settings: Settings, *, exporter: Exporter | None = None, alter: Callable[[Handoff], Handoff] = _as_is
    ) -> Orchestrator:
        """An orchestrator as the environment configures it."""
        llm, note = llm_from_environment(settings.llm, settings.llm_model, settings.llm_timeout)
        limits = Limits(
            hop_budget=settings.hop_budget,
            specialist_seconds=settings.specialist_timeout,
            # a slow model must run into its own deadline, not into the visit's: only then is it replaced
            reporter_seconds=settings.llm_timeout + settings.specialist_timeout,
        )
        specialists = default_specialists(llm, settings.llm_timeout, note)
        return cls(specialists, limits=limits, exporter=exporter, alter=alter)

    def run(self, book: Book, *, run_id: str | None = None, sink: Sink | None = None) -> Run:
        """Review a book. `sink` sees every entry of the audit trail as it is made.

        Agents cannot make this raise; the sink, the seam and the graph itself can, and then the trail says so.
        """
        state, context = self._begin(book, run_id, sink)
        try:
            found = self.graph.invoke(state, self._config(), context=context)
            return self._end(state["run_id"], found, context)
        except BaseException as error:
            self._crashed(context, error)
            raise

    async def arun(self, book: Book, *, run_id: str | None = None, sink: Sink | None = None) -> Run:
        """`run`, for an event loop: agents run in threads and never block it."""
        state, context = self._begin(book, run_id, sink)
        try:
            found = await self.graph.ainvoke(state, self._config(), context=context)
            return self._end(state["run_id"], found, context)
        except BaseException as error:
            self._crashed(context, error)
            raise

    def flush(self) -> None:
        """Send the spans that wait; bounded in time."""
        self._exporter.flush()

    def _config(self) -> RunnableConfig:
        # two steps a hop, the supervisor's and the agent's: the hop budget always ends a run before LangGraph does
        return {"recursion_limit": 2 * self._limits.hop_budget + 10}

    def _begin(self, book: Book, run_id: str | None, sink: Sink | None) -> tuple[ReviewState, RunContext]:
        state = initial_state(run_id or new_run_id(), book, self._limits.hop_budget)
        trace = Trace(state["run_id"], clock=self._clock, sink=sink)
        spans = self._exporter.run(state["run_id"], book.portfolio_id)
        context = RunContext(trace, CircuitBreaker(self._limits.breaker_threshold), spans)
        try:
            trace.append(
                "run_started",
                portfolio_id=book.portfolio_id,
                book_sha256=digest(book.model_dump(mode="json")),
                hop_budget=self._limits.hop_budget,
                required=list(REQUIRED_SPECIALISTS),
            )
        except BaseException as error:
            spans.close(None, error)
            raise
        return state, context

    def _end(self, run_id: str, found: Any, context: RunContext) -> Run:
        state: ReviewState = found
        report = state["report"]
        assert report is not None
        context.trace.append(
            "run_ended",
            status=report.status.value,
            escalation=report.escalation.value,
            halted=report.halted,
            budget_spent=report.budget_spent,
            findings=[f"{finding.code}({finding.severity.value})" for finding in report.findings],
            incomplete=list(report.incomplete),
            path=list(state["hops"]),
            failures=dict(context.breaker.failures()),
        )
        context.spans.close(report, None)
        return Run(run_id, report, state, context.trace)

    def _crashed(self, context: RunContext, error: BaseException) -> None:
        entries = context.trace.entries
        if not entries or entries[-1]["kind"] != "run_ended":
            try:
                context.trace.append("run_ended", status="crashed", error=_describe(error))
            except Exception as second:  # the sink is what failed: the run's own error is the one to raise
                error.add_note(f"the end of the run could not be recorded either: {_describe(second)}")
        context.spans.close(None, error)

    # --- the graph ---

    def _compile(self) -> CompiledStateGraph[ReviewState, RunContext, ReviewState, ReviewState]:
        graph = StateGraph(ReviewState, context_schema=RunContext)
        graph.add_node(SUPERVISOR, self._supervise)
        for agent in (*REQUIRED_SPECIALISTS, ADVISOR):
            graph.add_node(agent, self._specialist_node(agent))
            graph.add_edge(agent, SUPERVISOR)
        graph.add_node(REPORTER, self._report)
        graph.add_edge(START, SUPERVISOR)
        graph.add_conditional_edges(
            SUPERVISOR, lambda state: state["decisions"][-1].target, [*REQUIRED_SPECIALISTS, ADVISOR, REPORTER]
        )
        graph.add_edge(REPORTER, END)
        return graph.compile(name="portfolio_review")

    def _supervise(self, state: ReviewState, runtime: Runtime[RunContext]) -> dict[str, Any]:
        escalation = assess(state, self._seam)
        assessed: ReviewState = {**state, "escalations": [*state["escalations"], escalation]}
        row, target = route(assessed, runtime.context.breaker)
        decision = Decision(row.rule, target, row.reason, escalation)
        runtime.context.trace.append(
            "decision",
            agent=SUPERVISOR,
            rule=decision.rule,
            target=target,
            reason=decision.reason,
            escalation=escalation.value,
        )
        return {"hops": [SUPERVISOR], "escalations": [escalation], "decisions": [decision]}

    def _specialist_node(self, agent: str) -> _Node:
        def node(state: ReviewState, *, runtime: Runtime[RunContext]) -> dict[str, Any]:
            context = runtime.context
            handoff = self._hand_over(agent, "delegate", state, context)
            context.spans.delegate(handoff)
            with context.spans.visit(agent):
                result = self._visit(agent, handoff.fields, self._limits.specialist_seconds, context)
                context.spans.visit_ended(result.summary, result.error)
                back = Handoff(agent, SUPERVISOR, "return", _answered(result), return_fields(result))
                _record_hop(context.trace, back, result.outcome, result)
                if result.outcome is Outcome.DROPPED:
                    context.spans.drop(str(result.error))
                else:
                    context.spans.give_back(back)
            for note in result.notes:
                context.trace.append("note", agent=agent, text=note)
            return {"hops": [agent], "results": [result], "findings": list(result.findings)}

        return node

    def _report(self, state: ReviewState, runtime: Runtime[RunContext]) -> dict[str, Any]:
        context = runtime.context
        handoff = self._hand_over(REPORTER, "transfer", state, context)
        context.spans.transfer(handoff)
        with context.spans.visit(REPORTER):
            result = self._visit(REPORTER, handoff.fields, self._limits.reporter_seconds, context)
            context.spans.visit_ended("", result.error)
        for note in result.notes:
            context.trace.append("note", agent=REPORTER, text=note)
        return {"hops": [REPORTER], "results": [result], "report": build_report(state, result)}

    def _hand_over(self, agent: str, mode: str, state: ReviewState, context: RunContext) -> Handoff:
        reason = _reason(state)
        handoff = self._alter(Handoff(SUPERVISOR, agent, mode, reason, brief_for(agent, state)))
        _record_hop(context.trace, handoff, Outcome.COMPLETED, None)
        return handoff

    def _visit(self, agent: str, brief: Brief, seconds: float, context: RunContext) -> AgentResult:
        specialist = self._specialists[agent]
        made = 0

        def attempt(left: float) -> AgentResult:
            # a copy for each attempt: one that spoils its brief does not spoil the next one's
            given = copy.deepcopy(dict(brief))
            return checked(agent, self._call(lambda: specialist(given), left))

        def failed(number: int, error: Exception) -> None:
            nonlocal made
            made = number
            context.trace.append("attempt", agent=agent, attempt=number, error=_describe(error))
            context.spans.attempt_failed(number, error)

        try:
            answer, attempts = call_with_retry(
                attempt,
                self._limits.retry,
                seconds=seconds,
                on_failure=failed,
                sleep=self._sleep,
                clock=self._monotonic,
            )
        except PolicyViolationError as error:
            context.breaker.trip(agent)
            return AgentResult(agent, outcome=Outcome.FAILED, error=_describe(error), attempts=made)
        except DeadlineExceeded as error:
            context.breaker.record_failure(agent)
            return AgentResult(agent, outcome=Outcome.DROPPED, error=_describe(error), attempts=made)
        except Exception as error:
            context.breaker.record_failure(agent)
            return AgentResult(agent, outcome=Outcome.FAILED, error=_describe(error), attempts=made)
        context.breaker.record_success(agent)
        return AgentResult(
            agent, answer.findings, answer.evaluated, answer.evidence, answer.summary, answer.notes, attempts=attempts
        )


def _reason(state: ReviewState) -> str:
    decision = state["decisions"][-1]
    if not state["findings"]:
        return decision.reason
    gravest = max(state["findings"], key=lambda finding: finding.severity.rank)
    if decision.rule in ("R2", "R5", "R6"):
        return f"{decision.reason}: {gravest.code} ({gravest.severity.value})"
    return decision.reason


def _answered(result: AgentResult) -> str:
    return result.summary if result.outcome is Outcome.COMPLETED else f"{result.outcome.value}: {result.error}"


def _record_hop(trace: Trace, handoff: Handoff, status: Outcome, result: AgentResult | None) -> None:
    detail: dict[str, Any] = {
        "source": handoff.source,
        "target": handoff.target,
        "mode": handoff.mode,
        "status": status.value,
        "reason": handoff.reason,
        "fields": sorted(handoff.fields),
        "fields_sha256": digest(dict(handoff.fields)),
    }
    if result is not None:
        detail["attempts"] = result.attempts
        detail["findings"] = [finding.to_dict() for finding in result.findings]
        if result.error is not None:
            detail["error"] = result.error
    trace.append("hop", **detail)
