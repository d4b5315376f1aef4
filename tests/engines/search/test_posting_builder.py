"""The posting lists of a shard have exactly the keys of each unit, however its text is cut into blocks."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from sourcelight.engines.search.index import posting_builder
from sourcelight.engines.search.index.posting_builder import COMMON_FRACTION, MIN_COMMON_UNITS, gram_bits, hash_bits
from sourcelight.engines.search.index.postings import (
    COMMON_KEY,
    HASH_BITS,
    literal_grams,
    literal_trigrams,
    literal_windows,
)
from sourcelight.engines.search.index.shard import Shard, ShardBuilder

KELVIN, LONG_S = "\u212a".encode(), "\u017f".encode()
PARTS = [
    *(b"alpha", b"Beta", b"gamma_x", b"k", b"S", KELVIN, LONG_S, "naïve".encode(), b"foo.bar()", b"Z" * 9),
    *(b"\n", b"\n\n", b"\r\n", b" ", b"  ", b"\t", b"(", b"\xff\xfe", b"\x7f" * 3, b"\x01"),
]
KEY_BYTES, GRAM_BYTES = 6, 4


def random_text(draw: random.Random, parts: list[bytes]) -> bytes:
    kind = draw.random()
    if kind < 0.2:
        return bytes(draw.choices(range(1, 256), k=draw.randrange(8)))
    return b"".join(draw.choices(parts, k=draw.randrange(1, draw.choice([3, 40, 400]))))


def keys_of(text: bytes) -> dict[str, set[int]]:
    """Return the keys of a text by their definition: those of each line, four and six bytes at a time."""
    readings = [text, text.replace(KELVIN, b"k")]
    readings += [reading.replace(LONG_S, b"s") for reading in readings]
    texts = {
        line[start : start + KEY_BYTES]
        for reading in readings
        for line in reading.split(b"\n")
        for start in range(max(1, len(line) - KEY_BYTES + 1))
    }
    keys: dict[str, set[int]] = {"tri": set(), "key": set(), "gram": set()}
    for part in texts:
        keys["tri"].update(literal_trigrams(part))
        keys["key"].update(literal_windows(part))
        for start in range(len(part) - GRAM_BYTES + 1):
            keys["gram"].update(literal_grams(part[start : start + GRAM_BYTES]))
    return keys


def common_keys(shard: Shard, kind: str) -> set[int]:
    """Return the windows or grams of a shard that have no list."""
    return set(np.flatnonzero(shard.file.array(f"{kind}_starts") & COMMON_KEY).tolist())


def keys_by_unit(shard: Shard) -> list[dict[str, set[int]]]:
    """Return what the posting lists of a shard say of each unit."""
    keys: list[dict[str, set[int]]] = [{"tri": set(), "key": set(), "gram": set()} for _ in range(shard.units)]
    starts, lists = shard.file.array("tri_starts"), shard.file.array("tri_lists")
    for number, key in enumerate(shard.file.array("tri_keys").tolist()):
        units = lists[starts[number] : starts[number + 1]].tolist()
        assert units == sorted(set(units))
        for unit in units:
            keys[unit]["tri"].add(key)
    dense_keys = shard.file.array("dense_keys")
    if len(dense_keys):
        bits = np.unpackbits(shard.file.array("dense_bits").reshape(len(dense_keys), -1), axis=1, bitorder="little")
        for row, unit in np.argwhere(bits).tolist():
            keys[unit]["tri"].add(int(dense_keys[row]))
    for kind in ("key", "gram"):
        starts, lists = shard.file.array(f"{kind}_starts") & ~np.uint32(COMMON_KEY), shard.file.array(f"{kind}_lists")
        for key in np.flatnonzero(np.diff(starts.astype(np.int64))).tolist():
            units = lists[starts[key] : starts[key + 1]].tolist()
            assert units == sorted(set(units))
            for unit in units:
                keys[unit][kind].add(key)
    return keys


def build(folder: Path, documents: list[bytes]) -> Shard:
    builder = ShardBuilder()
    for number, document in enumerate(documents):
        builder.add(number.to_bytes(20), document)
    return Shard(folder / builder.write(folder))


@pytest.mark.parametrize("block_bytes", [64, 1000, 1 << 18])
@pytest.mark.parametrize("seed", range(4))
def test_lists_have_exactly_the_keys_of_each_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, block_bytes: int
) -> None:
    monkeypatch.setattr(posting_builder, "BLOCK_BYTES", block_bytes)
    draw = random.Random(seed)  # noqa: S311 - of a test
    lines = [random_text(draw, PARTS) for _ in range(draw.choice([1, 12, 60]))]
    # One line longer than a block of any size but the last, with folded letters at every cut.
    lines.append(b"".join(draw.choices([part for part in PARTS if b"\n" not in part], k=800)))
    shard = build(tmp_path, lines)
    content = bytes(shard.file.bytes_of("content"))
    bounds = shard.unit_start.tolist()
    expected = [keys_of(content[start:end]) for start, end in pairwise(bounds)]
    for kind, bits in (("key", hash_bits(len(content))), ("gram", gram_bits(len(content)))):
        for keys in expected:
            keys[kind] = {value >> HASH_BITS - bits for value in keys[kind]}
        counts = Counter(key for keys in expected for key in keys[kind])
        limit = max(shard.units // COMMON_FRACTION, MIN_COMMON_UNITS)
        common = {key for key, count in counts.items() if count > limit}
        assert common_keys(shard, kind) == common
        for keys in expected:
            keys[kind] -= common
    assert keys_by_unit(shard) == expected


def test_blocks_of_many_tiny_units_keep_their_numbers(tmp_path: Path) -> None:
    # More units than a block can number, and in each the trigram with the largest code.
    shard = build(tmp_path, [b"%04d \x7f\x7f\x7f" % number for number in range(5000)])
    keys = keys_by_unit(shard)
    for number in (0, 2045, 2046, 2047, 2048, 4093, 4094, 4999):
        assert keys[number]["tri"] == keys_of(b"%04d \x7f\x7f\x7f" % number)["tri"]


def test_keys_of_all_units_are_bitmaps(tmp_path: Path) -> None:
    # Above the ninth unit of a small shard, and next to keys with lists.
    documents = [b"foo bar\n"] * 20 + [b"quux\n"]
    shard = build(tmp_path, documents)
    assert [len(keys) for keys in shard.postings.trigrams] == [2, 5]
    assert keys_by_unit(shard)[0] == keys_by_unit(shard)[19]
    assert [keys["tri"] for keys in keys_by_unit(shard)] == [keys_of(document)["tri"] for document in documents]


def test_a_shard_without_text_has_no_keys(tmp_path: Path) -> None:
    shard = build(tmp_path, [b"", b"a", b"\n"])
    assert [len(keys) for keys in shard.postings.trigrams] == [0, 0]
    assert keys_by_unit(shard) == [keys_of(b"")] * 2


def test_the_bytes_of_an_index_stay_those_of_its_format(tmp_path: Path) -> None:
    # The name is made from the checksums of all sections. If it changes, `sections.FORMAT` must be raised, or the
    # sections need other names, so that versions of each kind tell their indexes apart.
    draw = random.Random(23)  # noqa: S311 - of a test
    shard = build(tmp_path, [random_text(draw, PARTS) for _ in range(300)])
    assert shard.name == "shard-1f8cfab49373559473238b05760842b5"


def test_grams_are_a_capital_and_what_follows_as_they_are_written() -> None:
    assert literal_grams(b"from") == literal_grams(b"ab CD.E fghi") == literal_grams(b"") == ()
    assert len(literal_grams(b"FROM")) == len(literal_grams(b"Center")) == len(literal_grams(b"isEmpty")) == 1
    # Far apart in a long word.
    assert len(literal_grams(b"MAX_ENTRIES_OF_A_TABLE")) == 3
    assert set(literal_grams(b"FROM")).isdisjoint(literal_grams(b"From"))
    assert literal_grams(b"isEmpty") == literal_grams(b"Empt")
