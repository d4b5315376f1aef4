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
    return sum(len(item.encode()) + 1 for item in lines[:line]) + len(lines[line][:column].encode())


def category_of(line: str, occurrence: ScipOccurrence) -> str:
    """Tell how a name is used."""
    before = line[: occurrence.start_column].rstrip()
    if occurrence.symbol.startswith("local "):
        return "local name"
    if before.endswith("."):
        return "method or field"
    if before.endswith("::"):
        return "path"
    return "import statement" if line.lstrip().startswith(("use ", "pub use ")) else "name"


def main() -> None:
    """Print the rows."""
    documents = [
        occurrence for occurrence in read_documents(Path(sys.argv[2]).read_bytes()) if (ROOT / occurrence.path).exists()
    ]
    defined: dict[tuple[str, str], list[tuple[str, int]]] = defaultdict(list)
    for document in documents:
        for occurrence in document.occurrences:
            if occurrence.roles & DEFINITION:
                position = document.path, offset_of(document.path, occurrence.start_line, occurrence.start_column)
                defined[document.path if occurrence.symbol.startswith("local ") else "", occurrence.symbol].append(
                    position
                )
    for document in documents:
        lines = lines_of(document.path)
        for occurrence in document.occurrences:
            targets = defined.get((document.path if occurrence.symbol.startswith("local ") else "", occurrence.symbol))
            if occurrence.roles & DEFINITION or not targets or occurrence.start_line != occurrence.end_line:
                continue
            name = lines[occurrence.start_line][occurrence.start_column : occurrence.end_column]
            if name.isidentifier() and name not in KEYWORDS:
                offset = offset_of(document.path, occurrence.start_line, occurrence.start_column)
                category = category_of(lines[occurrence.start_line], occurrence)
                row = {"file": document.path, "offset": offset, "name": name, "category": category}
                print(json.dumps({**row, "targets": targets}))


if __name__ == "__main__":
    main()
