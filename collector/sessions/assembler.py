"""Which session a span belongs to, and when the session closes: a state machine without I/O or clock of its own.

Separate from the engine so that its law can be tested whole: however spans arrive, late, twice or out of order, what is
reported in the end is what one tidy delivery would have given.

Rules:
- membership is what `grouping.components` says; the quick ways here only save its cost;
- duplicates and poorer versions of a span count, and change nothing else;
- a session's id follows its key; an id that it leaves behind, or that is merged away, is `gone`, superseded by the new one;
- timers run on arrival time as it is handed in, which must not go back;
- what is in memory is authoritative; closed sessions and quiet span tables move to the archive, and come back when asked.
"""

from __future__ import annotations

import heapq
from collections import Counter, OrderedDict
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final, TypeVar

import msgspec

from collector.sessions import reasons
from collector.sessions.grouping import components, unambiguous
from collector.sessions.keys import Claim, SessionKey
from collector.sessions.spans import Sight, SpanTable, rank
from collector.sessions.state import (
    Archive,
    Chunk,
    Lineage,
    NoArchive,
    Session,
    SessionRecord,
    Trace,
    TraceRecord,
    cause_ref,
    key_ref,
    trace_ref,
)

TAIL: Final = 256
"""Spans at the end of a session past its limit that are kept beside its skeleton."""


SPANS_A_SESSION: Final = 100
"""Resident closed sessions are bounded by the resident spans divided by this."""


class Rules(msgspec.Struct, frozen=True):
    """The close rules and bounds. Times in ns. `session_spans` 0: no limit.

    `discarded_window`: how long a trace that closed without an agent is remembered, in case one follows.
    `resident_spans`: spans whose ids stay in memory before quiet ones move to the archive.
    """

    grace_ns: int = 15_000_000_000
    idle_ns: int = 300_000_000_000
    max_age_ns: int = 21_600_000_000_000
    reopen_window_ns: int = 86_400_000_000_000
    discarded_window_ns: int = 900_000_000_000
    session_spans: int = 20_000
    resident_spans: int = 500_000


class Sighting(msgspec.Struct, frozen=True, gc=False):
    """One span or log record as far as sessions care. `payload`: its encoded facts, which are kept as they are.

    `agent`: an agent may run here. `skeleton`: kept also past the session's span limit. `causes`: trace ids that causal
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
    `inherits`: (id, id that left traces to it). `refs`: (reference, session id).
    """

    expired: tuple[str, ...]
    gone: tuple[tuple[str, str], ...]
    inherits: tuple[tuple[str, str], ...]
    sessions: tuple[SessionRecord, ...]
    traces: tuple[tuple[str, TraceRecord], ...]
    refs: tuple[tuple[str, str], ...]
    chunks: tuple[Chunk, ...]


class Assembler:
    """Takes sightings and the time; says which sessions closed and what is to be stored."""

    def __init__(self, rules: Rules, archive: Archive | None = None) -> None:
        self.rules = rules
        self._archive: Archive = archive or NoArchive()
        self._evicts = archive is not None
        self._traces: dict[str, Trace] = {}
        self._sessions: dict[str, Session] = {}
        self._carriers: dict[SessionKey, dict[Session, int]] = {}
        self._awaiting: dict[str, dict[Session, int]] = {}  # trace id named by a link -> sessions that name it
        self._gone: dict[str, Session] = {}
        self._inherits: list[tuple[Session, str]] = []
        self._expired_ids: dict[str, None] = {}
        self._sent: set[str] = set()  # ids gone that the archive was told of and may not know yet
        self._lineages: dict[SessionKey, Lineage] = {}  # newer than the archive's
        self._sent_lineages: dict[SessionKey, Lineage] = {}
        self._dirty_sessions: dict[Session, None] = {}
        self._dirty_traces: dict[Trace, None] = {}
        self._closed: OrderedDict[Session, None] = OrderedDict()
        self._tables: OrderedDict[Trace, None] = OrderedDict()
        self._table_spans = 0
        self._timers: list[tuple[int, int, Session]] = []
        self._pushed = 0
        self._open = 0
        self._now_ns = 0
        self.late = 0
        """Spans that came to a session after it was reported."""

    @property
    def open_sessions(self) -> int:
        """Sessions open, those without an agent so far included."""
        return self._open

    @property
    def dirty(self) -> bool:
        """Whether `changes` would return anything."""
        return bool(self._dirty_sessions or self._dirty_traces or self._gone or self._expired_ids)

    @property
    def resident_traces(self) -> int:
        """Traces in memory."""
        return len(self._traces)

    @property
    def resident_spans(self) -> int:
        """Spans whose ids are in memory."""
        return self._table_spans

    def restore(self, session_ids: Iterable[str], now_ns: int) -> None:
        """Bring open sessions back. Quiet time starts anew: silence while nobody listened is no silence of theirs."""
        self._now_ns = max(self._now_ns, now_ns)
        for session_id in session_ids:
            session = self._load(session_id)
            if session is not None and session.state == "open":
                session.opened_ns = min(session.opened_ns, now_ns)
                session.last_ns = min(session.last_ns, now_ns)
                session.quiet_ns = now_ns
                self._schedule(session)

    def observe(self, sighting: Sighting, now_ns: int) -> Sight:
        """Take one span, and say what it was."""
        self._now_ns = max(self._now_ns, now_ns)
        payload = sighting.payload
        version = rank(sighting.end_ns != 0, payload)
        identity = (
            int.from_bytes(blake2b(payload, digest_size=8).digest(), "big")
            if sighting.log
            else int(sighting.span_id, 16)
        )
        trace = self._find(sighting)
        if trace is None:
            sight = Sight.NEW
            trace = self._begin(sighting)
        else:
            sight = self._table(trace).look(identity, sighting.log, version)
            if sight is Sight.DUPLICATE or sight is Sight.STALE:
                self._count_repeat(trace.session, sight)
                return sight
            self._learn(trace, sighting)
        session = trace.session
        self._touch(session, late=True)
        self._keep(trace, sighting, sight, identity, version)
        self._schedule(session)
        return sight

    def tick(self, now_ns: int) -> list[Closed | Discarded]:
        """Close what is due."""
        self._now_ns = max(self._now_ns, now_ns)
        closed: list[Closed | Discarded] = []
        while self._timers and self._timers[0][0] <= self._now_ns:
            due, _, session = heapq.heappop(self._timers)
            if session.state != "open" or due != session.timer_ns or not session.traces:
                continue
            session.timer_ns = 0
            if self._deadline(session) > self._now_ns:
                self._schedule(session)
            else:
                closed.append(self._close(session, self._reason(session)))
        return closed

    def drain(self) -> list[Closed | Discarded]:
        """Close all that is open."""
        return [
            self._close(session, reasons.DRAIN) for session in list(self._sessions.values()) if session.state == "open"
        ]

    def due(self, session_ids: Iterable[str]) -> list[Closed]:
        """Bring back sessions that closed and were not reported; return their closes once more."""
        sessions = [self._load(session_id, expired=True) for session_id in session_ids]
        return [
            self._closed_as(session)
            for session in sessions
            if session is not None and session.state == "closed" and session.due
        ]

    def knows(self, session_id: str) -> bool:
        """Whether an id names a session in memory (one that was merged away or deleted does not)."""
        return session_id in self._sessions

    def visited(self, trace_id: str) -> bool:
        """Whether a trace is known to hold an agent."""
        trace = self._traces.get(trace_id)
        return trace is not None and trace.agent

    def glimpse(self, trace_id: str) -> Closed | None:
        """Return the open session of a trace as if it closed now, changing nothing; None if it holds no agent."""
        trace = self._traces.get(trace_id)
        if trace is None or not trace.placed or trace.session.state != "open" or not trace.session.agents:
            return None
        return self._closed_as(trace.session)

    def forget(self, session_id: str) -> None:
        """Drop a session that is to be deleted; its key begins anew."""
        session = self._sessions.get(session_id)
        if session is not None:
            for trace in session.traces.values():
                self._dirty_traces.pop(trace, None)
            self._lineages[session.key] = Lineage(session.generation, session.revision, "deleted", self._now_ns)
            if session.state == "open":
                self._open -= 1
                session.state = "closed"
            self._forget(session)
        self._sent.add(session_id)

    def settle(self, session_id: str, revision: int, agents: bool = True) -> None:
        """Learn that a close was dealt with. `agents` False: its traces hold none after all, and it was no revision."""
        session = self._sessions.get(session_id)
        if session is None or session.revision != revision:
            return
        if not agents:
            session.revision -= 1
        self._dirty_sessions[session] = None
        if session.state == "closed":
            session.due = False
            self._closed[session] = None

    def changes(self) -> Changes:
        """Return what is to be stored, and forget that it is."""
        chunks: list[Chunk] = []
        traces: list[tuple[str, TraceRecord]] = []
        refs: list[tuple[str, str]] = []
        for trace in self._dirty_traces:
            session_id = trace.session.session_id
            if trace.pending or (trace.table is not None and not trace.table.clean):
                entries = b"" if trace.table is None else trace.table.take()
                chunks.append(Chunk(trace.trace_id, tuple(trace.pending), entries))
                trace.pending = []
            traces.append((session_id, trace.record()))
            refs.append((trace_ref(trace.trace_id), session_id))
            refs += [(key_ref(claim.key), session_id) for claim in trace.claims.values()]
            refs += [(cause_ref(cause), session_id) for cause in trace.causes]
        changes = Changes(
            expired=tuple(self._expired_ids),
            gone=tuple((old, session.session_id) for old, session in self._gone.items()),
            inherits=tuple((session.session_id, source) for session, source in self._inherits),
            sessions=tuple(session.record() for session in self._dirty_sessions if session.traces),
            traces=tuple(traces),
            refs=tuple(refs),
            chunks=tuple(chunks),
        )
        self._sent.update(self._gone, self._expired_ids)
        self._sent_lineages = dict(self._lineages)
        self._dirty_traces.clear()
        self._dirty_sessions.clear()
        self._gone.clear()
        self._inherits.clear()
        self._expired_ids.clear()
        return changes

    def stored(self) -> None:
        """Learn that the last changes are in the archive: what is quiet may leave memory."""
        self._sent.clear()
        for key, lineage in self._sent_lineages.items():
            if self._lineages.get(key) is lineage:
                del self._lineages[key]
        self._sent_lineages = {}
        if not self._evicts:
            return
        limit = self.rules.resident_spans
        while self._closed and (self._table_spans > limit or len(self._closed) > limit // SPANS_A_SESSION):
            session = next(iter(self._closed))
            if session in self._dirty_sessions or not self._dirty_traces.keys().isdisjoint(session.traces.values()):
                break
            self._forget(session)
        while self._table_spans > limit and self._tables:
            trace = next(iter(self._tables))
            if trace in self._dirty_traces:
                break
            self._shelve(trace)

    # -- finding -------------------------------------------------------------------------------------------------------

    def _find(self, sighting: Sighting) -> Trace | None:
        trace = self._traces.get(sighting.trace_id)
        if trace is None:
            refs = [trace_ref(sighting.trace_id), cause_ref(sighting.trace_id)]
            refs += [key_ref(claim.key) for claim in sighting.claims]
            refs += [trace_ref(cause) for cause in sighting.causes]
            self._summon(refs)
            trace = self._traces.get(sighting.trace_id)
        if trace is not None and self._expired(trace.session):
            self._expire(trace.session)
            return None
        return trace

    def _summon(self, refs: list[str]) -> None:
        for session_id in sorted(self._archive.sessions_of(refs)):
            if not any(session_id in known for known in (self._sessions, self._gone, self._sent, self._expired_ids)):
                self._load(session_id)

    def _load(self, session_id: str, expired: bool = False) -> Session | None:
        found = self._archive.load(session_id)
        if found is None:
            return None
        record, traces = found
        session = Session.restore(record)
        if not expired and self._expired(session):
            self._expired_ids[session_id] = None
            return None
        self._sessions[session_id] = session
        for trace_record in traces:
            self._enter(Trace.restore(trace_record, session))
        session.best = min((trace.best for trace in session.traces.values()), default=None)
        if session.state == "open":
            self._open += 1
        elif not session.due:  # one that is due stays until it is settled
            self._closed[session] = None
        return session

    def _expired(self, session: Session) -> bool:
        window = self.rules.reopen_window_ns if session.revision else self.rules.discarded_window_ns
        return session.state == "closed" and self._now_ns > session.closed_ns + window

    def _expire(self, session: Session) -> None:
        self._lineages[session.key] = Lineage(session.generation, session.revision, "closed", session.closed_ns)
        self._expired_ids[session.session_id] = None
        self._forget(session)

    def _forget(self, session: Session) -> None:
        for trace in list(session.traces.values()):
            self._leave(trace)
        del self._sessions[session.session_id]
        self._closed.pop(session, None)
        self._dirty_sessions.pop(session, None)

    def _table(self, trace: Trace) -> SpanTable:
        table = trace.table
        if table is None:
            table = SpanTable.unpack([*self._archive.entries(trace.trace_id)])
            trace.table = table
            self._table_spans += len(table)
            session = trace.session
            session.awaited += len(table.awaited) - trace.stored_awaited
            session.open_roots += len(table.open_roots) - trace.stored_open_roots
        self._tables[trace] = None
        self._tables.move_to_end(trace)
        return table

    def _shelve(self, trace: Trace) -> None:
        table = self._tables.pop(trace, None)
        table = trace.table
        if table is not None:
            trace.stored_awaited, trace.stored_open_roots = len(table.awaited), len(table.open_roots)
            self._table_spans -= len(table)
            trace.table = None

    # -- membership ----------------------------------------------------------------------------------------------------

    def _begin(self, sighting: Sighting) -> Trace:
        trace = Trace(sighting.trace_id)
        self._note(trace, sighting)
        self._place(trace, [])
        return trace

    def _learn(self, trace: Trace, sighting: Sighting) -> None:
        """Take in what a further span of a trace says of keys, causes and times."""
        if all(_known(trace, claim) for claim in sighting.claims) and trace.causes.issuperset(sighting.causes):
            best = trace.best
            self._note(trace, sighting)
            if trace.best != best:
                self._name(trace.session, trace)
            return
        before = trace.keys
        self._leave(trace)
        self._note(trace, sighting)
        self._enter(trace)
        after = trace.keys
        self._summon([key_ref(key) for key in after] + [trace_ref(cause) for cause in trace.causes])
        self._place(trace, [key for key in before if key not in after])

    @staticmethod
    def _note(trace: Trace, sighting: Sighting) -> None:
        for claim in sighting.claims:
            known = trace.claims.get(claim.key.kind)
            if known is None or claim < known:
                trace.claims[claim.key.kind] = claim
        trace.causes.update(sighting.causes)
        if sighting.start_ns and not sighting.log:
            trace.first_ns = min(trace.first_ns, sighting.start_ns) if trace.first_ns else sighting.start_ns
        if not sighting.log:
            trace.last_ns = max(trace.last_ns, sighting.end_ns, sighting.start_ns)

    def _place(self, trace: Trace, lost: list[SessionKey]) -> None:
        """Put a trace, new or with new keys or causes, where the law says. `lost`: keys that it no longer carries."""
        keys = trace.keys
        touched: dict[Session, None] = {}
        if trace.placed:
            touched[trace.session] = None
        for key in (*keys, *lost):
            touched.update(dict.fromkeys(self._carriers.get(key, ())))
        for cause in trace.causes:
            if cause in self._traces:
                touched[self._traces[cause].session] = None
        touched.update(dict.fromkeys(self._awaiting.get(trace.trace_id, ())))
        for session in [session for session in touched if self._expired(session)]:
            del touched[session]
            self._expire(session)
        tops = {top for session in touched for top in session.tops} | set(keys[:1])
        if lost or not unambiguous(Counter(top.kind for top in tops)):
            self._regroup(trace, touched)
            return
        target = max(touched, key=lambda session: (len(session.traces), session.session_id), default=None)
        if target is None:
            target = self._open_session(trace)
        for other in touched:
            if other is not target:
                self._absorb(target, other)
        if not trace.placed:
            trace.session = target
            self._enter(trace)
        self._name(target, *target.traces.values() if len(touched) > 1 else (trace,))

    def _regroup(self, trace: Trace, touched: Iterable[Session]) -> None:
        """Apply the law from scratch to all the sessions that a change can concern."""
        sessions = list(touched)
        members = {member.trace_id: member for session in sessions for member in session.traces.values()}
        members[trace.trace_id] = trace
        groups = sorted(components(members.values()), key=lambda group: (-len(group), min(t.trace_id for t in group)))
        free = dict.fromkeys(sessions)
        homes: list[tuple[Session, list[Trace]]] = []
        named = {session.key: session for session in sessions}
        bests = [min(member.best for member in group)[2] for group in groups]
        # A session keeps the key it has; only one whose key names no group any more may take another's.
        spare = {session: None for session in sessions if session.key not in bests}
        for group, key in zip(groups, bests, strict=True):
            votes = Counter(member.session for member in group if member.placed and member.session in spare)
            home = named.get(key) or max(votes, key=lambda session: (votes[session], session.session_id), default=None)
            if home is None:
                home = self._open_session(min(group, key=lambda member: member.best))
            spare.pop(home, None)
            free.pop(home, None)
            homes.append((home, group))
        for home, group in homes:
            for member in group:
                if member.placed and member.session is home:
                    continue
                if member.placed:
                    left = member.session
                    self._leave(member)
                    self._inherits.append((home, left.session_id))
                    home.revision = max(home.revision, left.revision)
                    if left not in free:
                        self._touch(left, late=False)
                member.session = home
                self._enter(member)
                self._dirty_traces[member] = None
                self._touch(home, late=False)
        for session in free:
            heir = next((home for home, _ in homes if (home, session.session_id) in self._inherits), homes[0][0])
            self._merge_counts(heir, session)
            self._vanish(session, heir)
        for home, _ in homes:
            home.best = None
        for home, _ in homes:
            self._name(home, *home.traces.values())
            self._schedule(home)

    def _absorb(self, target: Session, other: Session) -> None:
        for trace in list(other.traces.values()):
            self._leave(trace)
            trace.session = target
            self._enter(trace)
        self._merge_counts(target, other)
        self._vanish(other, target)
        self._touch(target, late=False)

    @staticmethod
    def _merge_counts(target: Session, other: Session) -> None:
        target.opened_ns = min(target.opened_ns, other.opened_ns) if other.state == target.state else target.opened_ns
        target.revision = max(target.revision, other.revision)  # ids of what is emitted hold the revision
        target.duplicates += other.duplicates
        target.stale += other.stale
        target.late += other.late
        target.kept += other.kept
        target.dropped += other.dropped
        target.ends |= other.ends
        target.sampled |= other.sampled
        target.limited |= other.limited
        target.tail.extend(other.tail)
        while len(target.tail) > TAIL:
            target.tail.popleft()

    def _vanish(self, session: Session, heir: Session) -> None:
        """Let a session's id go that has no trace any more."""
        if session.state == "open":
            self._open -= 1
        session.state = "closed"
        self._closed.pop(session, None)
        self._dirty_sessions.pop(session, None)
        del self._sessions[session.session_id]
        self._leave_id(session, heir)

    def _leave_id(self, session: Session, heir: Session) -> None:
        self._gone[session.session_id] = heir
        self._lineages[session.key] = Lineage(session.generation, session.revision, "superseded", self._now_ns)

    def _open_session(self, trace: Trace) -> Session:
        key = trace.best[2]
        session = Session(key, 0, self._now_ns)
        self._take_id(session, key)
        session.best = trace.best
        self._open += 1
        self._dirty_sessions[session] = None
        return session

    def _name(self, session: Session, *changed: Trace) -> None:
        """Give the session the id of its best key, the changed traces' claims taken in."""
        best = min(trace.best for trace in changed)
        if session.best is not None and session.best <= best and session.best[2] == session.key:
            return
        session.best = best if session.best is None else min(best, session.best)
        if session.best[2] != session.key:
            self._leave_id(session, session)
            del self._sessions[session.session_id]
            self._take_id(session, session.best[2])
            self._dirty_sessions[session] = None

    def _take_id(self, session: Session, key: SessionKey) -> None:
        lineage = self._lineages.get(key) or self._archive.lineage(key)
        generation, revision = 1, 0
        if lineage is not None:
            generation, revision = lineage.generation, lineage.revision
            standing = lineage.state != "deleted" and self._now_ns <= lineage.closed_ns + self.rules.reopen_window_ns
            if revision and not standing:
                generation, revision = generation + 1, 0
        session.key, session.generation, session.revision = key, generation, max(revision, session.revision)
        session.session_id = key.id(generation)
        self._sessions[session.session_id] = session
        self._gone.pop(session.session_id, None)

    def _enter(self, trace: Trace) -> None:
        """Put a trace into its session and the indexes."""
        session = trace.session
        trace.placed = True
        self._traces[trace.trace_id] = trace
        session.traces[trace.trace_id] = trace
        session.agents += trace.agent
        session.awaited += trace.awaited
        session.open_roots += trace.open_roots
        keys = trace.keys
        for key in keys:
            carriers = self._carriers.setdefault(key, {})
            carriers[session] = carriers.get(session, 0) + 1
        for top in keys[:1]:
            session.tops[top] = session.tops.get(top, 0) + 1
        for cause in trace.causes:
            awaiting = self._awaiting.setdefault(cause, {})
            awaiting[session] = awaiting.get(session, 0) + 1
        if trace.table is not None:
            self._tables[trace] = None
            self._table_spans += len(trace.table)

    def _leave(self, trace: Trace) -> None:
        """Undo `_enter`."""
        session = trace.session
        trace.placed = False
        del self._traces[trace.trace_id]
        del session.traces[trace.trace_id]
        session.agents -= trace.agent
        session.awaited -= trace.awaited
        session.open_roots -= trace.open_roots
        keys = trace.keys
        for key in keys:
            _drop(self._carriers, key, session)
        for top in keys[:1]:
            session.tops[top] -= 1
            if not session.tops[top]:
                del session.tops[top]
        for cause in trace.causes:
            _drop(self._awaiting, cause, session)
        if trace.table is not None:
            self._tables.pop(trace, None)
            self._table_spans -= len(trace.table)

    # -- keeping spans -------------------------------------------------------------------------------------------------

    def _keep(self, trace: Trace, sighting: Sighting, sight: Sight, identity: int, version: int) -> None:
        session = trace.session
        session.ends |= sighting.ends_session
        session.sampled |= sighting.sampled
        if sighting.agent and not trace.agent:
            trace.agent = True
            session.agents += 1
        self._dirty_traces[trace] = None
        table = self._table(trace)
        awaited, open_roots = len(table.awaited), len(table.open_roots)
        limit = self.rules.session_spans
        if sight is Sight.NEW and limit and session.kept >= (2 * limit if sighting.skeleton else limit):
            session.limited = True
            session.dropped += 1
            session.tail.append((trace.trace_id, sighting.payload))
            if len(session.tail) > TAIL:
                session.tail.popleft()
            if not sighting.log:
                table.resolve(identity)
            if not len(table) and len(session.traces) > 1:
                self._leave(trace)  # a trace none of whose spans is kept must not cost memory
                self._dirty_traces.pop(trace, None)
                return
        else:
            if sight is Sight.NEW:
                session.kept += 1
                self._table_spans += 1
                trace.logs += sighting.log
                trace.spans += not sighting.log
            parent = int(sighting.parent_id, 16) if sighting.parent_id and not sighting.log else None
            table.add(identity, parent, version, sighting.log)
            trace.pending.append(sighting.payload)
        session.awaited += len(table.awaited) - awaited
        session.open_roots += len(table.open_roots) - open_roots

    def _count_repeat(self, session: Session, sight: Sight) -> None:
        if sight is Sight.DUPLICATE:
            session.duplicates += 1
        else:
            session.stale += 1
        self._dirty_sessions[session] = None

    # -- time ----------------------------------------------------------------------------------------------------------

    def _touch(self, session: Session, late: bool) -> None:
        """Something new came to a session: it is open, and not quiet."""
        if session.state == "closed":
            session.state = "open"
            session.opened_ns = self._now_ns
            session.reason = ""
            session.due = False
            self._open += 1
            self._closed.pop(session, None)
        if late and session.revision:
            session.late += 1
            self.late += 1
        session.last_ns = session.quiet_ns = self._now_ns
        self._dirty_sessions[session] = None

    def _complete(self, session: Session) -> bool:
        return not session.awaited and not session.open_roots and any(trace.spans for trace in session.traces.values())

    def _deadline(self, session: Session) -> int:
        if session.ends:
            return self._now_ns
        quiet = self.rules.grace_ns if self._complete(session) else self.rules.idle_ns
        return min(session.opened_ns + self.rules.max_age_ns, session.quiet_ns + min(quiet, self.rules.idle_ns))

    def _reason(self, session: Session) -> str:
        if session.ends:
            return reasons.EXPLICIT
        quiet = self._now_ns - session.quiet_ns
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
        session.closed_ns = self._now_ns
        session.reason = reason
        session.ends = False
        session.timer_ns = 0
        self._open -= 1
        self._dirty_sessions[session] = None
        if not session.agents:
            self._closed[session] = None
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


K = TypeVar("K")


def _known(trace: Trace, claim: Claim) -> bool:
    """Whether a claim changes nothing, or only which span makes it."""
    known = trace.claims.get(claim.key.kind)
    return known is not None and (claim >= known or (claim.key == known.key and claim.rank == known.rank))


def _drop(index: dict[K, dict[Session, int]], key: K, session: Session) -> None:
    """Take one count of a session out of an index, and what became empty with it."""
    counts = index[key]
    counts[session] -= 1
    if not counts[session]:
        del counts[session]
        if not counts:
            del index[key]
