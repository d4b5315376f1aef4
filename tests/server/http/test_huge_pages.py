"""A service moves its memory to huge pages where the system makes them, and only memory that is in use."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time

import pytest

from sourcelight.server.http import huge_pages
from sourcelight.server.http.huge_pages import HUGE_PAGE_BYTES, HugePages, are_wanted, collapse, ranges_in

MAPPING = """{start:x}-{end:x} {mode} 00000000 {device} {inode}                         {name}
Size:              {size} kB
KernelPageSize:        4 kB
Rss:               {resident} kB
Pss:               {resident} kB
AnonHugePages:         {huge} kB
THPeligible:           1
VmFlags: rd wr mr mw me ac
"""

USES_MEMORY = """
from sourcelight.server.http.huge_pages import collapse
from pathlib import Path

objects = [bytes(200) for _ in range(200_000)]


def counts():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]
    values = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    return values["Rss"], values["AnonHugePages"]


before = counts()
size = collapse()
after = counts()
assert all(part == bytes(200) for part in objects)
print(size, after[1] - before[1], after[0] - before[0])
"""


def mapping(
    start: int,
    mb: float,
    *,
    resident: float = 1.0,
    huge_mb: int = 0,
    mode: str = "rw-p",
    inode: int = 0,
    name: str = "",
) -> bytes:
    size = int(mb * 1024)
    text = MAPPING.format(
        start=start,
        end=start + size * 1024,
        mode=mode,
        device="08:01" if inode else "00:00",
        inode=inode,
        name=name,
        size=size,
        resident=int(size * resident),
        huge=huge_mb * 1024,
    )
    return text.encode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (mapping(0, 8), [(0, 8)]),
        (mapping(0, 8, name="[heap]"), [(0, 8)]),
        # Whole huge pages only.
        (mapping(1 << 20, 8), [(2, 8)]),
        (mapping(1 << 20, 2), []),
        # Huge already, or partly.
        (mapping(0, 8, huge_mb=8), []),
        (mapping(0, 8, huge_mb=6), [(0, 8)]),
        # Of a file, of code, shared, of a stack, and reserved for later.
        (mapping(0, 8, inode=77, name="/usr/lib/libc.so"), []),
        (mapping(0, 8, mode="r-xp"), []),
        (mapping(0, 8, mode="rw-s"), []),
        (mapping(0, 8, name="[stack]"), []),
        (mapping(0, 64, resident=0.5), []),
        (mapping(0, 64, resident=0.1) + mapping(1 << 32, 4) + mapping(1 << 33, 4, mode="---p"), [(4096, 4100)]),
        (b"", []),
    ],
)
def test_ranges_are_memory_in_use(text: bytes, expected: list[tuple[int, int]]) -> None:
    assert [(first >> 20, last >> 20) for first, last in ranges_in(text)] == expected


@pytest.mark.skipif(not are_wanted(), reason="no huge pages here")
def test_objects_move_and_take_no_more_memory() -> None:
    result = subprocess.run([sys.executable, "-c", USES_MEMORY], capture_output=True, text=True, check=True)
    size, huge_kb, resident_kb = map(int, result.stdout.split())
    if not size:
        pytest.skip("the kernel has no free huge page, or is older than 6.1")
    assert 0 < huge_kb * 1024 <= size
    assert resident_kb * 1024 < size / 2 + HUGE_PAGE_BYTES


def test_nothing_happens_where_they_are_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huge_pages, "are_wanted", lambda: False)
    assert collapse() == 0
    pages = HugePages()
    pages.start()
    pages.stop()


def test_a_service_collapses_its_memory_until_it_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[float] = []
    monkeypatch.setattr(huge_pages, "are_wanted", lambda: True)
    monkeypatch.setattr(huge_pages, "collapse", lambda: passes.append(time.monotonic()))
    monkeypatch.setattr(huge_pages, "DELAYS_S", (0.0, 0.0, 60.0))
    pages = HugePages()
    pages.start()
    deadline_s = time.monotonic() + 20
    while len(passes) < 2 and time.monotonic() < deadline_s:
        time.sleep(0.01)
    pages.stop()
    assert len(passes) == 2


def test_a_busy_service_waits_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    requests, passes = itertools.count(), []
    monkeypatch.setattr(huge_pages, "are_wanted", lambda: True)
    monkeypatch.setattr(huge_pages, "collapse", lambda: passes.append(True))
    monkeypatch.setattr(huge_pages, "DELAYS_S", (0.0,))
    pages = HugePages(lambda: next(requests) if not passes else 0)
    pages.start()
    time.sleep(2.5)
    pages.stop()
    assert not passes
