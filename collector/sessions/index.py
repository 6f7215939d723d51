"""Which traces are in memory, which sessions carry a key, and which wait for a trace: the indexes that placing asks.

Separate from membership, which decides where a trace goes; here is only what is so, kept as traces come to sessions and leave them.

Rules:
- an index counts traces a session, so that a session leaves it with the last of them;
- what leaves here and still stands in the archive is noted as stale.
"""

from __future__ import annotations

from collections.abc import Iterable

from collector.sessions.state import Session, Trace, cause_ref

Carriers = dict[str, dict[Session, int]]
"""Top key -> sessions with traces of that top key, and how many; of the traces that carry one key."""


class Index:
    """See the module. `stale`: (reference, top, session) that holds no more."""

    def __init__(self) -> None:
        self.traces: dict[str, Trace] = {}
        self.stale: dict[tuple[str, str, Session], None] = {}
        self._carriers: dict[str, Carriers] = {}
        self._awaiting: dict[str, dict[Session, int]] = {}  # trace id named by a link -> sessions that name it

    def carriers(self, ref: str) -> Carriers:
        """Return the sessions in memory with traces that carry a key."""
        return self._carriers.get(ref, {})

    def awaiting(self, trace_id: str) -> Iterable[Session]:
        """Return the sessions in memory whose links name a trace."""
        return self._awaiting.get(trace_id, ())

    def enter(self, trace: Trace) -> None:
        """Take in a trace as of its session, and count what it adds to that."""
        session = trace.session
        trace.placed = True
        self.traces[trace.trace_id] = trace
        session.traces[trace.trace_id] = trace
        session.agents += trace.agent
        session.awaited += trace.awaited
        session.open_roots += trace.open_roots
        for ref in trace.refs:
            counts = self._carriers.setdefault(ref, {}).setdefault(trace.refs[0], {})
            counts[session] = counts.get(session, 0) + 1
        for cause in trace.causes:
            counts = self._awaiting.setdefault(cause, {})
            counts[session] = counts.get(session, 0) + 1

    def leave(self, trace: Trace, stale: bool = False) -> None:
        """Undo `enter`. `stale`: what the archive holds of it is wrong now."""
        session = trace.session
        trace.placed = False
        del self.traces[trace.trace_id]
        del session.traces[trace.trace_id]
        session.agents -= trace.agent
        session.awaited -= trace.awaited
        session.open_roots -= trace.open_roots
        for ref in trace.refs:
            carriers, top = self._carriers[ref], trace.refs[0]
            if _drop(carriers, top, session) and stale:
                self.stale[ref, top, session] = None
            if not carriers:
                del self._carriers[ref]
        for cause in trace.causes:
            if _drop(self._awaiting, cause, session) and stale:
                self.stale[cause_ref(cause), "", session] = None


def _drop(index: dict[str, dict[Session, int]], name: str, session: Session) -> bool:
    """Take one count of a session out of an index, and what became empty with it; True if it was the last."""
    counts = index[name]
    counts[session] -= 1
    if counts[session]:
        return False
    del counts[session]
    if not counts:
        del index[name]
    return True
