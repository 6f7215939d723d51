"""Runs as OpenTelemetry spans (extra `otel`): GenAI agent conventions, with OrbitRelay's handoff attributes.

Separate from `telemetry` because only this module imports OpenTelemetry. The shape of a run:

    invoke_workflow portfolio_review           root; session.id and gen_ai.conversation.id are the run id
      invoke_agent supervisor
        handoff supervisor -> RiskModeler      delegate: open until the answer is back
          invoke_agent RiskModeler
            execute_tool measure_risk
            handoff RiskModeler -> supervisor  return
        ...
        handoff supervisor -> Reporter         transfer: the supervisor's visit ends with it
      invoke_agent Reporter
        chat fake

`orbitrelay.handoff.fields` and the messages hold content; OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=NO_CONTENT
leaves them out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from opentelemetry import trace as api
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer

from orchestratorx.briefs import Handoff
from orchestratorx.llm import Completion, Prompt
from orchestratorx.state import SUPERVISOR, Report
from orchestratorx.telemetry import ENDPOINTS, RunSpans

__all__ = ["WORKFLOW", "OtelExporter", "OtelRunSpans"]

WORKFLOW = "portfolio_review"
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
GRPC_PORT = 4317
# of a request with its retries, unless OTEL_EXPORTER_OTLP_TIMEOUT says otherwise: a run that ended should not wait long
TIMEOUT_SECONDS = 3


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


class OtelRunSpans(RunSpans):
    """The spans of one run. Parents are given explicitly: hops cross threads, and nodes are not nested calls."""

    def __init__(self, tracer: Tracer, run_id: str, portfolio_id: str, *, content: bool = True) -> None:
        self._tracer = tracer
        self._run_id = run_id
        self._content = content
        self._root = self._start(
            f"invoke_workflow {WORKFLOW}",
            None,
            {
                "gen_ai.operation.name": "invoke_workflow",
                "gen_ai.workflow.name": WORKFLOW,
                "gen_ai.conversation.id": run_id,
                "session.id": run_id,
                "orchestratorx.portfolio_id": portfolio_id,
            },
        )
        self._supervisor = self._start(f"invoke_agent {SUPERVISOR}", self._root, self._agent(SUPERVISOR))
        self._delegation: Span | None = None
        self._visit: Span | None = None

    def _start(self, name: str, parent: Span | None, attributes: Mapping[str, Any]) -> Span:
        context = api.set_span_in_context(parent) if parent is not None else None
        return self._tracer.start_span(name, context=context, attributes=dict(attributes), record_exception=False)

    def _agent(self, name: str) -> dict[str, Any]:
        return {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": name,
            "gen_ai.conversation.id": self._run_id,
        }

    def _handoff(self, handoff: Handoff, parent: Span | None) -> Span:
        attributes = {
            "orbitrelay.handoff.source": handoff.source,
            "orbitrelay.handoff.target": handoff.target,
            "orbitrelay.handoff.mode": handoff.mode,
            "orbitrelay.handoff.reason": handoff.reason,
            "gen_ai.conversation.id": self._run_id,
        }
        if self._content:
            attributes["orbitrelay.handoff.fields"] = _json(dict(handoff.fields))
        return self._start(f"handoff {handoff.source} -> {handoff.target}", parent, attributes)

    def delegate(self, handoff: Handoff) -> None:
        """Open the handoff; the specialist's visit becomes its child."""
        self._delegation = self._handoff(handoff, self._supervisor)

    def transfer(self, handoff: Handoff) -> None:
        """Make the handoff and end the supervisor's visit: control does not come back."""
        span = self._handoff(handoff, self._supervisor)
        span.set_attribute("orbitrelay.handoff.status", "completed")
        span.end()
        self._supervisor.end()

    def give_back(self, handoff: Handoff) -> None:
        """Make the return within the specialist's visit."""
        span = self._handoff(handoff, self._visit)
        span.set_attribute("orbitrelay.handoff.status", "completed")
        span.end()
        if self._delegation is not None:
            self._delegation.set_attribute("orbitrelay.handoff.status", "completed")

    def drop(self, reason: str) -> None:
        """Mark the delegation as one that nobody answered."""
        if self._delegation is not None:
            self._delegation.set_attribute("orbitrelay.handoff.status", "dropped")
            self._delegation.set_status(Status(StatusCode.ERROR, reason))

    @contextmanager
    def visit(self, agent: str) -> Iterator[None]:
        """One `invoke_agent` span: under the delegation, or under the root after a transfer."""
        span = self._start(f"invoke_agent {agent}", self._delegation or self._root, self._agent(agent))
        self._visit = span
        try:
            with super().visit(agent), api.use_span(span, record_exception=False, set_status_on_exception=False):
                yield
        finally:
            span.end()
            self._visit = None
            if self._delegation is not None:
                self._delegation.end()
                self._delegation = None

    def attempt_failed(self, attempt: int, error: BaseException) -> None:
        """An exception event on the visit."""
        if self._visit is not None:
            self._visit.record_exception(error, {"orchestratorx.attempt": attempt})

    def visit_ended(self, summary: str, error: str | None) -> None:
        """What the agent said, or the error status of its visit."""
        if self._visit is None:
            return
        if error is not None:
            self._visit.set_status(Status(StatusCode.ERROR, error))
            self._visit.set_attribute("error.type", error.split(":", 1)[0])
        elif summary and self._content:
            self._visit.set_attribute("gen_ai.output.messages", _json([_message("assistant", summary)]))

    @contextmanager
    def tool(self, name: str, arguments: Mapping[str, Any]) -> Iterator[None]:
        """One `execute_tool` span under whatever span is current."""
        attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.type": "function"}
        if self._content:
            attributes["gen_ai.tool.call.arguments"] = _json(dict(arguments))
        with self._tracer.start_as_current_span(f"execute_tool {name}", attributes=attributes):
            yield

    @contextmanager
    def chat(self, provider: str, model: str, prompt: Prompt) -> Iterator[list[Completion]]:
        """One `chat` span with the messages and the tokens."""
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": model,
        }
        if self._content:
            attributes["gen_ai.system_instructions"] = _json([{"type": "text", "content": prompt.instructions}])
            attributes["gen_ai.input.messages"] = _json([_message("user", prompt.text())])
        completions: list[Completion] = []
        with self._tracer.start_as_current_span(f"chat {model}", kind=SpanKind.CLIENT, attributes=attributes) as span:
            yield completions
            for completion in completions:
                span.set_attribute("gen_ai.response.model", completion.model)
                if completion.input_tokens is not None:
                    span.set_attribute("gen_ai.usage.input_tokens", completion.input_tokens)
                if completion.output_tokens is not None:
                    span.set_attribute("gen_ai.usage.output_tokens", completion.output_tokens)
                if self._content:
                    span.set_attribute("gen_ai.output.messages", _json([_message("assistant", completion.text)]))

    def close(self, report: Report | None, error: BaseException | None) -> None:
        """End the root, saying how the run ended; OrbitRelay closes the session on `orbitrelay.session.end`."""
        if report is not None:
            self._root.set_attribute("orchestratorx.status", report.status.value)
            self._root.set_attribute("orchestratorx.escalation", report.escalation.value)
            self._root.set_attribute("orchestratorx.halted", report.halted)
            self._root.set_attribute("orchestratorx.hop_budget_spent", report.budget_spent)
            if report.halted:
                self._root.add_event("orchestratorx.run.halted", {"codes": [f.code for f in report.findings]})
        if error is not None:
            self._root.record_exception(error)
            self._root.set_status(Status(StatusCode.ERROR, type(error).__name__))
        if self._supervisor.is_recording():
            self._supervisor.end()
        self._root.add_event("orbitrelay.session.end")
        self._root.end()


def _otlp_exporter(environ: Mapping[str, str]) -> SpanExporter:
    """The OTLP exporter for the protocol that is named, else for the one that the endpoint's port is known for."""
    protocol = environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
    endpoint = next(environ[name] for name in ENDPOINTS if environ.get(name))
    if not protocol:
        address = urlsplit(endpoint if "://" in endpoint else f"//{endpoint}")
        protocol = "grpc" if address.port == GRPC_PORT else "http/protobuf"
    given = any(environ.get(name) for name in ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"))
    timeout = None if given else TIMEOUT_SECONDS
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter

        return GrpcExporter(insecure=urlsplit(endpoint).scheme != "https", timeout=timeout)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter

    return HttpExporter(timeout=timeout)


class OtelExporter:
    """Makes the spans of runs with a tracer provider; the caller's, or one of its own that exports by OTLP."""

    def __init__(self, provider: TracerProvider, *, content: bool = True) -> None:
        self._provider = provider
        self._content = content
        self._tracer = provider.get_tracer("orchestratorx")

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> OtelExporter:
        """An exporter as the standard variables (OTEL_*) configure it; the service is `orchestratorx` by default."""
        resource = Resource.create({} if environ.get("OTEL_SERVICE_NAME") else {SERVICE_NAME: "orchestratorx"})
        provider = TracerProvider(resource=resource)
        provider.add_span_processor(BatchSpanProcessor(_otlp_exporter(environ)))
        return cls(provider, content=environ.get(CONTENT, "").upper() not in ("NO_CONTENT", "FALSE"))

    def run(self, run_id: str, portfolio_id: str) -> RunSpans:
        """Begin a run's root span."""
        return OtelRunSpans(self._tracer, run_id, portfolio_id, content=self._content)

    def flush(self) -> None:
        """Send what is waiting; gives up after the exporter's timeout."""
        self._provider.force_flush()
