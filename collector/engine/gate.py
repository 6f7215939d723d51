"""The gate: whether a request is taken now, and how much of what was taken is still to be decoded.

Separate from the engine, which carries on what came through, so that each bound and its reason stand in one place.

Rules:
- everything is bounded; what does not fit is refused retryably, with the reason;
- a session that is open may end: its requests are taken also where no new session is;
- each count has one writer, the event loop or the intake thread, so that none needs a lock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

import msgspec

from collector.engine.intake import Intake
from collector.engine.requests import trace_ids
from collector.report import Encoding, Signal
from collector.sessions.sightings import scoped

Reason = Literal["queue", "memory", "sessions", "disk", "stopping"]

_RETRY_AFTER_S: Final[dict[str, float]] = {"queue": 1.0, "memory": 5.0, "sessions": 10.0, "disk": 10.0, "stopping": 5.0}

# Measured sizes of what the assembler holds in memory, in bytes, rounded up.
SPAN_BYTES, TRACE_BYTES, SESSION_BYTES = 220, 2200, 2600


class Overloaded(Exception):  # noqa: N818 - a state, and the protocols' word for it
    """The request cannot be taken now; the sender should come back after `retry_after_s`."""

    permanent = False

    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(f"overloaded: {reason}{': ' if detail else ''}{detail}")
        self.reason: Reason = reason
        self.retry_after_s = _RETRY_AFTER_S[reason]


class Accepted(msgspec.Struct, frozen=True):
    """One request that passed admission. `body` is uncompressed; `tenant` is of the connection, "" for none."""

    signal: Signal
    encoding: Encoding
    body: bytes
    tenant: str = ""


class Limits(msgspec.Struct, frozen=True):
    """Bounds of the engine; 0 is none. Sizes in bytes. `journal_size` and `disk_free` guard the disk."""

    queue_size: int = 64 << 20
    queue_requests: int = 4096
    open_sessions: int = 100_000
    memory: int = 1 << 30
    journal_size: int = 4 << 30
    disk_free: int = 256 << 20


class Gate:
    """See the module. `full`: whether the journal would refuse the next record. Closed until `open` is set."""

    def __init__(self, limits: Limits, intake: Intake, full: Callable[[], bool]) -> None:
        self._limits = limits
        self._intake = intake
        self._full = full
        self.open = False
        self.store_failing = False  # written by the intake thread
        self.refused: dict[str, int] = {}
        self._accepted_bytes = self._accepted_requests = 0  # written by the event loop only
        self._done_bytes = self._done_requests = 0  # written by the intake thread only
        self._failed_bytes = self._failed_requests = 0  # written by the event loop only

    def enter(self, request: Accepted) -> None:
        """Count a request as taken. Raises Overloaded, and counts that, if it cannot be now."""
        if (trouble := self.trouble(request)) is not None:
            self.refused[trouble.reason] = self.refused.get(trouble.reason, 0) + 1
            raise trouble
        self._accepted_bytes += len(request.body)
        self._accepted_requests += 1

    def done(self, size: int) -> None:
        """Note that the intake thread is through with a request."""
        self._done_bytes += size
        self._done_requests += 1

    def failed(self, size: int) -> None:
        """Note that the journal did not take a request after all."""
        self._failed_bytes += size
        self._failed_requests += 1

    def trouble(self, request: Accepted | None = None) -> Overloaded | None:
        """Return why a request, or any that opens a session, would be refused now; None if it would not."""
        limits = self._limits
        if not self.open:
            return Overloaded("stopping")
        requests, size = self.queued
        if limits.queue_requests and requests >= limits.queue_requests:
            return Overloaded("queue", f"{requests} requests wait to be decoded")
        if limits.queue_size and size >= limits.queue_size:
            return Overloaded("queue", f"{size} bytes wait to be decoded")
        if limits.memory and self.memory >= limits.memory:
            return Overloaded("memory", f"open sessions hold {self.memory} bytes; see limits.memory")
        if (
            limits.open_sessions
            and self._intake.assembler.open_sessions >= limits.open_sessions
            and not self._continues(request)
        ):
            return Overloaded("sessions", f"{limits.open_sessions} sessions are open; see limits.open_sessions")
        if self.store_failing:
            return Overloaded("disk", "the store cannot be written")
        if self._full():
            return Overloaded("disk", "the journal is at its bound, or the disk at its reserve")
        return None

    @property
    def queued(self) -> tuple[int, int]:
        """Requests that wait to be decoded, and their bytes. Cheap, from any thread."""
        requests = self._accepted_requests - self._done_requests - self._failed_requests
        return requests, self._accepted_bytes - self._done_bytes - self._failed_bytes

    @property
    def memory(self) -> int:
        """Bytes that open sessions and what waits hold, by the measured sizes. Cheap, from any thread."""
        assembler = self._intake.assembler
        held = SPAN_BYTES * assembler.resident_spans + TRACE_BYTES * assembler.resident_traces
        return held + SESSION_BYTES * assembler.open_sessions + self._intake.unstored_bytes + self.queued[1]

    def _continues(self, request: Accepted | None) -> bool:
        """Whether all of a request is of sessions that are open: at their bound they must still be able to end."""
        if request is None:
            return False
        known = trace_ids(request.body, request.signal, request.encoding)
        return all(self._intake.assembler.is_open(scoped(trace_id, request.tenant)) for trace_id in known)
