"""Admission: the one accept path of both protocols, from the bytes of a request to its acknowledgement.

Separate from the servers so that gRPC and HTTP cannot differ in what they accept, and from the engine so that what reaches the journal has
been checked, bounded and redacted.

Rules:
- a request is acknowledged only after the engine has accepted it;
- what can be refused is refused before the engine sees it; a bad span costs only itself and is reported as a partial success;
- every byte being admitted is counted, and the bounds are on what is held, so memory follows the limits and not the senders;
- senders that are refused at one time are told different times to come back, or they would all come back at one time.
"""

from __future__ import annotations

import asyncio
import logging
import random
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple, Protocol

from collector.config.options import Limits
from collector.otlp import json as otlp_json
from collector.otlp import protobuf as otlp_protobuf
from collector.otlp.checked import Checked
from collector.otlp.errors import MalformedError
from collector.otlp.response import Encoding, Signal, rejection_message
from collector.receive.answers import Answer, RefusedError
from collector.receive.inflate import ENCODINGS, InflateError, TooLargeError, inflate
from collector.receive.redact import Redactor

_OFF_LOOP = 256 << 10  # a body of this size takes milliseconds to read: other senders must not wait for it
_CHECKS: dict[tuple[str, str], Callable[[bytes], Checked]] = {
    ("traces", "protobuf"): otlp_protobuf.check_traces,
    ("traces", "json"): otlp_json.check_traces,
    ("logs", "protobuf"): otlp_protobuf.check_logs,
    ("logs", "json"): otlp_json.check_logs,
}
_log = logging.getLogger("collector.receive")


Transport = Literal["grpc", "http"]


class Receipt(NamedTuple):
    """What an accepted request is answered: how many of its spans or records were rejected, and why the first ones were."""

    rejected: int = 0
    message: str = ""


class Request(NamedTuple):
    """One request as it came. `compression` is a content encoding that is still on the body, "" for none."""

    transport: Transport
    signal: Signal
    encoding: Encoding
    body: bytes
    compression: str = ""


class _Prepared(NamedTuple):
    encoding: Encoding
    body: bytes
    checked: Checked


class Meter(Protocol):
    """Counts what is received (`orbitrelay.collector.*`)."""

    def received(self, transport: Transport, signal: Signal, size: int, accepted: int, rejected: int) -> None:
        """A request of `size` bytes, uncompressed, was accepted: so many spans or records, and so many rejected."""

    def refused(self, transport: Transport, signal: str, reason: str) -> None:
        """A request was refused. `signal` is "none" where it was not for any."""


Accept = Callable[[Signal, Encoding, bytes], Awaitable[None]]
"""Takes traces or logs; returns when they are kept. Raises `RefusedError` (retryable)."""
PassOn = Callable[[Encoding, bytes], Awaitable[None]]
"""Takes metrics for the downstream that wants them; returns when they are kept. Raises `RefusedError`."""


class Admission:
    """The accept path. `pass_on` is None where nothing downstream takes metrics; `chance` spreads what is refused."""

    def __init__(
        self,
        *,
        accept: Accept,
        pass_on: PassOn | None,
        limits: Limits,
        redactor: Redactor,
        meter: Meter,
        chance: random.Random,
    ) -> None:
        self._accept = accept
        self._pass_on = pass_on
        self._limits = limits
        self._meter = meter
        self._chance = chance
        self._requests = 0
        self._bytes = 0
        self._lock = threading.Lock()  # a slot grows on the thread that decompresses
        self._open = True
        self.redactor = redactor
        """Replaced as a whole when the patterns are reloaded."""

    @property
    def limits(self) -> Limits:
        """The limits in force."""
        return self._limits

    def close(self) -> None:
        """Refuse whatever comes from now on; what is being admitted goes on."""
        self._open = False

    @contextmanager
    def slot(self, announced: int = 0) -> Iterator[Slot]:
        """A slot for one request, of which nothing has come yet and so many bytes are announced. Raises `RefusedError`.

        What comes is asked for with `Slot.grow`, and the request with `Slot.enter` once it is whole: a sender that announces and does
        not send takes no other's room. What refuses the request while it has the slot is put off, too: from the time that its reason
        asks for to twice that.
        """
        try:
            with self._room(announced) as slot:
                yield slot
        except RefusedError as refusal:
            refusal.retry_after *= self._chance.uniform(1.0, 2.0)
            raise

    @contextmanager
    def _room(self, announced: int) -> Iterator[Slot]:
        if not self._open:
            raise RefusedError(Answer.OVERLOADED, "the collector is stopping", "stopping")
        self._count_fits()
        self._size_fits(announced)
        slot = Slot(self)
        try:
            yield slot
        finally:
            self._requests -= slot.entered
            with self._lock:
                self._bytes -= slot.size

    def _count_fits(self) -> None:
        if self._requests >= self._limits.in_flight:
            raise RefusedError(
                Answer.BUSY, f"expected at most {self._limits.in_flight} requests at one time, found more"
            )

    def _size_fits(self, size: int, own: int = 0) -> None:
        """Whether there is room for `size` bytes of a request that has `own` already; one that is alone always fits."""
        room, others = self._limits.in_flight_size, self._bytes - own
        if room and others and others + own + size > room:
            raise RefusedError(Answer.BUSY, f"expected at most {room} bytes of requests at one time, found more")

    async def admit(self, request: Request, slot: Slot) -> Receipt:
        """Accept one request and say what of it was rejected. Raises `RefusedError`, also for a failure of our own."""
        try:
            return await self._admit(request, slot)
        except RefusedError:
            raise
        except Exception as error:
            _log.exception("a request could not be kept")
            raise RefusedError(Answer.OVERLOADED, "the collector failed to keep the request", "failed", 5.0) from error

    async def _admit(self, request: Request, slot: Slot) -> Receipt:
        if request.signal == "metrics":
            return await self._metrics(request, slot)
        if len(request.body) >= (_OFF_LOOP // 8 if request.compression else _OFF_LOOP):
            prepared = await asyncio.to_thread(self._prepare, request, slot)
        else:
            prepared = self._prepare(request, slot)
        accepted, rejections = prepared.checked.accepted, prepared.checked.rejections
        if accepted:
            await self._accept(request.signal, prepared.encoding, prepared.body)
        self._meter.received(request.transport, request.signal, len(prepared.body), accepted, len(rejections))
        return Receipt(len(rejections), rejection_message(rejections)) if rejections else _WHOLE

    def count_refusal(self, transport: Transport, signal: str, refusal: RefusedError) -> None:
        """Count a request that was refused, here or by a server."""
        self._meter.refused(transport, signal, refusal.reason)

    def _prepare(self, request: Request, slot: Slot) -> _Prepared:
        body = self._plain(request, slot)
        try:
            checked = _CHECKS[request.signal, request.encoding](body)
            if self.redactor and checked.accepted:
                redact = self.redactor.traces if request.signal == "traces" else self.redactor.logs
                return _Prepared("protobuf", redact(request.encoding, body), checked)
        except MalformedError as error:
            raise RefusedError(Answer.MALFORMED, str(error)) from error
        return _Prepared(request.encoding, body, checked)

    async def _metrics(self, request: Request, slot: Slot) -> Receipt:
        if self._pass_on is None:
            raise RefusedError(
                Answer.NOT_FOUND,
                "metrics are not taken: no downstream for them is configured (export.metrics.endpoint)",
            )
        body = self._plain(request, slot)
        try:
            body = self.redactor.metrics(request.encoding, body) if self.redactor else body
        except ValueError as error:
            raise RefusedError(Answer.MALFORMED, f"expected an OTLP metrics request, found {error}") from error
        await self._pass_on(request.encoding, body)
        self._meter.received(request.transport, "metrics", len(body), 0, 0)
        return _WHOLE

    def _plain(self, request: Request, slot: Slot) -> bytes:
        if not request.compression:
            return request.body
        try:
            body = inflate(request.body, request.compression, self._limits.decompressed_size)
        except TooLargeError as error:
            raise RefusedError(Answer.TOO_LARGE, f"{error} (limits.decompressed_size)") from error
        except InflateError as error:
            raise RefusedError(Answer.MALFORMED, str(error)) from error
        slot.grow(len(body))
        return body


class Slot:
    """The room that one request takes while it is being admitted."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self.size = 0
        self.entered = False

    def grow(self, size: int) -> None:
        """Take `size` bytes more. Raises `RefusedError` where there is no room."""
        admission = self._admission
        with admission._lock:
            admission._size_fits(size, self.size)
            admission._bytes += size
            self.size += size

    def enter(self) -> None:
        """Be one of the requests that are admitted at one time. Raises `RefusedError` where they are enough."""
        self._admission._count_fits()
        self._admission._requests += 1
        self.entered = True


_WHOLE = Receipt()


def content_encoding(value: str) -> str:
    """The one encoding of a content-encoding header, "" for none. Raises `RefusedError`."""
    name = value.strip().lower()
    if name in {"", "identity"}:
        return ""
    if name not in ENCODINGS:
        raise RefusedError(
            Answer.MEDIA, f"expected content-encoding gzip, deflate, zstd or identity, found {value[:80]!r}"
        )
    return name
