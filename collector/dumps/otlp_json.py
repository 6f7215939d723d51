"""OTLP in JSON, of any size: requests whole, and documents that must be read in pieces.

A document in pieces becomes small requests of their own, each with the resource and scope it stood under, so that there is
one decoder and a dump of one span or of a hundred gigabytes is read alike.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from collector.dumps.json_pieces import JsonCursor
from collector.dumps.model import CHUNK, MAX_VALUE
from collector.otlp import json
from collector.otlp.model import Batch, Rejection

FORMAT = "OTLP JSON"
TEMPO_FORMAT = "Tempo JSON"


class Signal(NamedTuple):
    """The names that one signal has at each level, the canonical one first."""

    name: str
    resources: tuple[str, ...]
    scopes: tuple[str, ...]
    items: tuple[str, ...]
    decode: Callable[[bytes], Batch] | None


TRACES = Signal(
    "traces",
    ("resourceSpans", "resource_spans", "batches"),
    ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans"),
    ("spans",),
    json.decode_traces,
)
LOGS = Signal(
    "logs",
    ("resourceLogs", "resource_logs"),
    ("scopeLogs", "scope_logs", "instrumentationLibraryLogs", "instrumentation_library_logs"),
    ("logRecords", "log_records"),
    json.decode_logs,
)
METRICS = Signal(
    "metrics",
    ("resourceMetrics", "resource_metrics"),
    ("scopeMetrics", "scope_metrics"),
    ("metrics",),
    None,
)
SIGNALS = {name: signal for signal in (TRACES, LOGS, METRICS) for name in signal.resources}
_SCOPE = ("scope", "instrumentationLibrary", "instrumentation_library")


def read_request(raw: bytes, names: frozenset[str]) -> Iterator[Batch | Counter[str]]:
    """One request whole: `names` are its members. Metrics come as the counts of their names.

    Raises MalformedError.
    """
    for signal in (TRACES, LOGS, METRICS):
        found = next((name for name in signal.resources if name in names), None)
        if found is None:
            continue
        if signal.decode is None:
            yield metric_names(raw)
        else:
            body = _renamed(raw, found) if found == "batches" else raw
            yield signal.decode(body)


def _renamed(raw: bytes, name: str) -> bytes:
    """The request with Tempo's name for its list as OTLP has it."""
    held = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    return b'{"resourceSpans":%s}' % bytes(held[name])


class _Metric(msgspec.Struct):
    name: str | None = None


class _ScopeMetrics(msgspec.Struct, rename="camel"):
    metrics: list[_Metric] | None = None


class _ResourceMetrics(msgspec.Struct, rename="camel"):
    scope_metrics: list[_ScopeMetrics] | None = None


class _MetricsRequest(msgspec.Struct, rename="camel"):
    resource_metrics: list[_ResourceMetrics] | None = None


def metric_names(raw: bytes) -> Counter[str]:
    """How often each metric is named in a metrics request; empty where it does not even have that shape."""
    raw = raw.replace(b'"resource_metrics"', b'"resourceMetrics"').replace(b'"scope_metrics"', b'"scopeMetrics"')
    try:
        request = msgspec.json.decode(raw, type=_MetricsRequest)
    except msgspec.DecodeError:
        return Counter()
    return Counter(
        metric.name or ""
        for resource in request.resource_metrics or ()
        for scope in resource.scope_metrics or ()
        for metric in scope.metrics or ()
    )


class Pieces:
    """Reads the list of one signal, at which the cursor stands, as requests of about CHUNK bytes."""

    def __init__(self, cursor: JsonCursor, name: str) -> None:
        self._cursor = cursor
        self._signal = SIGNALS[name]
        self._name = name

    def __iter__(self) -> Iterator[Batch | Counter[str]]:
        cursor = self._cursor
        if cursor.peek() != b"[":
            cursor.skip()
            return
        for index in cursor.items():
            if cursor.peek() != b"{":
                yield self._wrong(f"$.{self._name}[{index}]")
                continue
            yield from self._resource(index)

    def _resource(self, index: int) -> Iterator[Batch | Counter[str]]:
        """One resource. Its spans wait for it where they come first, up to what may be held at once."""
        signal, cursor = self._signal, self._cursor
        resource = b"null"
        waiting: list[_Group] = []
        for key in cursor.members():
            if key == "resource":
                resource = cursor.value()
                yield from self._flush(waiting, resource, CHUNK)
            elif key in signal.scopes and cursor.peek() == b"[":
                for number in cursor.items():
                    path = f"$.{self._name}[{index}].{key}[{number}]"
                    if cursor.peek() != b"{":
                        yield self._wrong(path)
                        continue
                    for group in self._scope(path):
                        waiting.append(group)
                        yield from self._flush(waiting, resource, CHUNK if resource != b"null" else MAX_VALUE)
            else:
                cursor.skip()
        yield from self._flush(waiting, resource, 0)

    def _scope(self, path: str) -> Iterator[_Group]:
        """One scope, as groups of items. A scope that is named behind its items is named for the last group alone."""
        signal, cursor = self._signal, self._cursor
        scope, items, size, base, count = b"null", list[bytes](), 0, 0, 0
        for key in cursor.members():
            if key in _SCOPE:
                scope = cursor.value()
            elif key in signal.items and cursor.peek() == b"[":
                for count in cursor.items():
                    items.append(cursor.value())
                    size += len(items[-1])
                    if size > CHUNK:
                        yield _Group(path, scope, items, base, size)
                        items, size, base = [], 0, count + 1
            else:
                cursor.skip()
        if items:
            yield _Group(path, scope, items, base, size)

    def _flush(self, waiting: list[_Group], resource: bytes, above: int) -> Iterator[Batch | Counter[str]]:
        if not waiting or sum(group.size for group in waiting) <= above:
            return
        for group in waiting:
            body = b'{"%s":[{"resource":%s,"%s":[{"scope":%s,"%s":[%s]}]}]}' % (
                self._signal.resources[0].encode(),
                resource,
                self._signal.scopes[0].encode(),
                group.scope,
                self._signal.items[0].encode(),
                b",".join(group.items),
            )
            if self._signal.decode is None:
                yield metric_names(body)
            else:
                yield _placed(self._signal.decode(body), group)
        waiting.clear()

    def _wrong(self, path: str) -> Batch:
        self._cursor.skip()
        return Batch(rejections=(Rejection(path, "expected an object"),))


class _Group(NamedTuple):
    path: str
    scope: bytes
    items: list[bytes]
    base: int
    size: int


_PLACE = re.compile(r"\$\.\w+\[0\]\.\w+\[0\]\.(\w+)\[(\d+)\]")


def _placed(batch: Batch, group: _Group) -> Batch:
    """The batch with its rejections where they stand in the whole document."""

    def place(match: re.Match[str]) -> str:
        return f"{group.path}.{match[1]}[{int(match[2]) + group.base}]"

    return Batch(
        batch.spans,
        batch.logs,
        tuple(Rejection(_PLACE.sub(place, bad.path, count=1), bad.reason) for bad in batch.rejections),
    )
