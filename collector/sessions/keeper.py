"""The spans of sessions: which are kept whole, what is known of the others, and which span tables are in memory.

Separate from the assembler, which says to which session a span belongs and when that closes.

Rules:
- past its limits a session keeps its skeleton and both of its ends; what is not kept is counted;
- counts of a session follow its traces' tables, also while those are in the archive;
- quiet tables move to the archive once it holds what is in them, and come back when a span asks for one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container

from collector.sessions.model import Rules, Sighting
from collector.sessions.spans import Sight, SpanTable
from collector.sessions.state import Archive, Session, Trace


class Keeper:
    """See the module. `spans`: those whose ids are in memory."""

    def __init__(self, rules: Rules, archive: Archive) -> None:
        self.rules = rules
        self.spans = 0
        self._archive = archive
        self._tables: OrderedDict[Trace, None] = OrderedDict()  # of the traces in memory, the quietest first

    def table(self, trace: Trace) -> SpanTable:
        """Return a trace's span table, brought into memory if it was not."""
        table = trace.table
        if table is None:
            table = SpanTable.unpack(self._archive.entries(trace.trace_id))
            trace.table = table
            self.spans += len(table)
            session = trace.session
            session.awaited += len(table.awaited) - trace.stored_awaited
            session.open_roots += len(table.open_roots) - trace.stored_open_roots
        self._tables[trace] = None
        self._tables.move_to_end(trace)
        return table

    def shelve(self, trace: Trace) -> None:
        """Take a trace's span table out of memory."""
        self._tables.pop(trace, None)
        table = trace.table
        if table is not None:
            trace.stored_awaited, trace.stored_open_roots = len(table.awaited), len(table.open_roots)
            self.spans -= len(table)
            trace.table = None

    def evict(self, unstored: Container[Trace]) -> None:
        """Take the quietest span tables out of memory until few enough are left, or one is not stored yet."""
        while self.spans > self.rules.resident_spans and self._tables:
            trace = next(iter(self._tables))
            if trace in unstored:
                break
            self.shelve(trace)

    def keep(self, trace: Trace, sighting: Sighting, sight: Sight, identity: int, version: int) -> bool:
        """Take a version of a span, whole if there is room; False if nothing of its trace is kept, and its session has others."""
        session = trace.session
        session.ends |= sighting.ends_session
        session.sampled |= sighting.sampled
        if sighting.agent and not trace.agent:
            trace.agent = True
            session.agents += 1
        table = self.table(trace)
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
            self.spans += new
            trace.logs += new and sighting.log
            trace.spans += new and not sighting.log
            trace.pending.append(sighting.payload)
        else:
            session.dropped += new
            session.end_with([(trace.trace_id, sighting.payload)])
            if new and not sighting.log:
                table.resolve(identity)
            if not len(table) and len(session.traces) > 1:
                return False
        session.awaited += len(table.awaited) - awaited
        session.open_roots += len(table.open_roots) - open_roots
        return True

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
