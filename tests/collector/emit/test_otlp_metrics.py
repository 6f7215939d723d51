from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AGGREGATION_TEMPORALITY_CUMULATIVE, Metric
from opentelemetry.sdk.metrics.export import MetricsData

from collector import semconv
from collector.config.options import Destination
from collector.emit.health import Health
from collector.emit.metrics import plan
from collector.emit.otlp_metrics import MetricsPush
from collector.emit.series import Series, fold
from collector.emit.snapshot import Snapshots
from collector.report import PreviousState
from tests.collector.emit.receiver import Receiver, free_port, grpc_receiver, http_receiver
from tests.collector.emit.samples import report

SERVERS: dict[str, Callable[..., AbstractContextManager[int]]] = {"grpc": grpc_receiver, "http": http_receiver}
PATHS = {"grpc": "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export", "http": "/v1/metrics"}


def reader(series: list[Series]) -> Callable[[], MetricsData]:
    health = Health()
    health.add(semconv.H_SPANS_LATE, 2)
    snapshots = Snapshots(
        lambda: series, lambda: {semconv.M_SESSION_OPEN: 3}, health, lambda: 9_000_000_000, version="1.2.3",
        instance_id="i-1",
    )  # fmt: skip
    taken = snapshots.take()
    health.stop()
    return lambda: taken


def rows() -> list[Series]:
    return fold(plan(report(), PreviousState()).deltas, lambda *_: None, lambda _: 0, 100, 5_000_000_000)


def metrics(body: bytes) -> dict[str, Metric]:
    (resource,) = ExportMetricsServiceRequest.FromString(body).resource_metrics
    assert {item.key: item.value.string_value for item in resource.resource.attributes} == {
        "service.name": "orbitrelay",
        "service.version": "1.2.3",
        "service.instance.id": "i-1",
    }
    return {metric.name: metric for metric in resource.scope_metrics[0].metrics}


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_a_push_carries_the_stored_state_cumulative_with_start_times_and_exemplars(
    protocol: Any, tmp_path: Path
) -> None:
    receiver = Receiver()
    (tmp_path / "token").write_text("s3cret")
    with SERVERS[protocol](receiver) as port:
        destination = Destination(
            endpoint=f"http://127.0.0.1:{port}", protocol=protocol, token_file=str(tmp_path / "token")
        )
        push = MetricsPush(reader(rows()), destination, 60.0)
        assert push.push()
        push.start()
        push.stop(5.0)
    first, last = receiver.got
    assert first.path == PATHS[protocol]
    assert first.headers["authorization"] == "Bearer s3cret"
    assert first.body == last.body
    got = metrics(first.body)
    assert got["orbitrelay.session.open"].gauge.data_points[0].as_int == 3
    assert got["orbitrelay.collector.spans.late"].sum.data_points[0].as_int == 2
    reports = got["orbitrelay.report.count"]
    assert (reports.unit, reports.sum.is_monotonic) == ("{report}", True)
    completeness = got["orbitrelay.handoff.completeness"].histogram
    assert completeness.aggregation_temporality == AGGREGATION_TEMPORALITY_CUMULATIVE
    (point,) = completeness.data_points
    assert (point.start_time_unix_nano, point.time_unix_nano) == (5_000_000_000, 9_000_000_000)
    assert (list(point.bucket_counts), point.count, point.sum) == ([0, 0, 1, 0, 0, 0, 0], 1, 0.7)
    assert list(point.explicit_bounds) == list(semconv.GRADE_BOUNDS)
    (exemplar,) = point.exemplars
    assert (exemplar.trace_id.hex(), exemplar.span_id.hex(), exemplar.as_double) == (
        "0af7651916cd43dd8448eb211c80319c",
        "00f067aa0ba902b7",
        0.7,
    )


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_a_downstream_that_is_away_costs_one_push_and_the_next_makes_it_good(protocol: Any) -> None:
    receiver, port = Receiver(), free_port()
    destination = Destination(endpoint=f"http://127.0.0.1:{port}", protocol=protocol, timeout=0.5)
    push = MetricsPush(reader(rows()), destination, 0.05)
    assert not push.push()
    with SERVERS[protocol](receiver, port):
        push.start()
        push.start()
        end = time.monotonic() + 10
        while len(receiver.got) < 2 and time.monotonic() < end:
            time.sleep(0.02)
        push.stop(5.0)
        push.stop(5.0)
    assert len(receiver.got) >= 2


def test_a_token_that_changes_is_sent_from_then_on(tmp_path: Path) -> None:
    receiver = Receiver()
    path = tmp_path / "token"
    path.write_text("one")
    with http_receiver(receiver) as port:
        push = MetricsPush(
            reader(rows()),
            Destination(endpoint=f"http://127.0.0.1:{port}", protocol="http", token_file=str(path)),
            60.0,
        )
        push.push()
        path.write_text("two")
        push.push()
    assert [got.headers["authorization"] for got in receiver.got] == ["Bearer one", "Bearer two"]


def test_a_store_that_cannot_be_read_is_a_failed_push_and_no_crash(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> MetricsData:
        raise OSError("disk")

    assert not MetricsPush(broken, Destination(endpoint="http://127.0.0.1:1"), 60.0).push()
    assert "metrics not pushed: disk" in caplog.text
