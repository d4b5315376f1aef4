"""Lines of a file that are tests, and lines within tests.

A search for a custom finds each line that fits its form. Where a mark above a function makes it a test, a function may
have several such lines, or the mark and the function both fit: `keep_tests` leaves one line for each test.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

# A row of a search: the columns `repository`, `path`, `line_number` and `line` are read here.
_Row = dict[str, Any]

_ATTRIBUTES = re.compile(
    r"[ \t]*(?:(?:[#@]?\[(?:[^\[\]]|\[[^\[\]]*\])*\][ \t]*)+"
    r"|(?:@[\w.]+(?:\((?:[^()\"]|\"[^\"]*\"|\([^()]*\))*\))?[ \t]*)+)"
)
"""A line of attributes alone, such as ``[TestCase(1)]`` or ``@Test @Slow``: the test is on a line below."""
_WITH_ATTRIBUTES = frozenset({"C#", "F#", "Groovy", "Java", "Kotlin", "Rust"})
"""Languages in which an attribute or an annotation marks the function below it as a test."""


def keep_tests(language: str, rows: Sequence[_Row]) -> list[_Row]:
    """Return the lines that are a test each, of those that the search for a custom of a language has found."""
    if language in _WITH_ATTRIBUTES:
        return _without_further_attributes(rows)
    return _tests_of_php(rows) if language == "PHP" else list(rows)


def _without_further_attributes(rows: Sequence[_Row]) -> list[_Row]:
    """Return the first of the attributes of each function, which may have several `[TestCase]`."""
    lines_below_attributes = {
        (row["repository"], row["path"], row["line_number"] + 1)
        for row in rows
        if _ATTRIBUTES.fullmatch(row["line"] or "") is not None
    }
    return [row for row in rows if (row["repository"], row["path"], row["line_number"]) not in lines_below_attributes]


_PHP_FUNCTION = re.compile(r"[\w \t]*function[ \t]+(?P<name>\w+)")


def _tests_of_php(rows: Sequence[_Row]) -> list[_Row]:
    """Return the functions that are tests: by their names, or by a mark above them; one with both counts once."""
    tests = []
    file_of_mark: tuple[str, str] | None = None
    for row in sorted(rows, key=lambda row: (row["repository"], row["path"], row["line_number"])):
        file = (row["repository"], row["path"])
        function = _PHP_FUNCTION.match((row["line"] or "").strip())
        if function is None:
            file_of_mark = file
            continue

        is_marked = file_of_mark == file
        if is_marked or function["name"].startswith("test"):
            tests.append(row)
        file_of_mark = None

    return tests


_RUST_MODULE = re.compile(r"(?:pub(?:\([\w ]{1,20}\))?\s+)?mod\s+\w+")
"""The head of a module in the first column: ``mod tests {``, ``pub(crate) mod gates;``."""
_TEST_MODULES = ("mod tests", "mod test")
_MAX_HEAD = 200
"""Characters of a line in which the head of a module is looked for."""
_ATTRIBUTE_LINES = 3
"""Lines above a module in which its condition ``#[cfg(test)]`` is looked for."""


def is_in_test_module(lines: Sequence[str], number: int, path: str) -> bool:
    """Return whether a line (from 1) of a file is in a module of Rust that has tests alone."""
    if not path.endswith(".rs"):
        return False

    for index in range(min(number, len(lines)) - 1, -1, -1):
        line = lines[index][:_MAX_HEAD]
        if line.rstrip() == "}":
            return False  # the end of a block that is above the line

        module = _RUST_MODULE.match(line)
        has_lines_elsewhere = line.rstrip().endswith(";")
        if module is not None and not has_lines_elsewhere:
            above = lines[max(0, index - _ATTRIBUTE_LINES) : index]
            return module[0].endswith(_TEST_MODULES) or any("cfg(test" in line[:_MAX_HEAD] for line in above)

    return False
