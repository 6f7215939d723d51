from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterator, Sequence

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span
from opentelemetry.sdk.metrics.export import Gauge, Sum

from collector import semconv
from collector.emit.forward import Annotated, AsReceived, make_forwarder, metrics_entry
from collector.emit.health import Health
from collector.engine.intake import Intake
from collector.otlp.encode import encode_logs
from collector.otlp.model import Batch, LogRecord, Scope
from collector.otlp.protobuf import decode_traces
from collector.pipeline import Terms
from collector.report import OutboxEntry, Position, Record, Signal
from collector.sessions.model import Rules
from collector.store import Store
from tests.collector.emit.samples import START, TRACE_1, TRACE_2, report, row

SECOND = 1_000_000_000
BOTH = {TRACE_1, TRACE_2}
ORIGIN = "00f067aa0ba902b7"
UNKNOWN_FIELD = b"\xfa\x3e\x05hello"  # field 1007, of no known message


def span(trace_id: str, span_id: str, name: str = "x", child: bool = False) -> Span:
    return Span(
        trace_id=bytes.fromhex(trace_id),
        span_id=bytes.fromhex(span_id),
        parent_span_id=b"\x09" * 8 if child else b"",
        name=name,
        end_time_unix_nano=START + SECOND,
    )


def request(*spans: Span) -> ExportTraceServiceRequest:
    scope = ScopeSpans(scope=InstrumentationScope(name="lib"), schema_url="u", spans=spans)
    return ExportTraceServiceRequest(
        resource_spans=[ResourceSpans(resource=Resource(dropped_attributes_count=1), scope_spans=[scope])]
    )


def record(body: bytes, offset: int = 0, seconds: int = 0) -> Record:
    return Record("traces", "protobuf", body, START + seconds * SECOND, position=Position(1, offset))


def take(
    forwarder: AsReceived | Annotated,
    *spans: Span,
    visited: Container[str] = (),
    offset: int = 0,
    seconds: int = 0,
    replay: bool = False,
) -> Sequence[OutboxEntry]:
    """Give one request of these spans to a forwarder."""
    body = request(*spans).SerializeToString()
    return forwarder.on_record(record(body, offset, seconds), decode_traces(body), visited, replay)


def names(entries: Sequence[OutboxEntry]) -> list[tuple[str, list[str]]]:
    """Entry ids, and the spans in each with the events on them."""
    return [
        (
            entry.id,
            [
                f"{each.name}{[event.name.rpartition('.')[2] for event in each.events] or ''}"
                for resource in ExportTraceServiceRequest.FromString(entry.payload).resource_spans
                for scope in resource.scope_spans
                for each in scope.spans
            ],
        )
        for entry in entries
    ]


@pytest.fixture
def health() -> Iterator[Health]:
    made = Health()
    yield made
    made.stop()


@pytest.fixture
def annotated(health: Health) -> Annotated:
    return hold(health, ("traces", "logs"))


def hold(health: Health, destinations: Container[str] = ("traces",), max_bytes: int = 1 << 30) -> Annotated:
    """Recognises spans by their name."""
    return Annotated(destinations, health, lambda each: each.name.startswith("agent"), max_bytes=max_bytes)


def reading(health: Health, name: str) -> int | float:
    for metric in health.metrics():
        if metric.name == f"orbitrelay.collector.{name}" and isinstance(metric.data, Sum | Gauge):
            return sum(point.value for point in metric.data.data_points)
    return 0


def test_as_received_passes_the_very_bytes_on_at_once() -> None:
    forwarder = AsReceived(("traces", "logs"))
    body = request(span(TRACE_1, ORIGIN)).SerializeToString() + UNKNOWN_FIELD
    for replay in (False, True):
        assert forwarder.on_record(record(body, 64), Batch(), BOTH, replay) == [
            OutboxEntry("forward/1/64", "traces", "traces", body)
        ]
    assert forwarder.held_from() is None
    assert (forwarder.on_report(report()), forwarder.on_tick(1 << 62), forwarder.on_discarded([TRACE_1])) == (
        (),
        (),
        (),
    )


def test_a_request_that_came_as_json_goes_on_as_protobuf_whole() -> None:
    body = json.dumps(
        {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": TRACE_1, "spanId": ORIGIN, "flags": 1}]}]}]}
    ).encode()
    (entry,) = AsReceived(("traces",)).on_record(Record("traces", "json", body, 0), Batch(), (), False)
    sent = ExportTraceServiceRequest.FromString(entry.payload).resource_spans[0].scope_spans[0].spans[0]
    assert (sent.trace_id.hex(), sent.span_id.hex(), sent.flags) == (TRACE_1, ORIGIN, 1)


def test_logs_go_on_as_they_came_and_nothing_goes_where_nothing_is_configured(annotated: Annotated) -> None:
    body = ExportLogsServiceRequest().SerializeToString()
    logs = Record("logs", "protobuf", body, 0)
    expected = [OutboxEntry("forward/0/0", "logs", "logs", body)]
    assert annotated.on_record(logs, Batch(), BOTH, False) == expected
    assert AsReceived(("traces", "logs")).on_record(logs, Batch(), BOTH, False) == expected
    assert AsReceived(("traces",)).on_record(logs, Batch(), BOTH, False) == ()


def test_traces_without_an_agent_go_on_at_once_and_the_others_wait_for_their_report(
    annotated: Annotated, health: Health
) -> None:
    spans = span(TRACE_2, "b7ad6b7169203331", "plain"), span(TRACE_1, ORIGIN, "call"), span(TRACE_1, "01" * 8, "other")
    out = take(annotated, *spans, visited={TRACE_1}, offset=10)
    assert names(out) == [(f"forward/1/10/{TRACE_2}", ["plain"])]
    assert annotated.held_from() == Position(1, 10)
    assert reading(health, "forward.held") > 0
    assert names(annotated.on_report(report())) == [
        (f"forward/1/10/{TRACE_1}", ["call['completeness', 'bottleneck']", "other"])
    ]
    assert annotated.held_from() is None
    assert reading(health, "forward.held") == 0
    assert names(annotated.on_report(report(revision=2))) == []
    assert reading(health, "forward.unannotated") == 1


def test_spans_that_end_before_their_agent_are_held_for_it(annotated: Annotated) -> None:
    assert take(annotated, span(TRACE_1, ORIGIN, "agent tool", child=True)) == []
    assert take(annotated, span(TRACE_1, "03" * 8, "http", child=True), offset=5) == []
    assert take(annotated, span(TRACE_1, "04" * 8, "agent"), visited={TRACE_1}, offset=9) == []
    assert names(annotated.on_report(report(bottlenecks=()))) == [
        (f"forward/1/0/{TRACE_1}", ["agent tool['completeness']"]),
        (f"forward/1/5/{TRACE_1}", ["http"]),
        (f"forward/1/9/{TRACE_1}", ["agent"]),
    ]


def test_a_trace_that_looked_like_an_agents_goes_on_when_its_root_has_ended_without_one(annotated: Annotated) -> None:
    assert take(annotated, span(TRACE_1, ORIGIN, "agent-less model call", child=True)) == []
    assert names(take(annotated, span(TRACE_1, "04" * 8, "GET /"), offset=9)) == [
        (f"forward/1/0/{TRACE_1}", ["agent-less model call"]),
        (f"forward/1/9/{TRACE_1}", ["GET /"]),
    ]
    assert annotated.held_from() is None


def test_annotation_only_adds_events_at_the_spans_end(annotated: Annotated) -> None:
    body = request(span(TRACE_1, ORIGIN)).SerializeToString() + UNKNOWN_FIELD
    annotated.on_record(record(body), decode_traces(body), BOTH, False)
    (entry,) = annotated.on_report(report())
    sent = ExportTraceServiceRequest.FromString(entry.payload)
    events = sent.resource_spans[0].scope_spans[0].spans[0].events
    assert [(event.name, event.time_unix_nano) for event in events] == [
        ("orbitrelay.handoff.completeness", START + SECOND),
        ("orbitrelay.bottleneck", START + SECOND),
    ]
    del events[:]
    assert sent.SerializeToString() == body


def test_a_trace_that_is_cut_out_of_a_request_keeps_its_resource_and_scope(annotated: Annotated) -> None:
    (plain,) = take(annotated, span(TRACE_1, ORIGIN), span(TRACE_2, "02" * 8), visited={TRACE_1})
    (held,) = annotated.on_report(report())
    for entry, trace_id in ((plain, TRACE_2), (held, TRACE_1)):
        (resource,) = ExportTraceServiceRequest.FromString(entry.payload).resource_spans
        (scope,) = resource.scope_spans
        assert (resource.resource.dropped_attributes_count, scope.scope.name, scope.schema_url) == (1, "lib", "u")
        assert [each.trace_id.hex() for each in scope.spans] == [trace_id]


def test_what_is_held_goes_after_thirty_seconds_without_its_verdict_which_is_counted(
    annotated: Annotated, health: Health
) -> None:
    take(annotated, span(TRACE_1, ORIGIN), visited=BOTH)
    take(annotated, span(TRACE_1, ORIGIN), visited=BOTH, offset=50, seconds=10)
    assert annotated.on_tick(START + 30 * SECOND - 1) == []
    assert names(annotated.on_tick(START + 30 * SECOND)) == [(f"forward/1/0/{TRACE_1}", ["x"])]
    assert annotated.held_from() == Position(1, 50)
    assert names(annotated.on_tick(START + 40 * SECOND)) == [(f"forward/1/50/{TRACE_1}", ["x"])]
    assert annotated.on_report(report()) == []
    assert reading(health, "forward.unannotated") == 1


def test_spans_of_a_session_still_open_go_with_the_verdicts_so_far_but_not_with_a_drop(
    annotated: Annotated, health: Health
) -> None:
    take(annotated, span(TRACE_1, ORIGIN, "call"), span(TRACE_1, "05" * 8, "asks"), visited=BOTH)
    take(annotated, span(TRACE_1, "06" * 8, "later"), visited=BOTH, offset=50, seconds=10)
    assert annotated.wanted(START + 24 * SECOND - 1) == ()
    assert annotated.wanted(START + 24 * SECOND) == (TRACE_1,)
    assert annotated.wanted(START + 25 * SECOND) == ()
    dropped = row("h2", span_id="05" * 8, status="dropped", score=None, grade="")
    annotated.on_glimpse(report(row(), dropped, bottlenecks=()))
    assert names(annotated.on_tick(START + 30 * SECOND)) == [
        (f"forward/1/0/{TRACE_1}", ["call['completeness']", "asks"])
    ]
    assert annotated.wanted(START + 34 * SECOND) == (TRACE_1,)
    taken_up = row("h2", span_id="05" * 8)
    assert names(annotated.on_report(report(row(), taken_up, bottlenecks=()))) == [
        (f"forward/1/50/{TRACE_1}", ["later"])
    ]
    assert reading(health, "forward.unannotated") == 1


def test_a_verdict_that_changes_after_it_was_told_is_counted(annotated: Annotated, health: Health) -> None:
    take(annotated, span(TRACE_1, ORIGIN, "call"), visited=BOTH)
    annotated.wanted(START + 24 * SECOND)
    annotated.on_glimpse(report(row(), bottlenecks=()))
    annotated.on_tick(START + 30 * SECOND)
    annotated.on_report(report(row(score=1.0, grade="A", missing_fields=()), bottlenecks=()))
    assert reading(health, "forward.unannotated") == 1


def test_several_handoffs_of_one_span_all_stand_on_it(annotated: Annotated) -> None:
    take(annotated, span(TRACE_1, ORIGIN), visited=BOTH)
    made = report(row("h1"), row("h2"), bottlenecks=())
    assert names(annotated.on_report(made))[0][1] == ["x['completeness', 'completeness']"]


def test_discarded_traces_go_on(annotated: Annotated) -> None:
    take(annotated, span(TRACE_1, ORIGIN), visited=BOTH)
    assert names(annotated.on_discarded([TRACE_2, TRACE_1])) == [(f"forward/1/0/{TRACE_1}", ["x"])]


def test_beyond_the_bound_the_oldest_held_go_first(health: Health) -> None:
    annotated = hold(health, max_bytes=2500)
    big = span(TRACE_1, ORIGIN, "n" * 1000)
    out = [take(annotated, big, visited=BOTH, offset=offset) for offset in range(4)]
    assert [[entry.id for entry in entries] for entries in out] == [
        [],
        [],
        [f"forward/1/0/{TRACE_1}"],
        [f"forward/1/1/{TRACE_1}"],
    ]


def test_a_replay_holds_the_same_again_under_the_same_ids(health: Health) -> None:
    spans = span(TRACE_1, ORIGIN), span(TRACE_2, "02" * 8)
    before, after = hold(health), hold(health)
    first = take(before, *spans, visited={TRACE_1})
    assert take(after, *spans, visited=BOTH, replay=True) == []  # the other trace has got an agent since
    ids = {entry.id for entry in (*first, *before.on_report(report()))}
    assert ids == {entry.id for entry in (*after.on_report(report()), *after.on_discarded([TRACE_2]))}


def test_the_mode_picks_the_forwarder(health: Health) -> None:
    assert make_forwarder("off", ("traces",), health) is None
    assert make_forwarder("annotated", (), health) is None
    assert isinstance(make_forwarder("as_received", ("traces",), health), AsReceived)
    assert isinstance(make_forwarder("annotated", ("traces",), health), Annotated)


def test_metrics_are_passed_on_in_protobuf() -> None:
    assert metrics_entry(b"\x0a\x00", "protobuf", "m1") == OutboxEntry("m1", "metrics", "metrics", b"\x0a\x00")
    assert metrics_entry(b'{"resourceMetrics":[{}]}', "json", "m1").payload == b"\x0a\x00"


def test_a_request_too_large_for_a_usual_receiver_goes_on_in_parts_and_loses_nothing(
    annotated: Annotated,
) -> None:
    many = [span(TRACE_1, f"{index + 1:016x}", f"{index}" + "n" * 500_000) for index in range(20)]
    body = request(*many).SerializeToString()
    received = AsReceived(("traces",)).on_record(record(body), Batch(), BOTH, False)
    assert take(annotated, *many, visited=BOTH) == []
    released = annotated.on_report(report())
    assert [entry.id for entry in received] == [f"forward/1/0/part/{number}" for number in range(4)]
    assert [entry.id for entry in released] == [f"forward/1/0/{TRACE_1}{suffix}" for suffix in ("", "/1", "/2", "/3")]
    for entries in (received, released):
        assert all(len(entry.payload) < 4 << 20 for entry in entries)
        assert [name for _, found in names(entries) for name in found] == [each.name for each in many]


def test_our_own_spans_and_events_sent_back_feed_nothing_and_the_loop_is_named_once(
    annotated: Annotated, caplog: pytest.LogCaptureFixture
) -> None:
    own = request(span(TRACE_1, ORIGIN, "orbitrelay.review"))
    own.resource_spans[0].scope_spans[0].scope.name = "orbitrelay"
    mixed = ExportTraceServiceRequest()
    mixed.MergeFrom(own)
    mixed.MergeFrom(request(span(TRACE_2, ORIGIN, "theirs")))
    event = LogRecord(TRACE_1, ORIGIN, "gen_ai.evaluation.result", scope=Scope("orbitrelay"))
    counted: Counter[str] = Counter()
    for forwarder in (AsReceived(("traces", "logs")), annotated):
        store = Store(None)
        store.start()
        intake = Intake(store, Rules(), Terms(), forwarder=forwarder, count=lambda name, by: counted.update({name: by}))
        bodies: list[tuple[Signal, bytes]] = [
            ("traces", own.SerializeToString()),
            ("logs", encode_logs(Batch(logs=(event,)))),
        ]
        bodies.append(("traces", mixed.SerializeToString()))
        for at, (signal, body) in enumerate(bodies):
            intake.take(Record(signal, "protobuf", body, START, position=Position(1, at), end=Position(1, at + 1)))
        assert [names for _, names in names(intake._outbox)] == [["theirs"]]
        assert intake.taken.spans == 1
        store.stop()
    assert counted[semconv.H_SPANS_OWN] == 6
    loops = [record for record in caplog.records if "take the loop out" in record.message]
    assert len(loops) == 2, "once of each intake"


def test_our_own_metrics_sent_back_are_not_passed_on() -> None:
    own = ExportMetricsServiceRequest()
    own.resource_metrics.add().scope_metrics.add().scope.name = "orbitrelay"
    assert metrics_entry(own.SerializeToString(), "protobuf", "m").payload == b""
    with pytest.raises(ValueError, match=r"."):
        metrics_entry(b"orbitrelay", "protobuf", "m")


def test_json_that_only_our_reader_accepts_goes_on_as_far_as_it_was_read() -> None:
    names = b'[{"traceId": "%s", "spanId": "%s", "name": "half a pair: \\ud83d"}]' % (b"a" * 32, b"b" * 16)
    body = b'{"resourceSpans": [{"scopeSpans": [{"spans": ' + names + b"}]}]}"
    (sent,) = AsReceived(("traces",)).on_record(Record("traces", "json", body, START), Batch(), (), replay=False)
    (resource,) = ExportTraceServiceRequest.FromString(sent.payload).resource_spans
    assert resource.scope_spans[0].spans[0].name.startswith("half a pair: ")
