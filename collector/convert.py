"""`convert`: dumps of telemetry in, a trace document and a dossier for every session out, and an index of them.

Everything behind the reading is the service's own: the same facts, sessions, recovery and analysis, so that a dump gives
the documents that the running service would have given. Sessions are put together in a temporary store, which keeps
memory flat on inputs larger than memory; a session closes when all inputs are read.

Exit codes: 0 all read, 3 done but parts were unreadable (each is named), 2 nothing could be done.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from collector import pipeline
from collector.contracts import ContractBook, ContractError
from collector.contracts import load as load_contracts
from collector.dumps import ReadNote, inputs
from collector.emit.files import DOSSIER_SUFFIX, TRACE_SUFFIX, file_stem, write_whole
from collector.memory import keep_freed_memory, spare_the_collector
from collector.offline import Telling, count, reports, say
from collector.pipeline import Terms
from collector.report import Report
from orbitrelay.text import code, visible

INDEX = "index.md"
NO_CONTRACT = "no contract"


class Row(NamedTuple):
    """One line of the index."""

    name: str
    stem: str
    service: str
    agents: int
    handoffs: int
    scored: int
    mean_score: float | None
    grade: str
    weakest: str
    notes: str


class Outcome(NamedTuple):
    """What a conversion came to. `unread`: parts that were unreadable. `inputs`: those of which something was read."""

    rows: tuple[Row, ...]
    inputs: int
    unread: int
    spans: int
    handoffs: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "inputs",
        nargs="+",
        metavar="INPUT",
        help="a dump, a folder of dumps, a glob, or - for standard input; OTLP JSON or protobuf, Jaeger, Tempo, Langfuse "
        "and flattened spans, plain or in gzip or zstd, told by content",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder to write to; made if absent")
    parser.add_argument("--contracts", type=Path, metavar="FILE", help="the contracts to hold handoffs against (YAML)")
    parser.add_argument("--quiet", action="store_true", help="say nothing of inputs that were read whole")


def run(arguments: argparse.Namespace) -> int:
    """Convert, say what was done, and return the exit code."""
    try:
        book = load_contracts(arguments.contracts) if arguments.contracts else None
    except ContractError as error:
        for problem in error.problems:
            say(str(problem))
        return 2
    try:
        arguments.out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=arguments.out):
            pass
    except OSError as error:
        say(f"cannot write to {str(arguments.out)!r}: {(error.strerror or str(error)).lower()}")
        return 2
    keep_freed_memory()
    spare_the_collector()
    try:
        outcome = convert(arguments.inputs, arguments.out, book, Telling(arguments.quiet))
    except OSError as error:
        say(f"stopped: {(error.strerror or str(error)).lower()}{f' ({error.filename})' if error.filename else ''}")
        return 2
    print(_summary(outcome, arguments.out))
    if outcome.unread and not outcome.inputs:
        return 2
    return 3 if outcome.unread else 0


def convert(names: Iterable[str], out: Path, book: ContractBook | None, telling: Telling) -> Outcome:
    """Convert the inputs that `names` mean into `out`. Raises OSError where that cannot be written."""
    stems: dict[str, str] = {}
    rows: list[Row] = []
    handoffs = 0
    for report in reports(_found(names, out), Terms(book=book, dossier=True), telling):
        stem = _claim(stems, report)
        write_whole(out / f"{stem}{TRACE_SUFFIX}", report.trace_json, durable=False)
        dossier = pipeline.dossier(report).encode("utf-8", "replace")
        write_whole(out / f"{stem}{DOSSIER_SUFFIX}", dossier, durable=False)
        rows.append(_row(report, stem))
        handoffs += len(report.handoffs)
        telling.wrote(len(rows))
    rows.sort(key=lambda row: (row.mean_score is None, row.mean_score or 0.0, row.name, row.stem))
    write_whole(out / INDEX, index(rows).encode("utf-8", "replace"), durable=False)
    telling.done()
    return Outcome(tuple(rows), telling.inputs, telling.unread, telling.spans, handoffs)


def _found(names: Iterable[str], out: Path) -> list[str | ReadNote]:
    """What is to be read, without the results of an earlier run that lie where this one writes."""
    here = out.resolve()
    ours = (TRACE_SUFFIX, DOSSIER_SUFFIX, f"/{INDEX}")
    return [
        name
        for name in inputs(list(names))
        if isinstance(name, ReadNote)
        or not (Path(name).resolve().parent == here and Path(name).as_posix().endswith(ours))
    ]


def _claim(stems: dict[str, str], report: Report) -> str:
    """The stem of this session's files: its own on file systems that do not tell cases apart, too."""
    stem = file_stem(report.name)
    for candidate in (stem, f"{stem}-{report.session_id[:8]}", f"{stem}-{report.session_id}"):
        if stems.setdefault(candidate.casefold(), report.session_id) == report.session_id:
            return candidate
    return f"{stem}-{report.session_id}"


def _row(report: Report, stem: str) -> Row:
    weakest = next((row for row in report.handoffs if row.handoff_id == report.weakest_handoff), None)
    codes = Counter(note.code for note in report.notes)
    # Where nothing was required, a mean near one says nothing.
    uncontracted = [NO_CONTRACT] if report.mean_score is not None and report.mean_contracted is None else []
    return Row(
        name=report.name,
        stem=stem,
        service=report.service,
        agents=report.agents,
        handoffs=len(report.handoffs),
        scored=report.scored,
        mean_score=report.mean_score,
        grade=report.grade,
        weakest=f"{weakest.source_agent} -> {weakest.target_agent}" if weakest else "",
        notes=", ".join([*uncontracted, *report.partial, *sorted(codes)]),
    )


def index(rows: Iterable[Row]) -> str:
    """The index of converted sessions, in the order given: Markdown, in which telemetry stands only as code."""
    lines = [
        "# Sessions",
        "",
        "Weakest first; sessions with nothing to score come last.",
        "",
        "| session | service | agents | handoffs | scored | mean completeness | grade | weakest relay | files | notes |",
        "|---|---|---:|---:|---:|---:|---|---|---|---|",
    ]
    for row in rows:
        files = f"[dossier](<{row.stem}{DOSSIER_SUFFIX}>), [trace](<{row.stem}{TRACE_SUFFIX}>)"
        cells = (
            code(row.name),
            code(row.service) if row.service else "",
            str(row.agents),
            str(row.handoffs),
            str(row.scored),
            "" if row.mean_score is None else f"{row.mean_score:.3f}",
            row.grade,
            code(row.weakest) if row.weakest else "",
            files,
            row.notes,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _summary(outcome: Outcome, out: Path) -> str:
    scored = [row for row in outcome.rows if row.mean_score is not None]
    text = f"{count(len(outcome.rows), 'session')}, {count(outcome.handoffs, 'handoff')} from {count(outcome.spans, 'span')}"
    if scored:
        first = scored[0]
        text += f"; weakest: {visible(first.name, 80)} ({first.mean_score:.3f}"
        text += f", {visible(first.weakest, 80)})" if first.weakest else ")"
    if outcome.unread:
        text += f"; {count(outcome.unread, 'part')} unreadable"
    return f"{text}\n{out / INDEX}"
