"""Tools of history that answer with text: every form of the corpus says the same, and nothing else is taken for one."""

from __future__ import annotations

import pytest

from backends.remote.history_corpus import COMMITS, COMPARISONS, CONTRIBUTIONS, DIFFS, FIRST, OTHER, SECOND
from sourcelight.backends.remote.mcp.history.texts import (
    parse_commits,
    parse_comparison,
    parse_contributions,
    parse_date,
)


@pytest.mark.parametrize("form", COMMITS)
def test_commits_are_read_in_every_form(form: str) -> None:
    read = parse_commits(COMMITS[form], "git.example/kiosk")
    assert read is not None
    assert [(e["repo"], e["oid"], e["subject"]) for e in read.entries] == [
        ("git.example/kiosk", FIRST, "Retry the gauge"),
        ("git.example/kiosk", SECOND, "Add the gauge"),
    ]
    if form != "one line each":
        assert [entry["authorName"] for entry in read.entries] == ["Ada", "Grace"]
        assert [entry["authorDate"][:10] for entry in read.entries] == ["2026-03-04", "2026-03-03"]
    if "at low tide" in COMMITS[form]:
        assert read.entries[0]["body"].startswith("It answers late at low tide.")
        assert [entry["authorEmail"] for entry in read.entries] == ["ada@example.org", "grace@example.org"]


@pytest.mark.parametrize("form", COMPARISONS)
def test_changed_files_are_read_in_every_form(form: str) -> None:
    read = parse_comparison(COMPARISONS[form])
    assert read is not None
    files = {entry["newPath"]: (entry["oldPath"], entry["status"]) for entry in read.entries}
    assert files == {
        "gauge.go": ("gauge.go", "modified"),
        "new name.txt": ("old name.txt", "renamed"),
        "added.txt": ("added.txt", "added"),
        "logo.png": ("logo.png", "deleted"),
    }
    by_path = {entry["newPath"]: entry for entry in read.entries}
    if "@@" in COMPARISONS[form]:
        changes = {path: (entry["additions"], entry["deletions"]) for path, entry in by_path.items()}
        assert changes == {"gauge.go": (2, 1), "new name.txt": (1, 1), "added.txt": (2, 0), "logo.png": (0, 0)}
        assert by_path["logo.png"]["binary"]
        assert by_path["new name.txt"]["hunks"] == [
            {"oldStart": 1, "newStart": 1, "lines": ["--- a dashed line", "+++ a plus line"]}
        ]


@pytest.mark.parametrize("form", DIFFS)
def test_diffs_of_commits_are_read_in_every_form(form: str) -> None:
    read = parse_commits(DIFFS[form], "git.example/kiosk")
    assert read is not None
    (entry,) = read.entries
    hunks = {file["newPath"]: file["hunks"] for file in entry["files"] if file["hunks"]}
    assert hunks["gauge.go"][0]["lines"][:3] == [" \tvalue := ask()", "-\treturn value", "+\tretry(value)"]
    assert hunks["added.txt"][0]["lines"] == ["+retry one", "+two"]


@pytest.mark.parametrize("form", CONTRIBUTIONS)
def test_contributions_are_read_in_every_form(form: str) -> None:
    read = parse_contributions(CONTRIBUTIONS[form])
    assert read is not None
    assert {e["name"]: e["commits"] for e in read.entries} == {"git.example/hub": 1_003, "git.example/kiosk": 12}


@pytest.mark.parametrize("text", OTHER)
def test_other_texts_are_not_taken_for_history(text: str) -> None:
    assert parse_commits(text) is None
    assert parse_comparison(text) is None
    assert parse_contributions(text) is None


def test_sentences_about_more_are_kept() -> None:
    read = parse_commits(f"Showing 2 of 40 commits\n\n{COMMITS['bullets']}\n(more results available)", "r/x")
    assert read is not None
    assert read.notes == ["Showing 2 of 40 commits", "more results available"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Wed Mar 4 10:00:00 2026 +0100", "2026-03-04T10:00:00+01:00"),
        ("2026-03-04 10:00:00 +0100", "2026-03-04T10:00:00+01:00"),
        ("Wed, 04 Mar 2026 10:00:00 +0100", "2026-03-04T10:00:00+01:00"),
        ("2026-03-04", "2026-03-04T00:00:00+00:00"),
        ("2 days ago", None),
    ],
)
def test_dates_of_git_are_read(text: str, expected: str | None) -> None:
    assert parse_date(text) == expected


@pytest.mark.parametrize("line", ["similarity index x%", "similarity index " + "9" * 5_000 + "%", "similarity index"])
def test_hostile_numbers_of_a_comparison_are_left_out(line: str) -> None:
    hunk = "@@ -" + "9" * 5_000 + ",1 +1 @@"
    text = f"diff --git a/a.txt b/a.txt\n{line}\n{hunk}\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n"
    read = parse_comparison(text)
    assert read is not None
    assert [(entry["newPath"], entry.get("similarity")) for entry in read.entries] == [("a.txt", None)]
