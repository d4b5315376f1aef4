"""Damage in a shard of many blocks: what a search reads is right, and what is damaged is reported and built again."""

from __future__ import annotations

import random
import shutil
import string
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from engines.search.naive import naive_rows, rows_of
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.patterns import compile_pattern
from sourcelight.engines.search import FileTerm, IndexStore, SearchOptions, SearchPart, Target, TextQuery
from sourcelight.engines.search.scan import corpus
from sourcelight.engines.storage.section_blocks import BLOCK_BYTES
from sourcelight.engines.storage.sections import SectionFile
from sourcelight.repos import Catalog
from sourcelight.testing import RepositoryBuilder

FILES = 12
WORDS = [f"needle{number}" for number in range(FILES)]
_LETTERS = string.ascii_lowercase + string.digits + string.punctuation
LONG_SECTIONS = ("content", "newlines", "tri_lists", "key_lists")


def text_of(number: int) -> str:
    draw = random.Random(number)  # noqa: S311 - of a test
    words = ["".join(draw.choices(_LETTERS, k=draw.randrange(3, 9))) for _ in range(900)]
    lines = [" ".join(draw.choices(words, k=draw.randrange(1, 4))) for _ in range(7000)]
    lines[3500] = f"here is {WORDS[number]}"
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Target, Path, dict[bytes, bytes]]:
    folder = tmp_path_factory.mktemp("blocks")
    files = {f"{number:02d}.txt": text_of(number) for number in range(FILES)}
    builder = RepositoryBuilder(folder / "one")
    builder.commit(files)
    (repository,) = Catalog.open([str(builder.path)]).repositories
    target = Target(repository)
    store = IndexStore(str(folder / "index"), workers=1)
    assert store.update([target]).built == ("one",)
    return target, folder / "index", {name.encode(): text.encode() for name, text in files.items()}


def query_of(word: str) -> TextQuery:
    return TextQuery(FileTerm(compile_pattern(word, kind="literal", case_sensitive=True)))


def search(store: IndexStore, target: Target, word: str) -> tuple[list[Any], list[str]]:
    """Return the rows, and why the repository failed."""
    parts: list[SearchPart] = list(store.search([target], query_of(word), SearchOptions(), Cancellation()))
    return rows_of(parts), [reason for part in parts for reason in part.failed.values()]


def shard_of(index: Path) -> Path:
    (path,) = index.glob("*/shard-*")
    return path


def offset_of(path: Path, section: str) -> int:
    """Return where a section begins in a sound file."""
    return path.read_bytes().index(SectionFile(path, "shard").bytes_of(section).tobytes())


def flip(path: Path, offsets: Iterable[int]) -> None:
    raw = bytearray(path.read_bytes())
    for offset in offsets:
        raw[offset] ^= 0x20
    path.write_bytes(raw)


def test_long_sections_have_blocks(built: tuple[Target, Path, dict[bytes, bytes]]) -> None:
    file = SectionFile(shard_of(built[1]), "shard")
    assert min(len(file.blocks(section).is_checked) for section in LONG_SECTIONS) > 2


def test_damage_in_a_large_corpus_is_found_by_the_search_that_reads_it(
    built: tuple[Target, Path, dict[bytes, bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "MAX_EARLY_CHECK_BYTES", 1 << 20)
    target, index, files = built
    copy = tmp_path / "index"
    shutil.copytree(index, copy)
    path = shard_of(copy)
    content = SectionFile(path, "shard").bytes_of("content").tobytes()
    flip(path, [offset_of(path, "content") + content.index(WORDS[7].encode()) - 1])
    store = IndexStore(str(copy), workers=1)
    for number in (0, FILES - 1):
        assert search(store, target, WORDS[number]) == (
            naive_rows(files, query_of(WORDS[number]), max_file_size=1 << 20),
            [],
        )
    assert path.exists()
    rows, failed = search(store, target, WORDS[7])
    assert (rows, len(failed)) == ([], 1)
    assert "section content is damaged" in failed[0]
    assert store.update([target]).built == ("one",)
    assert search(store, target, WORDS[7]) == (naive_rows(files, query_of(WORDS[7]), max_file_size=1 << 20), [])
    assert store.status(verify=True)[0].damaged == ""


@pytest.mark.parametrize("size", ["small", "large"])
@pytest.mark.parametrize("section", LONG_SECTIONS)
def test_no_damage_of_a_block_changes_an_answer(
    built: tuple[Target, Path, dict[bytes, bytes]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    section: str,
    size: str,
) -> None:
    if size == "large":
        monkeypatch.setattr(corpus, "MAX_EARLY_CHECK_BYTES", 1 << 20)
    target, index, files = built
    length, start = SectionFile(shard_of(index), "shard").length(section), offset_of(shard_of(index), section)
    draw = random.Random(section)  # noqa: S311 - of a test
    words = [*draw.sample(WORDS, 2), "need", "absent_word"]
    outcomes = []
    expected = {word: naive_rows(files, query_of(word), max_file_size=1 << 20) for word in words}
    for damages in (1, 3, 400):
        copy = tmp_path / str(damages)
        shutil.copytree(index, copy)
        path = shard_of(copy)
        flip(path, [start + draw.randrange(length) for _ in range(damages)])
        store = IndexStore(str(copy), workers=1)
        for word in words:
            rows, failed = search(store, target, word)
            outcomes.append(bool(failed))
            if failed:
                assert not path.exists()
                assert store.update([target]).built == ("one",)
                rows, failed = search(store, target, word)
            assert (rows, failed) == (expected[word], [])
    assert any(outcomes)
    assert length > 2 * BLOCK_BYTES
