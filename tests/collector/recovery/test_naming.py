"""Names of runs that no attribute gives, and spans of workflows that look like runs."""

from __future__ import annotations

from tests.collector.spans import Trace, recovered, relays

AGENT = {"openinference.span.kind": "AGENT"}


def test_one_named_run_in_an_unnamed_one_is_that_run() -> None:
    t = Trace()
    t.agent("b", 2, 28, t.span("POST /", 1, 29, t.span("invoke_agent", 0, 30, attributes=AGENT), attributes=AGENT))

    result = recovered(t)
    assert (result.visits, [a["agent_id"] for a in result.document["agents"]]) == (1, ["b"])


def test_runs_of_one_agent_in_an_unnamed_one_are_as_many_as_they_are() -> None:
    t = Trace()
    flow = t.span("run", 0, 90, attributes=AGENT)
    for start, name in ((1, "a"), (11, "b"), (21, "a")):
        t.agent(name, start, start + 9, flow)

    assert relays(recovered(t)) == [
        "a -> b transfer inferred 1 unrecorded",
        "b -> a transfer inferred 1 unrecorded",
    ]


def test_a_run_behind_a_tool_is_no_step_of_the_unnamed_run_around_it() -> None:
    t = Trace()
    outer = t.span("run", 0, 90, attributes=AGENT)
    for start in (10, 40):
        t.agent("b", start + 1, start + 9, t.tool("ask", start, start + 10, outer))

    assert relays(recovered(t)) == []


def test_a_default_in_a_spans_name_names_nobody() -> None:
    t = Trace()
    t.span("Agent workflow", 0, 90, attributes=AGENT)

    assert recovered(t).visits == 0
