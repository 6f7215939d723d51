from __future__ import annotations

import doctest
import importlib

import pytest

from collector.page import words


@pytest.mark.parametrize("module", ["words", "svg", "trail", "login"])
def test_the_examples_in_docstrings_hold(module: str) -> None:
    result = doctest.testmod(importlib.import_module(f"collector.page.{module}"))
    assert (result.failed, result.attempted > 0) == (0, True)


def test_what_is_not_known_is_a_dash() -> None:
    assert [words.score(None), words.milliseconds(None), words.count(None), words.span(0, 5)] == ["–"] * 4
    assert (words.moment(0), words.iso(0)) == ("", "")


def test_a_time_beyond_the_calendar_is_shown_as_its_end() -> None:
    assert words.iso(2**63) == "2262-04-11T23:47:16Z"
    assert words.iso(2**80) == "9999-12-31T23:59:59Z"


def test_a_block_keeps_its_lines_and_shows_what_would_reorder_them() -> None:
    assert words.block("a\n\tb\u202ec\x00") == "a\n\tb\\u202ec\\u0000"
