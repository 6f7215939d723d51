"""The heads of a request: what can be told of its spans without walking their attributes.

Apart from the decoders because both encodings answer with it, and the accept path reads nothing else: a request is
validated and acknowledged by its heads, and decoded once, later, away from the sender.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from collector.otlp.model import Rejection
from collector.otlp.values import SPAN_ID_BYTES, TRACE_ID_BYTES

NO_TRACE_ID = bytes(TRACE_ID_BYTES)
NO_SPAN_ID = bytes(SPAN_ID_BYTES)

Row = tuple[bytes, bytes, bytes]
"""The ids of one span as they are on the wire: trace, span, parent (empty for a root)."""


class Head(NamedTuple):
    """The ids of one span, or of one log record ("" where it is tied to none)."""

    trace_id: str
    span_id: str
    parent_span_id: str


class Heads(msgspec.Struct, frozen=True):
    """The heads of one request.

    `rows` holds the spans that the full decoder will give, in its order, and `rejections` what it will refuse. `keys`
    maps a trace id to the session keys seen in it: a routing hint, of each key the first value in the request (resource
    attributes count for every trace below them). Only the keys asked for are read.
    """

    rows: Sequence[Row] = ()
    rejections: tuple[Rejection, ...] = ()
    keys: Mapping[str, Mapping[str, str]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Head]:
        """Made on demand: acknowledging a request needs none of them."""
        return (Head(trace.hex(), span.hex(), parent.hex()) for trace, span, parent in self.rows)


def usable(rows: Sequence[Row]) -> bool:
    """Whether all ids are such that no span needs a closer look. One pass of C over each column."""
    if not rows:
        return True
    traces, spans, parents = zip(*rows, strict=True)
    return (
        set(map(len, traces)) == {TRACE_ID_BYTES}
        and set(map(len, spans)) == {SPAN_ID_BYTES}
        and set(map(len, parents)) <= {0, SPAN_ID_BYTES}
        and NO_TRACE_ID not in traces
        and NO_SPAN_ID not in spans
        and NO_SPAN_ID not in parents
    )


class KeySearch:
    """Finds session keys in the attributes of one request.

    `names` are attribute keys, the strongest first. `names` of the instance are those that the bytes of the request hold
    at all: where there are none, nothing is walked. Once the first of them is known for a trace, its other spans are not
    walked.
    """

    __slots__ = ("_done", "_known", "names")

    def __init__(self, names: Sequence[str], body: bytes) -> None:
        self.names = tuple(name for name in names if name.encode() in body)
        self._known: dict[bytes, dict[str, str]] = {}
        self._done: set[bytes] = set()

    def wants(self, trace_id: bytes) -> bool:
        """Whether a span of this trace could add anything."""
        return trace_id not in self._done

    def add(self, trace_id: bytes, attributes: Iterable[tuple[str, Any]]) -> None:
        for key, value in attributes:
            if value not in (None, ""):
                self._known.setdefault(trace_id, {}).setdefault(key, str(value))
                if key == self.names[0]:
                    self._done.add(trace_id)

    def found(self) -> dict[str, dict[str, str]]:
        return {trace_id.hex(): keys for trace_id, keys in self._known.items()}
