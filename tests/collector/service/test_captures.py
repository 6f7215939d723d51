"""Captures of four frameworks through `serve`, request by request over either protocol: what it reports, counts and says downstream."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import httpx
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector import semconv
from collector.contracts import load
from collector.convert import convert
from collector.offline import Telling
from collector.pb.orbitrelay.v1 import query_pb2 as pb
from collector.pb.orbitrelay.v1 import query_pb2_grpc
from orbitrelay import Analysis, analyse, loads
from tests.collector.emit.receiver import Receiver, grpc_receiver

Serving = Callable[..., AbstractContextManager[Any]]
CAPTURES = Path(__file__).parents[2] / "conformance" / "captures"
NAMES = (
    "openai-agents__openinference",
    "strands-agents__native-swarm",
    "google-adk__native-transfer",
    "langgraph-swarm__openinference",
)
CONTRACTS = """\
version: 1
rules:
  - contract:
      researcher: [goal, constraints]
      engineer: [goal, constraints, artifacts]
      reviewer: [goal, decisions]
"""


class Told(NamedTuple):
    """A handoff as its review span tells of it."""

    trace_id: str
    name: str
    handoff_id: str
    score: float | None
    missing: tuple[str, ...]
    failed: bool


def requests(name: str) -> list[bytes]:
    """A capture's requests. Two of the programs have one session id: here each has its own."""
    lines = (CAPTURES / name / "traces.otlp.jsonl").read_bytes().splitlines()
    return [line.replace(b'"sess-pay-412"', b'"sess-pay-413"') if "langgraph" in name else line for line in lines]


@pytest.fixture(scope="module")
def contracts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file: Path = tmp_path_factory.mktemp("contracts") / "contracts.yaml"
    file.write_text(CONTRACTS, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory, contracts: Path) -> dict[str, bytes]:
    """What `convert` writes for the captures: file name -> bytes."""
    folder: Path = tmp_path_factory.mktemp("converted")
    inputs = []
    for name in NAMES:
        inputs.append(str(folder / f"{name}.jsonl"))
        Path(inputs[-1]).write_bytes(b"\n".join(requests(name)))
    telling = Telling(quiet=True, stream=io.StringIO())
    assert convert(inputs, folder / "out", load(contracts), telling).unread == 0
    files = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    del files["index.md"]
    return files


@pytest.fixture(scope="module")
def analyses(converted: dict[str, bytes]) -> list[Analysis]:
    """The documents that `convert` writes, analysed."""
    return [analyse(loads(data)) for name, data in converted.items() if name.endswith(".trace.json")]


class Served(NamedTuple):
    """A collector that has had all captures, and its downstream."""

    process: Any
    receiver: Receiver
    send: Callable[[bytes], None]

    def spans(self) -> list[Span]:
        """The spans that came downstream."""
        return [
            span
            for got in list(self.receiver.got)
            if "TraceService" in got.path
            for resource in ExportTraceServiceRequest.FromString(got.body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def events(self) -> list[str]:
        """The log events that came downstream."""
        return [
            record.event_name
            for got in list(self.receiver.got)
            if "LogsService" in got.path
            for resource in ExportLogsServiceRequest.FromString(got.body).resource_logs
            for scope in resource.scope_logs
            for record in scope.log_records
        ]

    def counted(self) -> dict[str, int]:
        """Totals of /metrics."""
        return {
            name: self.process.total(f"orbitrelay_{name}")
            for name in (
                *("handoff_count_total", "handoff_completeness_count", "handoff_revised_total"),
                *("session_count_total", "report_count_total", "bottleneck_count_total"),
            )
        }


@pytest.fixture(scope="module", params=["grpc", "http"])
def served(
    request: pytest.FixtureRequest, serving: Serving, contracts: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    receiver = Receiver()
    with grpc_receiver(receiver) as port:
        options = {
            "contracts.file": str(contracts),
            "sessions.grace": "1s",
            "export.traces.endpoint": f"http://127.0.0.1:{port}",
            "export.logs.endpoint": f"http://127.0.0.1:{port}",
        }
        with serving(tmp_path_factory.mktemp("data"), options) as process, httpx.Client() as client:

            def over_http(body: bytes) -> None:
                url = f"http://{process.address('receive.http')}/v1/traces"
                client.post(url, content=body, headers={"content-type": "application/json"}).raise_for_status()

            served = Served(process, receiver, over_http if request.param == "http" else lambda b: process.play([b]))
            for name in NAMES:
                for body in requests(name):
                    served.send(body)
            process.closed(len(NAMES))
            yield served


def test_files_and_both_apis_give_what_convert_writes(served: Served, converted: dict[str, bytes]) -> None:
    folder = served.process.data / "dossiers"
    served.process.until(lambda: len(list(folder.iterdir())) == len(converted))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == converted
    over_http, over_grpc = {}, {}
    with grpc.insecure_channel(served.process.address("admin.grpc")) as channel:
        stub = query_pb2_grpc.QueryServiceStub(channel)
        for session in served.process.sessions():
            asked = f"/api/v1/sessions/{session['session_id']}"
            over_http[f"{session['name']}.trace.json"] = served.process.get(f"{asked}/trace").content
            over_http[f"{session['name']}.dossier.md"] = served.process.get(f"{asked}/dossier").content
            trace = stub.GetTrace(pb.GetTraceRequest(session_id=session["session_id"]))
            dossier = stub.GetDossier(pb.GetDossierRequest(session_id=session["session_id"]))
            over_grpc[f"{session['name']}.trace.json"] = trace.trace_json
            over_grpc[f"{session['name']}.dossier.md"] = dossier.markdown.encode()
            assert (session["revision"], session["partial_reasons"]) == (1, [])
    assert over_http == over_grpc == converted


def expected(analysis: Analysis) -> Iterator[Told]:
    """What the review spans of a session must tell."""
    for inspection, score in zip(analysis.inspections, analysis.scores.handoffs, strict=True):
        handoff = inspection.handoff
        assert handoff.origin
        yield Told(
            handoff.origin.trace_id,
            f"handoff {handoff.source_agent} -> {handoff.target_agent}",
            handoff.handoff_id,
            score.score,
            inspection.missing,
            bool(inspection.missing) or handoff.is_dropped,
        )


def told(span: Span) -> Told:
    """What a review span tells."""
    (event,) = (event for event in span.events if event.name == semconv.E_COMPLETENESS)
    said = {item.key: item.value for item in event.attributes}
    return Told(
        span.trace_id.hex(),
        span.name,
        said[semconv.HANDOFF_ID].string_value,
        said[semconv.SCORE].double_value if semconv.SCORE in said else None,
        tuple(v.string_value for v in said[semconv.MISSING].array_value.values) if semconv.MISSING in said else (),
        bool(span.status.code),
    )


def delivered(served: Served, analyses: list[Analysis]) -> list[Told]:
    """Wait until all has come downstream; return what it must tell."""
    handoffs = [each for analysis in analyses for each in expected(analysis)]
    traces = {each.trace_id for each in handoffs}
    served.process.until(lambda: len(served.spans()) >= len(handoffs) + len(traces))
    served.process.until(lambda: len(served.events()) >= len(handoffs))
    return handoffs


def test_downstream_is_told_of_each_handoff_in_its_trace(served: Served, analyses: list[Analysis]) -> None:
    handoffs = delivered(served, analyses)
    traces = {each.trace_id for each in handoffs}
    spans = served.spans()
    reviews = {span.span_id: span for span in spans if span.name == semconv.S_REVIEW}
    below = [span for span in spans if span.span_id not in reviews]
    assert sorted(span.trace_id.hex() for span in reviews.values()) == sorted(traces)
    assert all(reviews[span.parent_span_id].trace_id == span.trace_id for span in below)
    assert sorted(map(told, below), key=repr) == sorted(handoffs, key=repr)
    bottlenecks = Counter(event.name for span in below for event in span.events)[semconv.E_BOTTLENECK]
    assert bottlenecks == sum(len(each.handoff_ids) for analysis in analyses for each in analysis.bottlenecks)
    assert served.events() == [semconv.E_EVALUATION] * len(handoffs)


def totals(analyses: list[Analysis]) -> dict[str, int]:
    """What /metrics must count of sessions that are reported for the first time."""
    scores = [score for analysis in analyses for score in analysis.scores.handoffs]
    return {
        "handoff_count_total": len(scores),
        "handoff_completeness_count": sum(s.contracted and s.score is not None for s in scores),
        "handoff_revised_total": 0,
        "session_count_total": len(analyses),
        "report_count_total": len(analyses),
        "bottleneck_count_total": sum(len(analysis.bottlenecks) for analysis in analyses),
    }


def test_everything_sent_twice_is_counted_and_told_once(served: Served, analyses: list[Analysis]) -> None:
    delivered(served, analyses)
    assert served.counted() == totals(analyses)
    before = served.process.sessions(), len(served.spans()), len(served.events())
    spans = sum(session["counts"]["spans"] for session in before[0])
    for name in NAMES:
        for body in requests(name):
            served.send(body)
    served.process.until(lambda: served.process.total("orbitrelay_collector_spans_duplicate_total") == spans)
    served.process.until(lambda: served.process.total("orbitrelay_session_open") == 0)
    assert served.counted() == totals(analyses)
    assert (served.process.sessions(), len(served.spans()), len(served.events())) == before


def test_a_late_span_brings_revision_two_and_no_second_count(
    serving: Serving, contracts: Path, converted: dict[str, bytes], tmp_path: Path
) -> None:
    first, *others = requests(NAMES[3])
    receiver = Receiver()
    with grpc_receiver(receiver) as port:
        options = {
            "contracts.file": str(contracts),
            "sessions.idle": "3s",
            "export.traces.endpoint": f"http://127.0.0.1:{port}",
        }
        with serving(tmp_path, options) as process:
            served = Served(process, receiver, lambda body: process.play([body]))
            process.play(others)
            (early,) = process.closed()
            counted = served.counted()
            process.play([first])
            process.until(lambda: process.sessions()[0]["revision"] == 2)
            (late,) = process.sessions()
            process.until(
                lambda: (
                    (tmp_path / "dossiers" / "sess-pay-413.trace.json").read_bytes()
                    == converted["sess-pay-413.trace.json"]
                )
            )
            again = served.counted()
            process.until(lambda: sum(span.name == semconv.S_REVIEW for span in served.spans()) == 2)
    assert (early["revision"], late["revision"]) == (1, 2)
    assert late["counts"]["handoffs"] == early["counts"]["handoffs"]
    assert (again["session_count_total"], again["report_count_total"]) == (1, 2)
    assert again["handoff_count_total"] == counted["handoff_count_total"] == late["counts"]["handoffs"]
    assert len({span.span_id for span in served.spans()}) == len(served.spans())
