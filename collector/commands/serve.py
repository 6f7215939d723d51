"""`serve`: run the collector until it is told to stop."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from collector.config import ConfigError, Loaded, load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="configuration (YAML, or TOML by its name); none: the defaults"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="overrides",
        help="set one option, as in docs/configuration.md (repeatable)",
    )
    parser.add_argument(
        "--drain",
        action="append_const",
        const="service.drain=true",
        dest="overrides",
        help="report what is open as partial when it is told to stop, instead of leaving it for the next start",
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve; 0 after a stop that was asked for, 2 where it cannot start."""

    def read() -> Loaded:
        return load(arguments.config, os.environ, arguments.overrides)

    try:
        loaded = read()
    except ConfigError as error:
        print(f"orbitrelay-collector: {error}", file=sys.stderr)
        return 2
    from collector.service.process import serve  # noqa: PLC0415  # the whole service, after the configuration is known to be good

    return serve(loaded, read, arguments.config)
