"""Programs that are not Python: built or found once, started on free ports, stopped after the test."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.collector.service.conftest import serving_fixture

__all__ = ["serving_fixture"]
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
Otelcol = Callable[[str, int], AbstractContextManager["Program"]]
Jaeger = Callable[[], AbstractContextManager[tuple[str, str]]]


class Program(NamedTuple):
    """A running program and the file of what it says."""

    process: subprocess.Popen[bytes]
    log: Path


@pytest.fixture(scope="session")
def otelcol_program() -> Path:
    """The OpenTelemetry Collector of manifest.yaml, built from its Go modules on the first run."""
    return _built("otelcol")


@pytest.fixture(scope="session")
def jaeger_program() -> Path:
    """Jaeger, built from its Go module on the first run."""
    return _built("jaeger")


@pytest.fixture(scope="session")
def compose_program() -> Path:
    """The reader of compose files that `docker compose` has, built from its Go module on the first run."""
    return _built("compose")


@pytest.fixture(scope="session")
def otelcol(otelcol_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Otelcol:
    """`with otelcol(configuration, port):` runs one until the block ends; `port` is one that it will listen on."""

    @contextlib.contextmanager
    def run(configuration: str, port: int) -> Iterator[Program]:
        folder = tmp_path_factory.mktemp("otelcol")
        (folder / "config.yaml").write_text(configuration, encoding="utf-8")
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen([otelcol_program, "--config", folder / "config.yaml"], stdout=log, stderr=log)
            try:
                _listening(port, process, folder / "log")
                yield Program(process, folder / "log")
            finally:
                process.terminate()
                process.wait(20)

    return run


@pytest.fixture(scope="session")
def jaeger(
    jaeger_program: Path, free_ports: Callable[[int], list[int]], tmp_path_factory: pytest.TempPathFactory
) -> Jaeger:
    """`with jaeger() as (otlp, api):` runs one with the example's configuration, on free ports, until the block ends."""

    @contextlib.contextmanager
    def run() -> Iterator[tuple[str, str]]:
        folder = tmp_path_factory.mktemp("jaeger")
        otlp, api, grpc, health = free_ports(4)
        command = [str(jaeger_program), f"--config={ROOT / 'examples' / 'jaeger' / 'jaeger.yaml'}"]
        for name, port in (
            ("receivers.otlp.protocols.grpc", otlp),
            ("extensions.jaeger_query.http", api),
            ("extensions.jaeger_query.grpc", grpc),
            ("extensions.healthcheckv2.http", health),
        ):
            command.append(f"--set={name}.endpoint=127.0.0.1:{port}")
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
            try:
                for port in (otlp, api, health):
                    _listening(port, process, folder / "log")
                yield f"http://127.0.0.1:{otlp}", f"http://127.0.0.1:{api}"
            finally:
                process.terminate()
                process.wait(20)

    return run


@pytest.fixture(scope="session")
def free_ports() -> Callable[[int], list[int]]:
    """Ports that nobody listens on now."""

    def find(count: int) -> list[int]:
        with contextlib.ExitStack() as stack:
            sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
            for sock in sockets:
                sock.bind(("127.0.0.1", 0))
            return [sock.getsockname()[1] for sock in sockets]

    return find


def _built(name: str) -> Path:
    built = subprocess.run([str(HERE / name / "build.sh")], stdout=subprocess.PIPE, check=True, text=True)
    return Path(built.stdout.strip())


def _listening(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise AssertionError(log.read_text(encoding="utf-8")[-2000:])
