from __future__ import annotations

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.emit.metrics import plan
from collector.emit.planner import Outlets, SessionEmitter
from collector.report import PreviousState, Report
from tests.collector.emit.samples import report

ALL = Outlets(review=True, evaluation=True, files=True)


def dossier(made: Report) -> str:
    return f"# {made.session_id}\n"


def test_a_revision_gives_its_samples_spans_events_and_files_at_once() -> None:
    made = report()
    emission = SessionEmitter(ALL, dossier, "1.2.3").plan(made, PreviousState())
    samples = plan(made, PreviousState())
    assert (emission.metrics, emission.sampled) == (samples.deltas, samples.marks)
    assert [(entry.id, entry.destination, entry.kind, entry.name) for entry in emission.outbox] == [
        ("review/5f0c1c8e3b0d4a5f9e21/1/0", "traces", "traces", ""),
        ("evaluation/5f0c1c8e3b0d4a5f9e21/1/0", "logs", "logs", ""),
        ("trace/5f0c1c8e3b0d4a5f9e21/1", "files", "file", "5f0c1c8e3b0d4a5f9e21/chat-4711.trace.json"),
        ("dossier/5f0c1c8e3b0d4a5f9e21/1", "files", "file", "5f0c1c8e3b0d4a5f9e21/chat-4711.dossier.md"),
    ]
    review, evaluation, trace, text = (entry.payload for entry in emission.outbox)
    assert len(ExportTraceServiceRequest.FromString(review).resource_spans[0].scope_spans[0].spans) == 2
    assert len(ExportLogsServiceRequest.FromString(evaluation).resource_logs[0].scope_logs[0].log_records) == 1
    assert (trace, text) == (b"{}\n", b"# 5f0c1c8e3b0d4a5f9e21\n")


def test_planning_twice_gives_the_same_bytes() -> None:
    emitter = SessionEmitter(ALL, dossier)
    assert emitter.plan(report(), PreviousState()) == emitter.plan(report(), PreviousState())


def test_only_what_is_wanted_is_queued_and_a_dossier_is_not_even_rendered() -> None:
    def never(_: Report) -> str:
        raise AssertionError("rendered for nobody")

    emission = SessionEmitter(Outlets(), never).plan(report(), PreviousState())
    assert emission.outbox == ()
    assert emission.metrics


def test_the_second_session_of_a_key_has_a_file_of_its_own() -> None:
    second = report(generation=2, session_id="5f0c1c8e3b0d4a5f9e21~2")
    names = [entry.name for entry in SessionEmitter(Outlets(files=True), dossier).plan(second, PreviousState()).outbox]
    assert names == [
        "5f0c1c8e3b0d4a5f9e21~2/chat-4711~2.trace.json",
        "5f0c1c8e3b0d4a5f9e21~2/chat-4711~2.dossier.md",
    ]


def test_a_session_without_handoffs_queues_no_empty_request() -> None:
    import msgspec

    empty = msgspec.structs.replace(report(), handoffs=(), traces=(), bottlenecks=())
    emission = SessionEmitter(Outlets(review=True, evaluation=True), dossier).plan(empty, PreviousState())
    assert emission.outbox == ()
