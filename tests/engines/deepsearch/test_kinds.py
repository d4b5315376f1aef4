"""Kinds of definitions are words of their own lines, in the terms of their languages."""

from __future__ import annotations

import pytest

from sourcelight.engines.deepsearch.facts.kinds import kind_in_words
from sourcelight.engines.deepsearch.question.lookups import read_lookup
from sourcelight.engines.deepsearch.source.values import value_of
from sourcelight.engines.symbols.definition_parser import Definition


@pytest.mark.parametrize(
    ("path", "line", "name", "kind", "words"),
    [
        ("a.go", "type NormalizedName string", "NormalizedName", "class", "type"),
        ("a.go", "\tcell struct {", "cell", "struct", "struct"),
        ("a.go", "type Value interface {", "Value", "interface", "interface"),
        ("a.rs", "pub trait Visit {", "Visit", "interface", "trait"),
        ("a.rs", "pub type Result<T> = std::result::Result<T, Error>;", "Result", "class", "type"),
        ("a.rs", "macro_rules! bail {", "bail", "function", "macro"),
        ("a.rs", "    pub fn new(root: &str) -> Self {", "new", "method", "function"),
        ("a.rs", "    pub fn len(&self) -> usize {", "len", "method", "method"),
        ("a.ts", "export type Options = {", "Options", "class", "type"),
        ("a.ts", "    get size() {", "size", "method", "property"),
        ("a.cpp", "template <class T> struct Box {", "Box", "class", "struct"),
        ("a.cpp", "enum class Color { Red };", "Color", "enum", "enum"),
        ("a.cc", "BENCHMARK(Sum) {", "BENCHMARK", "function", ""),
        ("a.c", "#define MAX_ITEMS 8", "MAX_ITEMS", "constant", "macro"),
        ("A.kt", "public object Complete : Event {", "Complete", "class", "object"),
        ("A.java", "public record Point(int x) {}", "Point", "class", "record"),
        ("A.java", "public @interface Fast {}", "Fast", "interface", "annotation"),
        ("A.java", "    static final int LIMIT = 3;", "LIMIT", "constant", "constant"),
        ("a.rb", "def total", "total", "function", "method"),
        ("a.py", "total = 3", "total", "variable", ""),
    ],
)
def test_a_kind_is_what_the_line_says(path: str, line: str, name: str, kind: str, words: str) -> None:
    assert kind_in_words(Definition(name, kind, "Holder", 0, 1, 1, 1), [line], path) == words


@pytest.mark.parametrize(
    ("path", "lines", "value"),
    [
        ("a.ts", ["const schema = z", "  .string()"], None),
        ("a.ts", ["const limit = 12", "", "export default limit"], "12"),
        ("a.rb", ["POST = <<~TEXT", "  hello", "TEXT"], None),
        ("A.java", ["int size = first", "    + second;"], None),
        ("A.java", ["int size = first;"], "first"),
        ("a.js", ["const port = env.PORT", "  || 80"], None),
    ],
)
def test_a_value_that_goes_on_below_is_no_value(path: str, lines: list[str], value: str | None) -> None:
    names = ("POST", "schema", "limit", "size", "port")
    read = value_of(lines, next(name for name in names if name in lines[0]), 1, path)
    assert (read.text if read is not None else None) == value


@pytest.mark.parametrize(
    ("question", "kind", "name"),
    [
        ("who last changed line 57 of src/Uuid.php and when", "line", "src/Uuid.php"),
        ("git blame line 3 of a.py", "line", "a.py"),
        ("when was line 12 of a.c last modified", "line", "a.c"),
        ("where do we throw NameError?", "throws", "NameError"),
        ("in which file is KeyAlgorithm", "definition", "KeyAlgorithm"),
        ("where can i find TurbineTest", "definition", "TurbineTest"),
        ("is ring still a dependency?", "dependency", "ring"),
        ("does it depend on anything outside the standard library?", "dependencies", "dependencies"),
    ],
)
def test_wording_of_colleagues(question: str, kind: str, name: str) -> None:
    lookup = read_lookup(question)
    assert lookup is not None
    assert (lookup.kind, lookup.path or lookup.name) == (kind, name)
