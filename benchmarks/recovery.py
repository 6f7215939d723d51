"""What recovery costs a span, and how that grows: one session of ever more runs.

    python -m benchmarks.recovery [--rounds 3] [--write]

A session of `runs` runs is a capture so many times over, each under a trace id of its own and all under its session. `facts`
is reading the facts of each span (collector.conventions), `recover` the graph and its document (collector.recovery). CPU
time of one process, the least of the rounds; a size has about the same number of spans whatever the capture.
"""

from __future__ import annotations

import sys

import msgspec

from benchmarks.frame import arguments, cpu_of, publish, say, table
from benchmarks.loads import captured
from collector.memory import spare_the_collector
from collector.otlp import protobuf
from collector.otlp.model import Batch, Span
from collector.recovery import extract, recover

NAMES = (
    "openai-agents__openinference",
    "strands-agents__native-swarm",
    "google-adk__native-transfer",
    "langgraph-swarm__openinference",
    "crewai-sequential__openinference",
    "pydantic-ai__native",
)
SIZES = (1_000, 10_000, 100_000)


def session(name: str, size: int) -> Batch:
    """About `size` spans: whole runs of a capture."""
    spans = [span for body in captured(name) for span in protobuf.decode_traces(body).spans]
    length = max(span.end_unix_nano for span in spans) - min(span.start_unix_nano for span in spans) + 1_000_000
    runs = -(-size // len(spans))
    return Batch(spans=tuple(_later(span, run, run * length) for run in range(runs) for span in spans))


def _later(span: Span, run: int, by_ns: int) -> Span:
    return msgspec.structs.replace(
        span,
        trace_id=f"{int(span.trace_id, 16) ^ run << 64:032x}",
        start_unix_nano=span.start_unix_nano + by_ns,
        end_unix_nano=span.end_unix_nano + by_ns if span.end_unix_nano else 0,
        events=tuple(
            msgspec.structs.replace(event, time_unix_nano=event.time_unix_nano + by_ns) for event in span.events
        ),
    )


def main() -> int:
    options = arguments(__doc__, 3).parse_args()
    spare_the_collector()  # as the service does
    rows = []
    for name in NAMES:
        row, before = [name], 0.0
        for size in SIZES:
            batch = session(name, size)
            facts = extract(batch).spans
            rounds = 1 if size == SIZES[-1] else options.rounds
            reading = min(cpu_of(lambda batch=batch: extract(batch)) for _ in range(rounds)) / len(facts)  # type: ignore[misc]
            recovering = min(cpu_of(lambda facts=facts: recover(facts)) for _ in range(rounds)) / len(facts)  # type: ignore[misc]
            growth = f", {recovering / before * 10:.1f} x" if before else ""
            row.append(f"{1e6 * reading:.0f} + {1e6 * recovering:.0f}{growth}")
            before = recovering
            say(f"{name}, {size:,} spans: {row[-1]}")
        rows.append(row)
    header = ["capture", *(f"facts + recover at {size:,} spans, us a span" for size in SIZES)]
    publish("recovery", table(header, rows), options.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
