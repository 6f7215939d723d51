"""`rescore`: what another contracts file makes of the stored sessions. It only reads: reports and metrics stay as they were made.

Rules are matched by the resource attributes of the session's earliest agent span, as the service did; `--rule` takes one by
its name for every session.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from collector.commands.stored import add_folder_arguments, opened
from collector.config import ConfigError, suggestion
from collector.contracts import ContractBook, ContractError, ResolvedContract
from collector.contracts import load as load_contracts
from collector.listen.errors import StartError
from collector.offline import count
from collector.pipeline import Rescored, rescore
from collector.report import Report
from collector.store import SessionFilter, Store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "contracts", type=Path, metavar="CONTRACTS", help="the contracts file to hold the sessions against"
    )
    parser.add_argument(
        "--rule", default="", metavar="NAME", help="use this rule for every session, whatever it matches"
    )
    parser.add_argument("--service", default="", metavar="NAME", help="only sessions of this service.name")
    add_folder_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what changes, session by session. 2: a file cannot be used."""
    try:
        book = load_contracts(arguments.contracts)
        chosen = _rule(book, arguments.rule)
        with opened(arguments) as stored:
            sessions = changed = without = 0
            for report in _reports(stored.store, arguments.service):
                sessions += 1
                contract = chosen or book.resolve(report.resource)
                if contract is None:
                    without += 1
                    continue
                result = rescore(report, contract)
                if result.changed:
                    changed += 1
                    print("\n".join(_lines(report, result)))
    except (ConfigError, StartError, ContractError) as error:
        print(f"orbitrelay-collector: {error}", file=sys.stderr)
        return 2
    print(f"{count(sessions, 'session')}, {changed} changed, {without} without a rule")
    return 0


def _rule(book: ContractBook, name: str) -> ResolvedContract | None:
    if not name:
        return None
    rules = {rule.contract.name: rule.contract for rule in book.rules}
    if name not in rules:
        raise StartError(f"expected --rule to name a rule of the file, found '{name}'{suggestion(name, rules)}")
    return rules[name]


def _reports(store: Store, service: str) -> Iterator[Report]:
    token = ""
    while True:
        page = store.sessions(SessionFilter(service=service), token, 200)
        for row in page.rows:
            report = store.report(row.session_id)
            if report is not None:  # else deleted meanwhile
                yield report
        token = page.next_token
        if not token:
            return


def _lines(report: Report, result: Rescored) -> Iterator[str]:
    names = {row.handoff_id: f"{row.source_agent} -> {row.target_agent}" for row in report.handoffs}
    yield f"{_safe(result.name)}: {_score(result.before)} -> {_score(result.after)}"
    for handoff_id, field, before, after in result.changed:
        yield f"  {_safe(names.get(handoff_id, handoff_id))}: {_safe(field)}: {before} -> {after}"


def _score(value: float | None) -> str:
    return "not scored" if value is None else f"{value:.3f}"


def _safe(text: str) -> str:
    """Names come from telemetry: nothing of it may steer the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
