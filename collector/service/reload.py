"""A reload: what of the configuration changes while the collector runs, and how it is taken.

Separate from start and stop, which know the configuration of the start alone.

Rules:
- a reload takes all of the new configuration's reloadable part or none of it, and says which;
- contracts, certificates and tokens are read anew with it, and their files are watched as the configuration's is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from collector.build import Core, make_housekeeping, make_rules, make_terms
from collector.config import ConfigError, Loaded, Options, table, value_of
from collector.config.options import build
from collector.listen.errors import StartError
from collector.logs import configure
from collector.receive.admit import Admission
from collector.receive.redact import Redactor
from collector.service.doors import Doors
from collector.watch import FileWatch

_log = logging.getLogger("collector.service")


class Reload:
    """Reloads a running collector. `reread` loads the configuration again; nothing is done while it is not `serving`."""

    def __init__(
        self,
        core: Core,
        admission: Admission,
        doors: Doors,
        options: Options,
        *,
        reread: Callable[[], Loaded],
        config: Path | None,
        folder: Path,
        serving: Callable[[], bool],
    ) -> None:
        self._core = core
        self._admission = admission
        self._doors = doors
        self._options = options
        self._reread = reread
        self._config = config
        self._folder = folder
        self._serving = serving
        self._lock = asyncio.Lock()
        self._tasks: list[asyncio.Future[bool]] = []
        self._watch: FileWatch | None = None

    def soon(self) -> None:
        """Reload on the next turn of the loop; for a signal handler."""
        task = asyncio.ensure_future(self.run())
        self._tasks = [*(t for t in self._tasks if not t.done()), task]

    def watch(self) -> Coroutine[Any, Any, None]:
        """Watch the files from now on; the task that does, and reloads where one changes."""
        self._watch = FileWatch(self._watched(), self._changed)
        return self._watch.run()

    async def run(self) -> bool:
        """Take the reloadable part of the configuration, contracts, certificates and tokens as they are now.

        A fault anywhere changes nothing, and is logged.
        """
        async with self._lock:
            if not self._serving():
                return False
            try:
                wanted = (await asyncio.to_thread(self._reread)).options
                changed = [name for name in table() if value_of(wanted, name) != value_of(self._options, name)]
                restart = [name for name in changed if not table()[name].reload]
                options = self._merged(wanted)
                terms = await asyncio.to_thread(make_terms, options, self._folder)
                redactor = Redactor(options.content.redact, options.content.replacement)
                self._doors.reload()
            except (ConfigError, StartError) as error:
                _log.error("reload refused: nothing was changed", extra={"fields": {"reason": str(error)}})
                return False
            await self._core.engine.reload(terms, make_rules(options), make_housekeeping(options))
            self._admission.redactor = redactor
            await self._core.sender.unpark()
            configure(options.log.level, options.log.format)
            self._options = options
            if self._watch is not None:
                self._watch.watch(self._watched())
            _log.info("reloaded", extra={"fields": {"changed": [name for name in changed if name not in restart]}})
            if restart:
                _log.warning("changed options need a restart", extra={"fields": {"options": restart}})
            return True

    def _merged(self, wanted: Options) -> Options:
        """The options in force, with what is reloadable of the wanted ones."""
        return build(
            {name: value_of(wanted if option.reload else self._options, name) for name, option in table().items()}
        )

    def _watched(self) -> list[Path]:
        files = [str(self._config) if self._config else "", self._options.contracts.file, *self._doors.files]
        return [Path(file) for file in files if file]

    async def _changed(self, paths: list[Path]) -> None:
        _log.info("files changed", extra={"fields": {"files": [str(path) for path in paths]}})
        await self.run()
