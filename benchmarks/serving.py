"""A collector in a process of its own for benchmarks, and clients that send it bytes.

    python -m benchmarks.serving CONFIG     (started by `Server`)

It is `serve` as users run it, with one addition: the intake, which does everything behind the acknowledgement, can be held
and let go, so that the CPU time of accepting and that of the rest can be told apart.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import grpc

from benchmarks.frame import ROOT, process_cpu
from collector import build
from collector.cli import main
from collector.report import OutboxEntry
from collector.service import collector

METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
MEDIA = {"protobuf": "application/x-protobuf", "json": "application/json"}
IN_FLIGHT = 10  # what an OpenTelemetry Collector sends at one time, unless it is told otherwise
WAIT_S = 120


class Held:
    """A forwarder that forwards nothing, and can hold the intake, which calls it for each request."""

    def __init__(self) -> None:
        self.free = threading.Event()
        self.free.set()

    def on_record(self, *_: Any, **__: Any) -> Sequence[OutboxEntry]:
        self.free.wait()
        return ()

    def on_tick(self, _: int) -> Sequence[OutboxEntry]:
        return ()

    def on_report(self, _: Any) -> Sequence[OutboxEntry]:
        return ()

    def on_discarded(self, _: Any) -> Sequence[OutboxEntry]:
        return ()

    def on_glimpse(self, _: Any) -> None:
        """Nothing is held here that a verdict would be put on."""

    def wanted(self, _: int) -> Sequence[str]:
        return ()

    def held_from(self) -> None:
        return None


def serve(config: str) -> int:
    """Run the collector; lines on standard input hold the intake, let it go, and ask for what waits for it."""
    held = Held()
    cores: list[build.Core] = []
    make = build.build_core

    def keep(*arguments: Any) -> build.Core:
        cores.append(make(*arguments))
        return cores[0]

    def listen() -> None:
        for line in sys.stdin:
            if line == "hold\n":
                held.free.clear()
            elif line == "go\n":
                held.free.set()
            stats = cores[0].engine.stats()
            print(json.dumps([stats.queue_requests, stats.queue_size, stats.open_sessions]), flush=True)

    threading.Thread(target=listen, daemon=True).start()
    with (
        mock.patch.object(build, "make_forwarder", return_value=held),  # it takes the place of traces.forward
        mock.patch.object(collector, "build_core", keep),
    ):
        return main(["serve", "--config", config])


class Server:
    """A running collector. `sessions`: options of the section, as TOML."""

    def __init__(self, folder: Path, sessions: str = "") -> None:
        self.grpc, self.http, self.admin = _free_ports(3)
        config = folder / "config.toml"
        config.write_text(
            f'[data]\ndir = "{folder}/data"\n[receive.grpc]\nendpoint = "127.0.0.1:{self.grpc}"\n'
            f'[receive.http]\nendpoint = "127.0.0.1:{self.http}"\n[admin.http]\nendpoint = "127.0.0.1:{self.admin}"\n'
            f'[admin.grpc]\nendpoint = ""\n[log]\nlevel = "warning"\n[sessions]\n{sessions}',
            encoding="utf-8",
        )
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.serving", str(config)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        self._wait_until_ready()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate(timeout=60)

    @property
    def pid(self) -> int:
        return self._process.pid

    def cpu(self) -> float:
        """CPU seconds that the server has taken."""
        return process_cpu(self.pid)

    def resident(self) -> int:
        """Bytes of memory that it holds."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def tell(self, word: str = "") -> list[int]:
        """Hold the intake ("hold"), let it go ("go"), or only ask: requests that wait, their bytes, and open sessions."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()
        found: list[int] = json.loads(self._process.stdout.readline())
        return found

    def hold(self, body: bytes) -> None:
        """Hold the intake, and return when it is busy with nothing but `body`, of which it has done all it can."""
        self.tell("hold")
        send_http(self.http, [body], "protobuf")
        self._until_quiet()

    def settle(self) -> None:
        """Wait until all that was accepted has been taken by sessions."""
        end = time.monotonic() + WAIT_S
        while self.tell()[0]:
            if time.monotonic() > end:
                raise TimeoutError("the intake did not take what was accepted")
            time.sleep(0.02)

    def finish(self) -> None:
        """Wait until every session has closed and its report is made."""
        end = time.monotonic() + WAIT_S
        while any(self.tell()):
            if time.monotonic() > end:
                raise TimeoutError("sessions did not close")
            time.sleep(0.1)
        self._until_quiet()

    def watch(self) -> http.client.HTTPResponse:
        """The stream of reports, line by line, as they become visible."""
        answer = urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/api/v1/reports/watch", timeout=WAIT_S)
        assert isinstance(answer, http.client.HTTPResponse)
        return answer

    def _until_quiet(self) -> None:
        last, now = -1.0, self.cpu()
        while now - last > 0.005:
            time.sleep(0.3)
            last, now = now, self.cpu()

    def _wait_until_ready(self) -> None:
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            if self._process.poll() is not None:
                raise RuntimeError(f"the collector ended with {self._process.returncode}")
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/readyz", timeout=5).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise TimeoutError("the collector is not ready")


def send_grpc(port: int, bodies: Sequence[bytes], compressed: bool = False) -> None:
    """Send requests over one gRPC connection, a few at a time."""
    compression = grpc.Compression.Gzip if compressed else grpc.Compression.NoCompression
    with grpc.insecure_channel(f"127.0.0.1:{port}", compression=compression) as channel:
        export = channel.unary_unary(METHOD)
        with ThreadPoolExecutor(IN_FLIGHT) as senders:
            for _ in senders.map(lambda body: export(body, timeout=WAIT_S), bodies):
                pass


def send_http(port: int, bodies: Sequence[bytes], encoding: str, content_encoding: str = "") -> None:
    """Send requests over a few HTTP connections that are kept open."""
    headers = {"content-type": MEDIA[encoding]} | ({"content-encoding": content_encoding} if content_encoding else {})

    def send(share: Sequence[bytes]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
        for body in share:
            connection.request("POST", "/v1/traces", body, headers)
            answer = connection.getresponse()
            if answer.status != 200:
                raise RuntimeError(f"the collector answered {answer.status}: {answer.read(200)!r}")
            answer.read()
        connection.close()

    with ThreadPoolExecutor(IN_FLIGHT) as senders:
        for _ in senders.map(send, [bodies[i::IN_FLIGHT] for i in range(IN_FLIGHT)]):
            pass


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1]))
