"""The verdicts as OTLP log events `gen_ai.evaluation.result`: OpenTelemetry's own carrier of evaluations.

Separate from the review spans because backends that know evaluations read only these. The convention's attributes:
https://github.com/open-telemetry/semantic-conventions-genai (model/gen-ai/events.yaml). It asks that the event be tied to
the span evaluated: here the span that made the handoff.

`log.record.uid` is a hash of handoff and revision: a backend that knows it takes an event that came twice for one.
"""

from __future__ import annotations

from collections.abc import Iterator

from opentelemetry.proto.logs.v1.logs_pb2 import SEVERITY_NUMBER_INFO, LogRecord

from collector import semconv
from collector.emit.metrics import UNSCORED
from collector.emit.otlp import attributes, derived_id
from collector.emit.review import explain
from collector.report import HandoffRow, Report


def evaluation_records(report: Report) -> Iterator[LogRecord]:
    """Return one log record for each handoff of the report, in relay order; the score is absent where there is none."""
    for row in report.handoffs:
        yield LogRecord(
            time_unix_nano=row.end_ns or row.start_ns or report.last_span_ns,
            observed_time_unix_nano=report.closed_ns,
            severity_number=SEVERITY_NUMBER_INFO,
            event_name=semconv.E_EVALUATION,
            trace_id=bytes.fromhex(row.trace_id),
            span_id=bytes.fromhex(row.span_id),
            attributes=attributes(
                {
                    semconv.EVALUATION_NAME: semconv.E_COMPLETENESS,
                    semconv.EVALUATION_SCORE: row.score,
                    semconv.EVALUATION_LABEL: row.grade or UNSCORED,
                    semconv.EVALUATION_EXPLANATION: explanation(row),
                    semconv.RECORD_UID: derived_id(
                        row.trace_id, row.span_id, row.handoff_id, report.revision, semconv.E_EVALUATION
                    ).hex(),
                    semconv.HANDOFF_ID: row.handoff_id,
                    semconv.SESSION_REVISION: report.revision,
                }
            ),
        )


def explanation(row: HandoffRow) -> str:
    """Return one line of why the handoff has its grade."""
    if row.status == "dropped":
        return "dropped: asked for and never taken up"
    if not row.recorded:
        return "not recorded: the producer did not capture what was passed"
    outcomes = (
        ("missing", row.missing_fields),
        ("empty", row.empty_fields),
        ("unrecorded", row.unrecorded_fields),
        ("extra", row.extra_fields),
    )
    said = "; ".join(explain(outcome, names) for outcome, names in outcomes if names)
    if not row.contracted:
        return f"no contract for this role{f'; {said}' if said else ''}"
    return said or "all required fields were passed"
