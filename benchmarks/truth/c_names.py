"""Print where libclang says that the names of C files are defined: one JSON object a line.

Definitions elsewhere below the folder of the first file are accepted beside the announcement in a header.

    python benchmarks/truth/c_names.py CHECKOUT "-Isrc -D_GNU_SOURCE" src/dict.c src/networking.c > c.jsonl
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

cindex: Any = importlib.import_module("clang.cindex")
Kind: Any = cindex.CursorKind
BUILT_IN = Path("/usr/lib/gcc/x86_64-linux-gnu").glob("*/include")


def place_of(cursor: Any, root: Path) -> tuple[str, int] | None:
    """Give file and offset of a cursor, if it stands below the root."""
    if cursor is None or cursor.location.file is None:
        return None
    path = Path(cursor.location.file.name).resolve()
    return (str(path.relative_to(root)), cursor.location.offset) if path.is_relative_to(root) else None


def category_of(cursor: Any) -> str:
    """Name what a cursor declares."""
    kind = cursor.kind
    if kind == Kind.VAR_DECL:
        parent = cursor.semantic_parent
        return "local name" if parent is not None and parent.kind == Kind.FUNCTION_DECL else "global variable"
    return {
        Kind.PARM_DECL: "local name",
        Kind.LABEL_STMT: "local name",
        Kind.FIELD_DECL: "member",
        Kind.FUNCTION_DECL: "function",
        Kind.MACRO_DEFINITION: "macro",
        Kind.ENUM_CONSTANT_DECL: "enumerator",
    }.get(kind, "type")


def bodies_in(folder: Path, root: Path, flags: list[str], index: Any) -> dict[str, set[tuple[str, int]]]:
    """Give where the functions and variables of all files below a folder are defined."""
    results: dict[str, set[tuple[str, int]]] = {}
    for file in sorted(folder.rglob("*.c")):
        for cursor in index.parse(str(file), args=flags).cursor.get_children():
            variable = cursor.kind == Kind.VAR_DECL and cursor.storage_class.name != "EXTERN"
            if variable or (cursor.kind == Kind.FUNCTION_DECL and cursor.is_definition()):
                location = place_of(cursor, root)
                if location is not None:
                    results.setdefault(cursor.get_usr(), set()).add(location)
    return results


def main() -> None:
    """Print the rows."""
    root = Path(sys.argv[1]).resolve()
    flags = [f"-I{root / flag[2:]}" if flag.startswith("-I") else flag for flag in sys.argv[2].split()]
    flags += [f"-I{folder}" for folder in BUILT_IN]
    index = cindex.Index.create()
    bodies = bodies_in((root / sys.argv[3]).parent, root, flags, index)
    seen: set[tuple[str, int]] = set()
    for file in sys.argv[3:]:
        options = cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
        unit = index.parse(str(root / file), args=flags, options=options)
        print(
            file, [diagnostic.spelling for diagnostic in unit.diagnostics if diagnostic.severity > 3], file=sys.stderr
        )
        for token in unit.get_tokens(extent=unit.cursor.extent):
            location = place_of(token, root) if token.kind.name == "IDENTIFIER" else None
            meant = token.cursor.referenced if location is not None and location not in seen else None
            if location is None or meant is None or meant.spelling != token.spelling:
                continue
            locations = [place_of(diagnostic, root) for diagnostic in (meant, meant.get_definition(), meant.canonical)]
            targets = {position for position in locations if position is not None} | bodies.get(meant.get_usr(), set())
            if targets and location not in targets:
                seen.add(location)
                row = {
                    "file": location[0],
                    "offset": location[1],
                    "name": token.spelling,
                    "category": category_of(meant),
                }
                print(json.dumps({**row, "targets": sorted(targets)}))


if __name__ == "__main__":
    main()
