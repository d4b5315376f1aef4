"""Languages without a resolver: the scopes of the file, then names ranked; each answer says which."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engines.navigation.sample import call, open_engine, rows
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import make_repo

FILES = {
    "a.kt": "package a\nclass A {\n  val size = 1\n  fun f() = size\n  fun g() { f(); this.f() }\n}\n"
    "class B { fun f() {} }\nfun f() {}\nfun h(b: B) { f(); b.f(); far() }\n",
    "b.kt": "package a\nfun far() {}\nfun size() {}\n",
    "a.scala": "object A {\n  def f = 1\n  def g = f\n}\nclass B {\n  def f = 2\n  def h = this.f\n}\n",
    "a.rb": "class A\n  def f; end\n  def g\n    f\n    self.f\n  end\nend\nclass B\n  def f; end\n  def h\n    f\n"
    "  end\nend\ndef f; end\nf\n",
    "a.php": "<?php\nclass A {\n  function f() {}\n  function g() { $this->f(); }\n"
    "  static function s() { self::f(); }\n  function t() { f(); }\n}\nclass B { function f() {} }\nfunction f() {}\n",
    "a.sh": "f() { echo 1; }\ng() { f; }\n",
}
CLAIMS = [
    ("a.kt", "f", 5, 12, 4, "scope"),
    ("a.kt", "f", 5, 22, 4, "scope"),
    ("a.kt", "size", 4, 12, 3, "scope"),
    ("a.kt", "f", 9, 14, 8, "scope"),
    ("a.kt", "f", 7, 14, 7, "scope"),
    ("a.scala", "f", 3, 10, 2, "scope"),
    ("a.scala", "f", 7, 15, 6, "scope"),
    ("a.rb", "f", 4, 4, 2, "scope"),
    ("a.rb", "f", 5, 9, 2, "scope"),
    ("a.rb", "f", 11, 4, 9, "scope"),
    ("a.rb", "f", 15, 0, 14, "scope"),
    ("a.php", "f", 4, 24, 3, "scope"),
    ("a.php", "f", 5, 30, 3, "scope"),
    ("a.php", "f", 6, 17, 9, "scope"),
    ("a.sh", "f", 2, 6, 1, "scope"),
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """One repository."""
    folder = tmp_path_factory.mktemp("same-file")
    make_repo(folder / "code" / "mixed", FILES)
    engine = open_engine(folder)
    engine.store.update_symbols([engine.target_of(repository) for repository in engine.catalog.repositories])
    return engine


@pytest.mark.parametrize(("path", "symbol", "line", "column", "expected", "method"), CLAIMS)
def test_the_nearest_definition_around_a_use_is_meant(
    engine: LocalEngine, path: str, symbol: str, line: int, column: int, expected: int, method: str
) -> None:
    requests: dict[str, Any] = {"repo": "mixed", "path": path, "symbol": symbol, "line": line, "column": column}
    first = rows(call(engine, "go_to_definition", **requests))[0]
    assert (first["path"], first["line_number"], first["how"], first["precise"]) == (path, expected, method, False)


def test_what_scopes_do_not_tell_is_ranked_and_said_to_be(engine: LocalEngine) -> None:
    requests: dict[str, Any] = {"repo": "mixed", "path": "a.kt", "line": 9}
    behind_a_dot = rows(call(engine, "go_to_definition", **requests, symbol="f", column=21))
    assert {row["how"] for row in behind_a_dot} == {"name"}
    assert {row["line_number"] for row in behind_a_dot} >= {4, 7, 8}
    elsewhere = rows(call(engine, "go_to_definition", **requests, symbol="far"))
    assert [(row["path"], row["how"]) for row in elsewhere] == [("b.kt", "name")]


def test_references_leave_out_what_another_scope_means(tmp_path: Path) -> None:
    make_repo(tmp_path / "code" / "mixed", FILES)
    engine = open_engine(tmp_path)
    result = rows(call(engine, "find_references", repo="mixed", path="a.rb", symbol="f", line=9))
    assert [(row["line_number"], row["role"], row["how"]) for row in result] == [
        (9, "definition", "scope"),
        (11, "name", "scope"),
    ]


USES = {
    "a.rb": """# mill is a comment
def mill; @mill; end
attr_reader :mill
puts "a mill of #{mill}"
send("mill")
mill! # mill
x = <<~END
  mill #{mill}
END
""",
    "a.php": """<p>mill</p>
<?php
// mill
/** @see mill */
function mill() { return "mill {$this->mill()}"; }
call_user_func('mill', 'Wind\\mill', 'a mill');
""",
    "a.kt": """/* mill
   mill */
fun mill() = "mill ${mill()}"
fun `a mill`() = `mill`()
""",
    "a.scala": """// mill
object A { def mill = s"mill $mill"; val x = "mill of " }
""",
    "a.sh": """# mill
mill() { echo mill-stone; }
trap 'mill; exit' EXIT
echo "$(mill)"
""",
}
"""A name in code, comments and texts."""


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        ("a.rb", [2, 3, 4, 5, 8]),
        ("a.php", [5, 5, 6, 6]),
        ("a.kt", [3, 3, 4]),
        ("a.scala", [2, 2]),
        ("a.sh", [2, 3, 4]),
    ],
)
def test_words_of_comments_and_texts_are_no_references(tmp_path: Path, path: str, lines: list[int]) -> None:
    """A text that is the name alone, or that Shell runs, is one."""
    make_repo(tmp_path / "code" / "mill", {path: USES[path]})
    engine = open_engine(tmp_path)
    result = rows(call(engine, "find_references", repo="mill", path=path, symbol="mill"))
    assert [row["line_number"] for row in result] == lines


def test_a_file_that_the_grammar_gives_up_is_searched_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sourcelight.engines.navigation.workspace.MAX_PARSE_S", -60.0)
    make_repo(tmp_path / "code" / "mill", {"a.kt": USES["a.kt"]})
    answer = call(open_engine(tmp_path), "find_references", repo="mill", path="a.kt", symbol="mill")
    assert [row["line_number"] for row in rows(answer)] == [1, 2, 3, 3, 3, 4, 4]
