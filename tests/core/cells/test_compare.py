"""Two versions of a notebook are compared cell by cell: what is shown turns one into the other."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest

from sourcelight.core.cells import read_cells
from sourcelight.core.cells.compare import ChangedText, NotebookDiff, compare_cells


def cell(source: str, output: str = "", kind: str = "code", count: int = 1) -> dict[str, Any]:
    outputs = [{"output_type": "stream", "name": "stdout", "text": output}] if output else []
    return {"cell_type": kind, "execution_count": count, "metadata": {}, "outputs": outputs, "source": source}


def notebook(*cells: dict[str, Any], **layout: Any) -> Any:
    content = {"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4}
    return read_cells("a.ipynb", json.dumps(content, **layout).encode())


def compare(old: Any, new: Any) -> NotebookDiff:
    diff = compare_cells(old, new)
    assert diff is not None
    return diff


def changed_lines(text: ChangedText) -> list[tuple[str, str]]:
    return [(line.side, line.text) for line in text.lines]


def test_a_run_and_another_layout_are_no_changes() -> None:
    old = notebook(cell("import a", "x"), cell("b", kind="markdown"))
    new = notebook(cell("import a", "x", count=7), cell("b", kind="markdown"), indent=1)
    assert compare(old, new) == NotebookDiff([], 2)


def test_cells_come_go_and_change() -> None:
    old = notebook(cell("import a"), cell("gone = 1"), cell("x = 1\ny = 2\nz = 3\n", "1"), cell("end"))
    new = notebook(cell("import a"), cell("x = 1\ny = 5\nz = 3\n", "2"), cell("entirely new"), cell("end"))
    diff = compare(old, new)
    assert [text.heading for text in diff.texts] == [
        "Cell 2 (code), removed",
        "Cell 2 (code), was cell 3",
        "Cell 2 (output), was cell 3",
        "Cell 3 (code), added",
    ]
    assert changed_lines(diff.texts[1]) == [
        ("context", "x = 1"), ("removed", "y = 2"), ("added", "y = 5"), ("context", "z = 3")
    ]  # fmt: skip
    assert diff.equal_cells == 2


def test_unchanged_lines_are_three_around_each_change() -> None:
    lines = [f"line {number}" for number in range(40)]
    old = notebook(cell("\n".join(lines)))
    new = notebook(cell("\n".join([*lines[:10], "new", *lines[10:30], *lines[31:]])))
    (text,) = compare(old, new).texts
    numbers = [(line.side, line.old, line.new) for line in text.lines]
    assert numbers[0] == ("gap", None, None)
    assert numbers[1:4] == [("context", 8, 8), ("context", 9, 9), ("context", 10, 10)]
    assert numbers[4:9] == [
        ("added", None, 11), ("context", 11, 12), ("context", 12, 13), ("context", 13, 14), ("gap", None, None)
    ]  # fmt: skip
    assert numbers[-2:] == [("context", 34, 34), ("gap", None, None)]


@pytest.mark.parametrize("seed", range(60))
def test_changes_turn_one_version_into_the_other(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - no secret

    def source() -> str:
        return "\n".join(draw.choice("abcdefgh") * draw.randrange(1, 3) for _ in range(draw.randrange(1, 9)))

    old_cells = [cell(source(), source() if draw.random() < 0.5 else "") for _ in range(draw.randrange(8))]
    new_cells = list(old_cells)
    for _ in range(draw.randrange(5)):
        position = draw.randrange(len(new_cells) + 1)
        replacement = [cell(source(), source())] * draw.randrange(2)
        new_cells[position : position + draw.randrange(2)] = replacement
    old, new = notebook(*old_cells), notebook(*new_cells)
    diff = compare(old, new)
    for changed in diff.texts:
        for line in changed.lines:
            for text, number in ((changed.old, line.old), (changed.new, line.new)):
                assert number is None or (text is not None and text.line(number - 1).decode() == line.text)
    # What isn't shown is the same in both.
    rests = [
        [t.text for t in document.texts if all(t is not (c.old if is_old else c.new) for c in diff.texts)]
        for document, is_old in ((old, True), (new, False))
    ]
    assert rests[0] == rests[1]


def test_hostile_versions_take_bounded_time() -> None:
    old = notebook(*(cell("\n".join(["x", f"y{number}"] * 100)) for number in range(400)))
    new = notebook(*(cell("\n".join(["x", f"z{number}"] * 100)) for number in range(400)))
    start = time.process_time()
    diff = compare(old, new)
    assert time.process_time() - start < 10
    assert diff.equal_cells == 0
    assert compare_cells(notebook(*[cell("a")] * 3_000), new) is None
