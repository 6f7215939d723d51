"""The one table of every name that we emit: attributes, instruments, events, spans.

Separate from the emitters so that metrics, review spans, log events, dashboards and docs/semantic-conventions.md all say
the same; the page is generated from this table (`make docs`).

Rules:
- names are dotted and in our own namespace `orbitrelay.`, except where OpenTelemetry has a convention of its own;
- units are UCUM as OpenTelemetry writes them; what stands in braces is an annotation and no part of a Prometheus name;
- attributes of instruments have few values: never a session id, a trace id or free text.
"""

from __future__ import annotations

from typing import Literal

import msgspec

SCOPE_NAME = "orbitrelay"
SERVICE_NAME_VALUE = "orbitrelay"

Kind = Literal["counter", "histogram", "gauge"]
Stability = Literal["development", "stable"]


class Attribute(msgspec.Struct, frozen=True):
    """An attribute key. `examples` is what docs show."""

    name: str
    type: str
    brief: str
    examples: str = ""
    stability: Stability = "development"


class Instrument(msgspec.Struct, frozen=True):
    """A metric instrument. `bounds` are a histogram's explicit bucket bounds, inclusive above.

    `stored`: its state lives in the store and changes with the revision; else it starts at zero with the process.
    """

    name: str
    kind: Kind
    unit: str
    brief: str
    attributes: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()
    stored: bool = True
    stability: Stability = "development"


class Event(msgspec.Struct, frozen=True):
    """A span event or a log event."""

    name: str
    carrier: Literal["span event", "log event"]
    brief: str
    attributes: tuple[str, ...]
    stability: Stability = "development"


class SpanName(msgspec.Struct, frozen=True):
    """A span that we make; `{}` in a name is filled in."""

    name: str
    brief: str
    attributes: tuple[str, ...]
    stability: Stability = "development"


ATTRIBUTES: dict[str, Attribute] = {}
INSTRUMENTS: dict[str, Instrument] = {}
EVENTS: dict[str, Event] = {}
SPANS: dict[str, SpanName] = {}


def _attribute(name: str, type_: str, brief: str, examples: str = "", stability: Stability = "development") -> str:
    ATTRIBUTES[name] = Attribute(name, type_, brief, examples, stability)
    return name


def _instrument(
    name: str, kind: Kind, unit: str, brief: str, *attributes: str, bounds: tuple[float, ...] = (), stored: bool = True
) -> str:
    INSTRUMENTS[name] = Instrument(name, kind, unit, brief, attributes, bounds, stored)
    return name


def _event(name: str, carrier: Literal["span event", "log event"], brief: str, *attributes: str) -> str:
    EVENTS[name] = Event(name, carrier, brief, attributes)
    return name


def _span(name: str, brief: str, *attributes: str) -> str:
    SPANS[name] = SpanName(name, brief, attributes)
    return name


# --- attributes -------------------------------------------------------------------------------------------------------

SERVICE_NAME = _attribute(
    "service.name", "string", "The service that the session's agents ran in.", "billing-agents", "stable"
)
SESSION_ID = _attribute("session.id", "string", "The session's key: its own value.", "chat-4711")

HANDOFF_ID = _attribute("orbitrelay.handoff.id", "string", "The handoff's id, the same in every revision.", "h-2f1c...")
SOURCE_AGENT = _attribute("orbitrelay.handoff.source", "string", "The agent that passed control.", "planner-1")
SOURCE_ROLE = _attribute("orbitrelay.handoff.source_role", "string", "Its role.", "planner")
TARGET_AGENT = _attribute("orbitrelay.handoff.target", "string", "The agent that was to take it.", "rsr-1")
TARGET_ROLE = _attribute("orbitrelay.handoff.target_role", "string", "Its role.", "researcher")
MODE = _attribute(
    "orbitrelay.handoff.mode", "string", "Control goes and stays, an agent is called like a tool, or its answer.",
    "transfer, delegate, return",
)  # fmt: skip
STATUS = _attribute(
    "orbitrelay.handoff.status", "string", "Whether the handoff was taken up.", "completed, dropped"
)  # fmt: skip
EVIDENCE = _attribute(
    "orbitrelay.handoff.evidence", "string", "How the handoff was found.", "explicit, structural, inferred"
)
CONTRACTED = _attribute("orbitrelay.handoff.contracted", "boolean", "Whether the target's role has a contract.")
RECORDED = _attribute(
    "orbitrelay.handoff.recorded", "boolean", "False: the producer did not record what was passed; nobody knows."
)
SCORE = _attribute("orbitrelay.handoff.score", "double", "Completeness in [0, 1]; absent where unscored.", "0.7")
GRADE = _attribute("orbitrelay.handoff.grade", "string", "Grade of the score.", "A, B, C, D, F, unscored")
MISSING = _attribute("orbitrelay.handoff.missing", "string[]", "Required fields that were not passed.", "constraints")
EMPTY = _attribute("orbitrelay.handoff.empty", "string[]", "Required fields that were passed empty.", "goal")
EXTRA = _attribute("orbitrelay.handoff.extra", "string[]", "Fields passed that the contract does not list.", "mood")
UNRECORDED = _attribute(
    "orbitrelay.handoff.unrecorded", "string[]", "Required fields of which nobody can know.", "goal"
)
LATENCY = _attribute("orbitrelay.handoff.latency", "double", "Seconds from the request to the target's start.", "0.95")

FIELD_NAME = _attribute(
    "orbitrelay.field.name", "string", "The field's name in the contract; absent for fields that no contract lists.",
    "constraints",
)  # fmt: skip
FIELD_OUTCOME = _attribute(
    "orbitrelay.field.outcome", "string", "What became of the field.", "PRESENT, EMPTY, MISSING, EXTRA, UNRECORDED"
)

SESSION_REVISION = _attribute("orbitrelay.session.revision", "int", "Which report of the session this is.", "1")
CLOSE_REASON = _attribute(
    "orbitrelay.session.close_reason",
    "string",
    "Why the session closed.",
    "explicit, roots_ended, idle, max_age, drain",
)
SESSION_PARTIAL = _attribute("orbitrelay.session.partial", "string[]", "What the report knows that it lacks.")
SESSION_MEAN = _attribute("orbitrelay.session.mean_score", "double", "Mean over all scored handoffs.", "0.911429")
SESSION_MEAN_CONTRACTED = _attribute(
    "orbitrelay.session.mean_contracted", "double", "Mean over the scored handoffs with a contract.", "0.911429"
)
SESSION_HANDOFFS = _attribute("orbitrelay.session.handoffs", "int", "Handoffs of the session, over all traces.", "7")
SESSION_SCORED = _attribute("orbitrelay.session.scored", "int", "Those that have a score.", "7")
SESSION_UNSCORED = _attribute("orbitrelay.session.unscored", "int", "Those that have none.", "0")
SESSION_WEAKEST = _attribute("orbitrelay.session.weakest_handoff", "string", "Id of the weakest handoff.", "h-2f1c...")
SESSION_AGENTS = _attribute("orbitrelay.session.agents", "int", "Agents of the session.", "4")
SESSION_TOKENS = _attribute("orbitrelay.session.tokens", "int", "Tokens of the session's model calls.", "5120")
CONTRACT_NAME = _attribute(
    "orbitrelay.session.contract_name", "string", "Name of the contract rule that was used.", "billing"
)
CONTRACT_HASH = _attribute(
    "orbitrelay.session.contract_hash", "string", "SHA-256 of what that rule asks.", "b19f972a..."
)

BOTTLENECK_KIND = _attribute(
    "orbitrelay.bottleneck.kind",
    "string",
    "Which detector found it.",
    "latency, fan_in, fan_out, rework, cycle, dropped",
)
BOTTLENECK_SUBJECT = _attribute(
    "orbitrelay.bottleneck.subject", "string", "The agent or pair at fault.", "rsr-1 -> eng-1"
)
BOTTLENECK_SEVERITY = _attribute("orbitrelay.bottleneck.severity", "double", "Severity in (0, 1].", "0.5")
BOTTLENECK_MEASURED = _attribute(
    "orbitrelay.bottleneck.measured", "double", "What was measured: milliseconds, or a count.", "950"
)
BOTTLENECK_THRESHOLD = _attribute("orbitrelay.bottleneck.threshold", "double", "What it was held against.", "547.016")

SIGNAL = _attribute("orbitrelay.signal", "string", "Signal of the request.", "traces, logs, metrics")
TRANSPORT = _attribute("orbitrelay.transport", "string", "Protocol that the request came by.", "grpc, http")
REASON = _attribute("orbitrelay.reason", "string", "Why, from the table of the part that counts.", "memory, malformed")
DESTINATION = _attribute("orbitrelay.destination", "string", "Where the outbox sends to.", "traces, logs, files")

EVALUATION_NAME = _attribute(
    "gen_ai.evaluation.name", "string", "OpenTelemetry's: name of the evaluation.", "orbitrelay.handoff.completeness"
)
EVALUATION_SCORE = _attribute("gen_ai.evaluation.score.value", "double", "OpenTelemetry's: the score.", "0.7")
EVALUATION_LABEL = _attribute("gen_ai.evaluation.score.label", "string", "OpenTelemetry's: here the grade.", "C")
EVALUATION_EXPLANATION = _attribute(
    "gen_ai.evaluation.explanation", "string", "OpenTelemetry's: the outcome in words.", "missing: constraints"
)
RECORD_UID = _attribute(
    "log.record.uid", "string", "OpenTelemetry's: records with the same id are one record.", "5f0c..."
)
OVERFLOW = _attribute(
    "otel.metric.overflow", "boolean", "OpenTelemetry's: the one series of all that is over the limit of series.", "true",
    "stable",
)  # fmt: skip

# --- what others may set ----------------------------------------------------------------------------------------------

ACCEPTED: tuple[Attribute, ...] = (
    Attribute("orbitrelay.handoff.source", "string", "On a handoff's span: the agent that passes control.", "planner"),
    Attribute(
        "orbitrelay.handoff.target", "string", "On a handoff's span: the agent that is to take it.", "researcher"
    ),
    Attribute("orbitrelay.handoff.mode", "string", "`transfer` where it is not set.", "transfer, delegate, return"),
    Attribute("orbitrelay.handoff.fields", "string", "What is passed, one JSON object as text.", '{"goal": "..."}'),
    Attribute("orbitrelay.handoff.reason", "string", "Why control passes.", "needs sources"),
    Attribute("orbitrelay.handoff.status", "string", "`completed` where it is not set.", "completed, dropped"),
    Attribute("orbitrelay.agent.role", "string", "On an agent's span: its role.", "engineer"),
    Attribute(
        "orbitrelay.contract", "string", "Resource attribute: a contract in JSON; honoured if `contracts.in_band`."
    ),
    Attribute("orbitrelay.session.end", "event", "Span event or log event: the session ends here."),
)
"""Names that we read in spans instrumented by hand."""

# --- instruments ------------------------------------------------------------------------------------------------------

GRADE_BOUNDS = (0.349999, 0.549999, 0.749999, 0.899999, 0.999999, 1.0)
"""Bucket bounds of completeness: scores have 6 decimals and OpenTelemetry's bounds are inclusive above, so F, D, C, B, A, 1."""
LATENCY_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)

_PAIR = (SOURCE_ROLE, TARGET_ROLE, MODE)
_VERDICT = (*_PAIR, STATUS, GRADE, CONTRACTED)

M_HANDOFF_COMPLETENESS = _instrument(
    "orbitrelay.handoff.completeness", "histogram", "1", "Completeness of contracted handoffs.",
    *_PAIR, SERVICE_NAME, bounds=GRADE_BOUNDS,
)  # fmt: skip
M_HANDOFF_LATENCY = _instrument(
    "orbitrelay.handoff.latency", "histogram", "s", "Time from a handoff's request to the start of its target.",
    *_PAIR, bounds=LATENCY_BOUNDS,
)  # fmt: skip
M_HANDOFF_FIELDS = _instrument(
    "orbitrelay.handoff.fields", "counter", "{field}", "Fields of contracted handoffs by what became of them.",
    TARGET_ROLE, FIELD_NAME, FIELD_OUTCOME,
)  # fmt: skip
M_HANDOFF_COUNT = _instrument(
    "orbitrelay.handoff.count", "counter", "{handoff}", "Handoffs, as they stood when first reported.", *_VERDICT
)
M_HANDOFF_REVISED = _instrument(
    "orbitrelay.handoff.revised", "counter", "{handoff}",
    "Handoffs of which a later revision says something else than was counted; attributes as revised.", *_VERDICT,
)  # fmt: skip
M_SESSION_COMPLETENESS = _instrument(
    "orbitrelay.session.completeness", "histogram", "1", "Mean completeness of a session's contracted handoffs.",
    SERVICE_NAME, bounds=GRADE_BOUNDS,
)  # fmt: skip
M_SESSION_COUNT = _instrument(
    "orbitrelay.session.count", "counter", "{session}", "Sessions, by why they first closed.", CLOSE_REASON
)
M_REPORT_COUNT = _instrument(
    "orbitrelay.report.count", "counter", "{report}", "Reports: every revision of every session.", CLOSE_REASON
)
M_BOTTLENECK_COUNT = _instrument(
    "orbitrelay.bottleneck.count", "counter", "{bottleneck}", "Bottlenecks found.", BOTTLENECK_KIND
)
M_SESSION_OPEN = _instrument("orbitrelay.session.open", "gauge", "{session}", "Sessions open now.", stored=False)


def _health(name: str, kind: Kind, unit: str, brief: str, *attributes: str, bounds: tuple[float, ...] = ()) -> str:
    return _instrument(f"orbitrelay.collector.{name}", kind, unit, brief, *attributes, bounds=bounds, stored=False)


H_REQUESTS = _health("requests", "counter", "{request}", "Requests accepted.", SIGNAL, TRANSPORT)
H_REFUSED = _health(
    "requests.refused", "counter", "{request}", "Requests not accepted, by reason.", SIGNAL, TRANSPORT, REASON
)
H_RECEIVED_BYTES = _health("received", "counter", "By", "Bytes of accepted requests, uncompressed.", SIGNAL, TRANSPORT)
H_SPANS_ACCEPTED = _health("spans.accepted", "counter", "{span}", "Spans accepted.", TRANSPORT)
H_SPANS_REJECTED = _health("spans.rejected", "counter", "{span}", "Spans rejected alone, their request taken.", REASON)
H_SPANS_LATE = _health("spans.late", "counter", "{span}", "Spans that came after their session had closed.")
H_SPANS_DUPLICATE = _health("spans.duplicate", "counter", "{span}", "Spans that had come before.")
H_SPANS_STALE = _health("spans.stale", "counter", "{span}", "Poorer versions of spans that had come before.")
H_SPANS_OWN = _health("spans.own", "counter", "{span}", "Our own spans and log records, sent back to us and dropped.")
H_LOGS_ACCEPTED = _health("logs.accepted", "counter", "{record}", "Log records accepted.", TRANSPORT)
H_LOGS_REJECTED = _health("logs.rejected", "counter", "{record}", "Log records rejected alone.", REASON)
H_TRACES_PLAIN = _health("traces.plain", "counter", "{trace}", "Traces without any agent visit: no session of ours.")
H_QUEUE_REQUESTS = _health("queue.requests", "gauge", "{request}", "Requests accepted and not yet decoded.")
H_QUEUE_SIZE = _health("queue.size", "gauge", "By", "Bytes accepted and not yet decoded.")
H_JOURNAL_SIZE = _health("journal.size", "gauge", "By", "Size of the journal on disk.")
H_JOURNAL_SEGMENTS = _health("journal.segments", "gauge", "{segment}", "Segments of the journal on disk.")
H_JOURNAL_CORRUPT = _health("journal.corrupt", "counter", "{record}", "Journal records that could not be read back.")
H_JOURNAL_FAILED = _health("journal.failed", "counter", "{write}", "Writes and fsyncs of the journal that failed.")
H_STORE_SIZE = _health("store.size", "gauge", "By", "Size of the store on disk.")
H_RECOVERY_FAILED = _health(
    "recovery.failed", "counter", "{session}", "Sessions and accepted requests that could not be dealt with."
)
H_EXPORT_SENT = _health("export.sent", "counter", "{entry}", "Outbox entries delivered.", DESTINATION)
H_EXPORT_RETRIES = _health(
    "export.retries", "counter", "{try}", "Tries that failed and are repeated.", DESTINATION, REASON
)
H_EXPORT_PARKED = _health(
    "export.parked", "counter", "{entry}", "Outbox entries that were refused for good and are kept aside.",
    DESTINATION, REASON,
)  # fmt: skip
H_EXPORT_REJECTED = _health(
    "export.rejected", "counter", "{item}", "Spans and log records that a destination took the request of, but not them.",
    DESTINATION,
)  # fmt: skip
H_EXPORT_DROPPED = _health(
    "export.dropped", "counter", "{entry}", "Outbox entries dropped at the bound of the outbox, the oldest first.",
    DESTINATION,
)  # fmt: skip
H_EXPORT_WAITING = _health("export.waiting", "gauge", "{entry}", "Outbox entries waiting.", DESTINATION)
H_EXPORT_WAITING_SIZE = _health("export.waiting.size", "gauge", "By", "Bytes waiting in the outbox.", DESTINATION)
H_FORWARD_HELD = _health("forward.held", "gauge", "By", "Bytes of original spans held back for annotation.")
H_FORWARD_EARLY = _health(
    "forward.unannotated", "counter", "{handoff}", "Verdicts whose original span had gone before they were known."
)

STORED_INSTRUMENTS: dict[str, Instrument] = {name: each for name, each in INSTRUMENTS.items() if each.stored}
HEALTH_INSTRUMENTS: dict[str, Instrument] = {
    name: each for name, each in INSTRUMENTS.items() if name.startswith("orbitrelay.collector.")
}

# --- events and spans -------------------------------------------------------------------------------------------------

E_COMPLETENESS = _event(
    "orbitrelay.handoff.completeness", "span event", "What one handoff passed, held against its contract.",
    HANDOFF_ID, SCORE, GRADE, MISSING, EMPTY, EXTRA, UNRECORDED,
)  # fmt: skip
E_BOTTLENECK = _event(
    "orbitrelay.bottleneck", "span event", "A bottleneck that this handoff is part of.",
    BOTTLENECK_KIND, BOTTLENECK_SUBJECT, BOTTLENECK_SEVERITY, BOTTLENECK_MEASURED, BOTTLENECK_THRESHOLD,
)  # fmt: skip
E_EVALUATION = _event(
    "gen_ai.evaluation.result", "log event",
    "The same result in OpenTelemetry's own carrier, tied to the span that made the handoff.",
    EVALUATION_NAME, EVALUATION_SCORE, EVALUATION_LABEL, EVALUATION_EXPLANATION, RECORD_UID,
    HANDOFF_ID, SESSION_REVISION,
)  # fmt: skip

S_REVIEW = _span(
    "orbitrelay.review", "One in each trace that holds a handoff; the session's totals stand on the earliest.",
    SESSION_ID, SESSION_REVISION, CLOSE_REASON, SESSION_PARTIAL, SESSION_MEAN, SESSION_MEAN_CONTRACTED, SESSION_HANDOFFS,
    SESSION_SCORED, SESSION_UNSCORED, SESSION_WEAKEST, SESSION_AGENTS, SESSION_TOKENS, CONTRACT_NAME, CONTRACT_HASH,
)  # fmt: skip
S_HANDOFF = _span(
    "handoff {source agent} -> {target agent}", "One handoff, under its trace's review span.",
    HANDOFF_ID, SESSION_REVISION, SOURCE_AGENT, SOURCE_ROLE, TARGET_AGENT, TARGET_ROLE, MODE, STATUS, EVIDENCE, CONTRACTED,
    RECORDED, SCORE, GRADE, LATENCY,
)  # fmt: skip


def is_own(scope_name: str) -> bool:
    """Whether telemetry of this scope was made by us: sent back to us, it must feed nothing."""
    return scope_name == SCOPE_NAME
