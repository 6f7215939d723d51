"""Spans per CPU-second of each way to read a request, beside parsing the same bytes with protobuf and nothing else.

    python benchmarks/decode.py [--seconds 1]

Two loads: `captures`, the recorded requests of every agent framework (long attributes), and `plain`, requests of 512 short
spans with twelve attributes, one of them a session key. One process, CPU time, best of the rounds; ratios are to
`parse only` of the same load, since that is what any receiver written with protobuf pays.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from benchmarks.loads import captured, plain
from collector.otlp import encode, json, protobuf


def rate(read: Callable[[bytes], object], bodies: Sequence[bytes], spans: int, seconds: float) -> float:
    """The best rate of as many rounds as fit, at least three."""
    best, spent, rounds = float("inf"), 0.0, 0
    while spent < seconds or rounds < 3:
        start = time.process_time()
        for body in bodies:
            read(body)
        took = time.process_time() - start
        best, spent, rounds = min(best, took), spent + took, rounds + 1
    return spans / best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=1.0, help="CPU time for each row (default 1)")
    seconds = parser.parse_args().seconds
    print(f"{'load':10}{'way':28}{'k spans/s':>12}{'MB/s':>8}{'ratio':>8}")
    for load, bodies in (("captures", captured()), ("plain", plain())):
        spans = sum(len(protobuf.decode_traces(body).spans) for body in bodies)
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
            found = rate(read, inputs, spans, seconds)
            base = base or found
            size = sum(map(len, inputs)) / spans * found / 1e6
            print(f"{load:10}{way:28}{found / 1e3:12.1f}{size:8.0f}{found / base:8.2f}")


if __name__ == "__main__":
    main()
