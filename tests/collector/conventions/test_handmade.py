"""Spans of no known producer. What each mark is worth is held by the field cases from 75 on; here stands what is none."""

from __future__ import annotations

import pytest

from tests.collector.spans import Trace, recovered, relays


def flow(**attributes: object) -> Trace:
    """Two runs in a row, and a span with these attributes in the first."""
    t = Trace()
    root = t.span("w", 0, 90)
    t.span("step", 8, 9, t.agent("a", 0, 10, root), attributes=attributes)
    t.agent("b", 12, 30, root)
    return t


@pytest.mark.parametrize(
    "attributes",
    [
        {"from_agent": "a"},
        {"to_agent": "b"},
        {"from_agent": "", "to_agent": "b"},
        {"metadata": '{"__handoff_destination": "b"}'},
        {"openinference.span.kind": "TOOL", "metadata": '{"note": "no __handoff_destination here"}'},
        {"openinference.span.kind": "TOOL", "metadata": '{"__handoff_destination": 7}'},
    ],
)
def test_half_a_mark_is_none(attributes: dict[str, object]) -> None:
    assert relays(recovered(flow(**attributes))) == ["a -> b transfer inferred 2 unrecorded"]


@pytest.mark.parametrize(
    ("attributes", "tokens"),
    [
        ({"llm.request.type": "completion", "gen_ai.usage.input_tokens": 7}, 7),
        ({"llm.request.type": "embedding", "gen_ai.usage.input_tokens": 7}, None),
        ({"gen_ai.response.model": "m", "gen_ai.usage.input_tokens": 7}, 7),
        ({"gen_ai.usage.input_tokens": 7}, None),
        ({"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 7}, None),
    ],
)
def test_a_models_call_is_known_by_its_model_or_by_what_it_asks_for(
    attributes: dict[str, object], tokens: int | None
) -> None:
    assert [t["tokens"] for t in recovered(flow(**attributes)).document["turns"]] == [tokens, None]


def test_a_tool_of_any_other_failure_is_refused() -> None:
    t = Trace()
    root = t.span("w", 0, 90)
    t.tool("transfer_to_b", 8, 9, t.agent("a", 0, 10, root), arguments={"x": 1}, status=2)
    t.agent("c", 12, 30, root)

    assert relays(recovered(t))[0] == 'a -> b transfer explicit None {"x": 1} dropped'
