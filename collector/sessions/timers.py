"""When sessions close: by their own word, when all of their roots have ended, when they are quiet, or of old age.

Separate from the assembler because time is handed in: these are the rules of closing, and the heap that finds what is due
without asking every session.

Rules:
- timers run on arrival time, which does not go back;
- a session is in the heap at the earliest moment that may close it; what moved it since is looked at when it is due.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from collector.sessions import reasons
from collector.sessions.model import Rules
from collector.sessions.state import Session


class Timers:
    """The deadlines of open sessions, by `rules`."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._heap: list[tuple[int, int, Session]] = []
        self._pushed = 0

    def schedule(self, session: Session, now_ns: int) -> None:
        """See that a session is looked at when it may be due."""
        due = self._deadline(session, now_ns)
        if not session.timer_ns or due < session.timer_ns:
            session.timer_ns = due
            self._pushed += 1
            heapq.heappush(self._heap, (due, self._pushed, session))

    def due(self, now_ns: int) -> Iterator[Session]:
        """Return the sessions to close by now."""
        while self._heap and self._heap[0][0] <= now_ns:
            due, _, session = heapq.heappop(self._heap)
            if session.state != "open" or due != session.timer_ns or not session.traces:
                continue
            session.timer_ns = 0
            if self._deadline(session, now_ns) > now_ns:
                self.schedule(session, now_ns)
            else:
                yield session

    def reason(self, session: Session, now_ns: int) -> str:
        """Return why a session that is due closes."""
        if session.ends:
            return reasons.EXPLICIT
        quiet = now_ns - session.quiet_ns
        if quiet >= self.rules.grace_ns and _complete(session):
            return reasons.ROOTS_ENDED
        return reasons.IDLE if quiet >= self.rules.idle_ns else reasons.MAX_AGE

    def _deadline(self, session: Session, now_ns: int) -> int:
        if session.ends:
            return now_ns
        quiet = self.rules.grace_ns if _complete(session) else self.rules.idle_ns
        return min(session.opened_ns + self.rules.max_age_ns, session.quiet_ns + min(quiet, self.rules.idle_ns))


def _complete(session: Session) -> bool:
    return not session.awaited and not session.open_roots and any(trace.spans for trace in session.traces.values())
