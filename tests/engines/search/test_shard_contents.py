"""Ranges of several shards are checked by block, before they are read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sourcelight.core.patterns.ranges import RANGE_COST_BYTES
from sourcelight.engines.search.index.shard import Shard, ShardBuilder
from sourcelight.engines.search.index.shard_contents import ShardContents
from sourcelight.engines.storage.section_blocks import BLOCK_BYTES

LINE = b"0123456789abcde\n"
SIZES = (1, 100, BLOCK_BYTES - RANGE_COST_BYTES, BLOCK_BYTES, 2 * BLOCK_BYTES, 5 * BLOCK_BYTES)


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("shards")
    names = []
    for size in SIZES:
        builder = ShardBuilder()
        builder.add(size.to_bytes(20), (LINE * (size // len(LINE) + 1))[: size - 1])
        names.append(str(folder / builder.write(folder)))
    return names


def open_all(names: list[str]) -> tuple[list[Shard], ShardContents]:
    shards = [Shard(Path(name)) for name in names]
    return shards, ShardContents(shards)


def checked_counts(shards: list[Shard]) -> list[int]:
    return [sum(shard.content.is_checked) for shard in shards]


def test_no_two_shards_are_near_each_other(shards: list[str]) -> None:
    open_shards, contents = open_all(shards)
    ends = contents.bases[:-1] + [shard.content_bytes for shard in open_shards]
    assert (contents.bases[1:] - ends > RANGE_COST_BYTES).all()


def test_only_blocks_of_ranges_are_checked(shards: list[str]) -> None:
    open_shards, contents = open_all(shards)
    base = int(contents.bases[5])
    ranges = np.array(
        [[base + BLOCK_BYTES - 1, base + BLOCK_BYTES + 1], [base + 4 * BLOCK_BYTES, base + 4 * BLOCK_BYTES]]
    )
    assert [len(text) for text in contents.slices(ranges)] == [2, 0]
    assert checked_counts(open_shards) == [0, 0, 0, 0, 0, 2]
    # A range over many blocks, of which two were checked.
    contents.slices(np.array([[base, base + 4 * BLOCK_BYTES]]))
    assert checked_counts(open_shards)[5] == 4


@pytest.mark.parametrize("limit_bytes", [0, 2 * BLOCK_BYTES, 1 << 30])
def test_a_check_before_reading_has_a_limit(shards: list[str], limit_bytes: int) -> None:
    open_shards, contents = open_all(shards)
    starts = contents.bases[[1, 5]]
    contents.check_early(np.stack((starts, starts + 9), axis=1), limit_bytes)
    # Nothing; the two blocks; or, below the limit, both shards.
    expected = {0: [0, 0], 2 * BLOCK_BYTES: [1, 1], 1 << 30: [1, len(open_shards[5].content.is_checked)]}
    assert [checked_counts(open_shards)[index] for index in (1, 5)] == expected[limit_bytes]
    assert sum(checked_counts(open_shards)) == sum(expected[limit_bytes])


def test_all_of_the_text_can_be_checked(shards: list[str]) -> None:
    open_shards, contents = open_all(shards)
    starts = contents.bases[:-1]
    ends = starts + [shard.content_bytes for shard in open_shards]
    contents.check(np.stack((starts, ends), axis=1))
    assert checked_counts(open_shards) == [len(shard.content.is_checked) for shard in open_shards]
