"""The OpenTelemetry SDK's own exporters, as users have them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter

from collector.config.options import Auth
from collector.receive.answers import Answer, RefusedError

pytestmark = pytest.mark.anyio
Receiving = Callable[..., AbstractAsyncContextManager[Any]]


def work(exporter: SpanExporter) -> None:
    provider = TracerProvider(resource=Resource({"service.name": "crew"}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("test").start_as_current_span("plan"):
        provider.get_tracer("test").start_span("write").end()
    provider.shutdown()


def exporter_for(receiver: Any, protocol: str, headers: dict[str, str] | None = None) -> SpanExporter:
    if protocol == "grpc":
        return GrpcExporter(
            endpoint=f"http://127.0.0.1:{receiver.grpc_port}", insecure=True, headers=headers, timeout=10
        )
    endpoint = f"http://127.0.0.1:{receiver.http_port}/v1/traces"
    return HttpExporter(endpoint=endpoint, headers=headers, timeout=10, compression=Compression.Gzip)


@pytest.mark.parametrize("protocol", ["grpc", "http"])
async def test_spans_of_the_sdk_arrive(receiving: Receiving, protocol: str) -> None:
    async with receiving(auth=Auth(token_env="TOKEN"), environment={"TOKEN": "right"}) as receiver:
        await asyncio.to_thread(work, exporter_for(receiver, protocol, {"authorization": "Bearer right"}))
        names = [
            span.name
            for _, _, body in receiver.kept
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
        assert sorted(names) == ["plan", "write"]


@pytest.mark.parametrize("protocol", ["grpc", "http"])
async def test_the_sdk_comes_back_after_a_retryable_refusal(receiving: Receiving, protocol: str) -> None:
    async with receiving() as receiver:
        receiver.fails = RefusedError(Answer.OVERLOADED, "memory is short", "memory", 1.0)
        sending = asyncio.create_task(asyncio.to_thread(work, exporter_for(receiver, protocol)))
        while not receiver.counts:
            await asyncio.sleep(0.01)
        receiver.fails = None
        await sending
        assert len(receiver.kept) == 2
        assert receiver.counts["traces accepted"] == 2
