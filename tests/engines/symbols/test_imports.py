"""What files import, as it is written, in the table beside the definitions."""

from __future__ import annotations

import pytest

from sourcelight.engines.symbols import SymbolTable, TableBuilder, definitions, imports

SAMPLES = {
    "Python": ("import a.b as c, d\nfrom ..y import (p as q)\nfrom m import *\n",
               [("a.b", "", "c"), ("d", "", ""), ("..y", "p", "q"), ("m", "*", "")]),
    "Go": ('package x\nimport (\n\ty "a/b"\n\t. "c"\n)\n', [("a/b", "", "y"), ("c", "*", "")]),
    "TypeScript": ('import a, {b as c} from "./m";\nexport * from "s";\nconst z = require("zz");\n',
                   [("./m", "default", "a"), ("./m", "b", "c"), ("s", "*", ""), ("zz", "", "")]),
    "Java": ("import a.b.C;\nimport a.*;\n", [("a.b", "C", ""), ("a", "*", "")]),
    "C": ('#include <stdio.h>\n#include "a/b.h"\n', [("<stdio.h>", "", ""), ("a/b.h", "", "")]),
    "Rust": ("use a::b::{self, C as D};\nmod foo;\n", [("a::b", "", ""), ("a::b", "C", "D"), ("self", "foo", "")]),
    "C#": ("using X = A.B;\n", [("A.B", "", "X")]),
    "Kotlin": ("import a.b.C as D\n", [("a.b", "C", "D")]),
    "Scala": ("import a.{C, D => E}\n", [("a", "C", ""), ("a", "D", "E")]),
    "PHP": ("<?php\nuse A\\B\\C as D;\n", [("A\\B", "C", "D")]),
    "Ruby": ("require_relative 'c'\nputs 'x'\n", [("./c", "", "")]),
    "Shell": ("source ./a.sh\necho x\n", [("./a.sh", "", "")]),
}  # fmt: skip


@pytest.mark.parametrize("language", SAMPLES)
def test_imports_are_read_in_every_language(language: str) -> None:
    """Module, member and alias; nothing else is taken for an import."""
    text, expected = SAMPLES[language]
    assert [(item.module, item.member, item.alias) for item in imports(language, text.encode())] == expected


class _Held:
    """The arrays of a builder, as a mapped file would give them."""

    def __init__(self, builder: TableBuilder) -> None:
        self.metadata = builder.metadata()
        self._arrays = builder.sections()

    def array(self, name: str):  # type: ignore[no-untyped-def]
        """Give an array."""
        return self._arrays[name]

    def bytes_of(self, name: str) -> memoryview:
        """Give its bytes."""
        return memoryview(self._arrays[name].tobytes())


def test_tables_give_imports_back() -> None:
    """Document by document, lines and aliases included; modules are counted over all."""
    builder = TableBuilder()
    texts = [(language, text.encode()) for language, (text, _) in SAMPLES.items()]
    for number, (language, text) in enumerate(texts):
        builder.add(bytes([number]) * 20, language, definitions(language, text))
    table = SymbolTable(_Held(builder))
    for number, (language, text) in enumerate(texts):
        assert table.imports(number) == imports(language, text)
    assert table.imported_modules()["a.b"] == 3
    assert bool(table.importing.all())
