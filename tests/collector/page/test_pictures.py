"""The pictures, whole for small sessions, and as laws for others."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from markupsafe import Markup

from collector.page.chart import bar, series, stacked
from collector.page.flow import Relay, flow
from collector.page.overview import MOST_AGENTS, overview, pairs_of
from collector.store import Moment

SVG = "{http://www.w3.org/2000/svg}"


def relay(number: int, source: str, target: str, **more: object) -> Relay:
    values = {"mode": "transfer", "dropped": False, "grade": "A", "score": 1.0, "fields": 2, "latency_ms": 50.0}
    return Relay(number, source, target, **{**values, **more})  # type: ignore[arg-type]


def lines(drawn: Markup) -> str:
    """The picture, an element a line."""
    return str(drawn).replace("><", ">\n<").replace(" viewBox", "\n    viewBox")


def test_what_was_not_recorded_is_not_known_to_be_nothing() -> None:
    drawn = lines(flow([relay(1, "a", "b", fields=0, recorded=False), relay(2, "b", "c", fields=0)], {}))
    assert ("fields not known · 50 ms" in drawn, "0 fields · 50 ms" in drawn) == (True, True)


def test_two_handoffs_in_order() -> None:
    drawn = flow(
        [relay(1, "a", "b"), relay(2, "b", "a", dropped=True, grade="", score=None, remark="never")], {"a": "boss"}
    )
    assert lines(drawn) == snapshot("""\
<svg class="flow" role="img" aria-label="2 handoffs between 2 agents, in order. The ledger below says the same in words."
    viewBox="0 0 1150 136" width="1150" height="136">
<title>2 handoffs between 2 agents, in order</title>
<desc>The ledger below says the same in words.</desc>
<line x1="128" y1="48" x2="128" y2="132" class="lifeline"/>
<line x1="304" y1="48" x2="304" y2="132" class="lifeline"/>
<g>
<title>a, role boss</title>
<rect x="48" y="6" width="160" height="42" rx="8" class="node"/>
<text x="128" y="23" class="agent" text-anchor="middle">a</text>
<text x="128" y="38" class="role" text-anchor="middle">boss</text>
</g>
<g>
<title>b</title>
<rect x="224" y="6" width="160" height="42" rx="8" class="node"/>
<text x="304" y="30" class="agent" text-anchor="middle">b</text>
</g>
<g class="relay" data-row="h1">
<title>1: a to b, transfer, 2 fields · 50 ms</title>
<text x="26" y="77" class="number" text-anchor="end">1</text>
<path d="M128 73 H295.4" class="edge given g-a" stroke-width="2.6"/>
<path d="M302 73 L291.4 65.4 L291.4 80.6 Z" class="edge given g-a tip"/>
<g>
<rect x="207" y="64" width="18" height="18" rx="5" class="badge g-a"/>
<text x="216" y="77" class="letter" text-anchor="middle">A</text>
</g>
<text x="404" y="77" class="figures" text-anchor="start">2 fields · 50 ms</text>
</g>
<g class="relay" data-row="h2">
<title>2: b to a, dropped, 2 fields · 50 ms, never</title>
<text x="26" y="111" class="number" text-anchor="end">2</text>
<path d="M304 107 H154" class="edge dropped g-none" stroke-width="2.6"/>
<path d="M149 102 L159 112 M149 112 L159 102" class="edge dropped g-none cross"/>
<g>
<rect x="207" y="98" width="18" height="18" rx="5" class="badge g-none"/>
<text x="216" y="111" class="letter" text-anchor="middle">–</text>
</g>
<text x="404" y="111" class="figures" text-anchor="start">2 fields · 50 ms</text>
<text x="534" y="111" class="remark" text-anchor="start">never</text>
</g>
</svg>\
""")


def test_two_handoffs_by_pair() -> None:
    assert lines(
        overview([relay(1, "a", "b"), relay(2, "a", "b", grade="D"), relay(3, "b", "a", mode="return")], {})
    ) == snapshot("""\
<svg class="overview fit" role="img" aria-label="3 handoffs between 2 agents, by pair. The ledger below says the same in words."
    viewBox="0 0 384 68" width="384" height="68">
<title>3 handoffs between 2 agents, by pair</title>
<desc>The ledger below says the same in words.</desc>
<path d="M138 22 C188.7 22 188.7 22 239.4 22" class="edge given g-d" stroke-width="2.6"/>
<path d="M246 22 L236.4 15.4 L236.4 28.6 Z" class="edge given g-d tip"/>
<path d="M143.5 46 C194.75 46 194.75 46 246 46" class="edge return g-a" stroke-width="1.5"/>
<path d="M138 46 L146.5 40.5 L146.5 51.5 Z" class="edge return g-a tip"/>
<g class="label">
<title>a to b: 2 handoffs, worst grade D</title>
<rect x="165.8" y="13" width="45.8" height="18" rx="5" class="plate"/>
<rect x="165.8" y="13" width="18" height="18" rx="5" class="badge g-d"/>
<text x="174.8" y="26" class="letter" text-anchor="middle">D</text>
<text x="188.8" y="26" class="number" text-anchor="start">1 2</text>
</g>
<g class="label">
<title>b to a: 1 return, worst grade A</title>
<rect x="178.45" y="37" width="32.6" height="18" rx="5" class="plate"/>
<rect x="178.45" y="37" width="18" height="18" rx="5" class="badge g-a"/>
<text x="187.45" y="50" class="letter" text-anchor="middle">A</text>
<text x="201.45" y="50" class="number" text-anchor="start">3</text>
</g>
<g>
<title>a</title>
<rect x="10" y="10" width="128" height="48" rx="8" class="node"/>
<text x="74" y="39" class="agent" text-anchor="middle">a</text>
</g>
<g>
<title>b</title>
<rect x="246" y="10" width="128" height="48" rx="8" class="node"/>
<text x="310" y="39" class="agent" text-anchor="middle">b</text>
</g>
</svg>\
""")


def test_a_series_has_gaps_where_nothing_was_measured() -> None:
    hour = 3_600_000_000_000
    moments = [Moment(0, 0.9, 3), Moment(hour, 0.5, 1), Moment(5 * hour, 1.0, 2)]
    assert lines(series(moments, 0, 6 * hour, hour, "T")) == snapshot("""\
<svg class="series" role="img" aria-label="T. From 0.90 to 1.00; least 0.50, most 1.00."
    viewBox="0 0 220 36" width="220" height="36">
<title>T</title>
<desc>From 0.90 to 1.00; least 0.50, most 1.00.</desc>
<line x1="4" y1="4" x2="216" y2="4" class="grid"/>
<line x1="4" y1="11" x2="216" y2="11" class="grid"/>
<line x1="4" y1="22.2" x2="216" y2="22.2" class="grid"/>
<path d="M21.7 6.8L57.0 18.0M198.3 4.0" class="line"/>
<circle cx="21.7" cy="6.8" r="2.5" class="point g-a">
<title> UTC: 0.90 over 3 handoffs</title>
</circle>
<circle cx="57" cy="18" r="2.5" class="point g-d">
<title>1970-01-01 01:00:00 UTC: 0.50 over 1 handoff</title>
</circle>
<circle cx="198.3" cy="4" r="2.5" class="point g-a">
<title>1970-01-01 05:00:00 UTC: 1.00 over 2 handoffs</title>
</circle>
</svg>\
""")


def test_amounts_as_bars() -> None:
    assert lines(bar(0.5, "g-c")) == snapshot("""\
<svg class="bar" aria-hidden="true"
    viewBox="0 0 72 6" width="72" height="6">
<rect x="0" y="0" width="72" height="6" rx="3" class="track"/>
<rect x="0" y="0" width="36" height="6" rx="3" class="fill g-c"/>
</svg>\
""")
    assert lines(stacked([("good", 3, "judged"), ("none", 0, "free"), ("lost", 1, "lost")], "T")) == snapshot("""\
<svg class="stacked" role="img" aria-label="T. good: 3; none: 0; lost: 1"
    viewBox="0 0 720 14" width="720" height="14" preserveAspectRatio="none">
<title>T</title>
<desc>good: 3; none: 0; lost: 1</desc>
<rect x="0" y="0" width="538.5" height="14" class="judged">
<title>good: 3</title>
</rect>
<rect x="540" y="0" width="178.5" height="14" class="lost">
<title>lost: 1</title>
</rect>
</svg>\
""")


def test_the_worst_grade_of_a_pair_is_that_of_those_with_a_contract() -> None:
    (pair,) = pairs_of([relay(1, "a", "b", grade="F", contracted=False), relay(2, "a", "b", grade="B")])
    assert (pair.grade, pair.contracted, pair.numbers) == ("B", True, (1, 2))


NAMES = st.sampled_from([*"abcdefgh", "<script>", 'x"y', "\u202e"])
RELAYS = st.lists(
    st.builds(
        relay,
        st.just(1),
        NAMES,
        NAMES,
        mode=st.sampled_from(["transfer", "delegate", "return"]),
        dropped=st.booleans(),
        grade=st.sampled_from(["", *"ABCDF"]),
        fields=st.integers(0, 30),
        remark=st.sampled_from(["", "]]><b>"]),
    ),
    min_size=1,
    max_size=40,
)


@given(RELAYS)
def test_every_picture_is_well_formed_has_every_handoff_and_no_style(relays: list[Relay]) -> None:
    for drawn in (flow(relays, {}), overview(relays, {})):
        text = str(drawn).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
        root = ET.fromstring(text)
        assert not [e for e in root.iter() if "style" in e.attrib or e.tag in (SVG + "style", SVG + "script")]
    assert len([e for e in ET.fromstring(str(flow(relays, {}))).iter() if e.get("class") == "relay"]) == len(relays)


@given(RELAYS)
def test_no_two_agents_of_the_overview_cover_each_other(relays: list[Relay]) -> None:
    root = ET.fromstring(str(overview(relays, {})))
    width, height = (float(root.attrib[name]) for name in ("width", "height"))
    boxes = [
        (float(e.attrib["x"]), float(e.attrib["y"]), float(e.attrib["height"]))
        for e in root.iter()
        if e.get("class") == "node"
    ]
    assert all(0 <= x <= width and 0 <= y <= y + h <= height for x, y, h in boxes)
    for x in {x for x, _, _ in boxes}:
        column = sorted((y, h) for other, y, h in boxes if other == x)
        assert all(first[0] + first[1] <= second[0] for first, second in pairwise(column))


def test_a_crowd_is_cut_to_the_busiest() -> None:
    root = ET.fromstring(str(overview([relay(n, "hub", f"agent-{n}") for n in range(60)], {})))
    assert len([e for e in root.iter() if e.get("class") == "node"]) == MOST_AGENTS
