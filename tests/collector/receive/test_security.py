"""TLS, mutual TLS and tokens on both OTLP listeners: right, wrong, expired and absent."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from grpc import aio

from collector.config.options import Auth, Tls
from collector.listen.errors import StartError
from collector.listen.http import HttpServer
from collector.listen.rpc import RpcServer
from collector.listen.sockets import bind
from collector.listen.tls import Certificates
from collector.listen.tokens import Tokens

pytestmark = pytest.mark.anyio
Receiving = Callable[..., AbstractAsyncContextManager[Any]]
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
MEDIA = {"content-type": "application/x-protobuf"}


async def over_http(
    port: int, authority: Path | None, client: Any = None, headers: dict[str, str] | None = None
) -> str:
    """The status, or "cut off" where the connection was not let in."""
    context: Any = False
    if authority:
        context = ssl.create_default_context(cafile=str(authority))
        if client:
            context.load_cert_chain(client.cert, client.key)
    scheme = "https" if authority else "http"
    try:
        async with httpx.AsyncClient(verify=context, timeout=5) as session:
            response = await session.post(
                f"{scheme}://127.0.0.1:{port}/v1/traces", content=b"", headers={**MEDIA, **(headers or {})}
            )
            return str(response.status_code)
    except (httpx.ConnectError, httpx.ReadError, httpx.RemoteProtocolError, httpx.WriteError):
        return "cut off"


async def over_grpc(
    port: int, authority: Path | None, client: Any = None, headers: dict[str, str] | None = None
) -> str:
    target = f"127.0.0.1:{port}"
    if authority:
        pair = (client.key.read_bytes(), client.cert.read_bytes()) if client else (None, None)
        channel = aio.secure_channel(target, grpc.ssl_channel_credentials(authority.read_bytes(), *pair))
    else:
        channel = aio.insecure_channel(target)
    async with channel:
        try:
            await channel.unary_unary(EXPORT)(b"", timeout=5, metadata=tuple((headers or {}).items()))
        except aio.AioRpcError as error:
            return "cut off" if error.code() is grpc.StatusCode.UNAVAILABLE else str(error.code().name)
        return "200"


@pytest.fixture(scope="module")
async def mutual(receiving: Receiving, authority: Callable[..., Any]) -> AsyncIterator[Any]:
    """A receiver with mutual TLS, its authority and another one."""
    ours, other = authority("ours"), authority("other")
    server = ours.sign("server")
    tls = Tls(cert_file=str(server.cert), key_file=str(server.key), client_ca_file=str(ours.file))
    async with receiving(tls=tls) as receiver:
        yield receiver, ours, other


@pytest.mark.parametrize("protocol", ["http", "grpc"])
@pytest.mark.parametrize(
    ("who", "days", "answer"),
    [
        ("ours", (-1, 30), "200"),
        ("ours", (-20, -10), "cut off"),
        ("ours", (10, 20), "cut off"),
        ("other", (-1, 30), "cut off"),
        ("nobody", (-1, 30), "cut off"),
    ],
    ids=["right", "expired", "not yet valid", "wrong", "absent"],
)
async def test_mutual_tls_lets_in_only_the_right_certificate(
    mutual: Any, protocol: str, who: str, days: tuple[int, int], answer: str
) -> None:
    receiver, ours, other = mutual
    client = {"ours": ours, "other": other}[who].sign("client", days) if who != "nobody" else None
    if protocol == "http":
        assert await over_http(receiver.http_port, ours.file, client) == answer
    else:
        assert await over_grpc(receiver.grpc_port, ours.file, client) == answer


async def test_plain_text_is_not_spoken_where_tls_is(mutual: Any) -> None:
    receiver, _, other = mutual
    assert await over_http(receiver.http_port, None) == "cut off"
    assert await over_grpc(receiver.grpc_port, None) == "cut off"
    assert await over_http(receiver.http_port, other.file) == "cut off", (
        "a client that trusts another authority does not talk to us"
    )
    assert await over_grpc(receiver.grpc_port, other.file) == "cut off"


@pytest.mark.parametrize(
    ("sent", "http", "code"),
    [
        ("Bearer right", "200", "200"),
        ("Bearer wrong", "401", "UNAUTHENTICATED"),
        ("Bearer expired", "401", "UNAUTHENTICATED"),
        ("", "401", "UNAUTHENTICATED"),
    ],
    ids=["right", "wrong", "expired", "absent"],
)
async def test_only_the_right_token_is_let_in(
    receiving: Receiving, tmp_path: Path, sent: str, http: str, code: str
) -> None:
    (tmp_path / "tokens").write_text("right\nexpired 2020-01-01T00:00:00Z\n", encoding="utf-8")
    async with receiving(auth=Auth(token_file=str(tmp_path / "tokens"))) as receiver:
        headers = {"authorization": sent} if sent else {}
        assert await over_http(receiver.http_port, None, None, headers) == http
        assert await over_grpc(receiver.grpc_port, None, None, headers) == code
        assert ("traces unauthenticated" in receiver.counts) is (http == "401")


@asynccontextmanager
async def secured(certificates: Certificates) -> AsyncIterator[tuple[int, int]]:
    """Both servers behind these certificates, as ports: HTTP, gRPC. Whoever is let in is answered 200."""

    async def hello(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async def export(_body: bytes, _context: Any) -> bytes:
        return b""

    http = HttpServer(hello, bind("127.0.0.1:0", "receive.http.endpoint"), certificates)
    tokens = Tokens(Auth(), {}, lambda: 0.0)
    rpc = RpcServer("127.0.0.1:0", "receive.grpc.endpoint", certificates, tokens, message_size=1000)
    service, method = EXPORT[1:].split("/")
    rpc.add([grpc.method_handlers_generic_handler(service, {method: grpc.unary_unary_rpc_method_handler(export)})])
    rpc.bind()
    await http.start()
    await rpc.start()
    yield http.port, rpc.port
    await asyncio.gather(http.stop(1), rpc.stop(1))


async def test_an_authority_that_is_taken_out_lets_nobody_in_any_more(authority: Callable[..., Any]) -> None:
    old, new = authority("old"), authority("new")
    server = new.sign("server")
    leaked, current = old.sign("leaked"), new.sign("current")
    accepted = Path(server.cert).with_name("accepted.pem")
    accepted.write_bytes(old.file.read_bytes())
    certificates = Certificates(Tls(cert_file=str(server.cert), key_file=str(server.key), client_ca_file=str(accepted)))
    async with secured(certificates) as (http, rpc):

        async def asked() -> list[str]:
            return [
                await ask(port, new.file, client)
                for client in (leaked, current)
                for ask, port in ((over_http, http), (over_grpc, rpc))
            ]

        assert await asked() == ["200", "200", "cut off", "cut off"]
        accepted.write_bytes(new.file.read_bytes())
        certificates.reload()
        assert await asked() == ["cut off", "cut off", "200", "200"]


async def test_a_renewed_certificate_is_served_to_the_next_connection(authority: Callable[..., Any]) -> None:
    first, second = authority("first"), authority("second")
    server = first.sign("server")
    certificates = Certificates(Tls(cert_file=str(server.cert), key_file=str(server.key)))

    async with secured(certificates) as (http, rpc):

        async def asked() -> list[str]:
            return [
                await ask(port, a.file) for a in (first, second) for ask, port in ((over_http, http), (over_grpc, rpc))
            ]

        assert await asked() == ["200", "200", "cut off", "cut off"]
        renewed = second.sign("server")
        server.cert.write_bytes(renewed.cert.read_bytes())
        with pytest.raises(StartError, match="cannot use the certificate"):
            certificates.reload()
        assert await asked() == ["200", "200", "cut off", "cut off"], "a certificate without its key changes nothing"
        server.key.write_bytes(renewed.key.read_bytes())
        certificates.reload()
        assert await asked() == ["cut off", "cut off", "200", "200"]


@pytest.mark.parametrize("case", ["no file", "another key", "no certificate", "an encrypted key", "no authority"])
def test_a_wrong_certificate_is_one_line(authority: Callable[..., Any], tmp_path: Path, case: str) -> None:
    ours = authority("ours")
    server, other = ours.sign("server"), ours.sign("other")
    cert, key, roots = server.cert, server.key, ""
    if case == "no file":
        cert = tmp_path / "none.pem"
    elif case == "another key":
        key = other.key
    elif case == "no certificate":
        cert = tmp_path / "text.pem"
        cert.write_text("hello", encoding="utf-8")
    elif case == "an encrypted key":
        key = tmp_path / "locked.key"
        key.write_bytes(locked(server.key.read_bytes()))
    else:
        roots = str(tmp_path / "none.pem")
    with pytest.raises(StartError) as error:
        Certificates(Tls(cert_file=str(cert), key_file=str(key), client_ca_file=roots))
    assert "\n" not in str(error.value)
    assert str(error.value).startswith("cannot use the client" if roots else "cannot use the certificate")


def locked(pem: bytes) -> bytes:
    from cryptography.hazmat.primitives import serialization

    key = serialization.load_pem_private_key(pem, None)
    encryption = serialization.BestAvailableEncryption(b"secret")
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
