"""Spans per CPU-second of each way to read a request, beside parsing the same bytes with protobuf and nothing else.

    python -m benchmarks.decode [--rounds 5] [--write]

Two loads: `captured`, the recorded requests of every agent framework (long attributes), and `plain`, requests of 512 short
spans with twelve attributes, one of them a session key. One process, CPU time, the least of the rounds; ratios are to
`parse only` of the same load, since that is what any receiver written with protobuf pays.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from benchmarks.frame import arguments, cpu_of, publish, say, table
from benchmarks.loads import captured, plain, spans_of
from collector.memory import keep_freed_memory
from collector.otlp import encode, json, protobuf


def cost(read: Callable[[bytes], object], bodies: Sequence[bytes], rounds: int) -> float:
    """CPU seconds to read all bodies once."""

    def work() -> None:
        for body in bodies:
            read(body)

    return min(cpu_of(work) for _ in range(rounds))


def main() -> int:
    options = arguments(__doc__, 5).parse_args()
    keep_freed_memory()
    rows = []
    for load, bodies in (("captured", captured()), ("plain", plain())):
        spans = spans_of(bodies)
        texts = [encode.encode_traces_json(protobuf.decode_traces(body)) for body in bodies]
        ways: tuple[tuple[str, Callable[[bytes], object], Sequence[bytes]], ...] = (
            ("parse only", ExportTraceServiceRequest.FromString, bodies),
            ("check", protobuf.check_traces, bodies),
            ("decode", protobuf.decode_traces, bodies),
            ("JSON check", json.check_traces, texts),
            ("JSON decode", json.decode_traces, texts),
            ("JSON to protobuf", encode.traces_to_protobuf, texts),
        )
        base = 0.0
        for way, read, inputs in ways:
            took = cost(read, inputs, options.rounds)
            base = base or took
            rate = f"{spans / took:,.0f}"
            rows.append([f"{load}: {way}", rate, f"{sum(map(len, inputs)) / took / 1e6:,.0f}", f"{base / took:.2f}"])
            say(f"{load}, {way}: {rate} spans/s")
    publish("decode", table(["load: way", "spans/s", "MB/s", "of parse only"], rows), options.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
