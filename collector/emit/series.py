"""One metric series: its state, and how a delta changes it.

Separate from the store, which keeps the rows, and from the faces, which show them, so that buckets, exact sums and the
limit of series are one pure piece of code.

Rules:
- bucket bounds are inclusive above; buckets are not cumulative here;
- sums are integers of 1e-9, so totals are exact and do not depend on the order of arrival;
- a series that has a row keeps it; a new one beyond the limit goes to the one overflow series of its instrument.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable
from contextlib import suppress
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from typing import TypeVar

import msgspec

from collector import semconv
from collector.report import Exemplar, MetricDelta

Attributes = tuple[tuple[str, str | bool], ...]
_T = TypeVar("_T")

OVERFLOW_ATTRIBUTES: Attributes = ((semconv.OVERFLOW, True),)


class Series(msgspec.Struct, frozen=True):
    """The state of one series. Counter: `count` is its value. `start_ns`: when it began; it survives restarts.

    `exemplars`: the newest of each bucket (counter: the newest); None where there is none.
    """

    instrument: str
    attributes: Attributes
    start_ns: int
    count: int = 0
    sum_nano: int = 0
    min: float = 0.0
    max: float = 0.0
    buckets: tuple[int, ...] = ()
    exemplars: tuple[Exemplar | None, ...] = ()

    @property
    def key(self) -> str:
        """The series' row key within its instrument."""
        return attributes_key(self.attributes)

    def to_bytes(self) -> bytes:
        """Encode for a row, as JSON, whatever the size of `sum_nano`."""
        try:
            return msgspec.json.encode(self)
        except OverflowError:  # of integers beyond 64 bits
            return json.dumps(msgspec.to_builtins(self), separators=(",", ":")).encode()

    @staticmethod
    def from_bytes(data: bytes) -> Series:
        """Decode what `to_bytes` made. Raises ValueError."""
        with suppress(msgspec.ValidationError):  # so it is, too, where an integer has more than 64 bits
            return _SERIES.decode(data)
        read = json.loads(data)
        total = read.pop("sum_nano")
        return msgspec.structs.replace(msgspec.convert({**read, "sum_nano": 0}, Series), sum_nano=total)


_SERIES = msgspec.json.Decoder(Series)


def attributes_key(attributes: Attributes) -> str:
    """Return the canonical text of a set of attributes: equal sets, whatever their order, have equal keys."""
    return json.dumps(dict(attributes), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def fold(
    deltas: Iterable[MetricDelta],
    lookup: Callable[[str, str], Series | None],
    sizes: Callable[[str], int],
    limit: int,
    now_ns: int,
) -> list[Series]:
    """Return the rows to write for `deltas`.

    `lookup(instrument, key)` reads a row, `sizes(instrument)` counts the rows of an instrument as they stand before.
    `limit`: rows an instrument may have, the overflow series among them. Raises KeyError for an unknown instrument.
    """
    changed: dict[tuple[str, str], Series] = {}
    rows: dict[str, int] = {}
    for delta in deltas:
        instrument = semconv.STORED_INSTRUMENTS[delta.instrument]
        name, attributes = delta.instrument, delta.attributes
        key = attributes_key(attributes)
        series = changed.get((name, key)) or lookup(name, key)
        if series is None:
            rows[name] = rows.get(name, sizes(name))
            if rows[name] >= limit - 1:
                attributes, key = OVERFLOW_ATTRIBUTES, attributes_key(OVERFLOW_ATTRIBUTES)
                series = changed.get((name, key)) or lookup(name, key)
        if series is None:
            rows[name] += 1
            width = len(instrument.bounds) + 1 if instrument.kind == "histogram" else 0
            series = Series(name, attributes, now_ns, buckets=(0,) * width, exemplars=(None,) * max(width, 1))
        changed[name, key] = _add(series, instrument, delta)
    return list(changed.values())


def _add(series: Series, instrument: semconv.Instrument, delta: MetricDelta) -> Series:
    if instrument.kind == "counter":
        exemplars = (delta.exemplar or series.exemplars[0],)
        return msgspec.structs.replace(series, count=series.count + int(delta.value), exemplars=exemplars)
    value = float(delta.value)
    at = bisect_left(instrument.bounds, value)
    return msgspec.structs.replace(
        series,
        count=series.count + 1,
        sum_nano=series.sum_nano + nano(delta.value),
        min=min(series.min, value) if series.count else value,
        max=max(series.max, value) if series.count else value,
        buckets=_replaced(series.buckets, at, series.buckets[at] + 1),
        exemplars=_replaced(series.exemplars, at, delta.exemplar) if delta.exemplar else series.exemplars,
    )


def nano(value: float | int) -> int:
    """Return `value` in units of 1e-9, from its shortest decimal text, half to even."""
    with localcontext() as context:
        context.prec = 400
        return int(Decimal(repr(value)).scaleb(9).to_integral_value(ROUND_HALF_EVEN))


def _replaced(values: tuple[_T, ...], at: int, value: _T) -> tuple[_T, ...]:
    return (*values[:at], value, *values[at + 1 :])
