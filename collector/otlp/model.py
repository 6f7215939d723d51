"""Telemetry as decoded from any wire format: spans, log records and what they hang on.

Separate from the decoders so that protobuf, JSON and every dump format meet in one shape, and nothing behind them knows
the wire.

Rules:
- ids are lower-case hex: 32 characters for a trace, 16 for a span, "" where there is none (a root's parent, a log of no
  span);
- times are nanoseconds since the Unix epoch as integers, never floats; 0 means not recorded;
- attribute values are plain Python: str, bool, int, float, bytes, None (an AnyValue without a value), list, dict;
- nothing here can be part of a cycle, so the garbage collector is spared it (gc=False);
- every known field of OTLP is here, so that a batch can be written out again whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

Attributes = Mapping[str, Any]

STATUS_UNSET, STATUS_OK, STATUS_ERROR = 0, 1, 2
KIND_UNSPECIFIED, KIND_INTERNAL, KIND_SERVER, KIND_CLIENT, KIND_PRODUCER, KIND_CONSUMER = range(6)


class Resource(msgspec.Struct, frozen=True, gc=False):
    """What produced the telemetry (a process); shared by all the spans of one ResourceSpans."""

    attributes: Attributes = {}
    schema_url: str = ""
    dropped_attributes_count: int = 0

    @property
    def service(self) -> str:
        """`service.name`, or "" where the resource does not say."""
        name = self.attributes.get("service.name", "")
        return name if isinstance(name, str) else str(name)


class Scope(msgspec.Struct, frozen=True, gc=False):
    """The instrumentation scope: the library that made the spans."""

    name: str = ""
    version: str = ""
    attributes: Attributes = {}
    schema_url: str = ""
    dropped_attributes_count: int = 0


class Event(msgspec.Struct, frozen=True, gc=False):
    """A span event."""

    name: str
    time_unix_nano: int = 0
    attributes: Attributes = {}
    dropped_attributes_count: int = 0


class Link(msgspec.Struct, frozen=True, gc=False):
    """A span link."""

    trace_id: str
    span_id: str
    attributes: Attributes = {}
    trace_state: str = ""
    flags: int = 0
    dropped_attributes_count: int = 0


class Span(msgspec.Struct, frozen=True, gc=False):
    """One span. `end_unix_nano` 0: a version of the span that had not ended."""

    trace_id: str
    span_id: str
    name: str
    parent_span_id: str = ""
    kind: int = KIND_UNSPECIFIED
    start_unix_nano: int = 0
    end_unix_nano: int = 0
    attributes: Attributes = {}
    events: tuple[Event, ...] = ()
    links: tuple[Link, ...] = ()
    status_code: int = STATUS_UNSET
    status_message: str = ""
    dropped_attributes_count: int = 0
    dropped_events_count: int = 0
    dropped_links_count: int = 0
    trace_state: str = ""
    flags: int = 0
    scope: Scope = Scope()
    resource: Resource = Resource()


class LogRecord(msgspec.Struct, frozen=True, gc=False):
    """One log record. `trace_id` and `span_id` are "" where it is tied to no span."""

    trace_id: str = ""
    span_id: str = ""
    event_name: str = ""
    body: Any = None
    time_unix_nano: int = 0
    observed_time_unix_nano: int = 0
    severity_number: int = 0
    severity_text: str = ""
    flags: int = 0
    attributes: Attributes = {}
    dropped_attributes_count: int = 0
    scope: Scope = Scope()
    resource: Resource = Resource()


class Rejection(msgspec.Struct, frozen=True, gc=False):
    """One span or log record that could not be taken, and where it stood in its request."""

    path: str
    reason: str


class Batch(msgspec.Struct, frozen=True, gc=False):
    """What one request, or one piece of a dump, held."""

    spans: tuple[Span, ...] = ()
    logs: tuple[LogRecord, ...] = ()
    rejections: tuple[Rejection, ...] = ()
