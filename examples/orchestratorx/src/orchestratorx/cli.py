"""The command line: `orchestratorx demo | run | trace | verify | contracts | serve`.

Separate because it only parses and prints. Exit codes: 0 done, 1 the review was halted or is incomplete (or the trace
does not hold), 2 bad input or usage.
"""

from __future__ import annotations

import argparse
import ipaddress
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from orchestratorx.briefs import incomplete
from orchestratorx.orchestrator import Orchestrator, Run
from orchestratorx.portfolio import DEMO_BOOKS, INCOMPLETE_BOOK, BookError, demo_book, load_book
from orchestratorx.registry import Registry, RegistryError, record_run
from orchestratorx.settings import Settings, SettingsError
from orchestratorx.state import Finding, ReportStatus
from orchestratorx.telemetry import exporter_from_environment
from orchestratorx.trace import verify

__all__ = ["main"]


def _findings(findings: Iterable[Finding]) -> str:
    return ", ".join(f"{finding.code}({finding.severity.value})" for finding in findings) or "none"


def _summary(title: str, run: Run) -> str:
    report = run.report
    return (
        f"{title}\n"
        f"    path       : {' -> '.join(run.path)}\n"
        f"    escalation : {report.escalation.value}  |  halted: {report.halted}\n"
        f"    findings   : {_findings(report.findings)}"
    )


def _printable(text: str) -> str:
    """Text from a book or a trace, fit for a terminal."""
    return "".join(c if c.isprintable() else " " for c in text)


def _demo(arguments: argparse.Namespace) -> int:
    settings = Settings.from_environment()
    exporter = exporter_from_environment()
    whole = Orchestrator.from_settings(settings, exporter=exporter)
    jobs = [(demo_book(name), "", whole) for name in DEMO_BOOKS]
    if arguments.incomplete_handoff:
        lossy = Orchestrator.from_settings(settings, exporter=exporter, alter=incomplete)
        jobs.append((demo_book(INCOMPLETE_BOOK), ", handed on incompletely", lossy))
    for number, (book, remark, orchestrator) in enumerate(jobs, 1):
        run = orchestrator.run(book)
        print(("" if number == 1 else "\n") + _summary(f"[{number}] {book.name}{remark}", run))
        if arguments.narrative:
            print(f"    narrative  : {' '.join(run.report.narrative.split())}")
        if arguments.traces:
            arguments.traces.mkdir(parents=True, exist_ok=True)
            run.trace.write_json(arguments.traces / f"{number}-{book.portfolio_id}.trace.json")
    exporter.flush()
    return 0


def _run(arguments: argparse.Namespace) -> int:
    settings = Settings.from_environment()
    book = load_book(arguments.file)
    orchestrator = Orchestrator.from_settings(settings)
    registry = Registry(settings.database)
    registry.start()
    try:
        run = record_run(orchestrator, registry, book)
    finally:
        orchestrator.flush()
        registry.stop()
    report = run.report
    if arguments.json:
        print(json.dumps({"path": list(run.path), "report": report.to_dict()}, indent=2))
    else:
        print(_summary(_printable(book.name), run))
        print(f"    status     : {report.status.value}")
        for label, lines in (
            ("finding", [f"{f.code} {f.severity.value}: {f.message}" for f in report.findings]),
            ("proposed", list(report.mitigation)),
            ("lacking", list(report.incomplete)),
        ):
            for line in lines:
                print(f"    {label:<11}: {_printable(line)}")
        print(f"    narrative  : {_printable(report.narrative)}")
        print(f"    run id     : {run.run_id}")
    return 1 if report.status in (ReportStatus.HALTED, ReportStatus.INCOMPLETE) else 0


def _entry_line(entry: dict[str, Any]) -> str:
    detail = entry["detail"]
    kind = entry["kind"]
    if kind == "hop":
        said = f"{detail['source']} -> {detail['target']}  {detail['mode']}, {detail['status']}: {detail['reason']}"
        said += f"  [{', '.join(detail['fields'])}]"
    elif kind == "decision":
        said = f"{detail['rule']} -> {detail['target']}  ({detail['reason']}; escalation {detail['escalation']})"
    elif kind == "attempt":
        said = f"{detail['agent']} attempt {detail['attempt']} failed: {detail['error']}"
    elif kind == "note":
        said = f"{detail['agent']}: {detail['text']}"
    else:
        said = "  ".join(f"{name}={json.dumps(value)}" for name, value in sorted(detail.items()))
    return _printable(f"{entry['seq']:>3}  {entry['at'][11:23]}  {kind:<11}  {said}")


def _stored(run_id: str) -> tuple[dict[str, Any], str | None] | None:
    registry = Registry(Settings.from_environment().database)
    registry.start()
    try:
        record = registry.get(run_id)
        return None if record is None else (registry.trace(run_id), record.head)
    finally:
        registry.stop()


def _trace(arguments: argparse.Namespace) -> int:
    stored = _stored(arguments.run_id)
    if stored is None:
        return _fail(f"no run {arguments.run_id!r} in the registry")
    if arguments.json:
        print(json.dumps(stored[0], indent=2, sort_keys=True))
    else:
        print("\n".join(_entry_line(entry) for entry in stored[0]["entries"]))
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    path = Path(arguments.target)
    head: str | None = arguments.head
    if path.is_file():
        try:
            found: Any = json.loads(path.read_bytes())
        except (ValueError, RecursionError) as error:
            return _fail(f"{path}: expected JSON: {error}")
    else:
        stored = _stored(arguments.target)
        if stored is None:
            return _fail(f"{arguments.target!r} is neither a file nor a run in the registry")
        found, head = stored[0], head or stored[1]
    problems = verify(found, head=head)
    for problem in problems:
        print(_printable(problem))
    if not problems:
        print(f"{len(found['entries'])} entries, the chain holds; head {found['head']}")
    return 1 if problems else 0


def _contracts(_: argparse.Namespace) -> int:
    print((files("orchestratorx") / "contracts.yaml").read_text(encoding="utf-8"), end="")
    return 0


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _serve(arguments: argparse.Namespace) -> int:
    settings = Settings.from_environment()
    if not settings.token and not _loopback(arguments.host):
        return _fail(f"{arguments.host} can be reached from outside: set ORCHESTRATORX_TOKEN first")
    try:
        import uvicorn

        from orchestratorx.api import app
    except ImportError as error:
        return _fail(f"{error}; install orchestratorx[api]")
    uvicorn.run(app, host=arguments.host, port=arguments.port, timeout_graceful_shutdown=10)
    return 0


def _fail(message: str) -> int:
    print(f"orchestratorx: {_printable(message)}", file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="orchestratorx",
        description="Portfolio reviews under a supervisor that routes by policy. Synthetic data, no advice.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int], about: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=about, description=about)
        made.set_defaults(run=run)
        return made

    demo = command("demo", _demo, "review the three bundled books")
    demo.add_argument(
        "--incomplete-handoff", action="store_true", help="a fourth review, whose ClientAdvisor is handed too little"
    )
    demo.add_argument("--narrative", action="store_true", help="print the client-facing narrative too")
    demo.add_argument("--traces", type=Path, metavar="DIR", help="write each audit trail to a JSON file")
    run = command("run", _run, "review a book and keep the run")
    run.add_argument("file", type=Path, metavar="FILE", help="a book as JSON")
    run.add_argument("--json", action="store_true", help="print the report as JSON")
    trace = command("trace", _trace, "print the audit trail of a kept run")
    trace.add_argument("run_id", metavar="RUN_ID")
    trace.add_argument("--json", action="store_true", help="print the trace document")
    check = command("verify", _verify, "check the hash chain of an audit trail")
    check.add_argument("target", metavar="FILE|RUN_ID")
    check.add_argument("--head", metavar="HASH", help="the hash of the last entry, kept elsewhere")
    command("contracts", _contracts, "print the OrbitRelay contracts of the four roles")
    serve = command("serve", _serve, "serve the HTTP API")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=int, default=8000)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        code: int = arguments.run(arguments)
    except (BookError, SettingsError, RegistryError, OSError) as error:
        return _fail(str(error))
    return code


if __name__ == "__main__":
    sys.exit(main())
