"""Concurrent runs on one compiled graph: nothing of one run shows in another."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from orchestratorx.orchestrator import Orchestrator, Run
from orchestratorx.state import ReportStatus
from orchestratorx.trace import verify
from scripted import Behaviour, book, entries, raises, tells, world

RUNS = 24


def by_book(agent: str, brief: dict[str, Any]) -> Any:
    """What RiskModeler does depends on the book: every third fails, every third is critical, the rest is fine."""
    number = int(brief["portfolio_id"].removeprefix("PF-"))
    behaviour: Behaviour = (raises(OSError(f"down for {number}")), tells("RSK-004"), tells())[number % 3]
    return behaviour(agent, brief)


def threads(orchestrator: Orchestrator) -> list[Run]:
    barrier = threading.Barrier(8)

    def one(number: int) -> Run:
        if number < 8:
            barrier.wait(10)
        return orchestrator.run(book(f"PF-{number}"))

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(one, range(RUNS)))


def tasks(orchestrator: Orchestrator) -> list[Run]:
    async def all_of_them() -> list[Run]:
        return await asyncio.gather(*(orchestrator.arun(book(f"PF-{number}")) for number in range(RUNS)))

    return asyncio.run(all_of_them())


@pytest.mark.parametrize("run_all", [threads, tasks])
def test_failure_counts_traces_and_state_stay_with_their_run(run_all: Callable[[Orchestrator], list[Run]]) -> None:
    orchestrator = world(risk=[by_book], attempts=2)
    runs = run_all(orchestrator)
    assert len({run.run_id for run in runs}) == RUNS
    for number, run in enumerate(runs):
        alone = world(risk=[by_book], attempts=2).run(book(f"PF-{number}"), run_id=run.run_id)
        assert run.path == alone.path
        assert run.report == alone.report
        for kind in ("decision", "hop", "attempt", "run_ended"):
            assert entries(run, kind) == entries(alone, kind)
        assert verify(run.trace.document()) == []
        expected = (ReportStatus.INCOMPLETE, ReportStatus.HALTED, ReportStatus.CLEAN)[number % 3]
        assert run.report.status is expected


def test_an_event_loop_is_not_blocked_by_a_specialist() -> None:
    release = threading.Event()

    def wait(agent: str, brief: dict[str, Any]) -> Any:
        assert release.wait(10)
        return tells()(agent, brief)

    async def main() -> tuple[int, Run]:
        running = asyncio.create_task(world(risk=[wait]).arun(book()))
        ticks = 0
        while ticks < 10:
            await asyncio.sleep(0.005)
            ticks += 1
        release.set()
        return ticks, await running

    ticks, run = asyncio.run(main())
    assert (ticks, run.report.status) == (10, ReportStatus.CLEAN)


def test_a_run_after_a_failed_run_starts_with_a_closed_breaker() -> None:
    orchestrator = world(risk=[raises(OSError("a")), raises(OSError("b")), tells()], attempts=1)
    first = orchestrator.run(book())
    second = orchestrator.run(book())
    assert (first.report.status, second.report.status) == (ReportStatus.INCOMPLETE, ReportStatus.CLEAN)
    assert second.path.count("RiskModeler") == 1
