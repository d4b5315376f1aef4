"""Sections are checked block by block: what is read is right, and damage elsewhere isn't looked for."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import xxhash

from sourcelight.core.arrays import AnyArray
from sourcelight.core.errors import IndexDamaged
from sourcelight.engines.storage.section_blocks import BLOCK_BYTES, SectionBlocks, block_checksums
from sourcelight.engines.storage.sections import SectionFile, write_sections

ITEMS = np.cumsum(np.arange(5 * BLOCK_BYTES // 4 + 100, dtype=np.uint32) % 7 + 1, dtype=np.uint32)
BLOCKS = 6


def write(folder: Path, *, by_block: bool = True) -> Path:
    sections: dict[str, AnyArray | list[AnyArray]] = {
        "items": np.split(ITEMS, [10, 10, 40_000]),
        "other": np.zeros(9, dtype=np.uint8),
    }
    return folder / write_sections(folder, "shard", {}, sections, by_block=["items", "other"] if by_block else ())


def flip(path: Path, offset_in_items: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[raw.index(ITEMS.tobytes()) + offset_in_items] ^= 1
    path.write_bytes(raw)


@pytest.mark.parametrize("size", [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 3 * BLOCK_BYTES])
def test_checksums_of_parts_are_those_of_the_whole(size: int) -> None:
    draw = random.Random(size)  # noqa: S311 - of a test
    content = draw.randbytes(size)
    bounds = sorted(draw.choices(range(size + 1), k=5))
    parts = [memoryview(content)[start:end] for start, end in zip([0, *bounds], [*bounds, size], strict=True)]
    blocks = [content[start : start + BLOCK_BYTES] for start in range(0, size, BLOCK_BYTES)]
    assert block_checksums(parts) == [xxhash.xxh3_64_intdigest(block) for block in blocks]


@pytest.mark.parametrize("damaged", range(BLOCKS))
def test_each_block_is_checked_when_it_is_read(tmp_path: Path, damaged: int) -> None:
    path = write(tmp_path)
    flip(path, damaged * BLOCK_BYTES + 77)
    items = SectionFile(path, "shard").blocks("items")
    width = BLOCK_BYTES // 4
    for number in range(BLOCKS):
        end = min((number + 1) * width, len(ITEMS))
        if number != damaged:
            assert items.slice(number * width, end).tolist() == ITEMS[number * width : end].tolist()
            assert items.take(np.array([end - 1, number * width])).tolist() == [ITEMS[end - 1], ITEMS[number * width]]
    assert path.exists()
    # A range that only touches the block is enough.
    start, end = damaged * width, damaged * width + 1
    with pytest.raises(IndexDamaged, match="section items is damaged"):
        items.slice(max(start - 5, 0), end)
    assert not path.exists()
    with pytest.raises(IndexDamaged):
        items.take(np.array([start]))


def test_damaged_checksums_of_blocks_are_damage(tmp_path: Path) -> None:
    path = write(tmp_path)
    checksums = SectionFile(path, "shard").array("block_checksums").tobytes()
    raw = bytearray(path.read_bytes())
    raw[raw.index(checksums)] ^= 1
    path.write_bytes(raw)
    with pytest.raises(IndexDamaged):
        SectionFile(path, "shard").blocks("items")


def test_a_file_of_an_earlier_version_is_checked_as_a_whole(tmp_path: Path) -> None:
    path = write(tmp_path, by_block=False)
    items = SectionFile(path, "shard").blocks("items")
    assert items.slice(3, 9).tolist() == ITEMS[3:9].tolist()
    flip(path, len(ITEMS) * 4 - 1)
    with pytest.raises(IndexDamaged):
        SectionFile(path, "shard").blocks("items").slice(3, 9)


def test_short_sections_have_no_checksums_of_blocks(tmp_path: Path) -> None:
    # So the files of small repositories keep their names and bytes.
    sections = {"items": np.arange(BLOCK_BYTES, dtype=np.uint8)}
    names = {write_sections(tmp_path, "shard", {}, sections, by_block=names) for names in ((), ("items",))}
    assert len(names) == 1


@pytest.mark.parametrize("seed", range(30))
def test_no_damage_misleads_a_binary_search(tmp_path: Path, seed: int) -> None:
    """The search reads items of blocks that weren't checked: its result is right, or the damage is reported."""
    draw = random.Random(seed)  # noqa: S311 - of a test
    path = write(tmp_path)
    raw = bytearray(path.read_bytes())
    body = raw.index(ITEMS.tobytes())
    for _ in range(draw.choice([1, 3, 200])):
        offset = body + draw.randrange(len(ITEMS)) * 4
        raw[offset : offset + 4] = draw.randbytes(4)
    path.write_bytes(raw)
    values = np.array([0, 1, *draw.choices(range(int(ITEMS[-1]) + 3), k=draw.choice([1, 50]))], dtype=np.uint32)
    items = SectionFile(path, "shard").blocks("items")
    try:
        positions = items.find_positions(values)
    except IndexDamaged:
        return
    assert positions.tolist() == ITEMS.searchsorted(values).tolist()


def test_a_binary_search_in_a_sound_section_checks_few_blocks(tmp_path: Path) -> None:
    items = SectionFile(write(tmp_path), "shard").blocks("items")
    assert items.find_positions(ITEMS[[5, 6]]).tolist() == [5, 6]
    assert list(items.is_checked) == [1] + [0] * (BLOCKS - 1)


def test_items_in_memory_need_no_check() -> None:
    items = SectionBlocks(ITEMS)
    assert items.slice(1, 3).tolist() == ITEMS[1:3].tolist()
    assert items.find_positions(ITEMS).tolist() == list(range(len(ITEMS)))
    assert SectionBlocks(ITEMS[:0]).find_positions(ITEMS[:2]).tolist() == [0, 0]
