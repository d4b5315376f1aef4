"""Cells of percent scripts, Quarto and R Markdown."""

from __future__ import annotations

import pytest

from sourcelight.core.cells import CellDocument, read_cells

PERCENT = b"""# ---
# jupyter: {kernelspec: {}}
# ---

import os

# %% [markdown]
# # Title
# %% load data
x = 1

#%%
y = "# %%"
# %%%not a marker
# %% [raw] tags=["a"]
# z
"""
QUARTO = b"""---
title: x
---

Hello

```{python}
#| echo: false
import a
```
```python
shown = 1
```
````{r name, echo=FALSE}
```
x <- 1
````
{{< video x >}}
```{{python}}
```
  > ```{julia}
b
  > ```
"""


def rows_of(document: CellDocument) -> list[tuple[int, str, str, int, str]]:
    return [(text.cell, text.kind, text.language, text.file_lines[0], text.line(0).decode()) for text in document.texts]


def test_percent_scripts() -> None:
    assert rows_of(read_cells("a.py", PERCENT)) == [
        (1, "code", "Python", 4, ""),
        (2, "markdown", "Python", 8, "# # Title"),
        (3, "code", "Python", 10, "x = 1"),
        (4, "code", "Python", 13, 'y = "# %%"'),
        (5, "raw", "Python", 16, "# z"),
    ]


def test_quarto() -> None:
    assert rows_of(read_cells("a.qmd", QUARTO)) == [
        (1, "raw", "Python", 1, "---"),
        (2, "markdown", "Python", 4, ""),
        (3, "code", "Python", 8, "#| echo: false"),
        (4, "markdown", "Python", 11, "```python"),
        (5, "code", "R", 15, "```"),
        (6, "markdown", "Python", 18, "{{< video x >}}"),
        (7, "code", "Julia", 22, "b"),
    ]


@pytest.mark.parametrize(("path", "data"), [("a.py", PERCENT), ("a.qmd", QUARTO), ("a.Rmd", QUARTO)])
def test_texts_are_runs_of_whole_lines(path: str, data: bytes) -> None:
    lines = data.splitlines()
    for text in read_cells(path, data).texts:
        for number, line in enumerate(text.file_lines):
            assert text.line(number) == lines[line - 1]
            assert data[text.file_offset(number) :].splitlines()[0] == lines[line - 1]


@pytest.mark.parametrize("path", ["a.py", "a.txt", "a.md"])
def test_other_files_have_no_cells(path: str) -> None:
    assert read_cells(path, b"x = 1\n").texts == ()


@pytest.mark.parametrize(
    "data", [b"```{r}", b"```{r}\nx", b"---\n---", b"", b"```{r}\n```", b"# %%", b"# %%\n", b"\n```\n"]
)
def test_files_that_end_early(data: bytes) -> None:
    for path in ("a.qmd", "a.py"):
        for text in read_cells(path, data).texts:
            assert text.text in data
