"""Tests of portfolio.py: what is refused and where, and that the bundled data are what the tool makes."""

from __future__ import annotations

import json
import runpy
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestratorx.portfolio import DEMO_BOOKS, BookError, demo_book, instruments, load_book, parse_book, returns

GOOD: dict[str, Any] = {
    "portfolio_id": "PF-1",
    "name": "A book",
    "equity": 1000,
    "mandate": {"name": "m", "permitted_asset_classes": ["equity"]},
    "positions": [{"instrument": "AQL-EQ", "value": 1}],
}


def test_the_smallest_book() -> None:
    assert parse_book(GOOD).positions[0].value == 1.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"equity": 0}, "equity: input should be greater than 0"),
        ({"equity": float("nan")}, "equity: input should be a finite number"),
        ({"equity": "1000"}, "equity: input should be a valid number"),
        ({"equity": True}, "equity: input should be a valid number"),
        ({"positions": []}, "positions: tuple should have at least 1 item"),
        ({"positions": [{"instrument": "AQL-EQ"}]}, r"positions\[0\].value: field required"),
        (
            {"positions": [{"instrument": "ZZZ", "value": 1}]},
            r"positions\[0\].instrument: 'ZZZ' is not in the reference",
        ),
        ({"mandate": {"name": "m"}}, "mandate.permitted_asset_classes: field required"),
        (
            {"mandate": GOOD["mandate"] | {"limits": {"max_luck": 1}}},
            "mandate.limits.max_luck: expected one of max_days",
        ),
        (
            {"mandate": GOOD["mandate"] | {"limits": {"max_leverage": -1}}},
            "mandate.limits.max_leverage: input should be",
        ),
        ({"surprise": 1}, "surprise: extra inputs are not permitted"),
        ({"currency": "usd"}, "currency: string should match pattern"),
    ],
)
def test_a_bad_book_is_refused_with_the_path_of_the_key(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BookError, match=message):
        parse_book(GOOD | changes)


anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(anything)
@settings(max_examples=10)
def test_any_json_is_a_book_or_a_book_error(document: Any) -> None:
    with pytest.raises(BookError):
        parse_book(document)


def test_files_that_cannot_be_read_are_book_errors(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not json")
    (tmp_path / "deep").write_text("[" * 100_000)
    (tmp_path / "latin").write_bytes(b'{"name": "\xe9"}')
    for name in ("text", "deep", "latin", "absent", "."):
        with pytest.raises(BookError):
            load_book(tmp_path / name)


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "book.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD).encode())
    assert load_book(path).portfolio_id == "PF-1"


def test_bundled_data_are_what_the_tool_makes() -> None:
    made = runpy.run_path(str(Path(__file__).parents[1] / "tools" / "synthesize.py"))["everything"]()
    bundled = files("orchestratorx") / "data"
    assert {name: (bundled / name).read_text() for name in made} == made


def test_every_instrument_has_a_year_of_returns() -> None:
    assert set(instruments()) == set(returns())
    assert {len(series) for series in returns().values()} == {252}


def test_demo_books_hold_what_they_say() -> None:
    assert [demo_book(name).name for name in DEMO_BOOKS] == [
        "Compliant book",
        "Concentrated and over-levered",
        "Restricted sector held",
    ]
