from __future__ import annotations

import pytest
from opentelemetry.sdk.metrics.export import MetricsData
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_plain

from collector import semconv
from collector.emit.health import Health
from collector.emit.metrics import plan
from collector.emit.openmetrics import family_name, label_name, render
from collector.emit.series import fold
from collector.emit.snapshot import Snapshots
from collector.report import PreviousState
from tests.collector.emit.samples import report

ACCEPT = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1"


@pytest.fixture
def data() -> MetricsData:
    series = fold(plan(report(), PreviousState()).deltas, lambda *_: None, lambda _: 0, 100, 5_000_000_000)
    health = Health()
    health.add(semconv.H_SPANS_ACCEPTED, 12, {semconv.TRANSPORT: "grpc"})
    health.observe(semconv.H_QUEUE_SIZE, lambda: [(4096, {})])
    snapshots = Snapshots(
        lambda: series, lambda: {semconv.M_SESSION_OPEN: 3}, health, lambda: 9_000_000_000, version="1.2.3",
        instance_id="i-1",
    )  # fmt: skip
    taken = snapshots.take()
    health.stop()
    return taken


def test_openmetrics_text_shows_each_series_with_its_exemplar(data: MetricsData) -> None:
    body, content_type = render(data, ACCEPT)
    assert content_type.startswith("application/openmetrics-text; version=1.0.0")
    lines = body.decode().splitlines()
    pair = 'orbitrelay_handoff_mode="transfer",orbitrelay_handoff_source_role="planner",orbitrelay_handoff_target_role="researcher"'
    exemplar = '# {span_id="00f067aa0ba902b7",trace_id="0af7651916cd43dd8448eb211c80319c"}'
    first, last = pair.rsplit(",", 1)
    status = 'orbitrelay_handoff_status="completed"'
    verdict = f'orbitrelay_handoff_contracted="true",orbitrelay_handoff_grade="C",{first},{status},{last}'
    assert [
        line for line in lines if "handoff_latency" in line and ("0.5" in line or "1.0" in line or "_sum" in line)
    ] == [
        f'orbitrelay_handoff_latency_seconds_bucket{{le="0.5",{pair}}} 0.0',
        f'orbitrelay_handoff_latency_seconds_bucket{{le="1.0",{pair}}} 1.0 {exemplar} 0.9503 1700000001.0',
        f'orbitrelay_handoff_latency_seconds_bucket{{le="2.5",{pair}}} 1.0',
        f'orbitrelay_handoff_latency_seconds_bucket{{le="5.0",{pair}}} 1.0',
        f'orbitrelay_handoff_latency_seconds_bucket{{le="10.0",{pair}}} 1.0',
        f'orbitrelay_handoff_latency_seconds_bucket{{le="30.0",{pair}}} 1.0',
        f'orbitrelay_handoff_latency_seconds_bucket{{le="60.0",{pair}}} 1.0',
        f'orbitrelay_handoff_latency_seconds_bucket{{le="300.0",{pair}}} 1.0',
        f'orbitrelay_handoff_latency_seconds_bucket{{le="+Inf",{pair}}} 1.0',
        f"orbitrelay_handoff_latency_seconds_count{{{pair}}} 1.0",
        f"orbitrelay_handoff_latency_seconds_sum{{{pair}}} 0.9503",
    ]
    assert "# UNIT orbitrelay_handoff_latency_seconds seconds" in lines
    assert f"orbitrelay_handoff_count_total{{{verdict}}} 1.0 {exemplar} 1.0 1700000001.0" in lines
    assert 'orbitrelay_collector_spans_accepted_total{orbitrelay_transport="grpc"} 12.0' in lines
    assert "orbitrelay_collector_queue_size_bytes 4096.0" in lines
    assert "orbitrelay_session_open 3.0" in lines
    assert 'target_info{service_instance_id="i-1",service_name="orbitrelay",service_version="1.2.3"} 1.0' in lines
    assert lines[-1] == "# EOF"


def test_the_clients_own_openmetrics_parser_reads_it_back(data: MetricsData) -> None:
    families = {family.name: family for family in parse_openmetrics(render(data, ACCEPT)[0].decode())}
    assert sorted(families) == [
        "orbitrelay_bottleneck_count",
        "orbitrelay_collector_queue_size_bytes",
        "orbitrelay_collector_spans_accepted",
        "orbitrelay_handoff_completeness",
        "orbitrelay_handoff_count",
        "orbitrelay_handoff_fields",
        "orbitrelay_handoff_latency_seconds",
        "orbitrelay_report_count",
        "orbitrelay_session_completeness",
        "orbitrelay_session_count",
        "orbitrelay_session_open",
        "target",
    ]
    buckets = {
        sample.labels["le"]: (sample.value, sample.exemplar and sample.exemplar.labels["trace_id"][:4])
        for sample in families["orbitrelay_handoff_completeness"].samples
        if sample.name.endswith("_bucket")
    }
    assert buckets == {
        "0.349999": (0.0, None),
        "0.549999": (0.0, None),
        "0.749999": (1.0, "0af7"),
        "0.899999": (1.0, None),
        "0.999999": (1.0, None),
        "1.0": (1.0, None),
        "+Inf": (1.0, None),
    }


def test_a_scraper_that_asks_for_plain_text_gets_it_without_exemplars(data: MetricsData) -> None:
    body, content_type = render(data, "text/plain;version=0.0.4")
    assert content_type.startswith("text/plain")
    assert b"# {" not in body
    names = {sample.name for family in parse_plain(body.decode()) for sample in family.samples}
    assert {"orbitrelay_handoff_count_total", "orbitrelay_handoff_latency_seconds_bucket", "target_info"} <= names


@pytest.mark.parametrize(
    ("name", "unit", "expected"),
    [
        ("orbitrelay.handoff.latency", "s", "orbitrelay_handoff_latency_seconds"),
        ("orbitrelay.handoff.completeness", "1", "orbitrelay_handoff_completeness"),
        ("orbitrelay.handoff.fields", "{field}", "orbitrelay_handoff_fields"),
        ("a.bytes", "By", "a_bytes"),
    ],
)
def test_families_are_named_by_opentelemetrys_rules(name: str, unit: str, expected: str) -> None:
    assert family_name(name, unit) == expected


def test_label_names_are_legal() -> None:
    assert label_name("service.name") == "service_name"
    assert label_name("a..b-é_c") == "a_b_c"
