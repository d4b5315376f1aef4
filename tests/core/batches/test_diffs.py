"""Previews of diffs: what is written is read back, whatever the names of files and the lines."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcelight.core.batches.diff_text import DiffLine, FileHeader, read_diff, strip_fence, write_diff
from sourcelight.core.batches.git_names import needs_quotes, quote_name, unquote_name

ODD = st.text(alphabet=st.sampled_from('-+ @"\\\n\t\r`/ab1,\x01é\ufffd#:,'), min_size=1, max_size=8)
TEXTS = st.text(alphabet=st.sampled_from('-+ @"\\`\t\rab1,é'), max_size=10) | st.sampled_from(
    ["-a a", "+a a", "@@ -1,1 +1,1 @@", "```", "a a", '"a" "a"', ""]
)
LINES = st.lists(
    st.tuples(ODD, st.sampled_from(["added", "removed", "context"]), st.integers(1, 4), TEXTS), min_size=1, max_size=12
)


@given(LINES)
def test_lines_of_files_of_any_name_are_read_back(rows: list[tuple[str, str, int, str]]) -> None:
    lines = [DiffLine(path, side, number, text) for path, side, number, text in rows]
    content, positions = write_diff(lines)
    result = read_diff(strip_fence(content), set(positions))
    assert [result[position] for position in positions] == lines


@pytest.mark.parametrize("name", ["-dash", "+plus", "-x -y", "+ +", "@@ -1 +1 @@", "new\nline", '"quoted"', "a b", "-"])
def test_a_line_goes_to_its_file_and_not_to_the_one_before(name: str) -> None:
    lines = [DiffLine(path, "removed", 1, "needle") for path in ("a", name, "z")]
    content, positions = write_diff(lines)
    assert [item.path for item in read_diff(strip_fence(content), set(positions)).values()] == ["a", name, "z"]


def lines_in(diff: dict[int, DiffLine | FileHeader]) -> list[tuple[str, str, int, str]]:
    lines = [item for item in diff.values() if isinstance(item, DiffLine)]
    return [(line.path, line.side, line.number, line.text) for line in lines]


def test_names_that_other_services_do_not_quote_are_told_by_the_counts_of_hunks() -> None:
    lines = ["```diff", "a a", "@@ -1,1 +1,1 @@", "-x", "+-dash -dash", "-dash -dash", "@@ -1,1 +1,2 @@", "-x"]
    lines += ["+-dash -dash", "+@@ -1,1 +1,1 @@", "+plus +plus", "@@ -3,0 +4,1 @@ section", "+x"]
    result = read_diff(lines, range(20))
    assert lines_in(result) == [
        ("a", "removed", 1, "x"),
        ("a", "added", 1, "-dash -dash"),
        ("-dash", "removed", 1, "x"),
        ("-dash", "added", 1, "-dash -dash"),
        ("-dash", "added", 2, "@@ -1,1 +1,1 @@"),
        ("+plus", "added", 4, "x"),
    ]


def test_previews_without_counts_are_read_as_before() -> None:
    lines = ["```diff", "a a", "@@ -5 +5 @@", "+one two", "+three four", "@@ -9 +9 @@", "-five six"]
    result = read_diff(lines, range(20))
    assert lines_in(result) == [
        ("a", "added", 5, "one two"),
        ("a", "added", 6, "three four"),
        ("a", "removed", 9, "five six"),
    ]


def test_names_are_quoted_as_git_quotes_them(tmp_path: Path) -> None:
    names = [b"a" + bytes([code]) + b"b" for code in range(1, 256) if code != ord("/")]
    data = b"".join(b"100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\t%b\0" % name for name in names)
    subprocess.run(["git", "init", "-q", "--template=", tmp_path], check=True)
    subprocess.run(["git", "update-index", "-z", "--index-info"], input=data, cwd=tmp_path, check=True)
    for quote_path in ("true", "false"):
        argv = ["git", "-c", f"core.quotePath={quote_path}", "ls-files"]
        visible = subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True).stdout.split(b"\n")[:-1]
        assert sorted(map(unquote_name, visible)) == sorted(names)
    assert sorted(quote_name(name) if needs_quotes(name) else name for name in names) == sorted(visible)
