"""Accepted requests, read: by signal and encoding, into the one model that both encodings share.

Separate from the intake, which goes on with what was read, and from `otlp`, which knows bytes and no request.
What we made ourselves and got back is left out here: a loop in a pipeline must feed nothing, forwarding neither.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from collector import semconv
from collector.emit.parts import to_protobuf, without_own
from collector.otlp import json as otlp_json
from collector.otlp import protobuf as otlp_protobuf
from collector.otlp import values as otlp_values
from collector.otlp.model import Batch
from collector.report import Encoding, Record, Signal

_DECODERS: dict[tuple[Signal, Encoding], Callable[[bytes, otlp_values.Limits], Batch]] = {
    ("traces", "protobuf"): otlp_protobuf.decode_traces,
    ("traces", "json"): otlp_json.decode_traces,
    ("logs", "protobuf"): otlp_protobuf.decode_logs,
    ("logs", "json"): otlp_json.decode_logs,
}

_TRACE_IDS: dict[tuple[Signal, Encoding], Callable[[bytes], set[str]]] = {
    ("traces", "protobuf"): otlp_protobuf.trace_ids,
    ("traces", "json"): otlp_json.trace_ids,
    ("logs", "protobuf"): otlp_protobuf.log_trace_ids,
    ("logs", "json"): otlp_json.log_trace_ids,
}


def decode(record: Record, limits: otlp_values.Limits = otlp_values.DEFAULT_LIMITS) -> Batch:
    """Read an accepted request, of each attribute what `limits` keep. Raises MalformedError."""
    return _DECODERS[record.signal, record.encoding](record.body, limits)


def trace_ids(body: bytes, signal: Signal, encoding: Encoding) -> set[str]:
    """Return the ids of the traces that a request is of, without decoding the rest."""
    return _TRACE_IDS[signal, encoding](body)


def foreign(batch: Batch) -> tuple[Batch, int]:
    """Return a batch without what is our own, and how many spans and log records that were."""
    spans = tuple(span for span in batch.spans if not semconv.is_own(span.scope.name))
    logs = tuple(event for event in batch.logs if not semconv.is_own(event.scope.name))
    own = len(batch.spans) - len(spans) + len(batch.logs) - len(logs)
    return (msgspec.structs.replace(batch, spans=spans, logs=logs) if own else batch), own


def foreign_body(record: Record) -> Record:
    """Return a request whose body is without what is our own, for passing it on."""
    body = without_own(to_protobuf(record.body, record.encoding, record.signal), record.signal)
    return msgspec.structs.replace(record, body=body, encoding="protobuf")
