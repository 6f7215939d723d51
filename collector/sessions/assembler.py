"""Which session a span belongs to, and when the session closes: a state machine without I/O or clock of its own.

Separate from the engine so that its law can be tested whole: however spans arrive, late, twice or out of order, what is
reported in the end is what one tidy delivery would have given.

Rules:
- membership is `membership`'s; here are the spans of a session, and its time;
- duplicates and poorer versions of a span count, and change nothing else;
- timers run on arrival time as it is handed in, which must not go back;
- closed sessions and quiet span tables move to the archive, and come back when asked.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

import msgspec

from collector.sessions import reasons
from collector.sessions.keys import Claim
from collector.sessions.membership import Membership
from collector.sessions.spans import Sight, SpanTable, rank
from collector.sessions.state import (
    Archive,
    Chunk,
    NoArchive,
    Session,
    SessionRecord,
    Trace,
    TraceRecord,
    cause_ref,
    trace_ref,
)

SPANS_A_SESSION: Final = 100
"""Resident closed sessions are bounded by the resident spans divided by this."""


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


class Assembler:
    """Takes sightings and the time; says which sessions closed and what is to be stored."""

    def __init__(self, rules: Rules, archive: Archive | None = None) -> None:
        self.rules = rules
        self._archive: Archive = archive or NoArchive()
        self._evicts = archive is not None
        self._members = Membership(
            self._archive, rules.reopen_window_ns, rules.discarded_window_ns, self._changed, self._shelve
        )
        self._tables: OrderedDict[Trace, None] = OrderedDict()  # of the traces in memory, the quietest first
        self._table_spans = 0
        self._timers: list[tuple[int, int, Session]] = []
        self._pushed = 0
        self.late = 0
        """Spans that came to a session after it was reported."""

    @property
    def open_sessions(self) -> int:
        """Sessions open, those without an agent so far included."""
        return self._members.open

    @property
    def dirty(self) -> bool:
        """Whether `changes` would return anything."""
        members = self._members
        ids = members.gone or members.expired_ids or members.deleted_ids
        return bool(members.dirty_sessions or members.dirty_traces or ids)

    @property
    def deleting(self) -> bool:
        """Whether `changes` would return deletions."""
        return bool(self._members.deleted_ids)

    @property
    def resident_traces(self) -> int:
        """Traces in memory."""
        return len(self._members.traces)

    @property
    def resident_spans(self) -> int:
        """Spans whose ids are in memory."""
        return self._table_spans

    def change(self, rules: Rules) -> None:
        """Go by other rules from now on; sessions that are open close by them, too."""
        self.rules = rules
        self._members.change(rules.reopen_window_ns, rules.discarded_window_ns)
        for session in self._members.sessions.values():
            if session.state == "open":
                session.timer_ns = 0
                self._schedule(session)

    def restore(self, session_ids: Iterable[str], now_ns: int) -> None:
        """Bring open sessions back. Quiet time starts anew: silence while nobody listened is no silence of theirs."""
        self._pass(now_ns)
        for session_id in session_ids:
            session = self._members.load(session_id)
            if session is not None and session.state == "open":
                session.opened_ns = min(session.opened_ns, now_ns)
                session.last_ns = min(session.last_ns, now_ns)
                session.quiet_ns = now_ns
                self._schedule(session)

    def observe(self, sighting: Sighting, now_ns: int) -> Sight:
        """Take one span, and say what it was."""
        self._pass(now_ns)
        payload = sighting.payload
        version = rank(sighting.end_ns != 0, payload)
        identity = (
            int.from_bytes(blake2b(payload, digest_size=8).digest(), "big")
            if sighting.log
            else int(sighting.span_id, 16)
        )
        trace = self._members.find(sighting.trace_id)
        if trace is None:
            sight = Sight.NEW
            trace = Trace(sighting.trace_id)
            trace.note(sighting.claims, sighting.causes)
            trace.extend(sighting.start_ns, sighting.end_ns, sighting.log)
            self._members.begin(trace)
        else:
            sight = self._table(trace).look(identity, sighting.log, version)
            if sight is Sight.DUPLICATE or sight is Sight.STALE:
                self._count_repeat(trace.session, sight)
                return sight
            best = trace.best
            trace.extend(sighting.start_ns, sighting.end_ns, sighting.log)
            if not (all(map(trace.knows, sighting.claims)) and trace.causes.issuperset(sighting.causes)):
                self._members.learn(trace, sighting.claims, sighting.causes)
            elif trace.best != best:
                self._members.name(trace.session, trace)
        session = trace.session
        self._touch(session)
        if session.revision:
            session.late += 1
            self.late += 1
        self._keep(trace, sighting, sight, identity, version)
        self._schedule(session)
        return sight

    def tick(self, now_ns: int) -> list[Closed | Discarded]:
        """Close what is due."""
        self._pass(now_ns)
        now_ns = self._members.now_ns
        closed: list[Closed | Discarded] = []
        while self._timers and self._timers[0][0] <= now_ns:
            due, _, session = heapq.heappop(self._timers)
            if session.state != "open" or due != session.timer_ns or not session.traces:
                continue
            session.timer_ns = 0
            if self._deadline(session) > now_ns:
                self._schedule(session)
            else:
                closed.append(self._close(session, self._reason(session)))
        return closed

    def drain(self) -> list[Closed | Discarded]:
        """Close all that is open."""
        sessions = [session for session in self._members.sessions.values() if session.state == "open"]
        return [self._close(session, reasons.DRAIN) for session in sessions]

    def due(self, session_ids: Iterable[str]) -> list[Closed]:
        """Bring back sessions that closed and were not reported; return their closes once more."""
        sessions = [self._members.load(session_id, expired=True) for session_id in session_ids]
        return [
            self._closed_as(session)
            for session in sessions
            if session is not None and session.state == "closed" and session.due
        ]

    def knows(self, session_id: str) -> bool:
        """Whether an id names a session in memory (one that was merged away or deleted does not)."""
        return session_id in self._members.sessions

    def is_open(self, trace_id: str) -> bool:
        """Whether a trace is of a session that is open. Cheap, from any thread."""
        trace = self._members.traces.get(trace_id)
        return trace is not None and trace.placed and trace.session.state == "open"

    def visited(self, trace_id: str) -> bool:
        """Whether a trace is known to hold an agent."""
        trace = self._members.traces.get(trace_id)
        return trace is not None and trace.agent

    def glimpse(self, trace_id: str) -> Closed | None:
        """Return the open session of a trace as if it closed now, changing nothing; None if it holds no agent."""
        trace = self._members.traces.get(trace_id)
        if trace is None or not trace.placed or trace.session.state != "open" or not trace.session.agents:
            return None
        return self._closed_as(trace.session)

    def delete(self, session_id: str) -> None:
        """Delete a session, in memory or not, with the next changes; its key begins anew."""
        self._members.delete(session_id)

    def settle(self, session_id: str, revision: int, agents: bool = True) -> None:
        """Learn that a close was dealt with. `agents` False: its traces hold none after all, and it was no revision."""
        session = self._members.sessions.get(session_id)
        if session is None or session.revision != revision:
            return
        if not agents:
            session.revision -= 1
        self._members.dirty_sessions[session] = None
        if session.state == "closed":
            session.due = False
            self._members.closed[session] = None

    def changes(self) -> Changes:
        """Return what is to be stored, and forget that it is."""
        members = self._members
        chunks: list[Chunk] = []
        traces: list[tuple[str, TraceRecord]] = []
        refs: list[tuple[str, str, str]] = []
        for trace in members.dirty_traces:
            session_id = trace.session.session_id
            if trace.pending or (trace.table is not None and not trace.table.clean):
                entries = b"" if trace.table is None else trace.table.take()
                chunks.append(Chunk(trace.trace_id, tuple(trace.pending), entries))
                trace.pending = []
            traces.append((session_id, trace.record()))
            refs.append((trace_ref(trace.trace_id), "", session_id))
            refs += [(ref, trace.refs[0], session_id) for ref in trace.refs]
            refs += [(cause_ref(cause), "", session_id) for cause in trace.causes]
        changes = Changes(
            expired=tuple(members.expired_ids),
            gone=tuple((old, session.session_id) for old, session in members.gone.items()),
            inherits=tuple((session.session_id, source) for session, source in members.inherits),
            deleted=tuple(members.deleted_ids),
            stale=tuple((ref, top, session.session_id) for ref, top, session in members.stale),
            sessions=tuple(session.record() for session in members.dirty_sessions if session.traces),
            traces=tuple(traces),
            refs=tuple(refs),
            chunks=tuple(chunks),
        )
        members.sent()
        return changes

    def stored(self) -> None:
        """Learn that the last changes are in the archive: what is quiet may leave memory."""
        members = self._members
        members.stored()
        if not self._evicts:
            return
        limit = self.rules.resident_spans
        while members.closed and (self._table_spans > limit or len(members.closed) > limit // SPANS_A_SESSION):
            session = next(iter(members.closed))
            if session in members.dirty_sessions or not members.dirty_traces.keys().isdisjoint(session.traces.values()):
                break
            members.forget(session)
        while self._table_spans > limit and self._tables:
            trace = next(iter(self._tables))
            if trace in members.dirty_traces:
                break
            self._shelve(trace)

    def _pass(self, now_ns: int) -> None:
        self._members.now_ns = max(self._members.now_ns, now_ns)

    # -- spans ---------------------------------------------------------------------------------------------------------

    def _table(self, trace: Trace) -> SpanTable:
        table = trace.table
        if table is None:
            table = SpanTable.unpack(self._archive.entries(trace.trace_id))
            trace.table = table
            self._table_spans += len(table)
            session = trace.session
            session.awaited += len(table.awaited) - trace.stored_awaited
            session.open_roots += len(table.open_roots) - trace.stored_open_roots
        self._tables[trace] = None
        self._tables.move_to_end(trace)
        return table

    def _shelve(self, trace: Trace) -> None:
        """Take a trace's span table out of memory."""
        self._tables.pop(trace, None)
        table = trace.table
        if table is not None:
            trace.stored_awaited, trace.stored_open_roots = len(table.awaited), len(table.open_roots)
            self._table_spans -= len(table)
            trace.table = None

    def _keep(self, trace: Trace, sighting: Sighting, sight: Sight, identity: int, version: int) -> None:
        session = trace.session
        session.ends |= sighting.ends_session
        session.sampled |= sighting.sampled
        if sighting.agent and not trace.agent:
            trace.agent = True
            session.agents += 1
        self._members.dirty_traces[trace] = None
        table = self._table(trace)
        awaited, open_roots = len(table.awaited), len(table.open_roots)
        # Spans end before those that they stand in: what a kept span names as its parent holds the skeleton together.
        skeleton = sighting.skeleton or (not sighting.log and identity in table.awaited)
        new, room = sight is Sight.NEW, self._has_room(session, sighting, sight, skeleton)
        if room or not new:
            parent = int(sighting.parent_id, 16) if sighting.parent_id and not sighting.log else None
            table.add(identity, parent, version, sighting.log)
        if room:
            session.kept += new
            session.size += len(sighting.payload)
            self._table_spans += new
            trace.logs += new and sighting.log
            trace.spans += new and not sighting.log
            trace.pending.append(sighting.payload)
        else:
            session.dropped += new
            session.end_with([(trace.trace_id, sighting.payload)])
            if new and not sighting.log:
                table.resolve(identity)
            if not len(table) and len(session.traces) > 1:
                self._members.release(trace)  # a trace none of whose spans is kept must not cost memory
                return
        session.awaited += len(table.awaited) - awaited
        session.open_roots += len(table.open_roots) - open_roots

    def _has_room(self, session: Session, sighting: Sighting, sight: Sight, skeleton: bool) -> bool:
        """Whether a version of a span is kept whole; a session that has no room for it is marked. A skeleton may be twice the limits."""
        rules, share = self.rules, 2 if skeleton else 1
        if sight is Sight.NEW and rules.session_spans and session.kept >= share * rules.session_spans:
            session.limited = True
            return False
        if rules.session_size and session.size + len(sighting.payload) > share * rules.session_size:
            session.oversized = True
            return False
        return True

    def _count_repeat(self, session: Session, sight: Sight) -> None:
        if sight is Sight.DUPLICATE:
            session.duplicates += 1
        else:
            session.stale += 1
        self._members.dirty_sessions[session] = None

    # -- time ----------------------------------------------------------------------------------------------------------

    def _touch(self, session: Session) -> None:
        """Something new came to a session: it is open, and not quiet."""
        members = self._members
        if session.state == "closed":
            session.state = "open"
            session.opened_ns = members.now_ns
            session.reason = ""
            session.due = False
            members.open += 1
            members.closed.pop(session, None)
            session.timer_ns = 0
        session.last_ns = session.quiet_ns = members.now_ns
        members.dirty_sessions[session] = None

    def _changed(self, session: Session) -> None:
        """As `_touch`, for a session that gets or loses traces by a span of another: nothing else lets its time run."""
        self._touch(session)
        if session.traces:
            self._schedule(session)

    def _complete(self, session: Session) -> bool:
        return not session.awaited and not session.open_roots and any(trace.spans for trace in session.traces.values())

    def _deadline(self, session: Session) -> int:
        if session.ends:
            return self._members.now_ns
        quiet = self.rules.grace_ns if self._complete(session) else self.rules.idle_ns
        return min(session.opened_ns + self.rules.max_age_ns, session.quiet_ns + min(quiet, self.rules.idle_ns))

    def _reason(self, session: Session) -> str:
        if session.ends:
            return reasons.EXPLICIT
        quiet = self._members.now_ns - session.quiet_ns
        if quiet >= self.rules.grace_ns and self._complete(session):
            return reasons.ROOTS_ENDED
        return reasons.IDLE if quiet >= self.rules.idle_ns else reasons.MAX_AGE

    def _schedule(self, session: Session) -> None:
        due = self._deadline(session)
        if not session.timer_ns or due < session.timer_ns:
            session.timer_ns = due
            self._pushed += 1
            heapq.heappush(self._timers, (due, self._pushed, session))

    def _close(self, session: Session, reason: str) -> Closed | Discarded:
        session.state = "closed"
        session.closed_ns = self._members.now_ns
        session.reason = reason
        session.ends = False
        session.timer_ns = 0
        self._members.open -= 1
        self._members.dirty_sessions[session] = None
        if not session.agents:
            self._members.closed[session] = None
            return Discarded(session.session_id, tuple(sorted(session.traces)))
        session.revision += 1
        session.due = True
        return self._closed_as(session)

    @staticmethod
    def _closed_as(session: Session) -> Closed:
        traces = sorted(session.traces.values(), key=lambda trace: (trace.first_ns, trace.trace_id))
        lacks = {
            reasons.UNRESOLVED_PARENTS: session.awaited > 0,
            reasons.UNENDED_SPANS: session.open_roots > 0,
            reasons.SPAN_LIMIT: session.limited,
            reasons.SIZE_LIMIT: session.oversized,
            reasons.SAMPLED: session.sampled,
            reasons.DRAINED: session.reason == reasons.DRAIN,
        }
        return Closed(
            session=session.record(),
            reason=session.reason,
            partial=tuple(name for name, lacking in lacks.items() if lacking),
            traces=tuple(trace.trace_id for trace in traces),
            first_ns=min((trace.first_ns for trace in traces if trace.first_ns), default=0),
            last_ns=max((trace.last_ns for trace in traces), default=0),
            spans=sum(trace.spans for trace in traces) + session.dropped,
            logs=sum(trace.logs for trace in traces),
        )
