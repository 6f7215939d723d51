"""A collector: what is started in which order, and stopped in the other.

Separate from how its parts are built (build.py), from what they do, and from the process that they run in. One event loop; one
collector a data folder.

Rules:
- downstream starts first and stops last: nothing is accepted that has nowhere to go, and nothing accepted is left behind a closed door;
- of what is left of the deadline each part has a share, so that nothing that hangs takes it all;
- a start that fails leaves nothing running.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

from collector.build import Core, build_core, make_terms
from collector.config import Loaded, Options
from collector.folder import DataFolder, default_folder
from collector.journal import JournalError
from collector.listen.errors import StartError
from collector.query.service import HealthService
from collector.receive.admit import Admission
from collector.service.admin import start_admin
from collector.service.doors import Doors
from collector.service.receivers import start_receivers
from collector.service.reload import Reload
from collector.service.stops import Stops
from collector.store import StoreError

_TICK = 0.25
_ENGINE_SHARE, _DOWNSTREAM_SHARE = 0.8, 0.5
_log = logging.getLogger("collector.service")


class Collector:
    """Everything that runs. `environment` holds tokens; `reread` loads the configuration again."""

    def __init__(
        self,
        options: Options,
        *,
        reread: Callable[[], Loaded],
        config: Path | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        self._options = options
        self._reread = reread
        self._config = config
        self._folder = DataFolder(Path(options.data.dir) if options.data.dir else default_folder())
        self._stops = Stops()
        self._doors = Doors(dict(os.environ) if environment is None else environment)
        self._reload: Reload | None = None
        self._serving = False

    @property
    def stop_deadline(self) -> float:
        """Seconds that a stop may take."""
        return self._options.service.stop_deadline

    async def start(self) -> None:
        """Start everything, downstream first. Raises `StartError`, with nothing left running."""
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise
        _log.info("ready", extra={"fields": {"data": str(self._folder.path), **self._doors.addresses}})

    async def stop(self) -> bool:
        """Stop everything, upstream first, within `service.stop_deadline`; whether all of it finished. Idempotent."""
        if not self._stops:
            return True
        ready, self._serving = self._serving, False
        if ready:
            _log.info("stopping")
        finished = await self._stops.stop(self.stop_deadline)
        if ready:
            _log.info("stopped", extra={"fields": {"finished": finished}})
        return finished

    def reload_soon(self) -> None:
        """Reload on the next turn of the loop, if it serves by then; for a signal handler."""
        if self._reload is not None:
            self._reload.soon()

    async def _start(self) -> None:
        options, stops = self._options, self._stops
        self._folder.acquire()
        stops.later("data folder", self._released)
        terms = make_terms(options, self._folder.path)
        core = build_core(options, self._folder.path, terms)
        stops.later("health", lambda _: asyncio.to_thread(core.health.stop))
        self._health = HealthService()
        await self._health.set(False)
        try:
            stops.later("store", lambda deadline: asyncio.to_thread(core.store.stop, deadline))
            await asyncio.to_thread(core.store.start)
            await start_admin(core, options, self._doors, stops, self._health, self._unready)
            stops.later("outbox", lambda deadline: core.sender.stop(deadline * _DOWNSTREAM_SHARE))
            await core.sender.start()
            if (push := core.push) is not None:
                stops.later("metrics push", lambda deadline: asyncio.to_thread(push.stop, deadline * _DOWNSTREAM_SHARE))
                push.start()
            stops.later("engine", lambda deadline: core.engine.stop(deadline * _ENGINE_SHARE, options.service.drain))
            await core.engine.start()
        except (StoreError, JournalError) as error:
            raise StartError(str(error)) from error
        except sqlite3.Error as error:  # as on a full disk, where it can be opened and not written
            raise StartError(f"cannot use store '{core.store.path}': {error}") from error
        stops.run("tick", self._tick(core))
        admission = await start_receivers(core, options, self._doors, stops)
        stops.later("admission", lambda _: self._closed(admission))
        self._reload = Reload(
            core,
            admission,
            self._doors,
            options,
            reread=self._reread,
            config=self._config,
            folder=self._folder.path,
            serving=lambda: self._serving,
        )
        if options.service.watch:
            stops.run("watch", self._reload.watch())
        self._serving = True
        await self._health.set(True)

    async def _released(self, _deadline: float) -> None:
        self._folder.release()

    async def _closed(self, admission: Admission) -> None:
        await self._health.set(False)
        admission.close()

    async def _tick(self, core: Core) -> None:
        while True:
            core.engine.tick()
            if self._serving:
                await self._health.ready(core.engine.trouble() is None)
            await asyncio.sleep(_TICK)

    def _unready(self) -> str:
        return "" if self._serving else "not serving"
