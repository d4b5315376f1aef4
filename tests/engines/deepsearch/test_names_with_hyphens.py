"""Names with hyphens, reasons beside lines, and callers in files that no grammar reads."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.source.functions import enclosing_function
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

FILES: dict[str | bytes, str | bytes | None] = {
    "src/harbor.clj": (
        '(ns harbor)\n\n(defn moor-ship\n  "Moors.\n(defn fake [x]"\n  [ship]\n  ship)\n\n'
        "(defn- ship-request [request]\n  (moor-ship (:ship request)))\n\n"
        '(defn open-harbor [request]\n  ; (moor-ship nil)\n  (str "(moor-ship)")\n  (moor-ship request))\n\n'
        "(defn re-moor-ship [ship] ship)\n"
    ),
    "lib/tide.ex": (
        "defmodule Tide do\n  def rise(x) do\n    case x do\n      :low -> lift_water(x)\n    end\n  end\n\n"
        "  def fall(x), do: lift_water(x)\n\n  defp lift_water(x), do: x\nend\n"
    ),
    "src/knots.c": (
        "static int tie_knot(int a) {\n    return a;\n}\n\nint ZEXPORT make_rope(strm, flush) {\n"
        "    return tie_knot(2);\n}\n\n"
        "int declared(int a,\n             int b);\nINLINE(int) splice(void) {\n    return tie_knot(3);\n}\n"
    ),
    "docs/read.md": "# Notes\n\nA read-only file, a long-running task.\n",
    "src/limits.py": "class Limits:\n    def __init__(self, sail_area):\n        self.sail_area = sail_area\n",
    "src/errors.py": (
        "def guard(ship):\n    if not ship:\n        raise LeakError('water')\n    return handle(LeakError)\n"
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    root = tmp_path_factory.mktemp("harbor")
    RepositoryBuilder(root / "harbor").commit(FILES, "Build the harbor")
    engine = open_engine([root], index=root / "index", workers=1)
    yield engine
    engine.close()


def headline(engine: LocalEngine, question: str) -> str:
    """The text of an answer before its first section."""
    return research(engine, question).text.split("\n## ")[0]


def test_a_name_with_a_hyphen_needs_no_quotation_marks(engine: LocalEngine) -> None:
    assert headline(engine, "where is open-harbor defined?").startswith("`open-harbor` is defined in `src/harbor.clj`")
    # The longer name has it, and isn't it.
    assert "line 17" not in headline(engine, "where is moor-ship defined?")


def test_a_word_of_prose_with_a_hyphen_is_no_name(engine: LocalEngine) -> None:
    assert "`read-only` is" not in headline(engine, "where is read-only handled?")
    assert not headline(engine, "where is long-running defined?").startswith("`")


def test_a_caller_without_a_grammar_has_its_function(engine: LocalEngine) -> None:
    text = headline(engine, "what calls moor-ship?")
    assert "`ship-request` (line 10 of `src/harbor.clj`)" in text
    assert "`open-harbor` (line 15 of `src/harbor.clj`)" in text
    assert "`fake`" not in text
    assert "line 13" not in text


def test_a_clause_inside_a_case_is_of_its_function(engine: LocalEngine) -> None:
    text = headline(engine, "what calls lift_water?")
    assert "`rise` (line 4 of `lib/tide.ex`)" in text
    assert "`fall` (line 8 of `lib/tide.ex`)" in text


def test_a_macro_in_a_head_of_c_hides_no_caller(engine: LocalEngine) -> None:
    text = headline(engine, "which functions call tie_knot?")
    assert "`make_rope`" in text
    # A declaration before a head that can't be read is no caller.
    assert "`declared`" not in text


@pytest.mark.parametrize(
    ("language", "lines", "name"),
    [
        ("Clojure", ["(defn ^:private a-b [x]", "  (f x))"], "a-b"),
        ("Clojure", ["(comment", "  (f x))"], ""),
        ("Elixir", ["defmodule A do", "  def a do", "    1", "  end", "  @x f(1)"], ""),
        ("C", ["int a(void) {", "}", "  int x = f(1);"], ""),
        ("C", ["int a(int b,", "  int c);", "  int x = f(1);"], ""),
        ("C", ["int a(void)", "{", "again:", "#if B", "  f(1);"], "a"),
        ("Ruby", ["def a", "  f(1)"], ""),
    ],
)
def test_the_function_around_a_line_is_certain_or_not_named(language: str, lines: list[str], name: str) -> None:
    assert enclosing_function(list(enumerate(lines, 1)), len(lines), language) == name


def test_a_reason_is_true_of_its_line(engine: LocalEngine) -> None:
    # No name is asked for: the line has words of the question, and the answer says which.
    text = headline(engine, "how large is the sail area by default when sails are up?")
    assert "contains the name" not in text
    assert "It contains `sail` and `area`." in text
    text = headline(engine, "does the code anywhere raise a LeakError when ships are wet?")
    assert "`raise LeakError('water')`" in text
    assert "It raises it." in text
    assert "It raises or returns it" not in text


def test_a_part_of_a_name_is_not_the_name(engine: LocalEngine) -> None:
    # `moor` is a word of the names, and no line has it alone.
    assert "It contains `moor`" not in headline(engine, "who uses moor everywhere?")
