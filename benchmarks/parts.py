"""What accepting is made of: each part's CPU alone, as a multiple of what protobuf takes to parse the same requests.

    python -m benchmarks.parts [--rounds 7] [--write]
    python -m benchmarks.parts --serve grpc|http     (started by itself)

A server that takes requests and does nothing with them is what gRPC and HTTP cost in Python before the first line of ours;
`check` is reading all of a request and every span's ids, `journal` checksum and write, `fsync` what the system adds to that
when a segment is made durable. What `benchmarks.accept` measures beyond their sum is not told apart here: admission, changes
of thread, memory for requests that wait.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import grpc
import uvicorn
import uvloop
from grpc import aio

from benchmarks.frame import ROOT, arguments, cpu_of, median, process_cpu, publish, say, table
from benchmarks.loads import LOADS, parse_cpu
from benchmarks.serving import METHOD, send_grpc, send_http
from collector.journal import Journal
from collector.memory import keep_freed_memory
from collector.otlp import protobuf
from collector.report import Record

_MESSAGE = 64 << 20


async def _grpc_server() -> None:
    async def answer(_body: bytes, _context: Any) -> bytes:
        return b""

    service, method = METHOD[1:].split("/")
    server = aio.server(options=[("grpc.max_receive_message_length", _MESSAGE)])
    handler = grpc.unary_unary_rpc_method_handler(answer)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {method: handler}),))
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    await server.start()
    await server.wait_for_termination()


async def _application(scope: Any, receive: Any, send: Any) -> None:
    pieces = []
    more = True
    while more:
        message = await receive()
        pieces.append(message.get("body", b""))
        more = message.get("more_body", False)
    b"".join(pieces)
    headers = [(b"content-type", b"application/x-protobuf"), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def serve(kind: str) -> None:
    """Run a server that does nothing; its port is the first line of its output."""
    keep_freed_memory()
    if kind == "grpc":
        uvloop.run(_grpc_server())
        return
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(_application, log_level="error", access_log=False, lifespan="off", loop="uvloop")
    uvicorn.Server(config).run(sockets=[listening])


class Bare:
    """Such a server, in a process of its own."""

    def __init__(self, kind: str, send: Callable[[int, Sequence[bytes]], None]) -> None:
        command = [sys.executable, "-m", "benchmarks.parts", "--serve", kind]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert self._process.stdout is not None
        self._port = int(self._process.stdout.readline())
        self._send = send

    def cost(self, bodies: Sequence[bytes]) -> float:
        """CPU seconds that taking `bodies` costs it."""
        before = process_cpu(self._process.pid)
        self._send(self._port, bodies)
        return process_cpu(self._process.pid) - before

    def stop(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()


def check_cost(bodies: Sequence[bytes]) -> float:
    """CPU seconds of checking `bodies`."""

    def check() -> None:
        for body in bodies:
            protobuf.check_traces(body)

    return cpu_of(check)


def journal_cost(bodies: Sequence[bytes], folder: Path) -> tuple[float, float]:
    """CPU seconds of writing `bodies` one by one to a journal, and of making them durable."""
    journal = Journal(folder)
    journal.open()

    def write() -> None:
        for body in bodies:
            journal.append([Record("traces", "protobuf", body, 1)])

    costs = cpu_of(write), cpu_of(journal.sync)
    journal.close()
    for path in folder.iterdir():
        path.unlink()
    return costs


def main() -> int:
    parser = arguments(__doc__, 7)
    parser.add_argument("--serve", choices=("grpc", "http"), help="be a server that does nothing")
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return 0
    keep_freed_memory()
    names = ("gRPC that does nothing", "HTTP that does nothing", "check", "journal", "fsync")
    rows = {name: [name] for name in names}
    servers = [
        Bare("grpc", send_grpc),
        Bare("http", lambda port, bodies: send_http(port, bodies, "protobuf")),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for load, make in LOADS.items():
            bodies = make()
            found: list[list[float]] = []
            for number in range(-1, options.rounds):  # the first one warms up
                parse = parse_cpu(bodies)
                costs = [server.cost(bodies) for server in servers]
                costs += [check_cost(bodies), *journal_cost(bodies, Path(folder))]
                parse = (parse + parse_cpu(bodies)) / 2
                if number >= 0:
                    found.append([cost / parse for cost in costs])
                    say(f"{load}, round {number + 1} of {options.rounds}")
            for name, column in zip(names, zip(*found, strict=True), strict=True):
                rows[name].append(f"{median(column):.2f}")
    for server in servers:
        server.stop()
    publish("parts", table(["part", *LOADS], list(rows.values())), options.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
