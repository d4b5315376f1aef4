"""Count the names that files export by a list of their language, such as ``-export([turn/1])`` of Erlang.

Text of repositories is hostile: lists are read sign by sign, and end at a bound.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sourcelight.core.markup import code, join_words
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.facts.model import CitedLine, Fact, Rows, Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import (
    file_conditions,
    join_queries,
    make_listing_queries,
    make_queries,
    noun_for,
    run_searches,
)
from sourcelight.engines.deepsearch.facts.unparsed_definitions import PROGRAMMING_LANGUAGES

_MAX_LIST_LINES, _MAX_LINE = 2_000, 1_000
"""Lines of one list, and characters of a line."""
_FILES = r"(^|/)NAMESPACE$|\.(?:erl|jl|elm|pm|py)$"
"""Regular expression for paths of files that may have such a list."""


@dataclass(frozen=True, slots=True)
class ExportedName:
    """A name that a list exports, and the line (from 1) on which it stands."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class ExportCustom:
    """The form of a list of exported names in a language.

    Attributes
    ----------
    language
        The name of the language.
    head
        The beginning of a list, at that of a line; the rest of the line belongs to the list.
    item
        An item of the list.
    end
        What ends it; None if it ends with a line that has no comma at its end.
    everything
        A line that exports without a list; None if the language has none.
    rule
        What counts, in words.
    """

    language: str
    head: re.Pattern[str]
    item: re.Pattern[str]
    end: str | None
    everything: re.Pattern[str] | None
    rule: str
    comment: str = "#"


_CUSTOMS: Mapping[str, ExportCustom] = {
    "NAMESPACE": ExportCustom(
        "R",
        re.compile(r"\s*export\("),
        re.compile(r"\"[^\"]*\"|`[^`]*`|[\w.]+(?:<-)?"),
        ")",
        re.compile(r"\s*exportPattern\("),
        "names in export(…) of NAMESPACE",
    ),
    ".erl": ExportCustom(
        "Erlang",
        re.compile(r"-export\(\s*\["),
        re.compile(r"(?:'[^']*'|[a-z][\w@]*)\s*/\s*\d+"),
        "]",
        re.compile(r"-compile\(\s*\[?\s*export_all"),
        "functions in -export of Erlang",
        "%",
    ),
    ".jl": ExportCustom(
        "Julia",
        re.compile(r"\s*export(?=\s|$)"),
        re.compile(r"@?[^\s,;:()]+"),
        None,
        None,
        "names behind export of Julia",
    ),
    ".elm": ExportCustom(
        "Elm",
        re.compile(r"(?:port\s+|effect\s+)?module\s+[\w.]+\s+(?:where\s*\{[^{}]*\}\s*)?exposing(?=\s|\(|$)"),
        re.compile(r"\w+(?:\(\.\.\))?|\([^()\s]+\)"),
        ")",
        re.compile(r"(?:port\s+|effect\s+)?module\s+[\w.]+\s+exposing\s*\(\s*\.\."),
        "names in the list of a module of Elm",
        "--",
    ),
    ".pm": ExportCustom(
        "Perl",
        re.compile(r"\s*(?:our\s+)?@EXPORT(?:_OK)?\s*=\s*(?:\(\s*)?qw\s*[(\[{/]"),
        re.compile(r"[&$@%:]?\w+"),
        ")",
        None,
        "names in @EXPORT and @EXPORT_OK",
    ),
    ".py": ExportCustom(
        "Python",
        re.compile(r"__all__\s*(?::[^=]*)?=\s*[\[(]"),
        re.compile(r"\"[^\"]*\"|'[^']*'"),
        "]",
        None,
        "names in __all__",
    ),
}


def count_exports(work: Work) -> Fact:
    """Count the names that files outside of tests export by the lists of their languages."""
    queries = make_queries(work, f"type:path file:{quote_value(_FILES)}")
    fact = Fact(0, "", join_queries(queries), notes=work.notes, unit="names")
    texts = work.texts
    table = Rows("Exports", ("repository", "path", "line_number", "name"))
    paths, rules = [], []
    files = [row for row in run_searches(work, make_listing_queries(work)) if row["path"]]
    languages = Counter(row["language"] for row in files if row["language"] in PROGRAMMING_LANGUAGES)
    main_language = languages.most_common(1)[0][0] if languages else ""
    for row in run_searches(work, queries):
        target, path = work.inquiry.pins.of(row["repository"]), row["path"]
        custom = custom_of(path or "")
        # The lists of a few scripts say nothing of what a package in another language exports.
        if target is None or custom is None or rank_of(path) or custom.language != main_language:
            continue

        exports = exports_of(texts.lines(target, path), custom)
        if exports is None:
            # It exports what it doesn't list.
            fact.is_least = True
            continue

        paths += [path] if exports else []
        rules += [custom.rule] if exports else []
        for item in exports:
            values = (target.repository.name, path, item.line, item.name)
            table.add(values, CitedLine(target.repository.name, target.commit, path, item.line))

    fact.number, fact.tables = table.total, [table]
    location = f" in {code(paths[0])}" if len(paths) == 1 else file_conditions(work)
    verb = "is" if table.total == 1 else "are"
    noun = noun_for("name", table.total)
    fact.subject = f"{noun} {verb} exported{location}: {join_words(list(dict.fromkeys(rules)))}"
    fact.repositories = Counter(row[0] for row in table.rows)
    fact.rule = "Counts the items of the lists, a name of a file once."
    # Nothing is said without a list: in most languages, other words export.
    fact.unread = [] if paths else ["other"]
    return fact


def custom_of(path: str) -> ExportCustom | None:
    """Return how a file lists what it exports; None for a language without such lists."""
    base = path.rpartition("/")[2]
    return _CUSTOMS.get(base) or _CUSTOMS.get(f".{base.rpartition('.')[2]}")


def exports_of(lines: Sequence[str], custom: ExportCustom) -> list[ExportedName] | None:
    """Return the exported names, each once; None if one is exported without a list, or a list doesn't end."""
    if custom.everything is not None and any(custom.everything.match(line[:_MAX_LINE]) for line in lines):
        return None

    exports: dict[str, ExportedName] = {}
    index = 0
    while index < len(lines):
        head = custom.head.match(lines[index][:_MAX_LINE])
        if head is None:
            index += 1
            continue

        items = _read_list(lines, index, head.end(), custom)
        if items is None:
            return None
        for item in items:
            exports.setdefault(item.name, item)

        index = max((item.line for item in items), default=index + 1)

    return list(exports.values())


def _read_list(lines: Sequence[str], index: int, column: int, custom: ExportCustom) -> list[ExportedName] | None:
    """Return the items of a list that begins at a place (from 0); None if it doesn't end."""
    items = []
    end = custom.end
    is_open = custom is not _CUSTOMS[".elm"]
    for number in range(index, min(len(lines), index + _MAX_LIST_LINES)):
        text = lines[number][column if number == index else 0 : _MAX_LINE].split(custom.comment)[0]
        if not is_open:
            # In Elm, the bracket may be on a line below.
            before, bracket, text = text.partition("(")
            if not bracket or before.strip():
                text = ""
            is_open = bool(bracket)

        part = text if end is None else _before_end(text, end)
        items += [ExportedName(match[0], number + 1) for match in custom.item.finditer(part)]
        if end is None and text.strip() and not text.rstrip().endswith(","):
            return items
        if end is not None and len(part) < len(text):
            return items

    return None


def _before_end(text: str, end: str) -> str:
    """Return the text before the bracket that ends a list; brackets within it are skipped."""
    opening = {")": "([{", "]": "[("}[end]
    depth = 0
    for position, letter in enumerate(text):
        if letter in opening:
            depth += 1
        elif letter in ")]}":
            if not depth:
                return text[:position]
            depth -= 1

    return text
