"""`check`: what is wrong with a configuration or a contracts file, before a service meets it.

Separate from the loaders, which say it; this only tells the two kinds of file apart and prints. A configuration is checked with what it names:
its contracts file, its certificates and its tokens. No secret is printed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from collector.config import ConfigError, Options, load
from collector.config.loader import read_file
from collector.contracts import ContractError
from collector.contracts import load as load_contracts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="a configuration (YAML, TOML) or a contracts file (YAML)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print what is wrong, or that nothing is. 0: nothing, 1: something, 2: the file cannot be read."""
    path: Path = arguments.file
    try:
        path.read_bytes()
    except OSError as error:
        print(
            f"orbitrelay-collector: cannot read {str(path)!r}: {(error.strerror or str(error)).lower()}",
            file=sys.stderr,
        )
        return 2
    faults, fine = _contracts(path) if is_contracts(path) else _configuration(path)
    for fault in faults:
        print(fault, file=sys.stderr)
    if not faults:
        print(f"{path}: {fine}")
    return 1 if faults else 0


def is_contracts(path: Path) -> bool:
    """Whether a file holds contracts: `version` or `rules` stands at its top, which are no sections of a configuration."""
    try:
        return any(entry.name.partition(".")[0] in {"version", "rules"} for entry in read_file(path))
    except ConfigError:
        return False


def _contracts(path: Path) -> tuple[list[str], str]:
    try:
        book = load_contracts(path)
    except ContractError as error:
        return [str(problem) for problem in error.problems], ""
    return [], f"contracts, {len(book.rules)} rule{'s' if len(book.rules) != 1 else ''}, no fault"


def _configuration(path: Path) -> tuple[list[str], str]:
    try:
        loaded = load(path, os.environ)
    except ConfigError as error:
        return list(error.faults), ""
    set_here = sum(source == "file" for source in loaded.sources.values())
    return list(
        _named_files(loaded.options)
    ), f"configuration, {set_here} option{'s' if set_here != 1 else ''} set, no fault"


def _named_files(options: Options) -> Iterator[str]:
    from collector.listen.errors import StartError  # noqa: PLC0415  # grpc is slow to import
    from collector.listen.tls import Certificates  # noqa: PLC0415
    from collector.listen.tokens import Tokens  # noqa: PLC0415

    if options.contracts.file:
        try:
            load_contracts(Path(options.contracts.file))
        except ContractError as error:
            yield from map(str, error.problems)
    for name, listener in (("receive", options.receive), ("admin", options.admin)):
        try:
            Certificates(listener.tls)
            Tokens(listener.auth, os.environ, time.time)
        except StartError as error:
            yield f"{name}: {error}"
