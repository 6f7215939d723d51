"""The smallest session that shows everything: a planner, a researcher and an engineer over two traces."""

from __future__ import annotations

from typing import Any

import msgspec

from collector.report import BottleneckRow, HandoffRow, Report
from collector.sessions.keys import SessionKey

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
TRACE_1 = "0af7651916cd43dd8448eb211c80319c"
TRACE_2 = "4bf92f3577b34da6a3ce929d0e0e4736"


def row(handoff_id: str = "h1", **changes: Any) -> HandoffRow:
    """One handoff that lost a field; anything can be said otherwise."""
    base = HandoffRow(
        handoff_id,
        source_agent="planner-1",
        source_role="planner",
        target_agent="rsr-1",
        target_role="researcher",
        mode="transfer",
        status="completed",
        evidence="explicit",
        convention="openinference",
        contracted=True,
        score=0.7,
        grade="C",
        required=2,
        present_fields=("goal",),
        missing_fields=("constraints",),
        extra_fields=("mood", "tone"),
        latency_ms=950.3,
        trace_id=TRACE_1,
        span_id="00f067aa0ba902b7",
        start_ns=START,
        end_ns=START + SECOND,
    )
    return msgspec.structs.replace(base, **changes)


def report(*handoffs: HandoffRow, **changes: Any) -> Report:
    """The report of a session with these handoffs."""
    rows = handoffs or (row(),)
    scores = [each.score for each in rows if each.contracted and each.score is not None]
    base = Report(
        session_id="5f0c1c8e3b0d4a5f9e21",
        key=SessionKey("session", "chat-4711"),
        generation=1,
        revision=1,
        close_reason="roots_ended",
        opened_ns=START,
        closed_ns=START + 60 * SECOND,
        trace_json=b"{}\n",
        report_json=b"{}\n",
        first_span_ns=START,
        last_span_ns=START + 10 * SECOND,
        service="billing-agents",
        contract_name="billing",
        contract_hash="b19f",
        traces=tuple(dict.fromkeys(each.trace_id for each in rows)),
        mean_score=round(sum(scores) / len(scores), 6) if scores else None,
        mean_contracted=round(sum(scores) / len(scores), 6) if scores else None,
        scored=len(scores),
        unscored=len(rows) - len(scores),
        weakest_handoff=rows[0].handoff_id,
        agents=2,
        turns=3,
        tokens=120,
        handoffs=rows,
        bottlenecks=(BottleneckRow("latency", "planner-1 -> rsr-1", 1.0, 950.3, 547.016, ("h1",), "slow"),),
    )
    return msgspec.structs.replace(base, **changes)
