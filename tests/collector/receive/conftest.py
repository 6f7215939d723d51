"""A receiver over real sockets with a list where the engine would be."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx
import pytest
from grpc import aio

from collector.config.options import Auth, Limits, Tls
from collector.listen.http import HttpServer
from collector.listen.rpc import RpcServer
from collector.listen.sockets import bind
from collector.listen.tls import Certificates
from collector.listen.tokens import Tokens
from collector.otlp.response import Signal
from collector.receive.admit import Admission
from collector.receive.grpc_server import SERVICES, handlers
from collector.receive.http_server import OtlpApplication
from collector.receive.redact import Redactor

METHODS = {signal: f"/{service}/Export" for service, signal in SERVICES.items()}


class Chance(random.Random):
    """Always the same draw, the least unless told otherwise."""

    draw = 0.0

    def random(self) -> float:
        return self.draw


class Receiver:
    """What was kept, what was counted, and clients of both protocols. `fails` is raised instead of keeping."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, str, bytes]] = []
        self.counts: dict[str, int] = {}
        self.fails: Exception | None = None
        self.chance = Chance()
        self.admission: Admission
        self.http: httpx.AsyncClient
        self.channel: aio.Channel
        self.http_port = 0
        self.grpc_port = 0

    async def keep(self, signal: str, encoding: str, body: bytes, _heads: object = None) -> None:
        if self.fails:
            raise self.fails
        self.kept.append((signal, encoding, body))

    async def pass_on(self, encoding: str, body: bytes) -> None:
        await self.keep("metrics", encoding, body)

    def received(self, _transport: str, signal: str, size: int, accepted: int, rejected: int) -> None:
        assert size >= 0
        for name, number in (("accepted", accepted), ("rejected", rejected)):
            self.counts[f"{signal} {name}"] = self.counts.get(f"{signal} {name}", 0) + number

    def refused(self, _transport: str, signal: str, reason: str) -> None:
        self.counts[f"{signal} {reason}"] = self.counts.get(f"{signal} {reason}", 0) + 1

    async def export(self, body: bytes, signal: Signal = "traces", **call: Any) -> bytes:
        """One gRPC call."""
        return bytes(await self.channel.unary_unary(METHODS[signal])(body, timeout=10, **call))

    async def post(
        self, body: bytes, signal: str = "traces", encoding: str = "application/x-protobuf", **headers: str
    ) -> httpx.Response:
        """One HTTP request; header names with `_` for `-`."""
        named = {"content-type": encoding, **{name.replace("_", "-"): value for name, value in headers.items()}}
        return await self.http.post(f"/v1/{signal}", content=body, headers=named)


Receiving = Callable[..., AbstractAsyncContextManager[Receiver]]


@asynccontextmanager
async def receiving(
    limits: Limits | None = None,
    *,
    metrics: bool = False,
    redact: tuple[str, ...] = (),
    tls: Tls | None = None,
    auth: Auth | None = None,
    environment: dict[str, str] | None = None,
    body_timeout: float = 5.0,
    header_timeout: float = 5.0,
    connections: int = 0,
) -> AsyncIterator[Receiver]:
    receiver = Receiver()
    limits = limits or Limits()
    receiver.admission = Admission(
        accept=receiver.keep,
        pass_on=receiver.pass_on if metrics else None,
        limits=limits,
        redactor=Redactor(redact, "[REDACTED]"),
        meter=receiver,
        chance=receiver.chance,
    )
    certificates = Certificates(tls or Tls())
    tokens = Tokens(auth or Auth(), environment or {}, lambda: 1_800_000_000.0)
    http = HttpServer(
        OtlpApplication(receiver.admission, tokens, body_timeout),
        bind("127.0.0.1:0", "receive.http.endpoint"),
        certificates,
        header_timeout=header_timeout,
        connections=connections,
    )
    rpc = RpcServer("127.0.0.1:0", "receive.grpc.endpoint", certificates, tokens, message_size=limits.message_size)
    rpc.add(handlers(receiver.admission, body_timeout))
    rpc.bind()
    await http.start()
    await rpc.start()
    receiver.http_port, receiver.grpc_port = http.port, rpc.port
    scheme = "https" if certificates.enabled else "http"
    options = [("grpc.max_send_message_length", -1)]
    async with (
        httpx.AsyncClient(base_url=f"{scheme}://127.0.0.1:{http.port}", timeout=10) as receiver.http,
        aio.insecure_channel(f"127.0.0.1:{rpc.port}", options=options) as receiver.channel,
    ):
        yield receiver
    await http.stop(1.0)
    await rpc.stop(1.0)


@pytest.fixture(name="receiving", scope="session")
def receiving_fixture() -> Receiving:
    """`async with receiving(limits, ...) as receiver:`"""
    return receiving
