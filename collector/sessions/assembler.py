"""Which session a span belongs to, and when the session closes: a state machine without I/O or clock of its own.

Separate from the engine so that its law can be tested whole: however spans arrive, late, twice or out of order, what is
reported in the end is what one tidy delivery would have given.

Rules:
- which traces a session holds is `membership`'s, which of its spans are kept `keeper`'s, and when it is due `timers`';
- duplicates and poorer versions of a span count, and change nothing else;
- timers run on arrival time as it is handed in, which must not go back;
- closed sessions and quiet span tables move to the archive, and come back when asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

from collector.sessions import reasons
from collector.sessions.keeper import Keeper
from collector.sessions.membership import Membership
from collector.sessions.model import Changes, Closed, Discarded, Rules, Sighting
from collector.sessions.spans import Sight, rank
from collector.sessions.state import Archive, Chunk, NoArchive, Session, Trace, TraceRecord, cause_ref, trace_ref
from collector.sessions.timers import Timers

SPANS_A_SESSION: Final = 100
"""Resident closed sessions are bounded by the resident spans divided by this."""


class Assembler:
    """Takes sightings and the time; says which sessions closed and what is to be stored."""

    def __init__(self, rules: Rules, archive: Archive | None = None) -> None:
        self.rules = rules
        self._archive: Archive = archive or NoArchive()
        self._evicts = archive is not None
        self._timers = Timers(rules)
        self._keeper = Keeper(rules, self._archive)
        self._members = Membership(
            self._archive, rules.reopen_window_ns, rules.discarded_window_ns, self._changed, self._keeper.shelve
        )
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
        return len(self._members.index.traces)

    @property
    def resident_spans(self) -> int:
        """Spans whose ids are in memory."""
        return self._keeper.spans

    def change(self, rules: Rules) -> None:
        """Go by other rules from now on; sessions that are open close by them, too."""
        self.rules = self._timers.rules = self._keeper.rules = rules
        self._members.change(rules.reopen_window_ns, rules.discarded_window_ns)
        for session in self._members.sessions.values():
            if session.state == "open":
                session.timer_ns = 0
                self._timers.schedule(session, self._members.now_ns)

    def restore(self, session_ids: Iterable[str], now_ns: int) -> None:
        """Bring open sessions back. Quiet time starts anew: silence while nobody listened is no silence of theirs."""
        self._pass(now_ns)
        for session_id in session_ids:
            session = self._members.load(session_id)
            if session is not None and session.state == "open":
                session.opened_ns = min(session.opened_ns, now_ns)
                session.last_ns = min(session.last_ns, now_ns)
                session.quiet_ns = now_ns
                self._timers.schedule(session, self._members.now_ns)

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
            sight = self._keeper.table(trace).look(identity, sighting.log, version)
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
        self._members.dirty_traces[trace] = None
        if not self._keeper.keep(trace, sighting, sight, identity, version):
            self._members.release(trace)  # a trace none of whose spans is kept must not cost memory
        self._timers.schedule(session, self._members.now_ns)
        return sight

    def tick(self, now_ns: int) -> list[Closed | Discarded]:
        """Close what is due."""
        self._pass(now_ns)
        now_ns = self._members.now_ns
        closed: list[Closed | Discarded] = []
        for session in self._timers.due(now_ns):
            closed.append(self._close(session, self._timers.reason(session, now_ns)))
        return closed

    def drain(self) -> list[Closed | Discarded]:
        """Close all that is open."""
        sessions = [session for session in self._members.sessions.values() if session.state == "open"]
        return [self._close(session, reasons.DRAIN) for session in sessions]

    def due(self, session_ids: Iterable[str]) -> list[Closed]:
        """Bring back sessions that closed and were not reported; return their closes once more."""
        sessions = [self._members.load(session_id, expired=True) for session_id in session_ids]
        return [
            Closed.of(session)
            for session in sessions
            if session is not None and session.state == "closed" and session.due
        ]

    def knows(self, session_id: str) -> bool:
        """Whether an id names a session in memory (one that was merged away or deleted does not)."""
        return session_id in self._members.sessions

    def is_open(self, trace_id: str) -> bool:
        """Whether a trace is of a session that is open. Cheap, from any thread."""
        trace = self._members.index.traces.get(trace_id)
        return trace is not None and trace.placed and trace.session.state == "open"

    def visited(self, trace_id: str) -> bool:
        """Whether a trace is known to hold an agent."""
        trace = self._members.index.traces.get(trace_id)
        return trace is not None and trace.agent

    def glimpse(self, trace_id: str) -> Closed | None:
        """Return the open session of a trace as if it closed now, changing nothing; None if it holds no agent."""
        trace = self._members.index.traces.get(trace_id)
        if trace is None or not trace.placed or trace.session.state != "open" or not trace.session.agents:
            return None
        return Closed.of(trace.session)

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
            stale=tuple((ref, top, session.session_id) for ref, top, session in members.index.stale),
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
        while members.closed and (self._keeper.spans > limit or len(members.closed) > limit // SPANS_A_SESSION):
            session = next(iter(members.closed))
            if session in members.dirty_sessions or not members.dirty_traces.keys().isdisjoint(session.traces.values()):
                break
            members.forget(session)
        self._keeper.evict(members.dirty_traces)

    def _pass(self, now_ns: int) -> None:
        self._members.now_ns = max(self._members.now_ns, now_ns)

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
            self._timers.schedule(session, self._members.now_ns)

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
        return Closed.of(session)
