"""Parents that never came because a pipeline left them out: their children stand where they were."""

from __future__ import annotations

from collector.otlp.model import Batch, Resource, Span
from collector.recovery import Recovered, extract, recover
from tests.collector.spans import Trace, relays


def without(t: Trace, *gone: Span) -> Recovered:
    """What is recovered of a trace when these spans are filtered out."""
    return recover(extract(Batch(tuple(s for s in t.spans if s not in gone))).spans)


def test_calls_below_a_step_that_was_filtered_out_are_those_of_the_run_around_it() -> None:
    t = Trace()
    lead = t.agent("lead", 0, 90)
    step = t.span("step 1", 1, 89, lead)
    asked = t.tool("ask", 10, 60, step, arguments={"goal": "x"}, result="done")
    inner = t.span("task", 11, 59, asked)
    t.agent("helper", 12, 58, inner)

    assert relays(without(t)) == [
        'lead -> helper delegate structural 2 {"goal": "x"}',
        'helper -> lead return structural 2 {"message": "done"}',
    ]
    assert relays(without(t, step, inner)) == [
        'lead -> helper delegate inferred 2 {"goal": "x"}',
        'helper -> lead return inferred 2 {"message": "done"}',
    ]


def test_runs_side_by_side_whose_parents_were_filtered_out_did_not_call_each_other() -> None:
    t = Trace()
    root = t.span("invoke_workflow w", 0, 90, gen_ai__operation__name="invoke_workflow")
    one, two = t.span("executor one", 1, 80, root), t.span("executor two", 2, 60, root)
    first = t.agent("first", 1, 80, one)
    t.chat(2, 79, first)
    second = t.agent("second", 3, 60, two)
    t.chat(4, 59, second)

    assert relays(without(t, one, two)) == []


def test_of_calls_at_once_nobody_can_tell_which_one_the_run_was_below() -> None:
    t = Trace()
    lead = t.agent("lead", 0, 90)
    left = t.tool("left", 10, 60, lead, arguments={})
    t.tool("right", 11, 61, lead, arguments={})
    task = t.span("task", 12, 55, left)
    t.agent("helper", 13, 50, task)

    assert [r.split(" {")[0] for r in relays(without(t, task))] == []


def test_what_another_process_did_meanwhile_is_no_part_of_a_run() -> None:
    t = Trace()
    t.agent("lead", 0, 90)
    t.resource = Resource({"service.name": "elsewhere"})
    lost = t.span("lost", 1, 80)
    t.agent("far", 10, 50, lost)

    assert relays(without(t, lost)) == []
