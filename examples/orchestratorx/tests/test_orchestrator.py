"""Single runs told as stories: what a reviewer would read in the trail."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from orchestratorx.agents import default_specialists
from orchestratorx.briefs import Handoff
from orchestratorx.orchestrator import Limits, Orchestrator
from orchestratorx.policy import PolicyViolationError, RetryPolicy
from orchestratorx.state import REPORTER, SUPERVISOR, Escalation, Outcome, ReportStatus
from orchestratorx.trace import verify
from scripted import Hang, Tick, book, entries, raises, spoils, tells, virtual_call, world


def test_a_specialist_that_flaps_completes_and_leaves_its_failures_in_the_trail() -> None:
    made = world(risk=[raises(OSError("blip")), tells()], attempts=2).run(book())
    assert made.report.status is ReportStatus.CLEAN
    assert entries(made, "attempt") == [{"agent": "RiskModeler", "attempt": 1, "error": "OSError: blip"}]
    assert [(r.agent, r.attempts) for r in made.state["results"]][:1] == [("RiskModeler", 2)]


def test_a_specialist_that_keeps_failing_is_asked_until_its_breaker_opens() -> None:
    made = world(compliance=[raises(OSError("down"))], attempts=1).run(book())
    assert made.path == (
        *(SUPERVISOR, "RiskModeler", SUPERVISOR, "ComplianceChecker", SUPERVISOR, "ComplianceChecker"),
        *(SUPERVISOR, REPORTER),
    )
    assert made.report.status is ReportStatus.INCOMPLETE
    assert made.report.incomplete == ("ComplianceChecker failed: OSError: down",)
    assert made.report.outcomes == {
        "RiskModeler": "completed",
        "ComplianceChecker": "failed",
        "Reporter": "completed",
    }


def test_a_policy_violation_is_not_retried_and_not_asked_again() -> None:
    made = world(risk=[raises(PolicyViolationError("no mandate")), tells()], attempts=3).run(book())
    assert made.path.count("RiskModeler") == 1
    assert [entry["attempt"] for entry in entries(made, "attempt")] == [1]
    assert made.report.incomplete == ("RiskModeler failed: PolicyViolationError: no mandate",)


def test_a_specialist_that_hangs_is_dropped_and_said_to_be() -> None:
    made = world(risk=[raises(Hang())]).run(book())
    back = [hop for hop in entries(made, "hop") if hop["source"] == "RiskModeler"]
    assert [hop["status"] for hop in back] == ["dropped", "dropped"]
    assert made.report.incomplete == ("RiskModeler dropped: DeadlineExceeded: no answer within 10 s",)


def test_a_hanging_specialist_does_not_hang_the_run() -> None:
    release = threading.Event()

    def hang(_: Any) -> Any:
        release.wait(30)

    specialists = default_specialists() | {"RiskModeler": hang}
    limits = Limits(specialist_seconds=0.05, breaker_threshold=1)
    before = time.monotonic()
    made = Orchestrator(specialists, limits=limits).run(book())
    took = time.monotonic() - before
    release.set()
    assert took < 5
    assert made.report.outcomes["RiskModeler"] == "dropped"
    assert made.report.status is ReportStatus.INCOMPLETE


def test_an_answer_that_comes_after_the_deadline_changes_nothing() -> None:
    release, late = threading.Event(), threading.Event()
    honest = tells("RSK-004")

    def slow(brief: Any) -> Any:
        release.wait(30)
        brief.clear()
        late.set()
        return honest("RiskModeler", {})

    specialists = default_specialists() | {"RiskModeler": slow}
    limits = Limits(specialist_seconds=0.05, breaker_threshold=1)
    made = Orchestrator(specialists, limits=limits).run(book())
    before = made.trace.document()
    release.set()
    assert late.wait(5)
    assert made.state["findings"] == []
    assert made.trace.document() == before


def test_a_specialist_cannot_end_the_process() -> None:
    made = world(risk=[raises(SystemExit(3))]).run(book())
    assert made.report.incomplete == ("RiskModeler failed: RuntimeError: raised SystemExit",)


def test_an_error_that_cannot_be_printed_is_recorded_all_the_same() -> None:
    class Mute(Exception):  # noqa: N818
        def __str__(self) -> str:
            raise ValueError("not even this")

    made = world(risk=[raises(Mute())]).run(book())
    assert made.report.incomplete == ("RiskModeler failed: Mute: an error that cannot be printed",)


def test_each_attempt_gets_a_brief_of_its_own() -> None:
    seen: list[dict[str, Any]] = []

    def look(agent: str, brief: dict[str, Any]) -> Any:
        seen.append(dict(brief))
        return tells()(agent, brief)

    made = world(risk=[spoils, look], attempts=2).run(book())
    assert made.report.outcomes["RiskModeler"] == "completed"
    assert sorted(seen[0]) == ["equity", "mandate", "portfolio_id", "positions"]


def test_a_reporter_that_fails_leaves_a_report_without_words_that_is_not_clean() -> None:
    made = world(reporter=[raises(OSError("no words"))], attempts=1).run(book())
    assert (made.report.status, made.report.narrative) == (ReportStatus.INCOMPLETE, "")
    assert made.report.incomplete == ("Reporter failed: OSError: no words",)


@pytest.mark.parametrize("narrative", ["", "   ", 7, None])
def test_a_reporter_that_says_nothing_has_failed(narrative: Any) -> None:
    def mumble(agent: str, _: dict[str, Any]) -> Any:
        return tells()(agent, {}).__class__(agent, evidence={"narrative": narrative, "by": "x"})

    made = world(reporter=[mumble]).run(book())
    assert made.report.outcomes["Reporter"] == "failed"
    assert made.report.status is ReportStatus.INCOMPLETE


def test_a_failing_advisor_is_asked_once_and_the_report_says_so() -> None:
    made = world(compliance=[tells("CMP-002")], advisor=[raises(OSError("away"))], attempts=1).run(book())
    assert made.path.count("ClientAdvisor") == 1
    assert made.report.status is ReportStatus.INCOMPLETE
    assert made.report.incomplete == ("ClientAdvisor failed: OSError: away",)


def test_a_spent_budget_ends_the_run_and_the_report_names_what_was_not_run() -> None:
    made = world(hop_budget=2).run(book())
    assert made.path == (SUPERVISOR, "RiskModeler", SUPERVISOR, REPORTER)
    assert made.report.budget_spent
    assert made.report.incomplete == (
        "ComplianceChecker was not run",
        "the hop budget of 2 was spent before the review was done",
    )


def test_a_budget_that_is_just_enough_is_not_said_to_be_spent() -> None:
    made = world(hop_budget=3).run(book())
    assert (made.report.status, made.report.budget_spent) == (ReportStatus.CLEAN, False)


def test_a_large_budget_is_not_cut_short_by_the_graph() -> None:
    made = world(risk=[raises(OSError("x"))], hop_budget=200, breaker_threshold=1000, attempts=1).run(book())
    assert made.path.count("RiskModeler") == 199
    assert made.report.budget_spent


@pytest.mark.parametrize("budget", [0, -1, 1001])
def test_a_budget_out_of_range_is_refused(budget: int) -> None:
    with pytest.raises(ValueError, match="hop budget of 1 to 1000"):
        Limits(hop_budget=budget)


def test_a_halt_skips_what_is_left_and_the_report_says_what() -> None:
    made = world(risk=[tells("RSK-004")]).run(book())
    assert made.path == (SUPERVISOR, "RiskModeler", SUPERVISOR, REPORTER)
    assert (made.report.status, made.report.escalation) == (ReportStatus.HALTED, Escalation.HALT)
    assert made.report.incomplete == ("ComplianceChecker was not run",)


def test_every_specialist_is_needed() -> None:
    with pytest.raises(ValueError, match="found none for ClientAdvisor, Reporter, RiskModeler"):
        Orchestrator({"ComplianceChecker": lambda _: None})  # type: ignore[dict-item,return-value]


def test_a_sink_that_fails_stops_the_run_and_the_trail_says_that_it_crashed() -> None:
    kept: list[Any] = []

    def full(entry: Any) -> None:
        kept.append(entry)
        if len(kept) == 4:
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        world().run(book(), sink=full)
    assert kept[-1]["kind"] == "run_ended"
    assert kept[-1]["detail"] == {"status": "crashed", "error": "OSError: disk full"}


def test_a_seam_that_fails_stops_the_run_and_does_not_pass_for_continue() -> None:
    def broken(_: Any) -> Escalation:
        raise KeyError("posture")

    kept: list[Any] = []
    with pytest.raises(KeyError):
        world(seam=broken).run(book(), sink=kept.append)
    assert kept[-1]["detail"]["status"] == "crashed"


def test_what_is_handed_over_can_be_altered_and_the_trail_shows_what_was() -> None:
    def without_mandate(handoff: Handoff) -> Handoff:
        fields = {name: value for name, value in handoff.fields.items() if name != "mandate"}
        return Handoff(handoff.source, handoff.target, handoff.mode, handoff.reason, fields)

    made = Orchestrator(alter=without_mandate, call=virtual_call, clock=Tick(), sleep=lambda _: None).run(book())
    first = entries(made, "hop")[0]
    assert first["fields"] == ["equity", "portfolio_id", "positions"]
    assert made.report.incomplete[0] == "RiskModeler failed: PolicyViolationError: RiskModeler: the brief lacks mandate"


def test_the_trail_of_a_run_reads_in_order() -> None:
    made = world().run(book())
    assert [(entry["seq"], entry["kind"]) for entry in made.trace.entries] == list(
        enumerate(
            [
                "run_started",
                *("decision", "hop", "hop"),
                *("decision", "hop", "hop"),
                *("decision", "hop"),
                "run_ended",
            ],
            1,
        )
    )
    assert verify(made.trace.document()) == []
    assert [r.outcome for r in made.state["results"]] == [Outcome.COMPLETED] * 3


def test_retries_within_a_visit_wait_longer_each_time() -> None:
    slept: list[float] = []
    orchestrator = world(risk=[raises(OSError("x"))], breaker_threshold=1, attempts=3, sleep=slept.append)
    orchestrator.run(book())
    assert slept == list(RetryPolicy(attempts=3).pauses())
