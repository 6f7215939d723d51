"""The field cases, each as the kind of fault that it is: the reported input first, then its relatives.

Inputs are read by the real decoders; what the wire alone decides (ids, JSON spellings, cut lines) is held in the tests of the decoders and
of the dump readers.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from collector.contracts.model import Requirement, ResolvedContract, resolved
from collector.otlp.json import decode_traces
from collector.recovery import Facts, Recovered, extract, recover
from orbitrelay import Analysis, analyse, from_document
from tests.collector.spans import Trace, recovered, relays
from tests.conformance import answers

CASES = Path(__file__).parent / "cases"


def contract(**roles: tuple[str, ...]) -> ResolvedContract:
    """A contract of these roles."""
    return resolved("case", {}, {}, {role: Requirement(fields) for role, fields in roles.items()})


def facts(name: str) -> list[Facts]:
    """The facts of a case, a request each."""
    [file] = (CASES / name).glob("input.*")
    text = file.read_bytes()
    requests = text.splitlines() if file.suffix == ".jsonl" else [text]
    return [extract(decode_traces(request)) for request in requests]


def session(name: str, rules: ResolvedContract | None = None) -> Recovered:
    """The one session of a case."""
    return recover([span for part in facts(name) for span in part.spans], rules)


def analysed(result: Recovered) -> Analysis:
    """Its analysis."""
    return analyse(from_document({**result.document, "trace_id": "case", "metadata": {}}))


def outcomes(result: Recovered) -> list[dict[str, str]]:
    """Field -> outcome, of every handoff that is no return."""
    return [
        {name: outcome.name for name, outcome in i.outcomes()}
        for i in analysed(result).inspections
        if not i.handoff.is_return
    ]


# ---- 01 empty transfer arguments


def test_01_transfer_with_empty_arguments_lost_everything_it_requires() -> None:
    result = session("01-empty-transfer-arguments", contract(tracker=("order_id", "problem")))

    assert relays(result) == ["front_desk -> tracker transfer explicit 240 {}"]
    assert outcomes(result) == [{"order_id": "MISSING", "problem": "MISSING"}]
    [score] = analysed(result).scores.handoffs
    assert (score.score, score.grade) == (0.4, "D")
    assert result.document["handoffs"][0]["left_behind"] == ["order_id", "problem"]


@pytest.mark.parametrize("empty", ["{}", "", "null", "[]", '"{}"', "  { } "])
def test_01_every_spelling_of_nothing_is_nothing(empty: str) -> None:
    t = Trace()
    root = t.span("w", 0, 90)
    t.tool("transfer_to_tracker", 18, 19, t.agent("front_desk", 1, 20, root), arguments=empty, result="Transferred.")
    t.agent("tracker", 25, 80, root, input__value="Transferred.")

    result = recovered(t, contract=contract(tracker=("order_id",)))
    assert relays(result) == ["front_desk -> tracker transfer explicit 6 {}"]
    assert outcomes(result) == [{"order_id": "MISSING"}]


@pytest.mark.parametrize("value", [None, "", [], {}])
def test_01_an_argument_that_is_there_and_empty_is_empty_not_missing(value: Any) -> None:
    t = Trace()
    root = t.span("w", 0, 90)
    t.tool(
        "transfer_to_tracker", 18, 19, t.agent("front_desk", 1, 20, root), arguments={"order_id": value, "problem": 0}
    )
    t.agent("tracker", 25, 80, root)

    result = recovered(t, contract=contract(tracker=("order_id", "problem", "language")))
    assert outcomes(result) == [{"order_id": "EMPTY", "problem": "PRESENT", "language": "MISSING"}]


# ---- 03 field lost at the second hop


def test_03_the_loss_is_at_the_hop_that_lost_it() -> None:
    rules = contract(coder=("ticket", "target_version", "plan"), tester=("ticket", "patch", "plan", "target_version"))
    result = session("03-field-lost-at-second-hop", rules)

    assert [r.split(" {")[0] for r in relays(result)] == [
        "planner -> coder transfer inferred 100",
        "coder -> tester transfer inferred 200",
    ]
    assert outcomes(result) == [
        {"ticket": "PRESENT", "target_version": "PRESENT", "plan": "PRESENT"},
        {"ticket": "PRESENT", "patch": "PRESENT", "plan": "EMPTY", "target_version": "MISSING", "debug_note": "EXTRA"},
    ]


@pytest.mark.parametrize("lost_at", [1, 2, 3])
def test_03_a_field_is_missing_from_the_hop_where_it_was_lost_on(lost_at: int) -> None:
    t = Trace()
    root = t.span("w", 0, 90)
    for i in range(5):
        given = {"ticket": "T-9", "plan": "p"} if i <= lost_at else {"ticket": "T-9"}
        t.agent(f"step {i}x", i * 10, i * 10 + 9, root, input__value=json.dumps(given))

    names = tuple(f"step_{i}x" for i in range(1, 5))
    found = outcomes(recovered(t, contract=contract(**dict.fromkeys(names, ("ticket", "plan")))))
    assert [o["plan"] for o in found] == ["PRESENT" if i <= lost_at else "MISSING" for i in range(1, 5)]


# ---- 05 target unknown, and target that never ran


def test_05_unknown_target_is_the_next_agent_and_one_that_never_ran_is_dropped() -> None:
    result = session("05-target-unknown-or-never-ran")

    assert relays(result) == [
        "triage -> refunds transfer inferred 115 unrecorded",
        'refunds -> legal transfer explicit None {"case": "R-3"} dropped',
    ]
    assert "unknown" not in {a["agent_id"] for a in result.document["agents"]}
    assert {b.kind for b in analysed(result).bottlenecks} == {"dropped"}


@pytest.mark.parametrize("name", ["unknown", "", "none", "unknown_agent"])
def test_05_no_placeholder_becomes_an_agent(name: str) -> None:
    t = Trace()
    root = t.span("w", 0, 90)
    a = t.agent("triage", 0, 10, root)
    t.span(
        "handoff",
        8,
        9,
        a,
        attributes={
            "gen_ai.operation.name": "handoff",
            "gen_ai.handoff.from_agent": "triage",
            "gen_ai.handoff.to_agent": name,
        },
    )
    t.agent("refunds", 12, 20, root)

    assert [r.split(" transfer")[0] for r in relays(recovered(t))] == ["triage -> refunds"]


# ---- 08 JSON spellings (what the decoders make of them is theirs; the handoff in them is ours)


def test_08_every_spelling_of_a_span_gives_the_same_delegation() -> None:
    result = session("08-lenient-json")

    assert [r.split(" structural")[0] for r in relays(result)] == ["one -> two delegate", "two -> one return"]
    assert [t["tokens"] for t in result.document["turns"]] == [7, 7]


# ---- 11 duplicates and two versions of one span


def expected_11(result: Recovered) -> None:
    assert relays(result) == ['drafter -> checker transfer inferred 200 {"draft": "v1"}'] or [
        r.split(" {")[0] for r in relays(result)
    ] == ["drafter -> checker transfer inferred 200"]
    assert outcomes(result) == [{"draft": "PRESENT"}]
    assert sum(t["tokens"] or 0 for t in result.document["turns"]) == 100


def test_11_duplicates_and_a_poorer_version_change_nothing() -> None:
    expected_11(session("11-duplicates-and-two-versions", contract(checker=("draft",))))


def test_11_in_whatever_order_the_requests_come() -> None:
    parts = facts("11-duplicates-and-two-versions")
    documents = set()
    for order in itertools.islice(itertools.permutations(parts), 200):
        result = recover([s for part in order for s in part.spans], contract(checker=("draft",)))
        expected_11(result)
        documents.add(json.dumps(result.document, sort_keys=True, default=str))
    assert len(documents) == 1


# ---- 12 clock skew, end before start, end missing


def test_12_the_parent_decides_not_the_clock() -> None:
    result = session("12-clock-skew-negative-duration", contract(remote=("q",)))

    assert relays(result) == [
        'caller -> remote delegate explicit None {"q": "x"}',
        "remote -> caller return explicit None unrecorded",
    ]
    assert outcomes(result) == [{"q": "PRESENT"}]
    assert {n.code for n in result.notes} == {"clock_skew", "duration_negative", "end_missing", "latency_two_clocks"}


# ---- 14 tokens on both levels


def test_14_each_token_counts_once() -> None:
    result = session("14-tokens-on-both-levels")

    assert {t["agent_id"]: t["usage"] for t in result.document["turns"]} == {
        "boss": {"input_tokens": 100, "output_tokens": 10},
        "aide": {"input_tokens": 200, "output_tokens": 20},
        "scribe": {"input_tokens": 50, "output_tokens": 7},
    }
    assert [r.split(" structural")[0] for r in relays(result) if "delegate" in r] == [
        "boss -> aide delegate",
        "boss -> scribe delegate",
    ]


# ---- 15 cycle of three


def test_15_cycle_of_three_is_seen_though_no_pair_goes_back_and_forth() -> None:
    result = session("15-cycle-of-three")

    pairs = [r.split(" transfer")[0] for r in relays(result)]
    assert {p: pairs.count(p) for p in pairs} == {"plan -> write": 3, "write -> review": 3, "review -> plan": 2}
    assert {h["latency_ms"] for h in result.document["handoffs"]} == {100}
    found = {(b.kind, b.subject): float(b.severity) for b in analysed(result).bottlenecks}
    assert [severity for (kind, _subject), severity in found.items() if kind == "cycle"] == [0.5]
    assert {kind for kind, _subject in found} == {"cycle", "rework"}


# ---- of the same sort, with the right answer beside the input


@pytest.mark.parametrize("case", [p.parent for p in sorted(CASES.glob("*/expected.md")) if "```text" in p.read_text()], ids=lambda p: p.name)  # fmt: skip
def test_a_case_comes_out_as_its_expected_page_says(case: Path) -> None:
    assert answers.found(case) == answers.expected(case)


# ---- beyond the reported ones: what the same people could have reported


def test_of_arguments_that_a_length_limit_cut_what_is_whole_is_present_and_the_rest_unknown() -> None:
    t = Trace()
    root = t.span("w", 0, 90)
    cut = '{"order_id": "A-7", "items": [], "problem": "the doo'
    t.tool("transfer_to_tracker", 18, 19, t.agent("desk", 1, 20, root), arguments=cut)
    t.agent("tracker", 25, 80, root)

    result = recovered(t, contract=contract(tracker=("order_id", "items", "problem", "language")))
    assert relays(result) == [
        'desk -> tracker transfer explicit 6 {"order_id": "A-7", "items": [], "problem": "the doo"} truncated'
    ]
    assert outcomes(result) == [
        {"order_id": "PRESENT", "items": "EMPTY", "problem": "PRESENT", "language": "UNRECORDED"}
    ]


def test_a_target_that_stands_before_the_cut_is_known() -> None:
    t = Trace("strands.telemetry.tracer")
    swarm = t.span("invoke_swarm", 0, 90)
    cut = '{"agent_name": "Lager 1", "message": "Bitte pr'
    t.tool("handoff_to_agent", 18, 19, t.agent("Pult", 1, 20, swarm), arguments=cut)
    t.agent("Lager 10", 22, 24, swarm)
    t.agent("Lager 1", 25, 80, swarm)

    assert relays(recovered(t))[-1] == 'Pult -> Lager 1 transfer explicit 6 {"message": "Bitte pr"} truncated'


def test_one_redacted_field_is_there_and_the_others_are_read() -> None:
    t = Trace()
    root = t.span("w", 0, 90)
    given = {"account": "[Scrubbed due to 'account']", "pin": "***", "goal": "refund"}
    t.tool("transfer_to_tracker", 18, 19, t.agent("desk", 1, 20, root), arguments=given)
    t.agent("tracker", 25, 80, root)

    [handoff] = recovered(t).document["handoffs"]
    assert {f["name"]: f.get("state", "full") for f in handoff["fields"]} == {
        "account": "redacted", "pin": "redacted", "goal": "full",
    }  # fmt: skip


def test_spans_without_any_time_keep_their_handoff_and_have_no_latency() -> None:
    t = Trace()
    root = t.span("w", 0, 90)
    t.tool("transfer_to_tracker", 18, 19, t.agent("desk", 1, 20, root), arguments={"goal": "g"})
    t.agent("tracker", 25, 80, root)
    t.spans[:] = [msgspec.structs.replace(s, start_unix_nano=0, end_unix_nano=0) for s in t.spans]

    result = recovered(t)
    assert relays(result) == ['desk -> tracker transfer explicit None {"goal": "g"}']
    assert "start_missing" in {n.code for n in result.notes}


def test_a_workflow_that_is_recorded_as_an_agent_does_not_hide_the_transfer_in_it() -> None:
    t = Trace()
    flow = t.agent("flow", 0, 90)
    t.tool("transfer_to_tracker", 18, 19, t.agent("desk", 1, 20, flow), arguments={"goal": "g"})
    t.agent("tracker", 25, 80, flow)

    assert 'desk -> tracker transfer explicit 6 {"goal": "g"}' in relays(recovered(t))
