"""`backup`: a consistent copy of the store as it is, while a collector runs or not."""

from __future__ import annotations

import argparse
import sqlite3
import sys
from pathlib import Path

from collector.commands.stored import add_folder_arguments, found
from collector.config import ConfigError
from collector.listen.errors import StartError
from collector.store import StoreError
from collector.store.backup import copy


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("file", type=Path, metavar="FILE", help="where to write the copy; it must not exist")
    add_folder_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the copy. 2: it could not be written."""
    try:
        _, path = found(arguments)
        copy(path, arguments.file)
    except (ConfigError, StartError, StoreError) as error:
        print(f"orbitrelay-collector: {error}", file=sys.stderr)
        return 2
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        print(f"orbitrelay-collector: cannot write {str(arguments.file)!r}: {reason.lower()}", file=sys.stderr)
        return 2
    print(f"{arguments.file}: {arguments.file.stat().st_size} bytes")
    return 0
