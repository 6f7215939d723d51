"""Start, stop, and what keeps the collector from starting, with real processes."""

from __future__ import annotations

import contextlib
import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from collector.cli import main
from collector.otlp.encode import traces_to_protobuf
from collector.otlp.json import decode_traces
from collector.report import OutboxEntry
from collector.store import Store
from tests.collector.crash.load import case_session

from .conftest import QUICK

Serving = Callable[..., AbstractContextManager[Any]]
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def test_each_listener_carries_its_own_and_nothing_else(serving: Serving, tmp_path: Path) -> None:
    with serving(tmp_path) as process:
        otlp = f"http://{process.address('receive.http')}"
        assert process.get("/healthz").json() == {"status": "ok"}
        assert process.get("/readyz").json() == {"status": "ready", "parts": {"receivers": "ok", "intake": "ok"}}
        with grpc.insecure_channel(process.address("admin.grpc")) as channel:
            stub: Any = health_pb2_grpc.HealthStub(channel)
            for name in ("", "orbitrelay.v1.QueryService"):
                answer = stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=10)
                assert answer.status == health_pb2.HealthCheckResponse.SERVING
            with pytest.raises(grpc.RpcError) as error:
                channel.unary_unary(EXPORT)(b"", timeout=10)
            assert error.value.code() is grpc.StatusCode.UNIMPLEMENTED
        for path in ("/healthz", "/metrics", "/api/v1/sessions", "/"):
            assert httpx.get(otlp + path).status_code == 404
        assert httpx.post(process.url("/v1/traces"), json={}).status_code == 404
        with (
            grpc.insecure_channel(process.address("receive.grpc")) as channel,
            pytest.raises(grpc.RpcError) as error,
        ):
            channel.unary_unary("/orbitrelay.v1.QueryService/ListSessions")(b"", timeout=10)
        assert error.value.code() is grpc.StatusCode.UNIMPLEMENTED
        assert process.stop() == 0
        assert [record["message"] for record in process.log] == ["ready", "stopping", "stopped"]
        assert process.log[-1]["finished"] is True
        assert process.text == []


def test_a_process_that_lives_may_not_be_ready(serving: Serving, tmp_path: Path, recorded: list[bytes]) -> None:
    with serving(tmp_path, {"limits.disk_free": "1024TiB"}) as process:
        assert process.get("/healthz").json() == {"status": "ok"}
        ready = process.get("/readyz")
        assert (ready.status_code, ready.json()["parts"]["receivers"]) == (503, "ok")
        assert "disk: " in ready.json()["parts"]["intake"]
        with grpc.insecure_channel(process.address("admin.grpc")) as channel:
            stub: Any = health_pb2_grpc.HealthStub(channel)

            def status(service: str) -> int:
                return int(stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=10).status)

            process.until(lambda: status("") == health_pb2.HealthCheckResponse.NOT_SERVING)
            assert status("orbitrelay.v1.QueryService") == health_pb2.HealthCheckResponse.SERVING
        with pytest.raises(grpc.RpcError) as error:
            process.play(recorded[:1])
        assert error.value.code() is grpc.StatusCode.UNAVAILABLE
        url = f"http://{process.address('receive.http')}/v1/traces"
        refused = httpx.post(url, content=recorded[0], headers={"content-type": "application/json"})
        assert (refused.status_code, 10 <= int(refused.headers["retry-after"]) <= 20) == (503, True)
        assert process.refusals() == {"disk": 2}


@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL"])
def test_what_was_acknowledged_goes_on_after_a_restart(
    serving: Serving, tmp_path: Path, recorded: list[bytes], how: str
) -> None:
    with serving(tmp_path, {"sessions.grace": "30s"}) as process:
        process.play(recorded[:3])
        process.signal(getattr(signal, how))
        assert process.wait() == (0 if how == "SIGTERM" else -9)
    with serving(tmp_path) as process:
        process.play(recorded[3:])
        (session,) = process.closed()
        assert (session["name"], session["counts"]["spans"], session["counts"]["handoffs"]) == (
            "sess-strands-swarm-01",
            37,
            5,
        )
        assert (session["revision"], session["partial_reasons"]) == (1, [])


def test_a_stop_under_load_refuses_retryably_ends_in_time_and_loses_no_span(serving: Serving, tmp_path: Path) -> None:
    """What was acknowledged, also while it stopped, is reported before the stop or after the next start, to the span."""
    acknowledged, codes = set(), set()
    with serving(tmp_path, {"service.stop_deadline": "5s", "sessions.grace": "50ms"}) as process:
        with grpc.insecure_channel(process.address("receive.grpc")) as channel:
            export = channel.unary_unary(EXPORT)
            number = 0
            while process.running:
                number += 1
                if number == 50:
                    process.signal(signal.SIGINT)
                    process.signal(signal.SIGTERM)
                    started = time.monotonic()
                for body in case_session(number):
                    try:
                        export(traces_to_protobuf(body), timeout=1)
                    except grpc.RpcError as error:
                        codes.add(error.code())
                        time.sleep(0.01)
                    else:
                        acknowledged |= {(span.trace_id, span.span_id) for span in decode_traces(body).spans}
        assert process.wait(10) == 0
        assert time.monotonic() - started < 6
        assert codes <= {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}, "OTLP has senders repeat both"
    with serving(tmp_path, {"sessions.idle": "300ms"}) as process:

        def reported() -> int:
            sessions = process.sessions("?page_size=500")
            assert len(sessions) < 500, "this is all of them"
            return sum(session["counts"]["spans"] for session in sessions)

        process.until(lambda: reported() >= len(acknowledged) and process.total("orbitrelay_session_open") == 0)
        assert reported() == len(acknowledged)


@pytest.mark.parametrize(
    ("options", "arguments"),
    [({"service.drain": "true"}, ()), ({}, ("--drain",)), ({"journal.mode": "memory"}, ())],
    ids=["option", "flag", "no journal"],
)
def test_a_drain_reports_what_is_open(
    serving: Serving, tmp_path: Path, recorded: list[bytes], options: dict[str, str], arguments: tuple[str, ...]
) -> None:
    with serving(tmp_path, {"sessions.grace": "30s", **options}, {}, *arguments) as process:
        process.play(recorded)
        assert process.stop() == 0
    with serving(tmp_path) as process:
        (session,) = process.closed()
        assert (session["close_reason"], session["partial_reasons"]) == ("drain", ["drained"])


Refused = Callable[[dict[str, str]], str]


@pytest.fixture
def refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Refused]:
    """`refused(options)`: `serve`, in this process, and the one line that it says before it ends with code 2."""
    monkeypatch.setattr("collector.service.process.configure", lambda *_: None)

    def serve(options: dict[str, str]) -> str:
        arguments = ["serve"]
        for name, value in ({"data.dir": str(tmp_path / "data")} | QUICK | options).items():
            arguments += ["--set", f"{name}={value}"]
        assert main(arguments) == 2
        (line,) = capsys.readouterr().err.splitlines()
        return line.removeprefix("orbitrelay-collector: ")

    yield serve
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        assert signal.getsignal(number) in {signal.SIG_DFL, signal.default_int_handler}


def taken() -> socket.socket:
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen()
    return sock


@pytest.mark.parametrize("listener", ["receive.grpc", "receive.http", "admin.http", "admin.grpc"])
def test_a_taken_port_is_one_line_and_code_2(refused: Refused, listener: str) -> None:
    with taken() as sock:
        endpoint = f"127.0.0.1:{sock.getsockname()[1]}"
        line = f"cannot listen on '{endpoint}' ({listener}.endpoint): address already in use"
        assert refused({f"{listener}.endpoint": endpoint}) == line


def test_a_store_that_cannot_be_written_at_the_start_is_one_line_and_code_2(refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "data" / "store.sqlite"
    store = Store(path)
    store.start()
    store.outbox_put([OutboxEntry("a", "files", "file", b"", "b")])
    store.outbox_park("a", "refused")
    store.stop()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TRIGGER full BEFORE UPDATE ON outbox BEGIN SELECT RAISE(ABORT, 'disk is full'); END")
    assert refused({}) == f"cannot use store '{path}': disk is full"


@pytest.mark.parametrize(
    ("name", "size", "options"), [("instance.id", 16, {}), ("hash.key", 32, {"content.mode": "hashed"})]
)
def test_a_kept_file_that_was_cut_is_one_line_and_code_2(
    refused: Refused, tmp_path: Path, name: str, size: int, options: dict[str, str]
) -> None:
    path = tmp_path / "data" / name
    path.parent.mkdir()
    path.touch()
    assert refused(options) == (
        f"cannot use '{path}': expected {size} bytes, found 0; restore it, or remove it for a new one"
    )


def test_a_process_that_cannot_start_says_one_line_and_nothing_else(serving: Serving, tmp_path: Path) -> None:
    with taken() as sock:
        endpoint = f"127.0.0.1:{sock.getsockname()[1]}"
        with serving(tmp_path, {"receive.http.endpoint": endpoint}) as process:
            assert process.wait() == 2
            assert (process.log, len(process.text)) == ([], 1)


def test_a_folder_that_cannot_be_written_is_one_line_and_code_2(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    line = f"cannot write to the data folder '{tmp_path}/file/data' (data.dir): not a directory"
    assert refused({"data.dir": f"{tmp_path}/file/data"}) == line


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            {"sessions.idel": "1s"},
            "--set sessions.idel=1s: unknown option 'sessions.idel'; did you mean 'sessions.idle'?",
        ),
        (
            {"receive.tls.cert_file": "/none.pem", "receive.tls.key_file": "/none.key"},
            "cannot use the certificate '/none.pem' with the key '/none.key': no such file or directory",
        ),
        ({"contracts.file": "/none.yaml"}, "/none.yaml: cannot be read: No such file or directory"),
        ({"receive.auth.token_file": "/none"}, "cannot read the token file '/none': No such file or directory"),
        (
            {"admin.auth.token_env": "NO_TOKEN"},
            "--set admin.auth.token_env: admin.auth.token_env: expected a token in environment variable 'NO_TOKEN', found none",
        ),
        (
            {"receive.http.endpoint": "203.0.113.1:0"},
            "cannot listen on '203.0.113.1:0' (receive.http.endpoint): cannot assign requested address",
        ),
        ({"files.dir": "/dev/null/x"}, "cannot write to '/dev/null/x' (files.dir): not a directory"),
        (
            {"export.traces.endpoint": "https://127.0.0.1:1", "export.traces.ca_file": "/none.pem"},
            "cannot send traces as configured (export.traces): no such file or directory",
        ),
    ],
    ids=["option", "certificate", "contracts", "token file", "token", "address", "files", "downstream authority"],
)
def test_a_fault_of_configuration_is_one_line_and_code_2(refused: Refused, options: dict[str, str], line: str) -> None:
    assert refused(options) == line


def test_a_second_collector_on_one_folder_is_one_line_and_code_2(
    serving: Serving, refused: Refused, tmp_path: Path
) -> None:
    with serving(tmp_path, {"receive.grpc.endpoint": "0.0.0.0:0"}, {"ORBITRELAY_SESSION_GRACE": "1s"}) as first:
        first.said("ready")
        line = f"the data folder '{tmp_path}' (data.dir) is in use by process {first._process.pid}"
        assert refused({"data.dir": str(tmp_path)}) == line
        warnings = [record for record in first.log if record["level"] == "warning"]
        assert [(w["message"], w.get("listener"), w.get("endpoint")) for w in warnings] == [
            (
                "environment variable ORBITRELAY_SESSION_GRACE names no option; did you mean 'ORBITRELAY_SESSIONS_GRACE'?",
                None,
                None,
            ),
            (
                "listens beyond loopback without authentication: set auth.token_file or tls.client_ca_file",
                "receive",
                "0.0.0.0:0",
            ),
        ]
