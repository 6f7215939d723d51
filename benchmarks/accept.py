"""Accepted spans per CPU-second: from the wire to the acknowledgement, over both protocols and encodings.

    python -m benchmarks.accept [--rounds 7] [--write]

The collector runs in a process of its own, with its intake held while requests come in, so that its CPU time is that of
accepting alone: receiving, decompressing, checking the message and every span's ids, appending to the journal, answering.
Requests are encoded beforehand and sent as bytes from this process, ten at a time. In each round protobuf parses the
same requests here and does nothing else; `kept` is the rate of accepting against that. For JSON and for compressed
requests, too, it is set against the same spans as plain protobuf.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.frame import arguments, median, publish, say, table
from benchmarks.loads import LOADS, parse_cpu, spans_of
from benchmarks.serving import Server, send_grpc, send_http
from collector.memory import keep_freed_memory
from collector.otlp import encode, protobuf

_ROOM = 40 << 20  # bytes that may wait for the intake before it is let go; the collector takes 64 MB


class Way(NamedTuple):
    """One way to send requests: in what encoding, compressed or not, and by what."""

    name: str
    encoding: str
    compressed: bool
    send: Callable[[Server, Sequence[bytes]], None]


WAYS = (
    Way("gRPC", "protobuf", False, lambda server, bodies: send_grpc(server.grpc, bodies)),
    Way("gRPC, gzip", "protobuf", False, lambda server, bodies: send_grpc(server.grpc, bodies, compressed=True)),
    Way("HTTP, protobuf", "protobuf", False, lambda server, bodies: send_http(server.http, bodies, "protobuf")),
    Way(
        "HTTP, protobuf, gzip",
        "protobuf",
        True,
        lambda server, bodies: send_http(server.http, bodies, "protobuf", "gzip"),
    ),
    Way("HTTP, JSON", "json", False, lambda server, bodies: send_http(server.http, bodies, "json")),
)


def measure(
    rounds: int, loads: Sequence[str], ways: Sequence[Way] = WAYS
) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """CPU seconds a span of accepting and of parsing alone, of each round, by load and way."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for load in loads:
        bodies = LOADS[load]()
        spans = spans_of(bodies)
        sent = {
            ("protobuf", False): bodies,
            ("protobuf", True): [gzip.compress(body, 6) for body in bodies],
            ("json", False): [encode.encode_traces_json(protobuf.decode_traces(body)) for body in bodies],
        }
        with tempfile.TemporaryDirectory() as folder, Server(Path(folder)) as server:
            for way in ways:
                way.send(server, sent[way.encoding, way.compressed][:4])
                server.settle()
            server.hold(bodies[0])
            for number in range(rounds):
                for way in ways:
                    parse, accept = parse_cpu(bodies), 0.0
                    for part in parts(sent[way.encoding, way.compressed], sent[way.encoding, False]):
                        if server.tell()[1] > _ROOM // 2:
                            server.tell("go")
                            server.settle()
                            server.hold(bodies[0])
                        before = server.cpu()
                        way.send(server, part)
                        accept += server.cpu() - before
                    parse = (parse + parse_cpu(bodies)) / 2
                    found.setdefault((load, way.name), []).append((accept / spans, parse / spans))
                    say(f"{load}, {way.name}, round {number + 1} of {rounds}: {parse / accept:.2f}")
            server.tell("go")
    return found


def parts(bodies: Sequence[bytes], plain: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """Requests in runs that may wait for the intake together; `plain` is what they are when it holds them."""
    begin = size = 0
    for at, body in enumerate(plain):
        if size + len(body) > _ROOM // 2:
            yield bodies[begin:at]
            begin, size = at, 0
        size += len(body)
    yield bodies[begin:]


def main() -> int:
    parser = arguments(__doc__, 7)
    parser.add_argument("--load", choices=LOADS, action="append", help="only this load (default: all)")
    options = parser.parse_args()
    keep_freed_memory()  # parsing, too, at its best
    found = measure(options.rounds, options.load or list(LOADS))
    rows = []
    for (load, way), pairs in found.items():
        accept, parse = median([a for a, _ in pairs]), median([p for _, p in pairs])
        kept = median([p / a for a, p in pairs])
        rows.append([f"{load}: {way}", f"{1 / accept:,.0f}", f"{1 / parse:,.0f}", f"{kept:.2f}"])
    publish("accept", table(["load: way", "accepted spans/s", "parse only", "kept"], rows), options.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
