"""The collector's command line: one word a command, each in a module of its own that is imported only when it is asked for.

Exit codes: 0 fine, 1 a check failed, 2 could not run, 3 done but parts were unreadable (`convert`).
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from importlib import metadata
from typing import NamedTuple


class Command(NamedTuple):
    """A command: `module` has `add_arguments(parser)` and `run(arguments) -> int`."""

    module: str
    help: str


COMMANDS = {
    "serve": Command("collector.commands.serve", "receive telemetry and report what it shows"),
    "convert": Command("collector.convert", "turn dumps of telemetry into trace documents and dossiers"),
    "doctor": Command("collector.commands.doctor", "say what a set of spans allows, and what to switch on to see more"),
    "rescore": Command("collector.commands.rescore", "say what another contracts file makes of the stored sessions"),
    "delete": Command("collector.commands.delete", "delete sessions with their content"),
    "backup": Command(
        "collector.commands.backup", "write a consistent copy of the store, also while the collector runs"
    ),
    "check": Command("collector.commands.check", "say what is wrong with a configuration or contracts file"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog="orbitrelay-collector",
        description="An OpenTelemetry collector that finds where multi-agent systems lose context.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {version()}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    asked = next((word for word in arguments if not word.startswith("-")), "")
    for name, command in COMMANDS.items():
        child = commands.add_parser(
            name, help=command.help, description=command.help[0].upper() + command.help[1:] + "."
        )
        if name == asked:
            module = importlib.import_module(command.module)
            module.add_arguments(child)
            child.set_defaults(run=module.run)
    parsed = parser.parse_args(arguments)
    try:
        code = int(parsed.run(parsed))
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError as error:
        print(f"orbitrelay-collector: standard output: {error.strerror}", file=sys.stderr)
        # What is still buffered has nowhere to go, and the interpreter would try once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    return code


def version() -> str:
    """The installed version, or "0" in a source tree that is not installed."""
    try:
        return metadata.version("orbitrelay")
    except metadata.PackageNotFoundError:
        return "0"


if __name__ == "__main__":
    sys.exit(main())
