"""A stop with everything in its way that can wait for ever, with real processes: it ends within its deadline, and loses nothing."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import grpc
import pytest

from collector.pb.orbitrelay.v1 import query_pb2 as pb
from collector.pb.orbitrelay.v1 import query_pb2_grpc

from .conftest import ROOT

Serving = Callable[..., AbstractContextManager[Any]]
MARGIN_S = 3.0  # one second is given to a process that hangs; the rest is for a busy machine


@contextlib.contextmanager
def silent() -> Iterator[str]:
    """The address of a server that takes every connection, and never says anything."""
    held: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    held.append(listener.accept()[0])

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in held:
                connection.close()


def connected(address: str, said: bytes) -> socket.socket:
    """A connection that said this much."""
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host, int(port)), 30)
    connection.sendall(said)
    return connection


def heard(connection: socket.socket, wanted: bytes = b"\0") -> bytes:
    """What the other side says, up to what is wanted or to its end."""
    said = b""
    while wanted not in said and (more := connection.recv(4096)):
        said += more
    return said


@contextlib.contextmanager
def in_the_way(process: Any) -> Iterator[None]:
    """Every kind of client that does not hang up by itself, on every listener."""
    otlp, admin = process.address("receive.http"), process.address("admin.http")
    header = b"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n"
    with contextlib.ExitStack() as stack:

        def open_(address: str, said: bytes) -> socket.socket:
            return stack.enter_context(contextlib.closing(connected(address, said)))

        for address in (otlp, admin):
            idle = http.client.HTTPConnection(address)
            stack.callback(idle.close)
            idle.request("GET", "/healthz")
            idle.getresponse().read()
            open_(address, b"POST /v1/tra")
        open_(otlp, header + b"expect: 100-continue\r\n\r\n")
        half = open_(otlp, header + b"\r\n{")
        stream = open_(admin, b"GET /api/v1/reports/watch HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert b"text/event-stream" in heard(stream, b"\r\n\r\n")
        for listener in ("receive.grpc", "admin.grpc"):
            open_(process.address(listener), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        channel = stack.enter_context(grpc.insecure_channel(process.address("admin.grpc")))
        watch = query_pb2_grpc.QueryServiceStub(channel).WatchReports(pb.WatchReportsRequest(after=0))
        next(watch)
        yield
        with pytest.raises(grpc.RpcError) as ended:
            next(watch)
        assert (ended.value.code(), ended.value.details()) == (grpc.StatusCode.UNAVAILABLE, "the collector is stopping")
        assert heard(stream).endswith(b"0\r\n\r\n"), "the stream has its end"
        assert heard(half).startswith(b"HTTP/1.1 503 ")


def stopped(process: Any) -> tuple[int, float]:
    """Its exit code after SIGTERM, and the seconds that it took."""
    started = time.monotonic()
    return process.stop(), time.monotonic() - started


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_a_stop_waits_for_no_client_and_no_downstream_beyond_its_deadline(
    serving: Serving, tmp_path: Path, protocol: str
) -> None:
    with silent() as address:
        options = {
            "service.stop_deadline": "6s",
            "traces.forward": "as_received",
            "export.metrics_interval": "100ms",
            **{f"export.{signal}.endpoint": f"http://{address}" for signal in ("traces", "logs", "metrics")},
            **{f"export.{signal}.protocol": protocol for signal in ("traces", "logs", "metrics")},
            **{f"export.{signal}.timeout": "60s" for signal in ("traces", "logs", "metrics")},
        }
        with serving(tmp_path, options) as process:
            process.play()
            process.closed()
            with in_the_way(process):
                code, took = stopped(process)
            assert (code, process.text, [record for record in process.log if "exception" in record]) == (0, [], [])
            assert process.log[-1]["finished"] is True, "what waits for a downstream waits on the disk"
            assert took < 6 + MARGIN_S


OVERDUE = "the deadline passed, and something still ran; the next start goes on where this one stopped"


def test_a_stop_while_it_still_starts_ends_in_time(serving: Serving, tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    os.mkfifo(tmp_path / "journal" / f"{1:010d}-{'a' * 16}.journal")  # it waits for a writer, as for a disk that hangs
    with serving(tmp_path, {"service.stop_deadline": "1s"}) as process:
        process.until((tmp_path / "store.sqlite-wal").exists)
        code, took = stopped(process)
        assert (code, [record["message"] for record in process.log], process.text) == (1, [OVERDUE], [])
        assert took < 1 + MARGIN_S


def test_a_thread_that_hangs_does_not_keep_the_process(serving: Serving, tmp_path: Path) -> None:
    contracts = tmp_path / "contracts.yaml"
    contracts.write_bytes((ROOT / "collector" / "demo" / "contracts.yaml").read_bytes())
    options = {"service.stop_deadline": "1s", "service.watch": "false", "contracts.file": str(contracts)}
    with serving(tmp_path / "data", options) as process:
        process.said("ready")
        contracts.unlink()
        os.mkfifo(contracts)
        process.signal(signal.SIGHUP)
        with contracts.open("w"):  # returns when the collector has begun to read
            code, took = stopped(process)
        assert (code, [record["message"] for record in process.log], process.text) == (
            1, ["ready", "stopping", "stopped", OVERDUE], [],
        )  # fmt: skip
        assert took < 1 + MARGIN_S
