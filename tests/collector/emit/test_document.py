from __future__ import annotations

from pathlib import Path

from collector import semconv
from collector.emit.document import page

DOCS = Path(__file__).parents[3] / "docs"


def test_the_committed_page_is_what_the_table_says() -> None:
    assert (DOCS / "semantic-conventions.md").read_text() == page(), "run `make docs`"


def test_every_attribute_that_is_used_stands_in_the_table() -> None:
    used = {
        name
        for attributes in (
            *(each.attributes for each in semconv.INSTRUMENTS.values()),
            *(each.attributes for each in semconv.EVENTS.values()),
            *(each.attributes for each in semconv.SPANS.values()),
        )
        for name in attributes
    }
    assert used - set(semconv.ATTRIBUTES) == set()
    assert set(semconv.ATTRIBUTES) - used == {semconv.OVERFLOW}


def test_no_name_is_the_namespace_of_another() -> None:
    names = set(semconv.ATTRIBUTES) | {each.name for each in semconv.ACCEPTED}
    assert not [(a, b) for a in names for b in names if b.startswith(f"{a}.")]


def test_the_instruments_are_those_that_were_promised() -> None:
    assert {
        name: (each.kind, each.unit) for name, each in semconv.INSTRUMENTS.items() if ".collector." not in name
    } == {
        "orbitrelay.handoff.completeness": ("histogram", "1"),
        "orbitrelay.handoff.latency": ("histogram", "s"),
        "orbitrelay.handoff.fields": ("counter", "{field}"),
        "orbitrelay.handoff.count": ("counter", "{handoff}"),
        "orbitrelay.handoff.revised": ("counter", "{handoff}"),
        "orbitrelay.session.completeness": ("histogram", "1"),
        "orbitrelay.session.count": ("counter", "{session}"),
        "orbitrelay.report.count": ("counter", "{report}"),
        "orbitrelay.bottleneck.count": ("counter", "{bottleneck}"),
        "orbitrelay.session.open": ("gauge", "{session}"),
    }
    assert semconv.GRADE_BOUNDS == (0.349999, 0.549999, 0.749999, 0.899999, 0.999999, 1)


def test_only_our_own_scope_is_ours() -> None:
    assert [semconv.is_own(name) for name in ("orbitrelay", "orbitrelay.sdk", "strands.telemetry", "")] == [
        True,
        False,
        False,
        False,
    ]
