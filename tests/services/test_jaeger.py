"""A real Jaeger behind the collector: review spans and annotated spans are in the right trace, with what they tell.

docs/jaeger.md shows what its API returned; the page is held to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

pytestmark = [pytest.mark.services, pytest.mark.timeout(1800)]
Serving = Callable[..., AbstractContextManager[Any]]
ROOT = Path(__file__).parents[2]
CONTRACTS = ROOT / "collector" / "demo" / "contracts.yaml"
TRACE = "9ac6a31117db02b026578c04dd1c3731"
SPANS, HANDOFFS = 37, 5
COMPLETENESS, BOTTLENECK = "orbitrelay.handoff.completeness", "orbitrelay.bottleneck"


class Jaeger(NamedTuple):
    """What a Jaeger has of the recorded session, and its API while it runs."""

    spans: list[Span]
    api: str

    def search(self, **query: str) -> list[str]:
        """Ids of the traces that a search finds."""
        answer = httpx.get(f"{self.api}/api/traces", params={"lookback": "custom", **query}, timeout=10)
        return [trace["traceID"] for trace in answer.raise_for_status().json()["data"]]


class Span(NamedTuple):
    """A span as Jaeger's API gives it. `start_us` is from the start of its trace; `events` are name and attributes."""

    id: str
    name: str
    service: str
    parent: str
    start_us: int
    duration_us: int
    tags: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    links: list[tuple[str, str]]
    warnings: list[str]


def tags(found: list[dict[str, Any]]) -> dict[str, Any]:
    return {each["key"]: each["value"] for each in found}


def read(trace: dict[str, Any]) -> list[Span]:
    """The spans of a trace, by start."""
    start = min(span["startTime"] for span in trace["spans"])
    spans = []
    for span in trace["spans"]:
        parents = [each["spanID"] for each in span["references"] if each["refType"] == "CHILD_OF"]
        links = [(each["traceID"], each["spanID"]) for each in span["references"] if each["refType"] == "FOLLOWS_FROM"]
        events = [(fields.pop("event"), fields) for fields in (tags(log["fields"]) for log in span["logs"])]
        service = trace["processes"][span["processID"]]["serviceName"]
        spans.append(
            Span(
                span["spanID"], span["operationName"], service, parents[0] if parents else "",
                span["startTime"] - start, span["duration"], tags(span["tags"]), events, links, span["warnings"] or [],
            )
        )  # fmt: skip
    return sorted(spans, key=lambda span: (span.start_us, -span.duration_us, span.name))


def named(spans: list[Span], name: str) -> list[Span]:
    return [span for span in spans if span.name == name]


def children(spans: list[Span], parent: str) -> list[Span]:
    return [span for span in spans if span.parent == parent]


def tree(spans: list[Span], parent: str, depth: int = 0) -> Iterator[str]:
    """The tree below a span as text: name, start, duration, status, and the events of ours."""
    for span in children(spans, parent):
        error = f"  ERROR {span.tags['otel.status_description']}" if span.tags.get("error") else ""
        name = f"{'  ' * depth}{span.name}"
        yield f"{name:<48}{span.service:<14}{span.start_us / 1000:8.1f} ms {span.duration_us / 1000:7.1f} ms{error}"
        for event, fields in span.events:
            if event.startswith("orbitrelay."):
                told = " ".join(f"{key.rpartition('.')[2]}={value}" for key, value in fields.items() if "id" not in key)
                yield f"{'  ' * depth}  · {event} {told}"
        yield from tree(spans, span.id, depth + 1)


@pytest.fixture(scope="module", params=["as_received", "annotated"])
def held(
    request: pytest.FixtureRequest, serving: Serving, jaeger: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Jaeger]:
    """A Jaeger that the collector has sent the recorded session to, once whole and once annotated."""
    with jaeger() as (otlp, api):
        options = {"contracts.file": str(CONTRACTS), "traces.forward": request.param, "export.traces.endpoint": otlp}
        with serving(tmp_path_factory.mktemp("data"), options) as process:
            process.play()
            process.closed()

            def spans() -> list[Span]:
                answer = httpx.get(f"{api}/api/traces/{TRACE}", timeout=10)
                found = answer.json()["data"] if answer.status_code == 200 else []
                return read(found[0]) if found and len(found[0]["spans"]) >= SPANS + HANDOFFS + 1 else []

            yield Jaeger(process.until(spans, 60, "Jaeger does not hold the whole trace"), api)


@pytest.fixture
def annotated(request: pytest.FixtureRequest, held: Jaeger) -> bool:
    return "annotated" in request.node.callspec.id and bool(held)


def test_the_trace_keeps_its_one_root_and_nothing_is_there_twice(held: Jaeger) -> None:
    assert len(held.spans) == SPANS + HANDOFFS + 1
    assert len({span.id for span in held.spans}) == len(held.spans)
    assert [span.name for span in children(held.spans, "")] == ["invoke_swarm"]
    assert [span.warnings for span in held.spans if span.warnings] == []


def test_the_review_stands_under_the_span_that_made_the_first_handoff(held: Jaeger) -> None:
    (review,) = named(held.spans, "orbitrelay.review")
    (maker,) = [span for span in held.spans if span.id == review.parent]
    assert (maker.name, maker.service) == ("execute_tool handoff_to_agent", "gateway-team")
    assert {
        key: review.tags[f"orbitrelay.session.{key}"] for key in ("handoffs", "scored", "mean_score", "agents")
    } == {
        "handoffs": 5,
        "scored": 5,
        "mean_score": 0.662,
        "agents": 4,
    }
    below = children(held.spans, review.id)
    assert review.start_us == min(span.start_us for span in below)
    assert review.start_us + review.duration_us == max(span.start_us + span.duration_us for span in below)


def test_each_handoff_tells_who_how_long_and_what_was_lost(held: Jaeger) -> None:
    (review,) = named(held.spans, "orbitrelay.review")
    told = [
        (span.name, round(span.duration_us / 1000, 1), span.tags.get("otel.status_description", ""), span.events[0][1]["orbitrelay.handoff.score"])
        for span in children(held.spans, review.id)
    ]  # fmt: skip
    assert told == [
        ("handoff planner -> researcher", 15.9, "", 0.88),
        ("handoff researcher -> engineer", 2.2, "missing: goal", 0.66),
        ("handoff engineer -> reviewer", 12.2, "missing: goal, constraints, decisions, artifacts", 0.38),
        ("handoff reviewer -> engineer", 13.5, "missing: goal, artifacts", 0.56),
        ("handoff engineer -> reviewer", 7.9, "missing: goal", 0.83),
    ]
    for span in children(held.spans, review.id):
        assert span.tags.get("error", False) is bool(span.tags.get("otel.status_description"))
        ((trace, made),) = span.links
        assert trace == TRACE
        assert named([each for each in held.spans if each.id == made], "execute_tool handoff_to_agent")


def test_events_stand_on_handoffs_and_annotated_also_on_the_frameworks_own_spans(held: Jaeger, annotated: bool) -> None:
    (review,) = named(held.spans, "orbitrelay.review")
    ours = {span.links[0][1]: span.events for span in children(held.spans, review.id)}
    assert [[name for name, _ in events] for events in ours.values()] == [
        [COMPLETENESS, BOTTLENECK],
        [COMPLETENESS],
        [COMPLETENESS, BOTTLENECK],
        [COMPLETENESS],
        [COMPLETENESS, BOTTLENECK],
    ]
    theirs = {
        span.id: own
        for span in held.spans
        if span.service == "gateway-team" and (own := [each for each in span.events if each[0] in (COMPLETENESS, BOTTLENECK)])
    }  # fmt: skip
    assert theirs == (ours if annotated else {})


def test_a_search_finds_it_by_service_operation_and_tag(held: Jaeger) -> None:
    start = {"start": "0", "end": "4000000000000000"}
    assert held.search(service="orbitrelay", operation="handoff engineer -> reviewer", **start) == [TRACE]
    assert held.search(service="orbitrelay", tags='{"orbitrelay.handoff.grade":"D"}', **start) == [TRACE]
    session = '{"session.id":"sess-strands-swarm-01"}'
    assert held.search(service="orbitrelay", operation="orbitrelay.review", tags=session, **start) == [TRACE]
    assert held.search(service="orbitrelay", tags='{"orbitrelay.handoff.status":"dropped"}', **start) == []


def test_the_page_shows_what_the_api_returned(held: Jaeger, annotated: bool) -> None:
    page = (ROOT / "docs" / "jaeger.md").read_text(encoding="utf-8")
    whole, engineer = re.findall(
        r"^```text shown by=tests/services/test_jaeger\.py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL
    )
    if annotated:
        first = named(held.spans, "invoke_agent engineer")[0]
        alone = [span._replace(parent="") if span.id == first.id else span for span in held.spans]
        assert "\n".join(tree([span for span in alone if span.parent or span.id == first.id], "")) + "\n" == engineer
    else:
        assert "\n".join(tree(held.spans, "")) + "\n" == whole
