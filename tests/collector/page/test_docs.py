"""docs/page.md says what the page does, by the page's own tables."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from collector.page.roles import RANGES
from collector.page.sessions import WITHIN, Wanted
from collector.page.trail import EVENTS

PAGE = (Path(__file__).parents[3] / "docs" / "page.md").read_text(encoding="utf-8")


def test_every_event_of_a_field_is_described_as_the_page_describes_it() -> None:
    described = dict(re.findall(r"^\| ([a-z ]+) \| ([^|;]+?)(?:;[^|]*)? \|$", PAGE, re.MULTILINE))
    assert {event: described.get(event) for event in EVENTS} == dict(EVENTS)


def test_every_filter_is_described_and_no_other() -> None:
    table = PAGE.split("| filter |")[1].split("\n\n")[0]
    named = {
        name
        for line in table.splitlines()
        for name in re.findall(r"`(\w+)`", line.split("|")[1] if "|" in line else "")
    }
    assert named == {field.name for field in msgspec.structs.fields(Wanted)} - {"page"}
    assert set(re.findall(r"`(\d+[hd])`", table)) == WITHIN.keys()
    assert [words for words, _, _ in RANGES.values()] == [
        "last 24 hours",
        "last 7 days",
        "last 30 days",
        "last 90 days",
    ]
