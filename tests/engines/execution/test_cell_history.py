"""``type:diff cell:`` finds the lines that came to the cells of notebooks or left them, as a naive reader counts."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from engines.execution.test_cells import ANY, code, drawn_notebook, markdown, notebook, stream
from git_output import git_bytes
from sourcelight.core.cells import read_cells
from sourcelight.core.cells.json_lines import row_line
from sourcelight.core.errors import QueryError
from sourcelight.testing.repositories import RepositoryBuilder

_COMMITS = 24
Line = tuple[str, str, str, str, str]
"""Subject, path, side, kind and text."""


@pytest.fixture(scope="module")
def random_repos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Notebooks that are drawn anew, renamed, deleted, or written in another layout of JSON."""
    root = tmp_path_factory.mktemp("cell-history")
    builder = RepositoryBuilder(root / "one")
    draw = random.Random(2026)  # noqa: S311 - examples, no secrets
    texts: dict[str, str] = {}
    for number in range(_COMMITS):
        files: dict[str, Any] = {}
        for path in draw.sample(["a.ipynb", "b/c.ipynb", "d.ipynb"], 2):
            if path in texts and draw.random() < 0.15:
                files[path] = None
                del texts[path]
                continue
            old = texts.get(path)
            is_layout_only = old is not None and draw.random() < 0.3
            texts[path] = json.dumps(json.loads(old or "{}"), indent=2) if is_layout_only else drawn_notebook(draw)
            files[path] = texts[path]
        builder.commit(files, message=f"commit {number}")
    return root


@pytest.fixture(scope="module")
def client(random_repos: Path) -> Iterator[sl.Client]:
    with sl.open(random_repos) as client:
        yield client


def _cell_lines(data: bytes) -> Counter[tuple[str, str]]:
    lines: Counter[tuple[str, str]] = Counter()
    for cell in json.loads(data)["cells"] if data else ():
        texts = [(cell["cell_type"], "".join(cell["source"]))]
        texts += [("output", "".join(output["text"])) for output in cell.get("outputs", ())]
        for kind, text in texts:
            lines.update((kind, line) for line in (text.removesuffix("\n").split("\n") if text else ()))
    return lines


@pytest.fixture(scope="module")
def changed(random_repos: Path) -> Counter[Line]:
    """Compare the cells of each changed file, as ``git log --raw`` names it, before and after each commit."""
    result: Counter[Line] = Counter()
    folder = random_repos / "one"
    contents: dict[str, Counter[tuple[str, str]]] = {"0" * 40: Counter()}
    subject = ""
    for line in (
        git_bytes(folder, "log", "--raw", "-M", "--no-abbrev", "--format=commit %s", "--root").decode().splitlines()
    ):
        if line.startswith("commit "):
            subject = line.removeprefix("commit ")
        elif line.startswith(":"):
            *_, old, new, _ = line.partition("\t")[0].split()
            paths = line.split("\t")[1:]
            for blob in {old, new}.difference(contents):
                contents[blob] = _cell_lines(git_bytes(folder, "cat-file", "blob", blob))
            before, after = contents[old], contents[new]
            for side, lines, path in (("added", after - before, paths[-1]), ("removed", before - after, paths[0])):
                for (kind, text), count in lines.items():
                    result[subject, path, side, kind, text] += count
    return result


def matching(lines: Counter[Line], pattern: re.Pattern[str], value: str) -> Counter[Line]:
    kinds = {value} if value != "any" else ANY
    return Counter({line: n for line, n in lines.items() if line[3] in kinds and pattern.search(line[4])})


def matching_lines(client: sl.Client, query: str) -> Counter[Line]:
    rows = client.search(f"type:diff {query} count:all", progress=False).matches
    return Counter(
        (r.message, r.path, str(r.side), str(r.cell_kind), r.line) for r in rows[rows["path"].notna()].itertuples()
    )


@pytest.mark.parametrize("value", ["code", "markdown", "output", "any"])
@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("import", re.compile("import", re.IGNORECASE)),
        ("é", re.compile("é", re.IGNORECASE)),
        (r"/^\w+ \S+$/", re.compile(r"^[0-9A-Za-z_]+ [^\t\n\f\r ]+$", re.ASCII)),
        (r"/\\\\/", re.compile(r"\\")),
    ],
)
def test_changed_lines_of_cells_are_those_of_a_naive_reader(
    client: sl.Client, changed: Counter[Line], value: str, text: str, pattern: re.Pattern[str]
) -> None:
    expected = matching(changed, pattern, value)
    assert matching_lines(client, f"cell:{value} {text}") == expected
    assert expected or value != "any"


def test_a_commit_that_lays_out_json_anew_changes_no_cell(client: sl.Client, changed: Counter[Line]) -> None:
    """Without text, a query finds the commits that change a cell of the kind."""
    for value in ("code", "output", "any"):
        rows = client.search(f"type:diff cell:{value} count:all", progress=False).matches
        assert set(rows["message"]) == {subject for subject, *_ in matching(changed, re.compile(""), value)}
        assert rows["path"].isna().all()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sl.Client]:
    root = tmp_path_factory.mktemp("small-cell-history")
    builder = RepositoryBuilder(root / "r")
    first = code(["import os\n", "x=1"], stream("x is 1\n"))
    second = code(["import os\n", "x=1\n", "y = x"], stream("x is 2\n"))
    title = markdown("# x title")
    builder.commit({"a.ipynb": notebook(first, indent=1), "c.py": "x = 0\n"}, message="first")
    builder.commit({"a.ipynb": notebook(title, second, indent=1), "c.py": "x = 1\n"}, message="grow")
    builder.commit({"a.ipynb": notebook(second, title), "b.ipynb": notebook(code("x"), language="R")}, message="move")
    builder.commit(
        {"q.qmd": "# x\n\n```{r}\nx <- 2\n```\n", "c.py": "# %%\nx = 1\n# %% [markdown]\n# x\n"}, message="text"
    )
    builder.commit({"b.ipynb": "{broken"}, message="broken")
    with sl.open(root) as client:
        yield client


def locations(client: sl.Client, query: str) -> list[tuple[Any, ...]]:
    rows = client.search(f"type:diff {query} count:all", progress=False).matches
    names = ["message", "path", "side", "line_number", "line", "cell", "cell_kind", "cell_line"]
    values = rows[names].astype(object)
    return [tuple(record.values()) for record in values.where(values.notna(), None).to_dict("records")]


def test_rows_say_cell_and_line(small: sl.Client) -> None:
    assert locations(small, "cell:code x file:a.ipynb") == [
        ("grow", "a.ipynb", "added", 22, "y = x", 2, "code", 3),
        ("first", "a.ipynb", "added", 16, "x=1", 1, "code", 2),
    ]
    assert locations(small, "cell:output x file:a.ipynb") == [
        ("grow", "a.ipynb", "removed", 11, "x is 1", 1, "output", 1),
        ("grow", "a.ipynb", "added", 16, "x is 2", 2, "output", 1),
        ("first", "a.ipynb", "added", 11, "x is 1", 1, "output", 1),
    ]


def test_text_notebooks_have_changes_of_cells_too(small: sl.Client) -> None:
    assert locations(small, "cell:any x -file:ipynb") == [
        ("text", "c.py", "added", 2, "x = 1", 1, "code", 1),
        ("text", "c.py", "added", 4, "# x", 2, "markdown", 1),
        ("text", "q.qmd", "added", 1, "# x", 1, "markdown", 1),
        ("text", "q.qmd", "added", 4, "x <- 2", 2, "code", 1),
    ]


def test_languages_are_those_of_cells(small: sl.Client) -> None:
    assert [row[1] for row in locations(small, "cell:code lang:r x")] == ["q.qmd", "b.ipynb"]
    assert {row[1] for row in locations(small, "cell:code -lang:r x")} == {"a.ipynb", "c.py"}


def test_alternatives_share_no_row(small: sl.Client) -> None:
    either = locations(small, "(cell:code OR cell:any) x file:a.ipynb")
    assert either == locations(small, "cell:any x file:a.ipynb")


@pytest.mark.parametrize(
    ("query", "messages"),
    [
        ("cell:code x AND NOT y", {"text", "move", "first"}),
        ("cell:code NOT y", {"text", "move", "first"}),
        ("cell:code select:commit.diff.removed x", set()),
        ("cell:output select:commit.diff.removed x", {"grow"}),
        ("cell:code file:has.content(title) x", {"grow"}),
        ("cell:code author:nobody x", set()),
    ],
)
def test_filters_hold(small: sl.Client, query: str, messages: set[str]) -> None:
    assert {row[0] for row in locations(small, query)} == messages


def test_a_broken_notebook_is_no_complete_answer(small: sl.Client) -> None:
    result = small.search("type:diff cell:code x", progress=False)
    assert result.status == "limited"
    assert "1 commit read in part" in set(result.skipped["title"])


def test_a_commit_with_a_broken_notebook_is_read_in_part(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "one")
    oid = builder.commit({"good.ipynb": notebook(code("x = 1")), "bad.ipynb": '{"cells": [x'}, "both")
    with sl.open(builder.path) as client:
        result = client.search("type:diff cell:code x", progress=False)
    (item,) = result.skipped[result.skipped["reason"] == "history-incomplete"].to_dict("records")
    assert item["title"] == "1 commit read in part"
    assert oid[:12] in item["message"]
    assert set(result.matches["commit"]) == {oid}


def test_messages_have_no_cells(small: sl.Client) -> None:
    with pytest.raises(QueryError, match="type:commit searches messages"):
        small.search("type:commit cell:code x", progress=False)


def test_changed_lines_of_files_name_their_cell(client: sl.Client, random_repos: Path) -> None:
    """Without the filter lines and counts are those of git, and the columns say which line of a cell each is."""
    rows = client.search("type:diff import count:all", progress=False).matches
    for row in rows.to_dict("records"):
        commit = row["commit"] if row["side"] == "added" else f"{row['commit']}^"
        path = row["path"]
        data = git_bytes(random_repos / "one", "show", f"{commit}:{path}")
        assert data.split(b"\n")[row["line_number"] - 1].decode() == row["line"]
        texts = {(text.cell, text.kind): text for text in read_cells(path, data).texts}
        line = texts[row["cell"], str(row["cell_kind"])].line(row["cell_line"] - 1).decode()
        assert "import" in line.lower()
        # Of a line that the JSON splits, as no writer of notebooks does, the string with the match is shown.
        assert row_line(row).text in line
    assert len(rows) > _COMMITS
    assert set(rows["cell_kind"].astype(str)) == {"code", "markdown", "output"}
