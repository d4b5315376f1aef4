"""``select:`` and the predicates on files, over real repositories."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from engines.execution.running_queries import alert, final, rows, run
from sourcelight.backends.embedded import open_engine
from sourcelight.core.batches import MatchBatch
from sourcelight.core.batches.codecs.encode import encode_matches
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos import Viewer
from sourcelight.testing.repositories import RepositoryBuilder

OWNERS = "* @staff\n/src/ @ada Ops@example.org\n/src/gen/\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repositories")
    for name in ("one", "two", "three"):
        files = {
            "retry.txt": "nothing\n",
            "src/a.py": f"# {name}\nimport retry\nretry(retry)\n",
            "src/deep/b.py": "retry = 1\n",
            "src/gen/c.py": "retry = 2\nmarker\n",
            "docs/d.md": "naïve → retry\n",
        }
        if name != "three":
            files[".github/CODEOWNERS"] = OWNERS
        else:
            files["more/e.py"] = "Marker\n"
        RepositoryBuilder(root / name, origin=f"https://example.org/team/{name}.git").commit(files)
    return root


def locations(events: list[Any]) -> list[tuple[str, str, str | None]]:
    return sorted((r["repository"].rsplit("/", 1)[-1], r["type"], r["path"]) for r in rows(events))


def sent(events: list[Any]) -> list[dict[str, Any]]:
    """Matches as they go over the wire."""
    chunks = any("chunk" in e.batch.schema.names for e in events if isinstance(e, MatchBatch))
    bodies = [encode_matches(e, {}, chunk_matches=chunks) for e in events if isinstance(e, MatchBatch)]
    return [match for body in bodies for match in json.loads(b"".join(body))]


def test_repositories_come_once_each(engine: LocalEngine) -> None:
    assert locations(run(engine, "retry select:repo")) == [(n, "repo", None) for n in ("one", "three", "two")]
    events = run(engine, "marker select:repo")
    assert locations(events) == [(n, "repo", None) for n in ("one", "three", "two")]
    assert final(events).match_count == 3


def test_a_repository_found_by_name_and_by_content_comes_once(engine: LocalEngine) -> None:
    assert locations(run(engine, "one select:repo")) == [("one", "repo", None)]
    assert locations(run(engine, "(one or marker) select:repo", pattern_type="keyword")) == [
        (n, "repo", None) for n in ("one", "three", "two")
    ]


@pytest.mark.parametrize("query", ["repo:one retry select:file", "repo:one retry select:file.path"])
def test_files_come_once_without_lines(engine: LocalEngine, query: str) -> None:
    events = run(engine, query)
    paths = ["docs/d.md", "retry.txt", "src/a.py", "src/deep/b.py", "src/gen/c.py"]
    assert locations(events) == [("one", "path", path) for path in paths]
    assert final(events).match_count == 5
    assert all(r["line"] is None and r["match_count"] == 1 for r in rows(events))
    row = next(r for r in rows(events) if r["path"] == "retry.txt")
    assert (row["name_start"], row["name_end"]) == ([0], [5])


def test_files_are_those_that_git_grep_lists(engine: LocalEngine, folder: Path) -> None:
    grep = subprocess.run(
        ["git", "grep", "-l", "-i", "retry", "HEAD"], cwd=folder / "two", capture_output=True, text=True, check=True
    )
    expected = sorted(line.split(":", 1)[1] for line in grep.stdout.splitlines())
    assert [path for _, _, path in locations(run(engine, "repo:two retry type:file select:file"))] == expected


def test_directories_end_with_a_slash_and_come_once(engine: LocalEngine) -> None:
    events = run(engine, "repo:one retry select:file.directory")
    assert [path for _, _, path in locations(events)] == ["./", "docs/", "src/", "src/deep/", "src/gen/"]
    assert final(events).match_count == 5


def test_content_drops_hits_in_paths(engine: LocalEngine) -> None:
    events = run(engine, "repo:one retry select:content")
    assert {kind for _, kind, _ in locations(events)} == {"content"}
    assert all(r["name_start"] == [] for r in rows(events))
    assert final(events).match_count == final(run(engine, "repo:one retry type:file")).match_count


@pytest.mark.parametrize("path", ["commit", "commit.diff", "commit.diff.added", "commit.diff.removed"])
def test_commits_cannot_be_selected_from_files(engine: LocalEngine, path: str) -> None:
    output = alert(events := run(engine, f"retry select:{path}"))
    assert rows(events) == []
    assert final(events).match_count == 0
    assert output is not None
    assert f"select:{path} keeps only commits, but the query searches for none".lower() in output.description.lower()


def test_a_limit_counts_what_was_selected(engine: LocalEngine) -> None:
    events = run(engine, "retry select:file count:2")
    assert len(rows(events)) == final(events).match_count == 2
    assert "shard-match-limit" in {item.reason for item in final(events).skipped}
    everything = run(engine, "retry select:file count:all")
    assert final(everything).match_count == 15
    assert not final(everything).skipped


def test_alternatives_select_each_for_themselves(engine: LocalEngine) -> None:
    events = run(engine, "repo:one ((retry file:docs select:file) or (marker select:file.directory))")
    assert locations(events) == [("one", "path", "docs/d.md"), ("one", "path", "src/gen/")]


def test_a_file_of_two_alternatives_is_selected_once(engine: LocalEngine) -> None:
    events = run(engine, "repo:one select:file (file:c.py or file:gen)")
    assert locations(events) == [("one", "path", "src/gen/c.py")]


def test_selected_rows_can_be_sent(engine: LocalEngine) -> None:
    for query in ("retry select:repo", "retry select:file", "retry select:file.directory", "retry select:content"):
        for event in run(engine, query, chunk_matches=True):
            if isinstance(event, MatchBatch):
                assert b"".join(encode_matches(event, {}, chunk_matches=True)).startswith(b"[")


def test_a_file_must_have_the_content_but_its_spans_are_not_shown(engine: LocalEngine) -> None:
    events = run(engine, "repo:one retry file:has.content(^marker$)")
    assert locations(events) == [("one", "content", "src/gen/c.py")]
    assert [r["line_number"] for r in rows(events)] == [1]


def test_content_alone_gives_bare_paths_and_no_repositories(engine: LocalEngine) -> None:
    assert locations(run(engine, "repo:one file:contains.content(mark..)")) == [("one", "path", "src/gen/c.py")]
    assert locations(run(engine, "file:has.content(Marker) case:yes")) == [("three", "path", "more/e.py")]
    assert locations(run(engine, "repo:one type:path retry file:has.content(nothing)")) == [
        ("one", "path", "retry.txt")
    ]


def test_counting_agrees_with_content_predicates(engine: LocalEngine) -> None:
    request = SearchRequest("retry file:has.content(marker)")
    table = engine.count(request, ["repository"], Viewer.owner(), Cancellation())
    assert table is not None
    streamed = final(run(engine, request.query)).match_count
    assert sum(table.column("matches").to_pylist()) == streamed
    assert engine.count(SearchRequest("retry select:file"), ["path"], Viewer.owner(), Cancellation()) is None


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("file:has.owner(@ada)", ["src/a.py", "src/deep/b.py"]),
        ("file:has.owner(ADA)", ["src/a.py", "src/deep/b.py"]),
        ("file:has.owner(ops@example.org) file:has.owner(ada)", ["src/a.py", "src/deep/b.py"]),
        ("file:has.owner(ada) file:has.owner(staff)", []),
        ("-file:has.owner(ada)", ["docs/d.md", "retry.txt", "src/gen/c.py"]),
        ("file:has.owner()", ["docs/d.md", "retry.txt", "src/a.py", "src/deep/b.py"]),
        ("-file:has.owner()", ["src/gen/c.py"]),
    ],
)
def test_owners_are_read_from_the_searched_commit(engine: LocalEngine, predicate: str, expected: list[str]) -> None:
    events = run(engine, f"repo:one retry {predicate}")
    assert sorted({path or "" for _, _, path in locations(events)}) == expected
    assert alert(events) is None


def test_owners_are_the_lines_that_name_them(engine: LocalEngine) -> None:
    events = run(engine, "retry select:file.owners")
    displayed = [
        (r["repository"][-3:], r["path"], r["line_number"], r["line"], r["start"], r["end"]) for r in rows(events)
    ]
    assert [row for row in displayed if row[0] == "one"] == [
        ("one", ".github/CODEOWNERS", 1, "* @staff", [2], [8]),
        ("one", ".github/CODEOWNERS", 2, "/src/ @ada Ops@example.org", [6, 11], [10, 26]),
    ]
    assert {row[0] for row in displayed} == {"one", "two"}
    assert final(events).match_count == 6
    reply = alert(events)
    assert reply is not None
    assert reply.title == "Some results have no owners"
    assert "team/three" in reply.description
    assert "an owner to 2 of the matching files" in reply.description  # src/gen/c.py, twice


def test_an_owner_comes_once_and_only_for_what_was_found(engine: LocalEngine) -> None:
    def names(query: str) -> list[str]:
        return [r["line"][a:b] for r in rows(run(engine, query)) for a, b in zip(r["start"], r["end"], strict=True)]

    assert names("repo:one naïve select:file.owners") == ["@staff"]
    assert names("repo:one file:has.owner(ada) retry select:file.owners") == ["@ada", "Ops@example.org"]
    assert names("repo:one type:symbol retry select:file.owners") == ["@ada", "Ops@example.org"]
    assert names("repo:one type:commit select:file.owners") == []
    assert names("(repo:one naïve or repo:one file:deep) select:file.owners") == ["@staff", "@ada", "Ops@example.org"]
    assert names("repo:three retry select:file.owners") == []


def test_owners_travel_as_any_line_does(engine: LocalEngine) -> None:
    events = run(engine, "repo:one retry select:file.owners", chunk_matches=True, context_lines=1)
    (match,) = sent(events)
    (chunk,) = match["chunkMatches"]
    assert chunk["content"].rstrip("\n") == OWNERS.rstrip("\n")
    assert [location["start"] for location in chunk["ranges"]] == [
        {"offset": 2, "line": 0, "column": 2},
        {"offset": 15, "line": 1, "column": 6},
        {"offset": 20, "line": 1, "column": 11},
    ]
    (match,) = sent(run(engine, "repo:one retry select:file.owners"))
    assert [line["offsetAndLengths"] for line in match["lineMatches"]] == [[[2, 6]], [[6, 4], [11, 15]]]


def test_missing_owners_are_said(engine: LocalEngine) -> None:
    notice = alert(run(engine, "retry file:has.owner(ada)"))
    assert notice is not None
    assert notice.title == "Some results have no owners"
    assert "example.org/team/three" in notice.description
    none = alert(run(engine, "repo:three retry file:has.owner(ada)"))
    assert none is not None
    assert none.title == "No ownership data"


def test_an_unknown_type_selects_nothing(engine: LocalEngine) -> None:
    assert rows(run(engine, "type:nonsense repo:one")) == []
    assert rows(run(engine, "type:nonsense retry")) == []


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("repo:one", {"repo"}),
        ("repo:one type:file", {"path"}),
        ("repo:one file:a", {"path"}),
        ("one type:repo", {"repo"}),
        ("one type:repo file:a", set()),
        ("retry type:path", {"path"}),
        ("retry type:file", {"content"}),
        ("retry type:file type:path", {"content", "path"}),
        ("content:retry", {"content"}),
        ("content:one", {"content"}),
        ("one", {"content", "repo"}),
        ("one type:file type:repo", {"content", "repo"}),
        ("repo:one not retry", {"path"}),
    ],
)
def test_kinds_of_results(engine: LocalEngine, query: str, kinds: set[str]) -> None:
    found_kinds = {kind for _, kind, _ in locations(run(engine, query, pattern_type="keyword"))}
    assert found_kinds - ({"repo"} if "not" in query else set()) == kinds


def test_a_directory_comes_once_where_repositories_come_in_turns(
    fleet: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # Without count:all the likeliest files of all repositories come first, so that batches of repositories alternate.
    engine = open_engine([fleet], index=tmp_path_factory.mktemp("index"))
    for query in ("a", "test", "type:file test", "(a or test)", "a type:symbol type:file"):
        listing = {(r["repository"], r["path"]) for r in rows(run(engine, f"{query} select:file count:all"))}
        expected = sorted((name, "path", path.rpartition("/")[0] + "/") for name, path in listing)
        expected = sorted({(n.rsplit("/", 1)[-1], kind, "./" if path == "/" else path) for n, kind, path in expected})
        for count in ("", " count:5000", " count:all"):
            events = run(engine, f"{query} select:file.directory{count}")
            assert locations(events) == expected, query + count
            assert final(events).match_count == len(expected), query + count
            files = run(engine, f"{query} select:file{count}")
            assert sorted((r["repository"], r["path"]) for r in rows(files)) == sorted(listing), query + count
