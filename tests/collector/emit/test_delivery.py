"""From a recorded session to a downstream: real engine, store, outbox and sockets."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector import semconv
from collector.clock import SteadyClock, seconds
from collector.config.options import Destination
from collector.contracts import load
from collector.emit.downstream import make_sink
from collector.emit.files import Folder
from collector.emit.forward import Annotated, make_forwarder
from collector.emit.health import Health
from collector.emit.outbox import FolderSink, OutboxSender, Policy
from collector.emit.planner import Outlets, SessionEmitter
from collector.engine import Accepted, Engine, Housekeeping
from collector.journal import Journal
from collector.pipeline import Terms, dossier
from collector.report import Report
from collector.store import Store
from tests.collector.emit.receiver import Receiver, grpc_receiver

CAPTURE = Path(__file__).parents[2] / "conformance" / "captures" / "langgraph-swarm__openinference"
REQUESTS = (CAPTURE / "traces.otlp.jsonl").read_bytes().splitlines()
CONTRACTS = b"""\
version: 1
rules:
  - contract:
      engineer: [task_description, constraints, deadline]
      reviewer: [task_description]
"""


class HandClock(SteadyClock):
    """A clock that moves when told."""

    def __init__(self) -> None:
        self.now = seconds(1_800_000_000)

    def now_ns(self) -> int:
        return self.now


class Bench:
    """A collector without its listeners. What it says downstream is in `receiver`."""

    def __init__(self, folder: Path, receiver: Receiver, port: int, forward: str) -> None:
        self.clock = HandClock()
        self.health = Health()
        self.receiver = receiver
        self.store = Store(folder / "store.db", now_ns=self.clock.now_ns)
        destination = Destination(endpoint=f"http://127.0.0.1:{port}")
        self.engine = Engine(
            store=self.store,
            journal=Journal(folder / "journal"),
            clock=self.clock,
            terms=Terms(book=load(CONTRACTS)),
            emitter=SessionEmitter(Outlets(review=True, evaluation=True, files=True), dossier, "1"),
            housekeeping=Housekeeping(checkpoint_spans=1),
            forwarder=make_forwarder(forward, ("traces", "logs"), self.health),
        )
        self.sender = OutboxSender(
            self.store,
            {
                "traces": make_sink(destination),
                "logs": make_sink(destination),
                "files": FolderSink(Folder(folder / "dossiers", self.store.claim_name)),
            },
            self.health,
            policy=Policy(first_interval=0.05, max_interval=0.1, poll_interval=0.05),
            clock_ns=self.clock.now_ns,
            chance=random.Random(1),
        )

    async def __aenter__(self) -> Bench:
        self.store.start()
        await self.engine.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.engine.stop(10)
        await self.sender.stop(5)
        self.store.stop()
        self.health.stop()

    async def send_all(self) -> None:
        for body in REQUESTS:
            await self.engine.accept(Accepted("traces", "json", body))

    async def forward(self, by_s: float) -> None:
        await self.wait(lambda: self.engine.stats().queue_requests == 0)
        self.clock.now += seconds(by_s)

    async def wait(self, done: Callable[[], bool]) -> None:
        for _ in range(500):
            self.engine.tick()
            if done():
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"waited in vain: {self.engine.stats()} {self.store.outbox_stats()}")

    async def reported(self) -> None:
        await self.forward(16)
        await self.wait(lambda: self.store.stats().reports == 1)

    def drained(self) -> bool:
        return not sum(each.waiting for each in self.store.outbox_stats())

    def counts(self) -> dict[str, int]:
        totals: Counter[str] = Counter()
        for series in self.store.metrics():
            totals[series.instrument.removeprefix("orbitrelay.")] += series.count
        return dict(totals)

    def spans(self) -> list[tuple[str, Span]]:
        return [
            (scope.scope.name, span)
            for got in self.receiver.got
            if "TraceService" in got.path
            for resource in ExportTraceServiceRequest.FromString(got.body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
def port(receiver: Receiver) -> Iterator[int]:
    with grpc_receiver(receiver) as bound:
        yield bound


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(test(), 60)

    asyncio.run(bounded())


def test_a_session_is_told_downstream_once_in_its_own_traces_however_often_it_is_sent(
    tmp_path: Path, receiver: Receiver, port: int
) -> None:
    async def test() -> None:
        async with Bench(tmp_path, receiver, port, "off") as bench:
            await bench.sender.start()
            await bench.send_all()
            await bench.reported()
            await bench.wait(bench.drained)
            first = bench.counts()
            await bench.send_all()
            await bench.forward(1000)
            await bench.wait(lambda: bench.engine.stats().taken.duplicates == 58)
            await bench.forward(1000)
            await bench.wait(bench.drained)
            assert bench.counts() == first
            (row,) = bench.store.sessions().rows
            report = bench.store.report(row.session_id)
            assert report is not None
            assert first == {
                "handoff.completeness": 4,
                "handoff.latency": 5,
                "handoff.fields": 11,  # 4 present, 1 empty, 3 missing, 3 extra; not those only in the history
                "handoff.count": 5,
                "session.completeness": 1,
                "session.count": 1,
                "report.count": 1,
                "bottleneck.count": 2,
            }
            errors = Counter(span.status.message for _, span in bench.spans() if span.status.message)
            assert errors == {"missing: deadline": 2, "missing: task_description": 1}

            spans = bench.spans()
            assert {scope for scope, _ in spans} == {"orbitrelay"}
            names = Counter(span.name for _, span in spans)
            assert names.pop("orbitrelay.review") == len(report.traces)
            assert sum(names.values()) == len(report.handoffs)
            assert {span.trace_id.hex() for _, span in spans} == set(report.traces)
            assert len({span.span_id for _, span in spans}) == len(spans)
            events = [
                record.event_name
                for got in receiver.got
                if "LogsService" in got.path
                for resource in ExportLogsServiceRequest.FromString(got.body).resource_logs
                for scope in resource.scope_logs
                for record in scope.log_records
            ]
            assert events == [semconv.E_EVALUATION] * len(report.handoffs)
            files = {path.name: path.read_bytes() for path in (tmp_path / "dossiers").iterdir()}
            assert files == {
                "sess-pay-412.trace.json": report.trace_json,
                "sess-pay-412.dossier.md": dossier(report).encode(),
            }

    run(test)


def test_annotated_originals_arrive_once_with_their_verdicts_also_when_the_downstream_was_away_and_we_restarted(
    tmp_path: Path, receiver: Receiver, port: int
) -> None:
    async def test() -> None:
        async with Bench(tmp_path, receiver, port, "annotated") as bench:
            await bench.send_all()
            await bench.wait(lambda: bench.engine.stats().queue_requests == 0)
        async with Bench(tmp_path, receiver, port, "annotated") as bench:
            await bench.reported()
        async with AsyncExitStack() as stack:
            bench = await stack.enter_async_context(Bench(tmp_path, receiver, port, "annotated"))
            await bench.sender.start()
            await bench.wait(bench.drained)
            (row,) = bench.store.sessions().rows
            report = bench.store.report(row.session_id)
            assert report is not None
            originals = [span for scope, span in bench.spans() if scope != "orbitrelay"]
            assert len(originals) == 58 == len({(span.trace_id, span.span_id) for span in originals})
            told = Counter(
                (span.trace_id.hex(), span.span_id.hex())
                for span in originals
                for event in span.events
                if event.name == semconv.E_COMPLETENESS
            )
            assert told == Counter((each.trace_id, each.span_id) for each in report.handoffs)

    run(test)


def test_spans_of_a_long_session_go_with_the_verdicts_so_far(
    tmp_path: Path, receiver: Receiver, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    glimpsed: list[Report] = []
    keep = Annotated.on_glimpse

    def on_glimpse(self: Annotated, report: Report) -> None:
        keep(self, report)
        glimpsed.append(report)

    monkeypatch.setattr(Annotated, "on_glimpse", on_glimpse)

    async def test() -> None:
        async with Bench(tmp_path, receiver, port, "annotated") as bench:
            await bench.sender.start()
            for body in REQUESTS[:-1]:  # the root has not ended
                await bench.engine.accept(Accepted("traces", "json", body))
            await bench.forward(25)
            await bench.wait(lambda: bool(glimpsed))
            await bench.forward(6)
            await bench.wait(lambda: len(bench.spans()) > 0 and bench.drained())
            assert bench.store.stats().reports == 0
            told = [
                (span.trace_id.hex(), span.span_id.hex())
                for _, span in bench.spans()
                if any(event.name == semconv.E_COMPLETENESS for event in span.events)
            ]
            assert len(told) == len(set(told)) >= 4

    run(test)
