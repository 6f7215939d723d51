"""OTLP over HTTP: POST /v1/traces, /v1/logs and /v1/metrics, protobuf and JSON, and nothing else.

Separate from the gRPC server because only the wrapping differs. A plain ASGI application: a request has one path, one method and one body,
which leaves a framework's routing nothing to do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from collector.listen.tokens import Tokens
from collector.otlp.response import Encoding, Signal, export_response
from collector.receive.admit import Admission, Receipt, Request, Slot, content_encoding
from collector.receive.answers import Answer, RefusedError

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

PATHS: dict[str, Signal] = {"/v1/traces": "traces", "/v1/logs": "logs", "/v1/metrics": "metrics"}
MEDIA: dict[str, Encoding] = {"application/x-protobuf": "protobuf", "application/json": "json"}
_CONTENT_TYPE: dict[Encoding, bytes] = {"protobuf": b"application/x-protobuf", "json": b"application/json"}


class DisconnectedError(Exception):
    """The client went away before its request was whole; nobody is there to be answered."""


class OtlpApplication:
    """The ASGI application. `body_timeout` is in seconds."""

    def __init__(self, admission: Admission, tokens: Tokens, body_timeout: float) -> None:
        self._admission = admission
        self._tokens = tokens
        self._body_timeout = body_timeout

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        media = headers.get("content-type", "").partition(";")[0].strip().lower()
        encoding = MEDIA.get(media, "json")
        signal = PATHS.get(scope["path"])
        try:
            receipt = await self._export(scope, headers, media, signal, receive)
        except RefusedError as refusal:
            self._admission.count_refusal("http", signal or "none", refusal)
            await _refuse(send, encoding, refusal)
        except DisconnectedError:
            return
        except asyncio.CancelledError:  # the server stops, and waits no longer for the rest of the request
            stopping = RefusedError(Answer.OVERLOADED, "the collector is stopping", "stopping", 5.0)
            self._admission.count_refusal("http", signal or "none", stopping)
            await _refuse(send, encoding, stopping)
        else:
            assert signal is not None  # a path that is no signal was refused
            await _answer(send, 200, encoding, export_response(signal, encoding, *receipt), [])

    async def _export(
        self, scope: dict[str, Any], headers: dict[str, str], media: str, signal: Signal | None, receive: Receive
    ) -> Receipt:
        if signal is None:
            raise RefusedError(Answer.NOT_FOUND, "expected the path /v1/traces, /v1/logs or /v1/metrics, found another")
        if scope["method"] != "POST":
            raise RefusedError(Answer.METHOD, f"expected the method POST, found {scope['method'][:20]!r}")
        if fault := self._tokens.fault(headers.get("authorization")):
            raise RefusedError(Answer.UNAUTHENTICATED, fault)
        if media not in MEDIA:
            raise RefusedError(
                Answer.MEDIA, f"expected content-type application/x-protobuf or application/json, found {media[:80]!r}"
            )
        compression = content_encoding(headers.get("content-encoding", ""))
        length = headers.get("content-length", "")
        announced = int(length) if length.isdigit() else 0
        if announced > self._admission.limits.message_size:
            raise self._too_large()
        with self._admission.slot(announced) as slot:
            try:
                async with asyncio.timeout(self._body_timeout):
                    body = await self._body(receive, slot)
            except TimeoutError as error:
                raise RefusedError(
                    Answer.SLOW, f"expected the body within {self._body_timeout:g} s (receive.http.body_timeout)"
                ) from error
            slot.enter()
            return await self._admission.admit(Request("http", signal, MEDIA[media], body, compression), slot)

    async def _body(self, receive: Receive, slot: Slot) -> bytes:
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise DisconnectedError
            if chunk := message.get("body", b""):
                chunks.append(chunk)
                size += len(chunk)
                if size > self._admission.limits.message_size:
                    raise self._too_large()
                slot.grow(len(chunk))
            if not message.get("more_body", False):
                return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def _too_large(self) -> RefusedError:
        return RefusedError(
            Answer.TOO_LARGE,
            f"expected at most {self._admission.limits.message_size} bytes, found more (limits.message_size)",
        )


def _headers(scope: dict[str, Any]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


async def _refuse(send: Send, encoding: Encoding, refusal: RefusedError) -> None:
    headers = []
    if refusal.retry_after:
        headers.append((b"retry-after", str(round(refusal.retry_after)).encode()))  # whole seconds; up as often as down
    if refusal.answer is Answer.METHOD:
        headers.append((b"allow", b"POST"))
    if refusal.answer is Answer.UNAUTHENTICATED:
        headers.append((b"www-authenticate", b"Bearer"))
    if refusal.answer in {Answer.SLOW, Answer.TOO_LARGE}:
        headers.append((b"connection", b"close"))  # the rest of the body is not waited for
    await _answer(send, refusal.answer.value.http, encoding, refusal.body(encoding), headers)


async def _answer(send: Send, status: int, encoding: Encoding, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    fixed = [(b"content-type", _CONTENT_TYPE[encoding]), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": fixed + headers})
    await send({"type": "http.response.body", "body": body})
