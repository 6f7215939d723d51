"""The seam to OpenTelemetry: what the rest of the package tells it, and a default that does nothing.

Separate from `otel.py` so that nothing here needs the extra `otel`. The graph talks to one RunSpans for each run;
agents reach the spans of the run they are in by `tool_span` and `chat_span`, which follow the context (threads
included, as the caller copies it) and do nothing outside a run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from orchestratorx.briefs import Handoff
from orchestratorx.llm import Completion, Prompt
from orchestratorx.state import Report

__all__ = ["ENDPOINTS", "Exporter", "RunSpans", "chat_span", "exporter_from_environment", "tool_span"]

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


class RunSpans:
    """The spans of one run. This one records nothing; `otel.OtelRunSpans` does.

    Calls come in the order of the hops, from one thread at a time.
    """

    def delegate(self, handoff: Handoff) -> None:
        """The supervisor asks a specialist; open until `give_back` or `drop`."""

    def transfer(self, handoff: Handoff) -> None:
        """The supervisor hands control over for good."""

    def give_back(self, handoff: Handoff) -> None:
        """The specialist's answer, or its failure, goes back."""

    def drop(self, reason: str) -> None:
        """The delegation that is open was not answered in time."""

    @contextmanager
    def visit(self, agent: str) -> Iterator[None]:
        """One visit to an agent; spans made inside belong to it."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def attempt_failed(self, attempt: int, error: BaseException) -> None:
        """An attempt within the visit that is open failed."""

    def visit_ended(self, summary: str, error: str | None) -> None:
        """How the visit that is open ended."""

    @contextmanager
    def tool(self, name: str, arguments: Mapping[str, Any]) -> Iterator[None]:
        """One deterministic tool of the agent that is running."""
        yield

    @contextmanager
    def chat(self, provider: str, model: str, prompt: Prompt) -> Iterator[list[Completion]]:
        """One model call; the caller appends the completion."""
        yield []

    def close(self, report: Report | None, error: BaseException | None) -> None:
        """The run is over."""


_current: ContextVar[RunSpans | None] = ContextVar("orchestratorx_run_spans", default=None)


@contextmanager
def tool_span(name: str, arguments: Mapping[str, Any]) -> Iterator[None]:
    """One deterministic tool call of the agent that is running."""
    spans = _current.get()
    if spans is None:
        yield
    else:
        with spans.tool(name, arguments):
            yield


@contextmanager
def chat_span(provider: str, model: str, prompt: Prompt) -> Iterator[list[Completion]]:
    """One model call of the agent that is running; append the completion to what this yields."""
    spans = _current.get()
    if spans is None:
        yield []
    else:
        with spans.chat(provider, model, prompt) as completions:
            yield completions


class Exporter(Protocol):
    """Makes the spans of runs and sends them off."""

    def run(self, run_id: str, portfolio_id: str) -> RunSpans:
        """Begin a run's root span."""
        ...

    def flush(self) -> None:
        """Send what is waiting; returns in a few seconds, also when nobody listens."""
        ...


class _Nothing:
    def run(self, run_id: str, portfolio_id: str) -> RunSpans:
        return RunSpans()

    def flush(self) -> None:
        return None


def exporter_from_environment(environ: Mapping[str, str] = os.environ) -> Exporter:
    """An OTLP exporter where an endpoint is set and the extra `otel` is installed, else one that does nothing."""
    disabled = environ.get("OTEL_SDK_DISABLED", "").lower() == "true" or environ.get("OTEL_TRACES_EXPORTER") == "none"
    if disabled or not any(environ.get(name) for name in ENDPOINTS):
        return _Nothing()
    try:
        from orchestratorx.otel import OtelExporter
    except ImportError:
        return _Nothing()
    return OtelExporter.from_environment(environ)
