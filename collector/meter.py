"""What the receivers count, as the instruments of the one table.

Separate from the receivers, which know signals and reasons, and from the instruments, which know names.
"""

from __future__ import annotations

from collector import semconv
from collector.emit.health import Health
from collector.otlp.response import Signal
from collector.receive.admit import Transport

_ACCEPTED = {"traces": semconv.H_SPANS_ACCEPTED, "logs": semconv.H_LOGS_ACCEPTED}
_REJECTED = {"traces": semconv.H_SPANS_REJECTED, "logs": semconv.H_LOGS_REJECTED}


class HealthMeter:
    """`Meter` over the health instruments."""

    def __init__(self, health: Health) -> None:
        self._health = health

    def received(self, transport: Transport, signal: Signal, size: int, accepted: int, rejected: int) -> None:
        """Count an accepted request."""
        by = {semconv.SIGNAL: signal, semconv.TRANSPORT: transport}
        self._health.add(semconv.H_REQUESTS, 1, by)
        self._health.add(semconv.H_RECEIVED_BYTES, size, by)
        if accepted:
            self._health.add(_ACCEPTED[signal], accepted, {semconv.TRANSPORT: transport})
        if rejected:
            self._health.add(_REJECTED[signal], rejected, {semconv.REASON: "malformed"})

    def refused(self, transport: Transport, signal: str, reason: str) -> None:
        """Count a refused request."""
        self._health.add(
            semconv.H_REFUSED, 1, {semconv.SIGNAL: signal, semconv.TRANSPORT: transport, semconv.REASON: reason}
        )
