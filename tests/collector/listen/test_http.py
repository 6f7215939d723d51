"""A body comes to the application whole or in large pieces, however its sender cuts it, and in its time or not at all."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from collector.config.options import Tls
from collector.listen.http import BODY_PIECE, HttpServer
from collector.listen.sockets import bind
from collector.listen.tls import Certificates

pytestmark = pytest.mark.anyio


class Listener:
    """An application that keeps the pieces of each body, and answers when it has all."""

    def __init__(self) -> None:
        self.bodies: list[list[bytes]] = []

    async def __call__(self, _scope: Any, receive: Any, send: Any) -> None:
        pieces: list[bytes] = []
        self.bodies.append(pieces)
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            pieces.append(message["body"])
            more = message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})


async def sent(size: int, cut: int, *, whole: bool = True) -> list[list[bytes]]:
    """What an application gets of two bodies of `size` bytes, sent `cut` bytes at a time; the second one perhaps not to its end."""
    application = Listener()
    server = HttpServer(application, bind("127.0.0.1:0", "receive.http.endpoint"), Certificates(Tls()))
    await server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    for number in (1, 2):
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % size)
        body = body_of(number, size) if whole or number == 1 else body_of(number, size)[:-1]
        for at in range(0, len(body), cut):
            writer.write(body[at : at + cut])
            await writer.drain()
            await asyncio.sleep(0)
        if len(body) == size:
            assert (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)).startswith(b"HTTP/1.1 200")
    writer.close()
    await asyncio.sleep(0.05)
    await server.stop(1.0)
    return application.bodies


def body_of(number: int, size: int) -> bytes:
    return bytes((number,)) * size


@pytest.mark.parametrize(
    ("size", "cut"), [(0, 1), (1, 1), (1000, 7), (100_000, 900), (BODY_PIECE - 1, 5000), (100_000, 100_000)]
)
async def test_a_body_below_a_piece_comes_at_once(size: int, cut: int) -> None:
    assert [[piece for piece in body if piece] for body in await sent(size, cut)] == (
        [[body_of(1, size)], [body_of(2, size)]] if size else [[], []]
    )


@pytest.mark.parametrize(("size", "cut"), [(BODY_PIECE, 7000), (1_000_000, 10_000), (3_000_000, 3_000_000)])
async def test_a_long_body_comes_in_large_pieces(size: int, cut: int) -> None:
    bodies = await sent(size, cut)
    assert [b"".join(body) for body in bodies] == [body_of(1, size), body_of(2, size)]
    for *pieces, _ in bodies:
        assert all(BODY_PIECE <= len(piece) <= 2 * BODY_PIECE for piece in pieces)


async def test_of_a_body_that_ends_early_nothing_comes() -> None:
    assert await sent(1000, 100, whole=False) == [[body_of(1, 1000)], []]


async def test_a_body_that_does_not_come_ends_its_connection_and_one_that_comes_does_not() -> None:
    server = HttpServer(Listener(), bind("127.0.0.1:0", "x"), Certificates(Tls()), body_timeout=0.3)
    await server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    for _ in range(3):  # longer than the time in all
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\na")
        await asyncio.sleep(0.15)
        writer.write(b"b")
        assert (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)).startswith(b"HTTP/1.1 200 OK\r\n")
    writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\na")
    assert await asyncio.wait_for(reader.read(), 5) == b""
    writer.close()
    await server.stop(1)
