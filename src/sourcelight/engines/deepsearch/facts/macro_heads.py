"""Heads of classes with macros: of C and C++ with one before the name, and those whose names are written elsewhere.

A grammar takes ``class API Name : Base {`` for a function or an error, so these heads are read by their words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import make_queries, run_searches
from sourcelight.engines.deepsearch.facts.unparsed_definitions import PROGRAMMING_LANGUAGES

C_FAMILY = frozenset({"C", "C++", "Cuda", "Objective-C++"})
_ARGUMENTS = r"\((?:[^()]|\([^()]*\))*\)"
_MACRO = rf"(?:[A-Z][A-Z\d_]*|__\w+|alignas|\w+_(?:api|export))(?:\s*{_ARGUMENTS})?"
_BODY = re.compile(
    rf"\b(?P<kind>class|struct)\s+(?P<macros>(?:(?:\[\[[^\]]*\]\]|{_MACRO})\s+)*)(?:\w+::)*(?P<name>(?!final\b)[A-Za-z_]\w*)"
    r"\s*(?:<[^;{}()]*>\s*)?(?:final\b\s*)?(?::(?!:)[^;{}]*)?\{"
)
_DERIVATION = re.compile(
    rf"\b(?P<kind>class|struct)\s+(?:(?:\[\[[^\]]*\]\]|(?!final\b)\w+(?:\s*{_ARGUMENTS})?)\s+)*(?:\w+::)*"
    r"(?P<name>(?!final\b)[A-Za-z_]\w*)\s*(?:final\b\s*)?:(?!:)(?P<bases>[^;{]*)"
)
_NO_CODE = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|\bR\"(?P<mark>[^(\s\"]*)\(.*?\)(?P=mark)\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'"
    r"|^[ \t]*#(?:\\.|[^\n\\])*",
    re.DOTALL | re.MULTILINE,
)
"""Comments, texts and lines of the preprocessor in C and C++."""


@dataclass(frozen=True, slots=True)
class ClassHead:
    """The head of a class or struct with a body, by its words; `has_macro` where one precedes the name."""

    kind: str
    name: str
    line: int
    has_macro: bool


def read_class_heads(lines: Sequence[str]) -> list[ClassHead]:
    """Return the heads of classes and structs of C and C++ that have a body and a name.

    Declarations without a body, friends, ``enum class`` and parameters of templates are none.
    """
    text = "\n".join(lines)
    if "class" not in text and "struct" not in text:
        return []
    text = _NO_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return [
        ClassHead(match["kind"], match["name"], text.count("\n", 0, match.start("name")) + 1, bool(match["macros"]))
        for match in _BODY.finditer(text)
        if re.search(r"\b(?:enum|friend)\s+$", text[max(0, match.start() - 40) : match.start()]) is None
    ]


def read_derivation(head: str) -> tuple[str, str, str] | None:
    """Return the kind, the name and the bases of a class of C++ that derives from something.

    Parameters
    ----------
    head
        A head in one line, without parameters of templates.
    """
    match = _DERIVATION.search(head)
    if match is None or re.search(r"\benum\s+$", head[: match.start()]) is not None:
        return None
    return match["kind"], match["name"], match["bases"]


_NAMES = r"\b(?:{names})\b"
_FILLED = (
    r"\b(?:class|struct|interface|enum|record|object)[ \t]+(?:[A-Z][A-Z\d_]*[ \t]+)?\w*(?:{marks})[^;\n]*"
    rf"(?:[:(<]|\b(?:extends|implements|with)\b)[^;\n]*{_NAMES}"
    rf"|\bimpl\b[^;\n]*{_NAMES}[^;\n]*\bfor\b[^;\n]*(?:{{marks}})"
)
_MARKS = r"\$[\w{(]|#\{|\{\{|\{\w+\}|<%|##|%[sr]"
_MARKS_OF: Mapping[str, str] = {
    "Rust": r"\$\w", "C": "##", "C++": "##", "Cuda": "##", "Objective-C++": "##", "PHP": r"\{\{|<%|%[sr]",
}  # fmt: skip
"""Marks for what is written elsewhere; in other languages all. In PHP, ``$`` begins each variable."""


def find_filled_heads(
    work: Work, names: str, subtypes: Collection[tuple[str, str, str]], notes: list[str]
) -> list[dict[str, Any]]:
    """Return the lines of code whose head names a base for a type whose name is written elsewhere.

    Parameters
    ----------
    work
        The request under way.
    names
        A pattern of the names of bases.
    subtypes
        Repository, path and name of each type that counts already.
    notes
        Takes what the search could not read.
    """
    pattern = _FILLED.replace("{marks}", _MARKS).replace("{names}", names)
    texts = FileTexts(work.context)
    return [
        row
        for row in run_searches(work, make_queries(work, f"case:yes type:file /{pattern}/"), notes)
        if row["type"] == "content"
        and _is_filled(row, names)
        and is_code(texts, work, row)
        and not any(
            row["repository"] == repository
            and row["path"] == path
            and re.search(rf"\b{re.escape(name)}\b", row["line"])
            for repository, path, name in subtypes
        )
    ]


def _is_filled(row: Mapping[str, Any], names: str) -> bool:
    language = language_of(row["path"])
    marks = _MARKS_OF.get(language, _MARKS)
    pattern = _FILLED.replace("{marks}", marks).replace("{names}", names)
    return language in PROGRAMMING_LANGUAGES and re.search(pattern, row["line"] or "") is not None


def is_code(texts: FileTexts, work: Work, row: Mapping[str, Any]) -> bool:
    """Return whether the line of a row is outside of comments."""
    target = work.inquiry.pins.of(row["repository"])
    if target is None or re.match(r"\s*(?:#(?!\[)|//|/\*|\*(?:[\s/]|$)|--\s|<!--)", row["line"] or "") is not None:
        return False
    before = "\n".join(texts.lines(target, row["path"])[: row["line_number"] - 1])
    return before.rfind("/*") <= before.rfind("*/")
