"""Better files come first, always in the same order."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from display.batches_for_tests import record_batch
from engines.execution.running_queries import final, rows, run
from sourcelight.backends.embedded import open_engine
from sourcelight.core.batches.rows import first_matches, match_count
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.execution.advice.skipped_items import named_only
from sourcelight.engines.execution.results.ranking import FileRanker
from sourcelight.engines.search.definition_lookup import RankedDefinitions
from sourcelight.engines.search.model import SearchPart
from sourcelight.testing.repositories import RepositoryBuilder

FILES = {
    "aaa/part.txt": "xretryx\n",
    "bbb/tests/test_word.py": "call retry now\n",
    "bbb/vendor/word.go": "call retry now\n",
    "ccc/word.go": "call retry now\n",
    "ddd/phrase.go": "now call again: retry now or later\n",
    "ddd/phrase.min.js": "retry  now\n",
    "zzz/retry.md": "nothing\n",
    "zzz/retrying.md": "nothing\n",
    "zzz/noretryhere.md": "nothing\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repositories")
    RepositoryBuilder(root / "one").commit(FILES)
    RepositoryBuilder(root / "two").commit(
        {"word.py": "retry\n", "naïve.txt": "é retry é\n", "bad.txt": b"\xff retry\n"}
    )
    return root


def order(events: list[Any]) -> list[str]:
    return list(dict.fromkeys(r["path"] for r in rows(events)))


def test_names_come_before_words_and_words_before_parts(engine: LocalEngine) -> None:
    result = order(run(engine, "repo:one retry"))
    assert result[:2] == ["zzz/retrying.md", "zzz/retry.md"] or result[:2] == ["zzz/retry.md", "zzz/retrying.md"]
    assert result.index("zzz/noretryhere.md") < result.index("ccc/word.go") < result.index("aaa/part.txt")


def test_a_whole_base_name_comes_first(engine: LocalEngine) -> None:
    assert order(run(engine, "repo:one retry.md"))[0] == "zzz/retry.md"


def test_tests_vendored_and_generated_files_come_later(engine: LocalEngine) -> None:
    result = order(run(engine, "repo:one /\\bretry\\b/ type:file"))
    assert result[0] in {"ccc/word.go", "ddd/phrase.go"}
    remaining = [
        path for path in result if path in {"bbb/tests/test_word.py", "bbb/vendor/word.go", "ddd/phrase.min.js"}
    ]
    assert remaining == ["bbb/tests/test_word.py", "bbb/vendor/word.go", "ddd/phrase.min.js"]


def test_the_phrase_lifts_a_file_and_adds_none(engine: LocalEngine) -> None:
    result = order(run(engine, "repo:one retry now type:file", pattern_type="keyword"))
    assert result[-1] == "ddd/phrase.min.js"
    assert set(result) == set(order(run(engine, "repo:one retry now type:file count:all", pattern_type="keyword")))


def test_everything_comes_in_order_of_repository_and_path(engine: LocalEngine) -> None:
    results = [(r["repository"], r["path"]) for r in rows(run(engine, "retry count:all type:file"))]
    assert results == sorted(results)
    assert len(results) == 9


def test_ranking_changes_the_order_only(engine: LocalEngine) -> None:
    ranked, unranked = rows(run(engine, "retry")), rows(run(engine, "retry count:all"))

    def key(row: dict[str, Any]) -> str:
        return repr(row)

    assert sorted(ranked, key=key) == sorted(unranked, key=key)
    assert rows(run(engine, "retry")) == ranked


def test_a_small_limit_keeps_the_best(engine: LocalEngine) -> None:
    assert order(run(engine, "repo:one retry count:2")) == order(run(engine, "repo:one retry"))[:2]


def test_a_new_kind_of_file_is_lifted_to_the_third_place(tmp_path: Path) -> None:
    files = {f"{n}.go": "retry\n" for n in "abcd"} | {"e.py": "retry\n"}
    RepositoryBuilder(tmp_path / "src" / "one").commit(files)
    engine = open_engine([tmp_path / "src"], index=tmp_path / "index")
    assert order(run(engine, "retry type:file")) == ["a.go", "b.go", "e.py", "c.go", "d.go"]


def test_definitions_come_before_uses_once_they_are_known(tmp_path: Path) -> None:
    files = {f"{n}.go": "package a\n\nfunc f() { handle() }\n" for n in "abcd"}
    files["z.go"] = "package a\n\n// naïve\nfunc handle() {}\n"
    RepositoryBuilder(tmp_path / "src" / "one").commit(files)
    engine = open_engine([tmp_path / "src"], index=tmp_path / "index")
    assert order(run(engine, "handle type:file"))[0] == "a.go"
    run(engine, "type:symbol handle count:all")
    assert order(run(engine, "handle type:file"))[0] == "z.go"
    assert order(run(engine, "handle type:file type:symbol"))[0] == "z.go"


def test_empty_lines_alone_are_found_and_ranked(tmp_path: Path) -> None:
    """There is no byte of text in the answer then."""
    RepositoryBuilder(tmp_path / "src" / "one").commit({"a.txt": "\n\n", "b.txt": "x"})
    engine = open_engine([tmp_path / "src"], index=tmp_path / "index")
    result = rows(run(engine, "/\\n/ type:file"))
    assert [(row["path"], row["line_number"], row["line"]) for row in result] == [("a.txt", 1, ""), ("a.txt", 2, "")]


@pytest.mark.parametrize("limit", [5, 2_000, 3_000, 3_500, 10_000])
def test_what_a_limit_keeps_depends_on_no_clock(limit: int) -> None:
    """Rows of an answer of 10,000 matches were 8,842 in one run and 8,888 in the next."""
    rng = random.Random(limit)  # noqa: S311 - examples, no secrets
    files = [
        ("r1" if number < 300 else "r2", f"{number:03}{rng.choice(('', '_test'))}.go", rng.choice((1, 3, 40, 200)))
        for number in range(600)
    ]
    files[40] = ("r1", files[40][1], 6_000)  # more than the window, or the limit, holds

    def batch(entries: list[tuple[str, str, int]]) -> Any:
        columns: dict[str, list[Any]] = {"type": [], "repository": [], "revision": [], "commit": [], "path": []}
        columns |= {"line_number": [], "line": [], "start": [], "end": [], "match_count": []}
        for repository, path, count in entries:
            rows = range(1, count + 1)
            for name, value in {"type": "content", "repository": repository, "path": path, "line": " a b"}.items():
                columns[name] += [value for _ in rows]
            columns["revision"] += ["" for _ in rows]
            columns["commit"] += ["c" for _ in rows]
            columns["line_number"] += list(rows)
            columns["start"] += [[1] for _ in rows]
            columns["end"] += [[2] for _ in rows]
            columns["match_count"] += [1 for _ in rows]
        return record_batch(columns)

    retained = []
    for seed in range(6):
        generator = random.Random(seed)  # noqa: S311 - a fast machine and a slow one
        batches, position = [], 0
        while position < len(files):
            size = generator.choice((1, 3, 20, 100))
            same = [file for file in files[position : position + size] if file[0] == files[position][0]]
            batches.append(batch(same))
            position += len(same)
        ranking = FileRanker(phrases=(), case_sensitive=False, stars={}, limit=limit)
        locations, count = [], 0
        for block in ranking.rank(batches, window_s=generator.choice((0.0, 0.01, 60.0))):
            part = first_matches(block, limit - count)
            count += match_count(part)
            locations += [(row["repository"], row["path"], row["line_number"]) for row in part.to_pylist()]
        assert count == limit
        retained.append(sorted(locations))
    assert all(rows == retained[0] for rows in retained)


_WORDS = {f"a{index:02}/words.py": "retry = retry + 1  # retry\n" for index in range(40)}
_DEFINED = {f"z{index}/late.{end}": text for index in range(3) for end, text in (
    ("py", "def retry():\n    pass\n"), ("go", "package z\n\nfunc retry() {}\n"), ("h", "class retry { int a; };\n")
)}  # fmt: skip


@pytest.mark.parametrize(
    "query", ["retry type:file count:3", "retry count:7", "/retr./ count:2", "retry or pass count:4"]
)
def test_what_a_limit_keeps_does_not_depend_on_tables_of_definitions(tmp_path: Path, query: str) -> None:
    """An index without any table, for which there is no room, keeps the rows that one with all tables keeps."""
    builder = RepositoryBuilder(tmp_path / "repositories" / "one")
    builder.commit(_WORDS | _DEFINED | {"copy.c": _DEFINED["z0/late.h"]})
    engine, later = (open_engine([tmp_path / "repositories"], index=tmp_path / name) for name in ("index", "later"))
    (target,) = [engine.target_of(repository) for repository in engine.catalog.repositories]
    engine.store.update([target])
    engine.store.max_bytes = engine.store.disk_bytes()
    result = run(engine, query)
    assert not engine.store.symbols_current(target)
    for _ in later.definitions.wait([target], Cancellation(), None):
        pass
    assert later.store.symbols_current(target)
    assert rows(result) == rows(run(later, query))
    assert all("/late." in path or path == "copy.c" for path in order(result)[:2])
    assert not [item for item in final(result).skipped if "definitions" in item.title]


def test_a_limit_says_where_there_was_no_time_to_find_definitions(tmp_path: Path) -> None:
    """The answer names the files on whose definitions its choice may depend."""
    RepositoryBuilder(tmp_path / "repositories" / "one").commit({f"{i}.py": "retry()\n" for i in range(9)})
    engine = open_engine([tmp_path / "repositories"], index=tmp_path / "index")
    (target,) = [engine.target_of(repository) for repository in engine.catalog.repositories]
    engine.store.update([target])
    location, parts = (target.repository.info.name, ""), list[SearchPart]()
    definitions = RankedDefinitions(
        engine.store, {location: target}, lambda _: None, Cancellation(timeout_s=0.0), parts.append
    )
    assert definitions.positions(*location, ["0.py", "1.py"]) is None
    assert not parts, "what no limit cuts says nothing"
    definitions.complete([location])
    assert definitions.positions(*location, ["0.py", "1.py"]) is None
    (item,) = named_only(parts[0].skipped)
    assert item.title == "2 files ranked without definitions"


def test_a_limit_of_definitions_waits_for_all_of_them(tmp_path: Path) -> None:
    """Those of the first tables that are ready are not those that a limit keeps when all are."""
    files = {f"f{i:03}.py": "".join(f"def retry_{i}_{n}():\n    pass\n" for n in range(40)) for i in range(300)}
    RepositoryBuilder(tmp_path / "repositories" / "one").commit(files)
    engine = open_engine([tmp_path / "repositories"], index=tmp_path / "index")
    first = run(engine, "type:symbol retry count:5")
    assert not [item for item in final(first).skipped if item.reason == "symbols-pending"]
    assert rows(first) == rows(run(engine, "type:symbol retry count:5"))
