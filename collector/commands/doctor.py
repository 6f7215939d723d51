"""`doctor`: what a set of spans allows, before anyone trusts a score made of them.

Separate from the findings (`collector.doctor`); this reads the inputs and prints.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from collector.contracts import ContractError
from collector.contracts import load as load_contracts
from collector.doctor import Findings, render
from collector.dumps import inputs
from collector.offline import Telling, reports, say
from collector.pipeline import Terms


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "inputs", nargs="+", metavar="INPUT", help="dumps, folders, globs, or - for standard input, as for convert"
    )
    parser.add_argument(
        "--contracts", type=Path, metavar="FILE", help="the contracts that roles are looked up in (YAML)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON in place of text")


def run(arguments: argparse.Namespace) -> int:
    """Say what was found. 0: all was read, 3: parts were unreadable, 2: nothing could be read."""
    try:
        book = load_contracts(arguments.contracts) if arguments.contracts else None
    except ContractError as error:
        for problem in error.problems:
            say(str(problem))
        return 2
    found, telling = Findings(), Telling()
    try:
        for report in reports(
            list(inputs(arguments.inputs)), Terms(book=book), telling, lambda facts: found.spans(facts.spans)
        ):
            found.report(report)
    except OSError as error:
        say(f"stopped: {(error.strerror or str(error)).lower()}")
        return 2
    telling.done()
    if arguments.json:
        print(json.dumps(found.data(), indent=2, sort_keys=True, ensure_ascii=False))
    else:
        print(render(found), end="")
    if telling.unread and not telling.inputs:
        return 2
    return 3 if telling.unread else 0
