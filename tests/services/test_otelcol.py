"""A real OpenTelemetry Collector in front and behind: agents -> Collector -> OrbitRelay -> Collector -> files."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest

from collector.cli import main
from collector.otlp.encode import traces_to_protobuf

pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]
Serving = Callable[..., AbstractContextManager[Any]]
ROOT = Path(__file__).parents[2]
SESSION = ROOT / "collector" / "demo" / "session.otlp.jsonl"
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"

IN_FRONT = """
receivers:
  otlp: {{protocols: {{grpc: {{endpoint: 127.0.0.1:{port}}}}}}}
exporters:
  otlp:
    endpoint: {grpc}
    tls: {{insecure: true}}
    compression: {compression}
    keepalive: {{time: 10s, timeout: 5s, permit_without_stream: true}}
  otlphttp:
    endpoint: http://{http}
    compression: {compression}
    encoding: {encoding}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    traces: {{receivers: [otlp], exporters: [{exporter}]}}
"""
BEHIND = """
receivers:
  otlp: {{protocols: {{grpc: {{endpoint: 127.0.0.1:{port}}}, http: {{endpoint: 127.0.0.1:{http}}}}}}}
exporters:
  file/traces: {{path: {folder}/traces.jsonl, flush_interval: 100ms}}
  file/logs: {{path: {folder}/logs.jsonl, flush_interval: 100ms}}
  file/metrics: {{path: {folder}/metrics.jsonl, flush_interval: 100ms}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    traces: {{receivers: [otlp], exporters: [file/traces]}}
    logs: {{receivers: [otlp], exporters: [file/logs]}}
    metrics: {{receivers: [otlp], exporters: [file/metrics]}}
"""
LOOP = """
receivers:
  otlp: {{protocols: {{grpc: {{endpoint: 127.0.0.1:{port}}}}}}}
processors:
  batch: {{timeout: 100ms}}
exporters:
  otlp: {{endpoint: "127.0.0.1:{back}", tls: {{insecure: true}}}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    traces: {{receivers: [otlp], processors: [batch], exporters: [otlp]}}
    logs: {{receivers: [otlp], processors: [batch], exporters: [otlp]}}
    metrics: {{receivers: [otlp], processors: [batch], exporters: [otlp]}}
"""


def play(port: int) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        for line in SESSION.read_bytes().splitlines():
            channel.unary_unary(EXPORT)(traces_to_protobuf(line), timeout=20)


def requests(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def spans(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for request in requests(file):
        for resource in request["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    yield scope.get("scope", {}).get("name", ""), span


@pytest.mark.parametrize(
    ("exporter", "compression", "encoding"),
    [
        ("otlp", "gzip", "proto"),
        ("otlp", "none", "proto"),
        ("otlphttp", "gzip", "proto"),
        ("otlphttp", "zstd", "json"),
        ("otlphttp", "deflate", "proto"),
        ("otlphttp", "none", "json"),
    ],
)
def test_what_a_collector_in_front_sends_arrives_whole(
    serving: Serving, otelcol: Any, free_ports: Any, tmp_path: Path, exporter: str, compression: str, encoding: str
) -> None:
    (port,) = free_ports(1)
    with serving(tmp_path, {"contracts.file": str(ROOT / "collector" / "demo" / "contracts.yaml")}) as process:
        addresses = {"grpc": process.address("receive.grpc"), "http": process.address("receive.http")}
        text = IN_FRONT.format(port=port, exporter=exporter, compression=compression, encoding=encoding, **addresses)
        with otelcol(text, port):
            play(port)
            (session,) = process.closed()
    assert (session["name"], session["counts"]["spans"], session["counts"]["handoffs"]) == (
        "sess-strands-swarm-01",
        37,
        5,
    )
    assert session["mean_completeness"] == 0.662


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_a_collector_behind_gets_spans_reviews_events_and_metrics(
    serving: Serving, otelcol: Any, free_ports: Any, tmp_path: Path, protocol: str
) -> None:
    port, http = free_ports(2)
    out = tmp_path / "out"
    out.mkdir()
    downstream = f"http://127.0.0.1:{port if protocol == 'grpc' else http}"
    options = {
        "contracts.file": str(ROOT / "collector" / "demo" / "contracts.yaml"),
        "traces.forward": "as_received",
        "export.metrics_interval": "500ms",
        **{f"export.{signal}.endpoint": downstream for signal in ("traces", "logs", "metrics")},
        **{f"export.{signal}.protocol": protocol for signal in ("traces", "logs", "metrics")},
    }
    with (
        otelcol(BEHIND.format(port=port, http=http, folder=out), port),
        serving(tmp_path / "data", options) as process,
    ):
        process.play()
        process.closed()
        sent = {
            "resourceMetrics": [
                {"scopeMetrics": [{"metrics": [{"name": "app.turns", "gauge": {"dataPoints": [{"asInt": "3"}]}}]}]}
            ]
        }
        assert httpx.post(f"http://{process.address('receive.http')}/v1/metrics", json=sent).status_code == 200
        process.until(lambda: sum(scope == "orbitrelay" for scope, _ in spans(out / "traces.jsonl")) >= 6)
        process.until(lambda: len(list(spans(out / "traces.jsonl"))) >= 43)
        process.until(lambda: "gen_ai.evaluation.result" in read(out / "logs.jsonl"))
        process.until(lambda: "orbitrelay.handoff.completeness" in read(out / "metrics.jsonl"))
        process.until(lambda: "app.turns" in read(out / "metrics.jsonl"))
    ours = [span for scope, span in spans(out / "traces.jsonl") if scope == "orbitrelay"]
    theirs = {span["spanId"] for scope, span in spans(out / "traces.jsonl") if scope != "orbitrelay"}
    assert len(theirs) == 37
    assert sorted(span["name"] for span in ours) == [
        "handoff engineer -> reviewer",
        "handoff engineer -> reviewer",
        "handoff planner -> researcher",
        "handoff researcher -> engineer",
        "handoff reviewer -> engineer",
        "orbitrelay.review",
    ]
    assert {span["traceId"] for span in ours} == {"9ac6a31117db02b026578c04dd1c3731"}


def read(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""


def test_what_waits_for_a_collector_behind_goes_when_it_is_there(
    serving: Serving, otelcol: Any, free_ports: Any, tmp_path: Path
) -> None:
    port, http = free_ports(2)
    out = tmp_path / "out"
    out.mkdir()
    options = {"export.traces.endpoint": f"http://127.0.0.1:{port}", "export.retry_max_interval": "1s"}
    with serving(tmp_path / "data", options) as process:
        process.play()
        process.closed()
        with otelcol(BEHIND.format(port=port, http=http, folder=out), port):
            process.until(lambda: sum(scope == "orbitrelay" for scope, _ in spans(out / "traces.jsonl")) == 6, 30)


def test_pings_every_ten_seconds_on_an_idle_connection_are_no_offence(
    serving: Serving, otelcol: Any, free_ports: Any, tmp_path: Path
) -> None:
    (port,) = free_ports(1)
    lines = SESSION.read_bytes().splitlines()
    with serving(tmp_path, {"sessions.grace": "2s"}) as process:
        addresses = {"grpc": process.address("receive.grpc"), "http": process.address("receive.http")}
        text = IN_FRONT.format(port=port, exporter="otlp", compression="gzip", encoding="proto", **addresses)
        with otelcol(text, port) as collector, grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            channel.unary_unary(EXPORT)(traces_to_protobuf(lines[0]), timeout=20)
            time.sleep(45)
            for line in lines[1:]:
                channel.unary_unary(EXPORT)(traces_to_protobuf(line), timeout=20)
            (session,) = process.closed()
            said = collector.log.read_text(encoding="utf-8")
    assert session["counts"]["spans"] == 37
    assert "too_many_pings" not in said
    assert "ENHANCE_YOUR_CALM" not in said


WRITING = """
receivers:
  otlp: {{protocols: {{grpc: {{endpoint: 127.0.0.1:{port}}}}}}}
exporters:
  file/json: {{path: {folder}/json, format: json, flush_interval: 100ms}}
  file/proto: {{path: {folder}/proto, format: proto, flush_interval: 100ms}}
  file/json-zstd: {{path: {folder}/json-zstd, format: json, compression: zstd, flush_interval: 100ms}}
  file/proto-zstd: {{path: {folder}/proto-zstd, format: proto, compression: zstd, flush_interval: 100ms}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    traces: {{receivers: [otlp], exporters: [file/json, file/proto, file/json-zstd, file/proto-zstd]}}
"""


def test_files_of_its_file_exporter_are_dumps_in_all_their_formats(
    otelcol: Any, free_ports: Any, tmp_path: Path
) -> None:
    (port,) = free_ports(1)
    files = tmp_path / "files"
    files.mkdir()
    with otelcol(WRITING.format(port=port, folder=files), port):
        play(port)
    documents = {}
    for name in ("json", "proto", "json-zstd", "proto-zstd"):
        assert main(["convert", str(files / name), "--out", str(tmp_path / name)]) == 0
        documents[name] = (tmp_path / name / "sess-strands-swarm-01.trace.json").read_bytes()
    assert main(["convert", str(SESSION), "--out", str(tmp_path / "recorded")]) == 0
    recorded = (tmp_path / "recorded" / "sess-strands-swarm-01.trace.json").read_bytes()
    assert documents == dict.fromkeys(documents, recorded)


def test_a_collector_that_sends_our_telemetry_back_to_us_feeds_nothing(
    serving: Serving, otelcol: Any, free_ports: Any, tmp_path: Path
) -> None:
    """Also what is ours among others' spans, as a batch processor puts it."""
    port, back = free_ports(2)
    options = {
        "receive.grpc.endpoint": f"127.0.0.1:{back}",
        "sessions.grace": "1s",
        "export.metrics_interval": "500ms",
        **{f"export.{signal}.endpoint": f"http://127.0.0.1:{port}" for signal in ("traces", "logs", "metrics")},
    }
    with otelcol(LOOP.format(port=port, back=back), port), serving(tmp_path, options) as process:
        play(port)  # by way of the Collector
        (session,) = process.closed()
        ours = session["counts"]["handoffs"] * 2 + 1  # a review span, and a span and an event of each handoff
        process.until(lambda: process.total("orbitrelay_collector_spans_own_total") >= ours)
        before = [process.total(name) for name in GROWING]
        time.sleep(5)
        assert [process.total(name) for name in GROWING] == before
        assert process.total("orbitrelay_collector_spans_own_total") == ours
        assert [(s["revision"], s["counts"]["spans"]) for s in process.sessions()] == [(1, 37)]
        assert process.stop() == 0


GROWING = [
    f"orbitrelay_{name}"
    for name in (
        "report_count_total",
        "handoff_count_total",
        "collector_spans_accepted_total",
        "collector_logs_accepted_total",
        "collector_spans_duplicate_total",
        "collector_export_sent_total",
        "collector_export_waiting",
        "collector_journal_size_bytes",
        "collector_store_size_bytes",
    )
]
