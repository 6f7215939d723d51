"""All metrics at one moment, as opentelemetry-sdk's own MetricsData: the one source of both faces.

Separate from the faces so that OTLP push and /metrics cannot differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from opentelemetry.sdk.metrics import Exemplar as SdkExemplar
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from collector import semconv
from collector.emit.health import Health
from collector.emit.series import Series
from collector.report import Exemplar

CUMULATIVE = AggregationTemporality.CUMULATIVE
NANO = 1_000_000_000


class Snapshots:
    """Takes snapshots from the stored series, live gauges and health.

    `series` reads the store; `gauges` gives the value of each instrument that is neither stored nor health.
    """

    def __init__(
        self,
        series: Callable[[], Iterable[Series]],
        gauges: Callable[[], Mapping[str, int]],
        health: Health,
        clock_ns: Callable[[], int],
        *,
        version: str,
        instance_id: str,
    ) -> None:
        self._series = series
        self._gauges = gauges
        self._health = health
        self._clock_ns = clock_ns
        self._scope = InstrumentationScope(semconv.SCOPE_NAME, version)
        self._resource = Resource(
            {
                "service.name": semconv.SERVICE_NAME_VALUE,
                "service.version": version,
                "service.instance.id": instance_id,
            }
        )

    def take(self) -> MetricsData:
        """Read everything once. Blocks on the store's read; call it off the event loop."""
        metrics = [*stored(self._series(), self._clock_ns()), *self._live(), *self._health.metrics()]
        scope = ScopeMetrics(self._scope, metrics, "")
        return MetricsData([ResourceMetrics(self._resource, [scope], "")])

    def _live(self) -> list[Metric]:
        now = self._clock_ns()
        return [
            _metric(name, Gauge([NumberDataPoint({}, 0, now, value)])) for name, value in sorted(self._gauges().items())
        ]


def stored(series: Iterable[Series], now_ns: int) -> list[Metric]:
    """Return stored series as metrics, in the order of the table; an instrument without series is left out."""
    grouped: dict[str, list[Series]] = defaultdict(list)
    for each in series:
        grouped[each.instrument].append(each)
    metrics: list[Metric] = []
    for name, instrument in semconv.STORED_INSTRUMENTS.items():
        rows = sorted(grouped.get(name, ()), key=lambda row: row.key)
        if not rows:
            continue
        if instrument.kind == "counter":
            points = [
                NumberDataPoint(dict(row.attributes), row.start_ns, now_ns, row.count, _exemplars(row.exemplars))
                for row in rows
            ]
            metrics.append(_metric(name, Sum(points, CUMULATIVE, True)))
        else:
            metrics.append(
                _metric(name, Histogram([_histogram_point(row, instrument, now_ns) for row in rows], CUMULATIVE))
            )
    return metrics


def _histogram_point(row: Series, instrument: semconv.Instrument, now_ns: int) -> HistogramDataPoint:
    return HistogramDataPoint(
        attributes=dict(row.attributes),
        start_time_unix_nano=row.start_ns,
        time_unix_nano=now_ns,
        count=row.count,
        sum=row.sum_nano / NANO,
        bucket_counts=row.buckets,
        explicit_bounds=instrument.bounds,
        min=row.min,
        max=row.max,
        exemplars=_exemplars(row.exemplars),
    )


def _exemplars(exemplars: Sequence[Exemplar | None]) -> list[SdkExemplar]:
    return [
        SdkExemplar({}, each.value, each.time_ns, int(each.span_id or "0", 16), int(each.trace_id, 16))
        for each in exemplars
        if each is not None
    ]


def _metric(name: str, data: Sum | Gauge | Histogram) -> Metric:
    instrument = semconv.INSTRUMENTS[name]
    return Metric(name, instrument.brief, instrument.unit, data)
