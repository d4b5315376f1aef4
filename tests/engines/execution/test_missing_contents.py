"""Contents that a partial clone lacks: whatever asks for them says so, and what is certain without them does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.events import Skipped
from sourcelight.core.wire.request import SearchRequest
from sourcelight.repos import Viewer
from sourcelight.testing import RepositoryBuilder

pytestmark = pytest.mark.filterwarnings(
    "ignore::sourcelight.IncompleteResultWarning", "ignore::sourcelight.IncompleteCountWarning"
)
OWNED = "* @ann\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone without contents, one without history, and a whole repository."""
    root = tmp_path_factory.mktemp("missing")
    origin = RepositoryBuilder(root / "origin")
    origin.commit({"CODEOWNERS": OWNED, "a.py": "def thing(): pass\n", "b.txt": "needle\n"}, "first")
    origin.commit({"b.txt": "needle 2\n"}, "second")
    origin.clone(root / "src" / "partial", "--filter=blob:none", "--no-checkout")
    origin.clone(root / "src" / "shallow", "--depth=1")
    builder = RepositoryBuilder(root / "src" / "whole")
    builder.commit({"CODEOWNERS": OWNED, "a.py": "def thing(): pass  # needle\n", "c.bin": b"\0"}, "first")
    return root / "src"


@pytest.mark.parametrize(
    ("query", "files"),
    [
        ("needle", 3),
        ("file:has.content(needle)", 3),
        ("file:txt file:has.content(needle)", 1),
        ("type:path py file:has.content(needle)", 3),
        ("type:symbol thing", 1),
        ("type:symbol thing file:txt|py", 1),
        ("type:symbol file:has.content(needle) thing", 3),
        ("file:has.owner(ann)", 1),
        ("-file:has.owner(ann)", 1),
        ("type:path py select:file.owners", 1),
        ("repo:has.content(nowhere) needle", 3),
        ("repo:has.content(nowhere) type:repo", 3),
        ("-repo:has.content(nowhere) type:repo", 3),
        ("repo:has.file(path:b content:nowhere) needle", 1),
        ("repo:has.content(nowhere) first type:commit", 3),
        ("(repo:has.file(path:b content:nowhere) x) or (repo:whole x)", 1),
        ("repo:partial@HEAD:HEAD~1 needle", 3),
    ],
)
def test_contents_that_are_asked_about_and_missing_are_told(code: sl.Client, query: str, files: int) -> None:
    result = code.search(f"{query} count:all")
    skipped = result.skipped[result.skipped["reason"] == "document-missing"]
    (title,) = skipped["title"]
    assert title.partition(":")[0] == f"{files} file{'s' if files > 1 else ''} missing"
    assert title.count("(blob ") <= files
    assert "partial" in skipped["message"].iloc[0]
    assert result.status == "limited"
    assert code.count_by(query, by="repository").attrs["status"] == "limited"


@pytest.mark.parametrize(
    "query",
    [
        "type:path py",
        "type:repo partial",
        "repo:whole needle",
        "repo:has.path(nowhere) needle",
        "repo:has.path(a.py) type:repo",
        "repo:has.file(path:nowhere content:nowhere) needle",
        "repo:has.content(nowhere) repo:has.path(nowhere) needle",
        "type:symbol thing file:txt",
        "repo:whole file:has.owner(ann)",
    ],
)
def test_an_answer_that_is_certain_without_them_is_complete(code: sl.Client, query: str) -> None:
    result = code.search(f"{query} count:all")
    assert (result.status, result.reasons) == ("complete", ())
    assert code.count_by(query, by="repository").attrs["status"] == "complete"


def test_owners_that_are_not_there_are_not_said_to_be_nobody(code: sl.Client) -> None:
    assert not len(code.search("repo:partial file:has.owner(ann)").alerts)


def test_a_missing_file_of_owners_is_named(code: sl.Client) -> None:
    skipped = code.search("repo:partial file:has.owner(ann)").skipped
    (title,) = skipped.loc[skipped["reason"] == "document-missing", "title"]
    assert "CODEOWNERS" in title
    assert title.startswith("1 file missing")


def test_contributors_of_a_cut_history_are_told_to_be_incomplete(code: sl.Client) -> None:
    result = code.search("repo:shallow file:has.contributor(ada) needle")
    assert result.reasons == ("history-incomplete: 1 incomplete",)
    assert code.search("repo:whole file:has.contributor(ada) needle").status == "complete"


def test_what_one_revision_lacks_is_not_lost_over_another(tmp_path: Path) -> None:
    """The second one has a binary file alone, which takes the place of nothing."""
    origin = RepositoryBuilder(tmp_path / "origin")
    origin.commit({"b.txt": "needle\n"})
    origin.tag("old")
    origin.commit({"b.txt": None, "c.bin": b"\0"})
    clone = origin.clone(tmp_path / "src" / "partial", "--filter=blob:none")
    assert clone.git("rev-list", "--objects", "--all", "--missing=print").count("?") == 1
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index") as code:
        result = code.search("repo:partial@old:HEAD needle count:all")
    assert list(result.skipped["reason"]) == ["document-binary", "document-missing"]


@pytest.mark.parametrize("query", ["needle", "needle file:txt", "needle -repo:shallow", "b.txt", "type:symbol thing"])
def test_what_is_there_is_counted_without_a_stream(code: sl.Client, query: str) -> None:
    result, counts = code.search(f"{query} count:all"), code.count_by(query, by="repository")
    assert counts["matches"].sum() == result.match_count > 0
    assert counts.attrs["reasons"] == "; ".join(result.reasons)

    reported: list[tuple[Skipped, ...]] = []
    engine, request = code.backend.engine, SearchRequest(f"{query} count:all")  # type: ignore[attr-defined]
    table = engine.count(request, ["repository"], Viewer.owner(), Cancellation(), reported.append)
    assert sum(table["matches"].to_pylist()) == result.match_count
    assert [item.reason for item in reported[0]].count("document-missing") == 1
    # A caller that doesn't ask what is left out gets no number that looks complete.
    assert engine.count(request, ["repository"], Viewer.owner(), Cancellation()) is None


@pytest.mark.parametrize("lack", ["unreadable", "replaced"])
def test_a_count_says_what_a_search_says(tmp_path: Path, lack: str) -> None:
    repo = RepositoryBuilder(tmp_path / "src" / "one")
    repo.commit({"a.txt": "needle\n"})
    if lack == "unreadable":
        RepositoryBuilder(tmp_path / "src" / "two", object_format="sha256").commit({"a.txt": "needle\n"})
    else:
        other = repo.git("hash-object", "-w", "--stdin", stdin=b"thread\n")
        repo.git("replace", repo.git("rev-parse", "HEAD:a.txt"), other)
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index") as code:
        result, counts = code.search("needle"), code.count_by("needle", by="repository")
    assert result.status == counts.attrs["status"] == "limited"
    assert counts.attrs["reasons"] == "; ".join(result.reasons)
    assert counts["matches"].sum() == result.match_count


@pytest.mark.parametrize(
    ("call", "arguments", "files"),
    [
        ("symbols", ("partial",), 1),
        ("outline", ("partial", "a.py"), 1),
        ("imports", ("partial",), 1),
        ("repo_map", ("partial",), 1),
        ("dependency_graph", (["partial"],), 1),
        ("go_to_definition", ("partial", "a.py", "thing"), 1),
        ("find_references", ("whole", "a.py", "thing"), 1),
        ("callers", ("whole", "a.py", "thing"), 1),
        ("callees", ("whole", "a.py", "thing"), 1),
        ("nls_search", ("where is the thing",), 3),
        ("nls_search", ("where is the thing file:txt",), 1),
    ],
)
def test_calls_tell_of_contents_that_they_would_read(
    code: sl.Client, call: str, arguments: tuple[object, ...], files: int
) -> None:
    for _ in range(2):  # a second answer may come from what was kept
        frame = answer(code, call, arguments)
        assert frame.attrs["status"] == "limited"
        notices = [
            notice for notice in frame.attrs["notices"] if "in this clone" in notice or "in these clones" in notice
        ]
        assert all("partial" in notice for notice in notices)
        assert any(str(files) in notice for notice in notices)


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("symbols", ("whole",)),
        ("outline", ("whole", "a.py")),
        ("imports", ("whole",)),
        ("repo_map", ("whole",)),
        ("dependency_graph", (["whole"],)),
        ("go_to_definition", ("whole", "a.py", "thing")),
        ("nls_search", ("where is the thing repo:whole",)),
    ],
)
def test_calls_that_need_none_of_them_are_complete(code: sl.Client, call: str, arguments: tuple[object, ...]) -> None:
    assert answer(code, call, arguments).attrs["status"] == "complete"


def answer(code: sl.Client, call: str, arguments: tuple[object, ...]) -> Any:
    result = getattr(code, call)(*arguments)
    return result.edges if call == "dependency_graph" else result
