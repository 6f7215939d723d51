"""What the page costs with many sessions in the store: milliseconds an answer, over HTTP, from a collector of its own.

    python benchmarks/page.py [--sessions 100000]

A thousand reports (seven handoffs each; every fiftieth has forty) are committed as the engine commits them; the rest are copies of all
their rows under other ids and times, thirty days in all. Then the collector is started on that store, and each address is asked for by one
client, one after the other. The list is of fifty rows.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import msgspec

from collector.report import NoEmitter, Report
from collector.sessions.keys import SessionKey
from collector.sessions.model import Changes
from collector.sessions.state import SessionRecord
from collector.store import Checkpoint, Store
from tests.collector.page.makers import reported
from tests.collector.page.world import SECOND, incident, long_story

SEEDS = 1000
SPAN = 30 * 86_400 * SECOND


def seeds(step: int, begun: int) -> list[Report]:
    """Reports that differ in name, service, score and time."""
    short, long = reported(incident("a", begun), long_story("b", begun))
    rng = random.Random(1)
    made = []
    for number in range(SEEDS):
        key = SessionKey("session", f"INC-{number:04d}")
        at = begun + number * step
        score = rng.choice([0.31, 0.5, 0.7, 0.8, 0.91, 0.97])
        made.append(
            msgspec.structs.replace(
                long if number % 50 == 7 else short,
                session_id=key.id(),
                key=key,
                opened_ns=at,
                closed_ns=at,
                service=f"desk-{number % 7}",
                mean_score=score,
                grade=next(g for g, floor in (("A", 0.9), ("B", 0.75), ("C", 0.55), ("D", 0.35), ("F", 0)) if score >= floor),
            )
        )  # fmt: skip
    return made


def fill(store: Store, sessions: int) -> None:
    """Commit the seeds, and copy their rows until there are as many sessions as asked for."""
    step = SPAN // sessions
    begun = time.time_ns() - SPAN
    made = seeds(step, begun)
    records = tuple(
        SessionRecord(r.session_id, r.key, 1, "closed", r.opened_ns, r.closed_ns, r.closed_ns, 1, agent=True)
        for r in made
    )
    store.checkpoint(
        Checkpoint(Changes((), (), (), (), (), sessions=records, traces=(), refs=(), chunks=()), reports=tuple(made)),
        NoEmitter(),
    ).result()

    def copy(connection: Any) -> None:
        for table in ("sessions", "listing", "roles", "relays", "required_fields", "reports"):
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[1] != "seq"]
            connection.execute(f"CREATE TEMP TABLE seed_{table} AS SELECT {', '.join(columns)} FROM {table}")
            hours = f"(?1 * {SEEDS * step}) / {3600 * SECOND}"
            shown = {
                "id" if table == "sessions" else "session_id": f"{'id' if table == 'sessions' else 'session_id'} || '-' || ?1",
                "reported_ns": f"reported_ns + ?1 * {SEEDS * step}",
                "hour": f"hour + {hours}",
            }  # fmt: skip
            chosen = ", ".join(shown.get(column, column) for column in columns)
            for number in range(1, sessions // SEEDS):
                connection.execute(
                    f"INSERT INTO {table}({', '.join(columns)}) SELECT {chosen} FROM seed_{table}", (number,)
                )

    store._database.write(copy).result()


def addresses(store: Store) -> dict[str, list[str]]:
    """What is asked for: each line of the table, and its addresses."""
    rng = random.Random(2)
    with store._database.read() as connection:
        short = [
            row[0]
            for row in connection.execute("SELECT session_id FROM reports WHERE seq % 1000 % 50 != 8 LIMIT 200000")
        ]
        long = [row[0] for row in connection.execute("SELECT session_id FROM reports WHERE seq % 1000 % 50 = 8")]
    some, few = ([quote(name) for name in rng.sample(names, min(20, len(names)))] for names in (short, long))
    return {
        "list, newest": ["/"] * 20,
        "list, weakest": ["/?order=weakest"] * 20,
        "list, one service": [f"/?service=desk-{n % 7}" for n in range(20)],
        "list, one role": ["/?role=reviewer"] * 20,
        "list, grade F": ["/?grade=F"] * 20,
        "list, service and grade and role": [f"/?service=desk-{n % 7}&grade=D&role=engineer" for n in range(20)],
        "list, a week long ago": [f"/?since=2000-01-01T00:00&until={_day(20)}"] * 20,
        "list, text that many have": ["/?text=root_cause"] * 20,
        "list, text that few have": ["/?text=INC-0500"] * 20,
        "list, text that none has": ["/?text=nowhere"] * 20,
        "session of 7 handoffs": [f"/sessions/{name}" for name in some],
        "session of 40 handoffs": [f"/sessions/{name}" for name in few],
        "one field of it": [f"/sessions/{name}/field?name=constraints" for name in few],
        "roles, 24 hours": ["/roles?range=24h"] * 20,
        "roles, 90 days": ["/roles?range=90d"] * 20,
        "list, forty pages on": [],
    }


def _day(ago: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M", time.gmtime(time.time() - ago * 86_400))


def cpu(pid: int) -> float:
    """Milliseconds of CPU that a process has used (Linux); on a busy machine it says more than the clock."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def measure(base: str, paths: list[str], client: httpx.Client) -> tuple[list[float], int]:
    """Milliseconds of each answer, and the bytes of the last."""
    times = []
    size = 0
    for path in paths:
        started = time.perf_counter()
        answer = client.get(base + path)
        times.append((time.perf_counter() - started) * 1000)
        assert answer.status_code == 200, (path, answer.text[:500])
        size = len(answer.content)
    return times, size


def deep(base: str, client: httpx.Client, pages: int = 40) -> tuple[list[float], int]:
    """The same, following the link to older sessions."""
    times, path, size = [], "/", 0
    for _ in range(pages):
        started = time.perf_counter()
        answer = client.get(base + path)
        times.append((time.perf_counter() - started) * 1000)
        size = len(answer.content)
        found = re.search(r'<a href="([^"]+)" rel="next">', answer.text)
        if not found:
            break
        path = found[1].replace("&amp;", "&")
    return times, size


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sessions", type=int, default=100_000)
    sessions: int = parser.parse_args().sessions
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "store.sqlite", durable=False)
        store.start()
        fill(store, sessions)
        asked = addresses(store)
        print(f"{store.stats().sessions} sessions, {store.stats().bytes_used / 1e6:.0f} MB\n", flush=True)
        store.stop()
        options = {f"{name}.endpoint": "" for name in ("receive.grpc", "receive.http", "admin.grpc")}
        options |= {
            "admin.http.endpoint": "127.0.0.1:0",
            "data.dir": folder,
            "retention.age": "0",
            "retention.size": "0",
        }
        command = [sys.executable, "-m", "collector", "serve"]
        for name, value in options.items():
            command += ["--set", f"{name}={value}"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        try:
            ready = next(line for line in process.stderr if '"ready"' in line)
            base = f"http://{msgspec.json.decode(ready)['admin.http']}"
            with httpx.Client(timeout=60) as client:
                client.get(base + "/")
                print("| answer | median, ms | worst, ms | CPU, ms | kB |\n|---|---|---|---|---|")
                for name, paths in asked.items():
                    used = cpu(process.pid)
                    times, size = measure(base, paths, client) if paths else deep(base, client)
                    used = (cpu(process.pid) - used) / len(times)
                    print(
                        f"| {name} | {statistics.median(times):.1f} | {max(times):.1f} | {used:.1f} | {size / 1000:.0f} |",
                        flush=True,
                    )
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)


if __name__ == "__main__":
    main()
