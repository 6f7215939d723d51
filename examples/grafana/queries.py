"""PromQL over OrbitRelay's metrics, written only from the table of names.

Separate from the dashboard because it knows what a name is and nothing of panels: a metric or an attribute that the table
does not have, or that its instrument does not carry, cannot be written.
"""

from __future__ import annotations

from collector import semconv
from collector.emit.openmetrics import family_name, label_name

LE = "le"
"""The label of a bucket's bound, which only Prometheus has."""
GAP = "15m"
"""How long a collector may have been away at the start of a window without its totals being taken for new ones."""


def series(name: str, part: str = "", **matchers: str) -> str:
    """Return the selector of an instrument's series.

    `part` is `_bucket`, `_sum` or `_count` of a histogram. A matcher is the constant's name in semconv in small letters, and
    its value with the operator: `target_role='=~"$role"'`; `le` is a bucket's bound.
    """
    instrument = semconv.INSTRUMENTS[name]
    if (instrument.kind == "histogram") != bool(part):
        raise ValueError(f"{name} is a {instrument.kind}, asked for with part {part!r}")
    suffix = part or ("_total" if instrument.kind == "counter" else "")
    found = []
    for key, value in matchers.items():
        if key == LE and part == "_bucket":
            found.append(f"{LE}{value}")
            continue
        attribute = getattr(semconv, key.upper())
        if attribute not in instrument.attributes:
            raise ValueError(f"{name} has no attribute {attribute}")
        found.append(f"{label_name(attribute)}{value}")
    chosen = f"{{{', '.join(found)}}}" if found else ""
    return f"{family_name(instrument.name, instrument.unit)}{suffix}{chosen}"


def label(attribute: str) -> str:
    """Return the label of an attribute in the table, or of a bucket's bound."""
    return LE if attribute == LE else label_name(semconv.ATTRIBUTES[attribute].name)


def labels(*attributes: str) -> str:
    """Return labels for `by (...)`."""
    return ", ".join(map(label, attributes))


def gained(selector: str, window: str) -> str:
    """Return what each total of the selector gained in the window; one that is younger than the window counts whole.

    `increase()` would take a series' first value for its past, and so hide the first handoff of each pair. The totals
    outlive restarts, so a plain difference is exact; it is negative only where the data was deleted.
    """
    return f"(({selector} - last_over_time({selector}[{GAP}] offset {window})) >= 0 or {selector})"


def total(selector: str, window: str, *by: str) -> str:
    """Return the sum of what was gained, by attributes."""
    grouped = f" by ({labels(*by)})" if by else ""
    return f"sum{grouped} ({gained(selector, window)})"


def mean(name: str, window: str, *by: str, **matchers: str) -> str:
    """Return a histogram's mean over the window, by attributes; nothing where it took no sample."""
    return (
        f"{total(series(name, '_sum', **matchers), window, *by)} "
        f"/ ({total(series(name, '_count', **matchers), window, *by)} > 0)"
    )


def share(part: str, whole: str) -> str:
    """Return a part of a whole without labels: 0 where there is a whole and no part, nothing where there is no whole."""
    return f"({part} or vector(0)) / ({whole} > 0)"


def quantile(q: float, name: str, window: str, *by: str, **matchers: str) -> str:
    """Return a quantile of a histogram over the window."""
    return f"histogram_quantile({q}, {total(series(name, '_bucket', **matchers), window, LE, *by)})"


def rate(selector: str, *by: str) -> str:
    """Return the rate of counters that start at zero with the process, by attributes."""
    grouped = f" by ({labels(*by)})" if by else ""
    return f"sum{grouped} (rate({selector}[$__rate_interval]))"


def legend(*attributes: str, between: str = " → ") -> str:
    """Return Grafana's legend format: the values of attributes."""
    return between.join(f"{{{{{label(attribute)}}}}}" for attribute in attributes)
