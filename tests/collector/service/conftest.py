"""A real collector process on free ports, and what a client needs to talk to it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest

from collector.otlp.encode import traces_to_protobuf

ROOT = Path(__file__).parents[3]
SESSION = ROOT / "collector" / "demo" / "session.otlp.jsonl"
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
QUICK = {
    "receive.grpc.endpoint": "127.0.0.1:0",
    "receive.http.endpoint": "127.0.0.1:0",
    "admin.http.endpoint": "127.0.0.1:0",
    "admin.grpc.endpoint": "127.0.0.1:0",
    "sessions.grace": "300ms",
}


def requests() -> list[bytes]:
    """The recorded session, one JSON request each."""
    return SESSION.read_bytes().splitlines()


class Process:
    """`serve` as a process of its own. `log` grows with what it says."""

    def __init__(self, data: Path, options: dict[str, str], environment: dict[str, str], arguments: list[str]) -> None:
        command = [sys.executable, "-m", "collector", "serve", *arguments, "--set", f"data.dir={data}"]
        for name, value in (QUICK | options).items():
            command += ["--set", f"{name}={value}"]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("ORBITRELAY_")}
        self.data = data
        self.log: list[dict[str, Any]] = []
        self.text: list[str] = []
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=inherited | environment, stderr=subprocess.PIPE, text=True, encoding="utf-8"
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            try:
                self.log.append(json.loads(line))
            except ValueError:
                self.text.append(line.rstrip("\n"))

    def said(self, message: str, seconds: float = 60.0) -> dict[str, Any]:
        """The first log record with this message, waited for."""
        found: dict[str, Any] = self.until(
            lambda: next((r for r in self.log if r["message"] == message), None), seconds, f"{message!r} was not said"
        )
        return found

    def until(self, done: Callable[[], Any], seconds: float = 60.0, what: str = "did not happen") -> Any:
        """The first true value of `done`."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := done():
                return value
            if self._process.poll() is not None:
                break
            time.sleep(0.02)
        if value := done():
            return value
        raise AssertionError(f"{what}; log: {self.log[-5:]}, text: {self.text[-5:]}, exit code: {self._process.poll()}")

    def address(self, listener: str) -> str:
        """Where a listener listens."""
        return str(self.said("ready")[listener])

    def url(self, path: str, scheme: str = "http") -> str:
        """A URL of the admin listener."""
        return f"{scheme}://{self.address('admin.http')}{path}"

    def get(self, path: str, **options: Any) -> httpx.Response:
        """GET on the admin listener."""
        return httpx.get(self.url(path), timeout=10, **options)

    def sessions(self, query: str = "") -> list[dict[str, Any]]:
        """What the API lists."""
        sessions: list[dict[str, Any]] = self.get(f"/api/v1/sessions{query}").raise_for_status().json()["sessions"]
        return sessions

    def closed(self, count: int = 1) -> list[dict[str, Any]]:
        """The closed sessions, once there are so many."""
        return self.until(lambda: (s := self.sessions()) and len(s) >= count and s, what="no session closed") or []

    def total(self, name: str) -> int:
        """The sum of a metric of /metrics over all of its attributes."""
        return sum(round(float(value)) for _, value in self._samples(name))

    def refusals(self) -> dict[str, int]:
        """Requests refused so far, by reason."""
        found: dict[str, int] = {}
        for labels, value in self._samples("orbitrelay_collector_requests_refused_total"):
            reason = labels.partition('reason="')[2].partition('"')[0]
            found[reason] = found.get(reason, 0) + round(float(value))
        return found

    def _samples(self, name: str) -> list[tuple[str, str]]:
        return re.findall(rf"^{name}(?:\{{(.*)\}})? (\S+)", self.get("/metrics").text, re.M)

    def play(self, bodies: list[bytes] | None = None) -> None:
        """Send requests (JSON) over gRPC."""
        with grpc.insecure_channel(self.address("receive.grpc")) as channel:
            for body in requests() if bodies is None else bodies:
                channel.unary_unary(EXPORT)(traces_to_protobuf(body), timeout=10)

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def wait(self, seconds: float = 60.0) -> int:
        """Its exit code."""
        code = self._process.wait(seconds)
        self._reader.join(5)
        return code

    def stop(self) -> int:
        """SIGTERM, and its exit code."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def close(self) -> None:
        """Leave nothing behind."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._reader.join(5)
        if self._process.stderr is not None:
            self._process.stderr.close()


@contextlib.contextmanager
def serving(
    data: Path, options: dict[str, str] | None = None, environment: dict[str, str] | None = None, *arguments: str
) -> Iterator[Process]:
    process = Process(data, options or {}, environment or {}, list(arguments))
    try:
        yield process
    finally:
        process.close()


Serving = Callable[..., AbstractContextManager[Process]]


@pytest.fixture(name="serving", scope="session")
def serving_fixture() -> Serving:
    """`with serving(folder, options, environment, *arguments) as process:`"""
    return serving


@pytest.fixture(scope="session")
def recorded() -> list[bytes]:
    """The recorded session, one JSON request each."""
    return requests()
