"""`convert`: dumps of telemetry in, a trace document and a dossier for every session out, and an index of them.

Everything behind the reading is the service's own: the same facts, sessions, recovery and analysis, so that a dump gives
the documents that the running service would have given. Sessions are put together in a temporary store, which keeps
memory flat on inputs larger than memory; a session closes when all inputs are read.

Exit codes: 0 all read, 3 done but parts were unreadable (each is named), 2 nothing could be done.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, TextIO

from collector import pipeline
from collector.contracts import ContractBook, ContractError
from collector.contracts import load as load_contracts
from collector.conventions import extract
from collector.dumps import STDIN, Batch, ReadNote, inputs, open_dump
from collector.emit.files import DOSSIER_SUFFIX, TRACE_SUFFIX, file_stem, write_whole
from collector.intake import Intake
from collector.pipeline import Terms
from collector.report import Report
from collector.sessions.assembler import Rules
from collector.store import Store
from orbitrelay.text import code, visible

INDEX = "index.md"

_PROGRAM = "orbitrelay-collector"
_FLUSH = 5_000  # spans between two writes to the temporary store
_RULES = Rules(resident_spans=50_000)  # the rest of what is known of spans waits on the disk
_NAMED = 100  # unreadable parts of one input that are named one by one
_FOREVER = 10**18  # ns: longer than any close rule waits


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
            _say(str(problem))
        return 2
    try:
        arguments.out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=arguments.out):
            pass
    except OSError as error:
        _say(f"cannot write to {str(arguments.out)!r}: {(error.strerror or str(error)).lower()}")
        return 2
    try:
        outcome = convert(arguments.inputs, arguments.out, book, Telling(arguments.quiet))
    except OSError as error:
        _say(f"stopped: {(error.strerror or str(error)).lower()}{f' ({error.filename})' if error.filename else ''}")
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
    with tempfile.TemporaryDirectory(prefix="orbitrelay-") as folder:
        store = Store(Path(folder, "sessions.db"), durable=False)
        store.start()
        try:
            intake = Intake(store, _RULES, Terms(book=book))
            read = _take(_found(names, out), intake, telling)
            intake.tick(_FOREVER)
            for report in intake.close_all():
                stem = _claim(stems, report)
                write_whole(out / f"{stem}{TRACE_SUFFIX}", report.trace_json, durable=False)
                dossier = pipeline.dossier(report).encode("utf-8", "replace")
                write_whole(out / f"{stem}{DOSSIER_SUFFIX}", dossier, durable=False)
                rows.append(_row(report, stem))
                handoffs += len(report.handoffs)
                telling.wrote(len(rows))
            spans = intake.taken.spans
        finally:
            store.stop()
    rows.sort(key=lambda row: (row.mean_score is None, row.mean_score or 0.0, row.name, row.stem))
    write_whole(out / INDEX, index(rows).encode("utf-8", "replace"), durable=False)
    telling.done()
    return Outcome(tuple(rows), read, telling.unread, spans, handoffs)


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


def _take(found: list[str | ReadNote], intake: Intake, telling: Telling) -> int:
    """Read all inputs into sessions; how many of them gave anything."""
    telling.expect(sum(_size(name) for name in found if isinstance(name, str)))
    read = 0
    for name in found:
        if isinstance(name, ReadNote):
            telling.note(name)
            continue
        something = False
        for item in open_dump(name, telling.advance):
            if isinstance(item, ReadNote):
                telling.note(item)
                something = something or item.kind != "unreadable"
                continue
            something = something or bool(item.spans or item.logs)
            _observe(item, intake)
            telling.spans = intake.taken.spans
        read += something
    intake.flush()
    return read


def _observe(batch: Batch, intake: Intake) -> None:
    # One arrival time for all: a dump does not say when its spans came, and nothing may depend on when it is read.
    intake.observe(extract(batch, scope_attributes=intake.terms.scopes.attributes), 0)
    if intake.pending >= _FLUSH:
        intake.flush()


def _size(name: str) -> int:
    try:
        return 0 if name == STDIN else os.stat(name).st_size
    except OSError:
        return 0


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
        notes=", ".join([*report.partial, *sorted(codes)]),
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
    text = f"{_count(len(outcome.rows), 'session')}, {_count(outcome.handoffs, 'handoff')} from {_count(outcome.spans, 'span')}"
    if scored:
        first = scored[0]
        text += f"; weakest: {visible(first.name, 80)} ({first.mean_score:.3f}"
        text += f", {visible(first.weakest, 80)})" if first.weakest else ")"
    if outcome.unread:
        text += f"; {_count(outcome.unread, 'part')} unreadable"
    return f"{text}\n{out / INDEX}"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _say(text: str) -> None:
    print(f"{_PROGRAM}: {visible(text)}", file=sys.stderr)


class Telling:
    """What a user sees meanwhile: notes on standard error, and how far it is where that is a terminal."""

    def __init__(self, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._quiet = quiet
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._named: Counter[str] = Counter()
        self._total = self._read = 0
        self._shown = 0.0
        self._line = ""
        self.spans = 0
        self.unread = 0

    def expect(self, total: int) -> None:
        """Learn how many bytes there are to read (0: nobody knows)."""
        self._total = total

    def advance(self, size: int) -> None:
        """Learn that this many bytes more were read."""
        self._read += size
        of = f"/{self._total / 1e6:.1f}" if self._total >= self._read else ""
        self._show(f"read {self._read / 1e6:.1f}{of} MB, {self.spans} spans")

    def wrote(self, sessions: int) -> None:
        """Learn that this many sessions have been written."""
        self._show(f"wrote {_count(sessions, 'session')}")

    def note(self, note: ReadNote) -> None:
        """Say what a reader has to say. Of very many unreadable parts of one input the first are named, then counted."""
        if note.kind == "unreadable":
            self.unread += 1
            self._named[note.source] += 1
            if self._named[note.source] > _NAMED:
                return
        elif self._quiet:
            return
        self._print(str(note))

    def done(self) -> None:
        """Say what was left unsaid, and clear the line."""
        for source, number in self._named.items():
            if number > _NAMED:
                self._print(f"{source}: and {_count(number - _NAMED, 'part')} more")
        self._clear()

    def _print(self, text: str) -> None:
        self._clear()
        print(f"{_PROGRAM}: {visible(text)}", file=self._stream)

    def _show(self, text: str) -> None:
        if not self._terminal or time.monotonic() - self._shown < 0.2:
            return
        self._clear()
        self._stream.write(text)
        self._stream.flush()
        self._line, self._shown = text, time.monotonic()

    def _clear(self) -> None:
        if self._line:
            self._stream.write("\r" + " " * len(self._line) + "\r")
            self._line = ""
