"""The gallery shows the cells of the notebooks as they are."""

from __future__ import annotations

import ast
import builtins
import subprocess
import sys

from docs.snippets import ROOT, Snippet, snippets

PAGE = ROOT / "docs" / "gallery.md"


def test_the_gallery_has_the_code_of_the_notebooks_and_a_picture_of_each() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/gallery", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert PAGE.read_text("utf-8").count("![") == 12


def unknown(snippet: Snippet) -> set[str]:
    """Names that a block reads and never defines."""
    read, defined = set(), set(dir(builtins))
    for node in ast.walk(ast.parse(snippet.text)):
        match node:
            case ast.Name(ctx=ast.Load()):
                read.add(node.id)
            case ast.Name():
                defined.add(node.id)
            case ast.FunctionDef(name=name) | ast.arg(arg=name):
                defined.add(name)
            case ast.alias():
                defined.add(node.asname or node.name)
    return read - defined


def test_each_example_needs_only_the_first_block() -> None:
    first, *examples = snippets(PAGE)
    assert unknown(first) == set()
    assert len(examples) == 12
    missing = {example.line: unknown(example) - {"sl", "code"} for example in examples}
    assert {line: names for line, names in missing.items() if names} == {}
