"""Which sessions there are and which traces they hold, kept to the law as traces come.

Separate from the assembler, which takes spans and lets time pass. The law is `grouping.components`; here it is kept step by step,
so that a trace costs no more than what it touches, however many sessions a chat group or a hard-coded thread id joins.

Rules:
- a key joins as long as it is clear which session it means; once the traces that carry it have two top keys of one
  kind it joins only those that have none better, and costs nothing more;
- what is in memory is authoritative; the archive is asked for what it does not hold, and its answers may lag;
- a session's id follows its key; an id that it leaves behind, or that is merged away, is `gone`, superseded by the new one.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from itertools import chain

from collector.sessions.grouping import components, is_clear
from collector.sessions.index import Carriers, Index
from collector.sessions.keys import Claim, SessionKey
from collector.sessions.state import Archive, Lineage, Session, Trace, cause_ref, trace_ref


class Membership:
    """Sessions and traces in memory. `touched`: called when a session changes that was closed, or is new; `released`: when a trace goes."""

    def __init__(
        self,
        archive: Archive,
        reopen_window_ns: int,
        discarded_window_ns: int,
        touched: Callable[[Session], None],
        released: Callable[[Trace], None],
    ) -> None:
        self._archive = archive
        self._reopen_window_ns = reopen_window_ns
        self._discarded_window_ns = discarded_window_ns
        self._touched = touched
        self._released = released
        self.now_ns = 0
        self.open = 0
        self.index = Index()
        self.sessions: dict[str, Session] = {}
        self.closed: OrderedDict[Session, None] = OrderedDict()  # settled: may leave memory, oldest first
        self.dirty_sessions: dict[Session, None] = {}
        self.dirty_traces: dict[Trace, None] = {}
        self.gone: dict[str, Session] = {}
        self.inherits: list[tuple[Session, str]] = []
        self.expired_ids: dict[str, None] = {}
        self.deleted_ids: dict[str, None] = {}
        self._unknown: set[str] = set()  # ids sent as gone, expired or deleted that the archive may not know of yet
        self._lineages: dict[SessionKey, Lineage] = {}  # newer than the archive's
        self._sent_lineages: dict[SessionKey, Lineage] = {}

    def change(self, reopen_window_ns: int, discarded_window_ns: int) -> None:
        """Forget what has closed after other times from now on."""
        self._reopen_window_ns, self._discarded_window_ns = reopen_window_ns, discarded_window_ns

    # -- the archive ---------------------------------------------------------------------------------------------------

    def sent(self) -> None:
        """Note that all changes were handed to the archive, which does not hold them yet."""
        ids = (self.gone, self.expired_ids, self.deleted_ids)
        self._unknown.update(*ids)
        self._sent_lineages = dict(self._lineages)
        for changes in (self.dirty_sessions, self.dirty_traces, self.inherits, self.index.stale, *ids):
            changes.clear()

    def stored(self) -> None:
        """Note that the archive holds what was sent."""
        self._unknown.clear()
        for key, lineage in self._sent_lineages.items():
            if self._lineages.get(key) is lineage:
                del self._lineages[key]
        self._sent_lineages = {}

    def find(self, trace_id: str) -> Trace | None:
        """Return a trace, from the archive if it is there."""
        trace = self.index.traces.get(trace_id)
        if trace is None:
            self._summon(self._archive.sessions_of([trace_ref(trace_id), cause_ref(trace_id)]))
            trace = self.index.traces.get(trace_id)
        if trace is not None and self._expired(trace.session):
            self._expire(trace.session)
            return None
        return trace

    def load(self, session_id: str, expired: bool = False) -> Session | None:
        """Bring a session into memory. `expired`: even one past its window."""
        found = self._archive.load(session_id)
        if found is None:
            return None
        record, traces = found
        session = Session.restore(record)
        if not expired and self._expired(session):
            self.expired_ids[session_id] = None
            return None
        self.sessions[session_id] = session
        for trace_record in traces:
            self.index.enter(Trace.restore(trace_record, session))
        session.best = min((trace.best for trace in session.traces.values()), default=None)
        if session.state == "open":
            self.open += 1
        elif not session.due:  # one that is due stays until it is settled
            self.closed[session] = None
        return session

    def forget(self, session: Session) -> None:
        """Take a session out of memory."""
        for trace in list(session.traces.values()):
            self.release(trace)
        del self.sessions[session.session_id]
        self.closed.pop(session, None)
        self.dirty_sessions.pop(session, None)

    def release(self, trace: Trace) -> None:
        """Let a trace go of which nothing is kept."""
        self.index.leave(trace)
        self.dirty_traces.pop(trace, None)
        self._released(trace)

    def delete(self, session_id: str) -> None:
        """Take a session out of memory that is to be deleted from the archive, too."""
        self._summon([session_id])  # what it was decides what its key begins with
        session = self.sessions.get(session_id)
        if session is not None:
            self._lineages[session.key] = Lineage(session.generation, session.revision, "deleted", self.now_ns)
            if session.state == "open":
                self.open -= 1
                session.state = "closed"
            self.forget(session)
        self.deleted_ids[session_id] = None

    def _summon(self, session_ids: Iterable[str]) -> None:
        held = (self.sessions, self.gone, self._unknown, self.expired_ids, self.deleted_ids)
        for session_id in sorted(session_ids):
            if not any(session_id in known for known in held):
                self.load(session_id)

    def _expired(self, session: Session) -> bool:
        window = self._reopen_window_ns if session.revision else self._discarded_window_ns
        return session.state == "closed" and self.now_ns > session.closed_ns + window

    def _expire(self, session: Session) -> None:
        self._lineages[session.key] = Lineage(session.generation, session.revision, "closed", session.closed_ns)
        self.expired_ids[session.session_id] = None
        self.forget(session)

    # -- placing -------------------------------------------------------------------------------------------------------

    def begin(self, trace: Trace) -> None:
        """Take in a trace that was not known."""
        self._place(trace, None)

    def learn(self, trace: Trace, claims: Iterable[Claim], causes: Iterable[str]) -> None:
        """Take in further keys and causes of a trace."""
        before = trace.refs
        known = len(trace.causes)
        self.index.leave(trace, stale=True)
        trace.note(claims, causes)
        self.index.enter(trace)
        if trace.refs != before or len(trace.causes) != known:
            self._place(trace, before)

    def _place(self, trace: Trace, before: list[str] | None) -> None:
        """Put a trace where the law says. `before`: the keys it carried, None if it is new."""
        refs, top = trace.refs, trace.refs[0] if trace.refs else ""
        touched: dict[Session, None] = {}
        if trace.placed:
            touched[trace.session] = None
        lost = set(before or ()) - set(refs)
        other_top = bool(before) and before[:1] != refs[:1]  # type: ignore[index]
        parts = bool(lost)
        for ref in (*refs, *lost):
            tops = self._tops(ref)
            mine = top if ref in refs else ref
            alone = trace.placed and ref in refs and sum(tops[top].values()) == 1
            others = [ref, mine] if alone or mine not in tops else [ref]
            was = is_clear(each for each in tops if each not in others)
            clear = is_clear(chain((mine,) if mine != ref else (), (each for each in tops if each not in (ref, mine))))
            if clear or was:
                for sessions in tops.values():
                    touched.update(dict.fromkeys(sessions))
            elif ref == top:
                touched.update(dict.fromkeys(tops.get(ref, ())))
            parts |= ref in refs and ref != top and not clear and (was or other_top)
        if unknown := [trace_ref(cause) for cause in trace.causes if cause not in self.index.traces]:
            self._summon(self._archive.sessions_of(unknown))
        for cause in trace.causes:
            if cause in self.index.traces:
                touched[self.index.traces[cause].session] = None
        touched.update(dict.fromkeys(self.index.awaiting(trace.trace_id)))
        for session in [session for session in touched if self._expired(session)]:
            del touched[session]
            self._expire(session)
        if parts:
            self._regroup(trace, touched)
        else:
            self._join(trace, touched)

    def _tops(self, ref: str) -> Carriers:
        """Return the carriers of a key, those in the archive brought into memory; of an ambiguous one not all of them."""
        self._summon(self._archive.carriers(ref))
        return self.index.carriers(ref)

    def _join(self, trace: Trace, touched: dict[Session, None]) -> None:
        """Make one session of those that a trace touches, and put it there."""
        target = max(touched, key=lambda session: (len(session.traces), session.session_id), default=None)
        if target is None:
            target = self._new_session(trace)
        moved = [trace]
        for other in touched:
            if other is target:
                continue
            moved += other.traces.values()
            for each in list(other.traces.values()):
                self.index.leave(each)
                each.session = target
                self.index.enter(each)
            self._merge_counts(target, other)
            self._vanish(other, target)
            self._touched(target)
        if not trace.placed:
            trace.session = target
            self.index.enter(trace)
        self.name(target, *moved)

    def _regroup(self, trace: Trace, touched: Iterable[Session]) -> None:
        """Apply the law from scratch to all the sessions that a change can concern."""
        sessions = list(touched)
        members = {member.trace_id: member for session in sessions for member in session.traces.values()}
        members[trace.trace_id] = trace
        groups = sorted(
            components(members.values(), self._is_ambiguous),
            key=lambda group: (-len(group), min(t.trace_id for t in group)),
        )
        named = {session.key: session for session in sessions}
        bests = [min(member.best for member in group)[2] for group in groups]
        # A session keeps the key it has; only one whose key names no group any more may take another's.
        spare = {session: None for session in sessions if session.key not in bests}
        free = dict.fromkeys(sessions)
        homes: list[tuple[Session, list[Trace]]] = []
        for group, key in zip(groups, bests, strict=True):
            votes = Counter(member.session for member in group if member.placed and member.session in spare)
            home = named.get(key) or max(votes, key=lambda session: (votes[session], session.session_id), default=None)
            if home is None:
                home = self._new_session(min(group, key=lambda member: member.best))
            spare.pop(home, None)
            free.pop(home, None)
            homes.append((home, group))
        for home, group in homes:
            for member in group:
                if not (member.placed and member.session is home):
                    self._move(member, home, free)
        for session in free:
            heir = next((home for home, _ in homes if (home, session.session_id) in self.inherits), homes[0][0])
            self._merge_counts(heir, session)
            self._vanish(session, heir)
        for home, _ in homes:
            home.best = None
        for home, _ in homes:
            self.name(home, *home.traces.values())
            self._touched(home)

    def _is_ambiguous(self, ref: str) -> bool:
        """Whether a key means no session: also by traces outside of those that are being grouped."""
        return not is_clear(top for top in self._tops(ref) if top != ref)

    def _move(self, trace: Trace, home: Session, free: dict[Session, None]) -> None:
        if trace.placed:
            left = trace.session
            self.index.leave(trace, stale=True)
            self.index.stale[trace_ref(trace.trace_id), "", left] = None
            self.inherits.append((home, left.session_id))
            home.revision = max(home.revision, left.revision)
            if left not in free:
                self._touched(left)
        trace.session = home
        self.index.enter(trace)
        self.dirty_traces[trace] = None
        self._touched(home)

    @staticmethod
    def _merge_counts(target: Session, other: Session) -> None:
        target.opened_ns = min(target.opened_ns, other.opened_ns) if other.state == target.state else target.opened_ns
        target.revision = max(target.revision, other.revision)  # ids of what is emitted hold the revision
        target.duplicates += other.duplicates
        target.stale += other.stale
        target.late += other.late
        target.kept += other.kept
        target.size += other.size
        target.dropped += other.dropped
        target.ends |= other.ends
        target.sampled |= other.sampled
        target.limited |= other.limited
        target.oversized |= other.oversized
        target.end_with(other.tail)

    # -- names ---------------------------------------------------------------------------------------------------------

    def name(self, session: Session, *changed: Trace) -> None:
        """Give the session the id of its best key, the changed traces' claims taken in."""
        best = min(trace.best for trace in changed)
        session.best = best if session.best is None else min(best, session.best)
        if session.best[2] != session.key:
            self._leave_id(session, session)
            del self.sessions[session.session_id]
            self._take_id(session, session.best[2])
            self.dirty_sessions[session] = None

    def _new_session(self, trace: Trace) -> Session:
        session = Session(trace.best[2], 0, self.now_ns)
        self._take_id(session, trace.best[2])
        session.best = trace.best
        self.open += 1
        self.dirty_sessions[session] = None
        return session

    def _vanish(self, session: Session, heir: Session) -> None:
        """Let a session's id go that has no trace any more."""
        if session.state == "open":
            self.open -= 1
        session.state = "closed"
        self.closed.pop(session, None)
        self.dirty_sessions.pop(session, None)
        del self.sessions[session.session_id]
        self._leave_id(session, heir)

    def _leave_id(self, session: Session, heir: Session) -> None:
        self.gone[session.session_id] = heir
        self._lineages[session.key] = Lineage(session.generation, session.revision, "superseded", self.now_ns)

    def _take_id(self, session: Session, key: SessionKey) -> None:
        lineage = self._lineages.get(key) or self._archive.lineage(key)
        generation, revision = 1, 0
        if lineage is not None:
            generation, revision = lineage.generation, lineage.revision
            standing = lineage.state != "deleted" and self.now_ns <= lineage.closed_ns + self._reopen_window_ns
            if revision and not standing:
                generation, revision = generation + 1, 0
        session.key, session.generation, session.revision = key, generation, max(revision, session.revision)
        session.session_id = key.id(generation)
        self.sessions[session.session_id] = session
        self.gone.pop(session.session_id, None)
