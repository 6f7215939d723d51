"""The collector that benchmarks measure: it is held, let go, and says what waits, or their figures are of something else."""

from __future__ import annotations

from pathlib import Path

from benchmarks.loads import plain
from benchmarks.serving import Server, send_grpc, send_http


def test_what_is_accepted_waits_while_it_is_held_and_is_reported_when_it_is_let_go(tmp_path: Path) -> None:
    first, second, third = plain(3, 64)
    with Server(tmp_path, "grace = 0.2\nidle = 0.5\n") as server:
        server.hold(first)
        send_grpc(server.grpc, [second])
        send_http(server.http, [third], "protobuf")
        requests, size, _ = server.tell()
        assert (requests, size) == (3, len(first) + len(second) + len(third))
        assert server.tell("go")
        server.finish()
        assert server.tell() == [0, 0, 0]
