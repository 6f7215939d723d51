from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import text_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from collector.emit.evaluation import evaluation_records, explanation
from collector.emit.otlp import log_requests
from tests.collector.emit.samples import report, row


def test_each_handoff_is_an_evaluation_result_on_the_span_that_made_it() -> None:
    (record,) = evaluation_records(report())
    assert record.trace_id.hex() == "0af7651916cd43dd8448eb211c80319c"
    assert record.span_id.hex() == "00f067aa0ba902b7"
    record.ClearField("trace_id")
    record.ClearField("span_id")
    assert text_format.MessageToString(record, as_one_line=True, use_short_repeated_primitives=True) == (
        "time_unix_nano: 1700000001000000000 severity_number: SEVERITY_NUMBER_INFO "
        'attributes { key: "gen_ai.evaluation.name" value { string_value: "orbitrelay.handoff.completeness" } } '
        'attributes { key: "gen_ai.evaluation.score.value" value { double_value: 0.7 } } '
        'attributes { key: "gen_ai.evaluation.score.label" value { string_value: "C" } } '
        'attributes { key: "gen_ai.evaluation.explanation" value { string_value: "missing: constraints; extra: mood, tone" } } '
        'attributes { key: "log.record.uid" value { string_value: "ee6c4dc3a7b644f2" } } '
        'attributes { key: "orbitrelay.handoff.id" value { string_value: "h1" } } '
        'attributes { key: "orbitrelay.session.revision" value { int_value: 1 } } '
        'observed_time_unix_nano: 1700000060000000000 event_name: "gen_ai.evaluation.result"'
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"status": "dropped"}, "dropped: asked for and never taken up"),
        ({"recorded": False}, "not recorded: the producer did not capture what was passed"),
        ({"missing_fields": (), "extra_fields": ()}, "all required fields were passed"),
        ({"missing_fields": (), "extra_fields": (), "empty_fields": ("goal",)}, "empty: goal"),
        ({"contracted": False, "missing_fields": ()}, "no contract for this role; extra: mood, tone"),
    ],
)
def test_the_explanation_says_why(changes: dict[str, Any], said: str) -> None:
    assert explanation(row(**changes)) == said


def test_an_unscored_handoff_has_a_label_and_no_score() -> None:
    (record,) = evaluation_records(report(row(score=None, grade="", recorded=False)))
    keys = {item.key: item.value.string_value for item in record.attributes}
    assert "gen_ai.evaluation.score.value" not in keys
    assert keys["gen_ai.evaluation.score.label"] == "unscored"


def test_records_travel_under_our_scope() -> None:
    (request,) = log_requests(evaluation_records(report()), "1.2.3")
    read = ExportLogsServiceRequest.FromString(request)
    assert read.resource_logs[0].scope_logs[0].scope.name == "orbitrelay"
    assert len(read.resource_logs[0].scope_logs[0].log_records) == 1
