"""One contract for the tools of both backends: the same frames, and what git says."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import sourcelight as sl
from contract.conftest import TOKEN
from equal_frames import assert_frame_equal
from git_output import git
from server.mcp.calling import call as mcp_call
from sourcelight.client.portal import call
from sourcelight.display.frames.facts import answer_frame

HUB = "example.org/tidewatch/hub"
GAUGE = "example.org/tidewatch/gauge"
PYTIDE = "example.org/tidewatch/pytide"
HANDBOOK = "example.org/tidewatch/handbook"
ALL = [HUB, GAUGE, PYTIDE, HANDBOOK, "example.org/tidewatch/board"]

CALLS: list[tuple[str, Mapping[str, Any]]] = [
    ("list_repos", {"query": ""}),
    ("list_repos", {"query": "TIDE"}),
    ("list_repos", {"query": "", "limit": 3}),
    ("list_repos", {"query": "no such name"}),
    ("list_files", {"repo": HUB}),
    ("list_files", {"repo": HUB, "path": "frame"}),
    ("list_files", {"repo": GAUGE, "path": "/src/", "revision": "HEAD~3"}),
    ("list_files", {"repo": GAUGE, "path": "third_party"}),
    ("read_file", {"repo": HUB, "path": "README.md"}),
    ("read_file", {"repo": HUB, "path": "README.md", "startLine": 2, "endLine": 4}),
    ("read_file", {"repo": HUB, "path": "README.md", "startLine": 3}),
    ("read_file", {"repo": PYTIDE, "path": "README.md", "revision": "HEAD~5"}),
    ("keyword_search", {"query": "retry"}),
    ("keyword_search", {"query": "file:\\.go$ station OR alarm"}),
    ("keyword_search", {"query": "検潮"}),
    ("keyword_search", {"query": f"repo:^{HUB}$ rev:HEAD~4 alarm"}),
    ("keyword_search", {"query": "no such text anywhere"}),
    ("go_to_definition", {"repo": PYTIDE, "path": "src/pytide/client.py", "symbol": "Hub"}),
    ("commit_search", {"repos": [HUB]}),
    ("commit_search", {"repos": ALL, "messageTerms": ["release", "drop"]}),
    ("commit_search", {"repos": ALL, "authors": ["aiko"], "after": "2022-01-01", "before": "2023-06-01"}),
    ("commit_search", {"repos": [], "messageTerms": ["revert"]}),
    ("commit_search", {"repos": [HUB], "contentTerms": ["retry"], "files": ["*.go"]}),
    ("commit_search", {"repos": [HUB], "messageTerms": ["^api: "], "useRegex": True}),
    ("commit_search", {"repos": ALL, "messageTerms": ["no such word anywhere"]}),
    ("diff_search", {"repos": [HUB, PYTIDE], "pattern": "retry"}),
    ("diff_search", {"repos": [HUB], "pattern": "threshold", "removed": True}),
    ("diff_search", {"repos": ALL, "pattern": "e", "author": "aiko"}),
    ("diff_search", {"repos": [HUB], "pattern": "func \\w+\\(", "useRegex": True, "files": ["\\.go$"]}),
    ("compare_revisions", {"repo": HUB, "base": "HEAD~10", "head": "HEAD"}),
    ("compare_revisions", {"repo": GAUGE, "base": "HEAD~30", "head": "HEAD"}),
    ("compare_revisions", {"repo": HUB, "base": "HEAD~10", "head": "HEAD", "stat": True}),
    ("compare_revisions", {"repo": HUB, "base": "HEAD", "head": "HEAD"}),
    ("compare_revisions", {"repo": HUB, "base": "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "head": "HEAD~20"}),
    ("find_references", {"repo": PYTIDE, "path": "src/pytide/client.py", "symbol": "Hub"}),
    ("get_contributor_repos", {"author": "Aiko"}),
    ("get_contributor_repos", {"author": "@", "minCommits": 20}),
    ("get_contributor_repos", {"author": "nobody at all"}),
]
FAULTS: list[tuple[str, Mapping[str, Any], type[Exception]]] = [
    ("read_file", {"repo": "example.org/absent", "path": "x"}, sl.RepositoryNotFound),
    ("read_file", {"repo": HUB, "path": "absent"}, sl.PathNotFound),
    ("read_file", {"repo": HUB, "path": "README.md", "revision": "absent"}, sl.RevisionNotFound),
    ("read_file", {"repo": HUB, "path": "frame"}, sl.ToolError),
    ("list_files", {"repo": HUB, "path": "README.md"}, sl.ToolError),
    ("list_files", {"repo": HUB, "path": "absent"}, sl.PathNotFound),
    ("keyword_search", {"query": "type:commit x"}, sl.ToolError),
    ("keyword_search", {"query": "/(/"}, sl.QueryError),
    ("commit_search", {"repos": ["example.org/absent"]}, sl.RepositoryNotFound),
    ("commit_search", {"repos": [HUB], "after": "the day before never"}, sl.ToolError),
    ("diff_search", {"repos": [HUB], "pattern": "(", "useRegex": True}, sl.ToolError),
    ("compare_revisions", {"repo": HUB, "base": "absent", "head": "HEAD"}, sl.RevisionNotFound),
    ("no_such_call", {}, sl.UnsupportedTool),
]


def ids(cases: Any) -> list[str]:
    return [f"{case[0]} {' '.join(map(str, case[1].values()))}"[:60] for case in cases]


def frame(client: sl.Client, name: str, arguments: Mapping[str, Any]) -> Any:
    return answer_frame(call(client.backend.call, name, arguments))


@pytest.mark.parametrize(("name", "arguments"), CALLS, ids=ids(CALLS))
def test_both_backends_give_the_same_frame(
    embedded: sl.Client, other: sl.Client, name: str, arguments: Mapping[str, Any]
) -> None:
    ours, theirs = frame(embedded, name, arguments), frame(other, name, arguments)
    assert_frame_equal(ours, theirs, check_categorical=False)
    assert [str(dtype) for dtype in ours.dtypes] == [str(dtype) for dtype in theirs.dtypes]
    assert ours.attrs["status"] == theirs.attrs["status"]
    if "limit" not in arguments:
        assert ours.attrs["status"] == "complete"


@pytest.mark.filterwarnings("ignore::sourcelight.IncompleteResultWarning")
def test_streamed_references_are_those_of_the_answer(code: sl.Client) -> None:
    request = (PYTIDE, "src/pytide/client.py", "Hub")
    references = code.find_references(*request)
    frames = list(code.stream_references(*request))
    rows = pd.concat([frame for frame in frames if len(frame)], ignore_index=True)
    keys = ["repository", "path", "line_number", "start"]
    assert sorted(map(tuple, rows[keys].to_numpy())) == sorted(map(tuple, references[keys].to_numpy()))
    assert frames[-1].attrs["symbol"] == "Hub"


@pytest.mark.parametrize(("name", "arguments", "error"), FAULTS, ids=ids(FAULTS))
def test_both_backends_refuse_with_the_same_error(
    embedded: sl.Client, other: sl.Client, name: str, arguments: Mapping[str, Any], error: type[Exception]
) -> None:
    for client in (embedded, other):
        with pytest.raises(error) as caught:
            frame(client, name, arguments)
        assert type(caught.value) is error


def test_a_folder_lists_what_git_lists(code: sl.Client, fleet: Path) -> None:
    listing = git(fleet / "hub", "ls-tree", "--name-only", "HEAD", "frame/").split("\n")[:-1]
    assert sorted(code.list_files(HUB, "frame")["path"].str.rstrip("/")) == sorted(listing)


def test_a_file_reads_as_git_shows_it(code: sl.Client, fleet: Path) -> None:
    text = git(fleet / "hub", "show", "HEAD~2:README.md")
    file_text = code.read_file(HUB, "README.md", revision="HEAD~2")
    assert "".join(f"{line}\n" for line in file_text["line"]) == text
    assert list(file_text["line_number"]) == list(range(1, len(file_text) + 1))


def test_all_commits_are_those_of_git(code: sl.Client, fleet: Path) -> None:
    result = frame(code, "commit_search", {"repos": [PYTIDE]})
    assert sorted(result["commit"]) == sorted(git(fleet / "pytide", "log", "--format=%H").split())


def test_a_description_finds_the_same_files_first_whether_or_not_a_service_cuts_the_rest(
    embedded: sl.Client, other: sl.Client
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sl.IncompleteResultWarning)
        ours, theirs = (client.nls_search("how are frames retried") for client in (embedded, other))
    assert len(theirs) > 0
    positions = ["repository", "path", "start_line"]
    assert theirs[positions].to_numpy().tolist() == ours[positions].to_numpy().tolist()
    assert theirs["score"].tolist() == pytest.approx(ours["score"].tolist(), abs=1e-5)  # a service rounds
    assert (theirs.attrs["status"] == "complete") == (len(theirs) == len(ours))


@pytest.mark.parametrize(
    "question",
    [
        "retry frames",
        "Why does the hub retry frames of a station that sends no alarm for a long time?",
        f"repo:^({HUB}|{PYTIDE})$ which threshold raises an alarm when the gauge reports a high water level",
    ],
)
def test_a_question_finds_the_same_places_in_the_same_order_wherever_it_is_asked(
    embedded: sl.Client, other: sl.Client, service: str, question: str
) -> None:
    ours, theirs = (client.nls_search(question, limit=10) for client in (embedded, other))
    position_columns = ["repository", "path", "start_line"]
    assert theirs[position_columns].to_numpy().tolist() == ours[position_columns].to_numpy().tolist()
    assert theirs["score"].tolist() == pytest.approx(ours["score"].tolist(), abs=1e-5)  # a service rounds
    answer = mcp_call(f"{service}/.api/mcp", TOKEN, "nls_search", {"query": question, "limit": 10})
    blocks = answer.content["blocks"]
    # A service groups the places by file: the files come in the order of their first places.
    files = ours[position_columns[:2]].drop_duplicates().to_numpy().tolist()
    assert [[block["repo"], block["file"]] for block in blocks] == files
    block_positions = [
        [block["repo"], block["file"], chunk["startLine"]] for block in blocks for chunk in block["chunks"]
    ]
    by_file = [rows for _, rows in ours.groupby(position_columns[:2], sort=False)]
    assert block_positions == [row for rows in by_file for row in rows[position_columns].to_numpy().tolist()]
    headings = [line for line in answer.text.split("\n") if line.startswith("# ")]
    assert headings == [f"# {repository} – {path}" for repository, path in files]  # noqa: RUF001 - as the service writes


@pytest.mark.parametrize("query", ["retry", "file:\\.go$ station OR alarm"])
def test_exact_words_find_the_best_files_first_wherever_they_are_asked(
    embedded: sl.Client, other: sl.Client, service: str, query: str
) -> None:
    ours, theirs = (client.keyword_search(query) for client in (embedded, other))
    locations = ["repository", "path"]
    assert theirs[locations].to_numpy().tolist() == ours[locations].to_numpy().tolist()
    files = ours[locations].drop_duplicates().to_numpy().tolist()
    assert files != sorted(files)
    blocks = mcp_call(f"{service}/.api/mcp", TOKEN, "keyword_search", {"query": query}).content["blocks"]
    assert [[block["repo"], block["file"]] for block in blocks] == files[:15]
