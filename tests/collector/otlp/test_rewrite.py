"""Strings rewritten in place."""

from __future__ import annotations

from collector.otlp import encode, protobuf
from collector.otlp.model import Batch, Event, LogRecord, Resource, Scope, Span
from collector.otlp.rewrite import rewrite_logs, rewrite_traces
from tests.collector.otlp.worlds import SPAN, TRACE


def mark(key: str, text: str) -> str:
    return text.replace("secret", f"<{key}>")


def test_every_string_of_every_attribute_is_rewritten_and_nothing_else() -> None:
    span = Span(
        TRACE,
        SPAN,
        "secret name",
        attributes={"a": "secret", "b": ["secret", {"c": "secret"}, 1], "n": 5},
        events=(Event("secret event", attributes={"e": "secret"}),),
        status_code=2,
        status_message="secret",
        scope=Scope("secret lib", attributes={"s": "secret"}),
        resource=Resource({"r": "secret"}),
    )

    written = protobuf.decode_traces(rewrite_traces(encode.encode_traces(Batch(spans=(span,))), mark)).spans[0]

    assert (written.name, written.scope.name, written.events[0].name) == ("secret name", "secret lib", "secret event")
    assert dict(written.attributes) == {"a": "<a>", "b": ["<b>", {"c": "<b>"}, 1], "n": 5}
    assert (written.events[0].attributes, written.status_message) == ({"e": "<e>"}, "<status.message>")
    assert (written.scope.attributes, written.resource.attributes) == ({"s": "<s>"}, {"r": "<r>"})


def test_log_bodies_are_rewritten_too() -> None:
    log = LogRecord(body={"x": "secret"}, attributes={"a": "secret"})

    written = protobuf.decode_logs(rewrite_logs(encode.encode_logs(Batch(logs=(log,))), mark)).logs[0]

    assert (written.body, written.attributes) == ({"x": "<body>"}, {"a": "<a>"})


def test_unknown_fields_pass_through() -> None:
    body = encode.encode_traces(Batch(spans=(Span(TRACE, SPAN, "s", attributes={"a": "secret"}),))) + b"\xfa\x01\x02hi"

    written = rewrite_traces(body, mark)

    assert written.endswith(b"\xfa\x01\x02hi")
    assert protobuf.decode_traces(written).spans[0].attributes == {"a": "<a>"}


def test_bytes_are_rewritten_as_the_text_that_they_hold() -> None:
    span = Span(TRACE, SPAN, "s", attributes={"a": b"\xff\x00secret\xfe", "b": [b"{'k': 'secret'}"], "c": b"\xff"})

    written = protobuf.decode_traces(rewrite_traces(encode.encode_traces(Batch(spans=(span,))), mark)).spans[0]

    assert dict(written.attributes) == {"a": b"\xff\x00<a>\xfe", "b": [b"{'k': '<b>'}"], "c": b"\xff"}
