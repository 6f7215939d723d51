"""What a page of the session list costs with many sessions in the store: milliseconds a page, for every filter and order.

    python benchmarks/list_sessions.py [--sessions 100000]

A thousand reports are committed as the engine commits them; the rest are copies of their rows under other ids and times, so
that the store is as large as it says and the benchmark does not measure its own preparation. Each line reads up to twenty
pages of fifty rows.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from collector.report import HandoffRow, NoEmitter, Report
from collector.sessions.keys import SessionKey
from collector.sessions.model import Changes
from collector.sessions.state import SessionRecord
from collector.store import Checkpoint, SessionFilter, Store

SEEDS = 1000
SECOND = 1_000_000_000
GRADES, REASONS = "ABCDF", ("idle", "roots_ended", "max_age")

QUESTIONS: dict[str, dict[str, Any]] = {
    "all, newest first": {},
    "all, weakest first": {"order": "weakest"},
    "one service": {"service": "service-3"},
    "one service, weakest first": {"service": "service-3", "order": "weakest"},
    "one grade": {"grade": "F"},
    "one close reason": {"reason": "idle"},
    "one role": {"role": "role-5"},
    "one role, weakest first": {"role": "role-5", "order": "weakest"},
    "a role that all have": {"role": "planner"},
    "text that many have": {"text": "agent-1"},
    "text that one has": {"text": "only-here"},
    "text that none has": {"text": "nowhere"},
    "partial, which none is": {"partial": True},
    "a service and a grade": {"service": "service-3", "grade": "F"},
    "a span of time": {"since_ns": 100 * SECOND, "until_ns": 600 * SECOND},
}


def seed(number: int, rng: random.Random) -> Report:
    """A report with one handoff, other in service, grade, roles and score from the next."""
    key = SessionKey("session", "only-here" if number == SEEDS // 2 else f"chat-{number}")
    source, target = "planner", f"role-{number % 11}"
    row = HandoffRow("h-1", f"agent-{number % 50}", source, f"agent-{number % 31}", target, score=0.5, grade="D")
    return Report(
        session_id=key.id(),
        key=key,
        generation=1,
        revision=1,
        close_reason=REASONS[number % 3],
        opened_ns=number * SECOND,
        closed_ns=number * SECOND,
        trace_json=b"{}",
        report_json=b"{}",
        service=f"service-{number % 7}",
        mean_score=round(rng.random(), 6),
        grade=GRADES[number % 5],
        scored=1,
        weakest_handoff="h-1",
        roles=(source, target),
        handoffs=(row,),
    )


def fill(store: Store, sessions: int) -> None:
    """Commit the seeds, and copy their rows until there are as many sessions as asked for."""
    rng = random.Random(1)
    reports = tuple(seed(number, rng) for number in range(SEEDS))
    records = tuple(
        SessionRecord(r.session_id, r.key, 1, "closed", r.opened_ns, r.closed_ns, r.closed_ns, 1, agent=True)
        for r in reports
    )
    changes = Changes((), (), (), (), (), sessions=records, traces=(), refs=(), chunks=())
    store.checkpoint(Checkpoint(changes, reports=reports), NoEmitter()).result()

    def copy(connection: Any) -> None:
        for table in ("sessions", "listing", "roles"):
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            name = "id" if table == "sessions" else "session_id"
            shown = {name: f"{name} || '-' || ?1", "reported_ns": f"reported_ns + ?1 * {SEEDS * SECOND}"}
            if table == "listing":
                shown["search"] = "replace(search, 'only-here', 'elsewhere')"
            chosen = ", ".join(shown.get(column, column) for column in columns)
            for number in range(1, sessions // SEEDS):
                connection.execute(
                    f"INSERT INTO {table} SELECT {chosen} FROM {table} WHERE reported_ns < {SEEDS * SECOND}", (number,)
                )

    store._database.write(copy).result()


def measure(store: Store, chosen: dict[str, Any]) -> Iterator[float]:
    """Milliseconds of each page."""
    token = ""
    for _ in range(20):
        started = time.perf_counter()
        page = store.sessions(SessionFilter(**chosen), token, 50)
        yield (time.perf_counter() - started) * 1000
        token = page.next_token
        if not token:
            return


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sessions", type=int, default=100_000)
    sessions: int = parser.parse_args().sessions
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "store.db")
        store.start()
        fill(store, sessions)
        print(f"{store.stats().sessions} sessions, {store.stats().bytes_used / 1e6:.0f} MB\n")
        print("| page of 50 | first, ms | median, ms | worst, ms |\n|---|---|---|---|")
        for name, chosen in QUESTIONS.items():
            times = list(measure(store, chosen))
            print(f"| {name} | {times[0]:.2f} | {sorted(times)[len(times) // 2]:.2f} | {max(times):.2f} |")
        store.stop()


if __name__ == "__main__":
    main()
