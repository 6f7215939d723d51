"""Exports of trace stores, each composed in the shape its documentation gives, read as the spans that were sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.otlp.model import Link, Span
from tests.collector.dumps.worlds import BRIEF, CHILD, ROOT, START, TRACE, brief, read, said

MICRO = START // 1000

JAEGER: dict[str, Any] = {
    "data": [
        {
            "traceID": TRACE,
            "spans": [
                {
                    "traceID": TRACE,
                    "spanID": "a1",
                    "operationName": "invoke_agent planner",
                    "references": [],
                    "startTime": MICRO,
                    "duration": 3_000_000,
                    "tags": [
                        {"key": "gen_ai.agent.name", "type": "string", "value": "planner"},
                        {"key": "otel.scope.name", "type": "string", "value": "lib"},
                        {"key": "otel.scope.version", "type": "string", "value": "1.0"},
                        {"key": "span.kind", "type": "string", "value": "internal"},
                        {"key": "internal.span.format", "type": "string", "value": "otlp"},
                        {"key": "big", "type": "int64", "value": "9007199254740993"},
                        {"key": "flag", "type": "bool", "value": False},
                    ],
                    "logs": [
                        {
                            "timestamp": MICRO + 5,
                            "fields": [
                                {"key": "event", "type": "string", "value": "gen_ai.choice"},
                                {"key": "content", "type": "string", "value": "hi"},
                            ],
                        }
                    ],
                    "processID": "p1",
                    "warnings": None,
                },
                {
                    "traceID": TRACE,
                    "spanID": CHILD,
                    "operationName": "invoke_agent writer",
                    "references": [
                        {"refType": "FOLLOWS_FROM", "traceID": "ff", "spanID": "b1"},
                        {"refType": "CHILD_OF", "traceID": TRACE, "spanID": ROOT},
                    ],
                    "startTime": MICRO + 1_000_000,
                    "duration": 1_000_000,
                    "tags": [
                        {"key": "otel.status_code", "type": "string", "value": "ERROR"},
                        {"key": "error", "type": "bool", "value": True},
                        {"key": "otel.status_description", "type": "string", "value": "broke"},
                    ],
                    "logs": [],
                    "processID": "p1",
                },
            ],
            "processes": {"p1": {"serviceName": "desk", "tags": [{"key": "host", "type": "string", "value": "h"}]}},
            "warnings": None,
        }
    ],
    "total": 0,
    "errors": None,
}


def dumps(value: Any, pretty: bool = False) -> bytes:
    return json.dumps(value, indent=2 if pretty else None).encode()


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (dumps(JAEGER), "Jaeger JSON lines"),
        (dumps(JAEGER, pretty=True), "Jaeger JSON"),
        (dumps(JAEGER["data"][0]) + b"\n", "Jaeger JSON lines"),
        (dumps(JAEGER["data"], pretty=True), "Jaeger JSON"),
    ],
)
def test_jaeger_is_read_from_its_api_and_its_page(data: bytes, name: str) -> None:
    spans, notes = read(data)

    assert brief(spans) == BRIEF
    assert said(notes) == [f"format: dump: read as {name}"]


def test_what_jaeger_made_tags_of_is_made_of_tags_again() -> None:
    root, child = read(dumps(JAEGER))[0]

    assert root.attributes == {"gen_ai.agent.name": "planner", "big": 9007199254740993, "flag": False}
    assert (root.scope.name, root.scope.version, root.kind) == ("lib", "1.0", 1)
    assert root.resource.attributes == {"host": "h", "service.name": "desk"}
    assert [(e.name, e.time_unix_nano, e.attributes) for e in root.events] == [
        ("gen_ai.choice", START + 5000, {"content": "hi"})
    ]
    assert (child.status_code, child.status_message, child.attributes) == (2, "broke", {})
    assert child.links == (Link("ff".zfill(32), "b1".zfill(16), {"opentracing.ref_type": "follows_from"}),)


def test_a_jaeger_span_without_ids_costs_itself() -> None:
    trace = {"traceID": TRACE, "processes": {}, "spans": [{"operationName": "x"}, 7, JAEGER["data"][0]["spans"][0]]}

    spans, notes = read(dumps(trace))

    assert len(spans) == 1
    assert [note.where for note in notes if note.kind == "unreadable"] == ["line 1 $.spans[0]", "line 1 $.spans[1]"]


UUID = "5b8efff7-9803-8103-d269-b633813fc60c"
LANGFUSE: dict[str, Any] = {
    "id": UUID,
    "timestamp": "2026-05-28T20:26:40.000Z",
    "name": "run",
    "sessionId": "s-1",
    "userId": "u-1",
    "observations": [
        {
            "id": ROOT,
            "traceId": UUID,
            "type": "AGENT",
            "name": "planner",
            "startTime": "2026-05-28T20:26:40.000Z",
            "endTime": "2026-05-28T20:26:43.000Z",
            "parentObservationId": None,
            "input": {"task": "plan"},
            "output": "done",
            "metadata": {"langgraph_node": "planner"},
            "level": "DEFAULT",
        },
        {
            "id": "tool-1",
            "traceId": UUID,
            "type": "TOOL",
            "name": "transfer_to_writer",
            "startTime": "2026-05-28T20:26:41.000Z",
            "endTime": "2026-05-28T20:26:41.500Z",
            "parentObservationId": ROOT,
            "input": {"ticket": "T-1"},
            "output": None,
        },
        {
            "id": "gen-1",
            "traceId": UUID,
            "type": "GENERATION",
            "name": "chat",
            "startTime": "2026-05-28T20:26:41.000Z",
            "endTime": None,
            "parentObservationId": "tool-1",
            "model": "m",
            "usageDetails": {"input": 5, "output": 2, "total": 7},
            "level": "ERROR",
            "statusMessage": "broke",
        },
    ],
}


@pytest.mark.parametrize(
    "data",
    [
        dumps(LANGFUSE),
        dumps(LANGFUSE, pretty=True),
        dumps([LANGFUSE], pretty=True),
        dumps({"data": [LANGFUSE], "meta": {"page": 1}}, pretty=True),
        dumps({"data": [LANGFUSE], "meta": {"page": 1}}),
        dumps({"trace": LANGFUSE | {"observations": []}, "observations": LANGFUSE["observations"]}),
    ],
    ids=["line", "document", "list", "page", "page on one line", "trace beside observations"],
)
def test_langfuse_traces_are_read_as_spans_with_the_attributes_of_their_types(data: bytes) -> None:
    agent, tool, model = read(data)[0]

    assert [(s.trace_id, s.span_id, s.parent_span_id) for s in (agent, tool, model)] == [
        (TRACE, ROOT, ""),
        (TRACE, tool.span_id, ROOT),
        (TRACE, model.span_id, tool.span_id),
    ]
    assert (agent.start_unix_nano, agent.end_unix_nano) == (START, START + 3 * 10**9)
    assert agent.attributes == {
        "session.id": "s-1",
        "user.id": "u-1",
        "langfuse.observation.type": "agent",
        "openinference.span.kind": "AGENT",
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "planner",
        "input.value": '{"task":"plan"}',
        "input.mime_type": "application/json",
        "output.value": "done",
        "output.mime_type": "text/plain",
        "metadata": '{"langgraph_node":"planner"}',
    }
    assert tool.attributes["gen_ai.tool.call.arguments"] == '{"ticket":"T-1"}'
    assert "gen_ai.tool.call.result" not in tool.attributes
    assert (model.end_unix_nano, model.status_code, model.status_message) == (0, 2, "broke")
    assert model.attributes["gen_ai.usage.input_tokens"] == 5
    assert model.attributes["gen_ai.request.model"] == "m"


def test_langfuse_observations_stand_alone_too() -> None:
    lines = b"\n".join(dumps(o | {"sessionId": "s-1"}) for o in LANGFUSE["observations"])

    spans, notes = read(lines)

    assert [span.name for span in spans] == ["planner", "transfer_to_writer", "chat"]
    assert said(notes) == ["format: dump: read as Langfuse JSON lines"]


def test_opentelemetry_inside_langfuse_is_read_as_it_was_sent() -> None:
    observation = LANGFUSE["observations"][0] | {
        "metadata": {
            "attributes": {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "Planner"},
            "resourceAttributes": {"service.name": "desk"},
            "scope": {"name": "strands.telemetry.tracer", "version": "1"},
        }
    }

    span = read(dumps(observation))[0][0]

    assert (span.scope.name, span.resource.service) == ("strands.telemetry.tracer", "desk")
    assert "openinference.span.kind" not in span.attributes
    assert span.attributes["gen_ai.agent.name"] == "Planner"


def test_a_langfuse_trace_with_ids_for_observations_says_what_is_missing() -> None:
    spans, notes = read(dumps(LANGFUSE | {"observations": ["o-1", "o-2"]}))

    assert spans == []
    assert said(notes)[0] == "unreadable: dump: line 1 $.observations[0]: expected an observation, found only its id"


SDK: list[dict[str, Any]] = [
    {
        "name": "invoke_agent planner",
        "context": {"trace_id": f"0x{TRACE}", "span_id": f"0x{ROOT}", "trace_state": "[]"},
        "kind": "SpanKind.INTERNAL",
        "parent_id": None,
        "start_time": "2026-05-28T20:26:40.000000Z",
        "end_time": "2026-05-28T20:26:43.000000Z",
        "status": {"status_code": "UNSET"},
        "attributes": {"gen_ai.agent.name": "planner"},
        "events": [{"name": "e", "timestamp": "2026-05-28T20:26:40.000005Z", "attributes": {"a": 1}}],
        "links": [{"context": {"trace_id": "0xff", "span_id": "0xb1"}, "attributes": {}}],
        "resource": {"attributes": {"service.name": "desk"}, "schema_url": ""},
    },
    {
        "name": "invoke_agent writer",
        "context": {"trace_id": f"0x{TRACE}", "span_id": f"0x{CHILD}", "trace_state": "[]"},
        "kind": "SpanKind.INTERNAL",
        "parent_id": f"0x{ROOT}",
        "start_time": "2026-05-28T20:26:41.000000Z",
        "end_time": "2026-05-28T20:26:42.000000Z",
        "status": {"status_code": "ERROR", "description": "broke"},
        "attributes": {},
        "events": [],
        "links": [],
        "resource": {"attributes": {"service.name": "desk"}},
    },
]

FRAME: list[dict[str, Any]] = [
    {
        "name": "invoke_agent planner",
        "span_kind": "AGENT",
        "parent_id": None,
        "start_time": START // 10**6,
        "end_time": START // 10**6 + 3000,
        "status_code": "UNSET",
        "context.trace_id": TRACE,
        "context.span_id": ROOT,
        "attributes.input.value": '{"task": "plan"}',
        "attributes.metadata": {"thread_id": "t-1"},
        "attributes.llm.input_messages": [{"message.role": "user", "message.content": "hi"}],
        "attributes.llm.model_name": None,
        "service_name": "desk",
    },
    {
        "name": "invoke_agent writer",
        "span_kind": "LLM",
        "parent_id": ROOT,
        "start_time": START // 10**6 + 1000,
        "end_time": START // 10**6 + 2000,
        "status_code": "ERROR",
        "context.trace_id": TRACE,
        "context.span_id": CHILD,
        "service_name": "desk",
    },
]

PHOENIX: list[dict[str, Any]] = [
    {
        "id": "U3Bhbjox",
        "name": row["name"],
        "context": {"trace_id": TRACE, "span_id": row["context.span_id"]},
        "span_kind": row["span_kind"],
        "parent_id": row["parent_id"],
        "start_time": f"2026-05-28T20:26:{40 + i}+00:00",
        "end_time": f"2026-05-28T22:26:{43 - i}.000+02:00",
        "status_code": row["status_code"],
        "attributes": {"llm": {"input_messages": [{"message": {"role": "user"}}]}, "tool": {"parameters": {"a": 1}}},
        "resource": {"service.name": "desk"},
        "events": [],
    }
    for i, row in enumerate(FRAME)
]

ROWS: list[dict[str, Any]] = [
    {
        "trace_id": TRACE,
        "span_id": ROOT,
        "parent_span_id": None,
        "span_name": "invoke_agent planner",
        "start_timestamp": "2026-05-28 20:26:40",
        "end_timestamp": "2026-05-28T20:26:43Z",
        "otel_status_code": None,
        "attributes": '{"agent_name": "planner"}',
        "service_name": "desk",
        "otel_scope_name": "logfire",
    },
    {
        "TraceId": TRACE,
        "SpanId": CHILD,
        "ParentSpanId": ROOT,
        "SpanName": "invoke_agent writer",
        "Timestamp": "2026-05-28 20:26:41.000000000",
        "Duration": 10**9,
        "StatusCode": "Error",
        "SpanAttributes": {"a.b": "c"},
        "ResourceAttributes": {"service.name": "desk"},
        "ScopeName": "lib",
    },
]

OTLP_ROWS: list[dict[str, Any]] = [
    {
        "trace_id": TRACE,
        "span_id": ROOT,
        "name": "invoke_agent planner",
        "start_time_unix_nano": str(START),
        "end_time_unix_nano": START + 3 * 10**9,
        "attributes": [
            {"key": "n", "value": {"int_value": "5"}},
            {"key": "l", "value": {"array_value": {"values": []}}},
        ],
        "resource": {"attributes": [{"key": "service.name", "value": {"string_value": "desk"}}]},
    },
    {
        "traceId": TRACE,
        "spanId": CHILD,
        "parentSpanId": ROOT,
        "name": "invoke_agent writer",
        "startTimeUnixNano": str(START + 10**9),
        "endTimeUnixNano": str(START + 2 * 10**9),
        "status": {"code": 2},
        "resource": {"attributes": {"service.name": "desk"}},
    },
]

TREE: dict[str, Any] = {
    "trace_id": TRACE,
    "spans": [
        {
            "span_id": ROOT,
            "parent_span_id": "",
            "span_name": "invoke_agent planner",
            "span_kind": "Internal",
            "service_name": "desk",
            "timestamp": "2026-05-28T20:26:40.000000Z",
            "duration": "PT3S",
            "status_code": "Unset",
            "span_attributes": {"agentops": {"span": {"kind": "agent"}}},
            "child_spans": [
                {
                    "span_id": CHILD,
                    "span_name": "invoke_agent writer",
                    "service_name": "desk",
                    "timestamp": "2026-05-28T20:26:41.000000Z",
                    "duration": "PT1.0S",
                    "status_code": "Error",
                    "children": [],
                }
            ],
        }
    ],
}

AGENTOPS: dict[str, Any] = {
    "trace": {"trace_id": TRACE, "root_span_name": "x", "duration": 3 * 10**9},
    "spans": [
        {
            "span_id": ROOT,
            "parent_span_id": "",
            "span_name": "invoke_agent planner",
            "start_time": "2026-05-28T20:26:40.000000+00:00",
            "duration": 3 * 10**9,
            "status_code": "OK",
            "resource_attributes": {"service": {"name": "desk"}},
            "span_attributes": {"agentops": {"span": {"kind": "agent"}}},
        },
        {
            "span_id": CHILD,
            "parent_span_id": ROOT,
            "span_name": "invoke_agent writer",
            "start_time": "2026-05-28T20:26:41.000000+00:00",
            "end_time": "2026-05-28T20:26:42.000000+00:00",
            "resource_attributes": {"service": {"name": "desk"}},
        },
    ],
}

COLUMNS: dict[str, Any] = {name: {str(i): row.get(name) for i, row in enumerate(FRAME)} for name in FRAME[0]}

SHAPES = {
    "the console of an SDK": (b"\n".join(dumps(span, pretty=True) for span in SDK), "flattened spans"),
    "spans of an SDK by line": (b"\n".join(map(dumps, SDK)), "flattened spans lines"),
    "a data frame by record": (dumps(FRAME), "flattened spans lines"),
    "a data frame by line": (b"\n".join(map(dumps, FRAME)), "flattened spans lines"),
    "a data frame by column": (dumps(COLUMNS), "flattened spans by column lines"),
    "Phoenix's API": (dumps({"data": PHOENIX, "next_cursor": None}, pretty=True), "flattened spans"),
    "rows of span stores": (dumps(ROWS, pretty=True), "flattened spans"),
    "OTLP spans without their request": (dumps({"data": OTLP_ROWS}), "flattened spans lines"),
    "a tree of spans": (dumps(TREE), "nested spans lines"),
    "a tree of spans, pretty-printed": (dumps(TREE, pretty=True), "nested spans"),
    "AgentOps": (dumps(AGENTOPS, pretty=True), "nested spans"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_spans_of_their_own_are_read_whatever_their_members_are_called(shape: str) -> None:
    data, name = SHAPES[shape]

    spans, notes = read(data)

    assert brief(spans) == BRIEF
    assert said(notes) == [f"format: dump: read as {name}"]


def one(data: bytes) -> Span:
    return read(data)[0][0]


def test_attributes_are_flat_and_json_text_by_convention_is_text_again() -> None:
    assert one(dumps(PHOENIX[0])).attributes == {
        "llm.input_messages.0.message.role": "user",
        "tool.parameters": '{"a":1}',
        "openinference.span.kind": "AGENT",
    }
    assert one(dumps(FRAME[0])).attributes == {
        "input.value": '{"task": "plan"}',
        "metadata": '{"thread_id":"t-1"}',
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "hi",
        "openinference.span.kind": "AGENT",
    }
    assert one(dumps(TREE)).attributes == {"agentops.span.kind": "agent"}
    assert one(dumps(OTLP_ROWS[0])).attributes == {"n": 5, "l": []}


def test_events_links_status_and_scope_come_along() -> None:
    root, child = read(b"\n".join(map(dumps, SDK)))[0]

    assert [(e.name, e.time_unix_nano, e.attributes) for e in root.events] == [("e", START + 5000, {"a": 1})]
    assert root.links == (Link("ff".zfill(32), "b1".zfill(16)),)
    assert (root.kind, child.status_code, child.status_message) == (1, 2, "broke")
    assert one(dumps(ROWS)).scope.name == "logfire"


def test_a_tree_of_any_depth_is_read() -> None:
    span: dict[str, Any] = {"trace_id": TRACE, "span_id": f"{400:016x}", "name": "s"}
    for i in range(399, 0, -1):
        span = {"trace_id": TRACE, "span_id": f"{i:016x}", "name": "s", "children": [span]}

    spans, _ = read(dumps(span))

    assert [s.parent_span_id for s in spans] == ["", *(f"{i:016x}" for i in range(1, 400))]


def test_a_span_without_ids_costs_itself() -> None:
    spans, notes = read(dumps([SDK[0], {"name": "x", "span_id": "a"}, SDK[1]]))

    assert len(spans) == 2
    assert said(notes)[0] == "unreadable: dump: line 1, item 1 $: expected a trace id and a span id"
