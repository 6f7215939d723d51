"""A stop, where what runs does not end in time."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from tests.collector.engines import Bench, case_session, run

LEAF, _, ROOT = case_session(0)


class Never(Executor):
    """Takes all work and does none."""

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        self.work: Future[Any] = Future()
        return self.work


def test_a_report_that_is_not_made_before_the_stop_is_made_once_at_the_next_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        hanging = Bench(tmp_path, pool=(pool := Never()))
        async with hanging as bench:
            await bench.send(ROOT, LEAF)
            await bench.taken()
            bench.clock.forward(16)
            await bench.until(lambda: hasattr(pool, "work"))
            started = time.monotonic()
            assert await bench.engine.stop(0.5) is False
            assert time.monotonic() - started < 2
            pool.work.set_exception(RuntimeError("the store is not running"))
        assert caplog.messages == [
            "stop: the deadline passed with 1 reports to be made and 0 requests to be decoded; the next start goes on there"
        ]
        for _ in range(2):
            async with Bench(tmp_path) as bench:
                (report,) = await bench.reports(1)
                assert (report.revision, report.spans, report.close_reason) == (1, 3, "roots_ended")

    run(test())


def test_a_stop_that_cannot_finish_in_time_says_so_and_loses_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        bench = Bench(tmp_path)
        async with bench:
            release = threading.Event()

            def hold() -> None:
                release.wait(10)

            bench.engine._worker.call(hold)
            await bench.send(LEAF)
            started = time.monotonic()
            assert await bench.engine.stop(0.3) is False
            assert time.monotonic() - started < 3
            release.set()
        async with bench:
            await bench.until(lambda: bench.engine.stats().open_sessions == 1)

    run(test())
