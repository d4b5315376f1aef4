"""Print where an index file of rust-analyzer says that names are defined: one JSON object a line.

rust-analyzer scip CHECKOUT --output index.scip
python benchmarks/truth/rust_names.py CHECKOUT index.scip > rust.jsonl
"""

import functools
import json
import sys
from collections import defaultdict
from pathlib import Path

from sourcelight.engines.navigation.scip.decode import DEFINITION, ScipOccurrence, read_documents

ROOT = Path(sys.argv[1])
KEYWORDS = frozenset({"self", "Self", "crate", "super"})


@functools.cache
def lines_of(path: str) -> list[str]:
    """Give the lines of a file."""
    return (ROOT / path).read_text().split("\n")


def offset_of(path: str, line: int, column: int) -> int:
    """Give the byte offset of a place."""
    lines = lines_of(path)
    return sum(len(one.encode()) + 1 for one in lines[:line]) + len(lines[line][:column].encode())


def category_of(line: str, one: ScipOccurrence) -> str:
    """Tell how a name is used."""
    before = line[: one.start_column].rstrip()
    if one.symbol.startswith("local "):
        return "local name"
    if before.endswith("."):
        return "method or field"
    if before.endswith("::"):
        return "path"
    return "import statement" if line.lstrip().startswith(("use ", "pub use ")) else "name"


def main() -> None:
    """Print the rows."""
    documents = [one for one in read_documents(Path(sys.argv[2]).read_bytes()) if (ROOT / one.path).exists()]
    defined: dict[tuple[str, str], list[tuple[str, int]]] = defaultdict(list)
    for document in documents:
        for one in document.occurrences:
            if one.roles & DEFINITION:
                place = document.path, offset_of(document.path, one.start_line, one.start_column)
                defined[document.path if one.symbol.startswith("local ") else "", one.symbol].append(place)
    for document in documents:
        lines = lines_of(document.path)
        for one in document.occurrences:
            targets = defined.get((document.path if one.symbol.startswith("local ") else "", one.symbol))
            if one.roles & DEFINITION or not targets or one.start_line != one.end_line:
                continue
            name = lines[one.start_line][one.start_column : one.end_column]
            if name.isidentifier() and name not in KEYWORDS:
                offset = offset_of(document.path, one.start_line, one.start_column)
                category = category_of(lines[one.start_line], one)
                row = {"file": document.path, "offset": offset, "name": name, "category": category}
                print(json.dumps({**row, "targets": targets}))


if __name__ == "__main__":
    main()
