"""The operating system's files: all that is to be written is written, in order, however little a call takes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from collector.journal.files import OsFiles

PIECES = [bytes([n % 256]) * (n % 7) for n in range(3_000)]  # more than one call takes, some of them empty


def written(path: Path, pieces: Sequence[bytes]) -> bytes:
    files = OsFiles()
    handle = files.create(path)
    try:
        files.append(handle, pieces[:1])
        files.append(handle, pieces[1:])
    finally:
        files.close(handle)
    return files.read(path)


def test_pieces_stand_one_behind_the_other(tmp_path: Path) -> None:
    assert written(tmp_path / "1", PIECES) == b"".join(PIECES)


def test_what_a_call_left_is_written_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write

    def few(handle: int, data: Sequence[bytes] | memoryview) -> int:
        whole = data if isinstance(data, memoryview) else b"".join(data)
        return write(handle, whole[:5])

    monkeypatch.setattr(os, "writev", few)
    monkeypatch.setattr(os, "write", few)
    assert written(tmp_path / "1", PIECES) == b"".join(PIECES)


def test_a_system_without_gathering_writes_joins_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "writev")
    assert written(tmp_path / "1", PIECES) == b"".join(PIECES)


def test_a_full_disk_is_an_error_and_never_a_short_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_handle: int, _pieces: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "writev", full)
    with pytest.raises(OSError, match="No space left"):
        written(tmp_path / "1", PIECES)
