"""Runs the real `serve` under a load for a long time, and fails if what it holds grows.

    python -m tests.long.soak steady --seconds 900     # a modest load of small and captured sessions, late spans and repeats
    python -m tests.long.soak endless --seconds 120    # one session that never ends, as fast as it is taken
    python -m tests.long.soak short --seconds 120      # short sessions, as fast as they are taken

Prints a table of resident memory, open files, threads, disk and counts. Linux only: it reads /proc. What was the most in
the second half is held against the most in the second quarter; the first quarter is for caches to fill. What comes faster
than it is decoded waits in memory up to `limits.memory`: give the two fast loads long enough to be refused. The bounds are
scaled down so that all of them are passed early: `limits.memory` 64 MiB lets about 13,800 spans and 138 closed sessions
stay in memory, `sessions.reopen_window` is 60 s, `retention.age` 120 s.
"""

from __future__ import annotations

import argparse
import itertools
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import grpc
import httpx

from collector.otlp.encode import traces_to_protobuf
from tests.collector.emit.receiver import Receiver, grpc_receiver
from tests.collector.service.conftest import EXPORT, Process, serving
from tests.long.load import endless, sessions

OPTIONS = {
    "sessions.grace": "1s",
    "sessions.idle": "5s",
    "sessions.reopen_window": "60s",
    "retention.age": "120s",
    "limits.memory": "64MiB",
    "export.metrics_interval": "5s",
}
GROWTH = {"rss_mib": (1.05, 8.0), "files": (1.0, 4.0), "threads": (1.0, 2.0)}
"""How much more the second half may hold: a factor, and so much beside."""


class Sample(NamedTuple):
    """One line of the table."""

    seconds: float
    rss_mib: float
    files: int
    threads: int
    disk_mib: float
    sent: int
    refused: int
    reports: int


class Senders:
    """Both protocols into one collector; a refusal is waited out and the request sent again."""

    def __init__(self, process: Process) -> None:
        self._channel = grpc.insecure_channel(process.address("receive.grpc"))
        self._export = self._channel.unary_unary(EXPORT)
        self._http = httpx.Client(base_url=f"http://{process.address('receive.http')}", timeout=30)
        self.sent = self.refused = 0

    def json(self, body: bytes) -> None:
        """Every other request over HTTP as JSON, the others over gRPC."""
        if self.sent % 2:
            self.protobuf(traces_to_protobuf(body))
            return
        while (
            status := self._http.post(
                "/v1/traces", content=body, headers={"content-type": "application/json"}
            ).status_code
        ) in {429, 503}:
            self._wait()
        assert status == 200, status
        self.sent += 1

    def protobuf(self, body: bytes) -> None:
        """Over gRPC."""
        while True:
            try:
                self._export(body, timeout=30)
            except grpc.RpcError as error:
                if error.code() not in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED}:
                    raise
                self._wait()
            else:
                break
        self.sent += 1

    def close(self) -> None:
        """Hang up."""
        self._channel.close()
        self._http.close()

    def _wait(self) -> None:
        self.refused += 1
        time.sleep(0.2)


def steady(senders: Senders) -> Iterator[None]:
    """Two sessions a second; one in ten is sent again, one in ten has its last request a few seconds late."""
    late: list[tuple[float, bytes]] = []
    started = time.monotonic()
    for number, session in enumerate(sessions(captured_every=20)):
        held = session.pop() if number % 10 == 3 else None
        for body in session * (2 if number % 10 == 7 else 1):
            senders.json(body)
        if held is not None:
            late.append((time.monotonic() + 3, held))
        while late and late[0][0] < time.monotonic():
            senders.json(late.pop(0)[1])
        time.sleep(max(0.0, started + number / 2 - time.monotonic()))
        yield


def never_ending(senders: Senders) -> Iterator[None]:
    """One session, 500 spans a request."""
    for body in endless(500):
        senders.protobuf(body)
        yield


def short(senders: Senders) -> Iterator[None]:
    """Sessions of three spans."""
    for session in sessions():
        for body in session:
            senders.json(body)
        yield


LOADS: dict[str, Callable[[Senders], Iterator[None]]] = {"steady": steady, "endless": never_ending, "short": short}


def sample(process: Process, receiver: Receiver, senders: Senders, since: float) -> Sample:
    """Look at the process from outside."""
    proc = Path("/proc", str(process.pid))
    status = (proc / "status").read_text(encoding="ascii")

    def figure(name: str) -> int:
        found = re.search(rf"^{name}:\s+(\d+)", status, re.MULTILINE)
        assert found is not None
        return int(found[1])

    metrics = process.get("/metrics").text
    reports = sum(
        float(value) for value in re.findall(r"^orbitrelay_report_count_total\S* (\S+)", metrics, re.MULTILINE)
    )
    disk = sum(path.stat().st_size for path in process.data.rglob("*") if path.is_file())
    receiver.got.clear()  # what the downstream holds is not what is measured
    return Sample(
        time.monotonic() - since,
        figure("VmRSS") / 1024,
        len(list((proc / "fd").iterdir())),
        figure("Threads"),
        disk / 2**20,
        senders.sent,
        senders.refused,
        round(reports),
    )


def _queued(process: Process) -> int:
    found = re.search(r"^orbitrelay_collector_queue_requests\S* (\S+)", process.get("/metrics").text, re.MULTILINE)
    return round(float(found[1])) if found else -1


def grown(samples: list[Sample]) -> list[str]:
    """What the second half held more of than it may."""
    quarter = len(samples) // 4
    faults = []
    for name, (factor, beside) in GROWTH.items():
        before = max(getattr(each, name) for each in samples[quarter : 2 * quarter])
        after = max(getattr(each, name) for each in samples[2 * quarter :])
        if after > before * factor + beside:
            faults.append(f"{name} grew from {before:.1f} to {after:.1f}")
    return faults


def run(load: str, seconds: float, every: float) -> int:
    """Run one load; 0 if nothing grew."""
    receiver = Receiver()
    with tempfile.TemporaryDirectory() as folder, grpc_receiver(receiver) as port:
        downstream = {f"export.{name}.endpoint": f"http://127.0.0.1:{port}" for name in ("traces", "logs", "metrics")}
        with serving(Path(folder), OPTIONS | downstream) as process:
            process.said("ready", 120)
            senders = Senders(process)
            samples: list[Sample] = []
            started = time.monotonic()
            print(f"{load}: " + " ".join(f"{name:>9}" for name in Sample._fields), flush=True)
            for _ in itertools.takewhile(lambda _: time.monotonic() - started < seconds, LOADS[load](senders)):
                if time.monotonic() - started >= every * len(samples):
                    samples.append(sample(process, receiver, senders, started))
                    print(f"{load}: " + " ".join(f"{value:9.0f}" for value in samples[-1]), flush=True)
            senders.close()
            process.until(lambda: _queued(process) == 0, 300, "the queue was not worked off")
            stopping = time.monotonic()
            process.signal(signal.SIGTERM)
            stopped = process.wait(120)
            print(f"{load}: stopped in {time.monotonic() - stopping:.1f} s")
    faults = grown(samples)
    print("; ".join(faults) or "nothing grew", f"(exit code {stopped}, {senders.sent} requests)")
    return 1 if faults or stopped else 0


def main() -> int:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(prog="python -m tests.long.soak", description=__doc__)
    parser.add_argument("load", choices=LOADS)
    parser.add_argument("--seconds", type=float, default=900.0)
    parser.add_argument("--every", type=float, default=0.0, help="seconds between samples (default: 1/60 of all)")
    arguments = parser.parse_args()
    return run(arguments.load, arguments.seconds, arguments.every or arguments.seconds / 60)


if __name__ == "__main__":
    sys.exit(main())
