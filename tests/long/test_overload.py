"""Five times what was configured, from the OpenTelemetry SDK's own exporters: refused, repeated, and nothing acknowledged lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.collector.service.conftest import serving_fixture

__all__ = ["serving_fixture"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
Serving = Callable[..., AbstractContextManager[Any]]


def session(name: str) -> Sequence[ReadableSpan]:
    """One planner that delegates to one writer, as the SDK records them."""
    memory = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource({"service.name": "crew"}))
    provider.add_span_processor(SimpleSpanProcessor(memory))
    tracer = provider.get_tracer("crew")

    def agent(role: str) -> dict[str, str]:
        return {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": role, "session.id": name}

    with (
        tracer.start_as_current_span("invoke_agent planner", attributes=agent("planner")),
        tracer.start_as_current_span("invoke_agent writer", attributes=agent("writer")),
    ):
        pass
    return memory.get_finished_spans()


def exporter(process: Any, protocol: str) -> SpanExporter:
    if protocol == "grpc":
        return GrpcExporter(endpoint=f"http://{process.address('receive.grpc')}", insecure=True, timeout=120)
    return HttpExporter(endpoint=f"http://{process.address('receive.http')}/v1/traces", timeout=120)


@pytest.mark.parametrize(
    ("reason", "options", "senders"),
    [
        ("sessions", {"limits.open_sessions": "20", "sessions.grace": "3s"}, 100),
        ("busy", {"limits.in_flight": "1", "journal.fsync": "always", "journal.group_delay": "100ms"}, 5),
        ("memory", {"limits.memory": "150KiB", "sessions.grace": "500ms"}, 100),
    ],
    ids=["open sessions", "requests at one time", "memory"],
)  # fmt: skip
def test_five_times_the_capacity_is_refused_repeated_and_taken(
    serving: Serving, tmp_path: Path, reason: str, options: dict[str, str], senders: int
) -> None:
    acknowledged: list[str] = []
    failed: list[str] = []
    rounds = 1 if senders == 100 else 6
    with serving(tmp_path, {"files.enabled": "false"} | options) as process:
        process.said("ready")

        together = threading.Barrier(senders)

        def send(number: int, first: bool = True) -> None:
            exports = exporter(process, "grpc" if number % 2 else "http")
            if first:
                together.wait()
            for name in (f"s-{number}-{at}" for at in range(rounds)):
                (acknowledged if exports.export(session(name)) is SpanExportResult.SUCCESS else failed).append(name)
            exports.shutdown()

        threads = [threading.Thread(target=send, args=(number,)) for number in range(senders)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        refusals = process.refusals()
        assert refusals.pop(reason) > 0
        assert refusals == {}
        assert len(acknowledged) >= 0.9 * rounds * senders, f"senders gave up: {failed}"
        send(senders, first=False)
        assert f"s-{senders}-0" in acknowledged, "it has recovered"

        def reported() -> dict[str, int]:
            pages = process.sessions("?page_size=200")
            return {each["name"]: each["counts"]["spans"] for each in pages}

        process.until(lambda: len(reported()) >= len(acknowledged), what="not all was reported")
        assert {name: spans for name, spans in reported().items() if name in set(acknowledged)} == dict.fromkeys(
            acknowledged, 2
        )
