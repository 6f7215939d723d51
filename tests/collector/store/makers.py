"""Small reports and changes to put into a store."""

from __future__ import annotations

from typing import Any, Literal

from collector.report import Emission, HandoffRow, MetricDelta, OutboxEntry, PreviousState, Report
from collector.sessions.keys import SessionKey
from collector.sessions.model import Changes
from collector.sessions.state import SessionRecord
from collector.store import Checkpoint, Store

SECOND = 1_000_000_000


def handoff(number: int = 1, **values: Any) -> HandoffRow:
    given: dict[str, Any] = {
        "handoff_id": f"h-{number}",
        "source_agent": "pln",
        "source_role": "planner",
        "target_agent": "rsr",
        "target_role": "researcher",
        "score": 0.7,
        "grade": "C",
    } | values
    return HandoffRow(**given)


def report(number: int = 1, revision: int = 1, **values: Any) -> Report:
    key = SessionKey("session", f"s-{number}")
    given: dict[str, Any] = {
        "session_id": key.id(),
        "key": key,
        "generation": 1,
        "revision": revision,
        "close_reason": "idle",
        "opened_ns": number * SECOND,
        "closed_ns": (number + 1) * SECOND,
        "trace_json": b'{"trace_id": "s"}\n' * 30,
        "report_json": b"{}\n",
        "service": "shop",
        "mean_score": 0.7,
        "grade": "C",
        "scored": 1,
        "weakest_handoff": "h-1",
        "roles": ("planner", "researcher"),
        "handoffs": (handoff(),),
    } | values
    return Report(**given)


def changes(*reports: Report, state: Literal["open", "closed"] = "closed", **values: Any) -> Changes:
    records = tuple(
        SessionRecord(
            r.session_id,
            r.key,
            r.generation,
            state,
            r.opened_ns,
            r.closed_ns,
            r.closed_ns,
            r.revision,
            agent=True,
            due=True,
        )
        for r in reports
    )
    nothing: dict[str, Any] = {
        "expired": (),
        "gone": (),
        "inherits": (),
        "deleted": (),
        "stale": (),
        "traces": (),
        "refs": (),
        "chunks": (),
    }
    return Changes(**{**nothing, "sessions": records, **values})


class Counting:
    """An emitter that counts each handoff once and puts one entry a revision."""

    def plan(self, report: Report, previous: PreviousState) -> Emission:
        new = [row for row in report.handoffs if row.handoff_id not in previous.sampled]
        return Emission(
            metrics=tuple(
                MetricDelta(
                    "orbitrelay.handoff.count",
                    (
                        ("orbitrelay.handoff.source.role", row.source_role),
                        ("orbitrelay.handoff.target.role", row.target_role),
                    ),
                    1,
                )
                for row in new
            ),
            outbox=(OutboxEntry(f"{report.session_id}/{report.revision}", "traces", "traces", b"payload"),),
            sampled=tuple(row.handoff_id for row in new),
        )


def put(store: Store, *reports: Report, **values: Any) -> tuple[tuple[str, int], ...]:
    """Commit reports as the engine does; return those that were new."""
    checkpoint = Checkpoint(changes(*reports, **values), reports=reports)
    return store.checkpoint(checkpoint, Counting()).result().committed
