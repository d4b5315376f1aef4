"""Prepare the memory of a service: load what searches share, and move it to huge pages.

A search after a pause then looks up fewer addresses.

A search of a few words touches thousands of objects in a hundred megabytes. After a pause, other work has evicted their
addresses from the processor, which then looks up each page of 4 KiB again, in a virtual machine twice. A huge page has
2 MiB. Linux makes them by itself only for large arrays, not for the many small blocks of an interpreter.

Nothing depends on it: where the system has no huge pages, or its administrator doesn't want them, nothing happens.
"""

from __future__ import annotations

import ctypes
import gc
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sourcelight.engines.execution import Engine

HUGE_PAGE_BYTES = 2 << 20

DELAYS_S = (5.0, 10.0, 45.0, 540.0)
"""Minimum seconds before each pass. Most objects that searches share are made by the first ones."""

_IDLE_S, _MAX_WAITS = 1.0, 120
"""Seconds without a request before a pass, which takes a tenth of a second; and how often they are waited for."""

_ENABLED = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_SMAPS = Path("/proc/self/smaps")

_MADV_COLLAPSE = 25
"""Since Linux 6.1; earlier kernels return an error."""

_MIN_RESIDENT = 0.75
"""Share of a mapping that is in memory: a huge page also takes the memory of pages that were never used."""

_NOWHERE = "qzxjkv"
"""A text that few files have."""

# Private, writable, and of no file; the heap has a name.
_MAPPING = re.compile(
    rb"^([0-9a-f]+)-([0-9a-f]+) rw-p [0-9a-f]+ 00:00 0 +(?:\[heap\])?\n(?:.+\n)*?Rss: +(\d+) kB\n(?:.+\n)*?"
    rb"AnonHugePages: +(\d+) kB\n",
    re.MULTILINE,
)


def are_wanted() -> bool:
    """Return whether this system makes huge pages for those who ask."""
    if sys.platform != "linux":
        return False
    try:
        return "[never]" not in _ENABLED.read_text("ascii")
    except OSError:
        return False


def ranges_in(smaps: bytes) -> Iterator[tuple[int, int]]:
    """Yield start and end of the huge pages that mappings may become, from the text of `/proc/self/smaps`."""
    for match in _MAPPING.finditer(smaps):
        start, end = int(match[1], 16), int(match[2], 16)
        resident, in_huge_pages = 1024 * int(match[3]), 1024 * int(match[4])
        first = -(-start // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES
        last = end // HUGE_PAGE_BYTES * HUGE_PAGE_BYTES
        if first < last and resident >= _MIN_RESIDENT * (end - start) and in_huge_pages < last - first:
            yield first, last


def collapse() -> int:
    """Move the memory of this process to huge pages; return the bytes of those that it has now, or had before.

    The kernel copies each page in a fraction of a millisecond, in which no thread can use it.
    """
    if not are_wanted():
        return 0

    advise = ctypes.CDLL(None, use_errno=True).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    size = 0
    for first, last in ranges_in(_SMAPS.read_bytes()):
        # One by one: a page that can't be moved would end the call for those after it.
        for page in range(first, last, HUGE_PAGE_BYTES):
            if advise(page, HUGE_PAGE_BYTES, _MADV_COLLAPSE) == 0:
                size += HUGE_PAGE_BYTES
    return size


class HugePages:
    """Freezes and collapses the memory of a service a few times after its start, in a thread, between requests.

    Parameters
    ----------
    served
        Returns a number that changes with each request; a negative one while some are running.
    """

    def __init__(self, served: Callable[[], int] = lambda: 0) -> None:
        self._served = served
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sourcelight-huge-pages", daemon=True)

    def start(self) -> None:
        """Start the thread, if the system makes huge pages."""
        if are_wanted():
            self._thread.start()

    def stop(self) -> None:
        """End the thread before its next pass."""
        self._stopped.set()

    def _run(self) -> None:
        for delay_s in DELAYS_S:
            if self._stopped.wait(delay_s) or self._was_stopped_before_pause():
                return
            freeze()
            try:
                collapse()
            except (OSError, AttributeError):  # without /proc, or in a C library without madvise
                return

    def _was_stopped_before_pause(self) -> bool:
        """Wait for a second without requests, but not for long; return whether the service stopped before it."""
        for _ in range(_MAX_WAITS):
            before = self._served()
            if self._stopped.wait(_IDLE_S):
                return True
            if before == self._served() >= 0:
                return False
        return False


def freeze() -> None:
    """Make the garbage collector skip all objects from now on: most of those that are in use now stay.

    One pass over 95,000 objects stopped all threads for 60 ms.
    """
    gc.collect()
    gc.freeze()


def warm_up(engine: Engine) -> None:
    """Load scanners, codecs and commit views, which a first search would wait for (0.3 s measured)."""
    from sourcelight.core.cancellation import Cancellation
    from sourcelight.core.wire.request import SearchRequest
    from sourcelight.repos import Viewer

    # Patterns that match nearly everywhere, so that the searches read text, and one that opens all repositories.
    for query in ("e count:1", "/[aeiou]/ count:1", f"{_NOWHERE} file:{_NOWHERE} -lang:python case:yes count:all"):
        for _ in engine.stream(SearchRequest(query), Viewer.owner(), Cancellation(2.0)):
            pass

    freeze()
