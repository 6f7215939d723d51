"""How many connections the open files of a process are enough for."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from collector.listen import sockets

ASK = """
from collector.listen.sockets import affordable, raise_open_files
raise_open_files()
print([affordable(n) for n in (0, 100, 10_000)])
"""


@pytest.mark.parametrize(
    ("limits", "expected"),
    [((256, 256), "[32, 32, 32]"), ((256, 4096), "[512, 100, 512]")],
)
def test_a_listener_has_an_eighth_of_the_open_files_there_may_be_at_the_most(
    limits: tuple[int, int], expected: str
) -> None:
    found = subprocess.run(
        [sys.executable, "-c", ASK],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits),
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == expected


def test_without_a_limit_there_may_be_as_many_as_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "open_files", lambda: None)
    assert [sockets.affordable(n) for n in (0, 10_000)] == [0, 10_000]
