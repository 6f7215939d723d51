"""SIGKILL of the real `serve` under load over gRPC and HTTP, with a downstream that goes away and comes back.

What `test_crash` holds of the engine is held here of all of it: after any number of kills the reports, the totals, the
files and what came downstream are those of one tidy run.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import random
import signal
import socket
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path

import grpc
import httpx
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.cli import main
from collector.clock import seconds
from collector.emit.planner import Outlets, SessionEmitter
from collector.engine import Accepted, Engine
from collector.otlp import json
from collector.otlp.encode import traces_to_protobuf
from collector.pipeline import dossier
from collector.sessions.model import Rules
from collector.store import Store
from tests.collector.crash.load import Outcome, capture_session, case_session, outcome
from tests.collector.emit.receiver import Receiver, free_port, grpc_receiver

Session = list[bytes]
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def serve(folder: Path, options: dict[str, str]) -> None:
    """The victim: `serve` as the command line starts it, its log into a file."""
    log = (folder / "log").open("a", encoding="utf-8")
    os.dup2(log.fileno(), 2)
    arguments = ["serve", "--set", f"data.dir={folder / 'data'}"]
    for name, value in options.items():
        arguments += ["--set", f"{name}={value}"]
    sys.exit(main(arguments))


class Senders:
    """Exporters of both protocols: the requests of a session in order, each again until it is acknowledged; some twice."""

    def __init__(self, sessions: list[Session], ports: tuple[int, int], seed: int, repeats: float = 0.1) -> None:
        self._sessions = sessions
        self._repeats = repeats
        self._ports = ports
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._given = 0
        self.allowed = 0  # sessions that may have been begun
        self.acknowledged: list[bytes] = []
        self.unacknowledged = 0  # tries that ended without an answer, or with a refusal
        self._stop = False
        self._threads = [threading.Thread(target=self._run, args=(n % 2 == 0,), daemon=True) for n in range(4)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def finish(self, deadline_s: float) -> None:
        """Let all sessions go, and wait until they are acknowledged."""
        self.allowed = len(self._sessions)
        end = time.monotonic() + deadline_s
        for thread in self._threads:
            thread.join(max(0.1, end - time.monotonic()))
        assert not any(thread.is_alive() for thread in self._threads), "not all was acknowledged"

    def stop(self) -> None:
        self._stop = True
        for thread in self._threads:
            thread.join(20)

    def _run(self, over_grpc: bool) -> None:
        with self._grpc() if over_grpc else self._http() as send:
            while not self._stop and (session := self._next()) != []:
                for body in session or ():
                    self._until_acknowledged(send, body)
                    if self._random.random() < self._repeats:
                        send(self._random.choice(self.acknowledged))
                if session is None:
                    time.sleep(0.01)

    def _next(self) -> Session | None:
        """The next session; None while there is none yet, [] when there is none any more."""
        with self._lock:
            if self._given >= len(self._sessions):
                return []
            if self._given >= self.allowed:
                return None
            self._given += 1
            return self._sessions[self._given - 1]

    def _until_acknowledged(self, send: Callable[[bytes], bool], body: bytes) -> None:
        while not self._stop:
            if send(body):
                with self._lock:
                    self.acknowledged.append(body)
                return
            self.unacknowledged += 1
            time.sleep(self._random.uniform(0.0, 0.03))

    @contextlib.contextmanager
    def _grpc(self) -> Iterator[Callable[[bytes], bool]]:
        options = [("grpc.initial_reconnect_backoff_ms", 20), ("grpc.max_reconnect_backoff_ms", 50)]
        options.append(("grpc.min_reconnect_backoff_ms", 20))
        with grpc.insecure_channel(f"127.0.0.1:{self._ports[0]}", options=options) as channel:
            export = channel.unary_unary(EXPORT)

            def send(body: bytes) -> bool:
                try:
                    export(traces_to_protobuf(body), timeout=5)
                except grpc.RpcError:
                    return False
                return True

            yield send

    @contextlib.contextmanager
    def _http(self) -> Iterator[Callable[[bytes], bool]]:
        with httpx.Client(base_url=f"http://127.0.0.1:{self._ports[1]}", timeout=5) as client:

            def send(body: bytes) -> bool:
                try:
                    answer = client.post("/v1/traces", content=body, headers={"content-type": "application/json"})
                except httpx.TransportError:
                    return False
                return answer.status_code == 200

            yield send


@contextlib.contextmanager
def unsteady(receiver: Receiver, port: int, chance: random.Random) -> Iterator[threading.Event]:
    """A downstream that is there and away by turns, until the event is set; then it stays."""
    steady, done = threading.Event(), threading.Event()

    def run() -> None:
        while not done.is_set():
            with grpc_receiver(receiver, port):
                steady.wait(chance.uniform(0.3, 1.5))
                if steady.is_set():
                    done.wait()
            steady.wait(chance.uniform(0.3, 1.5))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield steady
    finally:
        steady.set()
        done.set()
        thread.join(20)


def torture(
    context: ForkServerContext, folder: Path, sessions: list[Session], kills: int, seed: int, fsync: str
) -> tuple[Receiver, Senders]:
    """Kill `serve` so many times under load, then let one finish. Return what came downstream, and the senders."""
    chance = random.Random(seed)
    ports, downstream = (free_port(), free_port()), free_port()
    options = {
        "receive.grpc.endpoint": f"127.0.0.1:{ports[0]}",
        "receive.http.endpoint": f"127.0.0.1:{ports[1]}",
        "admin.http.endpoint": "",
        "admin.grpc.endpoint": "",
        "sessions.grace": "200ms",
        "sessions.idle": "30m",
        "journal.fsync": fsync,
        "journal.segment_size": "64KiB",
        "export.retry_max_interval": "200ms",
        **{f"export.{signal_}.endpoint": f"http://127.0.0.1:{downstream}" for signal_ in ("traces", "logs")},
    }
    receiver = Receiver()
    senders = Senders(sessions, ports, seed)
    senders.start()
    killed = 0
    with unsteady(receiver, downstream, chance) as steady:
        try:
            while killed < kills:
                senders.allowed = len(sessions) * (killed + 1) // (kills + 1)
                process = _started(context, folder, options)
                if chance.random() < 0.7:  # the others are killed while they start and replay
                    _until(lambda: _listens(ports[1]), process, "it did not start", 60)
                time.sleep(chance.uniform(0.0, 0.6))
                assert process.is_alive()
                process.kill()
                process.join(30)
                killed += 1
            process = _started(context, folder, options)
            senders.finish(120)
            steady.set()
            _until(lambda: _settled(folder, len(sessions)), process, "not all was reported and delivered", 120)
            assert process.pid is not None
            os.kill(process.pid, signal.SIGTERM)
            process.join(30)
            assert process.exitcode == 0
        finally:
            senders.stop()
            if process.is_alive():
                process.kill()
    return receiver, senders


def _started(context: ForkServerContext, folder: Path, options: dict[str, str]) -> BaseProcess:
    process = context.Process(target=serve, args=(folder, options))
    process.start()
    return process


def _until(done: Callable[[], bool], process: BaseProcess, what: str, deadline_s: float) -> None:
    end = time.monotonic() + deadline_s
    while not done():
        assert process.is_alive(), "it ended"
        assert time.monotonic() < end, what
        time.sleep(0.01)


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def _settled(folder: Path, sessions: int) -> bool:
    with contextlib.closing(sqlite3.connect(folder / "data" / "store.sqlite", timeout=30)) as connection:
        query = "SELECT (SELECT count(*) FROM reports), (SELECT count(*) FROM outbox WHERE state != 'done')"
        found = connection.execute(query).fetchone()
        assert found[0] <= sessions, "a session was reported twice"
    return bool(found == (sessions, 0))


Content = dict[object, set[bytes]]


def tidy(folder: Path, sessions: list[Session]) -> tuple[Outcome, Content, dict[str, bytes]]:
    """What one delivery in order, to an engine that nothing happens to, gives: outcome, downstream content, files."""

    async def deliver() -> None:
        emitter = SessionEmitter(Outlets(review=True, evaluation=True, files=True), dossier)
        rules = Rules(grace_ns=seconds(0.15), idle_ns=seconds(1800))
        engine = Engine(store=store, journal=None, rules=rules, emitter=emitter)
        await engine.start()
        for session in sessions:
            for body in session:
                await engine.accept(Accepted("traces", "json", body))
        while engine.stats().open_sessions or engine.stats().queue_requests:
            engine.tick()
            await asyncio.sleep(0.01)
        await engine.stop(60)

    store = Store(folder / "tidy.db")
    store.start()
    try:
        asyncio.run(deliver())
        sent = [(e.kind, e.payload) for name in ("traces", "logs") for e in store.outbox(name, 10**6)]
        files = {entry.name.partition("/")[2]: entry.payload for entry in store.outbox("files", 10**6)}
        return outcome(store), content(sent), files
    finally:
        store.stop()


def content(requests: Iterable[tuple[str, bytes]]) -> Content:
    """Spans by their ids, with all that was said under one; log records by what they say, with when they were made."""
    found: Content = {}
    for kind, body in requests:
        if kind == "traces":
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        found.setdefault((span.trace_id, span.span_id), set()).add(span.SerializeToString())
        else:
            for logs in ExportLogsServiceRequest.FromString(body).resource_logs:
                for part in logs.scope_logs:
                    for record in part.log_records:
                        observed = record.observed_time_unix_nano.to_bytes(8, "big")
                        record.observed_time_unix_nano = 0
                        found.setdefault(record.SerializeToString(), set()).add(observed)
    return found


def compare(context: ForkServerContext, folder: Path, kills: int, sessions: int, seed: int, fsync: str) -> str:
    load = [case_session(n) for n in range(sessions)] + [capture_session(n) for n in range(sessions // 6)]
    random.Random(seed).shuffle(load)
    receiver, senders = torture(context, folder, load, kills, seed, fsync)
    store = Store(folder / "data" / "store.sqlite")
    store.start()
    try:
        found = outcome(store)
    finally:
        store.stop()
    expected, downstream, files = tidy(folder, load)
    spans = {(s.trace_id, s.span_id) for body in senders.acknowledged for s in json.decode_traces(body).spans}
    reports = found["reports"]
    assert isinstance(reports, dict)
    assert sum(report[1] for report in reports.values()) == len(spans), "each acknowledged span is in one session"
    assert found["totals"] == expected["totals"]
    assert found["reports"] == expected["reports"]
    assert found["revisions"] == expected["revisions"]
    came = content(("traces" if "Trace" in got.path else "logs", got.body) for got in receiver.got)
    assert came.keys() == downstream.keys()
    assert all(len(said) == 1 for said in came.values()), "what comes again is the same"
    spans_of = {name: said for name, said in came.items() if isinstance(name, tuple)}
    assert spans_of == {name: said for name, said in downstream.items() if isinstance(name, tuple)}
    dossiers = folder / "data" / "dossiers"
    assert {path.name: path.read_bytes() for path in dossiers.iterdir()} == files
    repeated = sum(len(got.body) for got in receiver.got)
    return (
        f"{kills} kills, {len(load)} sessions, {len(spans)} spans, {len(senders.acknowledged)} requests acknowledged, "
        f"{senders.unacknowledged} tries without, {len(came)} spans and events downstream in {repeated} bytes"
    )


@pytest.fixture(scope="module")
def context() -> ForkServerContext:
    """A server that has imported what `serve` needs, so that a start costs little more than starting."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(
        ["tests.collector.crash.test_serve", "collector.service.process", "collector.recovery"]
    )
    return server


def _seeds() -> list[int]:
    kills = int(os.environ.get("ORBITRELAY_KILLS", "200"))
    return list(range(-(-kills // 20)))


@pytest.mark.timeout(180)
def test_killed_twenty_times_the_service_says_what_a_tidy_run_does(context: ForkServerContext, tmp_path: Path) -> None:
    compare(context, tmp_path, kills=20, sessions=30, seed=1000, fsync="interval")


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", _seeds())
def test_killed_under_load_the_service_says_what_a_tidy_run_does(
    context: ForkServerContext, tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    said = compare(context, tmp_path, 20, 60, seed, ("interval", "always", "never")[seed % 3])
    with capsys.disabled():
        print(f"\nseed {seed}: {said}")
