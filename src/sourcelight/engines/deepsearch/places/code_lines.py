"""Lines of code that have a name in the way that a question asks for: raise it, inherit from it, use or define it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sourcelight.core.cells.formats import is_jupyter
from sourcelight.core.markup import code
from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import make_queries, run_searches
from sourcelight.engines.deepsearch.facts.unparsed_definitions import NO_CODE, reader_of, whole_name
from sourcelight.engines.deepsearch.lookups.definitions.search import definition_at, split_name
from sourcelight.engines.deepsearch.places.subject import Subject
from sourcelight.engines.deepsearch.source.line_kinds import COMMENT, DOCUMENTS, IMPORT, VARIABLE

_HEAD = re.compile(
    r"\s*(?:(?:@\w+|pub(?:\([^)]*\))?|public|private|protected|internal|static|final|abstract|export|default"
    r"|async|override"
    r"|suspend|inline|open|sealed|data|case|const|unsafe|partial|virtual)\s+)*"
    r"(?:def|defp|defmacro|fun|func|fn|function|class|struct|interface|trait|enum|object|record|type|module"
    r"|defmodule|impl"
    r"|sub|proc|resource|variable|output|data|provider|message|service|rpc|macro|mixin|extension|protocol|actor"
    r"|typealias"
    r"|namespace|newtype|define|defstruct|defexception|defguard|const|let|var|val|static)\b"
)
_PROTOTYPE = (
    r"^\s*(?!(?:return|throw|new|delete|await|else|yield|co_await|goto"
    r"|case)\b)(?:[\w:<>,]+[\s*&]+)+{name}\s*\([^;{{}}=]*\)[\s\w]*;\s*$"
)
_MAX_ROWS, _MAX_CHARACTERS = 20_000, 2_000
_RAISE = (
    r"\b(?:raise|throw|throws|rethrow|panic!?|Err|return|fail|bail!?|abort|die|reject|errors?\.New|rescue"
    r"|catch|except)\b"
)


def find_named(
    work: Work, texts: FileTexts, subject: Subject, files: Sequence[str] = ()
) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the rows of lines with the name of a question, the best first, each with the reason.

    Nothing is yielded if no line has it in the way that is asked for. Lines of `files`, which the question names, come
    first.
    """
    simple = split_name(subject.name)[1]
    queries = make_queries(work, f"case:yes type:file /{_word(simple)}/")
    rows = [row for row in run_searches(work, queries, []) if row["type"] == "content"]
    if not rows and simple.endswith("s"):
        simple = simple.removesuffix("s")
        queries = make_queries(work, f"case:yes type:file /{_word(simple)}/")
        rows = [row for row in run_searches(work, queries, []) if row["type"] == "content"]

    rank = _RANKS[subject.relation](simple)
    ranked = []
    for row in rows[:_MAX_ROWS]:
        work.inquiry.context.cancellation.check()
        line = row["line"] or ""
        if re.search(whole_name(simple, language_of(row["path"])), line[:_MAX_CHARACTERS]) is None:
            continue
        if len(line) > _MAX_CHARACTERS or (DOCUMENTS.search(row["path"]) and subject.relation != "define"):
            continue

        is_head = _is_head(work, texts, row, simple)
        order = rank(line, is_head)
        if order is not None:
            is_notebook = is_jupyter(row["path"])
            if is_notebook and subject.relation != "use" and not _in_code_cell(work, texts, row):
                continue
            is_prose = COMMENT.match(line) is not None or (
                not _in_code_cell(work, texts, row) if is_notebook else language_of(row["path"]) in NO_CODE
            )
            is_elsewhere = not any(row["path"].endswith(file) for file in files)
            ranked.append(((is_elsewhere, is_prose, order, rank_of(row["path"]), row["path"], row["line_number"]), row))

    ranked.sort(key=lambda item: item[0])
    yield from ((row, _reason(subject.relation, simple, row)) for _, row in ranked)


def find_environment(work: Work, subject: Subject) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the rows of lines that read an environment variable, most words of the question first."""
    pattern = (
        r"environ\b|[gG]et_?[eE]nv|LookupEnv|\bENV(?:\[|\.fetch)|process\.env\b|env::var"
        r"|GetEnvironmentVariable|fetch_env"
    )
    queries = make_queries(work, f"case:yes type:file /{pattern}/")
    ranked = []
    for row in run_searches(work, queries, []):
        line = (row["line"] or "")[:_MAX_CHARACTERS]
        if row["type"] != "content" or DOCUMENTS.search(row["path"]) or rank_of(row["path"]) > 1:
            continue
        names = " ".join(match[1] for match in VARIABLE.finditer(line))
        share = subject.share_of(subject.terms_in(line)) + subject.share_of(subject.terms_in(names))
        if names and subject.terms_in(names):
            ranked.append(((-round(share, 3), row["path"], row["line_number"]), row))

    ranked.sort(key=lambda item: item[0])
    yield from ((row, "reads the environment") for _, row in ranked)


def _in_code_cell(work: Work, texts: FileTexts, row: Mapping[str, Any]) -> bool:
    """Return whether a line of a notebook is in a cell of code: those after it with text have no mark of prose."""
    target = work.inquiry.pins.of(row["repository"])
    lines = [] if target is None else texts.lines(target, row["path"])
    start = max(0, row["line_number"] - 2)
    around = [line for line in lines[start : row["line_number"] + 1] if line.strip()]
    prose = re.compile(r"#{1,6} \w.*|[A-Z*_`>-][^(=\[\]]*[a-z]\s[a-z][^(=]*[.:,]?$")
    return not any(prose.match(line.strip()) for line in around[:3])


def _word(name: str) -> str:
    return rf"(?:\b|[@$])?{escape_regexp(name)}" + (r"\b" if name[-1:].isalnum() else "")


def _is_head(work: Work, texts: FileTexts, row: Mapping[str, Any], name: str) -> bool:
    """Return whether a line defines a name, by the grammar of its file or by its form."""
    line = row["line"] or ""
    if re.search(rf"{_HEAD.pattern}[^(=]*?(?<![\w.]){re.escape(name)}(?!\w)", line) is not None and (
        re.search(rf"(?:\(|<|:|\bextends\b|\bimplements\b|\bfor\b).*(?<!\w){re.escape(name)}(?!\w)", line) is None
    ):
        return True

    if re.search(_PROTOTYPE.format(name=re.escape(name)), line) is not None:
        return True

    target = work.inquiry.pins.of(row["repository"])
    if target is not None and definition_at(texts, target, row["path"], name, row["line_number"]) is not None:
        return True

    define = reader_of(language_of(row["path"]), name)
    return define is not None and define(line) is not None


def _rank_raise(name: str) -> Callable[[str, bool], int | None]:
    pattern = re.compile(rf"{_RAISE}.*(?<!\w){re.escape(name)}(?!\w)")

    def rank(line: str, is_head: bool) -> int | None:  # noqa: FBT001 - called by position alone
        if is_head or pattern.search(line) is None:
            return None
        return 0 if re.search(r"\b(?:raise|throw|panic|Err|bail|fail)", line) else 1

    return rank


def _rank_inherit(name: str) -> Callable[[str, bool], int | None]:
    word = rf"(?<!\w){re.escape(name)}(?!\w)"
    pattern = re.compile(
        rf"\b(?:class|struct|interface|trait|object|record|enum|type|module|defmodule|protocol|extension)\b[^<(:]*"
        rf"(?:<|\(|:|\bextends\b|\bimplements\b|\bwith\b|\bof\b).*{word}"
        rf"|\bimpl\b.*{word}.*\bfor\b|^\s*@(?:behaviour|impl)\s+.*{word}|^\s*(?:use|include|extend"
        rf"|prepend)\s+(?:[\w.:]+(?:\.|::))?{word}\W*$"
        rf"|^\s*\)?\s*:\s+{word}|\b(?:extends|implements)\b.*{word}|\bvar\s+_\s+(?:[\w.]+\.)?{word}\s*="
        rf"|defimpl.*{word}"
    )
    return lambda line, is_head: 0 if not is_head and pattern.search(line) else None


def _rank_use(name: str) -> Callable[[str, bool], int | None]:
    call = re.compile(rf"(?<!\w){re.escape(name)}(?:\s*[(<{{]|\.|::|!|\s*$|\s+[\w:\"'])")

    def rank(line: str, is_head: bool) -> int | None:  # noqa: FBT001 - called by position alone
        if is_head:
            return None
        return 2 if IMPORT.match(line) else 0 if call.search(line) else 1

    return rank


def _rank_define(_: str) -> Callable[[str, bool], int | None]:
    return lambda _, is_head: 0 if is_head else None


_RANKS: Mapping[str, Callable[[str], Callable[[str, bool], int | None]]] = {
    "raise": _rank_raise, "inherit": _rank_inherit, "use": _rank_use, "define": _rank_define,
}  # fmt: skip


def _reason(relation: str, name: str, row: Mapping[str, Any]) -> str:
    """Say why a line is shown, in words that are true of it alone: what it does with a name, if its form tells."""
    line = row["line"] or ""
    form = _CERTAIN_FORMS.get(relation, "")
    if form and re.search(form.format(name=re.escape(name)), line) is not None:
        return _VERBS[relation]
    return "defines it" if relation == "define" else f"contains {code(name)}"


_CERTAIN_FORMS = {
    "raise": r"\b(?:raise|throw)\s*\(?\s*(?:new\s+)?(?:\w+(?:\.|::))*{name}(?!\w)",
    "inherit": (
        r"\b(?:extends|implements)\s+(?:[\w.]+\s*,\s*)*(?:\w+\.)*{name}(?!\w)"
        r"|^\s*class\s+\w+\s*\(\s*(?:[\w.]+\s*,\s*)*(?:\w+\.)*{name}\s*[,)]|^\s*class\s+\w+\s*<\s*(?:\w+::)*{name}\s*$"
        r"|^\s*@behaviour\s+(?:\w+\.)*{name}\s*$"
    ),
}
"""Forms of lines that leave no doubt; any other line is only said to contain the name."""
_VERBS = {"raise": "raises it", "inherit": "names it as a base"}
