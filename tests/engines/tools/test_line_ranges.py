"""Lines of a content that arrives in blocks are those of the whole content, however many of them are kept."""

from __future__ import annotations

import random

import pytest

from sourcelight.engines.tools import line_ranges
from sourcelight.engines.tools.line_ranges import select_lines

MAX_BYTES = 40


def test_blocks_give_the_lines_and_sizes_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_ranges, "MAX_RANGE_BYTES", MAX_BYTES)
    for seed in range(1_000):
        draw = random.Random(seed)  # noqa: S311 - the same contents for the same seed
        content = b"".join(draw.choice((b"\n", b"a", b"bc", b"some words ")) for _ in range(draw.randrange(60)))
        cuts = sorted(draw.choices(range(len(content) + 1), k=draw.randrange(9)))
        blocks = [content[start:end] for start, end in zip([0, *cuts], [*cuts, len(content)], strict=True)]
        first = draw.randrange(1, 12)
        last = draw.choice((None, first + draw.randrange(30)))
        selection = select_lines(filter(None, blocks), first, last)
        lines = content.removesuffix(b"\n").split(b"\n") if content else []
        range_lines = lines[first - 1 : last]
        assert (selection.total_lines, selection.total_bytes) == (len(lines), len(content)), seed
        assert selection.range_bytes == sum(len(line) + 1 for line in range_lines), seed
        if sum(map(len, range_lines)) <= MAX_BYTES:
            assert selection.lines == range_lines, seed
        else:
            assert selection.lines == range_lines[: len(selection.lines)], seed
            assert sum(map(len, selection.lines)) <= MAX_BYTES, seed
