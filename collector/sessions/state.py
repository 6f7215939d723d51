"""The state of sessions and traces: as it lives in the assembler, and as records that outlive it.

Separate from the assembler so that the store can keep the records and know nothing of the rules.

Rules:
- a record is whole: a session and its traces read back go on as if they had never left memory (their span tables are
  read when a span asks for one);
- counts of a session are the sums over its traces, kept as they change.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, Literal, Protocol

import msgspec

from collector.sessions.keys import TRACE_RANK, Claim, SessionKey, key_ref, trace_key
from collector.sessions.spans import SpanTable

State = Literal["open", "closed"]

NO_TIME: Final = 0
_NEVER: Final = 1 << 64  # sorts behind every time
TAIL: Final = 256
"""Spans at the end of a session past a limit that are kept beside its skeleton."""
TAIL_SIZE: Final = 1 << 20
"""Bytes of their facts: they are in memory, and stored whole each time that the session is."""


class ClaimRecord(msgspec.Struct, frozen=True, array_like=True):
    """A `Claim` as it is stored."""

    rank: int
    inner: bool
    start_ns: int
    span_id: str
    key: SessionKey


class TraceRecord(msgspec.Struct, frozen=True):
    """What is known of one trace, but for its spans. Times are span times, 0 where no span has one."""

    trace_id: str
    claims: tuple[ClaimRecord, ...] = ()
    causes: tuple[str, ...] = ()
    first_ns: int = NO_TIME
    last_ns: int = NO_TIME
    spans: int = 0
    logs: int = 0
    agent: bool = False
    awaited: int = 0
    open_roots: int = 0


class SessionRecord(msgspec.Struct, frozen=True):
    """What is known of one session, but for its traces. `*_ns` are arrival times; counts include what was not kept.

    `revision` counts the closes with an agent in it. `due`: the report of the last close is yet to be made.
    `kept`, `size`: spans and bytes of facts that are kept. `limited`, `oversized`: past the limit of the one, of the other.
    `tail`: (trace id, facts) of the last spans of a session past a limit.
    """

    session_id: str
    key: SessionKey
    generation: int
    state: State
    opened_ns: int
    last_ns: int
    closed_ns: int = NO_TIME
    revision: int = 0
    reason: str = ""
    agent: bool = False
    ends: bool = False
    sampled: bool = False
    limited: bool = False
    oversized: bool = False
    due: bool = False
    duplicates: int = 0
    stale: int = 0
    late: int = 0
    kept: int = 0
    size: int = 0
    dropped: int = 0
    tail: tuple[tuple[str, bytes], ...] = ()


class Lineage(msgspec.Struct, frozen=True):
    """The latest session of a key. `closed_ns`: when it closed, was superseded or was deleted."""

    generation: int
    revision: int
    state: Literal["open", "closed", "superseded", "deleted"]
    closed_ns: int


class Chunk(msgspec.Struct, frozen=True):
    """Facts of one trace that are to be kept: encoded span facts, one after the other, and the span table's entries."""

    trace_id: str
    facts: tuple[bytes, ...]
    entries: bytes


class Archive(Protocol):
    """What the assembler asks of sessions that are not in memory. Answers may lag behind what it was told last."""

    def sessions_of(self, refs: list[str]) -> set[str]:
        """Return the ids of sessions that hold or await any of these traces (`trace_ref`, `cause_ref`)."""

    def carriers(self, ref: str) -> set[str]:
        """Return the ids of sessions with traces that carry a key (`key_ref`).

        All those whose traces have no better key; of the others as many as show whether they have two of one kind.
        """

    def load(self, session_id: str) -> tuple[SessionRecord, list[TraceRecord]] | None:
        """Return a session and its traces; None if it is not there or no longer stands."""

    def entries(self, trace_id: str) -> list[bytes]:
        """Return the pieces of a trace's span table."""

    def lineage(self, key: SessionKey) -> Lineage | None:
        """Return the latest session of a key."""


class NoArchive:
    """Nothing is outside memory."""

    def sessions_of(self, refs: list[str]) -> set[str]:
        """Return nothing."""
        return set()

    def carriers(self, ref: str) -> set[str]:
        """Return nothing."""
        return set()

    def load(self, session_id: str) -> tuple[SessionRecord, list[TraceRecord]] | None:
        """Return nothing."""
        return None

    def entries(self, trace_id: str) -> list[bytes]:
        """Return nothing."""
        return []

    def lineage(self, key: SessionKey) -> Lineage | None:
        """Return nothing."""
        return None


def trace_ref(trace_id: str) -> str:
    """Return the reference of a session to a trace that it holds."""
    return f"t{trace_id}"


def cause_ref(trace_id: str) -> str:
    """Return the reference of a session to a trace that its links name."""
    return f"l{trace_id}"


class Trace:
    """One trace in memory. `table` None: its span table is in the archive. `placed`: it has a session."""

    __slots__ = (
        "agent",
        "causes",
        "claims",
        "first_ns",
        "last_ns",
        "logs",
        "pending",
        "placed",
        "refs",
        "session",
        "spans",
        "stored_awaited",
        "stored_open_roots",
        "table",
        "trace_id",
    )

    session: Session

    def __init__(self, trace_id: str) -> None:
        self.trace_id = trace_id
        self.placed = False
        self.claims: dict[str, Claim] = {}
        self.refs: list[str] = []  # of its keys, highest first
        self.causes: set[str] = set()
        self.first_ns = self.last_ns = NO_TIME
        self.spans = self.logs = 0
        self.agent = False
        self.table: SpanTable | None = SpanTable()
        self.stored_awaited = self.stored_open_roots = 0
        self.pending: list[bytes] = []

    def knows(self, claim: Claim) -> bool:
        """Whether a claim changes nothing that matters: an equal key is known, as good or better."""
        known = self.claims.get(claim.key.kind)
        return known is not None and (claim >= known or (claim.key == known.key and claim.rank == known.rank))

    def note(self, claims: Iterable[Claim], causes: Iterable[str]) -> None:
        """Take in keys and causes."""
        for claim in claims:
            known = self.claims.get(claim.key.kind)
            if known is None or claim < known:
                self.claims[claim.key.kind] = claim
        self.causes.update(causes)
        self.refs = [key_ref(claim.key) for claim in sorted(self.claims.values())]

    def extend(self, start_ns: int, end_ns: int, log: bool) -> None:
        """Take in the times of a span; those of log records say nothing of when it began."""
        if log:
            return
        if start_ns:
            self.first_ns = min(self.first_ns, start_ns) if self.first_ns else start_ns
        self.last_ns = max(self.last_ns, end_ns, start_ns)

    @property
    def best(self) -> tuple[int, int, SessionKey]:
        """What it would call its session; the least of a session's traces names it."""
        if not self.claims:
            return (TRACE_RANK, self.first_ns or _NEVER, trace_key(self.trace_id))
        claim = min(self.claims.values())
        return (claim.rank, self.first_ns or _NEVER, claim.key)

    @property
    def awaited(self) -> int:
        """How many parents were named and not seen."""
        return self.stored_awaited if self.table is None else len(self.table.awaited)

    @property
    def open_roots(self) -> int:
        """How many roots were seen without their end."""
        return self.stored_open_roots if self.table is None else len(self.table.open_roots)

    def record(self) -> TraceRecord:
        """Return it as it is kept."""
        return TraceRecord(
            trace_id=self.trace_id,
            claims=tuple(ClaimRecord(*claim) for claim in sorted(self.claims.values())),
            causes=tuple(sorted(self.causes)),
            first_ns=self.first_ns,
            last_ns=self.last_ns,
            spans=self.spans,
            logs=self.logs,
            agent=self.agent,
            awaited=self.awaited,
            open_roots=self.open_roots,
        )

    @classmethod
    def restore(cls, record: TraceRecord, session: Session) -> Trace:
        """Rebuild it; its span table stays where it is."""
        trace = cls(record.trace_id)
        trace.session = session
        trace.note((Claim(*msgspec.structs.astuple(claim)) for claim in record.claims), record.causes)
        trace.first_ns, trace.last_ns = record.first_ns, record.last_ns
        trace.spans, trace.logs = record.spans, record.logs
        trace.agent = record.agent
        trace.table = None
        trace.stored_awaited, trace.stored_open_roots = record.awaited, record.open_roots
        return trace


class Session:
    """One session in memory. Compared by identity: its id follows its key."""

    def __init__(self, key: SessionKey, generation: int, now_ns: int) -> None:
        self.key = key
        self.generation = generation
        self.session_id = key.id(generation)
        self.best: tuple[int, int, SessionKey] | None = None
        self.state: State = "open"
        self.opened_ns = self.last_ns = self.quiet_ns = now_ns
        self.closed_ns = NO_TIME
        self.revision = 0
        self.reason = ""
        self.agents = 0  # traces with an agent in them
        self.ends = self.sampled = self.limited = self.oversized = self.due = False
        self.duplicates = self.stale = self.late = self.kept = self.size = self.dropped = 0
        self.awaited = self.open_roots = 0
        self.traces: dict[str, Trace] = {}
        self.tail: deque[tuple[str, bytes]] = deque()
        self._tail_size = 0
        self.timer_ns = NO_TIME  # the earliest moment in the heap that may close it

    def end_with(self, last: Iterable[tuple[str, bytes]]) -> None:
        """Take in last spans, as (trace id, facts), and let those before them go that are too many; never the very last."""
        for end in last:
            self.tail.append(end)
            self._tail_size += len(end[1])
            while len(self.tail) > 1 and (len(self.tail) > TAIL or self._tail_size > TAIL_SIZE):
                self._tail_size -= len(self.tail.popleft()[1])

    def record(self) -> SessionRecord:
        """Return it as it is kept."""
        return SessionRecord(
            session_id=self.session_id,
            key=self.key,
            generation=self.generation,
            state=self.state,
            opened_ns=self.opened_ns,
            last_ns=self.last_ns,
            closed_ns=self.closed_ns,
            revision=self.revision,
            reason=self.reason,
            agent=self.agents > 0,
            ends=self.ends,
            sampled=self.sampled,
            limited=self.limited,
            oversized=self.oversized,
            due=self.due,
            duplicates=self.duplicates,
            stale=self.stale,
            late=self.late,
            kept=self.kept,
            size=self.size,
            dropped=self.dropped,
            tail=tuple(self.tail),
        )

    @classmethod
    def restore(cls, record: SessionRecord) -> Session:
        """Rebuild it, without its traces."""
        session = cls(record.key, record.generation, record.opened_ns)
        session.state = record.state
        session.last_ns = session.quiet_ns = record.last_ns
        session.closed_ns = record.closed_ns
        session.revision = record.revision
        session.reason = record.reason
        session.ends, session.sampled, session.due = record.ends, record.sampled, record.due
        session.limited, session.oversized = record.limited, record.oversized
        session.duplicates, session.stale, session.late = record.duplicates, record.stale, record.late
        session.kept, session.size, session.dropped = record.kept, record.size, record.dropped
        session.end_with(record.tail)
        return session
