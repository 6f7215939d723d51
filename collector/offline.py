"""Dumps in, the reports of their sessions out: what `convert` and `doctor` share.

Separate from both, which only differ in what they make of a report. Everything behind the reading is the service's own: the same facts,
sessions, recovery and analysis, so that a dump gives what the running service would have given. Sessions are put together in a temporary
store, which keeps memory flat on inputs larger than memory; a session closes when all inputs are read.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

from collector.conventions import extract
from collector.dumps import STDIN, ReadNote, open_dump
from collector.engine.intake import Intake
from collector.facts import Facts
from collector.pipeline import Terms
from collector.report import Report
from collector.sessions.model import Rules
from collector.store import Store
from orbitrelay.text import visible

PROGRAM = "orbitrelay-collector"

_FLUSH_SPANS, _FLUSH_BYTES = 5_000, 8 << 20  # how much waits for the next write to the temporary store
_RULES = Rules(resident_spans=50_000)  # the rest of what is known of spans waits on the disk
_NAMED = 100  # unreadable parts of one input that are named one by one
_FOREVER = 10**18  # ns: longer than any close rule waits


def reports(
    found: Sequence[str | ReadNote], terms: Terms, telling: Telling, see: Callable[[Facts], None] = lambda facts: None
) -> Iterator[Report]:
    """Read all inputs, then give the report of every session in which an agent ran.

    `found`: what `dumps.inputs` makes of the command line. `see` is shown the facts of each piece as they are read. What is unreadable is
    named by `telling`, which counts it. Raises OSError where there is no room for the temporary store.
    """
    with tempfile.TemporaryDirectory(prefix="orbitrelay-") as folder:
        store = Store(Path(folder, "sessions.db"), durable=False)
        store.start()
        try:
            intake = Intake(store, _RULES, terms)
            _take(found, intake, telling, see)
            intake.tick(_FOREVER)
            yield from intake.close_all()
            telling.spans = intake.taken.spans
        finally:
            store.stop()


def _take(found: Sequence[str | ReadNote], intake: Intake, telling: Telling, see: Callable[[Facts], None]) -> None:
    telling.expect(sum(_size(name) for name in found if isinstance(name, str)))
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
            facts = extract(item, scope_attributes=intake.terms.scopes.attributes)
            see(facts)
            # One arrival time for all: a dump does not say when its spans came, and nothing may depend on when it is read.
            intake.observe(facts, 0)
            if intake.pending >= _FLUSH_SPANS or intake.pending_bytes >= _FLUSH_BYTES:
                intake.flush()
            telling.spans = intake.taken.spans
        telling.inputs += something
    intake.flush()


def _size(name: str) -> int:
    try:
        return 0 if name == STDIN else os.stat(name).st_size
    except OSError:
        return 0


def count(number: int, thing: str) -> str:
    """A number and its noun."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def say(text: str) -> None:
    """One line on standard error."""
    print(f"{PROGRAM}: {visible(text)}", file=sys.stderr)


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
        self.inputs = 0  # of which something was read
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
        self._show(f"wrote {count(sessions, 'session')}")

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
                self._print(f"{source}: and {count(number - _NAMED, 'part')} more")
        self._clear()

    def _print(self, text: str) -> None:
        self._clear()
        print(f"{PROGRAM}: {visible(text)}", file=self._stream)

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
