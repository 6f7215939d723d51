"""Laws over all captures: what must not change the handoffs, whatever the framework."""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import cache

import msgspec
import pytest

from collector.conventions import extract
from collector.facts import Facts, SpanFacts
from collector.otlp.model import Batch, Scope
from collector.recovery import recover
from orbitrelay import analyse, from_document
from tests.conformance.damage import damaged, shortened
from tests.conformance.harness import NAMES, agents, batches, documents, edges, facts
from tests.conformance.renaming import Renaming

SHIFT_NS = 7 * 60 * 1_000_000_000


@pytest.mark.parametrize("name", NAMES)
def test_no_order_of_arrival_and_no_repetition_changes_a_document(name: str) -> None:
    spans = list(facts(name))
    whole = documents(spans)
    for seed in range(3):
        chance = random.Random(seed)
        again = spans + chance.sample(spans, chance.randint(0, len(spans)))
        chance.shuffle(again)
        assert documents(again) == whole


@pytest.mark.parametrize("name", NAMES)
def test_an_older_version_of_a_span_changes_no_document(name: str) -> None:
    spans = list(facts(name))
    started = [msgspec.structs.replace(s, end_ns=0, facts=()) for s in spans if not s.log]
    assert documents(started + spans) == documents(spans + started) == documents(spans)


def plain(spans: Iterable[SpanFacts]) -> list[SpanFacts]:
    """The spans that can be done without: no visit, model, tool or handoff, no child, no link, no content, no key that only they have."""
    spans = list(spans)
    parents = {(s.trace_id, s.parent_span_id) for s in spans}
    linked = {cause for s in spans for cause in s.causes}
    with_logs = {(s.trace_id, s.span_id) for s in spans if s.log}

    def keys_elsewhere(span: SpanFacts) -> bool:
        rest = [s for s in spans if s is not span and s.trace_id == span.trace_id]
        return all(any(s.session_keys.get(kind) == key for s in rest) for kind, key in span.session_keys.items())

    return [
        s
        for s in spans
        if not s.facts
        and not s.log
        and not s.causes
        and (s.trace_id, s.span_id) not in parents | linked | with_logs
        and keys_elsewhere(s)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_dropping_any_one_plain_span_changes_no_edge(name: str) -> None:
    spans = list(facts(name))
    whole = edges(spans)
    droppable = plain(spans)
    print(f"{name}: {len(droppable)} of {len(spans)} spans")
    for span in droppable[:: max(1, len(droppable) // 12)]:
        assert edges(s for s in spans if s is not span) == whole, span.name


TOLD_BY_PLAIN_SPANS = {
    "agent-framework__native__quarry-resume": "a link leads to the other trace's span of a message, which tells nothing else",
    "a2a__native__shipyard": "the spans between two processes are the only ones that lead from one to the other",
    "autogen-agentchat__native__selector-rounds": "links lead to spans that tell nothing else",
    "google-adk__native-schema-1__cinema-typed-nocontent": "two agents are called at once, the one while the other runs",
    "openai-agents-chat__openinference__clinic-guard": "an agent runs beside the one whose input it checks: whose call is whose, only turns tell",
    "strands-agents__native__circus-nested": "teams inside of teams: only their own spans tell which runs are one team's",
    "openai-agents-chat__logfire__depot": "two agents are called at once: of two calls nobody can tell which one a run was below",
}


@pytest.mark.parametrize("name", [n for n in NAMES if n not in TOLD_BY_PLAIN_SPANS])
def test_a_pipeline_that_filters_out_all_spans_that_tell_nothing_changes_no_edge(name: str) -> None:
    spans = list(facts(name))
    kept = [s for s in spans if s.facts or s.log or s.causes or s.session_keys]

    assert edges(kept) == edges(spans)


LIMIT = 1024
TOLD_AT_LENGTH = {
    "crewai__openinference__press-flow": "what the program told a crew may stand behind the cut; else the order of tasks",
    "llama-index__openinference__museum-workflow": "whose turn it is stands at the end of an event",
    "llama-index__openllmetry__museum-workflow": "whose turn it is stands at the end of an event",
    "crewai__openinference__theatre": "where a prompt was cut, the order of tasks stands for what was in it",
    "crewai__openllmetry__theatre": "the crew's outputs, which were cut, tell who was given what; else the order of tasks",
}


@pytest.mark.parametrize("name", [n for n in NAMES if n not in TOLD_AT_LENGTH])
def test_a_length_limit_on_attributes_makes_up_no_edge(name: str) -> None:
    spans = [s for batch in batches(name) for s in extract(shortened(batch, LIMIT)).spans]

    assert {e[1:] for e in edges(spans)} <= {e[1:] for e in whole(name)}


TOLD_BY_SCOPE = (
    "a2a",
    "claude-agent-sdk",
    "crewai-0.134__openinference",
    "crewai-sequential__openinference-events",
    "crewai__openinference-events",
    "crewai__openlit",
    "google-adk",
    "langgraph__openlit",
    "langgraph__otel",
    "openai-agents",
    "semantic-kernel",
)
"""Beginnings of the names of captures in whose spans nothing but the scope tells the producer."""


@pytest.mark.parametrize("name", [n for n in NAMES if not n.startswith(TOLD_BY_SCOPE) or "logfire" in n])
def test_spans_whose_scope_a_pipeline_lost_are_told_by_what_only_their_producer_writes(name: str) -> None:
    bare = [
        msgspec.structs.replace(batch, spans=tuple(msgspec.structs.replace(s, scope=Scope("")) for s in batch.spans))
        for batch in batches(name)
    ]

    assert [e[1:] for e in edges(s for batch in bare for s in extract(batch).spans)] == [e[1:] for e in whole(name)]


GIVEN = (
    "Agent",
    "ClaudeAgentSDK",
    "MagenticOneOrchestrator",
    "MagenticManagerActor",
    "magentic_orchestrator",
    "groupchat_orchestrator",
)
"""A word of the frameworks' own texts, and names that they give themselves or get where they give none."""

OTHER_NAMES = {
    "one is the beginning of another": (
        "Agent 1",
        "Agent 10",
        "Agent 100",
        "Agent 1 Nord",
        "Agent 1 Nord 2",
        "Agent 2",
    ),
    "letters that slugs fold or lose": ("Zoë Ångström", "Éva", "Straße ß", "Łukasz Żółć", "Ñandú", "Øre"),
    "no letter is left in a slug": ("客服", "审核员", "מתאם", "مدقق أول", "מהנדס ראשי", "🚀"),
    "no names at all, and a sentence": (
        "10",
        "search",
        "1",
        "Handoff to human",
        "transfer",
        "the one who checks " * 20 + "it",
    ),
}


@cache
def whole(name: str) -> list[tuple[str, str, str, str]]:
    """The edges of a capture as it is."""
    return edges(facts(name))


@pytest.mark.parametrize("kind", OTHER_NAMES)
@pytest.mark.parametrize("name", NAMES)
def test_what_agents_are_called_changes_no_edge(name: str, kind: str) -> None:
    old = [a for a in agents(name) if a not in GIVEN]
    renaming = Renaming(dict(zip(old, OTHER_NAMES[kind], strict=False)))
    spans = [s for batch in renaming.batches(batches(name)) for s in extract(batch).spans]

    named = [(renaming.text(source), renaming.text(target), mode) for _key, source, target, mode in whole(name)]
    assert [edge[1:] for edge in edges(spans)] == named


def clocks(name: str) -> list[tuple[str, str]]:
    """The processes of a capture."""
    return sorted({(s.service, s.instance) for s in facts(name)})


@pytest.mark.parametrize("name", [n for n in NAMES if len(clocks(n)) > 1])
def test_a_clock_that_is_minutes_off_changes_no_edge(name: str) -> None:
    spans = list(facts(name))
    for clock in clocks(name):
        for shift in (SHIFT_NS, -SHIFT_NS):
            moved = [
                msgspec.structs.replace(s, start_ns=s.start_ns + shift, end_ns=s.end_ns + shift if s.end_ns else 0)
                if (s.service, s.instance) == clock
                else s
                for s in spans
            ]
            assert sorted(e[1:] for e in edges(moved)) == sorted(e[1:] for e in edges(spans))


@pytest.mark.parametrize("name", NAMES)
def test_damaged_spans_give_a_document_that_the_analysis_takes(name: str) -> None:
    spans = [s for batch in batches(name) for s in batch.spans]
    for seed in range(4):
        found = extract(Batch(tuple(damaged(spans, random.Random(f"{name} {seed}")))))
        assert Facts.from_bytes(found.to_bytes()) == found
        document = {**recover(found.spans).document, "trace_id": "damaged", "metadata": {}}
        analyse(from_document(document))
