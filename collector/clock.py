"""The collector's clock: wall time that only moves forward while the process lives.

Separate so that every timer is handed its time, and tests hand theirs. The wall clock is read once; from then on time
is that reading plus what has passed since (suspension of the machine included, where the system can tell), so that a
wall clock set forward or back closes no session.
"""

from __future__ import annotations

import time
from collections.abc import Callable

NANOSECONDS = 1_000_000_000


def _elapsed_ns() -> int:
    boottime = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic_ns() if boottime is None else time.clock_gettime_ns(boottime)


class SteadyClock:
    """`now_ns()`: nanoseconds since the Unix epoch, never less than before."""

    def __init__(self, wall_ns: Callable[[], int] = time.time_ns, elapsed_ns: Callable[[], int] = _elapsed_ns) -> None:
        self._elapsed_ns = elapsed_ns
        self._start = wall_ns() - elapsed_ns()

    def now_ns(self) -> int:
        """Return the time."""
        return self._start + self._elapsed_ns()


def seconds(value: float) -> int:
    """Return a number of seconds in nanoseconds."""
    return round(value * NANOSECONDS)
