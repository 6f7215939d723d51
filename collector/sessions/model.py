"""What the assembler goes by, takes and gives: its rules, sightings of spans, closes of sessions, and what is to be stored.

Separate from the assembler so that whoever hands in or takes up these values knows nothing of how sessions are kept.
"""

from __future__ import annotations

import msgspec

from collector.sessions import reasons
from collector.sessions.keys import TRACE, Claim
from collector.sessions.state import Chunk, Session, SessionRecord, TraceRecord


class Rules(msgspec.Struct, frozen=True):
    """The close rules and bounds. Times in ns. `session_spans`, `session_size` (bytes of facts) 0: no limit.

    `discarded_window`: how long a trace that closed without an agent is remembered, in case one follows.
    `resident_spans`: spans whose ids stay in memory before quiet ones move to the archive.
    """

    grace_ns: int = 15_000_000_000
    idle_ns: int = 300_000_000_000
    max_age_ns: int = 21_600_000_000_000
    reopen_window_ns: int = 86_400_000_000_000
    discarded_window_ns: int = 900_000_000_000
    session_spans: int = 20_000
    session_size: int = 64 << 20
    resident_spans: int = 500_000


class Sighting(msgspec.Struct, frozen=True, gc=False):
    """One span or log record as far as sessions care. `payload`: its encoded facts, which are kept as they are.

    `agent`: an agent may run here. `skeleton`: kept also past the session's limits. `causes`: trace ids that causal
    links name. Ids are hex; `parent_id` "" is a root's.
    """

    trace_id: str
    span_id: str
    payload: bytes
    parent_id: str = ""
    start_ns: int = 0
    end_ns: int = 0
    claims: tuple[Claim, ...] = ()
    causes: tuple[str, ...] = ()
    agent: bool = False
    skeleton: bool = False
    log: bool = False
    ends_session: bool = False
    sampled: bool = False


class Closed(msgspec.Struct, frozen=True):
    """A session closed with an agent in it: a report is due. Times are span times; counts are over its traces."""

    session: SessionRecord
    reason: str
    partial: tuple[str, ...]
    traces: tuple[str, ...]
    first_ns: int
    last_ns: int
    spans: int
    logs: int

    @classmethod
    def of(cls, session: Session) -> Closed:
        """Return a session as it stands, closed."""
        traces = sorted(session.traces.values(), key=lambda trace: (trace.first_ns, trace.trace_id))
        lacks = {
            reasons.UNRESOLVED_PARENTS: session.awaited > 0,
            reasons.UNENDED_SPANS: session.open_roots > 0,
            reasons.SPAN_LIMIT: session.limited,
            reasons.SIZE_LIMIT: session.oversized,
            # A trace that a sampler keeps it keeps whole: only what spans several traces can lack one.
            reasons.SAMPLED: session.sampled and (session.key.kind != TRACE or len(session.traces) > 1),
            reasons.DRAINED: session.reason == reasons.DRAIN,
        }
        return cls(
            session=session.record(),
            reason=session.reason,
            partial=tuple(name for name, lacking in lacks.items() if lacking),
            traces=tuple(trace.trace_id for trace in traces),
            first_ns=min((trace.first_ns for trace in traces if trace.first_ns), default=0),
            last_ns=max((trace.last_ns for trace in traces), default=0),
            spans=sum(trace.spans for trace in traces) + session.dropped,
            logs=sum(trace.logs for trace in traces),
        )


class Discarded(msgspec.Struct, frozen=True):
    """Traces closed without any agent: no session."""

    session_id: str
    traces: tuple[str, ...]


class Changes(msgspec.Struct, frozen=True):
    """What changed since the last call, for the store: apply in this order.

    `expired`: sessions past their window, whose traces are free again. `gone`: (id, the id that took its place).
    `inherits`: (id, id that left traces to it). `deleted`: sessions to be deleted with all that was made of them.
    `stale`, `refs`: (reference, top key or "", session id) to drop, to add.
    """

    expired: tuple[str, ...]
    gone: tuple[tuple[str, str], ...]
    inherits: tuple[tuple[str, str], ...]
    deleted: tuple[str, ...]
    stale: tuple[tuple[str, str, str], ...]
    sessions: tuple[SessionRecord, ...]
    traces: tuple[tuple[str, TraceRecord], ...]
    refs: tuple[tuple[str, str, str], ...]
    chunks: tuple[Chunk, ...]
