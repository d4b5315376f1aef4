"""The customs by which the tests of each language are found and described.

A custom is a query and a rule. Most queries search lines by a form of `forms`; a few search the index of definitions by
name. An answer about a number of tests states the rule, so that a reader can judge and repeat the count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sourcelight.core.markup import join_words
from sourcelight.engines.deepsearch.source.test_customs import forms

_MAX_LINE = 300
"""Characters of a line in which the word that its rule names is looked for."""


@dataclass(frozen=True, slots=True)
class Custom:
    """A custom by which the tests of a language are found.

    Attributes
    ----------
    language
        The name of the language.
    search
        A query for the lines or definitions that are tests.
    rule
        The rule in words; with `form`, only its beginning.
    form
        The part of such a line that the rule names, as its first group. None if the rule says all.
    """

    language: str
    search: str
    rule: str
    form: re.Pattern[str] | None = None

    def describe(self, lines: Iterable[str]) -> str:
        """Write the rule for the tests that were found: a form that no line has would be a false reason."""
        if self.form is None:
            return self.rule

        matches = (self.form.search(line[:_MAX_LINE]) for line in lines)
        words = {match[match.lastindex or 0] for match in matches if match is not None}
        return f"{self.rule} {join_words(sorted(words), 'or')}"


def _by_line(language: str, line: str, rule: str, word: str = "", *, files: str = "", case: str = "yes") -> Custom:
    """Return the custom of a language whose tests are lines.

    Parameters
    ----------
    language
        The name of the language.
    line
        The form of the lines, a regular expression.
    rule
        The rule in words; with `word`, only its beginning.
    word
        A regular expression for the part of a line that completes the rule.
    files
        A regular expression for the paths of the files. Empty for all of the language.
    case
        Whether letters must have the case as written: ``yes`` or ``no``.
    """
    file_filter = f"file:{files} " if files else ""
    search = f"type:file case:{case} {file_filter}/{line}/"
    return Custom(language, search, rule, re.compile(word) if word else None)


def _by_name(language: str, name: str, kind: str, rule: str, *, files: str = "") -> Custom:
    """Return the custom of a language whose tests are functions or methods with certain names in certain files."""
    file_filter = f"file:{files} " if files else ""
    return Custom(language, f"type:symbol case:yes {file_filter}/{name}/ select:symbol.{kind}", rule)


# Words that complete a rule.

_FIRST_WORD = r"^[ \t]*(\w+)"
_FIRST_WORD_OF_ITEM = r"^[ \t]*(?:[\[,][ \t]*)?(\w+)"
_FIRST_WORD_OF_ELM = r"^[ \t]*(?:[\[,][ \t]*)?(?:Test\.)?(\w+)"
_WORD_AND_BRACKET = r"^[ \t]*(\w+\()"
_WORD_OF_RUBY = r"^[ \t]*(it|specify|test|def test_)"
_WORD_OF_SCALA = r"^[ \t]*(?:@(?:\w+\.)*(Test)\b|(\w+\()|.*\"[ \t]+(in)\b)"
_WORD_OF_OBJECTIVE_C = r"^[ \t]*(?:-[ \t]*\(void\)[ \t]*(test)|([fx]?it\())"
_WORD_OF_OCAML = r"^[ \t]*(let%\w+)"
_ANNOTATION = r"\b((?:Parameterized|Repeated)?Test(?:Factory|Template)?)\b"
_ATTRIBUTE_OF_RUST = r"\b((?:\w+::)*(?:test|rstest|proptest|quickcheck|test_case|test_matrix|\w+_test))\b"
_ATTRIBUTE_OF_CSHARP = rf"[\[,. \t]({forms.NET_NAME})(?:Attribute)?[ \t]*[\](,]"
_WORD_OF_FSHARP = (
    rf"[<;. \t]({forms.NET_NAME}|Property)(?:Attribute)?[ \t]*(?:[(;]|>\])"
    r"|([pf]?test\w*)[ \t]+\""
)

# Files of tests.

_PYTHON_FILES = r"(^|/)(test_[^/]*|[^/]*_tests?|tests?)\.py$"
# pytest collects functions from files with such names only; unittest runs methods of any module that a project names,
# such as `tests/postgres.py`.
_PYTHON_CASES = r"(^|/)(tests?/([^/]+/)*[^/]+|test_[^/]*|[^/]*_tests?|tests?)\.py$"
_LUA_FILES = r"(_spec|_test|(^|\/)test_[^\/]*|(^|\/)tests?)\.lua$"

TEST_CUSTOMS: tuple[Custom, ...] = (
    _by_name("Python", "^test", "function", "functions named test… in test files", files=_PYTHON_FILES),
    _by_name("Python", "^test", "method", "methods named test… in test files", files=_PYTHON_CASES),
    # The rule of `go help testfunc`: no lower-case letter follows `Test`.
    _by_name(
        "Go",
        "^Test([^a-z]|$)",
        "function",
        "functions named Test… in files that end in _test.go",
        files=r"_test\.go$",
    ),
    _by_line("JavaScript", forms.ECMASCRIPT, "lines that begin with", _FIRST_WORD),
    _by_line("TypeScript", forms.ECMASCRIPT, "lines that begin with", _FIRST_WORD),
    _by_line("TSX", forms.ECMASCRIPT, "lines that begin with", _FIRST_WORD),
    _by_line("CoffeeScript", forms.COFFEESCRIPT, "lines that begin with", _FIRST_WORD),
    _by_line("Java", forms.JUNIT, "lines with the annotation", _ANNOTATION),
    _by_line("Kotlin", forms.JUNIT, "lines with the annotation", _ANNOTATION),
    _by_line("Kotlin", forms.KOTEST, "lines that begin with", _WORD_AND_BRACKET, files=r"(Test|Tests|Spec)\.kt$"),
    _by_line("Groovy", forms.JUNIT, "lines with the annotation", _ANNOTATION),
    _by_line("Groovy", forms.SPOCK, "methods whose name is a text"),
    _by_line("Scala", forms.SCALA, "lines with", _WORD_OF_SCALA),
    _by_line("Rust", forms.RUST, "lines with the attribute", _ATTRIBUTE_OF_RUST),
    _by_line("Ruby", forms.RUBY, "lines that begin with", _WORD_OF_RUBY),
    _by_line("Crystal", forms.CRYSTAL, "lines that begin with it"),
    _by_line("Tcl", forms.TCL, "lines that begin with test"),
    _by_line("Shell", forms.BATS, "lines that begin with @test"),
    _by_line("Swift", forms.SWIFT, "lines with @Test or func test…"),
    _by_line("Swift", forms.QUICK, "lines that begin with it("),
    _by_line("Objective-C", forms.OBJECTIVE_C, "lines with", _WORD_OF_OBJECTIVE_C),
    _by_line("Haskell", forms.HASKELL, "lines with", _FIRST_WORD_OF_ITEM),
    _by_line("Elm", forms.ELM, "lines with", _FIRST_WORD_OF_ELM, files="(^|/)tests?/"),
    _by_line("OCaml", forms.OCAML_PPX, "lines that begin with", _WORD_OF_OCAML),
    _by_line("OCaml", forms.OCAML_TEST, "lines that begin with test and a text"),
    _by_line("OCaml", forms.ALCOTEST_PAIR, "lines with a text and `Quick or `Slow"),
    _by_line("OCaml", forms.ALCOTEST_CASE, "lines with test_case and a text"),
    _by_line("C#", forms.CSHARP, "lines with the attribute", _ATTRIBUTE_OF_CSHARP),
    _by_line("F#", forms.FSHARP, "lines with", _WORD_OF_FSHARP),
    _by_line(
        "PHP",
        forms.PHP,
        "methods named test… or below #[Test] or @test, in files that end in Test.php",
        files=r"Test\.php$",
    ),
    _by_line("Lua", forms.LUA, "lines that begin with it( or test( in files of specs and tests", files=_LUA_FILES),
    _by_line("Elixir", forms.ELIXIR, "lines that begin with test", files=r"_test\.exs$"),
    _by_line("Clojure", forms.CLOJURE, "lines that begin with (deftest"),
    _by_line(
        "PowerShell",
        forms.PESTER,
        "lines that begin with It in files that end in .Tests.ps1",
        files=r"\.Tests\.ps1$",
        case="no",
    ),
    _by_line("Emacs Lisp", forms.EMACS_LISP, "lines that begin with (ert-deftest"),
    _by_line("R", forms.R, "lines that begin with test_that("),
    _by_line("Julia", forms.JULIA, "lines that begin with @testset"),
    _by_line("Nim", forms.NIM, "lines that begin with", _FIRST_WORD),
    _by_line("Erlang", forms.ERLANG, "functions named …_test or …_test_"),
    _by_line("Dart", forms.DART, "lines that begin with test(", files=r"_test\.dart$"),
    _by_line("Zig", forms.ZIG, "test blocks"),
    _by_line("D", forms.D, "unittest blocks"),
    _by_name("C", "^test_|_test$", "function", "functions named test_… or …_test"),
    _by_line("C++", forms.CPP, "lines that begin with", _FIRST_WORD),
)
"""Each custom by which tests are told from other code."""
