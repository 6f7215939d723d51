from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.emit.files import MAX_STEM, Folder, file_stem, write_whole


@pytest.mark.parametrize(
    ("value", "stem"),
    [
        ("chat-4711", "chat-4711"),
        ("chat-4711~2", "chat-4711~2"),
        ("user@example.com", "user@example.com"),
        ("../../etc/passwd", "_.._etc_passwd-304138e46d"),
        (".hidden", "hidden-249b76c9ad"),
        ("", "session-7d64c5272e"),
        ("CON", "_CON-4775d0032f"),
        ("a/b", "a_b-9a159f8121"),
        ("a\x00b", "a_b-bdaac9cbab"),
        ("größe", "gr_e-4b4d4db5fd"),
        ("x" * 300, "x" * 109 + "-07791d26ef"),
    ],
)
def test_a_safe_value_is_its_own_name_and_any_other_is_told_apart_by_a_hash(value: str, stem: str) -> None:
    assert file_stem(value) == stem


@given(st.text(max_size=200), st.text(max_size=200))
def test_no_value_leaves_the_folder_hides_or_meets_another(one: str, other: str) -> None:
    stem = file_stem(one)
    assert stem == file_stem(stem)
    assert 0 < len(stem) <= MAX_STEM
    assert Path(stem).name == stem
    assert not stem.startswith((".", "-", "~"))
    if one != other:
        assert stem != file_stem(other) or stem in (one, other)


def no_claim(stem: str, session_id: str) -> str:
    return stem


def test_a_file_is_written_for_the_owner_only_into_a_folder_that_is_made(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "dossiers", no_claim)
    path = folder.write("abc123/chat-1.trace.json", b"{}\n")
    assert path == tmp_path / "dossiers" / "chat-1.trace.json"
    assert path.read_bytes() == b"{}\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["chat-1.trace.json"]


def test_another_session_of_the_same_name_gets_a_name_of_its_own(tmp_path: Path) -> None:
    owners = {"chat-1": "first"}

    def claim(stem: str, session_id: str) -> str:
        return stem if owners[stem] == session_id else f"{stem}-{session_id[:8]}"

    folder = Folder(tmp_path, claim)
    assert folder.write("first/chat-1.dossier.md", b"1") == tmp_path / "chat-1.dossier.md"
    assert folder.write("second/chat-1.dossier.md", b"2") == tmp_path / "chat-1-second.dossier.md"


@pytest.mark.parametrize(
    "name", ["chat.trace.json", "s/../x.trace.json", "s/x.txt", "s/.x.dossier.md", "s/.trace.json"]
)
def test_a_name_that_is_not_ours_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="not a file name of ours"):
        Folder(tmp_path, no_claim).write(name, b"")
    assert list(tmp_path.iterdir()) == []


def test_a_write_that_fails_leaves_the_old_file_and_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.trace.json"
    write_whole(path, b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, b"new")
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"a.trace.json": b"old"}


def test_a_file_of_no_bytes_is_removed_and_a_deleted_session_writes_none(tmp_path: Path) -> None:
    claims = {"one": "chat-1", "gone": ""}
    folder = Folder(tmp_path / "dossiers", lambda _, session_id: claims[session_id])
    assert folder.write("one/chat-1.trace.json", b"") is None
    folder.write("one/chat-1.trace.json", b"{}")
    assert folder.write("gone/chat-1.trace.json", b"{}") is None
    assert [each.read_bytes() for each in (tmp_path / "dossiers").iterdir()] == [b"{}"]
    assert folder.write("one/chat-1.trace.json", b"") is None
    assert list((tmp_path / "dossiers").iterdir()) == []


def test_what_a_killed_write_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    for name in (".orbitrelay-x1.part", ".other.part", "chat-1.trace.json"):
        (tmp_path / name).write_text("{}")
    Folder(tmp_path, no_claim).clear()
    Folder(tmp_path / "none", no_claim).clear()
    assert sorted(each.name for each in tmp_path.iterdir()) == [".other.part", "chat-1.trace.json"]
