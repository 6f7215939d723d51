"""The loads that benchmarks share: what agents really send, short spans in full requests, and what parsing alone takes.

`captured` is the recorded requests of every agent framework: long attributes, few spans a request. `plain` is requests of
512 spans (what an SDK's batch processor sends at most) with twelve short attributes, as a busy service sends them, and
`gathered` the same spans in requests of 8,192, as the batch processor of a Collector in front gathers them. `web` is what most
traces are where all telemetry is sent to one place: requests to a service, and no agent.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from benchmarks.frame import cpu_of
from collector.otlp import encode, protobuf
from collector.otlp.model import Attributes, Batch, Resource, Scope, Span

CAPTURES = Path(__file__).parents[1] / "tests" / "conformance" / "captures"
_TRACE = 16  # spans
_START = 1_796_070_280_000_000_000
KEYS = ("session.id", "gen_ai.conversation.id", "group_id", "thread_id")


def captured(pattern: str = "*") -> list[bytes]:
    """The requests of the captures of such a name, in protobuf."""
    bodies = []
    for path in sorted(CAPTURES.glob(f"{pattern}/traces.otlp.pb")):
        data, at = path.read_bytes(), 0
        while at < len(data):
            size = int.from_bytes(data[at : at + 4], "big")
            bodies.append(data[at + 4 : at + 4 + size])
            at += 4 + size
    return bodies


def plain(requests: int = 8, spans: int = 512) -> list[bytes]:
    """Requests of short spans: each the child of the one before it, four traces to a session."""

    def of(place: int) -> Attributes:
        told = {f"gen_ai.some.key{j}": f"value {j}" for j in range(10)}
        return {**told, "gen_ai.usage.input_tokens": 17, "session.id": f"s-{place // 64}"}

    like = Span(
        "", "", name="chat gpt", kind=1, scope=Scope("bench", "1"), resource=Resource({"service.name": "bench"})
    )
    return _traces(requests, spans, 1, like, of, chained=True)


def web(requests: int, spans: int = 512, first: int = 0) -> list[bytes]:
    """Requests of a web service's spans, all below their trace's root. Another `first` gives other traces."""

    def of(place: int) -> Attributes:
        return {
            "http.request.method": "GET",
            "http.route": "/orders/{id}",
            "http.response.status_code": 200,
            "url.path": f"/orders/{place}",
            "url.scheme": "https",
            "server.address": "shop.example",
            "server.port": 443,
            "client.address": "192.0.2.7",
            "network.protocol.version": "1.1",
            "user_agent.original": "curl/8.9.1",
        }

    scope, resource = Scope("opentelemetry.instrumentation.asgi", "1"), Resource({"service.name": "shop"})
    return _traces(
        requests,
        spans,
        first,
        Span("", "", name="GET /orders/{id}", kind=2, scope=scope, resource=resource),
        of,
        chained=False,
    )


def _traces(
    requests: int, spans: int, seed: int, like: Span, of: Callable[[int], Attributes], *, chained: bool
) -> list[bytes]:
    """Requests of `spans` spans that are like one, sixteen to a trace, with ids as random as an SDK's."""
    chance = random.Random(seed)
    made: list[Span] = []
    trace_id = parent = ""
    for place in range(requests * spans):
        if place % _TRACE == 0:
            trace_id, parent = f"{chance.getrandbits(128):032x}", ""
        span_id = f"{chance.getrandbits(64):016x}"
        made.append(
            msgspec.structs.replace(
                like,
                trace_id=trace_id,
                span_id=span_id,
                parent_span_id=parent,
                start_unix_nano=_START + place,
                end_unix_nano=_START + place + 100_000,
                attributes=of(place),
            )
        )
        if chained or not parent:
            parent = span_id
    return [encode.encode_traces(Batch(spans=tuple(made[at : at + spans]))) for at in range(0, len(made), spans)]


def parse_cpu(bodies: Sequence[bytes]) -> float:
    """CPU seconds that protobuf takes to parse requests of traces, and nothing else."""

    def parse() -> None:
        for body in bodies:
            ExportTraceServiceRequest.FromString(body)

    return cpu_of(parse)


def copies(first: int, number: int) -> list[Batch]:
    """The requests of all captures, `number` times, each time with trace ids and sessions of their own, counted from `first`."""
    batches = [protobuf.decode_traces(body) for body in captured()]
    return [
        Batch(spans=tuple(_fresh(span, copy) for span in batch.spans))
        for copy in range(first, first + number)
        for batch in batches
    ]


def batched(number: int, size: int = 512, first: int = 1) -> list[bytes]:
    """The spans of `number` copies of all captures in full requests, as a busy Collector in front sends them."""
    spans = [span for batch in copies(first, number) for span in batch.spans]
    return [encode.encode_traces(Batch(spans=tuple(spans[at : at + size]))) for at in range(0, len(spans), size)]


LOADS: dict[str, Callable[[], list[bytes]]] = {
    "plain": lambda: plain(48),
    "gathered": lambda: plain(6, 8192),
    "captured": lambda: batched(6),
}
"""What accepting is measured with, made when it is asked for."""


def spans_of(bodies: Sequence[bytes]) -> int:
    """How many spans requests hold."""
    return sum(
        len(scope_spans.spans)
        for body in bodies
        for resource_spans in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope_spans in resource_spans.scope_spans
    )


def _fresh(span: Span, copy: int) -> Span:
    attributes = {key: f"{value}-{copy}" if key in KEYS else value for key, value in span.attributes.items()}
    links = tuple(msgspec.structs.replace(link, trace_id=_shift(link.trace_id, copy)) for link in span.links)
    return msgspec.structs.replace(span, trace_id=_shift(span.trace_id, copy), attributes=attributes, links=links)


def _shift(trace_id: str, copy: int) -> str:
    return f"{(int(trace_id, 16) + copy) % (1 << 128) or 1:032x}"
