"""From a closed session's facts to its report: recover, analyse, put together.

Separate from the engine because it is pure: it runs in a worker, in the converter, and again under another contract.

Rules:
- the trace document depends on the facts and the contract alone; what depends on arrival goes into the report;
- of several versions of a span the best is taken, by the same order that the assembler goes by;
- a session in which no agent turns out to have run has no report.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, Protocol

import msgspec

from collector.content import apply_policy
from collector.contracts.model import NO_CONTRACT, ResolvedContract
from collector.facts import SpanFacts
from collector.recovery import recover
from collector.report import BottleneckRow, ContentPolicy, HandoffRow, Note, Report
from collector.sessions import reasons
from collector.sessions.model import Closed
from collector.sessions.sightings import Scopes
from collector.sessions.spans import rank
from orbitrelay import (
    Analysis,
    HandoffScore,
    TraceError,
    analyse,
    dumps,
    from_document,
    loads,
    trace_to_document,
    trace_to_json,
    with_contract,
)
from orbitrelay.dossier import dossier as write_dossier
from orbitrelay.scoring import grade_of

log = logging.getLogger(__name__)

_SPAN: Final = msgspec.msgpack.Decoder(SpanFacts)
_MS: Final = 1_000_000


class Book(Protocol):
    """Finds the contract for a session (`contracts.ContractBook`)."""

    def resolve(self, resource_attributes: Mapping[str, Any]) -> ResolvedContract | None:
        """Return the contract for these resource attributes, None for none."""


class Terms(msgspec.Struct, frozen=True):
    """What a report is made under. `book` None: no contracts. `hash_key` is the key of `content: hashed`. `dossier`: it comes with one."""

    book: Book | None = None
    content: ContentPolicy = "full"
    hash_key: bytes = b""
    scopes: Scopes = Scopes()
    dossier: bool = False


def close(closed: Closed, payloads: Iterable[bytes], terms: Terms, whole: bool = True) -> Report | None:
    """Make the report of a closed session from its encoded facts; None if no agent ran in it. Pure.

    `whole` False: some of the facts could not be read back, so the report is partial.
    """
    spans, broken = best_versions([*payloads, *(payload for _, payload in closed.session.tail)])
    agents = [span for span in spans if span.has_visit]
    first = min(agents, key=lambda span: (span.start_ns, span.trace_id, span.span_id), default=None)
    resource = first.resource if first is not None else {}
    contract = (terms.book.resolve(resource) if terms.book is not None else None) or NO_CONTRACT
    recovered = recover(spans, contract)
    if not recovered.document["agents"]:
        return None
    metadata = _metadata(closed, first, terms.scopes)
    document = {**recovered.document, "trace_id": closed.session.key.value, "metadata": metadata}
    notes = [Note(note.code, note.text, note.where) for note in recovered.notes]
    notes += [Note("contract", text) for text in contract.notes]
    analysis, lost = _analyse(apply_policy(document, terms.content, terms.hash_key))
    if lost:
        notes.append(
            Note("content_unusable", f"content was left out, because the trace document cannot hold it: {lost}")
        )
    partial = closed.partial if whole and not broken else (*closed.partial, reasons.UNREADABLE)
    report = _report(closed, analysis, contract, terms.content, metadata, partial, tuple(notes), spans, resource)
    return msgspec.structs.replace(report, dossier=write_dossier(analysis)) if terms.dossier else report


def best_versions(payloads: Iterable[bytes]) -> tuple[list[SpanFacts], int]:
    """Decode facts, take the best version of each span and each log record once; and count what could not be decoded."""
    best: dict[object, tuple[int, SpanFacts]] = {}
    broken = 0
    for payload in payloads:
        try:
            span = _SPAN.decode(payload)
        except msgspec.DecodeError:
            broken += 1
            continue
        identity: object = payload if span.log else (span.trace_id, span.span_id)
        version = rank(span.end_ns != 0, payload)
        known = best.get(identity)
        if known is None or version > known[0]:
            best[identity] = version, span
    return [span for _, span in best.values()], broken


def dossier(report: Report) -> str:
    """Give the dossier (Markdown) of a report, written anew where the report has none with it."""
    return report.dossier or write_dossier(analyse(loads(report.trace_json)))


class Rescored(msgspec.Struct, frozen=True):
    """What another contract makes of a stored session. `changed`: (handoff id, field or score, before, after)."""

    session_id: str
    name: str
    contract: str
    before: float | None
    after: float | None
    changed: tuple[tuple[str, str, str, str], ...]


def rescore(report: Report, contract: ResolvedContract) -> Rescored:
    """Hold a stored session against another contract, and say what changes. Roles stay as they were recovered.

    Of content that was not kept only names and emptiness are known, which is all that scores need.
    """
    before = analyse(loads(report.trace_json))
    asked = from_document({**trace_to_document(before.trace), "contract": contract.document()}).contract
    after = analyse(with_contract(before.trace, asked))
    changed: list[tuple[str, str, str, str]] = []
    for old, new in zip(before.scores.handoffs, after.scores.handoffs, strict=True):
        handoff = old.inspection.handoff.handoff_id
        was, now = dict(old.inspection.outcomes()), dict(new.inspection.outcomes())
        for field in sorted(was.keys() | now.keys()):
            if was.get(field) != now.get(field):
                changed.append((handoff, field, _outcome(was.get(field)), _outcome(now.get(field))))
        if old.score != new.score:
            changed.append((handoff, "score", str(old.score), str(new.score)))
    return Rescored(
        report.session_id,
        report.name,
        contract.name,
        before.scores.mean_score,
        after.scores.mean_score,
        tuple(changed),
    )


def _outcome(value: Any) -> str:
    return "not asked" if value is None else str(getattr(value, "value", value))


def _metadata(closed: Closed, first: SpanFacts | None, scopes: Scopes) -> dict[str, Any]:
    key = closed.session.key
    tenant, environment = scopes.read(first.scope) if first is not None else ("", "")
    known = {
        "session_key": key.kind,
        "tenant": key.tenant or tenant,
        "environment": key.environment or environment,
        "service": key.service or (first.service if first is not None else ""),
    }
    return {name: value for name, value in known.items() if value}


def _analyse(document: dict[str, Any]) -> tuple[Analysis, str]:
    """Analyse a document; where its content cannot stand in one, without that content, and why."""
    try:
        return analyse(from_document(document)), ""
    except TraceError as error:
        bare = apply_policy(document, "names")
        log.warning("session %r: content left out of its document: %s", document["trace_id"], error)
        return analyse(from_document(_mended(bare))), str(error)


def _mended(value: Any) -> Any:
    """A document whose texts are valid Unicode; ids stay distinct because each keeps its other characters."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mended(item) for item in value]
    return value


def _report(
    closed: Closed,
    analysis: Analysis,
    contract: ResolvedContract,
    content: ContentPolicy,
    metadata: Mapping[str, Any],
    partial: tuple[str, ...],
    notes: tuple[Note, ...],
    spans: Sequence[SpanFacts],
    resource: dict[str, Any],
) -> Report:
    session, scores, trace = closed.session, analysis.scores, analysis.trace
    by_id = {(span.trace_id, span.span_id): span for span in spans if not span.log}
    rows = tuple(_handoff(score, by_id) for score in scores.handoffs)
    tokens = [turn.tokens for turn in trace.turns if turn.tokens is not None]
    placed = sorted((row for row in rows if row.trace_id), key=lambda row: (row.start_ns, row.tick))
    report = Report(
        session_id=session.session_id,
        key=session.key,
        generation=session.generation,
        revision=session.revision,
        close_reason=closed.reason,
        opened_ns=session.opened_ns,
        closed_ns=session.closed_ns,
        trace_json=trace_to_json(trace),
        report_json=b"",
        partial=partial,
        first_span_ns=closed.first_ns,
        last_span_ns=closed.last_ns,
        resource=resource,
        service=str(metadata.get("service", "")),
        tenant=str(metadata.get("tenant", "")),
        environment=str(metadata.get("environment", "")),
        spans=closed.spans,
        logs=closed.logs,
        duplicates=session.duplicates,
        stale=session.stale,
        late=session.late,
        contract_name=contract.name,
        contract_hash=contract.hash,
        content=content,
        traces=tuple(dict.fromkeys(row.trace_id for row in placed)),
        mean_score=scores.mean_score,
        mean_contracted=scores.mean_contracted,
        grade="" if scores.mean_score is None else grade_of(*Fraction(str(scores.mean_score)).as_integer_ratio()),
        scored=scores.scored,
        unscored=scores.unscored,
        weakest_handoff=scores.weakest_handoff or "",
        agents=len(trace.agents),
        roles=tuple(sorted({agent.role for agent in trace.agents})),
        turns=len(trace.turns),
        tokens=sum(tokens) if tokens else None,
        handoffs=rows,
        bottlenecks=tuple(
            BottleneckRow(
                kind=found.kind,
                subject=found.subject,
                severity=float(found.severity),
                measured=float(found.measured),
                threshold=float(found.threshold),
                handoffs=tuple(found.handoff_ids),
                sentence=found.sentence,
            )
            for found in analysis.bottlenecks
        ),
        notes=notes,
    )
    return msgspec.structs.replace(
        report, report_json=dumps({"analysis": analysis.report(), "session": header(report)})
    )


def header(report: Report) -> dict[str, Any]:
    """What stands in a report beside the analysis: what the session is and how it came to close. Times in ns."""
    return {
        "session_id": report.session_id,
        "key": {name: value for name, value in msgspec.structs.asdict(report.key).items() if value},
        "name": report.name,
        "revision": report.revision,
        "close_reason": report.close_reason,
        "partial": list(report.partial),
        "opened_unix_nano": report.opened_ns,
        "closed_unix_nano": report.closed_ns,
        "first_span_unix_nano": report.first_span_ns,
        "last_span_unix_nano": report.last_span_ns,
        "service": report.service,
        "tenant": report.tenant,
        "environment": report.environment,
        "spans": report.spans,
        "logs": report.logs,
        "duplicates": report.duplicates,
        "stale": report.stale,
        "late": report.late,
        "contract": {"name": report.contract_name, "hash": report.contract_hash},
        "content": report.content,
        "notes": [msgspec.structs.asdict(note) for note in report.notes],
    }


def _handoff(score: HandoffScore, spans: Mapping[tuple[str, str], SpanFacts]) -> HandoffRow:
    inspection, handoff = score.inspection, score.inspection.handoff
    origin = handoff.origin or None
    latency = None if handoff.latency_ms is None else float(handoff.latency_ms)
    start_ns = end_ns = 0
    span = spans.get((origin.trace_id, origin.span_id)) if origin else None
    if span is not None:
        start_ns, end_ns = span.start_ns, span.end_ns
        if latency is not None and handoff.mode != "return":
            start_ns = end_ns if handoff.mode == "transfer" and end_ns else start_ns
            end_ns = start_ns + round(latency * _MS)
    return HandoffRow(
        handoff_id=handoff.handoff_id,
        source_agent=handoff.source_agent,
        source_role=inspection.source_role,
        target_agent=handoff.target_agent,
        target_role=inspection.target_role,
        mode=handoff.mode or "transfer",
        status="dropped" if handoff.is_dropped else "completed",
        evidence=origin.evidence if origin else "",
        convention=origin.convention if origin else "",
        contracted=inspection.contracted,
        recorded=handoff.recorded is not False,
        redacted=handoff.redacted is True,
        truncated=handoff.truncated is True,
        score=None if score.score is None else float(score.score),
        grade=score.grade or "",
        required=score.required,
        present_fields=inspection.present,
        missing_fields=inspection.missing,
        empty_fields=inspection.empty,
        extra_fields=inspection.extra,
        unrecorded_fields=inspection.unrecorded,
        latency_ms=latency,
        reason=handoff.reason,
        run=str(handoff.run or ""),
        tick=handoff.tick,
        trace_id=origin.trace_id if origin else "",
        span_id=origin.span_id if origin else "",
        start_ns=start_ns,
        end_ns=end_ns,
        unscored=score.unscored_reason or "",
    )
