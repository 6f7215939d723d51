"""The README's performance table: what each stage of the analysis costs, how it grows, and how fast the command starts.

    python benchmarks/analysis.py [--up-to 1000000] [--write]

Every size is measured in a process of its own, one after the other. A stage is CPU time of that process, so other
work on the machine counts little; the best of several processes counts, since the first that takes so much memory of a
virtual machine pays for what its host must find. Memory is what the process grew by.
`--write` puts the table into benchmarks/results.md, and into README.md between its two marks.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import orbitrelay as core  # noqa: E402
from benchmarks.frame import publish, say  # noqa: E402
from orbitrelay.dossier import dossier  # noqa: E402

FIXTURE = ROOT / "examples" / "incident_triage.json"

SIZES = (1_000, 10_000, 100_000, 1_000_000)
STAGES = ("load", "inspect", "score", "bottlenecks", "dossier", "write")
ANALYSIS = STAGES[:4]
THOUSANDS = 5_000
ROUNDS = {1_000: 9, THOUSANDS: 3, 10_000: 5, 100_000: 3, 1_000_000: 2}
STARTS = 25
COMMAND = ("-c", "from orbitrelay.cli import main; raise SystemExit(main())")  # what the installed command does

GROWTH_BOUND = 11.0
WRITE_BOUND = 2.0
START_BOUND_MS = 100.0
THOUSANDS_BOUND_S = 1.0

ROLES = ("planner", "researcher", "engineer", "reviewer", "operator", "writer")
NAMES = ("goal", "affected_service", "constraints", "change_summary", "load_evidence", "time_window")
AGENTS = 24
RUN_LENGTH = 40


def write_trace(path: Path, handoffs: int) -> None:
    """Write a trace as a session of many runs gives it, piece by piece: contracts of four fields, three to five of six names
    handed over, one value in twelve empty, some latencies unknown, some handoffs dropped or not recorded."""
    chance = random.Random(handoffs)
    with path.open("w") as file:
        file.write(
            json.dumps(
                {
                    "trace_id": f"benchmark-{handoffs}",
                    "metadata": {},
                    "contract": {role: NAMES[k % 3 : k % 3 + 4] for k, role in enumerate(ROLES)},
                    "agents": [
                        {"agent_id": f"{ROLES[k % len(ROLES)]}-{k}", "role": ROLES[k % len(ROLES)], "capabilities": []}
                        for k in range(AGENTS)
                    ],
                    "turns": [],
                }
            )[:-1]
        )
        file.write(', "handoffs": [')
        for i, handoff in enumerate(_handoffs(chance, handoffs)):
            file.write(("," if i else "") + json.dumps(handoff))
        file.write("]}")


def _handoffs(chance: random.Random, count: int) -> Iterator[dict[str, Any]]:
    at = 0
    for i in range(count):
        if i % RUN_LENGTH == 0:
            at = chance.randrange(AGENTS)
        source, at = at, (at + chance.randrange(1, AGENTS)) % AGENTS
        handoff: dict[str, Any] = {
            "handoff_id": f"h{i}",
            "source_agent": f"{ROLES[source % len(ROLES)]}-{source}",
            "target_agent": f"{ROLES[at % len(ROLES)]}-{at}",
            "tick": i,
            "reason": "hand on what was found",
            "latency_ms": None if chance.random() < 0.05 else round(chance.expovariate(1 / 300), 3),
            "fields": [
                {"name": name, "kind": "note", "value": "" if chance.random() < 1 / 12 else f"value {i} of {name}"}
                for name in chance.sample(NAMES, chance.randint(3, 5))
            ],
            "run": f"run-{i // RUN_LENGTH}",
        }
        if chance.random() < 0.02:
            handoff["status"] = "dropped"
        elif chance.random() < 0.05:
            handoff.update(recorded=False, fields=[])
        yield handoff


def resident() -> int:
    """The bytes of memory that this process holds now; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def measure(path: Path) -> dict[str, float]:
    """Carry the whole analysis out once over one trace; give the CPU seconds of each stage, and bytes."""
    costs: dict[str, float] = {}
    data = path.read_bytes()
    before = resident()
    trace = _timed(costs, "load", lambda: core.loads(data))
    held = resident() - before
    inspections = _timed(costs, "inspect", lambda: core.inspect(trace))
    scores = _timed(costs, "score", lambda: core.score(inspections))
    found = _timed(costs, "bottlenecks", lambda: core.find_bottlenecks(trace))
    analysis = core.Analysis(trace, inspections, scores, found)
    _timed(costs, "dossier", lambda: len(dossier(analysis)))
    written = _timed(costs, "write", lambda: _write(analysis))
    _timed(costs, "json.loads", lambda: len(json.loads(data)))
    return {**costs, "held": held, "read": len(data), "written": written}


def best_of(path: Path, rounds: int) -> dict[str, float]:
    """Measure in a fresh process each time, so that every size pays for its memory; take the least of each figure."""
    command = [sys.executable, __file__, "--measure", str(path)]
    found = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(rounds)]
    return {name: min(costs[name] for costs in found) for name in found[0]}


def _timed(costs: dict[str, float], stage: str, work: Callable[[], Any]) -> Any:
    start = time.process_time()
    result = work()
    costs[stage] = time.process_time() - start
    return result


def _write(analysis: core.Analysis) -> int:
    """Write what `inspect`, `score` and `bottlenecks` print, one after the other."""
    trace = analysis.trace
    return (
        len(core.dumps(core.inspect_document(trace, analysis.inspections)))
        + len(core.dumps(core.score_document(trace, analysis.scores)))
        + len(core.dumps(core.bottlenecks_document(trace, analysis.bottlenecks)))
    )


def start_up(arguments: Sequence[str], times: int) -> tuple[float, float]:
    """Median milliseconds of a fresh process: wall clock, and CPU. Byte code is compiled before, as it is when installed."""
    wall, cpu = [], []
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for n in range(times + 1):
            begin = time.perf_counter()
            process = subprocess.Popen([sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                raise SystemExit(f"{arguments} ended with {process.returncode}")
            if n:
                wall.append(time.perf_counter() - begin)
                cpu.append(usage.ru_utime + usage.ru_stime)
    return 1e3 * statistics.median(wall), 1e3 * statistics.median(cpu)


def report(up_to: int) -> tuple[str, list[str]]:
    """Measure everything; give the table as Markdown, and the bounds that were missed."""
    sizes = [size for size in SIZES if size <= up_to]
    rows: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in [*sizes, THOUSANDS]:
            say(f"{size:,} handoffs: writing the trace")
            path = Path(folder) / "trace.json"
            write_trace(path, size)
            say(f"{size:,} handoffs: measuring")
            rows[size] = best_of(path, ROUNDS.get(size, 1))
            if size == THOUSANDS:
                commands = {
                    name: start_up([*COMMAND, name, "--trace", str(path), "--out", f"{folder}/out"], 5)
                    for name in ("inspect", "score", "bottlenecks", "dossier", "pipeline")
                }
    say(f"start-up, {STARTS} times each")
    bare = start_up(["-c", "pass"], STARTS)
    started = start_up([*COMMAND, "score", "--trace", str(FIXTURE)], STARTS)
    missed = _missed(sizes, rows, commands, started)
    return f"{_table(sizes, rows, commands, bare, started)}\n\n{_bounds(missed)}", missed


def _bounds(missed: Sequence[str]) -> str:
    return (
        f"Bounds: ten times the handoffs cost at most {GROWTH_BOUND:.0f} times as much; writing costs at most {WRITE_BOUND:.0f} times the "
        f"analysis; every command is done with {THOUSANDS:,} relays within {THOUSANDS_BOUND_S:.0f} s; start-up takes at most "
        f"{START_BOUND_MS:.0f} ms of CPU time. Missed in this run: {'; '.join(missed) or 'none'}."
    )


def _missed(
    sizes: Sequence[int],
    rows: dict[int, dict[str, float]],
    commands: dict[str, tuple[float, float]],
    started: tuple[float, float],
) -> list[str]:
    missed = [
        f"{large:,} handoffs cost {_total(rows[large]) / _total(rows[small]):.1f} times what {small:,} do"
        for small, large in pairwise(sizes)
        if _total(rows[large]) > GROWTH_BOUND * _total(rows[small])
    ]
    missed += [
        f"writing {size:,} handoffs costs {_write_ratio(rows[size]):.2f} times the analysis"
        for size in sizes
        if _write_ratio(rows[size]) > WRITE_BOUND
    ]
    missed += [
        f"{name} of {THOUSANDS:,} relays took {cpu:.0f} ms"
        for name, (_, cpu) in commands.items()
        if cpu > 1e3 * THOUSANDS_BOUND_S
    ]
    if started[1] > START_BOUND_MS:
        missed.append(f"start-up took {started[1]:.0f} ms")
    return missed


def _total(row: dict[str, float]) -> float:
    return sum(row[stage] for stage in STAGES)


def _write_ratio(row: dict[str, float], stages: Sequence[str] = ANALYSIS) -> float:
    return row["write"] / sum(row[stage] for stage in stages)


def _table(
    sizes: Sequence[int],
    rows: dict[int, dict[str, float]],
    commands: dict[str, tuple[float, float]],
    bare: tuple[float, float],
    started: tuple[float, float],
) -> str:
    lines = [
        "| handoffs | load | inspect | score | bottlenecks | dossier | write | all, a handoff | against a tenth |"
        " write : analysis | memory a handoff |",
        f"|{' ---: |' * 11}",
    ]
    total = {size: _total(rows[size]) for size in sizes}
    for size in sizes:
        row = rows[size]
        growth = f"{total[size] / total[size // 10]:.1f} x" if size // 10 in total else "-"
        cells = [
            f"{size:,}",
            *(_seconds(row[stage]) for stage in STAGES),
            f"{1e6 * total[size] / size:.0f} us",
            growth,
            f"{_write_ratio(row):.2f}",
            f"{row['held'] / size:,.0f} bytes",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    size = sizes[-1]
    row = rows[size]
    parts = ", ".join(f"`{name}` {cpu:.0f} ms" for name, (_, cpu) in commands.items())
    return "\n".join(
        [
            *lines,
            "",
            f"Each stage is CPU time in one process of Python {platform.python_version()} on {platform.machine()}. For scale: "
            f"at {size:,} handoffs, {row['read'] / size:,.0f} bytes each, `json.loads` alone takes {_seconds(row['json.loads'])}. "
            f"`write` makes the JSON of `inspect`, `score` and `bottlenecks`, {row['written'] / size:,.0f} bytes a handoff; "
            "`write : analysis` sets it against load, inspect, score and bottlenecks together "
            f"(without load it is {_write_ratio(row, ANALYSIS[1:]):.2f}). `against a tenth` sets all stages against those of a tenth of "
            "the handoffs.",
            "",
            f"The whole command on a trace of {THOUSANDS:,} relays, CPU time, start-up included: {parts}.",
            "",
            f"Start-up, median of {STARTS}: `orbitrelay score` on the example takes {started[1]:.0f} ms of CPU time "
            f"({started[0]:.0f} ms by the clock); `python -c pass` takes {bare[1]:.0f} ms ({bare[0]:.0f} ms).",
        ]
    )


def _seconds(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--up-to", type=int, default=SIZES[-1], metavar="HANDOFFS")
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/results.md and README.md")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        gc.disable()  # as the command line does
        print(json.dumps(measure(options.measure)))
        return 0
    table, missed = report(options.up_to)
    publish("analysis", table, options.write)
    for bound in missed:
        say(f"missed: {bound}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
