"""A million short sessions through all that is behind the acknowledgement, in one process: memory must not follow their number.

    python -m tests.long.million [--sessions 1000000]     # about half an hour

The service takes some hundred sessions a second from the network, and waits for real seconds; here requests come as fast
as they are dealt with, and every one is a second of the clock: 200 sessions of two agents. Sessions close a second after
their roots, are reported, can be reopened for a minute, and are deleted after two. Prints memory and the store's size on
the way; fails if the second half of the run held more memory than its second quarter. Linux only: it reads /proc.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from collector.clock import seconds
from collector.engine.intake import Intake
from collector.otlp import encode
from collector.otlp.model import Batch, Resource, Scope, Span
from collector.pipeline import Terms
from collector.report import Record
from collector.sessions.model import Rules
from collector.store import Store

A_SECOND = 200
REOPEN, RETENTION = seconds(60), seconds(120)
RULES = Rules(
    grace_ns=seconds(1),
    idle_ns=seconds(5),
    reopen_window_ns=REOPEN,
    discarded_window_ns=REOPEN,
    resident_spans=10_000,
)
GROWTH_MIB = 8
_SCOPE, _RESOURCE = Scope("million", "1"), Resource({"service.name": "million"})


def sessions(first: int, now_ns: int) -> bytes:
    """A request of whole sessions: each an agent that calls another."""
    spans = []
    for number in range(first, first + A_SECOND):
        front, back = f"{2 * number + 1:016x}", f"{2 * number + 2:016x}"
        for own, parent, name in ((front, "", "front"), (back, front, "back")):
            spans.append(
                Span(
                    trace_id=f"{number + 1:032x}",
                    span_id=own,
                    parent_span_id=parent,
                    name=f"invoke_agent {name}",
                    kind=1,
                    start_unix_nano=now_ns + len(parent),
                    end_unix_nano=now_ns + 1_000 - len(parent),
                    attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name},
                    scope=_SCOPE,
                    resource=_RESOURCE,
                )
            )
    return encode.encode_traces(Batch(spans=tuple(spans)))


def step(intake: Intake, first: int, now_ns: int) -> None:
    """A second: a request comes, what is due is closed and reported."""
    intake.take(Record("traces", "protobuf", sessions(first, now_ns), now_ns))
    intake.tick(now_ns)
    intake.flush()
    while (job := intake.next_job()) is not None:
        intake.finish(job, job.run())
    intake.flush()


def keep_house(store: Store, intake: Intake) -> None:
    """Forget what is past its window, and delete what is past its age, as the engine does."""
    while store.purge(REOPEN, REOPEN).result():
        pass
    while expendable := store.expendable(RETENTION):
        for session_id in expendable:
            intake.delete(session_id)
        intake.flush()


def resident() -> float:
    """MiB of memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=1_000_000)
    wanted = parser.parse_args().sessions
    now_ns = time.time_ns()
    memory: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "sessions.db")
        store = Store(path, durable=False, now_ns=lambda: now_ns)
        store.start()
        intake = Intake(store, RULES, Terms())
        intake.restore(now_ns)
        for first in range(0, wanted, A_SECOND):
            now_ns += seconds(1)
            step(intake, first, now_ns)
            if first % (20 * A_SECOND) == 0:
                keep_house(store, intake)
                memory.append(resident())
            if first % max(A_SECOND, wanted // 20 // A_SECOND * A_SECOND) == 0:
                print(
                    f"{first:>9} sessions, {memory[-1]:5.0f} MiB, store {path.stat().st_size >> 20:5} MiB", flush=True
                )
        reports = intake.taken.reports
        store.stop()
    quarter = len(memory) // 4
    before, after = max(memory[quarter : 2 * quarter], default=0.0), max(memory[2 * quarter :])
    print(f"{reports} reports; {before:.0f} MiB at the most in the second quarter, {after:.0f} MiB in the second half")
    return 1 if after > before + GROWTH_MIB else 0


if __name__ == "__main__":
    sys.exit(main())
