"""The journal over a real folder, and over a disk that misbehaves."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.journal import Damage, Journal, JournalError
from collector.report import Position, Record
from tests.collector.journal.faults import FaultyFiles

FOLDER = Path("/journal")


def record(body: bytes) -> Record:
    return Record("traces", "json", body, 1)


def opened(files: FaultyFiles, segment_size: int = 1 << 20, beyond: Position | None = None) -> Journal:
    journal = Journal(FOLDER, files=files, segment_size=segment_size)
    journal.open(beyond)
    return journal


def bodies(journal: Journal, start: Position = Position()) -> list[bytes]:  # noqa: B008 - frozen
    return [found.body for found in journal.records(start) if isinstance(found, Record)]


def test_files_and_folder_are_for_their_owner_only(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    journal.open()
    journal.append([record(b"a")])
    journal.close()
    (name,) = os.listdir(tmp_path / "j")
    assert stat.S_IMODE((tmp_path / "j").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "j" / name).stat().st_mode) == 0o600


def test_a_torn_end_is_cut_and_said_so(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.open()
    first, second = journal.append([record(b"first"), record(b"second")])
    journal.close()
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-3])
    again = Journal(tmp_path)
    assert again.open() == [Damage(1, first.end.offset, second.end.offset - 3, "cut record")]
    assert path.stat().st_size == first.end.offset
    assert again.append([record(b"third")])[0].position.segment == 2
    assert bodies(again) == [b"first", b"third"]
    again.close()


def test_segments_go_when_nothing_needs_them(tmp_path: Path) -> None:
    journal = Journal(tmp_path, segment_size=100)
    journal.open()
    placed = [journal.append([record(b"x" * 80)])[0] for _ in range(4)]
    assert journal.segments == 4
    assert journal.trim(placed[1].position) == 1
    assert journal.trim(placed[1].position) == 0
    assert [found.position for found in journal.records(Position()) if isinstance(found, Record)] == [
        each.position for each in placed[1:]
    ]
    assert journal.trim(placed[3].end) == 3
    assert (journal.size, list(tmp_path.iterdir())) == (0, [])
    journal.close()


def test_positions_go_on_behind_what_a_power_cut_took() -> None:
    files = FaultyFiles()
    journal = opened(files, beyond=Position(41, 900))
    (placed,) = journal.append([record(b"a")])
    assert placed.position > Position(41, 900)


def test_a_folder_that_cannot_be_used_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match=r"cannot use journal folder '.*file': .*"):
        Journal(tmp_path / "file").open()


def test_a_write_that_runs_full_leaves_nothing_behind() -> None:
    files = FaultyFiles()
    journal = opened(files)
    journal.append([record(b"first")])
    files.room = 20
    with pytest.raises(OSError, match="No space left"):
        journal.append([record(b"second"), record(b"third")])
    files.room = None
    journal.append([record(b"fourth")])
    assert bodies(journal) == [b"first", b"fourth"]
    assert not [found for found in journal.records(Position()) if isinstance(found, Damage)]


def test_a_disk_without_room_for_a_header_makes_no_segment() -> None:
    files = FaultyFiles()
    journal = opened(files)
    files.room = 3
    for _ in range(3):
        with pytest.raises(OSError, match="No space left"):
            journal.append([record(b"first")])
    files.room = None
    journal.append([record(b"first")])
    assert (bodies(journal), len(files.written)) == ([b"first"], 1)


def test_a_group_whose_fsync_failed_is_taken_back() -> None:
    files = FaultyFiles()
    journal = opened(files)
    journal.append([record(b"first")])
    group = journal.append([record(b"second")])
    journal.take_back(group)
    journal.append([record(b"third")])
    assert bodies(journal) == [b"first", b"third"]
    assert journal.segments == 2


@given(
    st.lists(st.tuples(st.sampled_from(["append", "sync", "cut", "full"]), st.integers(1, 300)), max_size=25),
    st.integers(),
)
def test_over_power_cuts_what_was_synced_is_kept_in_order(steps: list[tuple[str, int]], seed: int) -> None:
    files = FaultyFiles(seed)
    journal = opened(files, segment_size=500)
    accepted: list[bytes] = []
    synced = 0
    kept: list[bytes] = []
    for number, (step, size) in enumerate(steps):
        if step == "append":
            body = b"%d:" % number + b"x" * size
            journal.append([record(body)])
            accepted.append(body)
        elif step == "sync":
            journal.sync()
            synced = len(accepted)
        elif step == "full":
            files.room = size % 40
            try:
                journal.append([record(b"%d:lost" % number)])
                accepted.append(b"%d:lost" % number)
            except OSError:
                pass
            files.room = None
        else:
            files.power_cut()
            journal = opened(files, segment_size=500, beyond=journal.end)
            kept = bodies(journal)
            assert kept[:synced] == accepted[:synced]
            assert kept == accepted[: len(kept)]
            accepted, synced = kept, len(kept)
    assert bodies(journal) == accepted
