"""What `convert` costs: MB and spans per CPU-second from a dump to its documents, and the most memory it takes.

    python benchmarks/convert.py [--copies 10]

The load is every capture, `copies` times over under fresh ids, as one file of JSON lines and as one of length-delimited
protobuf. The converter runs in a process of its own; `parse only` is what protobuf alone takes for the same requests, in
the same run.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from benchmarks.loads import captured
from collector.otlp import encode, protobuf
from collector.otlp.model import Batch, Span

# VmHWM is of the program alone; what getrusage says of a child counts the parent that it was forked from.
_CONVERT = """
import pathlib, re, sys
from collector.cli import main
assert main(["convert", *sys.argv[1:]]) == 0
print(re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1])
"""


def copies(number: int) -> list[Batch]:
    """The requests of all captures, as often as asked for, each time with trace ids and sessions of their own."""
    batches = [protobuf.decode_traces(body) for body in captured()]
    return [
        Batch(spans=tuple(_fresh(span, copy) for span in batch.spans)) for copy in range(number) for batch in batches
    ]


def _fresh(span: Span, copy: int) -> Span:
    attributes = {
        key: f"{value}-{copy}" if key in ("session.id", "gen_ai.conversation.id", "group_id", "thread_id") else value
        for key, value in span.attributes.items()
    }
    links = tuple(msgspec.structs.replace(link, trace_id=_shift(link.trace_id, copy)) for link in span.links)
    return msgspec.structs.replace(span, trace_id=_shift(span.trace_id, copy), attributes=attributes, links=links)


def _shift(trace_id: str, copy: int) -> str:
    return f"{(int(trace_id, 16) + copy) % (1 << 128) or 1:032x}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--copies", type=int, default=10, help="how often the captures are repeated (default 10)")
    batches = copies(parser.parse_args().copies)
    spans = sum(len(batch.spans) for batch in batches)
    bodies = [encode.encode_traces(batch) for batch in batches]
    start = time.process_time()
    for body in bodies:
        ExportTraceServiceRequest.FromString(body)
    parse = spans / (time.process_time() - start)
    print(f"{'input':28}{'MB':>8}{'MB/s':>8}{'spans/s':>10}{'ratio':>8}{'peak MB':>9}")
    print(f"{'parse only':28}{sum(map(len, bodies)) / 1e6:8.1f}{'':8}{parse:10.0f}{1:8.2f}")
    with tempfile.TemporaryDirectory() as folder:
        lines, framed = Path(folder, "lines"), Path(folder, "framed")
        lines.write_bytes(b"".join(encode.encode_traces_json(batch) + b"\n" for batch in batches))
        framed.write_bytes(b"".join(len(body).to_bytes(4, "big") + body for body in bodies))
        for name, path in (("JSON lines", lines), ("length-delimited protobuf", framed)):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            command = [sys.executable, "-c", _CONVERT, str(path), "--out", f"{folder}/out", "--quiet"]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            size, rate = path.stat().st_size / 1e6, spans / took
            peak = int(done.stdout.split()[-1]) / 1024
            print(f"{name:28}{size:8.1f}{size / took:8.1f}{rate:10.0f}{rate / parse:8.3f}{peak:9.0f}")


if __name__ == "__main__":
    main()
