"""The clock moves forward with what passes, whatever is done to the wall clock."""

from __future__ import annotations

from collector.clock import SteadyClock, seconds


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
