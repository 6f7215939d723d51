"""What `convert` costs: MB and spans per CPU-second from a dump to its documents, and the most memory it takes.

    python -m benchmarks.convert [--rounds 3] [--copies 10] [--write]

The load is every capture, `copies` times over under fresh ids, as one file of JSON lines and as one of length-delimited
protobuf. The converter runs in a process of its own; `of parse only` is its rate against that of protobuf, which parses the
same spans here and does nothing else, in the same round.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.frame import arguments, median, publish, say, table
from benchmarks.loads import copies, parse_cpu
from collector.otlp import encode

# VmHWM is of the program alone; what getrusage says of a child counts the parent that it was forked from.
_CONVERT = """
import pathlib, re, sys
from collector.cli import main
assert main(["convert", *sys.argv[1:]]) == 0
print(re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1])
"""


def convert(path: Path, out: Path) -> tuple[float, int]:
    """CPU seconds and kB of memory that converting one file takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", _CONVERT, str(path), "--out", str(out), "--quiet"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, int(done.stdout.split()[-1])


def main() -> int:
    parser = arguments(__doc__, 3)
    parser.add_argument("--copies", type=int, default=10, help="how often the captures are repeated (default 10)")
    options = parser.parse_args()
    batches = copies(0, options.copies)
    spans = sum(len(batch.spans) for batch in batches)
    bodies = [encode.encode_traces(batch) for batch in batches]
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines, framed = folder / "lines", folder / "framed"
        lines.write_bytes(b"".join(encode.encode_traces_json(batch) + b"\n" for batch in batches))
        framed.write_bytes(b"".join(len(body).to_bytes(4, "big") + body for body in bodies))
        for form, path in (("JSON lines", lines), ("length-delimited protobuf", framed)):
            rounds = []
            for number in range(options.rounds):
                parse = parse_cpu(bodies)
                cpu, memory = convert(path, folder / f"out-{path.name}-{number}")
                rounds.append((cpu, parse / cpu, memory))
                say(f"{form}, round {number + 1} of {options.rounds}: {spans / cpu:,.0f} spans/s")
            took, kept, peak = (median([found[column] for found in rounds]) for column in range(3))
            size = path.stat().st_size / 1e6
            rows.append(
                [
                    f"{form}, {spans:,} spans, {size:,.0f} MB",
                    f"{size / took:,.1f}",
                    f"{spans / took:,.0f}",
                    f"{kept:.3f}",
                    f"{peak / 1024:,.0f}",
                ]
            )
    header = ["input", "MB per CPU-second", "spans per CPU-second", "of parse only", "peak memory, MB"]
    publish("convert", table(header, rows), options.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
