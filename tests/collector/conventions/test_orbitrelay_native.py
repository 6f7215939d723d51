"""Our own attributes: one span a handoff says all there is to say."""

from __future__ import annotations

import json
from typing import Any

from collector.otlp.model import Span
from tests.collector.spans import Trace, recovered, relays


def handoff(
    t: Trace, start: float, end: float, parent: Span, source: str, target: str, fields: Any, **more: str
) -> Span:
    named = {"source": source, "target": target, "fields": json.dumps(fields), **more}
    return t.span(
        f"handoff {source} -> {target}",
        start,
        end,
        parent,
        attributes={f"orbitrelay.handoff.{k}": v for k, v in named.items()},
    )


def test_delegation_return_and_transfer_by_hand() -> None:
    t = Trace()
    root = t.span("run", 0, 95)
    boss = t.agent("supervisor", 0, 40, root)
    down = handoff(
        t, 5, 30, boss, "supervisor", "RiskModeler", {"portfolio_id": "P1", "positions": []}, mode="delegate"
    )
    expert = t.agent("RiskModeler", 6, 28, down)
    handoff(t, 26, 27, expert, "RiskModeler", "supervisor", {"findings": ["RSK-001"]}, mode="return")
    handoff(t, 38, 39, boss, "supervisor", "Reporter", {"halted": False}, mode="transfer", reason="all done")
    t.agent("Reporter", 42, 60, root)

    assert relays(recovered(t)) == [
        'supervisor -> RiskModeler delegate explicit 1 {"portfolio_id": "P1", "positions": []}',
        'RiskModeler -> supervisor return explicit None {"findings": ["RSK-001"]}',
        'supervisor -> Reporter transfer explicit 3 {"halted": false}',
    ]


def test_a_dropped_handoff_is_told_by_its_status() -> None:
    t = Trace()
    handoff(t, 5, 30, t.agent("supervisor", 0, 40), "supervisor", "Auditor", {"x": 1}, status="dropped")

    assert relays(recovered(t)) == ['supervisor -> Auditor transfer explicit None {"x": 1} dropped']


def test_two_delegations_of_one_visit_to_one_agent_are_two() -> None:
    t = Trace()
    boss = t.agent("supervisor", 0, 90)
    for n, start in enumerate((5, 40)):
        down = handoff(t, start, start + 30, boss, "supervisor", "Checker", {"round": n}, mode="delegate")
        t.agent("Checker", start + 1, start + 20, down)

    assert [r for r in relays(recovered(t)) if "delegate" in r] == [
        'supervisor -> Checker delegate explicit 1 {"round": 0}',
        'supervisor -> Checker delegate explicit 1 {"round": 1}',
    ]


def test_a_stated_drop_stands_though_the_target_began() -> None:
    t = Trace()
    boss = t.agent("supervisor", 0, 90)
    down = handoff(t, 5, 40, boss, "supervisor", "Checker", {"x": 1}, mode="delegate", status="dropped")
    t.agent("Checker", 6, 39, down)

    assert relays(recovered(t)) == ['supervisor -> Checker delegate explicit None {"x": 1} dropped']
