"""Count again by reading lines one by one: a number is stated as exact only if this gives it, too.

Nothing here asks the index or a grammar, so that one mistake can't be in both counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, TypeAlias

from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.facts.model import CitedLine, Fact, Rows, Work
from sourcelight.engines.deepsearch.facts.paths import PathNames, is_of_files
from sourcelight.engines.deepsearch.facts.unparsed_definitions import (
    PROGRAMMING_LANGUAGES,
    UNPARSED_LANGUAGES,
    language_at,
)
from sourcelight.engines.deepsearch.redaction import is_hidden_file
from sourcelight.engines.deepsearch.source.class_heads import ClassHead, read_class_heads, without_brackets
from sourcelight.engines.deepsearch.source.line_kinds import IMPORT
from sourcelight.engines.symbols.file_definitions import has_errors
from sourcelight.engines.symbols.grammars import LANGUAGES

Location: TypeAlias = tuple[str, str, int]
"""Repository, path and line."""
MAX_FILES = 3_000
"""Files beyond which nothing is counted again, and a number is said to be a least one."""
MAX_PARSED_BYTES = 4_000_000
"""Bytes of files that are parsed again to look for errors: half a second. Beyond, macros make errors likely."""
_MAX_PARSE_SECONDS = 2.0
_WITH_MACROS = frozenset({"C", "C++", "Objective-C", "Objective-C++", "Cuda"})
_MODIFIERS = (
    r"(?:(?:@[\w.]+(?:\([^()]*\))?|\[[^\]]*\]|pub(?:\([^)]*\))?|export|default|public|private|protected|internal|static"
    r"|final|abstract|sealed|non-sealed|open|data|inner|value|annotation|partial|readonly|unsafe|async|override|inline"
    r"|suspend|operator|infix|tailrec|external|extern(?:\s+\"[^\"]*\")?|const|virtual|declare|case|implicit|lazy|local"
    r"|fileprivate|file|new|ref|strictfp|mutating|typedef)\s+)*"
)
_KEYWORDS = {
    "class": "class", "interface": "interface", "struct": "struct", "enum": r"enum(?:\s+(?:class|struct))?",
}  # fmt: skip
_WITH_KEYWORD = {
    "class": frozenset({"Python", "Ruby", "PHP", "Java", "Kotlin", "C#", "JavaScript", "TypeScript", "TSX"}),
    "interface": frozenset({"Java", "Kotlin", "C#", "TypeScript", "TSX", "PHP"}),
    "struct": frozenset({"Rust", "C#"}), "enum": frozenset({"Rust", "C#", "Java", "TypeScript", "PHP", "Kotlin"}),
}  # fmt: skip
"""Languages in which a line that defines such a thing begins with a word for it."""
_OF_BODIES = frozenset({"class", "struct"})
"""Kinds that a keyword, a name and a body define in C++."""


def files_of(work: Work, languages: Collection[str] = ()) -> list[tuple[str, str]] | None:
    """Return repository and path of each file that a request counts in; None for too many."""
    paths, names = PathNames(work.inquiry), set(work.names)
    files = (
        (repository, path)
        for (repository, _), paths_of_repository in paths.paths.items()
        if repository in names
        for path in paths_of_repository
        if is_of_files(work.request, path) and (not languages or language_of(path) in languages)
    )

    # Many repositories have tens of thousands of files, and the first ones tell already that they are too many.
    first_files = list(islice(files, MAX_FILES + 1))
    return first_files if len(first_files) <= MAX_FILES else None


def code_lines(work: Work, repository: str, path: str) -> Sequence[tuple[int, str]]:
    """Return the lines of a file, from 1, without comments and multi-line strings."""
    target = work.inquiry.pins.of(repository)
    return () if target is None else work.texts.code_lines(target, path, language_at(work.texts, target, path))


def calls_by_text(name: str, rows: Sequence[dict[str, Any]], quoted: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines that may call something by its name in quotation marks, rather than import or list it.

    There are none if a line has the form of a call, which names a function that isn't known here.
    """
    if any(re.search(rf"(?<![\"'`\w]){re.escape(name)}\s*\(", row["line"]) for row in rows):
        return []
    lines = [row for row in quoted if IMPORT.match(row["line"]) is None]
    return [row for row in lines if language_of(row["path"]) in PROGRAMMING_LANGUAGES]


def rows_of_code(work: Work, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines that are code, rather than in a comment or a text over several lines."""
    numbers: dict[tuple[str, str], set[int]] = {}
    selected = []
    for row in rows:
        file = (row["repository"], row["path"])
        if file not in numbers:
            numbers[file] = {number for number, _ in code_lines(work, *file)}
        if row["line_number"] in numbers[file]:
            selected.append(row)
    return selected


def defining_lines(work: Work, kinds: Sequence[str], class_heads: Mapping[Location, ClassHead]) -> set[Location] | None:
    """Return the lines that define something of some kinds, by their words alone; None where words don't tell.

    Parameters
    ----------
    work
        The request under way.
    kinds
        Kinds such as ``class`` or ``enum``.
    class_heads
        The heads of classes in files of C and C++.
    """
    if not kinds or not all(kind in _KEYWORDS for kind in kinds):
        return None

    files = files_of(work)
    if files is None:
        return None

    words = "|".join(_KEYWORDS[kind] for kind in kinds)
    pattern = re.compile(rf"\s*{_MODIFIERS}(?:{words})\s+[\w$]")
    lines = {location for location, head in class_heads.items() if head.kind in kinds}
    for repository, path in files:
        language = language_of(path)
        if language not in LANGUAGES:
            continue
        if (language == "C++" and set(kinds) <= _OF_BODIES) or (language == "C" and tuple(kinds) == ("class",)):
            continue
        if not all(language in _WITH_KEYWORD[kind] for kind in kinds):
            return None

        work.inquiry.context.cancellation.check()
        lines |= {
            (repository, path, number)
            for number, line in code_lines(work, repository, path)
            if pattern.match(line) is not None
        }

    return lines


def files_in(lines: Collection[Location]) -> set[tuple[str, str]]:
    """Return the files of some lines."""
    return {(repository, path) for repository, path, _ in lines}


def count_with(work: Work, stated: Collection[Location], pattern: str) -> int:
    """Count the stated lines that have a pattern, read one by one."""
    count = 0
    for repository, path, number in stated:
        target = work.inquiry.pins.of(repository)
        lines = [] if target is None else work.texts.lines(target, path)
        count += 0 < number <= len(lines) and re.search(pattern, lines[number - 1]) is not None
    return count


def are_absent(work: Work, words: Sequence[str]) -> bool:
    """Return whether no line of any file has one of some words, in any case; True for too many files to read again."""
    lines_of_files = _read_all_files(work) if words else None
    if lines_of_files is None:
        return True

    lowered = [word.casefold() for word in words]
    texts = ("\n".join(lines).casefold() for lines in lines_of_files)
    return not any(word in text for text in texts for word in lowered)


def is_absent_joined(work: Work, word: str) -> bool:
    """Return whether no file has a word, also not with spaces, signs or line ends inside.

    False for too many files to read again.
    """
    lines_of_files = _read_all_files(work)
    if lines_of_files is None:
        return False

    lowered = word.casefold()
    return not any(lowered in re.sub(r"[\W_]+", "", "".join(lines)).casefold() for lines in lines_of_files)


def _read_all_files(work: Work) -> Iterator[Sequence[str]] | None:
    """Return an iterator over the lines of each file that may be shown; None for too many files to read again."""
    files = files_of(replace(work, request=replace(work.request, paths=(), languages=())))
    return None if files is None else _lines_of(work, files)


def _lines_of(work: Work, files: Sequence[tuple[str, str]]) -> Iterator[Sequence[str]]:
    for repository, path in files:
        target = work.inquiry.pins.of(repository)
        work.inquiry.context.cancellation.check()
        if target is not None and not is_hidden_file(path):
            yield work.texts.lines(target, path)


def has_unparsed_part(work: Work) -> bool:
    """Return whether a grammar lost its way in a file that a request counts in, so that definitions may be missing."""
    files = files_of(work, LANGUAGES)
    if files is None:
        return True

    byte_count = 0
    for repository, path in files:
        target = work.inquiry.pins.of(repository)
        definitions = None if target is None else work.texts.indexed_definitions(target, path)
        if definitions is not None and definitions.incomplete:
            return True
        if target is None:
            continue

        # Of a tree with errors, the rest is in the table; what the errors hide is in none.
        work.inquiry.context.cancellation.check()
        # Without its last newline, the grammar of Go finds an error.
        data = "".join(f"{line}\n" for line in work.texts.lines(target, path)).encode()
        byte_count += len(data)
        language = language_of(path)
        is_read = byte_count <= MAX_PARSED_BYTES
        if has_errors(language, data, max_seconds=_MAX_PARSE_SECONDS) if is_read else language in _WITH_MACROS:
            return True

    return any(head.has_macro for head in _read_class_heads(work).values())


def _read_class_heads(work: Work) -> dict[Location, ClassHead]:
    """Return the heads of classes and structs in files of C and C++; no grammar reads those with a macro."""
    heads: dict[Location, ClassHead] = {}
    for repository, path in files_of(work, ("C", "C++")) or ():
        target = work.inquiry.pins.of(repository)
        work.inquiry.context.cancellation.check()
        for head in [] if target is None else read_class_heads(work.texts.lines(target, path)):
            heads[repository, path, head.line] = head

    return heads


_DECLARING = re.compile(
    rf"\s*(?:template\s*<[^{{}}]*>\s*)?{_MODIFIERS}(?P<keyword>class|interface|struct|enum|record|object|trait|protocol"
    r"|actor|mixin|extension|impl)\b(?P<rest>.*)"
)
_MAX_LINE = 1_000


def confirm_subclasses(work: Work, fact: Fact) -> None:
    """Say a number of subtypes as a least one if a line declares something with the base that was not line_numbers."""
    names = [re.split(r"::|\.|\\", term.text)[-1] for term in work.request.terms]
    word = re.compile("|".join(rf"(?<![\w$]){re.escape(name)}(?![\w$])" for name in names))
    files = files_of(work)
    table = next((table for table in fact.tables if table.title == "Classes"), None)
    if files is None or table is None or table.total > len(table.rows):
        fact.is_least = True
        return

    line_numbers: dict[tuple[str, str], set[int]] = {}
    for row in table.rows:
        line_numbers.setdefault((row[0], row[1]), set()).add(row[2])

    types = {(row[0], row[1], row[3]) for row in table.rows}
    for repository, path in files:
        if language_of(path) not in PROGRAMMING_LANGUAGES:
            continue

        work.inquiry.context.cancellation.check()
        for number, line in code_lines(work, repository, path):
            if len(line) > _MAX_LINE or word.search(line) is None or number in line_numbers.get((repository, path), ()):
                continue
            subject = _subject_with_base(line, path, word)
            # A type of Rust may have several blocks for one trait, and counts once.
            if subject and (repository, path, subject) not in types:
                fact.is_least = True
                return


def _subject_with_base(line: str, path: str, word: re.Pattern[str]) -> str:
    """Return the type that a line declares with a base, by its words alone; empty for none."""
    match = _DECLARING.match(line)
    if match is None:
        return ""

    text = without_brackets(re.split(r"\s//|\s#\s", match["rest"])[0].replace("->", "  "), "<>").partition("{")[0]
    if match["keyword"] == "impl":
        trait, separator, subject = text.partition(" for ")
        if not separator and "{" not in line and ";" not in line:
            # The type is on a line below.
            return line.strip() if word.search(trait) else ""
        if "$" in subject:
            # A macro writes it for any number of types, and the sentence says so.
            return ""
        name = re.search(r"(\w+)\s*(?:where\b.*)?$", subject.strip())
        return (name[1] if name is not None else subject) if separator and word.search(trait) else ""

    if not path.endswith((".py", ".pyi")):
        text = without_brackets(text, "()")

    declaration = re.match(r"(?:\s*\[\[[^\]]*\]\]|\s+[A-Z_]+(?=\s+\w))*\s+(?:\w+(?:\.|::))*(\w+)(.*)", text)
    if declaration is None or text.rstrip().endswith(";"):
        return ""

    bases = re.split(r"\bwhere\b", declaration[2])[0]
    return (
        declaration[1] if re.search(r"[:(<]|\b(?:extends|implements|with|on)\b", bases) and word.search(bases) else ""
    )


def confirm_definitions(work: Work, fact: Fact) -> bool:
    """Say a number of definitions as a least one unless the words of the lines give the same lines.

    Returns
    -------
    bool
        Whether the fact can be stated: not if the two counts have no line in common.
    """
    request = work.request
    if not fact.number or request.kind != "definitions" or fact.unit != "definitions":
        return True
    if request.relation == "inherit":
        confirm_subclasses(work, fact)
        return True
    if request.relation in {"inherit", "contain", "call"} or not fact.tables or fact.tables[0].title != "Definitions":
        return True

    table = fact.tables[0]
    if table.rows and all(language_of(row[1]) in UNPARSED_LANGUAGES for row in table.rows):
        return True  # by the form of lines, so that keywords say nothing more

    indexed_lines = {(row[0], row[1], row[2]) for row in table.rows}
    kinds = request.symbol_kinds
    class_heads = _read_class_heads(work) if _OF_BODIES.intersection(kinds) else {}
    keyword_lines = None if request.relation or request.terms else defining_lines(work, kinds, class_heads)
    if keyword_lines is None or table.total > len(table.rows):
        # Names are found by the index alone; then only a file that is not parsed can hide one.
        fact.is_least = fact.is_least or has_unparsed_part(work)
    elif keyword_lines != indexed_lines:
        fact.is_least = True
        fact.sentences.append(
            "A second count, by keywords, found other lines. Only results of both counts are certain."
        )
        macro_heads = {
            location: head for location, head in class_heads.items() if head.has_macro and head.kind in kinds
        }
        sure = indexed_lines & keyword_lines | macro_heads.keys()
        fact.number, fact.repositories = len(sure), Counter(repository for repository, _, _ in sure)

        if macro_heads.keys() - indexed_lines:
            fact.sentences.append(
                "Classes with a macro before their names are certain, too, although grammars don't read them."
            )
            fact.tables[0] = _with_heads(work, table, sure, macro_heads)

    return bool(fact.number)


def _with_heads(work: Work, table: Rows, sure: Collection[Location], heads: Mapping[Location, ClassHead]) -> Rows:
    """Return a table of definitions with the certain lines, including `heads`."""
    rows: dict[Location, tuple[object, ...]] = {(row[0], row[1], row[2]): tuple(row) for row in table.rows}
    rows = {**{location: (*location, head.name, head.kind) for location, head in heads.items()}, **rows}
    longer = Rows(table.title, table.columns)
    for repository, path, line in sorted(sure):
        target = work.inquiry.pins.of(repository)
        citation = CitedLine(repository, target.commit if target is not None else "", path, line)
        longer.add(rows[repository, path, line], citation)

    return longer
