"""Detectors as a list, and their cost."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import pairwise
from time import process_time

from orbitrelay import ABSENT, DETECTORS, Bottleneck, RelayGraph, analyse, find_bottlenecks, from_document
from tests.orbitrelay.worlds import Json, document, handoff


def slow_reasons(graph: RelayGraph) -> Iterator[Bottleneck]:
    for relay in graph.relays:
        if "wait" in relay.reason:
            yield Bottleneck(
                kind="waiting",
                subject=relay.source_agent,
                severity=0.25,
                measured=1,
                threshold=1,
                handoff_ids=(relay.handoff_id,),
                run=ABSENT,
                template="{} waits",
                names=(relay.source_agent,),
            )


def test_a_new_detector_is_one_function_in_the_list() -> None:
    trace = from_document(document(handoff(1, reason="wait for it"), handoff(2)))
    found = analyse(trace, detectors=[*DETECTORS, slow_reasons]).bottlenecks
    assert [(b.kind, b.subject, b.severity, b.sentence) for b in found] == [
        ("rework", "pln -> cod", 0.5, "pln handed to cod 2 times"),
        ("waiting", "pln", 0.25, "pln waits"),
    ]


def test_names_with_braces_stand_in_the_sentence_as_they_are() -> None:
    agents: list[Json] = [{"agent_id": agent, "role": "r", "capabilities": []} for agent in ("{}", "{0.x}")]
    made = document(*(handoff(i, "{}", "{0.x}") for i in range(2)), agents=agents)
    assert [b.sentence for b in find_bottlenecks(from_document(made))] == ["{} handed to {0.x} 2 times"]


def test_a_long_path_that_is_cut_again_and_again_costs_linear_time() -> None:
    """A walk that goes down n agents and turns back into its middle makes rounds of n/2 agents; it must not be quadratic."""

    def cost(n: int) -> float:
        agents = [f"a{i:05}" for i in range(n)]
        walk = [*agents, *(agents[n // 2 :] * 4)]
        made = document(
            *(handoff(i, source, target) for i, (source, target) in enumerate(pairwise(walk))),
            agents=[{"agent_id": agent, "role": "r", "capabilities": []} for agent in agents],
        )
        trace = from_document(made)
        gc.collect()
        gc.disable()  # its passes over the loaded trace are no cost of the walk, and grow with the heap
        try:
            start = process_time()
            found = find_bottlenecks(trace)
            spent = process_time() - start
        finally:
            gc.enable()
        assert [b.measured for b in found if b.kind == "cycle"] == [4]
        return spent

    # 16 times the agents: a linear walk takes 16 times as long, a quadratic one 256 times.
    small = min(cost(500) for _ in range(5))
    assert min(cost(8_000) for _ in range(3)) < 48 * max(small, 0.003)
