"""The store of a data folder, opened by a command beside a collector that may be running.

Separate from the commands because all of them must answer the same two questions first: which folder, and whether a collector has it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from collector.config import Loaded, load
from collector.folder import DataFolder, default_folder
from collector.listen.errors import StartError
from collector.store import Store, StoreError
from collector.store.schema import VERSION


class Stored(NamedTuple):
    """An open store. `running`: a collector has the folder, and only it may write there."""

    loaded: Loaded
    folder: Path
    store: Store
    running: bool


def add_folder_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that say which data folder, as for `serve`."""
    parser.add_argument("--config", type=Path, metavar="FILE", help="the configuration that the collector runs with")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", dest="overrides", help="set one option (repeatable)"
    )


@contextlib.contextmanager
def opened(arguments: argparse.Namespace) -> Iterator[Stored]:
    """The store that the arguments name. Raises `ConfigError`, `StartError`."""
    loaded = load(arguments.config, os.environ, arguments.overrides)
    folder = Path(loaded.options.data.dir) if loaded.options.data.dir else default_folder()
    path = folder / "store.sqlite"
    if not path.is_file():
        raise StartError(f"expected a store in the data folder {str(folder)!r} (data.dir), found none")
    lock = DataFolder(folder)
    try:
        lock.acquire()
        running = False
    except StartError:
        running = True
    store = Store(path)
    try:
        if running and (found := _version(path)) != VERSION:
            raise StartError(
                f"the running collector's store is of version {found}, this program's of {VERSION}; use the same program"
            )
        store.start()
        yield Stored(loaded, folder, store, running)
    except StoreError as error:
        raise StartError(str(error)) from error
    finally:
        store.stop()
        lock.release()


def _version(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
