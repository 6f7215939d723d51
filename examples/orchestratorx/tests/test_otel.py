"""Tests of telemetry.py and otel.py: every hop as a span, its order, its parents and its fields."""

from __future__ import annotations

import gzip
import json
import logging
import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from orchestratorx.briefs import BRIEF_FIELDS, RETURN_FIELDS, incomplete
from orchestratorx.orchestrator import Orchestrator, Run
from orchestratorx.otel import OtelExporter
from orchestratorx.portfolio import DEMO_BOOKS, demo_book
from orchestratorx.state import ReportStatus
from orchestratorx.telemetry import RunSpans, exporter_from_environment, tool_span
from scripted import Behaviour, Hang, book, raises, tells, world


class Recorded:
    """An exporter into memory, and the tree that it recorded."""

    def __init__(self, *, content: bool = True) -> None:
        self.memory = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.memory))
        self.exporter = OtelExporter(provider, content=content)

    def spans(self) -> list[ReadableSpan]:
        """All spans by their start; ids tell apart what started within one tick."""
        return sorted(self.memory.get_finished_spans(), key=lambda span: span.start_time or 0)

    def tree(self) -> list[str]:
        """Names by start, indented by depth."""
        spans = self.spans()
        by_id = {span.context.span_id: span for span in spans if span.context}

        def depth(span: ReadableSpan) -> int:
            return 0 if span.parent is None else 1 + depth(by_id[span.parent.span_id])

        return ["  " * depth(span) + span.name for span in spans]

    def handoffs(self) -> list[dict[str, Any]]:
        """The handoff attributes without their prefix, by start."""
        prefix = "orbitrelay.handoff."
        return [
            {str(k).removeprefix(prefix): v for k, v in (span.attributes or {}).items() if str(k).startswith(prefix)}
            for span in self.spans()
            if span.name.startswith("handoff ")
        ]

    def one(self, name: str) -> ReadableSpan:
        (span,) = (span for span in self.spans() if span.name == name)
        return span


def demo(name: str, **options: Any) -> tuple[Recorded, Run]:
    recorded = Recorded()
    return recorded, Orchestrator(exporter=recorded.exporter, **options).run(demo_book(name))


def test_a_run_is_one_tree_of_spans() -> None:
    recorded, _ = demo("concentrated")
    assert recorded.tree() == [
        "invoke_workflow portfolio_review",
        "  invoke_agent supervisor",
        "    handoff supervisor -> RiskModeler",
        "      invoke_agent RiskModeler",
        "        execute_tool measure_risk",
        "        handoff RiskModeler -> supervisor",
        "    handoff supervisor -> ComplianceChecker",
        "      invoke_agent ComplianceChecker",
        "        execute_tool measure_exposure",
        "        handoff ComplianceChecker -> supervisor",
        "    handoff supervisor -> ClientAdvisor",
        "      invoke_agent ClientAdvisor",
        "        execute_tool plan_mitigation",
        "        handoff ClientAdvisor -> supervisor",
        "    handoff supervisor -> Reporter",
        "  invoke_agent Reporter",
        "    chat fake",
    ]


def test_every_span_keeps_to_the_conventions() -> None:
    recorded, run = demo("concentrated")
    operations = {
        "invoke_workflow": ("gen_ai.workflow.name",),
        "invoke_agent": ("gen_ai.agent.name",),
        "execute_tool": ("gen_ai.tool.name", "gen_ai.tool.type", "gen_ai.tool.call.arguments"),
        "chat": (
            "gen_ai.provider.name",
            "gen_ai.request.model",
            "gen_ai.response.model",
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.output_tokens",
            "gen_ai.input.messages",
            "gen_ai.output.messages",
        ),
    }
    for span in recorded.spans():
        attributes = dict(span.attributes or {})
        operation = span.name.split()[0]
        assert span.kind is (SpanKind.CLIENT if operation == "chat" else SpanKind.INTERNAL)
        assert span.status.status_code is StatusCode.UNSET
        if operation == "handoff":
            continue
        assert attributes["gen_ai.operation.name"] == operation
        assert not set(operations[operation]) - set(attributes)
        if operation == "invoke_agent":
            assert span.name == f"invoke_agent {attributes['gen_ai.agent.name']}"
    root = recorded.spans()[0]
    attributes = dict(root.attributes or {})
    assert (attributes["session.id"], attributes["gen_ai.conversation.id"]) == (run.run_id, run.run_id)
    assert [event.name for event in root.events] == ["orbitrelay.session.end"]


def test_handoffs_carry_the_typed_state_as_named_fields() -> None:
    recorded, run = demo("concentrated")
    handoffs = recorded.handoffs()
    assert [(h["source"], h["target"], h["mode"], h["status"]) for h in handoffs] == [
        ("supervisor", "RiskModeler", "delegate", "completed"),
        ("RiskModeler", "supervisor", "return", "completed"),
        ("supervisor", "ComplianceChecker", "delegate", "completed"),
        ("ComplianceChecker", "supervisor", "return", "completed"),
        ("supervisor", "ClientAdvisor", "delegate", "completed"),
        ("ClientAdvisor", "supervisor", "return", "completed"),
        ("supervisor", "Reporter", "transfer", "completed"),
    ]
    for handoff in handoffs:
        fields = json.loads(handoff["fields"])
        assert tuple(fields) == (RETURN_FIELDS if handoff["mode"] == "return" else BRIEF_FIELDS[handoff["target"]])
        assert not [name for name, value in fields.items() if value in (None, "", [], {})]
    assert json.loads(handoffs[0]["fields"])["portfolio_id"] == "PF-1002"
    assert json.loads(handoffs[4]["fields"])["open_findings"]["count"] == 3
    assert json.loads(handoffs[6]["fields"])["findings"]["items"] == [f.to_dict() for f in run.report.findings]
    assert handoffs[4]["reason"] == "high finding to mitigate: CMP-002 (high)"


def test_a_delegation_lasts_as_long_as_the_visit_and_a_transfer_ends_the_supervisor() -> None:
    recorded, _ = demo("compliant")
    delegation, visit = recorded.one("handoff supervisor -> RiskModeler"), recorded.one("invoke_agent RiskModeler")
    transfer, supervisor = recorded.one("handoff supervisor -> Reporter"), recorded.one("invoke_agent supervisor")
    reporter = recorded.one("invoke_agent Reporter")
    times = [delegation.start_time, visit.start_time, visit.end_time, delegation.end_time]
    assert times == sorted(time or 0 for time in times)
    times = [transfer.start_time, transfer.end_time, supervisor.end_time, reporter.start_time]
    assert times == sorted(time or 0 for time in times)


def test_a_halted_run_is_visible_as_such() -> None:
    recorded, _ = demo("restricted")
    root = recorded.spans()[0]
    attributes = dict(root.attributes or {})
    assert (attributes["orchestratorx.halted"], attributes["orchestratorx.status"]) == (True, "halted")
    assert [event.name for event in root.events] == ["orchestratorx.run.halted", "orbitrelay.session.end"]
    last = recorded.handoffs()[-1]
    fields = json.loads(last["fields"])
    assert (last["reason"], fields["halted"], fields["escalation"]) == ("halted: CMP-003 (critical)", True, "halt")


def test_an_incomplete_handoff_shows_what_it_lacks() -> None:
    recorded, _ = demo("concentrated", alter=incomplete)
    (handoff,) = (h for h in recorded.handoffs() if h["target"] == "ClientAdvisor")
    fields = json.loads(handoff["fields"])
    assert ("mandate" in fields, fields["open_findings"]) == (False, [])


def scripted(risk: Behaviour, **options: Any) -> Recorded:
    recorded = Recorded()
    world(risk=[risk], exporter=recorded.exporter, breaker_threshold=1, **options).run(book())
    return recorded


def test_a_failed_hop_has_an_error_on_its_visit_and_a_return_without_findings() -> None:
    recorded = scripted(raises(OSError("down")), attempts=2)
    visit = recorded.one("invoke_agent RiskModeler")
    assert (visit.status.status_code, visit.status.description) == (StatusCode.ERROR, "OSError: down")
    assert dict(visit.attributes or {})["error.type"] == "OSError"
    assert [(e.name, dict(e.attributes or {})["orchestratorx.attempt"]) for e in visit.events] == [
        ("exception", 1),
        ("exception", 2),
    ]
    delegation, back = recorded.handoffs()[:2]
    assert (delegation["status"], back["mode"]) == ("completed", "return")
    assert json.loads(back["fields"]) == {"status": "failed", "error": "OSError: down"}


def test_a_dropped_hop_is_a_delegation_that_nobody_answered() -> None:
    recorded = scripted(raises(Hang()))
    handoffs = recorded.handoffs()
    assert [(h["source"], h["target"], h["status"]) for h in handoffs[:2]] == [
        ("supervisor", "RiskModeler", "dropped"),
        ("supervisor", "ComplianceChecker", "completed"),
    ]
    assert recorded.one("handoff supervisor -> RiskModeler").status.status_code is StatusCode.ERROR
    assert dict(recorded.spans()[0].attributes or {})["orchestratorx.status"] == "incomplete"


def test_a_crashed_run_ends_its_spans_with_an_error() -> None:
    recorded = Recorded()

    def broken(_: Any) -> Any:
        raise KeyError("posture")

    with pytest.raises(KeyError):
        world(exporter=recorded.exporter, seam=broken).run(book())
    assert recorded.tree() == ["invoke_workflow portfolio_review", "  invoke_agent supervisor"]
    root = recorded.spans()[0]
    assert (root.status.status_code, root.status.description) == (StatusCode.ERROR, "KeyError")
    assert [event.name for event in root.events] == ["exception", "orbitrelay.session.end"]


def test_content_can_be_left_out() -> None:
    recorded = Recorded(content=False)
    Orchestrator(exporter=recorded.exporter).run(demo_book("concentrated"))
    text = " ".join(f"{span.name} {dict(span.attributes or {})}" for span in recorded.spans())
    assert "orbitrelay.handoff.source" in text
    for content in ("handoff.fields", "messages", "call.arguments", "Aquila", "AQL-EQ"):
        assert content not in text


def test_concurrent_runs_do_not_mix_their_spans() -> None:
    recorded = Recorded()
    orchestrator = Orchestrator(exporter=recorded.exporter)
    with ThreadPoolExecutor(6) as pool:
        runs = list(pool.map(lambda n: orchestrator.run(demo_book(DEMO_BOOKS[n % 3])), range(12)))
    by_trace: dict[int, list[ReadableSpan]] = {}
    for span in recorded.spans():
        assert span.context
        by_trace.setdefault(span.context.trace_id, []).append(span)
    assert len(by_trace) == 12
    for spans in by_trace.values():
        conversations = {dict(s.attributes or {}).get("gen_ai.conversation.id") for s in spans} - {None}
        (run_id,) = conversations
        (run,) = (run for run in runs if run.run_id == run_id)
        assert len([s for s in spans if s.name.startswith("handoff")]) == len(run.path) - 1


def test_an_agents_own_spans_nest_in_its_visit_across_the_deadline_thread() -> None:
    recorded = Recorded()

    def work(agent: str, brief: dict[str, Any]) -> Any:
        with tool_span("look", {"a": 1}):
            return tells()(agent, brief)

    from orchestratorx.deadline import call_with_deadline

    world(risk=[work], exporter=recorded.exporter, call=call_with_deadline).run(book())
    assert "        execute_tool look" in recorded.tree()


def test_outside_a_run_spans_do_nothing() -> None:
    with tool_span("look", {}):
        pass
    quiet = RunSpans()
    with quiet.visit("a"), quiet.tool("t", {}):
        quiet.attempt_failed(1, OSError())


class Collector:
    """An OTLP/HTTP endpoint on loopback that keeps what it is sent."""

    def __init__(self) -> None:
        self.requests: list[ExportTraceServiceRequest] = []
        world = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                assert self.path == "/v1/traces"
                world.requests.append(ExportTraceServiceRequest.FromString(body))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                return None

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    thread = threading.Thread(target=made.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.http.shutdown()
    thread.join()
    made.http.server_close()


def run_demo(**environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "orchestratorx.cli", "demo"]
    return subprocess.run(command, env=os.environ | environ, capture_output=True, text=True, check=False, timeout=50)


def test_an_endpoint_in_the_environment_is_all_it_takes(collector: Collector) -> None:
    done = run_demo(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
    assert (done.returncode, done.stderr) == (0, "")
    resources = [item for request in collector.requests for item in request.resource_spans]
    services = {a.value.string_value for r in resources for a in r.resource.attributes if a.key == "service.name"}
    spans = [span for r in resources for scope in r.scope_spans for span in scope.spans]
    assert services == {"orchestratorx"}
    assert len({span.trace_id for span in spans}) == 3
    assert sum(span.name.startswith("handoff ") for span in spans) == 5 + 7 + 5


def test_a_collector_that_is_away_costs_seconds_and_not_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    before = time.monotonic()
    orchestrator = Orchestrator()
    run = orchestrator.run(demo_book("compliant"))
    orchestrator.flush()
    assert run.report.status is ReportStatus.CLEAN
    assert time.monotonic() - before < 20


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_TRACES_EXPORTER": "none"},
    ],
)
def test_without_an_endpoint_nothing_is_exported_and_nothing_warns(
    environ: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with warnings.catch_warnings(), caplog.at_level(logging.DEBUG):
        warnings.simplefilter("error")
        exporter = exporter_from_environment(environ)
        exporter.flush()
        assert type(exporter.run("run-1", "PF-1")) is RunSpans
    assert not [record for record in caplog.records if record.name.startswith("opentelemetry")]


def test_without_the_extra_an_endpoint_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "orchestratorx.otel", None)
    exporter = exporter_from_environment({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"})
    assert type(exporter.run("run-1", "PF-1")) is RunSpans


@pytest.mark.parametrize(
    ("environ", "module"),
    [
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, "http"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4317"}, "grpc"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "127.0.0.1:4317"}, "grpc"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, "http"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://h/x", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"}, "grpc"),
    ],
)
def test_the_protocol_is_the_one_named_or_the_ports(
    environ: dict[str, str], module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from orchestratorx.otel import _otlp_exporter

    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    exporter = _otlp_exporter(environ)
    assert type(exporter).__module__ == f"opentelemetry.exporter.otlp.proto.{module}.trace_exporter"
    exporter.shutdown()
