from __future__ import annotations

import msgspec
from google.protobuf import text_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.conventions.extract import extract
from collector.emit.otlp import MAX_LIST, trace_requests
from collector.emit.review import review_spans
from collector.otlp.protobuf import decode_traces
from tests.collector.emit.samples import START, TRACE_1, TRACE_2, report, row

SECOND = 1_000_000_000


def show(*values: object) -> str:
    return "\n".join(text_format.MessageToString(value) for value in values)  # type: ignore[arg-type]


def test_a_trace_with_a_handoff_gets_a_review_and_under_it_the_handoff_with_its_events() -> None:
    review, handoff = review_spans(report())
    attributes = {item.key: show(item.value).strip() for item in review.attributes}
    assert (review.name, review.trace_id.hex(), review.parent_span_id.hex()) == (
        "orbitrelay.review",
        TRACE_1,
        "00f067aa0ba902b7",
    )
    assert (review.start_time_unix_nano, review.end_time_unix_nano) == (START, START + SECOND)
    assert attributes == {
        "session.id": 'string_value: "chat-4711"',
        "orbitrelay.session.revision": "int_value: 1",
        "orbitrelay.session.close_reason": 'string_value: "roots_ended"',
        "orbitrelay.session.mean_score": "double_value: 0.7",
        "orbitrelay.session.mean_contracted": "double_value: 0.7",
        "orbitrelay.session.handoffs": "int_value: 1",
        "orbitrelay.session.scored": "int_value: 1",
        "orbitrelay.session.unscored": "int_value: 0",
        "orbitrelay.session.weakest_handoff": 'string_value: "h1"',
        "orbitrelay.session.agents": "int_value: 2",
        "orbitrelay.session.tokens": "int_value: 120",
        "orbitrelay.session.contract_name": 'string_value: "billing"',
        "orbitrelay.session.contract_hash": 'string_value: "b19f"',
    }
    assert handoff.parent_span_id == review.span_id
    for field in ("trace_id", "span_id", "parent_span_id", "attributes"):
        handoff.ClearField(field)
    handoff.links[0].ClearField("trace_id")
    assert show(handoff) == EXPECTED_HANDOFF


EXPECTED_HANDOFF = """\
name: "handoff planner-1 -> rsr-1"
kind: SPAN_KIND_INTERNAL
start_time_unix_nano: 1700000000000000000
end_time_unix_nano: 1700000001000000000
events {
  time_unix_nano: 1700000001000000000
  name: "orbitrelay.handoff.completeness"
  attributes {
    key: "orbitrelay.handoff.id"
    value {
      string_value: "h1"
    }
  }
  attributes {
    key: "orbitrelay.handoff.score"
    value {
      double_value: 0.7
    }
  }
  attributes {
    key: "orbitrelay.handoff.grade"
    value {
      string_value: "C"
    }
  }
  attributes {
    key: "orbitrelay.handoff.missing"
    value {
      array_value {
        values {
          string_value: "constraints"
        }
      }
    }
  }
  attributes {
    key: "orbitrelay.handoff.extra"
    value {
      array_value {
        values {
          string_value: "mood"
        }
        values {
          string_value: "tone"
        }
      }
    }
  }
}
events {
  time_unix_nano: 1700000001000000000
  name: "orbitrelay.bottleneck"
  attributes {
    key: "orbitrelay.bottleneck.kind"
    value {
      string_value: "latency"
    }
  }
  attributes {
    key: "orbitrelay.bottleneck.subject"
    value {
      string_value: "planner-1 -> rsr-1"
    }
  }
  attributes {
    key: "orbitrelay.bottleneck.severity"
    value {
      double_value: 1.0
    }
  }
  attributes {
    key: "orbitrelay.bottleneck.measured"
    value {
      double_value: 950.3
    }
  }
  attributes {
    key: "orbitrelay.bottleneck.threshold"
    value {
      double_value: 547.016
    }
  }
}
links {
  span_id: "\\000\\360g\\252\\013\\251\\002\\267"
}
status {
  message: "missing: constraints"
  code: STATUS_CODE_ERROR
}
"""


def test_the_same_revision_is_the_same_spans_and_the_next_is_others() -> None:
    first, again, second = (
        review_spans(report()),
        review_spans(report(closed_ns=1)),
        review_spans(report(revision=2)),
    )
    assert [span.span_id.hex() for span in first] == ["4913ccc6d486a064", "36ec1829d74407ca"]
    assert [span.span_id for span in first] == [span.span_id for span in again]
    assert not {span.span_id for span in first} & {span.span_id for span in second}
    assert trace_requests(first, "1") == trace_requests(again, "1")


def test_reviews_of_a_session_in_two_traces_are_sisters_and_the_earliest_has_the_totals() -> None:
    made = report(row("h1"), row("h2", trace_id=TRACE_2, span_id="b7ad6b7169203331"), row("h3"))
    spans = review_spans(made)
    assert [(span.name, span.trace_id.hex()[:4]) for span in spans] == [
        ("orbitrelay.review", "0af7"),
        ("handoff planner-1 -> rsr-1", "0af7"),
        ("handoff planner-1 -> rsr-1", "0af7"),
        ("orbitrelay.review", "4bf9"),
        ("handoff planner-1 -> rsr-1", "4bf9"),
    ]
    reviews = [span for span in spans if span.name == "orbitrelay.review"]
    assert [[link.span_id for link in review.links] for review in reviews] == [
        [reviews[1].span_id],
        [reviews[0].span_id],
    ]
    assert ["orbitrelay.session.handoffs" in {item.key for item in review.attributes} for review in reviews] == [
        True,
        False,
    ]


def test_only_a_missing_field_or_a_drop_is_an_error() -> None:
    rows = [
        row("h1", missing_fields=(), empty_fields=("goal",)),
        row("h2", missing_fields=(), status="dropped", score=None, grade=""),
        row("h3", missing_fields=tuple(f"f{index}" for index in range(12))),
    ]
    assert [(span.status.code, span.status.message) for span in review_spans(report(*rows))[1:]] == [
        (0, ""),
        (2, "dropped: asked for and never taken up"),
        (2, "missing: f0, f1, f2, f3, f4, f5, f6, f7, f8, f9 and 2 more"),
    ]


def test_a_handoffs_span_lasts_from_the_request_to_the_targets_start() -> None:
    rows = [
        row("known", start_ns=100, end_ns=200),
        row("not ended", start_ns=100, end_ns=0),
        row("backwards", start_ns=200, end_ns=100),
        row("nowhere", start_ns=0, end_ns=0),
    ]
    spans = review_spans(report(*rows))[1:]
    assert [(span.start_time_unix_nano, span.end_time_unix_nano) for span in spans] == [
        (100, 200),
        (100, 100),
        (200, 200),
        (START, START),
    ]


def test_hostile_names_stay_names_and_lists_are_bounded() -> None:
    hostile = row(
        source_agent="a\x1b[2J\n" + "x" * 500,
        missing_fields=tuple(f"f{index}" for index in range(500)),
    )
    _, span = review_spans(report(hostile))
    assert span.name == "handoff a\ufffd[2J\ufffd" + "x" * 93 + "… -> rsr-1"
    missing = next(item for item in span.events[0].attributes if item.key == "orbitrelay.handoff.missing")
    assert len(missing.value.array_value.values) == MAX_LIST


def test_a_session_of_a_thousand_traces_links_each_review_to_a_bounded_number_of_sisters() -> None:
    rows = [row(f"h{index}", trace_id=f"{index + 1:032x}") for index in range(300)]
    reviews = [span for span in review_spans(report(*rows)) if span.name == "orbitrelay.review"]
    assert {(len(review.links), review.dropped_links_count) for review in reviews} == {(128, 171)}


def test_a_handoff_of_no_known_origin_has_no_span() -> None:
    assert review_spans(msgspec.structs.replace(report(row(trace_id="", span_id="")), traces=())) == []


def test_requests_are_bounded_in_size_and_carry_our_name_in_resource_and_scope() -> None:
    rows = [row(f"h{index}", missing_fields=tuple(f"{'f' * 150}{n}" for n in range(100))) for index in range(100)]
    requests = trace_requests(review_spans(report(*rows)), "1.2.3")
    assert len(requests) > 1
    assert all(len(each) < 1_100_000 for each in requests)
    read = [ExportTraceServiceRequest.FromString(each).resource_spans[0] for each in requests]
    assert sum(len(each.scope_spans[0].spans) for each in read) == 101
    assert show(read[0].resource, read[0].scope_spans[0].scope) == (
        'attributes {\n  key: "service.name"\n  value {\n    string_value: "orbitrelay"\n  }\n}\n'
        '\nname: "orbitrelay"\nversion: "1.2.3"\n'
    )


def test_review_spans_that_come_back_feed_nothing_even_where_their_scope_was_lost() -> None:
    (body,) = trace_requests(review_spans(report()), "1")
    assert extract(decode_traces(body)).spans == ()
    lost = ExportTraceServiceRequest.FromString(body)
    lost.resource_spans[0].scope_spans[0].scope.name = "elsewhere"
    found = extract(decode_traces(lost.SerializeToString())).spans
    assert [(span.name, span.facts, span.has_visit) for span in found] == [
        ("orbitrelay.review", (), False),
        ("handoff planner-1 -> rsr-1", (), False),
    ]
