"""The whole way of a span: CPU from the wire to the report, and how long a session's report is away from its last span.

    python -m benchmarks.pipeline [--rounds 5] [--copies 6] [--write]

The collector runs in a process of its own, as users run it. The load is every capture, `copies` times over under
fresh ids in each round, sent as full requests; or the spans of a web service, in which no agent is found and nothing
is reported. A session closes when its roots have ended and nothing came for `sessions.grace`, which is one second
here. CPU is what the collector took from the first request until every session of the round has its report in the
store: accepting, journal, sessions, recovery, scoring, documents. `of parse only` sets that rate against protobuf
parsing the same requests in the same round. `seen after` is of sessions that come alone: from the answer to the last
span until the report comes out of the API's stream, less the grace.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.frame import arguments, median, publish, say, table
from benchmarks.loads import batched, parse_cpu, spans_of, web
from benchmarks.serving import Server, send_grpc, send_http
from collector.otlp import encode
from collector.otlp.model import Batch, Resource, Scope, Span

GRACE_S = 1.0
_SESSIONS = f"grace = {GRACE_S}\nidle = 3.0\n"  # some captures have no root that ends: those close by idle
_ALONE = 20  # sessions that latency is measured with, one after the other
_START = 1_796_070_280_000_000_000


def whole_way(server: Server, bodies: Sequence[bytes], way: str) -> float:
    """CPU seconds until every session of `bodies` is reported."""
    before = server.cpu()
    if way == "gRPC":
        send_grpc(server.grpc, bodies)
    else:
        send_http(server.http, bodies, "protobuf")
    server.finish()
    return server.cpu() - before


def delay(server: Server, number: int) -> float:
    """Seconds from the answer to a session's only request until its report is seen, the grace left out."""
    with server.watch() as lines:
        send_grpc(server.grpc, [one_session(number)])
        sent = time.monotonic()
        while trace_id(number).encode() not in lines.readline():
            pass
        return time.monotonic() - sent - GRACE_S


def trace_id(number: int) -> str:
    """A trace id that is of none of the copies."""
    return f"{0xA10E << 96 | number:032x}"


def one_session(number: int) -> bytes:
    """A request that holds a whole session: an agent that hands over to another, both under a root."""

    def span(k: int, parent: int, operation: str, agent: str) -> Span:
        return Span(
            trace_id=trace_id(number),
            span_id=f"{number << 8 | k:016x}",
            parent_span_id=f"{number << 8 | parent:016x}" if parent else "",
            name=f"{operation} {agent}",
            kind=1,
            start_unix_nano=_START + k * 1_000_000,
            end_unix_nano=_START + 10_000_000 - k * 1_000_000,
            attributes={"gen_ai.operation.name": operation, "gen_ai.agent.name": agent},
            scope=Scope("bench", "1"),
            resource=Resource({"service.name": "bench"}),
        )

    return encode.encode_traces(Batch(spans=(span(1, 0, "invoke_agent", "front"), span(2, 1, "invoke_agent", "back"))))


def main() -> int:
    parser = arguments(__doc__, 5)
    parser.add_argument("--copies", type=int, default=6, help="how often a round has the captures (default 6)")
    options = parser.parse_args()
    rows = []
    first = 1
    for load, way in (("agents", "gRPC"), ("agents", "HTTP"), ("no agent", "gRPC")):
        rounds = []
        with tempfile.TemporaryDirectory() as folder, Server(Path(folder), _SESSIONS) as server:
            for number in range(-1, options.rounds):  # the first one warms up
                bodies = (
                    batched(options.copies, first=first) if load == "agents" else web(10 * options.copies, first=first)
                )
                first += options.copies
                spans = spans_of(bodies)
                parse = parse_cpu(bodies)
                cpu = whole_way(server, bodies, way)
                if number >= 0:
                    rounds.append((spans / cpu, parse / cpu, server.resident() / 1e6))
                    say(f"{load}, {way}, round {number + 1} of {options.rounds}: {spans / cpu:,.0f} spans/s")
            delays = [1e3 * delay(server, k) for k in range(_ALONE)]
            say(f"{load}, {way}: seen after {median(delays):.0f} ms")
        rate, kept, memory = (median([found[column] for found in rounds]) for column in range(3))
        rows.append(
            [
                f"{load}: {way}",
                f"{rate:,.0f}",
                f"{kept:.3f}",
                f"{median(delays):.0f}",
                f"{max(delays):.0f}",
                f"{memory:.0f}",
            ]
        )
    header = ["load: way", "spans per CPU-second", "of parse only", "seen after, ms", "at most, ms", "memory, MB"]
    publish("pipeline", table(header, rows), options.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
