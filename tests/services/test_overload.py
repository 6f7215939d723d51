"""Five times what OrbitRelay takes, from a real OpenTelemetry Collector: refused, sent again by its queue, and all there once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import grpc
import pytest

from collector.otlp import json as otlp_json
from collector.otlp.encode import traces_to_protobuf
from tests.collector.crash.load import case_session
from tests.collector.service.conftest import EXPORT

pytestmark = [pytest.mark.services, pytest.mark.timeout(180)]
SESSIONS = 100
Serving = Callable[..., AbstractContextManager[Any]]

IN_FRONT = """
receivers:
  otlp: {{protocols: {{grpc: {{endpoint: 127.0.0.1:{port}}}}}}}
exporters:
  {exporter}:
    endpoint: {endpoint}
    tls: {{insecure: true}}
    compression: none
    timeout: 30s
    sending_queue: {{num_consumers: {senders}, queue_size: 10000}}
    retry_on_failure: {{initial_interval: 100ms, max_interval: 1s, max_elapsed_time: 0}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    traces: {{receivers: [otlp], exporters: [{exporter}]}}
"""
BEHIND = """
receivers:
  otlp: {{protocols: {{grpc: {{endpoint: 127.0.0.1:{port}}}}}}}
exporters:
  file: {{path: {file}, flush_interval: 100ms}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    traces: {{receivers: [otlp], exporters: [file]}}
"""


def spans(file: Path) -> Counter[tuple[str, str]]:
    """How often each span that is not one of OrbitRelay's own came: (trace id, span id)."""
    found: Counter[tuple[str, str]] = Counter()
    for line in file.read_text(encoding="utf-8").splitlines():
        for resource in json.loads(line)["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                if scope.get("scope", {}).get("name") != "orbitrelay":
                    found.update((span["traceId"], span["spanId"]) for span in scope["spans"])
    return found


@pytest.mark.parametrize(
    ("reason", "exporter", "options", "senders"),
    [
        ("busy", "otlp", {"limits.in_flight": "2", "journal.fsync": "always", "journal.group_delay": "100ms"}, 10),
        ("memory", "otlphttp", {"limits.memory": "100KiB", "sessions.grace": "500ms"}, 100),
    ],
    ids=["requests at one time, over gRPC", "memory, over HTTP"],
)
def test_what_a_collector_sends_five_times_too_fast_is_all_there_once(
    serving: Serving,
    otelcol: Any,
    free_ports: Any,
    tmp_path: Path,
    reason: str,
    exporter: str,
    options: dict[str, str],
    senders: int,
) -> None:
    front, behind = free_ports(2)
    requests = [body for number in range(SESSIONS) for body in case_session(number)[::2]]
    sent = Counter((span.trace_id, span.span_id) for body in requests for span in otlp_json.decode_traces(body).spans)
    common = {
        "files.enabled": "false",
        "traces.forward": "as_received",
        "export.traces.endpoint": f"http://127.0.0.1:{behind}",
        "export.retry_max_interval": "1s",
    }
    with serving(tmp_path / "data", common | options) as process:
        endpoint = {
            "otlp": process.address("receive.grpc"),
            "otlphttp": f"http://{process.address('receive.http')}",
        }[exporter]
        text = IN_FRONT.format(port=front, exporter=exporter, endpoint=endpoint, senders=senders)
        with otelcol(text, front) as collector:
            with grpc.insecure_channel(f"127.0.0.1:{front}") as channel:
                for body in requests:
                    channel.unary_unary(EXPORT)(traces_to_protobuf(body), timeout=20)
            process.until(lambda: process.total("orbitrelay_collector_spans_accepted_total") >= len(sent), 60)
            refusals = process.refusals()
            said = collector.log.read_text(encoding="utf-8")
        assert refusals.pop(reason) > 0
        assert refusals == {}
        assert "Will retry the request after interval" in said
        assert "Dropping data" not in said
        process.until(lambda: process.get("/readyz").status_code == 200)
        process.until(lambda: sum(s["counts"]["spans"] for s in process.sessions("?page_size=200")) == len(sent))
        found = {session["name"]: session["counts"]["spans"] for session in process.sessions("?page_size=200")}
        assert found == {f"s-{number}": 3 for number in range(SESSIONS)}
        assert process.total("orbitrelay_collector_spans_accepted_total") == len(sent)
        out = tmp_path / "behind.jsonl"
        with otelcol(BEHIND.format(port=behind, file=out), behind):
            process.until(lambda: out.exists() and len(spans(out)) == len(sent))
            process.until(lambda: process.total("orbitrelay_collector_export_waiting") == 0)
        assert process.stop() == 0
    assert spans(out) == sent
