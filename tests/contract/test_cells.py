"""Cells of notebooks are the same embedded, by URL, in a cluster and over services searched as one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from backends.cluster.processes import Cell, wait_until
from engines.execution.test_cells import code, markdown, notebook, stream
from server.served import serving
from sourcelight.backends.cluster.build.generations import build_generation
from sourcelight.backends.cluster.storage import ShardStorage
from sourcelight.repos import Catalog
from sourcelight.testing.repositories import RepositoryBuilder

QUERIES: dict[str, tuple[str, dict[str, Any]]] = {
    "in code": ("load cell:code", {}),
    "with chunks": ("load cell:any", {"context_lines": 2}),
    "in chunks of a file on one line": ("show cell:code file:short", {"context_lines": 1}),
    "by the kernel": ("load cell:any lang:r", {}),
    "of alternatives": ("(cell:code OR cell:markdown) load", {}),
    "of cells and of files": (r"(load cell:code) OR (load file:\.py$) OR (show -file:short)", {}),
    "without the filter": ("load", {}),
    "without the filter, with chunks": ("load", {"context_lines": 1}),
    "by kind alone": ("cell:output", {}),
    "as paths": ("load cell:code select:file", {}),
    "definitions": ("type:symbol x", {}),
    "changed": ("type:diff cell:any load", {}),
    "changed, on one line": ("type:diff cell:code show file:short", {}),
    "changed lines of files": ("type:diff load", {}),
    "changed lines of files, on one line": ("type:diff show file:short", {}),
    "commits that change cells": ("type:diff cell:output", {}),
}
COLUMNS = ["repository", "path", "type", "language", "line_number", "line", "start", "end", "match_count"]
COLUMNS += ["cell", "cell_kind", "cell_line", "chunk", "chunk_start_line", "side"]
TOKEN = "slo_the-owner-of-the-notebooks"


@pytest.fixture(scope="module")
def notebooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("notebooks")
    source = ["import os\n", 'x = load("é")\n', "show(x)\n", "# \\n load"]
    for name, language in (("one", "python"), ("two", "R")):
        files = {
            "a.ipynb": notebook(markdown("# load"), code(source, stream("load\ndone")), language=language, indent=1),
            "short.ipynb": notebook(code(["show()\n", "show()\n"]), code("show()"), language=language),
            "b.qmd": "# load\n\n```{r}\nload()\n```\n",
            "c.py": "# %%\nload()\n",
        }
        builder = RepositoryBuilder(root / name)
        builder.commit(files, "notebooks")
        new_version = notebook(code([*source[:2], "load(x)\n"], stream("loaded")), language=language, indent=1)
        builder.commit({"a.ipynb": new_version, "d.ipynb": new_version}, "again")
        builder.commit({"a.ipynb": files["a.ipynb"], "d.ipynb": None}, "as before")
    return root


@pytest.fixture(scope="module", params=["by URL", "cluster", "federation"])
def pair(
    request: pytest.FixtureRequest,
    notebooks: Path,
    shut_environment: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[sl.Client, sl.Client]]:
    """The engines in this process, and each other way to ask them."""
    with ExitStack() as stack:
        embedded = stack.enter_context(sl.open(notebooks))
        if request.param == "by URL":
            service = serving(str(notebooks), home=shut_environment / "notebooks", token=TOKEN)
            _, address = stack.enter_context(service)
            other = stack.enter_context(sl.connect(address, TOKEN))
        elif request.param == "cluster":
            storage = tmp_path_factory.mktemp("shards")
            build_generation(Catalog.open(notebooks), ShardStorage(str(storage)))
            cell = stack.enter_context(closing(Cell(str(storage), tmp_path_factory.mktemp("caches"), ("w1",))))
            other = stack.enter_context(sl.open_cluster(cell.address, str(storage)))
            wait_until(lambda: len(other.cluster.workers) == 1, "the worker joins")
        else:
            parts = {name: stack.enter_context(sl.open(notebooks / name)) for name in ("one", "two")}
            other = stack.enter_context(sl.federate(parts))
        yield embedded, other


@pytest.mark.parametrize("case", QUERIES)
def test_cells_are_the_same_everywhere(pair: tuple[sl.Client, sl.Client], case: str) -> None:
    query, options = QUERIES[case]
    answers = []
    for client in pair:
        rows = client.search(f"{query} count:all", **options).matches
        values = rows[COLUMNS].astype(object).where(rows[COLUMNS].notna(), None)
        values["repository"] = [text.rpartition("/")[2] for text in rows["repository"]]
        for name in ("start", "end"):
            values[name] = [None if value is None else list(value) for value in values[name]]
        answers.append(sorted(map(repr, values.to_dict("records"))))
    assert answers[0] == answers[1]
    assert answers[0]


@pytest.mark.parametrize("tool", ["go_to_definition", "find_references", "outline"])
def test_definitions_in_cells_are_the_same_everywhere(pair: tuple[sl.Client, sl.Client], tool: str) -> None:
    answers = []
    for client in pair:
        names = client.search("type:repo one count:all").matches["repository"]
        repository = next(name for name in names if name.endswith("one"))
        arguments = (repository, "a.ipynb") if tool == "outline" else (repository, "a.ipynb", "x")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a federation says that references stay in one service
            frame = getattr(client, tool)(*arguments)
        frame = frame.drop(columns=["repository", "service"], errors="ignore")
        values = frame.astype(object).where(frame.notna(), None)
        answers.append(list(map(repr, values.to_dict("records"))))
        assert frame["cell"].tolist() == ([2, 2] if tool == "find_references" else [2])
    assert answers[0] == answers[1]
