"""Metrics as a scraper reads them: OpenMetrics text with exemplars, or the older plain text.

Separate from the OTLP face. Names follow OpenTelemetry's rules for Prometheus: dots become underscores, units become
words at the end (`s` seconds, `By` bytes; `1` and what stands in braces are none), counters end in `_total`, the
resource is `target_info`. Text comes from prometheus-client; this only maps one data model to the other.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from opentelemetry.sdk.metrics import Exemplar as SdkExemplar
from opentelemetry.sdk.metrics.export import Histogram, HistogramDataPoint, Metric, MetricsData, NumberDataPoint, Sum
from prometheus_client import Metric as Family
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar
from prometheus_client.utils import floatToGoString

_UNITS = {"s": "seconds", "ms": "milliseconds", "By": "bytes"}
_NOT_A_NAME = re.compile(r"[^a-zA-Z0-9_]+")
_RUNS = re.compile(r"_{2,}")


def render(data: MetricsData, accept: str = "") -> tuple[bytes, str]:
    """Return the text for a scrape and its content type, by the request's Accept header."""
    encode, content_type = choose_encoder(accept)
    return encode(_Snapshot(data)), content_type


def family_name(name: str, unit: str) -> str:
    """Return the name of a metric family, without a counter's `_total`."""
    base = label_name(name)
    suffix = _UNITS.get(unit, "")
    return f"{base}_{suffix}" if suffix and not base.endswith(f"_{suffix}") else base


def label_name(name: str) -> str:
    """Return a label's name: what is no letter, digit or `_` becomes `_`, and runs of `_` become one."""
    return _RUNS.sub("_", _NOT_A_NAME.sub("_", name))


class _Snapshot(Collector):
    def __init__(self, data: MetricsData) -> None:
        self._data = data

    def collect(self) -> Iterable[Family]:
        for each in self._data.resource_metrics:
            target = Family("target", "The collector that these metrics are of.", "info")
            target.add_sample("target_info", _labels(each.resource.attributes), 1)
            yield target
            for scope in each.scope_metrics:
                yield from map(_family, scope.metrics)


def _family(metric: Metric) -> Family:
    unit = metric.unit or ""
    name = family_name(metric.name, unit)
    data = metric.data
    kind = "histogram" if isinstance(data, Histogram) else "counter" if isinstance(data, Sum) else "gauge"
    family = Family(name, metric.description or "", kind, _UNITS.get(unit, ""))
    for point in data.data_points:
        if isinstance(point, HistogramDataPoint):
            _add_histogram(family, name, point)
        elif isinstance(point, NumberDataPoint):
            suffix = "_total" if kind == "counter" else ""
            exemplar = next(iter(map(_exemplar, point.exemplars)), None) if kind == "counter" else None
            family.add_sample(f"{name}{suffix}", _labels(point.attributes), point.value, exemplar=exemplar)
    return family


def _add_histogram(family: Family, name: str, point: HistogramDataPoint) -> None:
    labels = _labels(point.attributes)
    exemplars = _by_bucket(point.exemplars, point.explicit_bounds)
    total = 0
    bounds = [*map(floatToGoString, point.explicit_bounds), "+Inf"]
    for at, (bound, count) in enumerate(zip(bounds, point.bucket_counts, strict=True)):
        total += count
        family.add_sample(f"{name}_bucket", {**labels, "le": bound}, total, exemplar=exemplars.get(at))
    family.add_sample(f"{name}_count", labels, point.count)
    family.add_sample(f"{name}_sum", labels, point.sum)


def _by_bucket(exemplars: Iterable[SdkExemplar], bounds: Sequence[float]) -> Mapping[int, Exemplar]:
    return {bisect_left(bounds, each.value): _exemplar(each) for each in exemplars}


def _exemplar(each: SdkExemplar) -> Exemplar:
    labels = {"trace_id": f"{each.trace_id or 0:032x}", "span_id": f"{each.span_id or 0:016x}"}
    return Exemplar(labels, each.value, each.time_unix_nano / 1e9)


def _labels(attributes: Mapping[str, Any] | None) -> dict[str, str]:
    return dict(_label_items(attributes or {}))


def _label_items(attributes: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in attributes.items():
        yield label_name(name), str(value).lower() if isinstance(value, bool) else str(value)
