"""What runs and is to be stopped, in the order of its start: the last that started stops first.

Separate from the collector because every part that starts something notes here how it stops, also where the start fails half way.

Rules:
- a stop is told how many seconds are left, and cut off when they have passed: a part that hangs takes only its own time;
- a part that fails to stop is logged, and keeps no other from stopping.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

_log = logging.getLogger("collector.service")


class Stops:
    """The parts that run. True while there are any."""

    def __init__(self) -> None:
        self._stops: list[tuple[str, Callable[[float], Awaitable[Any]]]] = []

    def __bool__(self) -> bool:
        return bool(self._stops)

    def later(self, name: str, stop: Callable[[float], Awaitable[Any]]) -> None:
        """Note how a part stops: `stop(seconds left)`; what returns False did not finish."""
        self._stops.append((name, stop))

    def run(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Run a task until it is its turn to stop."""
        task = asyncio.create_task(work, name=name)

        async def cancel(_deadline: float) -> None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        self.later(name, cancel)

    async def stop(self, deadline_s: float) -> bool:
        """Stop every part within that many seconds; whether all of them finished."""
        deadline = time.monotonic() + deadline_s
        finished = True
        while self._stops:
            name, stop = self._stops.pop()
            try:
                async with asyncio.timeout_at(
                    asyncio.get_running_loop().time() + max(0.2, deadline - time.monotonic())
                ):
                    finished &= await stop(max(0.1, deadline - time.monotonic())) is not False
            except Exception as error:
                finished = False
                _log.error(
                    "a part did not stop",
                    extra={"fields": {"part": name, "reason": str(error) or type(error).__name__}},
                )
        return finished
