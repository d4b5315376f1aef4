"""Entries of lists that say what a name is: "- `fast`: without checks", "volatile-lru -> Evict any key".

An entry begins with the name and a sign behind it, so that what follows is about that name. Lines with the name are
searched first, and of their files, paragraphs that begin on such a line are read. A question for a difference needs two
entries of one list. If there are several such entries or pairs, none is stated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sourcelight.core.markup import code
from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.model import Finding, Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import find_rows, make_queries
from sourcelight.engines.deepsearch.markdown import inline
from sourcelight.engines.deepsearch.passages.choice import is_for_others
from sourcelight.engines.deepsearch.source.line_kinds import DOCUMENTS
from sourcelight.engines.deepsearch.source.paragraphs import ProseParagraph, comment_paragraphs, document_paragraphs
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking.paths import kind_of

_MAX_ROWS, _MAX_FILES = 4_000, 40
"""Lines with a name, and files with them, that are read."""

_MAX_APART = 40
"""Lines between two entries of one list."""

_MIN_WORDS = 3
"""Words behind a name that say something of it."""

_MAX_QUOTED, _MAX_TITLE = 220, 80
"""Characters of an entry and of a heading that are quoted."""

_MAX_QUALIFIER, _MAX_BRACKET = 60, 100
"""Characters before a name that it is a part of, and of a bracket behind it."""

# Questions.
_NOUN = (
    r"(?:policy|policies|options?|settings?|flags?|modes?|commands?|directives?|keys?|values?|levels?|strateg(?:y|ies)"
    r"|tags?|headers?|events?|fields?|parameters?|arguments?|variables?|states?|keywords?|operators?|types?|backends?)"
)
"""Nouns of things that lists explain."""

_MEANING = re.compile(
    rf"^\W*what\s+(?:does|do|is|are|did)\s+(?:the\s+)?(?:(?P<noun>{_NOUN})\s+)?(?P<name>\S{{1,60}}?)"
    rf"(?:\s+(?P<after>{_NOUN}))?(?:\s+(?:do|mean|stand\s+for|for))?\s*\?*\s*$",
    re.IGNORECASE,
)
"""A question for a meaning: `What does the option --fast do?`, `What is volatile-lru?`."""

_DIFFERENCE = re.compile(
    r"\bdifferences?\s+between\s+(?P<first>.{1,80}?)\s+(?:and|vs\.?|versus)\s+(?P<second>.{1,80}?)\s*\?*\s*$"
    r"|^\W*how\s+(?:does|do|is|are)\s+(?P<one>.{1,80}?)\s+(?:differ|different)\s+from\s+(?P<other>.{1,80}?)\s*\?*\s*$",
    re.IGNORECASE,
)
"""A question for a difference: `the difference between fast and slow`, `How does fast differ from slow?`."""

_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)
_CODE_NAME = re.compile(r"[-_./<>%$@:=\d`]|\w[A-Z]")
"""A sign, a digit or a capital within a word, by which it is a name of code: `--fast`, `maxSize`."""

# Entries.
_MARK = r"[`*_\"']{0,3}"
_ROLE = re.compile(r":[\w.+:-]{1,40}:`~?([^`]{1,200})`")
"""A name with its role in reStructuredText: ``:option:`--fast` ``."""

_LIST_MARK = r"(?:(?:[-*+•]|\d{1,2}[.)])\s+|\|\s*)?"
"""The mark of an item of a list or of a row of a table: `- `, `2. `, `| `."""

_DOCUMENT_ENDINGS = (".asciidoc", ".markdown", ".pod")
"""Endings of documents that `DOCUMENTS` lacks."""

_UNREAD_KINDS = frozenset({"test", "changelog", "vendored"})
"""Kinds of files whose lists say nothing of the project as it is."""


@dataclass(frozen=True, slots=True)
class ListEntry:
    """An entry of a list: its first sentence, and the paragraph that it begins."""

    target: Target
    path: str
    text: str
    paragraph: ProseParagraph


def state_entry(work: Work) -> Finding | None:
    """Return what a list says of the name that a question is about, or of both that it compares; None otherwise."""
    question = " ".join(work.inquiry.question.split())
    compared = _DIFFERENCE.search(question)
    if compared is not None:
        first, second = (_ARTICLE.sub("", name) for name in compared.groups() if name)
        return _state_pair(work, first, second)

    meaning = _MEANING.match(question)
    if meaning is None:
        return None

    name = meaning["name"]
    is_named = meaning["noun"] or meaning["after"] or _CODE_NAME.search(name) is not None
    entries = list(_find_entries(work, [name])) if is_named else []
    return _write(work.texts, entries) if len(entries) == 1 else None


def _state_pair(work: Work, first: str, second: str) -> Finding | None:
    """Return what one list says of two names; None if none does, or several do."""
    of_first = list(_find_entries(work, _variants(first, second)))
    of_second = list(_find_entries(work, _variants(second, first))) if of_first else []
    pairs = [[entry, other] for entry in of_first for other in of_second if _is_same_list(entry, other)]
    return _write(work.texts, pairs[0]) if len(pairs) == 1 else None


def _variants(name: str, other: str) -> list[str]:
    """Return how a list may call one of two compared things: "active" and "passive mode" share a noun."""
    words, other_words = name.split(), other.split()
    if len(words) == 1 and len(other_words) > 1:
        return [name, f"{name} {other_words[-1]}"]
    if len(words) > 1 and len(other_words) == 1:
        # "The policies earliest and latest", "active mode and passive".
        return [name, words[-1], words[0]]
    return [name]


def _is_same_list(entry: ListEntry, other: ListEntry) -> bool:
    is_same_file = (entry.target, entry.path) == (other.target, other.path)
    distance = abs(entry.paragraph.begin_line - other.paragraph.begin_line)
    return is_same_file and 0 < distance <= _MAX_APART and entry.paragraph.titles == other.paragraph.titles


def _find_entries(work: Work, names: Sequence[str]) -> Iterator[ListEntry]:
    """Yield the entries that begin with one of some names, in documents, comments and files of settings."""
    entry = entry_form(names)
    for file, numbers in _lines_by_file(work, names)[:_MAX_FILES]:
        target = work.inquiry.pins.of(file.repository)
        work.context.cancellation.check()
        if target is None:
            continue

        for paragraph in _paragraphs(work.texts, target, file.path):
            text = paragraph.sentences[0].text
            if paragraph.begin_line in numbers and entry.match(_ROLE.sub(r"`\1`", text)) is not None:
                yield ListEntry(target, file.path, text, paragraph)


class _ListFile(NamedTuple):
    """A file that may have a list."""

    repository: str
    path: str


def _lines_by_file(work: Work, names: Sequence[str]) -> list[tuple[_ListFile, set[int]]]:
    """Return the files with one of some names, documents first, and the lines (from 1) that have it."""
    pattern = "|".join(escape_regexp(name).replace(" ", r"\s") for name in names)
    rows = find_rows(work, make_queries(work, f"type:file /{pattern}/")).lines
    lines_by_file: dict[_ListFile, set[int]] = {}
    for row in rows[:_MAX_ROWS]:
        if kind_of(row["path"]) not in _UNREAD_KINDS and not is_for_others(row["path"]):
            lines_by_file.setdefault(_ListFile(row["repository"], row["path"]), set()).add(row["line_number"])

    return sorted(lines_by_file.items(), key=lambda item: (kind_of(item[0].path) != "docs", item[0]))


def _paragraphs(texts: FileTexts, target: Target, path: str) -> Iterator[ProseParagraph]:
    lines = texts.lines(target, path)
    if DOCUMENTS.search(path) is not None or path.endswith(_DOCUMENT_ENDINGS):
        return document_paragraphs(path, lines)
    return comment_paragraphs(lines, language_of(path) or "INI")


def entry_form(names: Sequence[str]) -> re.Pattern[str]:
    """Return the form of an entry for one of some names: a sign behind the name, or marks of code around it."""
    name = "|".join(rf"{re.escape(name)}s?" for name in names)
    qualifier = rf"(?:[\w.]{{1,{_MAX_QUALIFIER}}}[.:])?"
    bracket = rf"(?:\s*\([^()]{{0,{_MAX_BRACKET}}}\))?"
    sign = r"(?::(?=\s)|->|=>|--?(?=\s)|[\u2013\u2014|])"
    words = rf"\s*(?:\S+\s+){{{_MIN_WORDS - 1}}}\S"
    with_sign = rf"{_MARK}{qualifier}(?:{name}){_MARK}{bracket}{_MARK}\s*{sign}{words}"
    as_code = rf"(?<=[-*+•]\s)[`*]{{1,2}}(?:{name})[`*]{{1,2}}\s+{words}"
    return re.compile(rf"{_LIST_MARK}(?:{with_sign}|{as_code})", re.IGNORECASE)


def _write(texts: FileTexts, entries: Sequence[ListEntry]) -> Finding:
    """State what one or two entries say."""
    first = entries[0]
    titles = first.paragraph.titles
    title = f" under “{inline(titles[-1], _MAX_TITLE)}”" if titles else ""
    quotations = " and ".join(f"“{inline(entry.text, _MAX_QUOTED)}”" for entry in entries)
    evidence = tuple(
        texts.evidence(entry.target, entry.path, entry.paragraph.begin_line, entry.paragraph.end_line, "doc", 1.0)
        for entry in entries
    )
    finding = Finding(Statement(f"{code(first.path)} says{title}: {quotations}", evidence), "explanation")
    finding.quotes = list(evidence)
    finding.method.append("The entries were chosen by the names that they begin with. Code was not run or followed.")
    return finding
