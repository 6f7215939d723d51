"""The collector's own health: `orbitrelay.collector.*`, as opentelemetry-sdk instruments.

Separate from session metrics because it starts at zero with the process and belongs to no transaction. One provider, one
reader: the snapshot that both faces show reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from opentelemetry.metrics import CallbackOptions, Counter, Histogram, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, Metric
from opentelemetry.sdk.resources import Resource

from collector import semconv

Attributes = Mapping[str, str]
Reading = Callable[[], Iterable[tuple[int | float, Attributes]]]


class Health:
    """Counts by name from the table; an unknown name raises KeyError at once. Thread-safe."""

    def __init__(self) -> None:
        self._reader = InMemoryMetricReader()
        self._provider = MeterProvider([self._reader], Resource.get_empty(), shutdown_on_exit=False)
        meter = self._provider.get_meter(semconv.SCOPE_NAME)
        self._counters: dict[str, Counter] = {}
        self._histograms: dict[str, Histogram] = {}
        self._gauges: dict[str, Reading] = {}
        for name, each in semconv.HEALTH_INSTRUMENTS.items():
            if each.kind == "counter":
                self._counters[name] = meter.create_counter(name, each.unit, each.brief)
            elif each.kind == "histogram":
                self._histograms[name] = meter.create_histogram(
                    name, each.unit, each.brief, explicit_bucket_boundaries_advisory=each.bounds
                )
            else:
                meter.create_observable_gauge(name, [self._observer(name)], each.unit, each.brief)

    def add(self, name: str, amount: int, attributes: Attributes | None = None) -> None:
        """Add to a counter."""
        self._counters[name].add(amount, attributes)

    def record(self, name: str, value: float, attributes: Attributes | None = None) -> None:
        """Give a sample to a histogram."""
        self._histograms[name].record(value, attributes)

    def observe(self, name: str, read: Reading) -> None:
        """Let `read` tell a gauge's values, as (value, attributes), whenever the metrics are read."""
        if semconv.HEALTH_INSTRUMENTS[name].kind != "gauge":
            raise KeyError(name)
        self._gauges[name] = read

    def metrics(self) -> tuple[Metric, ...]:
        """Read all instruments that have been used, cumulative since the start."""
        data = self._reader.get_metrics_data()
        if data is None:
            return ()
        return tuple(
            metric for each in data.resource_metrics for scope in each.scope_metrics for metric in scope.metrics
        )

    def stop(self) -> None:
        """Shut the provider down; counting after that has no effect."""
        self._provider.shutdown()

    def _observer(self, name: str) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def observe(options: CallbackOptions) -> Iterable[Observation]:
            read = self._gauges.get(name)
            return () if read is None else [Observation(value, dict(attributes)) for value, attributes in read()]

        return observe
