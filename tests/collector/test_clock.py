"""The clock moves forward with what passes, whatever is done to the wall clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.build import build_core
from collector.clock import SteadyClock, seconds
from collector.config.options import Options
from collector.pipeline import Terms


def test_setting_the_wall_clock_moves_no_timer() -> None:
    wall, elapsed = [seconds(1_800_000_000)], [seconds(50)]
    clock = SteadyClock(lambda: wall[0], lambda: elapsed[0])
    assert clock.now_ns() == seconds(1_800_000_000)
    wall[0] -= seconds(86_400)
    elapsed[0] += seconds(2)
    assert clock.now_ns() == seconds(1_800_000_002)


def test_the_systems_clock_gives_the_time_and_never_goes_back() -> None:
    import time

    clock = SteadyClock()
    readings = [clock.now_ns() for _ in range(1000)]
    assert readings == sorted(readings)
    assert abs(clock.now_ns() - time.time_ns()) < seconds(5)


def test_metrics_are_of_the_wall_clocks_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wall = [seconds(86_400)]
    monkeypatch.setattr("time.time_ns", lambda: wall[0])
    core = build_core(Options(), tmp_path, Terms())
    core.store.start()
    wall[0] = seconds(1_800_000_000)
    (resource,) = core.snapshots.take().resource_metrics
    core.store.stop()
    core.health.stop()
    metrics = {metric.name: metric for metric in resource.scope_metrics[0].metrics}
    (point,) = metrics["orbitrelay.session.open"].data.data_points
    assert point.time_unix_nano == seconds(1_800_000_000)
