"""The memory of a collector's process. In processes of their own: what is set here is set for good."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

_FAULTS = """
import resource
from collector.memory import keep_freed_memory
assert keep_freed_memory()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def requests(count):
    for _ in range(count):
        copies = [bytearray(b"x") * 300_000 for _ in range(4)]
requests(5)
before = faults()
requests(100)
print(faults() - before)
"""
_COLLECTED = """
import gc
from collector.memory import THRESHOLDS, spare_the_collector
spare_the_collector()
assert gc.get_threshold() == THRESHOLDS
print(gc.get_freeze_count() > 1_000 and gc.collect() == 0)
"""


def _said(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="tells glibc")
def test_memory_of_requests_is_used_again_without_asking_the_kernel() -> None:
    # By default it is a page fault for each of the 30,000 pages.
    assert int(_said(_FAULTS)) < 300


def test_what_lives_at_the_start_is_left_out_of_collections() -> None:
    assert _said(_COLLECTED) == "True"
