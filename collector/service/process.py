"""The process of a collector: signals, the event loop, the exit code, and the last resort where a stop does not end.

Separate from what runs in it, so that a collector can be started and stopped without a process of its own.

Rules:
- what keeps the collector from starting is one line and exit code 2;
- a stop has a deadline that nothing outlasts, and what is not finished by then goes on at the next start.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from collector.config import Loaded
from collector.listen.errors import StartError
from collector.listen.sockets import open_files, raise_open_files
from collector.logs import configure
from collector.memory import keep_freed_memory, spare_the_collector
from collector.service.collector import Collector

_FEW_FILES = 1024  # an eighth of which are few connections
_MARGIN_S = 1.0  # for a process that does not end by itself
_log = logging.getLogger("collector.service")


def serve(loaded: Loaded, reread: Callable[[], Loaded], config: Path | None) -> int:
    """Run a collector until SIGTERM or SIGINT; return the exit code. `reread` loads the configuration again."""
    options = loaded.options
    configure(options.log.level, options.log.format)
    keep_freed_memory()
    raise_open_files()
    if (files := open_files()) is not None and files < _FEW_FILES:
        _log.warning(
            "few open files are allowed: each listener has an eighth of them", extra={"fields": {"limit": files}}
        )
    for warning in loaded.warnings:
        _log.warning(warning)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        try:
            return runner.run(_serve(Collector(options, reread=reread, config=config)))
        except StartError as error:
            print(f"orbitrelay-collector: {error}", file=sys.stderr)
            return 2


async def _serve(collector: Collector) -> int:
    stop = asyncio.Event()
    overdue = _Overdue(collector.stop_deadline + _MARGIN_S)

    def end() -> None:
        overdue.begin()
        stop.set()

    with _signals(end, collector.reload_soon):
        await collector.start()
        spare_the_collector()
        try:
            await stop.wait()
        finally:
            overdue.begin()
            finished = await collector.stop()
    return 0 if finished else 1


class _Overdue:
    """Ends the process if it is still there so many seconds after `begin`, whatever it waits for.

    Never called off: behind the last part that stops, threads and connections are still to be waited for.
    """

    def __init__(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def begin(self) -> None:
        """Let the time run. A second call does nothing."""
        if self._timer.ident is None:
            self._timer.start()

    @staticmethod
    def _end() -> None:
        _log.error("the deadline passed, and something still ran; the next start goes on where this one stopped")
        os._exit(1)


@contextlib.contextmanager
def _signals(stop: Callable[[], None], reload: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    wanted = {"SIGTERM": stop, "SIGINT": stop, "SIGHUP": reload}
    taken = [(number, wanted[name]) for name in wanted if (number := getattr(signal, name, None)) is not None]
    try:
        for number, act in taken:
            loop.add_signal_handler(number, act)
    except NotImplementedError:  # Windows: Ctrl-C raises KeyboardInterrupt, which stops as well
        taken = []
    try:
        yield
    finally:
        for number, _ in taken:
            loop.remove_signal_handler(number)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415  # not on every platform
    except ImportError:
        return None
    return uvloop.new_event_loop
