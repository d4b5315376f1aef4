"""Kinds of changes by their titles, and commits put together as hosts merge them."""

from __future__ import annotations

import pytest

from sourcelight.lab.reports.sections.changelog import KINDS, CommitInfo, kind_of, merged_changes, request_of


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("feat(api)!: one argument fewer", "breaking"),
        ("Drop support for Python 3.8", "breaking"),
        ("python: remove support for old names", "breaking"),
        ("feat: count", "features"),
        ("Add a --count option", "features"),
        ("parser: support comments", "features"),
        ("fix(parser): count", "fixes"),
        ("[fix] Use one context", "fixes"),
        ("Fixed a crash", "fixes"),
        ("docs: more", "docs"),
        ("Fix a typo in the parser's docs", "docs"),
        ("[docs] Remove a function", "docs"),
        ("Update README.md", "docs"),
        ("test: more", "tests"),
        ("Fix flaky test of the parser", "tests"),
        ("build(deps): Bump n from 1 to 2", "dependencies"),
        ("chore(deps): update n", "dependencies"),
        ("Bump the n group with 3 updates", "dependencies"),
        ("[pre-commit.ci] pre-commit autoupdate", "dependencies"),
        ("add unit-test", "tests"),
        ("Add Go 1.23 to CI", "other"),
        ("Add a flag for colors in CI", "features"),
        ("chore: tidy", "other"),
        ("Bump version to 2", "other"),
        ("Refactor the parser", "other"),
        ("", "other"),
    ],
)
def test_titles_tell_kinds(title: str, kind: str) -> None:
    assert kind_of(title) == kind
    assert kind in KINDS


def test_a_footer_is_breaking() -> None:
    assert kind_of("fix: count", "fix: count\n\nBREAKING CHANGE: it counts from 1") == "breaking"


@pytest.mark.parametrize(
    ("message", "parents", "number", "title"),
    [
        ("Merge pull request #14 from a/b\n\nAdd it", 2, 14, "Add it"),
        ("Merge pull request #14 from a/b", 2, 14, "Merge pull request #14 from a/b"),
        ("Merge pull request 'Add it' (#3) from a/b into main\n\nReviewed-by: x", 2, 3, "Add it"),
        ("Merged in a/b (pull request #9)\n\nAdd it", 2, 9, "Add it"),
        ("Merge branch 'a' into 'main'\n\nAdd it\n\nSee merge request group/sub/demo!7", 2, 7, "Add it"),
        ("Add it\n\nSee merge request !7", 1, 7, "Add it"),
        ("Add it (#12)", 1, 12, "Add it"),
        ("Add it (#12) (#13)", 1, 13, "Add it (#12)"),
        ("Merge branch 'a'", 2, None, "Merge branch 'a'"),
        ("Merge pull request #14 from a/b", 1, None, "Merge pull request #14 from a/b"),
        ("See #12", 1, None, "See #12"),
        ("Add it (#99999999999)", 1, None, "Add it (#99999999999)"),
    ],
)
def test_commits_name_their_requests(message: str, parents: int, number: int | None, title: str) -> None:
    info = CommitInfo("c", message.partition("\n")[0], message, tuple(map(str, range(parents))))
    assert request_of(info) == (number, title)


def commit(name: str, parents: str, subject: str = "") -> CommitInfo:
    return CommitInfo(name, subject or name, subject or name, tuple(parents.split()))


def test_branches_within_branches_count_each_commit_once() -> None:
    commits = [
        commit("m3", "m2 s3"),  # a branch that names no request, with a request merged into it
        commit("s3", "s1 p2", "Merge pull request #5 from a/p"),
        commit("p2", "p1"),
        commit("p1", "s1"),
        commit("s1", "m1"),
        commit("m2", "m1 q1", "Merge pull request #4 from a/q"),
        commit("q1", "base"),
        commit("m1", "base"),
    ]
    results = {change.commit: (change.request, change.members) for change in merged_changes(commits, ["m3"])}
    assert results == {
        "m1": (None, ("m1",)),
        "m2": (4, ("q1",)),
        "s1": (None, ("s1",)),
        "s3": (5, ("p2", "p1")),
    }


def test_commits_behind_no_known_head_count_too_and_long_lines_end() -> None:
    line = [commit(str(number), str(number - 1)) for number in range(30_000, 0, -1)]
    result = merged_changes([*line, commit("other", "")], ["nothing"])
    assert len(result) == 30_001
