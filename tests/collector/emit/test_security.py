"""Transport security to a downstream: right, wrong, expired and absent credentials, over both protocols."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest

from collector.config.options import Destination
from collector.emit.downstream import RetryableError, Sent, make_sink
from collector.emit.otlp_metrics import MetricsPush
from tests.collector.authority import Authority, Pair
from tests.collector.emit.receiver import Receiver, grpc_receiver, http_receiver
from tests.collector.emit.test_otlp_metrics import reader, rows


class World(NamedTuple):
    """Certificates of both sides; the server demands one of its own authority from clients."""

    trusted: Authority
    server: Pair
    expired: Pair
    client: Pair
    stranger: Pair
    other: Authority


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("certificates")
    trusted, other = Authority(folder), Authority(folder, "other")
    return World(
        trusted,
        trusted.sign("server"),
        trusted.sign("expired", (-9, -2)),
        trusted.sign("client"),
        other.sign("stranger"),
        other,
    )


@pytest.fixture(params=["grpc", "http"])
def protocol(request: pytest.FixtureRequest) -> Any:
    return request.param


def serve(protocol: str, receiver: Receiver, pair: Pair, client_ca: Path) -> Any:
    if protocol == "grpc":
        credentials = grpc.ssl_server_credentials(
            [(pair.key.read_bytes(), pair.cert.read_bytes())], client_ca.read_bytes(), require_client_auth=True
        )
        return grpc_receiver(receiver, credentials=credentials)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.cert, pair.key)
    context.load_verify_locations(client_ca)
    context.verify_mode = ssl.CERT_REQUIRED
    return http_receiver(receiver, context=context)


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
def endpoint(protocol: str, receiver: Receiver, world: World) -> Iterator[str]:
    with serve(protocol, receiver, world.server, world.trusted.file) as port:
        yield f"https://localhost:{port}"


def send(destination: Destination) -> Sent:
    async def once() -> Sent:
        sink = make_sink(destination)
        try:
            return await sink.send("traces", b"\x0a\x00")
        finally:
            await sink.stop()

    return asyncio.run(once())


def mutual(endpoint: str, protocol: Any, ca: Path, pair: Pair | None) -> Destination:
    cert, key = (str(pair.cert), str(pair.key)) if pair else ("", "")
    return Destination(endpoint=endpoint, protocol=protocol, ca_file=str(ca), cert_file=cert, key_file=key, timeout=3.0)


def test_with_the_right_certificates_it_is_delivered(
    endpoint: str, protocol: Any, receiver: Receiver, world: World
) -> None:
    assert send(mutual(endpoint, protocol, world.trusted.file, world.client)) == Sent()
    assert MetricsPush(reader(rows()), mutual(endpoint, protocol, world.trusted.file, world.client), 60.0).push()
    assert len(receiver.got) == 2


@pytest.mark.parametrize("wrong", ["authority", "client", "none", "plain"])
def test_with_a_wrong_or_absent_certificate_it_waits(
    endpoint: str, protocol: Any, receiver: Receiver, world: World, wrong: str
) -> None:
    destination = {
        "authority": mutual(endpoint, protocol, world.other.file, world.client),
        "client": mutual(endpoint, protocol, world.trusted.file, world.stranger),
        "none": mutual(endpoint, protocol, world.trusted.file, None),
        "plain": mutual(endpoint.replace("https", "http"), protocol, world.trusted.file, None),
    }[wrong]
    with pytest.raises(RetryableError):
        send(destination)
    assert MetricsPush(reader(rows()), destination, 60.0).push() is False
    assert receiver.got == []


def test_an_expired_server_certificate_is_not_trusted(protocol: Any, receiver: Receiver, world: World) -> None:
    with serve(protocol, receiver, world.expired, world.trusted.file) as port:
        destination = mutual(f"https://localhost:{port}", protocol, world.trusted.file, world.client)
        with pytest.raises(RetryableError):
            send(destination)
        assert MetricsPush(reader(rows()), destination, 60.0).push() is False
    assert receiver.got == []


def test_a_certificate_that_cannot_be_read_is_said_at_the_start(protocol: Any, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"No such file|none\.pem"):
        make_sink(Destination(endpoint="https://localhost:1", protocol=protocol, ca_file=str(tmp_path / "none.pem")))
