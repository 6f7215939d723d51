from __future__ import annotations

from pathlib import Path

import pytest

from collector.config.options import Auth
from collector.listen.errors import StartError
from collector.listen.tokens import Tokens

NOON = 1_800_000_000.0  # 2027-01-15T08:00:00Z


def tokens(path: Path, text: str) -> Tokens:
    path.write_text(text, encoding="utf-8")
    return Tokens(Auth(token_file=str(path)), {}, lambda: NOON)


def test_a_listener_without_tokens_asks_for_none() -> None:
    assert (Tokens(Auth(), {}, lambda: NOON).demanded, Tokens(Auth(), {}, lambda: NOON).fault(None)) == (False, "")


def test_each_line_of_a_file_is_a_token_until_its_time(tmp_path: Path) -> None:
    held = tokens(tmp_path / "t", "# ours\none\ntwo 2027-01-15T09:00:00Z\nold 2027-01-15T07:00:00Z\n\n")
    asked = {
        sent: held.fault(sent)
        for sent in ("Bearer one", "bearer  two", "Bearer old", "Bearer on", "Basic one", "", None)
    }
    assert asked == {
        "Bearer one": "",
        "bearer  two": "",
        "Bearer old": "the bearer token has expired",
        "Bearer on": "the bearer token is not one that is accepted here",
        "Basic one": "expected the header 'authorization: Bearer TOKEN', found another scheme",
        "": "expected the header 'authorization: Bearer TOKEN', found none",
        None: "expected the header 'authorization: Bearer TOKEN', found none",
    }


def test_a_token_of_the_environment_is_accepted_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("one\n", encoding="utf-8")
    held = Tokens(Auth(token_file=str(tmp_path / "t"), token_env="T"), {"T": "two\n"}, lambda: NOON)
    assert [held.fault(f"Bearer {token}") for token in ("one", "two")] == ["", ""]


def test_reloading_takes_the_new_tokens_and_a_bad_file_changes_nothing(tmp_path: Path) -> None:
    held = tokens(tmp_path / "t", "one")
    (tmp_path / "t").write_text("two", encoding="utf-8")
    held.reload()
    (tmp_path / "t").write_text("", encoding="utf-8")
    with pytest.raises(StartError, match="expected a token in"):
        held.reload()
    assert [bool(held.fault(f"Bearer {token}")) for token in ("one", "two")] == [True, False]


@pytest.mark.parametrize(
    ("text", "fault"),
    [("# none\n", "expected a token in"), ("one tomorrow\n", ":1: expected an ISO 8601 time after the token")],
)
def test_a_file_that_does_not_serve_is_named_and_its_tokens_are_not(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(StartError, match=fault) as error:
        tokens(tmp_path / "t", text)
    assert "one" not in str(error.value).replace("none", "")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="cannot read the token file"):
        Tokens(Auth(token_file=str(tmp_path / "none")), {}, lambda: NOON)
