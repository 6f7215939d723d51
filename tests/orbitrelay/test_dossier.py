"""The dossier: its sections, and that no text of a trace gets out of its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from orbitrelay import Analysis, Number, analyse, from_document
from orbitrelay.dossier import BLOCKS, dossier
from orbitrelay.text import DOSSIER_LIMIT
from tests.orbitrelay.worlds import Json, document, field, handoff, origin

# Everything on that a renderer may have on: HTML, tables, strikethrough, links from bare addresses, typographic quotes.
MARKDOWN = MarkdownIt("gfm-like", {"html": True, "typographer": True}).enable(["replacements", "smartquotes"])
COMMONMARK = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])

HOSTILE = {
    "pipes": "a | b || c \\| d \\\\| e |",
    "backtick": "`",
    "backticks": "``` `` ` ```",
    "trailing-backslash": "end\\",
    "backslashes": "\\\\\\",
    "html": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "html-comment": "<!-- x --> <?php ?> <![CDATA[x]]>",
    "html-block": "\n\n<div>\n\n",
    "entities": "&lt;script&gt; &#60; &amp;",
    "link": "[click](javascript:alert(1)) ![x](http://x.example/x.png)",
    "reference": "[a]: http://x.example\n[a]",
    "autolinks": "<http://x.example> http://x.example www.x.example a@x.example mailto:a@x.example",
    "emphasis": "**b** __b__ *i* _i_ ~~s~~",
    "heading": "\n# heading\n",
    "setext": "x\n===\n\ny\n---\n",
    "list": "\n- a\n1. b\n",
    "quote": "\n> q\n",
    "fence": "\n```\nx\n```\n~~~\n",
    "indented": "\n\n    code\n",
    "table": "\n| a | b |\n|---|---|\n| c | d |\n",
    "rule": "\n\n---\n\n***\n",
    "ansi": "\x1b[31mred\x1b[0m \x1b]8;;http://x.example\x07link\x1b]8;;\x07 \x9b31m",
    "bidi": "\u202eevil\u202c \u2066x\u2069 \u200f\u200e\u061c",
    "zero-width": "a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg",
    "newlines": "a\nb\r\nc\rd\u2028e\u2029f\x0bg\x0ch\x85i",
    "nul": "a\x00b",
    "delete": "a\x7fb\x08c",
    "tags": "a\U000e0041\U000e007f",
    "math": "$x$ $$y$$ :tada: @someone #1 {{x}} ${y}",
    "dollar-brace": "{} {0} {name} %s %(x)s",
    "spaces": "   ",
    "empty": "",
    "long": "x" * 1_000_000,
    "long-hostile": "`|\n<b>" * 200_000,
    "long-astral": "\U0001f600" * 1_000_000,
}

FORBIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]"
)


def hostile_trace(text: str) -> Json:
    """A trace that has the text in every place that may hold text, and needs every section."""
    return document(
        handoff(
            1,
            "pln",
            text,
            [field("goal", text), field(text, text), field("deep", {text: [text]})],
            reason=text,
            run=text,
        ),
        handoff(2, text, "pln", [field("goal", "")], reason=text, run=text, latency_ms=Number("1.5"), notes=[text]),
        handoff(3, text, "pln", [], status="dropped", origin={**origin(), "convention": text}),
        {**handoff(4, text, text, ["goal"], latency_ms=1), "handoff_id": text},
        *({**handoff(i, text, text, ["goal"], latency_ms=1), "run": text} for i in range(5, 9)),
        handoff(9, text, text, [], latency_ms=10**9, run=text),
        handoff(10, text, "pln", [], recorded=False, redacted=True),
        trace_id=text,
        metadata={text: text, "nested": {text: text}},
        contract={text: [text, "goal", "absent"], "pln": ["goal", text]},
        agents=[
            {"agent_id": "pln", "role": "pln", "capabilities": [text], "model": text},
            {"agent_id": text, "role": text, "capabilities": []},
        ],
        notes=[text],
    )


def structure(text: str, parser: MarkdownIt) -> list[tuple[str, int]]:
    """Give the block tokens of a dossier, without what stands inside of them."""
    return [(token.type, token.nesting) for token in parser.parse(text)]


def inline(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from inline(token.children or [])


@pytest.mark.parametrize("parser", [MARKDOWN, COMMONMARK], ids=["gfm", "commonmark"])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_leaves_the_structure_standing_and_nothing_active(name: str, parser: MarkdownIt) -> None:
    text = dossier(analyse(from_document(hostile_trace(HOSTILE[name]))))
    tame = dossier(analyse(from_document(hostile_trace("tame" if HOSTILE[name] else ""))))
    assert structure(text, parser) == structure(tame, parser)
    kinds = {token.type for token in inline(parser.parse(text))}
    assert kinds <= {
        *("inline", "text", "code_inline", "fence", "softbreak", "strong_open", "strong_close"),
        *("heading_open", "heading_close", "paragraph_open", "paragraph_close"),
        *("bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close"),
        *("table_open", "table_close", "thead_open", "thead_close", "tbody_open", "tbody_close"),
        *("tr_open", "tr_close", "th_open", "th_close", "td_open", "td_close"),
    }
    assert FORBIDDEN.search(text) is None
    assert len(text) < 60_000


def test_what_is_cut_says_by_how_much() -> None:
    text = dossier(analyse(from_document(document(handoff(1, fields=["goal"], reason="r" * 1_000_000)))))
    assert f"`{'r' * DOSSIER_LIMIT}... (+999880 characters)`" in text


def test_an_unscored_trace_does_not_look_complete() -> None:
    text = dossier(analyse(from_document(document(handoff(1, recorded=False)))))
    assert "**No completeness: no handoff could be scored: not recorded 1.**" in text
    assert "No mean: no handoff could be scored: not recorded 1." in text
    assert "| `go on` | not known | not known | not recorded |\n" in text
    assert "- `h1` `pln` -> `cod` (tick 1):\n  - not scored: its content was not recorded." in text


def test_arrows_widen_with_the_fields() -> None:
    made = [handoff(n, fields=[f"f{i}" for i in range(n)], latency_ms=n) for n in (0, 1, 5, 24, 30)]
    text = dossier(analyse(from_document(document(*made))))
    arrows = re.findall(r"^tick .*?(-+>(?: \(\d+\))?)", text, re.MULTILINE)
    assert arrows == ["-->", "--->", "------->", "-" * 26 + ">", "-" * 26 + "> (30)"]


def test_a_note_names_what_was_dropped_and_where_it_was_lost() -> None:
    made = document(
        handoff(1, "pln", "cod", ["goal", "plan"]),
        handoff(2, "cod", "rev", [field("goal"), field("plan", None)]),
        handoff(3, "rev", "ops", [field("goal", seen_in="history")]),
        contract={"rev": ["goal", "plan"], "ops": ["goal", "plan", "budget"]},
    )
    notes = dossier(analyse(from_document(made))).partition("## Notes\n\n")[2]
    assert notes == (
        "- No contract for the role `cod`: 1 handoff had nothing to be held against.\n"
        "- The latency of 3 handoffs is not known.\n"
        "- `h2` `cod` -> `rev` (tick 2, 0.85 (B)):\n"
        "  - `plan` arrived empty: `cod` had it from `h1`, so it was lost there.\n"
        "  - it was handed `goal` = `x`; `plan` = `null`.\n"
        "- `h3` `rev` -> `ops` (tick 3, 0.4 (D)):\n"
        "  - `goal` was not handed over, only visible in the history: the contract does not accept that.\n"
        "  - `plan` never arrived: last carried by `h1` `pln` -> `cod`, it never reached `rev`.\n"
        "  - `budget` never arrived: no earlier handoff carried it.\n"
        "  - it could see in the history `goal` = `x`.\n"
    )


def test_what_was_handed_is_told_apart_from_what_could_only_be_seen() -> None:
    made = document(
        handoff(1, "pln", "cod", ["goal", field("plan", seen_in="history"), field("mood", seen_in="history")]),
        handoff(2, "pln", "rev", [field("goal", seen_in="history")]),
        contract={"cod": ["goal", "plan", "budget"], "rev": {"fields": ["goal", "plan"], "accept": "visible"}},
    )
    text = dossier(analyse(from_document(made)))
    assert (
        "**2 of 2 scored handoffs lost context: 3 required fields never arrived (1 of them only visible in the history), "
        "0 arrived empty.**\n" in text
    )
    assert text.partition("## Notes\n\n")[2] == (
        "- The latency of 2 handoffs is not known.\n"
        "- `h1` `pln` -> `cod` (tick 1, 0.6 (C)):\n"
        "  - `plan` was not handed over, only visible in the history: the contract does not accept that.\n"
        "  - `budget` never arrived: no earlier handoff carried it.\n"
        "  - it was handed `goal` = `x`.\n"
        "  - it could see in the history `plan` = `x`; `mood` = `x`.\n"
        "- `h2` `pln` -> `rev` (tick 2, 0.7 (C)):\n"
        "  - `plan` never arrived: no earlier handoff carried it.\n"
        "  - it was handed `goal` = `x`.\n"
    )


def test_what_has_no_latency_is_not_said_to_have_an_unknown_one() -> None:
    made = [handoff(1), handoff(2, origin=origin("return")), handoff(3, status="dropped"), handoff(4, latency_ms=1)]
    notes = dossier(analyse(from_document(document(*made)))).partition("## Notes\n\n")[2]
    assert "- The latency of 1 handoff is not known.\n" in notes


def test_no_handoffs_are_not_complete_handoffs() -> None:
    text = dossier(analyse(from_document(document())))
    assert "**No completeness: the trace has no handoffs.**" in text
    assert text.endswith("## Notes\n\nThe trace has no handoffs.\n")


def test_a_custom_section_is_one_more_builder() -> None:
    def models(analysis: Analysis) -> Iterator[str]:
        yield "## Models"
        yield ""
        yield f"{len(analysis.trace.agents)} agents"

    analysis = analyse(from_document(document()))
    assert dossier(analysis, [*BLOCKS, models]) == dossier(analysis) + "\n## Models\n\n4 agents\n"


def test_sections_stand_in_the_order_of_the_list() -> None:
    text = dossier(analyse(from_document(document(handoff(1)))))
    headings: list[Any] = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    assert headings == [
        "Handoff dossier: `t`",
        "Conversation flow map",
        "Relay ledger",
        "Completeness scores",
        "Coordination bottlenecks",
        "Notes",
    ]
