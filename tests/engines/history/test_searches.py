"""What is found in a history, against git's own answers."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

from engines.history.histories import HUNDRED_YEARS, build_many_kinds, git_log, literal, oids, open_history, regexp
from sourcelight.core.boolean import And, Not, Or
from sourcelight.core.tools.catalog import COLUMNS
from sourcelight.engines.history import History, LocalHistoryStore
from sourcelight.engines.history.search import tables
from sourcelight.engines.history.search.find import find_commits, find_diffs
from sourcelight.engines.history.search.query import (
    AnyPattern,
    ChangedFileFilter,
    CommitFilter,
    CommitQuery,
    DiffQuery,
    PatternTerm,
    Side,
    Tree,
)
from sourcelight.testing import RepositoryBuilder


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> RepositoryBuilder:
    return build_many_kinds(tmp_path_factory.mktemp("kinds") / "repo")


@pytest.fixture(scope="module")
def history(repo: RepositoryBuilder, tmp_path_factory: pytest.TempPathFactory) -> History:
    return open_history(LocalHistoryStore(tmp_path_factory.mktemp("store")), repo.path)


def commits_with(history: History, **which: object) -> set[str]:
    result = find_commits(history, CommitQuery(commits=CommitFilter(**which)))  # type: ignore[arg-type]
    return oids(history, result)


@pytest.mark.parametrize("text", ["needle", "root", "body", "octopus", "caf", "no such thing"])
def test_messages_are_those_of_grep(repo: RepositoryBuilder, history: History, text: str) -> None:
    result = commits_with(history, messages=(AnyPattern((literal(text),)),))
    assert result == git_log(repo.path, "-F", f"--grep={text}")


@pytest.mark.parametrize("text", ["^cut$", "^on (one|two)", "needle$", "^$", "need.e in"])
def test_expressions_stand_at_the_bounds_of_lines_of_a_message(
    repo: RepositoryBuilder, history: History, text: str
) -> None:
    result = commits_with(history, messages=(AnyPattern((regexp(text),)),))
    expected = git_log(repo.path, "-E", f"--grep={text}")
    # git sees an empty last line behind every message; ours has no white space around it.
    assert result == (
        expected if text != "^$" else {c for c in result if "\n\n" in history.message(number_of(history, c))}
    )


def number_of(history: History, oid: str) -> int:
    number = history.position(oid)
    assert number is not None
    return number


@pytest.mark.parametrize("text", ["Zoë", "^Bob", "<zoe@", r"example\.org>$", "Ada", "Cy"])
def test_authors_are_those_of_git(repo: RepositoryBuilder, history: History, text: str) -> None:
    result = commits_with(history, authors=(AnyPattern((regexp(text),)),), whole_person=True)
    assert result == git_log(repo.path, "-E", f"--author={text}")


def test_committers_are_apart_from_authors(repo: RepositoryBuilder, history: History) -> None:
    result = commits_with(history, committers=(AnyPattern((regexp("^Cy "),)),), whole_person=True)
    assert result == git_log(repo.path, "-E", "--committer=^Cy ")
    assert len(result) == 1
    assert len(commits_with(history, committers=(AnyPattern((regexp("^Cy$"),)),))) == 1
    assert commits_with(history, authors=(AnyPattern((regexp("^Cy"),)),)) == set()


def test_bounds_of_time_are_strict(repo: RepositoryBuilder, history: History) -> None:
    times = sorted(set(history.commits.commit_time.tolist()))
    assert (times[0], times[-1]) == (86_400, HUNDRED_YEARS)
    for after, before in [(times[0], times[-1]), (times[3], times[9]), (times[4], times[4]), (times[-1], None)]:
        listing = (line.split() for line in repo.git("log", "--format=%H %ct").splitlines())
        expected = {oid for oid, time in listing if after < int(time) and (before is None or int(time) < before)}
        assert commits_with(history, after=after, before=before) == expected


def test_bounds_of_time_are_a_second_within_those_of_git(repo: RepositoryBuilder, history: History) -> None:
    start, end = 1_700_020_000, 1_700_050_000
    expected = git_log(repo.path, f"--since-as-filter={start + 1}", f"--until={end - 1}")
    assert commits_with(history, after=start, before=end) == expected != set()


@pytest.mark.parametrize("option", ["--merges", "--no-merges"])
def test_merges_can_be_asked_for(repo: RepositoryBuilder, history: History, option: str) -> None:
    result = commits_with(history, merges=option == "--merges")
    assert result == git_log(repo.path, option)


@pytest.mark.parametrize("text", ["needle", "line 7 needle", "naïve", "caf", "target", "Subproject", "more", "e"])
@pytest.mark.parametrize("changes", ["lines", "count"])
def test_changed_lines_are_those_of_the_pickaxe(
    repo: RepositoryBuilder, history: History, text: str, changes: str
) -> None:
    matches = find_diffs(history, DiffQuery(tree=PatternTerm(literal(text)), changes=changes))  # type: ignore[arg-type]
    expected = git_log(repo.path, f"-{'G' if changes == 'lines' else 'S'}{text}")
    binary = {history.oid(i) for i in history.changes.commit[history.changes.binary].tolist()}
    assert oids(history, matches.commits) - binary == expected - binary


@pytest.mark.parametrize("text", ["ne+dle", "^needle", "needle$", r"[0-9]+ needle", "[^x]needle"])
def test_expressions_in_changed_lines_are_those_of_the_pickaxe(
    repo: RepositoryBuilder, history: History, text: str
) -> None:
    matches = find_diffs(history, DiffQuery(tree=PatternTerm(regexp(text))))
    assert oids(history, matches.commits) == git_log(repo.path, "-E", f"-G{text}")


def test_every_line_has_its_place(repo: RepositoryBuilder, history: History) -> None:
    matches = find_diffs(history, DiffQuery())
    frame = pa.Table.from_batches(list(tables.line_batches(history, matches))).to_pylist()
    for row in frame:
        assert row["side"] in {"added", "removed"}
        revision, path = (
            (row["commit"], row["path"]) if row["side"] == "added" else (f"{row['commit']}^", row["old_path"])
        )
        if path == "module" or "\N{REPLACEMENT CHARACTER}" in path:
            continue
        lines = repo.git("cat-file", "blob", f"{revision}:{path}").encode("utf-8", "surrogateescape").split(b"\n")
        assert lines[row["line_number"] - 1].decode("utf-8", "replace") == row["line"]


def test_counts_of_lines_are_those_of_numstat(repo: RepositoryBuilder, history: History) -> None:
    for number in range(len(history.commits)):
        out = repo.git("show", "--numstat", "--format=", "-M", "--root", history.oid(number))
        pairs = [line.split("\t")[:2] for line in out.splitlines()]
        expected = [(0 if a == "-" else int(a), 0 if d == "-" else int(d)) for a, d in pairs]
        changes = slice(*history.commits.change_starts[number : number + 2].tolist())
        if history.commits.is_merge[number]:
            assert changes.start == changes.stop
            continue
        results = list(zip(history.changes.additions[changes], history.changes.deletions[changes], strict=True))
        assert sorted(results) == sorted(expected)


@pytest.mark.parametrize("sides", [("added",), ("removed",)])
def test_one_side_can_be_asked_for(history: History, sides: tuple[Side, ...]) -> None:
    both = find_diffs(history, DiffQuery(tree=PatternTerm(literal("needle"))))
    single_side = find_diffs(history, DiffQuery(tree=PatternTerm(literal("needle")), sides=sides))
    rows = pa.Table.from_batches(list(tables.line_batches(history, both))).to_pylist()
    expected = [row for row in rows if row["side"] == sides[0]]
    assert pa.Table.from_batches(list(tables.line_batches(history, single_side))).to_pylist() == expected


@pytest.mark.parametrize("path", ["src.py", "docs/read me.md", "naïve.txt", "kind", "module"])
def test_files_are_those_of_git(repo: RepositoryBuilder, history: History, path: str) -> None:
    changed_file_filter = ChangedFileFilter((AnyPattern((regexp(f"^{re.escape(path)}$", whole_text=True),)),))
    result = find_commits(history, CommitQuery(files=changed_file_filter))
    assert oids(history, result) == git_log(repo.path, "--full-history", "--no-merges", "--", path, revisions=["HEAD"])


def test_a_file_is_found_by_its_old_name_too(history: History) -> None:
    changed_file_filter = ChangedFileFilter((AnyPattern((regexp(r"^a\.py$", whole_text=True),)),))
    assert "move only\n" not in {
        history.message(int(c)) for c in find_commits(history, CommitQuery(files=changed_file_filter))
    }
    subjects = {
        history.message(int(c)).splitlines()[0] for c in find_commits(history, CommitQuery(files=changed_file_filter))
    }
    assert subjects == {"root: add needle", "twice", "move only"}


def test_a_path_that_must_not_match_denies_the_file_alone(history: History) -> None:
    needle = (AnyPattern((literal("needle"),)),)
    result = find_commits(
        history,
        CommitQuery(
            files=ChangedFileFilter((AnyPattern((regexp(r"\.py$", whole_text=True),), negated=True),)), changed=needle
        ),
    )
    # The first commit adds the text to another file as well.
    assert "root: add needle" in {history.message(int(c)) for c in result}
    assert "twice" not in {history.message(int(c)).splitlines()[0] for c in result}


def test_a_tree_holds_for_one_file_of_a_commit(history: History) -> None:
    def subjects(tree: Tree) -> set[str]:
        matches = find_diffs(history, DiffQuery(tree=tree))
        return {history.message(int(c)).splitlines()[0] for c in matches.commits}

    naive, caf = PatternTerm(literal("naïve")), PatternTerm(literal("caf"))
    assert subjects(And((naive, caf))) == set()
    assert subjects(Or((naive, caf))) == {"odd paths", "second root"}
    assert "odd paths" in subjects(And((naive, Not(caf))))
    assert "twice" in subjects(Not(PatternTerm(literal("line 39"))))


def test_revisions_bound_what_is_found(repo: RepositoryBuilder, history: History) -> None:
    head, parent = repo.head, repo.git("rev-parse", "HEAD~4^1")
    result = commits_with(history, revisions=(head,), excluded=(parent,))
    assert result == git_log(repo.path, revisions=[head, f"^{parent}"])
    assert commits_with(history, revisions=(parent,)) == git_log(repo.path, revisions=[parent])


def test_newest_come_first_and_children_before_parents(history: History) -> None:
    result = find_commits(history, CommitQuery())
    times = history.commits.commit_time[result]
    assert (np.diff(times) <= 0).all()
    same = np.flatnonzero(np.diff(times) == 0)
    assert (result[same] > result[same + 1]).all()


def test_odd_messages_and_paths_are_text(history: History) -> None:
    result = find_commits(history, CommitQuery())
    rows = pa.Table.from_batches(list(tables.commit_batches(history, result))).to_pylist()
    subjects = {row["subject"] for row in rows}
    assert "latin café" in subjects
    assert "broken ÿþ bytes" in subjects or "broken \ufffd\ufffd bytes" in subjects
    assert {row["commit_date"].year for row in rows} >= {1970, 2100}
    octopus = next(row for row in rows if row["subject"] == "octopus")
    assert (len(octopus["parents"]), octopus["files"], octopus["additions"]) == (4, 0, 0)


def test_batches_have_the_columns_of_the_tables(history: History) -> None:
    for query in (DiffQuery(tree=PatternTerm(literal("needle"))), DiffQuery(tree=PatternTerm(literal("nowhere")))):
        batches = list(tables.line_batches(history, find_diffs(history, query)))
        assert [*batches[0].schema.names, "agent"] == [column.name for column in COLUMNS["diff_lines"]]
    added_by_others = {"co_authors", "reviewers", "agent", "agent_traces", "bot", "url"}
    required = [column.name for column in COLUMNS["commits"] if column.name not in added_by_others]
    for text in ("needle", "nowhere"):
        result = find_commits(history, CommitQuery(tree=PatternTerm(literal(text))))
        assert next(iter(tables.commit_batches(history, result))).schema.names == required


def test_rows_come_in_batches_that_can_be_shown_early(history: History) -> None:
    matches = find_diffs(history, DiffQuery())
    batches = list(tables.line_batches(history, matches, rows=7))
    assert [batch.num_rows for batch in batches[:-1]] == [7] * (len(batches) - 1)
    rows = pa.Table.from_batches(list(tables.line_batches(history, matches))).to_pylist()
    assert [row for batch in batches for row in batch.to_pylist()] == rows


def test_spans_are_code_points(history: History) -> None:
    matches = find_diffs(history, DiffQuery(tree=Or((PatternTerm(literal("needle")), PatternTerm(literal("e n"))))))
    rows = pa.Table.from_batches(list(tables.line_batches(history, matches))).to_pylist()
    for row in rows:
        marked_text = {row["line"][a:b] for a, b in zip(row["start"], row["end"], strict=True)}
        assert marked_text <= {"needle", "e n"}
        assert marked_text
    assert any("naïve" in row["line"] and row["start"] for row in rows)
