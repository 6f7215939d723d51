"""Files that are watched for change: what matters is their content, wherever it comes from.

Separate from what a change leads to. The folders are watched and not the files, since editors, package managers and Kubernetes put a new
file (or a new link) in the place of the old one; a change of anything there is looked at, and counts where the content differs.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import anyio
from watchfiles import awatch

_LOOK_MS = (
    2_000  # also looked at without a notice: of a change just before watching begins, or on a network disk, none comes
)
_log = logging.getLogger("collector.watch")


class FileWatch:
    """Calls `changed` with the files whose content differs from before."""

    def __init__(self, files: Sequence[Path], changed: Callable[[list[Path]], Awaitable[None]]) -> None:
        self._changed = changed
        self._digests: dict[Path, str] = {}
        self._again = anyio.Event()
        self.watch(files)

    def watch(self, files: Sequence[Path]) -> None:
        """Watch these files from now on, and no others."""
        digests = {file: _digest(file) for file in files}
        if digests.keys() != self._digests.keys():
            self._again.set()
        self._digests = digests

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            self._again = anyio.Event()
            folders = sorted({folder for file in self._digests if (folder := file.absolute().parent).is_dir()})
            if not folders:
                await self._again.wait()
                continue
            await self._look()  # what changed while nobody looked
            async for _ in awatch(
                *folders,
                stop_event=self._again,
                recursive=False,
                debounce=400,
                step=100,
                rust_timeout=_LOOK_MS,
                yield_on_timeout=True,
            ):
                await self._look()

    async def _look(self) -> None:
        changed = [file for file, digest in self._digests.items() if _digest(file) != digest]
        if changed:
            self._digests |= {file: _digest(file) for file in changed}
            await self._changed(changed)


def _digest(file: Path) -> str:
    try:
        return hashlib.blake2b(file.read_bytes()).hexdigest()
    except OSError as error:
        return f"unreadable: {error.errno}"
