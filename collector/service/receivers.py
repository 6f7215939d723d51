"""The OTLP listeners: what they are wired to, and how they start.

Separate from the admin listeners because these carry what senders send and nothing else, and are the first to stop.
"""

from __future__ import annotations

import asyncio
import random
import uuid

from collector.build import Core
from collector.config.options import Options
from collector.emit.forward import metrics_entry
from collector.engine import Accepted, Overloaded
from collector.listen.http import HttpServer
from collector.listen.rpc import RpcServer
from collector.listen.sockets import affordable, bind
from collector.meter import HealthMeter
from collector.otlp.response import Encoding, Signal
from collector.receive.admit import Accept, Admission, PassOn
from collector.receive.answers import Answer, RefusedError
from collector.receive.grpc_server import handlers
from collector.receive.http_server import OtlpApplication
from collector.receive.redact import Redactor
from collector.service.doors import Doors
from collector.service.stops import Stops

_SHARE = 0.3  # of the deadline: a sender that hangs takes no more


async def start_receivers(core: Core, options: Options, doors: Doors, stops: Stops) -> Admission:
    """Start the listeners that have an endpoint; return what they admit by. Raises `StartError`."""
    door = doors.open(options.receive)
    admission = Admission(
        accept=_accept(core),
        pass_on=_pass_on(core) if options.export.metrics.endpoint else None,
        limits=options.limits,
        redactor=Redactor(options.content.redact, options.content.replacement),
        meter=HealthMeter(core.health),
        chance=random.Random(),  # noqa: S311  # spreads retries, keeps no secret
    )
    if options.receive.grpc.endpoint:
        rpc = RpcServer(
            options.receive.grpc.endpoint,
            "receive.grpc.endpoint",
            door.certificates,
            door.tokens,
            message_size=options.limits.message_size,
            streams=options.receive.grpc.streams,
            connections=affordable(options.receive.grpc.connections),
        )
        rpc.add(handlers(admission, options.receive.grpc.message_timeout))
        rpc.bind()
        stops.later("OTLP/gRPC", lambda deadline: rpc.stop(deadline * _SHARE))
        await rpc.start()
        doors.listens("receive.grpc", options.receive.grpc.endpoint, rpc.port)
    if options.receive.http.endpoint:
        http = HttpServer(
            OtlpApplication(admission, door.tokens, options.receive.http.body_timeout),
            bind(options.receive.http.endpoint, "receive.http.endpoint"),
            door.certificates,
            connections=affordable(options.receive.http.connections),
            header_timeout=options.receive.http.header_timeout,
            idle_timeout=options.receive.http.idle_timeout,
        )
        stops.later("OTLP/HTTP", lambda deadline: http.stop(deadline * _SHARE))
        await http.start()
        doors.listens("receive.http", options.receive.http.endpoint, http.port)
    doors.warn_if_open("receive", options.receive, door)
    return admission


def _accept(core: Core) -> Accept:
    async def accept(signal_: Signal, encoding: Encoding, body: bytes) -> None:
        assert signal_ != "metrics"  # admission passes metrics on
        try:
            await core.engine.accept(Accepted(signal_, encoding, body))
        except Overloaded as error:
            raise RefusedError(Answer.OVERLOADED, str(error), error.reason, error.retry_after_s) from error

    return accept


def _pass_on(core: Core) -> PassOn:
    async def pass_on(encoding: Encoding, body: bytes) -> None:
        try:
            entry = metrics_entry(body, encoding, f"received/{uuid.uuid4()}")
        except ValueError as error:
            raise RefusedError(Answer.MALFORMED, f"expected an OTLP metrics request, found {error}") from error
        if entry.payload:  # else it was our own, sent back to us
            await asyncio.to_thread(core.store.outbox_put, [entry])
            core.sender.wake()

    return pass_on
