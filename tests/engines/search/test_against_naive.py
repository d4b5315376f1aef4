from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engines.search.naive import MemorySource, build_memory, naive_rows, rows_of, search_memory
from sourcelight.core.boolean import And, Not, Or
from sourcelight.core.patterns import compile_pattern
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.engines.search import FileFilter, FileTerm, LanguageFilter, SearchOptions, TextQuery
from sourcelight.engines.search.index import document_buffer, posting_builder, shard
from sourcelight.engines.search.model import BatchLimits, MatchTree

WORDS = [
    *[
        b"foo",
        b"bar",
        b"Foo",
        b"foobar",
        b"barbar",
        b"return",
        b"this function returns",
        b" ",
        b"  ",
        b"\t",
        b"(",
        b".",
    ],
    *[b"\n", b"\n", b"\n\n", b"\r\n", b"k", "\N{KELVIN SIGN}".encode(), "\N{LATIN SMALL LETTER LONG S}".encode()],
    *["é".encode(), "É".encode(), "日本".encode(), "\U0001f600".encode(), b"\xff", b"\xc3", b"\x7f", b"_x1", b"y" * 90],
]
LITERALS = ["foo", "bar", "r", "ba", "foobar", "this function returns", "return", "é", "日", "k", "sk", "s", "bar\nfoo"]
LITERALS += ["barbar", "  ", "yyyyyyyyyyyyyyyyyyyy", "absent", "x1", ".", "oo\n", "\n"]
REGEXPS = [r"fo+", r"foo|bar", r"^foo", r"bar$", r"\bfoo\b", r"[a-z]+bar", r"foo\s+bar", r"o\n", r"(?s)foo.*bar", r"x?"]
REGEXPS += [r"^\s*foo", r"bar\s*$", r"\bfoo\b\s*", r"foo\s*\z", r"\Afoo\s*"]
REGEXPS += [r"re(turn|bar)", r"\w{5,}", r"[^a-z]", r"é", r"^$", r"(foo|this function) ?returns?", r".", r"\W+"]

files = st.dictionaries(
    st.sampled_from(
        [b"a.py", b"foo/bar.go", b"src/k.c", b"z\xff.txt", "é/foo.md".encode(), b"foo", b"new\nline", b"x.h"]
    ),
    st.one_of(
        st.lists(st.sampled_from(WORDS), max_size=60).map(b"".join),
        st.sampled_from([b"", b"\n", b"foo\0bar", b"foo " * 600, b"foo"]),
    ),
    max_size=6,
)
patterns = st.one_of(
    st.tuples(st.sampled_from(LITERALS), st.just("literal"), st.booleans()),
    st.tuples(st.sampled_from(REGEXPS), st.just("regexp"), st.booleans()),
).map(lambda selected: _pattern(*selected))
leaves = st.builds(FileTerm, patterns, content=st.booleans(), path=st.booleans()) | st.builds(FileTerm, patterns)
trees: st.SearchStrategy[MatchTree] = st.recursive(
    leaves,
    lambda inner: (
        st.builds(And, st.lists(inner, min_size=1, max_size=3).map(tuple))
        | st.builds(Or, st.lists(inner, min_size=1, max_size=3).map(tuple))
        | st.builds(Not, inner)
    ),
    max_leaves=4,
)
filters = st.lists(
    st.builds(
        FileFilter,
        st.sampled_from([r"\.py$", "foo", "^src/", r"^[a-z/]+$"]).map(
            lambda text: compile_pattern(text, kind="regexp", case_sensitive=False, whole_text=True)
        ),
        st.booleans(),
    ),
    max_size=2,
).map(tuple)
languages = st.lists(
    st.builds(LanguageFilter, st.sampled_from(["Python", "C", "Go", "c++"]), st.booleans()), max_size=1
).map(tuple)


def _pattern(text: str, kind: str, case_sensitive: bool) -> CompiledPattern:  # noqa: FBT001 - unpacked from a strategy
    if kind == "literal":
        return compile_pattern(text, kind="literal", case_sensitive=case_sensitive)
    return compile_pattern(text, kind="regexp", case_sensitive=case_sensitive)


SMALL_BATCHES = SearchOptions(batch_limits=BatchLimits(first_units=2, exhaustive_units=2, max_units=8))


@pytest.fixture(autouse=True)
def small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make units and shards so small that a few hundred bytes have many of each."""
    for module in (document_buffer, shard):
        monkeypatch.setattr(module, "UNIT_BYTES", 40)
    monkeypatch.setattr(shard, "SHARD_BYTES", 900)
    monkeypatch.setattr(posting_builder, "DENSE_FRACTION", 3)
    monkeypatch.setattr(posting_builder, "BLOCK_BYTES", 200)


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(files, trees, filters, languages)
def test_a_search_finds_what_reading_everything_finds(
    corpus: dict[bytes, bytes],
    tree: MatchTree,
    file_filters: tuple[FileFilter, ...],
    langs: tuple[LanguageFilter, ...],
) -> None:
    query = TextQuery(tree, file_filters, langs)
    source = MemorySource()
    commit = source.commit(corpus)
    with tempfile.TemporaryDirectory() as folder:
        build_memory(Path(folder), source, commit)
        assert rows_of(search_memory(Path(folder), commit, query, SMALL_BATCHES)) == naive_rows(
            source.commits[commit], query
        )


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(st.lists(files, min_size=2, max_size=5), leaves)
def test_after_any_changes_the_index_answers_as_if_built_anew(
    history: list[dict[bytes, bytes]], atom: FileTerm
) -> None:
    source = MemorySource()
    query = TextQuery(atom)
    with tempfile.TemporaryDirectory() as folder:
        for corpus in history:
            commit = source.commit(corpus)
            build_memory(Path(folder), source, commit)
            result = rows_of(search_memory(Path(folder), commit, query, SMALL_BATCHES))
            assert result == naive_rows(source.commits[commit], query)


@pytest.mark.parametrize("regexp", [r"^\s*foo", r"foo\s*$", r"\bfoo\b\s*", r"\Afoo\s*", r"foo\s*\z", r"^[^x]oo$"])
def test_a_file_without_a_last_newline_is_no_part_of_the_next(regexp: str, tmp_path: Path) -> None:
    """The contents of files stand one behind the other, and patterns that cross lines are sought in all at once."""
    corpus = {b"%d.txt" % number: b"foo\nlast%d\nfoo" % number for number in range(4)}
    _check(corpus, regexp, tmp_path)


@pytest.mark.parametrize("regexp", [r"\s+$", r"\n\B", r"\n^", r"[^a]$", r"\d\n$", r"\d\s\z"])
def test_the_end_of_a_file_is_no_place_within_the_text_of_all(regexp: str, tmp_path: Path) -> None:
    _check({b"%d.txt" % number: b"a%d\n" % number for number in range(4)}, regexp, tmp_path)


def _check(corpus: dict[bytes, bytes], regexp: str, folder: Path) -> None:
    source = MemorySource()
    commit = source.commit(corpus)
    query = TextQuery(FileTerm(_pattern(regexp, "regexp", True)))
    build_memory(folder, source, commit)
    result = rows_of(search_memory(folder, commit, query, SMALL_BATCHES))
    assert result == naive_rows(source.commits[commit], query)
    assert {row[0] for row in result} == {path.decode() for path in corpus}
