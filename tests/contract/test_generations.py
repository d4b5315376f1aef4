"""Nothing is lost without a word: services of each generation, through a client of one and through a federation."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import sourcelight as sl
from backends.remote import history_corpus
from backends.remote.scripted_tools import ScriptedTools, schema, text, typed
from contract.generations import (
    COMMIT,
    CUT_NOTICES,
    LINE_COUNT,
    LINES,
    LIST,
    READ,
    REPOS,
    REPOSITORY,
    content,
    progress,
    read_text,
    service,
    sse,
)

QUICK: dict[str, Any] = {"backoff_s": 0.001, "connect_timeout_s": 5.0, "retries": 2}


@contextmanager
def client_of(played: ScriptedTools, through: str = "remote") -> Iterator[sl.Client]:
    """A client of a played service, or a federation of that one alone."""
    with played.running() as url, sl.connect(url, "a-token", check=False, **QUICK) as code:
        if through == "remote":
            yield code
        else:
            with sl.federate({"played": code}) as federated:
                yield federated


both = pytest.mark.parametrize("through", ["remote", "federated"])


# Files, whatever cuts them


@both
@pytest.mark.parametrize("release", ["6.8", "7.0", "7.6"])
def test_a_large_file_is_read_to_its_end(release: str, through: str) -> None:
    with client_of(service(release), through) as code:
        frame = code.read_file(REPOSITORY, "log.txt")
    assert list(frame["line"]) == LINES
    assert list(frame["line_number"]) == list(range(1, LINE_COUNT + 1))
    assert frame.attrs["status"] == "complete"


@pytest.mark.parametrize("notice", CUT_NOTICES)
def test_the_words_of_a_notice_do_not_matter(notice: str) -> None:
    with client_of(service("7.6", notice=notice)) as code:
        frame = code.read_file(REPOSITORY, "log.txt")
        part = code.read_file(REPOSITORY, "log.txt", 100, 1_900)
    assert (len(frame), frame.attrs["status"]) == (LINE_COUNT, "complete")
    assert list(part["line"]) == LINES[99:1_900]
    assert part.attrs["status"] == "complete"


def _always_first(arguments: dict[str, Any]) -> Any:
    return read_text("")({name: value for name, value in arguments.items() if name not in {"startLine", "endLine"}})


def _refuses_to_go_on(arguments: dict[str, Any]) -> Any:
    return text("quota exceeded", error=True) if arguments.get("startLine", 1) > 1 else read_text("")(arguments)


def _nothing_more(arguments: dict[str, Any]) -> Any:
    return text("") if arguments.get("startLine", 1) > 1 else read_text("")(arguments)


@both
@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (_always_first, "returns line 1 when line 200 is requested"),
        (_refuses_to_go_on, "can't read on: read_file: quota exceeded"),
        (_nothing_more, "but no line when"),
    ],
)
def test_an_end_that_is_not_proven_limits_the_answer(reply: Any, reason: str, through: str) -> None:
    with (
        client_of(service("7.0", tools={"read_file": (READ, reply)}), through) as code,
        pytest.warns(sl.IncompleteResultWarning, match=reason),
    ):
        frame = code.read_file(REPOSITORY, "log.txt")
    assert list(frame["line"]) == LINES[:200]
    assert frame.attrs["status"] == "limited"


def test_lines_after_a_gap_are_requested_again() -> None:
    def reply(arguments: dict[str, Any]) -> Any:
        if "startLine" not in arguments:
            return text("1: a\n2: b\n…\n9: i\n10: j\n")
        first, last = arguments["startLine"], min(arguments.get("endLine", 10), 10)
        return text("".join(f"{number}: {'abcdefghij'[number - 1]}\n" for number in range(first, last + 1)))

    with client_of(service("7.0", tools={"read_file": (READ, reply)})) as code:
        frame = code.read_file(REPOSITORY, "letters")
    assert "".join(frame["line"]) == "abcdefghij"
    assert frame.attrs["status"] == "complete"


def test_a_last_line_that_was_cut_is_repaired() -> None:
    def reply(arguments: dict[str, Any]) -> Any:
        first = arguments.get("startLine", 1)
        lines = ["one", "two and a half" if first > 1 else "two a", "three"]
        end = arguments.get("endLine", 2 if first == 1 else 3)
        return text("".join(f"{n}: {lines[n - 1]}\n" for n in range(first, min(end, 3) + 1)))

    with client_of(service("7.0", tools={"read_file": (READ, reply)})) as code:
        frame = code.read_file(REPOSITORY, "a.txt")
    assert list(frame["line"]) == ["one", "two and a half", "three"]


def test_a_file_text_without_line_numbers_is_kept_as_text() -> None:
    with (
        client_of(
            service("7.0", tools={"read_file": (READ, lambda _: text("This file is stored elsewhere."))})
        ) as code,
        pytest.warns(sl.IncompleteResultWarning, match="can't parse"),
    ):
        frame = code.read_file(REPOSITORY, "image.bin")
    assert list(frame["text"]) == ["This file is stored elsewhere."]
    assert frame.attrs["status"] == "unparsed"


# Lists, whatever cuts them

_THOUSAND = typed({"files": [{"path": f"f{number:04}", "isDirectory": False} for number in range(1_000)]})
_CUT_LISTS: dict[str, tuple[Any, int, str]] = {
    "as many as a service lists": (_THOUSAND, 1_000, "may be as many"),
    "a sentence": (text("src/\na.go\n\nShowing 2 of 4000 entries"), 2, "Showing 2 of 4000"),
    "a note": (text("Contents of r:\n\nsrc/\na.go\n\n(and 17 more)"), 2, "and 17 more"),
    "a row without a path": (typed({"files": [{"path": "a.go"}, {"isDirectory": True}]}), 1, "1 entry without a path"),
}


@both
@pytest.mark.parametrize("form", _CUT_LISTS)
def test_a_list_of_files_that_is_cut_says_so(form: str, through: str) -> None:
    reply, rows, reason = _CUT_LISTS[form]
    played = service("7.0", tools={"list_files": (LIST, lambda _: reply)})
    with client_of(played, through) as code, pytest.warns(sl.IncompleteResultWarning, match=reason):
        frame = code.list_files(REPOSITORY)
    assert (len(frame), frame.attrs["status"]) == (rows, "limited")


_CUT_REPOSITORIES = {
    "a sentence": (text("a/b [★3] - Text\nc/d\n\nOnly the first two matches are shown."), "Only the first two"),
    "a page": (typed({"repos": [{"name": f"r{n}"} for n in range(1_000)]}), "no more than these"),
    "a row without a name": (
        typed({"repos": [{"name": "a"}, {"stars": 3}], "hasMore": False}),
        "1 entry without a name",
    ),
}


@pytest.mark.parametrize("form", _CUT_REPOSITORIES)
def test_a_list_of_repositories_that_is_cut_says_so(form: str) -> None:
    reply, reason = _CUT_REPOSITORIES[form]
    limited = {**REPOS, "properties": {**REPOS["properties"], "limit": {"type": "integer", "maximum": 1_000}}}
    with (
        client_of(service("7.0", tools={"list_repos": (limited, lambda _: reply)})) as code,
        pytest.warns(sl.IncompleteResultWarning, match=reason),
    ):
        frame = code.list_repos()
    assert frame.attrs["status"] == "limited"
    assert len(frame)


# Streams whose numbers disagree

_PERSON = {"type": "person", "handle": "ada", "email": "ada@example.org"}
_TEAM = {"type": "team", "name": "harbour", "repository": REPOSITORY}
_STREAMS: dict[str, tuple[bytes, str, int]] = {
    "a batch that was too large": (
        sse(("matches", [content()]), progress(12), ("done", {})),
        "matches-not-sent: 11 matches of 12 not sent",
        1,
    ),
    "no final progress": (
        sse(("matches", [content()]), progress(1, done=False), ("done", {})),
        "no-final-progress: no final statistics",
        1,
    ),
    "types of a later release": (
        sse(("matches", [content(), _PERSON, _TEAM, _TEAM]), progress(4), ("done", {})),
        "unknown-match-type: 3 matches of unknown types (person and team)",
        1,
    ),
    "a line number that no file has": (
        sse(("matches", [content(), content(number=10**12)]), progress(2), ("done", {})),
        "unreadable-match: 1 match with a number out of range",
        1,
    ),
}


@both
@pytest.mark.parametrize("release", ["5.x", "7.6"])
@pytest.mark.parametrize("form", _STREAMS)
def test_counts_that_disagree_limit_the_result(form: str, release: str, through: str) -> None:
    stream, reason, rows = _STREAMS[form]
    with client_of(service(release, stream=lambda _: stream), through) as code:
        result = code.search("tide")
    assert (result.status, len(result)) == ("limited", rows)
    assert any(reason.partition(": ")[2] in text for text in result.reasons), result.reasons
    assert reason.partition(":")[0] in list(result.skipped["reason"])


@both
def test_matches_of_unknown_types_are_kept_apart(through: str) -> None:
    stream = sse(("matches", [_PERSON, content(), _TEAM]), progress(3), ("done", {}))
    with client_of(service("5.x", stream=lambda _: stream), through) as code:
        result = code.search("select:file.owners tide")
    assert list(result.other["type"]) == ["person", "team"]
    assert list(result.other["repository"].fillna("")) == ["", REPOSITORY]
    assert json.loads(result.other["payload"][0]) == _PERSON
    assert tuple(result.other.columns) == tuple(c.name for c in sl.columns_of("other"))


def test_an_exhaustive_search_asks_again_for_matches_that_were_not_sent() -> None:
    def stream(query: dict[str, str]) -> bytes:
        if "count:all" in query["q"] and "repo:^" in query["q"]:
            return sse(("matches", [content(path=f"f{n}") for n in range(3)]), progress(3), ("done", {}))
        return sse(("matches", [content(path="f0")]), progress(3), ("done", {}))

    with client_of(service("5.x", stream=stream)) as code:
        result = code.search("tide", exhaustive=True)
    assert sorted(result.matches["path"]) == ["f0", "f1", "f2"]
    assert result.status == "complete"


@pytest.mark.parametrize("display", [1, 2])
def test_matches_beyond_the_wanted_number_are_not_missed(display: int) -> None:
    sent = [content(path=f"f{n}") for n in range(display)]
    stream = sse(("matches", sent), progress(9), ("done", {}))
    with client_of(service("5.x", stream=lambda _: stream)) as code:
        assert "matches-not-sent" not in list(code.search("tide", limit=display).skipped["reason"])


def test_old_names_and_large_ids_are_read() -> None:
    old = {name: value for name, value in content().items() if name not in {"path", "commit"}}
    old |= {"name": "log.txt", "version": COMMIT, "repositoryID": 2**40}
    stream = sse(("matches", [old]), progress(1), ("done", {}))
    with client_of(service("5.x", stream=lambda _: stream)) as code:
        result = code.search("tide")
    (row,) = result.matches.to_dict("records")
    assert (row["path"], row["commit"], row["repository_id"]) == ("log.txt", COMMIT, 2**40)
    assert result.status == "complete"


def test_invalid_utf8_is_replaced_with_a_notice() -> None:
    raw = json.dumps([content()]).encode().replace(b'"tide"', b'"ti\xffde"')
    stream = sse(("matches", raw), progress(1), ("done", {}))
    with client_of(service("5.x", stream=lambda _: stream)) as code:
        result = code.search("tide")
    assert list(result.matches["line"]) == ["ti\ufffdde"]
    assert list(result.alerts["title"]) == ["Invalid UTF-8 was replaced"]
    assert result.status == "complete"


@both
def test_an_error_in_the_middle_is_the_reason_of_the_break(through: str) -> None:
    stream = sse(("matches", [content()]), ("error", {"message": "the index is being moved"}))
    with (
        client_of(service("5.x", stream=lambda _: stream), through) as code,
        pytest.raises(sl.StreamBroken, match="the service said: the index is being moved") as caught,
    ):
        code.search("tide")
    assert str(caught.value).count("the index is being moved") == 1
    assert caught.value.reason == "the index is being moved"
    assert caught.value.result is not None
    assert len(caught.value.result) == 1


# History in words

_COMMIT_SEARCH = schema(
    "repos",
    repos="array",
    messageTerms="array",
    contentTerms="array",
    authors="array",
    files="array",
    after="string",
    before="string",
    count="integer",
)
_DIFF_SEARCH = schema(
    "pattern", "repos", pattern="string", repos="array", added="boolean", removed="boolean", count="integer"
)
_COMPARE = schema("repo", "base", "head", repo="string", base="string", head="string", first="integer", after="string")
_CONTRIBUTORS = schema("authors", authors="array", limit="integer")
UNKNOWN = "The answer is on the page https://host/search?q=type:commit"


@both
@pytest.mark.parametrize("form", history_corpus.COMMITS)
def test_commits_in_words_are_rows(form: str, through: str) -> None:
    reply = text(history_corpus.COMMITS[form])
    played = service("7.6", tools={"commit_search": (_COMMIT_SEARCH, lambda _: reply), "list_repos": _ONE_REPOSITORY})
    with client_of(played, through) as code:
        frame = code.commit_search([REPOSITORY])
    assert list(frame["subject"]) == ["Retry the gauge", "Add the gauge"]
    assert list(frame["commit"]) == [history_corpus.FIRST, history_corpus.SECOND]
    assert set(frame["repository"]) == {REPOSITORY}
    assert frame.attrs["status"] == "complete"


_ONE_REPOSITORY = (REPOS, lambda _: text(f"{REPOSITORY} - A kiosk"))


@both
@pytest.mark.parametrize("form", history_corpus.DIFFS)
def test_diffs_in_words_are_changed_lines(form: str, through: str) -> None:
    reply = text(history_corpus.DIFFS[form])
    played = service("7.6", tools={"diff_search": (_DIFF_SEARCH, lambda _: reply), "list_repos": _ONE_REPOSITORY})
    with client_of(played, through) as code:
        frame = code.diff_search("retry", [REPOSITORY])
    rows = [(r.path, r.side, r.line_number, r.line) for r in frame.itertuples()]
    assert rows == [("gauge.go", "added", 4, "\tretry(value)"), ("added.txt", "added", 1, "retry one")]


@both
@pytest.mark.parametrize("form", history_corpus.COMPARISONS)
def test_comparisons_in_words_are_files(form: str, through: str) -> None:
    reply = text(history_corpus.COMPARISONS[form])
    played = service("7.6", on_all={"compare_revisions": (_COMPARE, lambda _: reply)})
    with client_of(played, through) as code, warnings.catch_warnings():
        warnings.simplefilter("ignore", sl.IncompleteResultWarning)
        frame = code.compare_revisions(REPOSITORY, "v1", "v2")
    assert sorted(frame["path"]) == ["added.txt", "gauge.go", "logo.png", "new name.txt"]
    has_patches = "@@" in history_corpus.COMPARISONS[form]
    assert frame.attrs["status"] == ("complete" if has_patches else "limited")
    assert bool(frame.set_index("path")["patch"].notna()["gauge.go"]) is has_patches


@pytest.mark.parametrize("form", history_corpus.CONTRIBUTIONS)
def test_contributions_in_words_are_repositories(form: str) -> None:
    reply = text(history_corpus.CONTRIBUTIONS[form])
    with client_of(service("7.6", on_all={"get_contributor_repos": (_CONTRIBUTORS, lambda _: reply)})) as code:
        frame = code.get_contributor_repos("ada")
    assert dict(zip(frame["repository"], frame["commits"], strict=True)) == {"git.example/hub": 1_003, REPOSITORY: 12}


def _commit(kind: str, body: str, ranges: list[list[int]]) -> dict[str, Any]:
    return {
        "type": "commit",
        "repository": REPOSITORY,
        "repositoryID": 7,
        "oid": COMMIT,
        "message": "Retry the gauge\n\nIt answers late.",
        "authorName": "Ada",
        "authorDate": "2026-03-04T09:00:00Z",
        "committerName": "Ada",
        "committerDate": "2026-03-04T09:00:00Z",
        "content": f"```{kind}\n{body}\n```",
        "ranges": ranges,
        "label": "",
        "detail": "",
        "url": f"/{REPOSITORY}/-/commit/{COMMIT}",
    }


_PREVIEW = "gauge.go gauge.go\n@@ -3,2 +3,2 @@ func read()\n-\treturn ask()\n+\treturn retry()\n \t}\n"


@both
def test_commits_in_unknown_words_come_from_the_stream(through: str) -> None:
    result = _commit("COMMIT_EDITMSG", "Retry the gauge", [[1, 0, 5]])
    tools = {"commit_search": (_COMMIT_SEARCH, lambda _: text(UNKNOWN)), "list_repos": _ONE_REPOSITORY}
    stream = sse(("matches", [result]), progress(1), ("done", {}))
    played = service("7.6", tools=tools, stream=lambda _: stream)
    with client_of(played, through) as code:
        frame = code.commit_search([REPOSITORY], ["retry"], authors=["Ada"], after="2026-01-01")
    assert list(frame["subject"]) == ["Retry the gauge"]
    assert frame.attrs["status"] == "complete"
    assert any("these rows are of its search" in notice for notice in frame.attrs["notices"])
    assert played.searches[-1] == (
        r"repo:^(git\.example/kiosk)$ author:Ada after:2026-01-01 type:commit "
        '"retry" count:all'
    )


@both
def test_diffs_in_unknown_words_come_from_the_stream(through: str) -> None:
    result = _commit("diff", _PREVIEW, [[4, 8, 5]])
    tools = {"diff_search": (_DIFF_SEARCH, lambda _: text(UNKNOWN)), "list_repos": _ONE_REPOSITORY}
    stream = sse(("matches", [result]), progress(1), ("done", {}))
    with client_of(service("7.6", tools=tools, stream=lambda _: stream), through) as code:
        frame = code.diff_search("retry", [REPOSITORY], added=True)
    assert [(r.path, r.side, r.line_number, r.line) for r in frame.itertuples()] == [
        ("gauge.go", "added", 3, "\treturn retry()")
    ]


@both
def test_contributions_in_unknown_words_are_counted_from_the_stream(through: str) -> None:
    commits = [
        _commit("COMMIT_EDITMSG", "Retry the gauge", [])
        | {"repository": name, "oid": f"{number:040x}", "committerDate": f"2026-03-{number + 1:02}T09:00:00Z"}
        for number, name in enumerate([REPOSITORY, "git.example/hub", REPOSITORY])
    ]
    stream = sse(("matches", commits), progress(3), ("done", {}))
    tools = {"get_contributor_repos": (_CONTRIBUTORS, lambda _: text(UNKNOWN))}
    played = service("7.6", on_all=tools, stream=lambda _: stream)
    with client_of(played, through) as code:
        frame = code.get_contributor_repos("Ada")
        fewer = code.get_contributor_repos("Ada", limit=1)
    rows = frame[["repository", "commits", "authors"]].to_dict("records")
    assert [(row["repository"], row["commits"], list(row["authors"])) for row in rows] == [
        (REPOSITORY, 2, ["Ada"]),
        ("git.example/hub", 1, ["Ada"]),
    ]
    assert str(frame["last_date"][0]) == "2026-03-03 09:00:00+00:00"
    assert frame.attrs["status"] == "complete"
    assert any("these rows are of its search" in notice for notice in frame.attrs["notices"])
    assert (list(fewer["repository"]), fewer.attrs["status"]) == ([REPOSITORY], "partial")
    assert played.searches[-1] == "fork:yes archived:yes author:Ada type:commit count:all"


@both
@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("commit_search", ([REPOSITORY],)),
        ("diff_search", ("retry", [REPOSITORY])),
        ("compare_revisions", (REPOSITORY, "v1", "v2")),
    ],
)
def test_no_answer_is_lost_for_its_words(method: str, arguments: tuple[Any, ...], through: str) -> None:
    reply = text(UNKNOWN)
    tools = {
        "commit_search": (_COMMIT_SEARCH, lambda _: reply),
        "diff_search": (_DIFF_SEARCH, lambda _: reply),
        "compare_revisions": (_COMPARE, lambda _: reply),
        "list_repos": _ONE_REPOSITORY,
    }
    with (
        client_of(service("7.0", tools=tools), through) as code,
        pytest.warns(sl.IncompleteResultWarning, match="can't parse the text"),
    ):
        frame = getattr(code, method)(*arguments)
    assert list(frame["text"]) == [UNKNOWN]
    assert frame.attrs["status"] == "unparsed"


_PREVIEWS = {
    "of streams": _PREVIEW,
    "of git": "diff --git a/gauge.go b/gauge.go\nindex 1..2 100644\n--- a/gauge.go\n+++ b/gauge.go\n"
    "@@ -3,2 +3,2 @@ func read()\n-\treturn ask()\n+\treturn retry()\n \t}\n",
}


@both
@pytest.mark.parametrize("release", ["5.x", "7.6"])
@pytest.mark.parametrize("form", _PREVIEWS)
def test_a_diff_without_highlights_keeps_its_preview(form: str, release: str, through: str) -> None:
    commit_match = _commit("diff", _PREVIEWS[form], [])
    stream = sse(("matches", [commit_match]), progress(1), ("done", {}))
    with client_of(service(release, stream=lambda _: stream), through) as code:
        result = code.search("type:diff author:ada")
    rows = result.matches[["path", "side", "line_number", "line"]].values.tolist()
    assert rows == [
        ["gauge.go", "removed", 3, "\treturn ask()"],
        ["gauge.go", "added", 3, "\treturn retry()"],
        ["gauge.go", "context", 4, "\t}"],
    ]
    assert (result.match_count, result.status) == (1, "complete")


def test_a_preview_in_an_unknown_form_keeps_its_lines() -> None:
    result = _commit("diff", "changed gauge.go by Ada\nask became retry", [])
    stream = sse(("matches", [result]), progress(1), ("done", {}))
    with client_of(service("5.x", stream=lambda _: stream)) as code:
        frame = code.search("type:diff author:ada").matches
    assert list(frame["line"]) == ["changed gauge.go by Ada", "ask became retry"]
    assert frame["side"].isna().all()


# A busy service, and answers with sources


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("times", [1, 2])
def test_a_busy_service_is_asked_again_for_tools(status: int, times: int) -> None:
    played = service("7.0", tools={"list_files": (LIST, lambda _: text("a.go"))})
    with client_of(played) as code:
        code.list_files(REPOSITORY)
        played.busy = [(status, {"retry-after": "0"})] * times
        assert list(code.list_files(REPOSITORY)["path"]) == ["a.go"]
    assert [name for name, _ in played.calls] == ["list_files"] * 2


def test_the_wait_that_a_busy_service_asks_for_is_kept() -> None:
    played = service("7.0", tools={"list_files": (LIST, lambda _: text("a.go"))})
    with client_of(played) as code:
        code.list_files(REPOSITORY)
        played.busy = [(429, {"retry-after": "1"})]
        began = time.monotonic()
        code.list_files(REPOSITORY)
        assert time.monotonic() - began >= 1
        played.busy = [(429, {"retry-after": "3600"})]
        with pytest.raises(sl.RateLimited) as caught:
            code.list_files(REPOSITORY)
    assert caught.value.retry_after_s == 3600


_ANSWER = f"""---
title: Retries
---
# How are retries spaced?

By a **delay**, see [gauge.go](/{REPOSITORY}@{COMMIT}/-/blob/gauge.go?L3).

## Sources

- [{REPOSITORY}/log.txt](/{REPOSITORY}@{COMMIT}/-/blob/log.txt?L1-9)
- [retry](/search?q=patterntype:keyword%20retry)
- [gauge.go](/{REPOSITORY}@{COMMIT}/-/blob/gauge.go?L3)
"""


def test_sources_are_shown_under_an_answer() -> None:
    tools = {"deepsearch_read": (schema("identifier", identifier="string"), lambda _: text(_ANSWER))}
    with client_of(service("7.6", tools=tools)) as code:
        answer = code.deepsearch_read("caebeb05-7755-4f89-834f-e3ee4a6acb25")
    markdown = answer.to_markdown()
    assert f"## Sources\n\n- [`{REPOSITORY}/log.txt`](/{REPOSITORY}@{COMMIT}/-/blob/log.txt?L1-9)" in markdown
    assert markdown.count("gauge.go?L3") == 1
    html = answer.to_html()
    assert "Sources:" in html
    assert "log.txt?L1-9" in html
    assert len(answer.sources) == 3
