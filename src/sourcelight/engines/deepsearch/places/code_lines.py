"""Lines of code that do with a name what a question asks for: raise it, inherit from it, use it or define it.

`find_named` searches for all lines with the name, leaves out those that can't answer, such as lines of documents, and
grades the others by their form. These forms are guesses over many languages, so they only decide which lines are
answers and in which order. The reason shown with a line says that it raises or inherits only if `_CERTAIN_FORMS` prove
it. `find_environment` finds the lines that read a variable of the environment, by the words of the question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from sourcelight.core.cells.formats import is_jupyter
from sourcelight.core.markup import code
from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.explanations.subject import Subject
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import find_rows, make_queries
from sourcelight.engines.deepsearch.facts.unparsed_definitions import NO_CODE, reader_of, whole_name
from sourcelight.engines.deepsearch.lookups.definitions.search import definition_at, split_name
from sourcelight.engines.deepsearch.source.line_kinds import COMMENT, DOCUMENTS, IMPORT, VARIABLE

_MAX_ROWS = 20_000
"""Rows that are graded: a name that more lines have answers no question, and grading reads files."""
_MAX_CHARACTERS = 2_000
"""Characters of a line that patterns read; longer lines are minified or hostile."""
_MAX_PATH_RANK = 1
"""Lines of code and scripts read the environment for a program; those of tests and examples have a higher rank."""

# Definitions, by the words before the name.
_MODIFIERS = (
    r"@\w+|pub(?:\([^)]*\))?|public|private|protected|internal|static|final|abstract|export|default|async|override"
    r"|suspend|inline|open|sealed|data|case|const|unsafe|partial|virtual"
)
"""As in ``pub(crate) async fn run``, and decorators on the same line."""
_KEYWORDS = (
    r"def|defp|defmacro|fun|func|fn|function|class|struct|interface|trait|enum|object|record|type|module|defmodule|impl"
    r"|sub|proc|resource|variable|output|data|provider|message|service|rpc|macro|mixin|extension|protocol|actor"
    r"|typealias|namespace|newtype|define|defstruct|defexception|defguard|const|let|var|val|static"
)
"""Keywords of definitions in any language, also of Terraform (``resource``) and Protocol Buffers (``message``)."""
_HEAD = rf"\s*(?:(?:{_MODIFIERS})\s+)*(?:{_KEYWORDS})\b[^(=]*?(?<![\w.]){{name}}(?!\w)"
"""As in ``export class Name``; not ``class Other(Name)``, which has a parenthesis before the name."""
_AFTER_HEAD = r"(?:\(|<|:|\bextends\b|\bimplements\b|\bfor\b).*(?<!\w){name}(?!\w)"
"""As in ``class Other extends Name``: here, the name is a base, a type or a parameter."""
_PROTOTYPE = (
    r"^\s*(?!(?:return|throw|new|delete|await|else|yield|co_await|goto|case)\b)"
    r"(?:[\w:<>,]+[\s*&]+)+{name}\s*\([^;{{}}=]*\)[\s\w]*;\s*$"
)
"""As in ``static int *name(const char *path);``; not ``return name(path);``."""

# Other relations, by the words around the name.
_RAISE = (
    r"\b(?:raise|throw|throws|rethrow|panic!?|Err|return|fail|bail!?|abort|die|reject|errors?\.New|rescue|catch|except)"
    r"\b.*(?<!\w){name}(?!\w)"
)
"""As in ``raise Name("…")`` and ``except Name:``."""
_RAISE_ITSELF = re.compile(r"\b(?:raise|throw|panic|Err|bail|fail)")
"""As in ``return Err(Name)``; not ``except Name:``, which only handles it."""
_INHERIT_FORMS = (
    # As in "class Other(Name):" and "interface Other : Name".
    (
        r"\b(?:class|struct|interface|trait|object|record|enum|type|module|defmodule|protocol|extension)\b[^<(:]*"
        r"(?:<|\(|:|\bextends\b|\bimplements\b|\bwith\b|\bof\b).*{word}"
    ),
    # Rust: "impl Name for Other".
    r"\bimpl\b.*{word}.*\bfor\b",
    # Elixir: "@behaviour Name".
    r"^\s*@(?:behaviour|impl)\s+.*{word}",
    # Ruby and Elixir: "include Module::Name".
    r"^\s*(?:use|include|extend|prepend)\s+(?:[\w.:]+(?:\.|::))?{word}\W*$",
    # Kotlin and C++, below the parameters or the name: ") : Name".
    r"^\s*\)?\s*:\s+{word}",
    # Java, below the name: "implements Name".
    r"\b(?:extends|implements)\b.*{word}",
    # Go: "var _ io.Name = (*Other)(nil)".
    r"\bvar\s+_\s+(?:[\w.]+\.)?{word}\s*=",
    # Elixir: "defimpl Name, for: Other".
    r"defimpl.*{word}",
)
_INHERIT = "|".join(_INHERIT_FORMS)
_CALL = r"(?<!\w){name}(?:\s*[(<{{]|\.|::|!|\s*$|\s+[\w:\"'])"
"""As in ``name(path)``, ``Name::new``, ``name!`` and, in Ruby, ``name "path"``."""
_ENVIRONMENT = (
    r"environ\b|[gG]et_?[eE]nv|LookupEnv|\bENV(?:\[|\.fetch)|process\.env\b|env::var|GetEnvironmentVariable|fetch_env"
)
"""Reads of the environment in any language, as in ``os.environ["HOME"]`` and ``ENV.fetch("HOME")``."""
_MARKDOWN = re.compile(r"#{1,6} \w.*|[A-Z*_`>-][^(=\[\]]*[a-z]\s[a-z][^(=]*[.:,]?$")
"""A line of a cell of text: a heading as in ``## Load data``, or a sentence as in ``This reads the file.``"""

_CERTAIN_BASES = (
    # Java and TypeScript: "class Other implements Base, Name".
    r"\b(?:extends|implements)\s+(?:[\w.]+\s*,\s*)*(?:\w+\.)*{name}(?!\w)",
    # Python: "class Other(Base, Name):".
    r"^\s*class\s+\w+\s*\(\s*(?:[\w.]+\s*,\s*)*(?:\w+\.)*{name}\s*[,)]",
    # Ruby: "class Other < Module::Name".
    r"^\s*class\s+\w+\s*<\s*(?:\w+::)*{name}\s*$",
    # Elixir: "@behaviour Name".
    r"^\s*@behaviour\s+(?:\w+\.)*{name}\s*$",
)
_CERTAIN_FORMS = {
    # As in "raise errors.Name" and "throw new Name()".
    "raise": r"\b(?:raise|throw)\s*\(?\s*(?:new\s+)?(?:\w+(?:\.|::))*{name}(?!\w)",
    "inherit": "|".join(_CERTAIN_BASES),
}
"""Forms of lines that leave no doubt; any other line is only said to contain the name."""
_VERBS = {"raise": "raises it", "inherit": "names it as a base"}


class _Fit(IntEnum):
    """The form of a line, compared with what the question asks for; smaller is better."""

    DIRECT = 0
    """It does what is asked: raises, inherits, calls or defines."""
    INDIRECT = 1
    """It has the name next to what is asked: handles an error, or mentions a function without a call."""
    IMPORT = 2
    """It only imports the name."""


class _Order(NamedTuple):
    """The position of a line among the answers; smaller is better, from the first field on."""

    is_elsewhere: bool
    """Whether it is in none of the files that the question names."""
    is_prose: bool
    fit: _Fit
    path_rank: int
    path: str
    line_number: int


@dataclass(frozen=True, slots=True)
class _NamedLine:
    """A row of a search for a name, and its line."""

    row: Mapping[str, Any]
    name: str

    @property
    def text(self) -> str:
        return self.row["line"] or ""

    @property
    def path(self) -> str:
        return str(self.row["path"])

    @property
    def language(self) -> str:
        return language_of(self.path)


_Grade = Callable[[str, bool], _Fit | None]
"""A function that grades a line, told whether it defines the name; None if the line isn't an answer."""


def find_named(work: Work, subject: Subject, files: Sequence[str] = ()) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the rows of lines with the name of a question, the best first, each with the reason.

    Nothing is yielded if no line has it in the way that is asked for. Lines of `files`, which the question names, come
    first.
    """
    name, rows = _search_name(work, split_name(subject.name)[1])
    grade = _GRADES[subject.relation](name)
    ranked: list[tuple[_Order, dict[str, Any]]] = []
    for row in rows[:_MAX_ROWS]:
        work.inquiry.context.cancellation.check()
        line = _NamedLine(row, name)
        if not _is_eligible(line, subject.relation):
            continue

        fit = grade(line.text, _is_definition(work, line))
        if fit is None or (subject.relation != "use" and _is_notebook_text(work, line)):
            continue

        is_elsewhere = not any(line.path.endswith(file) for file in files)
        is_prose = _is_prose(work, line)
        order = _Order(is_elsewhere, is_prose, fit, rank_of(line.path), line.path, row["line_number"])
        ranked.append((order, row))

    ranked.sort(key=lambda item: item[0])
    yield from ((row, _reason(subject.relation, name, row["line"] or "")) for _, row in ranked)


def find_environment(work: Work, subject: Subject) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the rows of lines that read an environment variable, most words of the question first."""
    queries = make_queries(work, f"case:yes type:file /{_ENVIRONMENT}/")
    ranked: list[tuple[tuple[float, str, int], dict[str, Any]]] = []
    for row in find_rows(work, queries).lines:
        if DOCUMENTS.search(row["path"]) or rank_of(row["path"]) > _MAX_PATH_RANK:
            continue

        line = (row["line"] or "")[:_MAX_CHARACTERS]
        variables = " ".join(match[1] for match in VARIABLE.finditer(line))
        terms_of_variables = subject.terms_in(variables)
        if terms_of_variables:
            # Words in the name of the variable count twice: they are also in the line.
            share = subject.share_of(subject.terms_in(line)) + subject.share_of(terms_of_variables)
            ranked.append(((-round(share, 3), row["path"], row["line_number"]), row))

    ranked.sort(key=lambda item: item[0])
    yield from ((row, "reads the environment") for _, row in ranked)


def _search_name(work: Work, name: str) -> tuple[str, list[dict[str, Any]]]:
    """Return the rows of lines with a name, and the name; without its plural if only that is in the code.

    Questions speak of many things by one name: "Where are Timeouts raised?" asks for ``Timeout``.
    """
    rows = _search_word(work, name)
    if not rows and name.endswith("s"):
        name = name.removesuffix("s")
        rows = _search_word(work, name)
    return name, rows


def _search_word(work: Work, name: str) -> list[dict[str, Any]]:
    """Return the rows of lines that have a name as a whole word, also with the mark of a variable, as in ``@name``."""
    word_end = r"\b" if name[-1:].isalnum() else ""
    queries = make_queries(work, rf"case:yes type:file /(?:\b|[@$])?{escape_regexp(name)}{word_end}/")
    return find_rows(work, queries).lines


def _is_eligible(line: _NamedLine, relation: str) -> bool:
    """Return whether a line is short, has the name by the rules of its language, and is code if it should be."""
    if len(line.text) > _MAX_CHARACTERS or re.search(whole_name(line.name, line.language), line.text) is None:
        return False
    return relation == "define" or DOCUMENTS.search(line.path) is None


def _is_prose(work: Work, line: _NamedLine) -> bool:
    """Return whether a line is a comment or text, which answers only where no code does."""
    if COMMENT.match(line.text) is not None:
        return True
    return _is_notebook_text(work, line) or (not is_jupyter(line.path) and line.language in NO_CODE)


def _is_notebook_text(work: Work, line: _NamedLine) -> bool:
    """Return whether a line of a notebook is in a cell of text: it or a neighbor looks like Markdown."""
    if not is_jupyter(line.path):
        return False
    target = work.inquiry.pins.of(line.row["repository"])
    lines = [] if target is None else work.texts.lines(target, line.path)
    index = line.row["line_number"] - 1
    neighbors = lines[max(0, index - 1) : index + 2]
    return any(_MARKDOWN.match(neighbor.strip()) is not None for neighbor in neighbors)


def _is_definition(work: Work, line: _NamedLine) -> bool:
    """Return whether a line defines its name, by its form or by the grammar of its file."""
    if _is_head(line.text, line.name):
        return True

    target = work.inquiry.pins.of(line.row["repository"])
    if target is not None:
        definition = definition_at(work.texts, target, line.path, line.name, line.row["line_number"])
        if definition is not None:
            return True

    define = reader_of(line.language, line.name)
    return define is not None and define(line.text) is not None


def _is_head(text: str, name: str) -> bool:
    """Return whether a line has the form of a definition or of a prototype of a name."""
    escaped = re.escape(name)
    is_after_keyword = re.search(_HEAD.format(name=escaped), text) is not None
    if is_after_keyword and re.search(_AFTER_HEAD.format(name=escaped), text) is None:
        return True
    return re.search(_PROTOTYPE.format(name=escaped), text) is not None


def _grade_raise(name: str) -> _Grade:
    pattern = re.compile(_RAISE.format(name=re.escape(name)))

    def grade(line: str, is_definition: bool) -> _Fit | None:  # noqa: FBT001 - called by position alone
        if is_definition or pattern.search(line) is None:
            return None
        return _Fit.DIRECT if _RAISE_ITSELF.search(line) else _Fit.INDIRECT

    return grade


def _grade_inherit(name: str) -> _Grade:
    pattern = re.compile(_INHERIT.format(word=rf"(?<!\w){re.escape(name)}(?!\w)"))
    return lambda line, is_definition: _Fit.DIRECT if not is_definition and pattern.search(line) else None


def _grade_use(name: str) -> _Grade:
    pattern = re.compile(_CALL.format(name=re.escape(name)))

    def grade(line: str, is_definition: bool) -> _Fit | None:  # noqa: FBT001 - called by position alone
        if is_definition:
            return None
        if IMPORT.match(line):
            return _Fit.IMPORT
        return _Fit.DIRECT if pattern.search(line) else _Fit.INDIRECT

    return grade


def _grade_define(_: str) -> _Grade:
    return lambda _, is_definition: _Fit.DIRECT if is_definition else None


_GRADES: Mapping[str, Callable[[str], _Grade]] = {
    "raise": _grade_raise, "inherit": _grade_inherit, "use": _grade_use, "define": _grade_define,
}  # fmt: skip
"""For each relation of a question, what makes the function that grades lines with a name."""


def _reason(relation: str, name: str, line: str) -> str:
    """Say why a line is shown, in words that are true of it alone: what it does with a name, if its form tells."""
    form = _CERTAIN_FORMS.get(relation, "")
    if form and re.search(form.format(name=re.escape(name)), line) is not None:
        return _VERBS[relation]
    return "defines it" if relation == "define" else f"contains {code(name)}"
