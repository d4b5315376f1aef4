"""Cells of Markdown notebooks, as jupytext reads them."""

from __future__ import annotations

import contextlib
import random
import warnings

import jupytext  # type: ignore[import-untyped]
import nbformat
import pytest

from sourcelight.core.cells import has_marker, read_cells
from sourcelight.core.cells.reading import chunks_of

MYST = """---
kernelspec:
  name: python3
---
# Title

```{code-cell} ipython3
:tags: [a]

x = 1
```
- item
  ```{code-cell}
  nested
  ```
````
```{code-cell}
shown
```
````
<!--
```{code-cell}
hidden
```
-->

+++ {"a": 1}

end
```{raw-cell}
raw
"""
KINDS = {"code": "code", "markdown": "markdown", "raw": "raw"}
LINES = ["# Title", "text", "", "", "", "    indented", "- item", "```", "~~~", "```js", "````", "a `b` ```", "x = 1"]
LINES += 2 * ["```python", '```R tags=["a"]', "```python .noeval", "```text", "<!-- #region -->", "<!-- #endregion -->"]
LINES += 2 * ["<!-- #raw -->", "<!-- #endraw -->", "```{code-cell}", "```{code-cell} python", "```{raw-cell}", "+++"]
LINES += 2 * [":tags: [a]", "---"]
HEADERS = {
    "markdown": """---
jupyter:
  jupytext:
    text_representation:
      extension: .md
      format_name: markdown
      format_version: '1.3'
---

""",
    "myst": """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
---

""",
}
NO_NOTEBOOKS = {
    "plain": "# Title\n```python\nx\n```\n",
    "about MyST": "---\ntitle: x\n---\n````\n```{code-cell}\n```\n````\n",
    "empty": "",
}
SOURCES = ["x = 1", "import os\n\n\ny = 2", "# Title\n\ntext", "a\n\n```python\nb\n```", "- a\n\n\n- b"]
CODE = 's = """\n```\n"""'


def cells_of(path: str, text: str) -> list[tuple[int, str, str]]:
    """Number, kind and text of each cell that has a text, without blank lines around."""
    document = read_cells(path, text.encode())
    assert not document.texts or has_marker(path, text.encode())
    return [(cell.cell, cell.kind, cell.text.decode().strip("\n")) for cell in document.texts if cell.text.strip()]


def cells_by_jupytext(text: str, fmt: str = "md") -> list[tuple[int, str, str]]:
    """The same by jupytext. Code in another language than the notebook's has a magic there, which no file has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        notebook = jupytext.reads(text, fmt=fmt)
    result = []
    for number, cell in enumerate(notebook.cells, 1):
        source = cell.source
        if cell.cell_type == "code" and source.startswith("%%"):
            source = source.partition("\n")[2]
        if source.strip():
            result.append((number, KINDS[cell.cell_type], source.strip("\n")))
    return result


def test_myst() -> None:
    assert [(number, kind) for number, kind, _ in cells_of("a.md", MYST)] == [
        (1, "markdown"), (2, "code"), (3, "markdown"), (4, "markdown"), (5, "raw"),
    ]  # fmt: skip
    (code,) = (text for text in read_cells("a.md", MYST.encode()).texts if text.kind == "code")
    assert (code.text, code.language, list(code.file_lines)) == (b"x = 1\n", "Python", [10])
    (chunk,) = (chunk for chunk in chunks_of("a.md", MYST.split("\n")) if chunk.text.kind == "code")
    assert chunk.heading_line == 7


@pytest.mark.parametrize("text", NO_NOTEBOOKS.values(), ids=NO_NOTEBOOKS)
def test_other_markdown_has_no_cells(text: str) -> None:
    assert read_cells("a.md", text.encode()).texts == ()


@pytest.mark.parametrize("format_name", ["markdown", "myst"])
def test_drawn_notebooks_have_the_cells_of_jupytext(format_name: str) -> None:
    draw = random.Random(7)  # noqa: S311 - examples, no secrets
    compared = 0
    for _ in range(400):
        lines = draw.choices(LINES, k=draw.randrange(1, 16))
        text = HEADERS[format_name] + "\n".join(lines) + "\n"
        expected = None
        with contextlib.suppress(Exception):  # jupytext refuses options that are no YAML
            expected = cells_by_jupytext(text)
        if expected is not None:
            compared += 1
            assert cells_of("a.md", text) == expected, text
    assert compared > 200


@pytest.mark.parametrize(("extension", "fmt"), [("md", "md"), ("md", "md:myst"), ("py", "py:percent")])
def test_the_files_of_a_pair_have_the_same_cells(extension: str, fmt: str) -> None:
    """What jupytext writes for a notebook has its cells, with its numbers, whatever these hold."""
    draw = random.Random(fmt)  # noqa: S311
    new = {name: getattr(nbformat.v4, f"new_{name}_cell") for name in KINDS}
    for _ in range(60):
        kinds = draw.choices(["code", "markdown", "raw"], weights=[3, 2, 1], k=draw.randrange(1, 7))
        cells = [new[kind](draw.choice([*SOURCES, CODE] if kind == "code" else SOURCES)) for kind in kinds]
        kernel = {"name": "python3", "language": "python", "display_name": "Python 3"}
        text = jupytext.writes(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), fmt)
        document = read_cells(f"a.{extension}", text.encode())
        assert [cell.kind for cell in document.texts] == kinds, text
        assert [cell.cell for cell in document.texts] == list(range(1, len(cells) + 1))
        if extension == "md":
            assert [cell.text.decode().strip() for cell in document.texts] == [cell.source for cell in cells]
