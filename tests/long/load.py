"""What long runs send: sessions without end, each under ids of its own, and one session that never ends.

Separate from the runs because all of them send the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from collector.otlp import encode, json
from collector.otlp.model import Batch
from tests.collector.crash.load import capture_session, case_session

_FIRST = 10_000_000  # numbers of small sessions: their ids must meet no captured session's


def sessions(captured_every: int = 0) -> Iterator[list[bytes]]:
    """Sessions as JSON requests in the order in which exporters send: small ones, and every so many a captured one."""
    number = 0
    while True:
        number += 1
        captured = captured_every and number % captured_every == 0
        yield capture_session(number) if captured else case_session(_FIRST + number)


def endless(spans: int) -> Iterator[bytes]:
    """Protobuf requests of one session whose root never comes: so many spans each, every tenth an agent's."""
    agent = json.decode_traces(case_session(0)[0]).spans[0]
    step = msgspec.structs.replace(agent, name="step", attributes={"session.id": "endless", "note": "x" * 100})
    number = 0
    while True:
        numbers = range(number + 1, number + spans + 1)
        number += spans
        batch = [
            msgspec.structs.replace(step if n % 10 else agent, trace_id="e" * 32, span_id=f"{n:016x}") for n in numbers
        ]
        yield encode.encode_traces(Batch(spans=tuple(batch)))
