"""The law of the totals, by the state machine of sessions over a real store: each handoff counts once, whatever its sessions become.

Here every span of an agent's is a handoff, and its versions are its verdicts.
"""

from __future__ import annotations

from collections import Counter

import msgspec
from hypothesis import HealthCheck, settings

from collector import semconv
from collector.emit.planner import Outlets, SessionEmitter
from collector.sessions.model import Changes, Closed
from collector.store import Checkpoint, Store
from tests.collector.sessions.test_assembler_law import Sessions
from tests.collector.store.makers import handoff, report

NOTHING = Changes((), (), (), (), (), (), (), (), ())
EMITTER = SessionEmitter(Outlets(), lambda _: "")
VERDICTS = {"": "A", "x": "C", "yy": "F"}


class Counted(Sessions):
    """See the module. `counted`: handoffs that were reported; one that comes again after its session was deleted is another."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Store(None, now_ns=lambda: self.now)
        self.store.start()
        self.counted: set[tuple[str, int]] = set()

    def keep(self, changes: Changes) -> None:
        super().keep(changes)
        self.store.checkpoint(Checkpoint(changes), EMITTER).result()

    def report(self, end: Closed, payloads: frozenset[bytes]) -> None:
        super().report(end, payloads)
        rows = []
        for trace, number, *_, body, _, log in map(msgspec.msgpack.decode, sorted(payloads)):
            if self.world[trace, number].agent and not log:
                rows.append(handoff(handoff_id=f"{trace[0]}{number}", grade=VERDICTS[body], latency_ms=None))
                self.counted.add((f"{trace[0]}{number}", self.lives[trace]))
        session = end.session
        made = msgspec.structs.replace(
            report(session_id=session.session_id, revision=session.revision, handoffs=tuple(rows)),
            key=session.key,
            generation=session.generation,
            closed_ns=session.closed_ns,
        )
        checkpoint = Checkpoint(NOTHING, reports=(made,))
        assert self.store.checkpoint(checkpoint, EMITTER).result().committed == ((made.session_id, made.revision),)

    def teardown(self) -> None:
        super().teardown()
        totals: Counter[str] = Counter()
        for series in self.store.metrics():
            totals[series.instrument] += series.count
        listed = [self.store.report(row.session_id) for row in self.store.sessions(page_size=100).rows]
        standing = [row.handoff_id for each in listed if each is not None for row in each.handoffs]
        assert totals[semconv.M_HANDOFF_COUNT] == len(self.counted)
        assert sorted(standing) == sorted(
            {
                f"{sighting.trace_id[0]}{int(sighting.span_id, 16)}"
                for sighting in self.delivered
                if sighting.agent and not sighting.log
            }
        )
        if not self.lives:
            assert totals[semconv.M_HANDOFF_COUNT] == len(standing), "nothing that was counted is gone"
        assert totals[semconv.M_REPORT_COUNT] == len(self.revisions)
        self.store.stop()


Counted.TestCase.settings = settings(
    max_examples=30, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestCounted = Counted.TestCase
