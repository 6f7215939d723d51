"""What every benchmark shares: CPU clocks, medians of paired rounds, progress, and the page that the tables stand on.

Machines that run benchmarks do other work, too. So everything is CPU time, not time by the clock; what is compared is
measured in turns within one run; and what is reported is the median of the rounds.

Standard library only: the analysis is measured by it where nothing else is installed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results.md"
README = ROOT / "README.md"


def process_cpu(pid: int) -> float:
    """CPU seconds of all threads of another process, user and system. Linux."""
    return time.clock_gettime((~pid << 3) | 2)  # clock_getcpuclockid(3): CPUCLOCK_SCHED of a process


def cpu_of(work: Callable[[], object]) -> float:
    """CPU seconds of one piece of work on this thread."""
    start = time.thread_time()
    work()
    return time.thread_time() - start


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first column to the left, all others to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def put(page: str, name: str, text: str) -> str:
    """The page with `text` between the two marks of `name`. Raises ValueError where it has none."""
    begin, end = f"<!-- benchmark: {name} -->", f"<!-- /benchmark: {name} -->"
    if begin not in page or end not in page:
        raise ValueError(f"the page has no place for {name!r}: expected {begin} and {end}")
    head, _, rest = page.partition(begin)
    return f"{head}{begin}\n\n{text}\n\n{end}{rest.partition(end)[2]}"


def say(progress: str) -> None:
    """Tell how far a benchmark is, on standard error."""
    print(progress, file=sys.stderr, flush=True)


def arguments(doc: str | None, rounds: int) -> argparse.ArgumentParser:
    """The options of every benchmark."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=rounds, help=f"rounds that the medians are of (default {rounds})")
    parser.add_argument("--write", action="store_true", help="put the table into the pages that show it")
    return parser


def publish(name: str, text: str, write: bool) -> None:
    """Print a result, and put it on the page, and into the README where that shows it, too."""
    print(text)
    if write:
        RESULTS.write_text(put(RESULTS.read_text(encoding="utf-8"), name, text), encoding="utf-8")
        readme = README.read_text(encoding="utf-8")
        if f"<!-- benchmark: {name} -->" in readme:
            README.write_text(put(readme, name, text), encoding="utf-8")
