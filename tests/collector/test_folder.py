from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from collector.folder import DataFolder, default_folder
from collector.listen.errors import StartError


def test_a_folder_belongs_to_one_process_until_it_lets_go(tmp_path: Path) -> None:
    first, second = DataFolder(tmp_path / "a" / "b"), DataFolder(tmp_path / "a" / "b")
    first.acquire()
    with pytest.raises(StartError, match=rf"is in use by process {os.getpid()}$"):
        second.acquire()
    first.release()
    second.acquire()
    second.release()
    second.release()
    assert oct((tmp_path / "a" / "b").stat().st_mode)[-3:] == "700"


def test_a_process_that_is_killed_lets_go(tmp_path: Path) -> None:
    hold = (
        "import sys, time\nfrom pathlib import Path\nfrom collector.folder import DataFolder\n"
        "DataFolder(Path(sys.argv[1])).acquire()\nprint('held', flush=True)\ntime.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", hold, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(StartError, match=rf"in use by process {process.pid}$"):
            DataFolder(tmp_path).acquire()
        process.kill()
    folder = DataFolder(tmp_path)
    folder.acquire()
    folder.release()


def test_a_folder_that_cannot_be_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(
        StartError, match=r"^cannot write to the data folder '.*file/data' \(data.dir\): not a directory$"
    ):
        DataFolder(tmp_path / "file" / "data").acquire()


def test_the_default_folder_is_the_users() -> None:
    assert default_folder().name == "orbitrelay"
