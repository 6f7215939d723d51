"""Untrusted text made safe to show."""

from __future__ import annotations

import sys
import unicodedata

from orbitrelay.text import code, cut, plain, quoted, visible


def test_no_control_and_no_format_character_is_ever_shown() -> None:
    """The listed ranges cover what this interpreter's Unicode database calls a control, a format or a separator of lines."""
    shown_as_they_are = []
    for point in range(sys.maxunicode + 1):
        character = chr(point)
        if unicodedata.category(character) in {"Cc", "Cf", "Zl", "Zp", "Cs"} and visible(character) == character:
            shown_as_they_are.append(point)
    signs_before_digits = {
        0x600,
        0x601,
        0x602,
        0x603,
        0x604,
        0x605,
        0x6DD,
        0x70F,
        0x890,
        0x891,
        0x8E2,
        0x110BD,
        0x110CD,
    }
    hieroglyph_joiners = set(range(0x13430, 0x13440))
    assert set(shown_as_they_are) <= signs_before_digits | hieroglyph_joiners


def test_letters_emoji_and_spaces_stay_as_they_are() -> None:
    text = "Größe 東京 \U0001f600\ufe0f naïve \u00a0 e\u0301"
    assert visible(text) == plain(text) == text


def test_escapes_say_which_character_it_was() -> None:
    assert visible("\x00\n\x1b\x7f\u202e\ud800\U000e0041") == "\\u0000\\u000a\\u001b\\u007f\\u202e\\ud800\\U000e0041"


def test_pipe_and_backtick_are_escaped_only_where_markdown_is_written() -> None:
    assert (visible("a|`b"), code("a|`b")) == ("a|`b", "`a\\u007c\\u0060b`")


def test_what_is_cut_says_how_much_is_gone() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdef", 4) == "abcd... (+2 characters)"
    assert quoted("abcdef", 4) == "'abcd'... (+2 characters)"
    assert code("\n" * 5, 2) == "`\\u000a\\u000a... (+3 characters)`"
