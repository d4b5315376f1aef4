from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.symbols.samples import SAMPLES
from sourcelight.core.boolean import And, Not, Or
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.patterns import CompiledPattern, compile_pattern
from sourcelight.core.query.languages import language_of
from sourcelight.engines.search import (
    FileFilter,
    FileTerm,
    IndexStore,
    LanguageFilter,
    SearchOptions,
    Target,
    TextQuery,
)
from sourcelight.engines.search.model import MatchTree
from sourcelight.engines.symbols import definitions
from sourcelight.repos import Catalog, resolve
from sourcelight.testing import RepositoryBuilder

SUFFIXES = {
    "Python": "py", "Go": "go", "JavaScript": "js", "TypeScript": "ts", "TSX": "tsx", "Java": "java", "C": "c",
    "C++": "cpp", "Rust": "rs", "Ruby": "rb", "C#": "cs", "PHP": "php", "Kotlin": "kt", "Scala": "scala", "Shell": "sh",
}  # fmt: skip
FILES: dict[str, str | bytes] = {f"src/sample.{SUFFIXES[language]}": text for language, (text, _) in SAMPLES.items()}
FILES |= {
    "README.md": "# def nothing(): pass\n",
    "crlf.py": "def fenêtre():\r\n    pass\r\ndef main(): pass\r\n",
    "copy/same.py": SAMPLES["Python"][0],
}
FILES["bad.py"] = b"def \xff\xfe(): pass\n# \xff\ndef caf\xc3\xa9(): pass  # \xf0\x9f\x98\x80\n"
NAMES = ["m", "main", "A", "^C$", "^[A-Z]$", "é", "fetch", "^x", "absent", "z", "G"]
atoms = st.builds(
    lambda text, case: FileTerm(compile_pattern(text, kind="regexp", case_sensitive=case)),
    st.sampled_from(NAMES),
    st.booleans(),
)
trees: st.SearchStrategy[MatchTree] = st.recursive(
    atoms,
    lambda inner: (
        st.builds(And, st.lists(inner, min_size=1, max_size=3).map(tuple))
        | st.builds(Or, st.lists(inner, min_size=1, max_size=3).map(tuple))
        | st.builds(Not, inner)
    ),
    max_leaves=4,
)
filters = st.sampled_from(
    [
        (),
        (FileFilter(compile_pattern("^src/", kind="regexp", case_sensitive=True, whole_text=True)),),
        (FileFilter(compile_pattern("py$", kind="regexp", case_sensitive=True, whole_text=True), negated=True),),
    ]
)
languages = st.sampled_from([(), (LanguageFilter("Python"),), (LanguageFilter("C", negated=True),)])


def _target(path: Path, revision: str = "") -> Target:
    return Target(Catalog.open([str(path)]).repositories[0], revision)


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> tuple[IndexStore, Target]:
    folder = tmp_path_factory.mktemp("symbols")
    RepositoryBuilder(folder / "repo").commit(FILES, "all samples")
    store = IndexStore(str(folder / "index"), workers=1)
    target = _target(folder / "repo")
    assert not store.update([target]).failures
    assert not store.symbols_current(target)
    report = store.update_symbols([target])
    assert (report.failures, report.files) == ({}, len(FILES) - 2), "not the Markdown, and equal files once"
    assert store.symbols_current(target)
    return store, target


def _rows(store: IndexStore, target: Target, query: TextQuery, **options: Any) -> list[dict[str, Any]]:
    rows = []
    for part in store.search_symbols([target], query, SearchOptions(), Cancellation(), **options):
        for batch in part.batches:
            batch.validate(full=True)
            rows += batch.to_pylist()
    return rows


def _everything(text: str = "") -> TextQuery:
    return TextQuery(FileTerm(compile_pattern(text, kind="literal", case_sensitive=True)) if text else None)


def _passes(path: str, query: TextQuery) -> bool:
    results = [bool(item.pattern.find(path.encode())) != item.negated for item in query.files]
    language_filters = [item for item in query.languages if isinstance(item, LanguageFilter)]
    results += [(language_of(path) == item.name) != item.negated for item in language_filters]
    return all(results)


def _matches(term: FileTerm, name: bytes) -> bool:
    return isinstance(term.pattern, CompiledPattern) and bool(term.pattern.find(name))


def _holds(tree: MatchTree, names: list[bytes]) -> bool:
    if isinstance(tree, FileTerm):
        return any(_matches(tree, name) for name in names)
    if isinstance(tree, Not):
        return not _holds(tree.arg, names)
    results = [_holds(arg, names) for arg in tree.args]
    return all(results) if isinstance(tree, And) else any(results)


def _positive(tree: MatchTree, *, positive: bool = True) -> list[FileTerm]:
    if isinstance(tree, FileTerm):
        return [tree] if positive else []
    if isinstance(tree, Not):
        return _positive(tree.arg, positive=not positive)
    return [atom for arg in tree.args for atom in _positive(arg, positive=positive)]


def _naive(query: TextQuery) -> list[tuple[str, str, int, str]]:
    results = []
    for path, text in sorted(FILES.items(), key=lambda item: item[0].encode()):
        data = text.encode() if isinstance(text, str) else text
        table = definitions(language_of(path), data)
        entries = [
            (name, entry) for name, entry in zip(table.names, table.definitions(), strict=True) if not entry.declaration
        ]
        if not _passes(path, query):
            continue
        if query.tree is not None and not _holds(query.tree, [name for name, _ in entries]):
            continue
        displayed = None if query.tree is None else _positive(query.tree)
        results += [
            (path, entry.name, entry.line, entry.kind)
            for name, entry in entries
            if displayed is None or any(_matches(atom, name) for atom in displayed)
        ]
    return results


@settings(max_examples=80, deadline=None)
@given(st.one_of(st.none(), trees), filters, languages)
def test_a_search_finds_what_filtering_all_tables_finds(
    indexed: tuple[IndexStore, Target], tree: MatchTree | None, files: Any, langs: Any
) -> None:
    query = TextQuery(tree, files, langs)
    rows = _rows(*indexed, query)
    expected = _naive(query)
    assert [(row["path"], row["symbol"], row["line_number"], row["symbol_kind"]) for row in rows] == expected
    count = indexed[0].count_symbols([indexed[1]], query, ["path"], Cancellation()).to_pydict()
    assert sum(count["matches"]) == len(expected)
    assert set(count["path"]) == {path for path, *_ in expected}


def test_a_row_says_where_the_name_stands(indexed: tuple[IndexStore, Target]) -> None:
    row = next(row for row in _rows(*indexed, _everything("caf")))
    assert (row["type"], row["path"], row["language"]) == ("symbol", "bad.py", "Python")
    assert (row["symbol"], row["symbol_kind"], row["container"], row["match_count"]) == ("café", "function", "", 1)
    assert row["line"] == "def café(): pass  # \U0001f600"
    assert (row["start"], row["end"], row["byte_start"], row["byte_end"]) == ([4], [8], [4], [9])
    assert row["url"] == "/repo/-/blob/bad.py?L3:5-3:9"
    crlf = next(row for row in _rows(*indexed, _everything("fenêtre")))
    assert crlf["line"] == "def fenêtre():\r"
    assert crlf["line"][crlf["start"][0] : crlf["end"][0]] == "fenêtre"


def test_every_row_shows_its_name_in_its_line(indexed: tuple[IndexStore, Target]) -> None:
    for row in _rows(*indexed, _everything()):
        assert row["line"][row["start"][0] : row["end"][0]] == row["symbol"]


def test_kinds_choose_rows_and_not_files(indexed: tuple[IndexStore, Target]) -> None:
    rows = _rows(*indexed, _everything(), kinds=["enum-member", "interface"])
    assert {row["symbol_kind"] for row in rows} == {"enummember", "interface"}
    assert not _rows(*indexed, _everything(), kinds=["string"])


def test_a_long_line_is_left_out_of_its_rows(tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "repo").commit({"bundle.js": "function one(){};function two(){};" * 200}, "bundle")
    store, target = IndexStore(str(tmp_path / "index"), workers=1), _target(tmp_path / "repo")
    store.update([target])
    store.update_symbols([target])
    rows = _rows(store, target, _everything("two"))
    assert len(rows) == 200
    assert {(row["line"], row["start"], row["byte_end"]) for row in rows} == {(None, None, None)}
    assert rows[0]["url"] == "/repo/-/blob/bundle.js?L1:27-1:30"


def test_the_definitions_of_a_file_can_be_had(indexed: tuple[IndexStore, Target]) -> None:
    store, target = indexed
    result = store.definitions_of(target, "copy/same.py")
    assert result is not None
    assert result.names == definitions("Python", SAMPLES["Python"][0].encode()).names
    assert store.definitions_of(target, "no/such.py") is None


def test_only_new_files_are_parsed_and_what_is_missing_is_counted(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "repo")
    repo.commit({f"f{number}.py": f"def f{number}(): pass\n" for number in range(40)}, "first")
    store, target = IndexStore(str(tmp_path / "index"), workers=1), _target(tmp_path / "repo")
    store.update([target])
    [part] = store.search_symbols([target], _everything(), SearchOptions(), Cancellation())
    assert part.skipped == {"repo": {"symbols-pending": 40}}
    assert store.update_symbols([target]).files == 40
    repo.commit({"f1.py": "def changed(): pass\n", "notes.txt": "def later(): pass\n"}, "second")
    store.update([target])
    assert not store.symbols_current(target)
    assert store.update_symbols([target]).files == 1
    repo.git("mv", "notes.txt", "notes.py")
    repo.commit({f"f{number}.py": None for number in range(2, 30)}, "third: most files gone, one renamed")
    store.update([target])
    assert store.update_symbols([target]).files == 1, "what a rewritten shard takes over is not parsed again"
    names = {row["symbol"] for row in _rows(store, target, _everything())}
    assert names == {"f0", "changed", "later", *(f"f{number}" for number in range(30, 40))}
    assert store.symbols_current(target)
    assert not store.update_symbols([target]).built


@pytest.mark.parametrize("harm", ["flip", "cut", "delete", "list"])
def test_damaged_tables_count_as_missing_and_are_built_anew(tmp_path: Path, harm: str) -> None:
    RepositoryBuilder(tmp_path / "repo").commit({"a.py": "def alpha(): pass\n"}, "first")
    target = _target(tmp_path / "repo")
    first = IndexStore(str(tmp_path / "index"), workers=1)
    first.update([target])
    first.update_symbols([target])
    folder = tmp_path / "index" / target.repository.key
    [table] = folder.glob("symbols-*")
    data = bytearray(table.read_bytes())
    if harm == "flip":
        data[-40] ^= 0xFF
        table.write_bytes(data)
    elif harm == "cut":
        table.write_bytes(data[:-40])
    elif harm == "delete":
        table.unlink()
    else:
        (folder / "symbols.json").write_text('{"shard": 7, "other": "../../outside"}')
    store = IndexStore(str(tmp_path / "index"), workers=1)
    assert not store.symbols_current(target)
    assert not _rows(store, target, _everything())
    assert store.update_symbols([target]).built == ("repo",)
    assert [row["symbol"] for row in _rows(store, target, _everything())] == ["alpha"]


def test_a_builder_killed_at_work_leaves_the_former_tables(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "repo")
    repo.commit({"a.py": "def alpha(): pass\n"}, "first")
    target = _target(tmp_path / "repo")
    store = IndexStore(str(tmp_path / "index"), workers=1)
    store.update([target])
    store.update_symbols([target])
    repo.commit({"b.py": "def beta(): pass\n", "c.py": "def gamma(): pass\n"}, "second")
    target = _target(tmp_path / "repo")
    store.update([target])
    folder = tmp_path / "index" / target.repository.key
    code = f"""
import os
from pathlib import Path
from sourcelight.engines.search import definition_tables, side_tables
from sourcelight.engines.search.index.folder import TextIndexFolder
side_tables.write_sections = lambda *_: (Path({str(folder)!r}, "tmp-1-left").write_bytes(b"half"), os._exit(9))
folder = TextIndexFolder(Path({str(folder)!r}))
for shard in folder.manifest().shards:
    options = side_tables.TableBuildOptions(shard.name, lambda: None, lambda files, size: None)
    definition_tables.build_table(folder, options)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=50).returncode == 9
    assert [row["symbol"] for row in _rows(store, target, _everything())] in (["alpha"], [])
    assert not store.symbols_current(target)
    store.update_symbols([target])
    assert [row["symbol"] for row in _rows(store, target, _everything())] == ["alpha", "beta", "gamma"]
    assert not list(folder.glob("tmp-*"))


def test_a_worker_process_builds_large_shards(tmp_path: Path) -> None:
    body = "".join(f"def function_{number}():\n    return {number}\n" for number in range(2000))
    RepositoryBuilder(tmp_path / "repo").commit(
        {f"f{index}.py": f"x{index} = 1\n{body}" for index in range(10)}, "much"
    )
    store, target = IndexStore(str(tmp_path / "index"), workers=1), _target(tmp_path / "repo")
    store.update([target])
    events: list[int] = []
    report = store.update_symbols([target], progress=lambda progress: events.append(progress.files))
    assert (report.built, report.failures, events[-1]) == (("repo",), {}, 10)
    assert len(_rows(store, target, _everything("function_1999"))) == 10


def test_a_stopped_update_and_a_full_disk_are_said(tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "repo").commit({"a.py": "def alpha(): pass\n"}, "first")
    store, target = IndexStore(str(tmp_path / "index"), workers=1), _target(tmp_path / "repo")
    store.update([target])
    cancellation = Cancellation()
    cancellation.cancel()
    assert store.update_symbols([target], cancellation=cancellation).cancelled
    store.max_bytes = store.disk_bytes() + 10
    assert "max_bytes" in store.update_symbols([target]).failures["repo"]
    assert not store.symbols_current(target)


def test_pruning_keeps_tables_and_a_limit_on_matches_holds(indexed: tuple[IndexStore, Target]) -> None:
    store, target = indexed
    store.prune([target.repository.key])
    assert store.symbols_current(target)
    parts = list(store.search_symbols([target], _everything(), SearchOptions(max_matches=1), Cancellation()))
    assert len(parts) == 1
    cancellation = Cancellation()
    cancellation.cancel()
    assert not list(store.search_symbols([target], _everything(), SearchOptions(), cancellation))


def test_a_target_without_an_index_is_named(tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "repo").commit({"a.py": "def alpha(): pass\n"}, "first")
    store, target = IndexStore(str(tmp_path / "index")), _target(tmp_path / "repo")
    [part] = store.search_symbols([target], _everything(), SearchOptions(), Cancellation())
    assert "not indexed" in part.failed["repo"]
    assert "not indexed" in store.update_symbols([target]).failures["repo"]
    assert not store.symbols_current(target)


def test_ten_commits_parse_only_what_changed(tmp_path: Path) -> None:
    """One changed file in each commit is one blob to parse, once for all commits together."""
    builder = RepositoryBuilder(tmp_path / "repo")
    files = {f"m{number}.py": f"def f{number}():\n    pass\n" for number in range(30)}
    builder.commit(files, "start")
    store = IndexStore(str(tmp_path / "index"), workers=1)
    store.update([_target(tmp_path / "repo")])
    assert store.update_symbols([_target(tmp_path / "repo")]).files == 30
    builder.tag("v0")
    for number in range(1, 10):
        builder.commit({f"m{number}.py": f"def g{number}():\n    pass\n", "notes.txt": str(number)}, "change")
        builder.tag(f"v{number}")
    targets = [_target(tmp_path / "repo", f"v{number}") for number in range(10)]
    targets = [Target(item.repository, item.revision, resolve(item.repository, item.revision)) for item in targets]
    store.update(targets)
    assert store.update_symbols(targets).files == 9, "each commit has one new blob of Python"
    assert store.update_symbols(targets).files == 0
    assert all(store.symbols_current(target) for target in targets)
    row = _rows(store, targets[3], _everything("3"))
    assert [(item["symbol"], item["path"]) for item in row if item["symbol"] == "g3"] == [("g3", "m3.py")]
