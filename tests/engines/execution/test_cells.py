"""``cell:`` finds what a naive reader finds in the cells of every notebook, and says where it is."""

from __future__ import annotations

import json
import random
import re
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from sourcelight.backends.embedded import open_engine
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import QueryError
from sourcelight.engines.search import SearchPart, TextQuery
from sourcelight.testing.repositories import RepositoryBuilder

Row = tuple[str, int, str, int, str, tuple[int, ...]]

WORDS = [
    "import numpy",
    'print("x")',
    "x\\n",
    "é",
    "Straße",
    "df.head()",
    "IMPORT",
    "/",
    "\\",
    '"',
    "\t",
    "",
    "λ = 1",
    "a" * 30,
]
LANGUAGES = ["python", "R", "julia"]


def code(source: Any, *outputs: Any) -> dict[str, Any]:
    return {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": list(outputs), "source": source}


def markdown(source: Any) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def stream(text: Any) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text}


def notebook(*cells: dict[str, Any], language: str = "python", **layout: Any) -> str:
    metadata = {"language_info": {"name": language}}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}, **layout)


def drawn_notebook(draw: random.Random) -> str:
    """A notebook whose JSON spells its text in any way that JSON allows."""

    def source() -> Any:
        lines = [draw.choice(WORDS) + " " + draw.choice(WORDS) + "\n" for _ in range(draw.randrange(6))]
        text = "".join(lines)[: -draw.randrange(2) or None]
        position = draw.randrange(len(text) + 1)
        return draw.choice([text, text.splitlines(keepends=True), [text[:position], text[position:]]])

    cells = [
        code(source(), stream(source())) if draw.random() < 0.5 else markdown(source())
        for _ in range(draw.randrange(6))
    ]
    text = notebook(
        *cells, language=draw.choice(LANGUAGES), indent=draw.choice([None, 1]), ensure_ascii=draw.random() < 0.5
    )
    if draw.random() < 0.3:
        # Any letter of a string may be an escape: no index of the JSON has these words.
        text = re.sub(r"(?<=[ \"n])import", lambda _: "\\u0069mpo\\u0072t", text)
    return text


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("cells")
    draw = random.Random(26)  # noqa: S311 - examples, no secrets
    for name in ("one", "two"):
        files = {f"{folder}/{number}.ipynb": drawn_notebook(draw) for folder in ("a", "b") for number in range(20)}
        RepositoryBuilder(root / name).commit(files, "notebooks")
    return root


@pytest.fixture(scope="module")
def client(fleet: Path) -> Iterator[sl.Client]:
    with sl.open(fleet) as client:
        yield client


def rows_of(client: sl.Client, query: str, **options: Any) -> set[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = client.search(f"{query} count:all", **options).matches
    rows = rows[rows["type"] == "content"]
    return {
        (f"{r.repository}/{r.path}", int(r.cell), str(r.cell_kind), int(r.cell_line), r.line, tuple(r.start))
        for r in rows.itertuples()
    }


def naive(fleet: Path, pattern: re.Pattern[str], kinds: set[str], language: str = "") -> set[Row]:
    """Read every notebook with `json` and look at every line of every cell."""
    results: set[Row] = set()
    for path in fleet.rglob("*.ipynb"):
        value = json.loads(path.read_bytes())
        if language and value["metadata"]["language_info"]["name"].lower() != language:
            continue
        for number, cell in enumerate(value["cells"], 1):
            texts = [(cell["cell_type"], "".join(cell["source"]))]
            texts += [("output", "".join(output["text"])) for output in cell.get("outputs", ())]
            for kind, text in texts:
                for index, line in enumerate(text.split("\n"), 1):
                    starts = tuple(match.start() for match in pattern.finditer(line) if match[0])
                    if kind in kinds and starts:
                        results.add((str(path.relative_to(fleet)), number, kind, index, line, starts))
    return results


ANY = {"code", "markdown", "raw", "output"}


@pytest.mark.parametrize("value", ["code", "markdown", "output", "any"])
@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("import", re.compile("import", re.IGNORECASE)),
        ('print("x")', re.compile(re.escape('print("x")'), re.IGNORECASE)),
        ("x\\n", re.compile(re.escape("x\\n"), re.IGNORECASE)),
        ("é", re.compile("é", re.IGNORECASE)),
        (r"/^\w+ \S+$/", re.compile(r"^[0-9A-Za-z_]+ [^\t\n\f\r ]+$", re.ASCII)),
        (r"/\\\\/", re.compile(r"\\")),
    ],
)
def test_cells_hold_what_a_naive_reader_finds(
    client: sl.Client, fleet: Path, value: str, text: str, pattern: re.Pattern[str]
) -> None:
    result = rows_of(client, f"{text} cell:{value}")
    expected = naive(fleet, pattern, ANY if value == "any" else {value})
    assert result == expected
    assert expected or value != "any"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_language_is_that_of_the_kernel(client: sl.Client, fleet: Path, language: str) -> None:
    result = rows_of(client, f"import cell:code lang:{language}")
    assert result == naive(fleet, re.compile("import", re.IGNORECASE), {"code"}, language.lower())


def test_operators_hold_for_a_cell(tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "one").commit(
        {"a.ipynb": notebook(code("alpha\nbeta"), code("alpha"), markdown("beta"), code("gamma", stream("alpha")))}, "x"
    )
    with sl.open(tmp_path) as client:
        assert {row[1] for row in rows_of(client, "alpha AND beta cell:any")} == {1}
        assert {row[1] for row in rows_of(client, "alpha AND NOT beta cell:any")} == {2, 4}
        assert {row[1] for row in rows_of(client, "gamma AND alpha cell:any")} == {4}
        assert {row[1] for row in rows_of(client, "(cell:code OR cell:output) alpha")} == {1, 2, 4}
        assert rows_of(client, "/alpha\\nbeta/ cell:code") == {
            ("one/a.ipynb", 1, "code", 1, "alpha", (0,)), ("one/a.ipynb", 1, "code", 2, "beta", (0,))
        }  # fmt: skip
        assert client.search("/alpha\\nbeta/ cell:code").match_count == 1
        paths = client.search("cell:output").matches
        assert [(row.type, row.path) for row in paths.itertuples()] == [("path", "a.ipynb")]


def test_lines_are_those_that_git_grep_names(tmp_path: Path) -> None:
    """In the layout of Jupyter, where each line of a source is a line of the file."""
    source = [f"step({number})  # é\n" for number in range(40)]
    repository = RepositoryBuilder(tmp_path / "one")
    repository.commit({"a.ipynb": notebook(code(source), markdown("step"), code(source), indent=1)}, "x")
    with sl.open(tmp_path) as client:
        rows = client.search("step cell:any count:all").matches
    grepped = repository.git("grep", "-n", "step", "HEAD", "--", "a.ipynb").splitlines()
    assert [str(number) for number in rows["line_number"]] == [line.split(":")[2] for line in grepped]


def test_without_the_filter_rows_are_those_of_the_file_and_name_their_cell(client: sl.Client, fleet: Path) -> None:
    """Lines, counts and language are those of git grep; the columns say where the first match in a cell is."""
    result = client.search("df.head count:all")
    rows = result.matches
    assert (rows["language"] == "Jupyter Notebook").all()
    expected = [
        (str(path.relative_to(fleet)), number)
        for path in sorted(fleet.rglob("*.ipynb"))
        for number, line in enumerate(path.read_text("utf-8").split("\n"), 1)
        if "df.head" in line
    ]
    assert sorted((f"{r.repository}/{r.path}", int(r.line_number)) for r in rows.itertuples()) == expected
    in_cells = {(f"{r.repository}/{r.path}", int(r.cell), r.cell_kind, int(r.cell_line)) for r in rows.itertuples()}
    assert in_cells <= {row[:4] for row in naive(fleet, re.compile(r"df\.head"), ANY)}


def test_chunks_are_lines_of_the_cell(tmp_path: Path) -> None:
    text = "a\nb\nneedle\nc\nd\nneedle\n"
    files = {
        "list.ipynb": notebook(code(text.splitlines(keepends=True)), indent=1),
        "string.ipynb": notebook(code(text), indent=1),
        "short.ipynb": notebook(code(["needle\n"]), code(["needle\n"])),
    }
    RepositoryBuilder(tmp_path / "one").commit(files, "x")
    with sl.open(tmp_path) as client:
        rows = client.search("needle cell:code count:all", context_lines=1).matches
        assert [(r.path, r.cell, r.cell_line, r.chunk) for r in rows.itertuples()] == [
            ("list.ipynb", 1, 3, "b\nneedle\nc\nd\nneedle"),
            ("list.ipynb", 1, 6, "b\nneedle\nc\nd\nneedle"),
            ("short.ipynb", 1, 1, "needle"),
            ("short.ipynb", 2, 1, "needle"),
            ("string.ipynb", 1, 3, "needle"),
            ("string.ipynb", 1, 6, "needle"),
        ]


def test_what_was_not_read_of_notebooks_is_named(tmp_path: Path) -> None:
    """`complete` means that every cell was searched."""
    good = json.loads(notebook(code("needle\n")))
    odd = {**good, "cells": [None, 5, {"cell_type": "code", "source": {"needle": 1}}, *good["cells"]]}
    mixed = {**good, "cells": [{"cell_type": "code", "source": ["needle\n", 7]}]}
    empty = {**good, "cells": [{"cell_type": "code", "source": None}, {"cell_type": "code"}]}
    files: dict[str, str | bytes] = {
        "UPPER.IPYNB": json.dumps(good),
        "empty.ipynb": json.dumps(empty),
        "mixed.ipynb": json.dumps(mixed),
        "odd.ipynb": json.dumps(odd),
        "utf16.ipynb": json.dumps(good).encode("utf-16"),
    }
    RepositoryBuilder(tmp_path / "one").commit(files, "x")
    with sl.open(tmp_path) as client:
        for query, paths in (("needle", {"UPPER.IPYNB", "mixed.ipynb", "odd.ipynb"}), ("absent", set())):
            result = client.search(f"{query} cell:code count:all")
            assert set(result.matches["path"]) == paths
            assert result.status == "limited"
            skipped = result.skipped.set_index("reason")
            assert (
                skipped.loc["cells-malformed", "title"]
                == "2 files with malformed cells: one: mixed.ipynb, one: odd.ipynb"
            )
            assert skipped.loc["cells-unreadable", "title"] == "1 file without readable cells: one: utf16.ipynb"
        with pytest.warns(sl.IncompleteCountWarning, match="1 file without readable cells: one: utf16.ipynb"):
            counts = client.count_by("needle cell:code", "repository")
        assert counts["matches"].tolist() == [3]
        assert client.search("needle cell:code file:^UPPER count:all").status == "complete"
        assert client.search("absent cell:code file:^empty count:all").status == "complete"
        assert client.search("type:diff needle cell:code file:odd count:all").status == "limited"


def test_revisions_large_and_broken_notebooks(tmp_path: Path) -> None:
    repository = RepositoryBuilder(tmp_path / "one")
    first = repository.commit({"a.ipynb": notebook(code("old"))}, "first")
    image = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "A" * 3_000_000}}
    files = {"a.ipynb": notebook(code("new")), "large.ipynb": notebook(code("new", image)), "broken.ipynb": '{"cells'}
    repository.commit({**files, "gone.ipynb": "{}"}, "second")
    with sl.open(tmp_path) as client:
        assert {row[0] for row in rows_of(client, "new cell:code")} == {"one/a.ipynb", "one/large.ipynb"}
        assert {row[0] for row in rows_of(client, f"old cell:code repo:one rev:{first}")} == {"one/a.ipynb"}
        result = client.search("new cell:code count:all")
        assert result.status == "limited"
        (item,) = result.skipped[result.skipped["reason"] == "cells-unreadable"].itertuples()
        assert item.title == "2 files without readable cells: one: broken.ipynb, one: gone.ipynb"
        assert client.search("new cell:code file:^a count:all").status == "complete"


def test_markdown_notebooks_have_cells_and_pairs_are_told(tmp_path: Path) -> None:
    header = "---\njupyter:\n  jupytext:\n    formats: ipynb,md\n---\n\n"
    files = {
        "a.md": header + "# import\n\n```python\nimport x\n```\n",
        "a.ipynb": notebook(markdown("# import"), code("import x"), indent=1),
        "b.md": "```{code-cell} ipython3\n:tags: [import]\n\nimport y\n```\n",
        "README.md": "```python\nimport z\n```\n",
    }
    RepositoryBuilder(tmp_path / "one").commit(files, "x")
    with sl.open(tmp_path) as client:
        result = client.search("import cell:code count:all")
        rows = sorted((r.path, r.cell, r.cell_line, r.line, r.language) for r in result.matches.itertuples())
        assert rows == [
            ("a.ipynb", 2, 1, "import x", "Python"),
            ("a.md", 2, 1, "import x", "Python"),
            ("b.md", 1, 1, "import y", "Python"),
        ]
        (item,) = result.skipped.itertuples()
        assert (item.reason, item.title) == ("cells-paired", "1 paired file")
        assert result.status == "complete"
        changed = client.search("type:diff import cell:code count:all").matches
        assert sorted(changed["path"]) == ["a.ipynb", "a.md", "b.md"]
        assert len(client.search(r"import cell:code -file:\.ipynb$").skipped) == 0


def test_percent_scripts_and_quarto_have_cells(tmp_path: Path) -> None:
    files = {
        "a.py": "import x\n# %% [markdown]\n# import\n# %%\nimport y\n",
        "plain.py": "import z\n",
        "b.qmd": "import\n\n```{r}\nimport(1)\n```\n",
    }
    RepositoryBuilder(tmp_path / "one").commit(files, "x")
    with sl.open(tmp_path) as client:
        rows = client.search("import cell:code count:all").matches
        assert [(r.path, r.line_number, r.cell, r.language) for r in rows.itertuples()] == [
            ("a.py", 1, 1, "Python"),
            ("a.py", 5, 3, "Python"),
            ("b.qmd", 4, 2, "R"),
        ]


@pytest.mark.parametrize(
    "query", ["x cell:source", "x cell:code type:symbol", "x cell:code type:commit", "cell:code type:path"]
)
def test_what_cells_do_not_have_is_refused(client: sl.Client, query: str) -> None:
    with pytest.raises(QueryError, match="cell"):
        client.search(query)


def test_files_may_be_narrowed_by_their_whole_content(tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "one").commit(
        {"a.ipynb": notebook(code("x"), markdown("licence")), "b.ipynb": notebook(code("x"))}, "x"
    )
    with sl.open(tmp_path) as client:
        assert {row[0] for row in rows_of(client, "x cell:code file:has.content(licence)")} == {"one/a.ipynb"}


def test_a_file_without_a_line_has_the_language_of_its_kernel(tmp_path: Path) -> None:
    files = {"a.ipynb": notebook(code("x")), "b.ipynb": notebook(code("x"), language="R"), "c.py": "# %%\nx\n"}
    RepositoryBuilder(tmp_path / "one").commit(files, "x")
    with sl.open(tmp_path) as client:
        counts = client.count_by("cell:code", "language").set_index("language")["files"]
        assert counts.to_dict() == {"Python": 2, "R": 1}


@pytest.mark.parametrize(
    ("cells", "files"),
    [
        ("load cell:code", r"load file:\.(py|qmd)$"),
        ("load cell:any", "load -file:z"),
        ("cell:markdown", "show -file:z"),
        ("(load OR show) cell:code", "load file:c"),
    ],
)
def test_alternatives_of_cells_and_of_files_are_united(tmp_path: Path, cells: str, files: str) -> None:
    text = notebook(markdown("load it"), code("x = load()\nshow(x)", stream("load")), indent=1)
    contents = {"a.ipynb": text, "b.qmd": "load\n\n```{r}\nload()\n```\n", "c.py": "# %%\nload()\nshow()\n"}
    RepositoryBuilder(tmp_path / "one").commit({**contents, "d.txt": "load show\n"}, "begin")
    with sl.open(tmp_path) as client:
        columns = ["path", "line_number", "line", "cell"]
        rows_of_query = []
        for query in (cells, files, f"({cells}) OR ({files})"):
            rows = client.search(f"{query} count:all").matches
            spans = [
                tuple(zip(row.start, row.end, strict=True)) if row.type == "content" else ()
                for row in rows.itertuples()
            ]
            values = rows[columns].astype(object).where(rows[columns].notna(), None).to_dict("records")
            rows_of_query.append(
                [(tuple(row.values()), set(of_row)) for row, of_row in zip(values, spans, strict=True)]
            )
    expected: dict[Any, set[Any]] = {}
    of_cells, of_files, united = rows_of_query
    # In a text notebook the line of a cell is that of the file.
    cell_of_line = {key[:3]: key for key, _ in of_cells}
    for key, spans_of_row in of_cells + of_files:
        expected.setdefault(cell_of_line.get(key[:3], key), set()).update(spans_of_row)
    # A path gives way to lines of the same file.
    paths = {key[0] for key in expected if key[1] is not None}
    expected = {key: value for key, value in expected.items() if key[1] is not None or key[0] not in paths}
    assert dict(united) == expected
    assert len(united) == len(expected)


def test_cells_of_a_repository_without_an_index_are_not_counted(tmp_path: Path) -> None:
    notebook = json.dumps({"cells": [code("import numpy")], "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
    RepositoryBuilder(tmp_path / "src" / "lib").commit({"a.ipynb": notebook}, "one")
    engine = open_engine([tmp_path / "src"], index=tmp_path / "index", index_now=False)
    target = engine.target_of(engine.catalog.repositories[0])
    parts: list[SearchPart] = []
    query = TextQuery(None, cells=frozenset({"code"}))
    with closing(engine):
        table = engine.store.count((target,), query, ["repository"], Cancellation(), parts.append)
    assert table.num_rows == 0
    assert [list(part.failed) for part in parts] == [["lib"]]  # so the stream answers, which waits for the index
