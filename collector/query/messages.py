"""Reports and sessions as protocol messages.

Separate from the services because gRPC and its HTTP twin answer with the same messages, and because the protocol changes more slowly than
what the collector keeps: here the two meet, field by field.
"""

from __future__ import annotations

from google.protobuf.timestamp_pb2 import Timestamp

from collector.pb.orbitrelay.v1 import report_pb2 as pb
from collector.report import BottleneckRow, HandoffRow, Report
from collector.store import SessionRow

_STATES = {
    "open": pb.SESSION_STATE_OPEN,
    "closed": pb.SESSION_STATE_CLOSED,
    "superseded": pb.SESSION_STATE_SUPERSEDED,
    "expired": pb.SESSION_STATE_EXPIRED,
}


def report_message(report: Report) -> pb.Report:
    """The whole report."""
    return pb.Report(
        session=session_of(report),
        handoffs=[_handoff(row) for row in report.handoffs],
        bottlenecks=[_bottleneck(row) for row in report.bottlenecks],
        notes=[pb.Note(code=note.code, message=note.message, where=note.where) for note in report.notes],
        trace_ids=report.traces,
    )


def session_of(report: Report) -> pb.Session:
    """The head of a report."""
    return pb.Session(
        session_id=report.session_id,
        name=report.name,
        key=pb.SessionKey(kind=report.key.kind, value=report.key.value),
        generation=report.generation,
        state=pb.SESSION_STATE_SUPERSEDED if report.superseded_by else pb.SESSION_STATE_CLOSED,
        revision=report.revision,
        close_reason=report.close_reason,
        partial_reasons=report.partial,
        superseded_by=report.superseded_by,
        opened_at=timestamp(report.opened_ns),
        closed_at=timestamp(report.closed_ns),
        first_span_at=timestamp(report.first_span_ns),
        last_span_at=timestamp(report.last_span_ns),
        service=report.service,
        tenant=report.tenant,
        environment=report.environment,
        counts=pb.SessionCounts(
            spans=report.spans,
            log_records=report.logs,
            duplicates=report.duplicates,
            stale=report.stale,
            late=report.late,
            handoffs=len(report.handoffs),
            dropped_handoffs=sum(row.status == "dropped" for row in report.handoffs),
            scored_handoffs=report.scored,
            unscored_handoffs=report.unscored,
            bottlenecks=len(report.bottlenecks),
            agents=report.agents,
            turns=report.turns,
            tokens=report.tokens,
        ),
        contract_name=report.contract_name,
        contract_hash=report.contract_hash,
        content=report.content,
        mean_completeness=report.mean_score,
        mean_contracted_completeness=report.mean_contracted,
        grade=report.grade,
        weakest=_weakest(report),
    )


def session_message(row: SessionRow) -> pb.Session:
    """A row of a list."""
    counts = pb.SessionCounts()
    if row.revision:
        counts = pb.SessionCounts(
            spans=row.spans,
            handoffs=row.handoffs,
            dropped_handoffs=row.dropped,
            scored_handoffs=row.scored,
            unscored_handoffs=row.unscored,
            bottlenecks=row.bottlenecks,
            agents=row.agents,
            turns=row.turns,
            tokens=row.tokens,
        )
    weakest = None
    if row.weakest_score is not None:
        weakest = pb.WeakestRelay(
            handoff_id=row.weakest_handoff,
            source=row.weakest_source,
            target=row.weakest_target,
            completeness=row.weakest_score,
        )
    return pb.Session(
        session_id=row.session_id,
        name=row.name,
        key=pb.SessionKey(kind=row.key.kind, value=row.key.value),
        generation=row.generation,
        state=_STATES[row.state],
        revision=row.revision,
        close_reason=row.close_reason,
        partial_reasons=row.partial,
        superseded_by=row.superseded_by,
        opened_at=timestamp(row.opened_ns),
        closed_at=timestamp(row.closed_ns),
        first_span_at=timestamp(row.first_span_ns),
        last_span_at=timestamp(row.last_span_ns),
        service=row.service,
        tenant=row.tenant,
        environment=row.environment,
        counts=counts,
        contract_name=row.contract_name,
        contract_hash=row.contract_hash,
        mean_completeness=row.mean_score,
        mean_contracted_completeness=row.mean_contracted,
        grade=row.grade,
        weakest=weakest,
    )


def timestamp(nanoseconds: int) -> Timestamp | None:
    """A time in ns since the epoch; None, so that the field is not set, for 0."""
    if not nanoseconds:
        return None
    seconds, nanos = divmod(nanoseconds, 1_000_000_000)
    return Timestamp(seconds=seconds, nanos=nanos)


def _weakest(report: Report) -> pb.WeakestRelay | None:
    for row in report.handoffs:
        if row.handoff_id == report.weakest_handoff and row.score is not None:
            return pb.WeakestRelay(
                handoff_id=row.handoff_id, source=row.source_agent, target=row.target_agent, completeness=row.score
            )
    return None


def _handoff(row: HandoffRow) -> pb.Handoff:
    return pb.Handoff(
        handoff_id=row.handoff_id,
        source=pb.Agent(name=row.source_agent, role=row.source_role),
        target=pb.Agent(name=row.target_agent, role=row.target_role),
        mode=row.mode,
        status=row.status,
        evidence=row.evidence,
        convention=row.convention,
        contracted=row.contracted,
        recorded=row.recorded,
        redacted=row.redacted,
        truncated=row.truncated,
        completeness=row.score,
        grade=row.grade,
        required_fields=row.required,
        present_fields=row.present_fields,
        missing_fields=row.missing_fields,
        empty_fields=row.empty_fields,
        extra_fields=row.extra_fields,
        unrecorded_fields=row.unrecorded_fields,
        latency_ms=row.latency_ms,
        reason=row.reason,
        run=row.run,
        tick=row.tick,
        trace_id=row.trace_id,
        span_id=row.span_id,
        started_at=timestamp(row.start_ns),
        ended_at=timestamp(row.end_ns),
    )


def _bottleneck(row: BottleneckRow) -> pb.Bottleneck:
    return pb.Bottleneck(
        kind=row.kind,
        subject=row.subject,
        severity=row.severity,
        measured=row.measured,
        threshold=row.threshold,
        handoff_ids=row.handoffs,
        sentence=row.sentence,
    )
