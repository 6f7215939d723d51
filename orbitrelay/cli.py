"""The command line: `python -m orbitrelay inspect|score|bottlenecks|dossier|pipeline --trace FILE`.

Separate as the shell around the pure functions: files, streams and exit codes are handled here and nowhere else.
Rules:

- exit code 0 when done, 2 for bad input or usage; a fault is one line on standard error;
- of a single trace, nothing is written before everything is known to be right; a file is written whole or not at all;
- a stream is a file whose first line is a whole object and which has another one behind it: one compact result a
  line, each written as soon as it is known. When a line is at fault, the results of the lines before it have been
  printed, the message names the line, the exit code is 2, and a file named by --out is not written.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import BinaryIO, NoReturn

from .analysis import analyse, bottlenecks_document, inspect_document, score_document, summary_document
from .bottleneck import find_bottlenecks
from .dossier import dossier
from .files import write_whole
from .inspector import inspect
from .jsonout import dumps, dumps_line
from .loader import STDIN, TraceError, iter_traces, load_contract, loads, with_contract
from .model import HandoffTrace, Json, RoleContract
from .scoring import score
from .text import MESSAGE_LIMIT, visible

EXIT_DONE = 0
EXIT_BAD = 2

DOSSIER_FILE = "dossier.md"
SEPARATOR = "\n---\n\n"
"""Between the dossiers of a stream."""

STDOUT = "-"

_BLANK = b" \t\r\n"


class _UsageError(Exception):
    """A fault that ends the command: its one line, not yet made safe for a terminal."""


class _Formatter(argparse.HelpFormatter):
    """Help of one width everywhere; asking for the terminal's would import shutil at every start."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=100)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _UsageError(f"{message}; see {self.prog} --help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and give its exit code."""
    collecting = gc.isenabled()
    gc.disable()  # a trace has no reference cycles: collecting would only walk it again and again
    try:
        _run(_parser().parse_args(arguments))
    except SystemExit as done:  # --help
        return EXIT_DONE if done.code in {None, 0} else EXIT_BAD
    except (TraceError, _UsageError) as error:
        return _complain(str(error))
    except OSError as error:
        return _complain(f"{os.fsdecode(error.filename)}: {error.strerror}" if error.filename else str(error))
    except KeyboardInterrupt:
        return _complain("interrupted")
    finally:
        if collecting:
            gc.enable()
    return EXIT_DONE


def _complain(message: str) -> int:
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(f"orbitrelay: {visible(message)}", file=sys.stderr, flush=True)
    return EXIT_BAD


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="orbitrelay",
        description="Say which context the handoffs of a multi-agent trace lost, and where coordination cost gathers.",
        epilog="Exit codes: 0 done, 2 bad input or usage, with one line on standard error.",
        allow_abbrev=False,
        formatter_class=_Formatter,
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, prog=parser.prog)
    for name, text in (
        ("inspect", "print the outcome of every field at every handoff"),
        ("score", "print score and grade of every handoff, the means and the weakest"),
        ("bottlenecks", "print where coordination cost gathers, gravest first"),
        ("dossier", "print the dossier, as Markdown"),
        ("pipeline", f"write the dossier to --out ({DOSSIER_FILE}) and print a summary"),
    ):
        command = commands.add_parser(
            name, help=text, description=text.capitalize() + ".", allow_abbrev=False, formatter_class=_Formatter
        )
        command.add_argument(
            "--trace",
            required=True,
            metavar="FILE",
            help="the trace, or a stream of traces, one JSON object a line; - is standard input",
        )
        command.add_argument(
            "--contract", metavar="FILE", help="role -> field names, as JSON; replaces the trace's own contract"
        )
        command.add_argument(
            "--out",
            metavar="FILE",
            default=DOSSIER_FILE if name == "pipeline" else None,
            help="where the dossier goes" if name == "pipeline" else "write there instead of standard output",
        )
    return parser


def _run(options: argparse.Namespace) -> None:
    if options.trace == STDIN == options.contract:
        raise _UsageError("only one of --trace and --contract can be standard input")
    contract = _read_contract(options.contract) if options.contract is not None else None
    with _input(options.trace) as file:
        single, traces = _traces(file)
        if contract is not None:
            traces = (with_contract(trace, contract) for trace in traces)
        if options.command == "pipeline":
            _pipeline(options.out, single, traces)
        elif options.command == "dossier":
            _write_all(options.out, _dossiers(traces))
        else:
            _write_all(options.out, _documents(_DOCUMENTS[options.command], single, traces))


def _read_contract(path: str) -> Mapping[str, RoleContract]:
    with _input(path) as file:
        return load_contract(file.read())


@contextlib.contextmanager
def _input(path: str) -> Iterator[BinaryIO]:
    """Open an input, and put its name before what is found wrong with what it holds."""
    name = "standard input" if path == STDIN else path
    try:
        if path != STDIN:
            with _reading(name), open(path, "rb") as file:
                yield file
        elif sys.stdin is None:
            raise _UsageError("standard input is closed")
        else:
            yield sys.stdin.buffer
    except TraceError as error:
        raise TraceError(f"{visible(name, 4 * MESSAGE_LIMIT)}: {error}") from None


@contextlib.contextmanager
def _reading(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        error.filename = error.filename or name
        raise
    except ValueError as error:
        if isinstance(error, TraceError):
            raise
        raise _UsageError(f"{name}: {error}") from None  # a NUL in the name


def _traces(file: BinaryIO) -> tuple[bool, Iterator[HandoffTrace]]:
    """Tell whether a file holds a single trace, and give its traces.

    No JSON document has a line that ends in `}` before one that begins with `{`: a file that begins so is a stream.
    """
    head = [file.readline()]
    while line := file.readline():
        head.append(line)
        if line.strip(_BLANK):
            break
    first = next((line for line in head if line.strip(_BLANK)), b"")
    if len(head) > 1 and first.rstrip(_BLANK).endswith(b"}") and head[-1].lstrip(_BLANK).startswith(b"{"):
        return False, iter_traces(chain(head, file))
    return True, iter((loads(b"".join((*head, file.read()))),))


def _documents(
    document: Callable[[HandoffTrace], Json], single: bool, traces: Iterable[HandoffTrace]
) -> Iterator[bytes]:
    write = dumps if single else dumps_line
    for trace in traces:
        yield write(document(trace))


def _dossiers(traces: Iterable[HandoffTrace]) -> Iterator[bytes]:
    separator = ""
    for trace in traces:
        yield f"{separator}{dossier(analyse(trace))}".encode()
        separator = SEPARATOR


def _pipeline(out: str, single: bool, traces: Iterable[HandoffTrace]) -> None:
    """Write the dossiers to a file, and print the summaries: of a single trace when the file is there."""
    if out == STDOUT:
        raise _UsageError("--out of pipeline must be a file, standard output has the summary")
    write = dumps if single else dumps_line
    shown = os.fsencode(out).decode(errors="replace")
    summary = b""
    with _writing(out) as file:
        separator = ""
        for trace in traces:
            analysis = analyse(trace)
            file.write(f"{separator}{dossier(analysis)}".encode())
            separator = SEPARATOR
            summary = write({**summary_document(analysis), "dossier": shown})
            if not single:
                _print(summary)
    if single:
        _print(summary)


def _write_all(out: str | None, pieces: Iterator[bytes]) -> None:
    if out is None or out == STDOUT:
        for piece in pieces:
            _print(piece)
    else:
        with _writing(out) as file:
            for piece in pieces:
                file.write(piece)


@contextlib.contextmanager
def _writing(path: str) -> Iterator[BinaryIO]:
    try:
        with write_whole(path) as file:
            yield file
    except ValueError as error:
        if isinstance(error, TraceError):
            raise
        raise _UsageError(f"{path}: {error}") from None  # a NUL in the name


def _print(piece: bytes) -> None:
    if sys.stdout is None:
        raise _UsageError("standard output is closed")
    try:
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    except OSError as error:
        _silence()
        raise _UsageError(f"standard output: {error.strerror}") from None


def _silence() -> None:
    """Keep the interpreter from failing once more on what is left in the buffer of a broken standard output."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _inspect(trace: HandoffTrace) -> Json:
    return inspect_document(trace, inspect(trace))


def _score(trace: HandoffTrace) -> Json:
    return score_document(trace, score(inspect(trace)))


def _bottlenecks(trace: HandoffTrace) -> Json:
    return bottlenecks_document(trace, find_bottlenecks(trace))


_DOCUMENTS: Mapping[str, Callable[[HandoffTrace], Json]] = {
    "inspect": _inspect,
    "score": _score,
    "bottlenecks": _bottlenecks,
}
