"""The memory of a collector's process: the C allocator and the garbage collector, told what to expect.

Separate because it is of the process, not of any part of it, and because one half is about one C library.

A request is some hundred kilobytes that live for milliseconds, in several copies (received, checked, journaled). By default
glibc gives such blocks back to the kernel at once and takes them again for the next request, page fault by page fault:
measured, half of the CPU time of receiving over HTTP. And by default Python's collector looks through all that was ever
imported again and again, though none of it becomes garbage: measured, a third of the CPU time of accepting.
"""

from __future__ import annotations

import ctypes
import gc
from typing import Final

KEPT: Final = 32 << 20  # bytes that were freed and are not given back
MAPPED: Final = 8 << 20  # blocks from here on are mapped one by one, and given back at once
THRESHOLDS: Final = (10_000, 20, 20)

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3  # malloc.h
_GROWTH: Final = 1 << 20


def keep_freed_memory() -> bool:
    """Have blocks of a request's size reused instead of given back; False where the C library is not glibc."""
    try:
        library = ctypes.CDLL(None)
        library.gnu_get_libc_version  # noqa: B018  # others have a mallopt, too, that means other things
        mallopt = library.mallopt
    except (AttributeError, OSError, TypeError):
        return False
    taken = [
        mallopt(option, value)
        for option, value in ((_M_TRIM_THRESHOLD, KEPT), (_M_MMAP_THRESHOLD, MAPPED), (_M_TOP_PAD, _GROWTH))
    ]
    return taken == [1, 1, 1]


def spare_the_collector() -> None:
    """Leave what lives now (modules, classes, the parts of the service) out of all collections to come, and make those rarer."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
