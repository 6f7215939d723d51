"""Small worlds for session tests: an archive in memory, spans in short, and the law written down a second time."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from collector.clock import seconds
from collector.sessions.grouping import components
from collector.sessions.keys import SessionKey, claims
from collector.sessions.model import Changes, Rules, Sighting
from collector.sessions.spans import rank
from collector.sessions.state import Lineage, SessionRecord, Trace, TraceRecord

RULES = Rules(
    grace_ns=seconds(15),
    idle_ns=seconds(300),
    max_age_ns=seconds(10**7),
    reopen_window_ns=seconds(10**8),
    discarded_window_ns=seconds(10**8),
    session_spans=0,
    session_size=0,
    resident_spans=3,
)


def span(
    trace: str,
    number: int,
    parent: int = 0,
    *,
    at: float = 1,
    ended: bool = True,
    body: str = "",
    agent: bool = True,
    links: tuple[str, ...] = (),
    ends_session: bool = False,
    log: bool = False,
    skeleton: bool = False,
    sampled: bool = False,
    **values: str,
) -> Sighting:
    """A span `number` of a trace; `parent` 0 is a root. Session attributes come as kind=value."""
    start = seconds(at)
    end = start + 1 if ended else 0
    return Sighting(
        trace_id=trace,
        span_id=f"{number:016x}",
        parent_id=f"{parent:016x}" if parent else "",
        start_ns=start,
        end_ns=end,
        payload=msgspec.msgpack.encode([trace, number, parent, start, end, body, sorted(values.items()), log]),
        claims=claims(values, root=not parent, start_ns=start, span_id=f"{number:016x}"),
        causes=links,
        agent=agent,
        log=log,
        ends_session=ends_session,
        skeleton=skeleton,
        sampled=sampled,
    )


class MemoryArchive:
    """What the store does with changes, in dictionaries."""

    def __init__(self) -> None:
        self.sessions: dict[str, SessionRecord] = {}
        self.superseded: dict[str, str] = {}
        self.superseded_at: dict[str, int] = {}
        self.deleted: dict[str, int] = {}
        self.outdated: set[str] = set()  # sessions that stand, and whose reports are of others now
        self.traces: dict[str, tuple[str, TraceRecord]] = {}
        self.refs: set[tuple[str, str, str]] = set()
        self.facts: dict[str, list[bytes]] = {}
        self.pieces: dict[str, list[bytes]] = {}

    def apply(self, changes: Changes, now_ns: int = 0) -> None:
        for session_id in changes.expired:
            self._expire(session_id)
        for old, new in changes.gone:
            self.traces = {t: (new if owner == old else owner, r) for t, (owner, r) in self.traces.items()}
            self.refs = {(ref, top, new if owner == old else owner) for ref, top, owner in self.refs}
            if old in self.sessions:
                self.superseded |= {sid: new for sid, by in self.superseded.items() if by == old} | {old: new}
                self.superseded_at[old] = now_ns
        for session_id in changes.deleted:
            self._expire(session_id)
            self.deleted[session_id] = now_ns
        for record in changes.sessions:
            self.sessions[record.session_id] = record
            self.deleted.pop(record.session_id, None)
            if self.superseded.pop(record.session_id, None) is not None:
                self.outdated.add(record.session_id)
            if record.agent:
                self.outdated.discard(record.session_id)
        for _, old in changes.inherits:
            if old in self.sessions and self.sessions[old].revision and not self.sessions[old].agent:
                self.outdated.add(old)
        for session_id, trace in changes.traces:
            self.traces[trace.trace_id] = (session_id, trace)
        self.refs.difference_update(changes.stale)
        self.refs.update(changes.refs)
        for chunk in changes.chunks:
            self.facts.setdefault(chunk.trace_id, []).extend(chunk.facts)
            self.pieces.setdefault(chunk.trace_id, []).append(chunk.entries)

    def _expire(self, session_id: str) -> None:
        for trace_id in [t for t, (owner, _) in self.traces.items() if owner == session_id]:
            self.facts.pop(trace_id, None)
            self.pieces.pop(trace_id, None)
            del self.traces[trace_id]
        self.refs = {row for row in self.refs if row[2] != session_id}

    def sessions_of(self, refs: list[str]) -> set[str]:
        return {owner for ref, _, owner in self.refs if ref in refs}

    def carriers(self, ref: str) -> set[str]:
        rows = sorted(row for row in self.refs if row[0] == ref)
        return {row[2] for row in rows if row[1] == ref} | {row[2] for row in [r for r in rows if r[1] != ref][:12]}

    def load(self, session_id: str) -> tuple[SessionRecord, list[TraceRecord]] | None:
        if session_id not in self.sessions or session_id in self.superseded or session_id in self.deleted:
            return None
        return self.sessions[session_id], [trace for owner, trace in self.traces.values() if owner == session_id]

    def entries(self, trace_id: str) -> list[bytes]:
        return self.pieces.get(trace_id, [])

    def lineage(self, key: SessionKey) -> Lineage | None:
        having = [record for record in self.sessions.values() if record.key == key]
        if not having:
            return None
        latest = max(having, key=lambda record: record.generation)
        if latest.session_id in self.superseded:
            return Lineage(latest.generation, latest.revision, "superseded", self.superseded_at[latest.session_id])
        if latest.session_id in self.deleted:
            return Lineage(latest.generation, latest.revision, "deleted", self.deleted[latest.session_id])
        return Lineage(latest.generation, latest.revision, latest.state, latest.closed_ns)


def best_versions(payloads: Iterable[bytes]) -> frozenset[bytes]:
    """Of each span (log record) the version that wins."""
    best: dict[object, tuple[int, bytes]] = {}
    for payload in payloads:
        trace, number, _, _, end, _, _, log = msgspec.msgpack.decode(payload)
        identity: object = payload if log else (trace, number)
        found = (rank(end != 0, payload), payload)
        best[identity] = max(best.get(identity, found), found)
    return frozenset(payload for _, payload in best.values())


def law(sightings: Iterable[Sighting]) -> dict[str, frozenset[bytes]]:
    """What must be reported in the end: session id -> the spans of the session, from all that was delivered."""
    traces: dict[str, Trace] = {}
    payloads: dict[str, set[bytes]] = {}
    agents: set[str] = set()
    for sighting in sightings:
        trace = traces.setdefault(sighting.trace_id, Trace(sighting.trace_id))
        payloads.setdefault(sighting.trace_id, set()).add(sighting.payload)
        if sighting.agent:
            agents.add(sighting.trace_id)
        trace.note(sighting.claims, sighting.causes)
        trace.extend(sighting.start_ns, sighting.end_ns, sighting.log)
    expected: dict[str, frozenset[bytes]] = {}
    for group in components(traces.values()):
        if agents.isdisjoint(trace.trace_id for trace in group):
            continue
        key = min(trace.best for trace in group)[2]
        expected[key.id()] = best_versions(p for trace in group for p in payloads[trace.trace_id])
    return expected
