"""From facts to a report: pure, independent of arrival, and under any contract."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest

from collector import pipeline
from collector.contracts import ContractBook, Requirement, Rule, resolved
from collector.conventions import extract
from collector.facts import SpanFacts
from collector.otlp.json import decode_traces
from collector.pipeline import Terms
from collector.report import ContentPolicy, Report
from collector.sessions.assembler import Assembler
from collector.sessions.model import Closed, Rules
from collector.sessions.sightings import Scopes, sightings
from tests.collector.engines import CONFORMANCE, capture

BOOK = ContractBook((Rule({}, resolved("all", {}, {}, {"checker": Requirement(("draft", "tone"))})),))


def case_11() -> list[bytes]:
    return (CONFORMANCE / "cases/11-duplicates-and-two-versions/input.jsonl").read_bytes().splitlines()


def spans_of(bodies: Iterable[bytes]) -> list[SpanFacts]:
    return [span for body in bodies for span in extract(decode_traces(body)).spans]


def closed_over(spans: list[SpanFacts]) -> tuple[Closed, list[bytes]]:
    assembler = Assembler(Rules())
    for sighting in sightings(spans, Scopes()):
        assembler.observe(sighting, 1)
    (closed,) = assembler.drain()
    assert isinstance(closed, Closed)
    return closed, [msgspec.msgpack.encode(span) for span in spans]


def report(spans: list[SpanFacts], terms: Terms | None = None) -> Report:
    closed, payloads = closed_over(spans)
    made = pipeline.close(closed, payloads, terms or Terms(book=BOOK))
    assert made is not None
    return made


def test_a_report_says_what_the_session_was_and_how_its_handoffs_did() -> None:
    made = report(spans_of(case_11()))
    assert (made.name, made.service, made.spans, made.duplicates, made.stale, made.tokens) == (
        "sess-11", "shop-agents", 3, 3, 1, 100,
    )  # fmt: skip
    (row,) = made.handoffs
    assert (row.source_agent, row.target_agent, row.score, row.grade, row.latency_ms) == (
        "drafter",
        "checker",
        0.7,
        "C",
        200.0,
    )
    assert (row.present_fields, row.missing_fields, row.end_ns - row.start_ns) == (("draft",), ("tone",), 200_000_000)
    assert (made.mean_score, made.grade, made.scored, made.roles) == (0.7, "C", 1, ("checker", "drafter"))
    assert made.contract_hash == BOOK.rules[0].contract.hash
    assert json.loads(made.trace_json)["metadata"] == {"service": "shop-agents", "session_key": "session"}
    read = json.loads(made.report_json)
    assert read["session"]["revision"] == 1
    assert read["analysis"]["score"]["mean_score"] == 0.7
    assert Report.from_bytes(made.to_bytes()) == made


@pytest.mark.parametrize(
    "name", ["langgraph-swarm__openinference", "semantic-kernel__native", "google-adk__native-agenttool"]
)
def test_the_document_depends_on_no_order_or_repetition(name: str) -> None:
    spans = spans_of(capture(name))
    expected = report(spans)
    rng = random.Random(1)
    for _ in range(3):
        shuffled = spans + rng.sample(spans, len(spans) // 3)
        rng.shuffle(shuffled)
        made = report(shuffled)
        assert (made.trace_json, made.handoffs, made.name) == (expected.trace_json, expected.handoffs, expected.name)


def test_what_depends_on_arrival_stands_in_the_report_only() -> None:
    made = report(spans_of(case_11()))
    for word in ("revision", "close_reason", "partial", "duplicates", "opened"):
        assert word in made.report_json.decode()
        assert word not in made.trace_json.decode()


def test_a_session_in_which_no_agent_ran_has_no_report() -> None:
    closed, payloads = closed_over(spans_of(case_11()))
    plain = [
        msgspec.msgpack.encode(msgspec.structs.replace(msgspec.msgpack.decode(payload, type=SpanFacts), facts=()))
        for payload in payloads
    ]
    assert pipeline.close(closed, plain, Terms()) is None


def test_facts_that_cannot_be_read_make_the_report_partial() -> None:
    closed, payloads = closed_over(spans_of(case_11()))
    made = pipeline.close(closed, [*payloads, b"\xc1"], Terms())
    assert made is not None
    assert made.partial == ("drained", "unreadable")


def test_content_that_no_document_can_hold_costs_the_content_not_the_session() -> None:
    bodies = [body.replace(b'\\"d1\\"', b"[" * 150 + b"1" + b"]" * 150) for body in case_11()]
    made = report(spans_of(bodies))
    assert [(row.source_agent, row.present_fields) for row in made.handoffs] == [("drafter", ("draft",))]


def test_rescoring_says_what_another_contract_changes() -> None:
    made = report(spans_of(case_11()))
    found = pipeline.rescore(made, resolved("other", {}, {}, {"checker": Requirement(("draft",))}))
    (handoff,) = (row.handoff_id for row in made.handoffs)
    assert (found.before, found.after) == (0.7, 1.0)
    assert found.changed == ((handoff, "tone", "MISSING", "not asked"), (handoff, "score", "0.7", "1.0"))


@pytest.mark.parametrize("content", ["full", "hashed", "names"])
def test_the_dossier_of_a_report_is_that_of_its_document(content: ContentPolicy) -> None:
    terms = Terms(BOOK, content, b"key", dossier=True)
    made = report(spans_of(case_11()), terms)
    assert "drafter" in made.dossier
    assert pipeline.dossier(made) == made.dossier == pipeline.dossier(msgspec.structs.replace(made, dossier=""))


def test_tenant_and_environment_come_from_the_earliest_agent(tmp_path: Path) -> None:
    scopes = Scopes(("tenant.id",), ("deployment.environment.name",))
    spans = [
        msgspec.structs.replace(span, scope={"tenant.id": "acme", "deployment.environment.name": "prod"})
        for span in spans_of(case_11())
    ]
    made = report(spans, Terms(scopes=scopes))
    assert (made.tenant, made.environment) == ("acme", "prod")
