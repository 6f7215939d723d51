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
from collector.store.schema import VERSION, connect, version


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


def found(arguments: argparse.Namespace) -> tuple[Loaded, Path]:
    """The configuration and the store's file that the arguments name. Raises `ConfigError`, `StartError`."""
    loaded = load(arguments.config, os.environ, arguments.overrides)
    folder = Path(loaded.options.data.dir) if loaded.options.data.dir else default_folder()
    path = folder / "store.sqlite"
    if not path.is_file():
        raise StartError(f"expected a store in the data folder {str(folder)!r} (data.dir), found none")
    return loaded, path


@contextlib.contextmanager
def opened(arguments: argparse.Namespace) -> Iterator[Stored]:
    """The store that the arguments name, of this program's version. Raises `ConfigError`, `StartError`."""
    loaded, path = found(arguments)
    lock = DataFolder(path.parent)
    try:
        lock.acquire()
        running = False
    except StartError:
        running = True
    store = Store(path)
    try:
        _check(path, running)
        store.start()
        yield Stored(loaded, path.parent, store, running)
    except StoreError as error:
        raise StartError(str(error)) from error
    finally:
        store.stop()
        lock.release()


def _check(path: Path, running: bool) -> None:
    """Raise `StartError` for a store of another version: to migrate is the collector's, and nothing else was asked for."""
    try:
        with contextlib.closing(connect(path)) as connection:
            of = version(connection)
    except (StoreError, sqlite3.Error) as error:
        raise StartError(f"cannot use store '{path}': {error}") from error
    if of != VERSION:
        way = "use the same program as the collector that runs" if running else "use the program that wrote it"
        if of < VERSION and not running:
            way += ", or start the collector, which migrates it"
        raise StartError(f"the store '{path}' is of version {of}, this program's of {VERSION}: {way}")
