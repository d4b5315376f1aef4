"""Names that no line of code has, although documents, comments or lists of locked packages mention them.

"Is there GraphQL support?" is answered by that: no line of code has the word. A document that says so may still be
right about it, so a sentence is stated only if none of these lines affirms it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sourcelight.core.markup import code, join_words
from sourcelight.core.query.file_kinds import is_test
from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.model import FileEvidence, Finding, Statement
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import find_rows, has_row, join_queries, make_queries, row_evidence
from sourcelight.engines.deepsearch.lookups.absence.names import NOT_DENIED, find_absence
from sourcelight.engines.deepsearch.lookups.absence.spellings import aliases_of
from sourcelight.engines.deepsearch.lookups.recount import rows_of_code
from sourcelight.engines.deepsearch.question.lookups.existence_wording import ENDING, absent_subjects
from sourcelight.engines.deepsearch.redaction import is_hidden_file
from sourcelight.engines.deepsearch.source.line_kinds import DOCUMENTS
from sourcelight.engines.search.ranking.terms.related_words import related_terms
from sourcelight.engines.search.ranking.terms.tokenizer import stem

_MAX_MENTIONS = 400
"""Lines that mention a name; more are more than a mention."""
_LOCKS = re.compile(
    r"(?:^|/)(?:[\w.-]+[.-]lock(?:\.json|\.ya?ml|file)?|package-lock\.json|go\.sum|npm-shrinkwrap\.json|[\w.-]*\.lock\.\w+"
    r"|pnpm-lock\.yaml|Manifest\.toml)$",
    re.IGNORECASE,
)
"""Files in which a tool writes the packages of packages."""
_TEXTS = re.compile(
    r"(?:^|/)(?:LICEN[SC]E|COPYING|NOTICE|AUTHORS|CONTRIBUTORS|CHANGELOG|CHANGES|NEWS|README|TODO|HISTORY|RELEASES?|SECURITY"
    r"|CONTRIBUTING|CODE_OF_CONDUCT|UPGRAD\w*|MIGRAT\w*|ROADMAP)(?:[-_.][\w.-]*)?$",
    re.IGNORECASE,
)
_PROSE_LANGUAGES = frozenset(
    {
        "Markdown",
        "reStructuredText",
        "AsciiDoc",
        "Org",
        "Text",
        "RMarkdown",
        "TeX",
        "Textile",
        "Texinfo",
        "RDoc",
        "Pod",
        "Roff",
    }
)
_MAX_ENTRY = 120
"""Characters of a line that may be an entry of a list."""

_CHANGES = re.compile(r"(?:change|news|history|release)\w*(?:\.\w+)?$", re.IGNORECASE)
_OR = re.compile(r"\bor\b", re.IGNORECASE)
_AFFIRMS = re.compile(
    r"\b(?:support(?:s|ed|ing)?|works?|compatible|provid(?:e|es|ed|ing)|includ(?:e|es|ed|ing)|built[- ]?in|comes?"
    r"|available|implement\w*|add(?:s|ed)|now|enabl\w+|introduc\w+|allows?|lets?|features?)\b",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:no|not|never|without|cannot|can't|doesn't|don't|isn't|instead|third[- ]party|drop(?:s|ped)?|remov\w+"
    r"|planned|todo)\b",
    re.IGNORECASE,
)


def find_mentions_alone(work: Work) -> Finding | None:
    """State that no line of code has what a question asks for, and where it is mentioned; None if that is uncertain."""
    repository_words = work.inquiry.pins.name_words
    subjects = absent_subjects(work.inquiry.words, repository_words)
    findings = (_find_mentions_of(work, subject) for subject in subjects)
    if _OR.search(work.inquiry.words) is None:
        return next((finding for finding in findings if finding is not None), None)

    # One alternative that is there answers the question.
    alternatives = [finding for finding in findings if finding is not None]
    if not alternatives or len(alternatives) < len(subjects):
        return None
    first, *rest = alternatives
    first.details += [finding.headline for finding in rest]
    first.heading = "Neither is there"
    return first


def _find_mentions_of(work: Work, subject: str) -> Finding | None:
    pattern = _pattern_of(subject)
    queries = make_queries(work, f"case:no type:file /{pattern}/")
    content = find_rows(work, queries, max_rows=_MAX_MENTIONS)
    is_word = subject.islower() and subject.isalpha()
    if content.is_cut or not content.reads_all or _has_related(work, subject, is_word=is_word):
        return None
    if is_word and _has_root(work, subject, in_documents=not content.lines):
        return None
    if not content.lines:
        finding = find_absence(work.without_notes(), subject)
        return _leave_open(finding) if is_word and finding is not None else finding

    mentions = _Mentions(subject, content.lines)
    # A file of this name is an answer.
    paths = find_rows(work, make_queries(work, f"type:path /{pattern}/"))
    is_answered = bool(paths.rows) or mentions.are_listed or mentions.are_affirmed
    if is_answered or not paths.reads_all or rows_of_code(work, mentions.in_code):
        return None

    best = next((row for row in mentions.in_order if not is_hidden_file(row["path"])), None)
    evidence = None if best is None else row_evidence(work, best)
    if best is None or evidence is None:
        return None
    finding = _state(mentions, best, evidence, content.large_files, queries)
    return _leave_open(finding) if is_word else finding


@dataclass(frozen=True, slots=True)
class _Mentions:
    """The lines that have a name."""

    subject: str
    rows: Sequence[Mapping[str, Any]]

    @property
    def in_code(self) -> list[dict[str, Any]]:
        """Lines of files of code outside of tests; those that are no comments disprove that code lacks the name."""
        return [dict(row) for row in self.rows if not _is_text(row["path"]) and not is_test(row["path"])]

    @property
    def in_tests(self) -> list[Mapping[str, Any]]:
        """Lines of tests."""
        return [row for row in self.rows if is_test(row["path"]) and not _is_text(row["path"])]

    @property
    def in_locks(self) -> list[Mapping[str, Any]]:
        """Lines of lists of locked packages."""
        return [row for row in self.rows if _LOCKS.search(row["path"]) is not None]

    @property
    def in_documents(self) -> list[Mapping[str, Any]]:
        """Lines of documents."""
        return [row for row in self.rows if _is_text(row["path"]) and _LOCKS.search(row["path"]) is None]

    @property
    def are_affirmed(self) -> bool:
        """Whether a line may say that there is what the name means."""
        return any(_affirms(row["line"] or "") for row in (*self.in_documents, *self.in_code, *self.in_tests))

    @property
    def are_listed(self) -> bool:
        """Whether a line is the name with a version at most: any program may read a list of packages."""
        entry = re.compile(rf"\W*{_pattern_of(self.subject)}\W*(?:[\d*][\w.*]{{0,30}})?\W*", re.IGNORECASE)
        return any(entry.fullmatch((row["line"] or "")[:_MAX_ENTRY]) is not None for row in self.in_documents)

    @property
    def in_order(self) -> list[Mapping[str, Any]]:
        """The lines that have the name as a word, most telling ones first, then all others."""
        rows = [*self.in_code, *self.in_documents, *self.in_tests, *self.in_locks]
        return sorted(rows, key=lambda row: (not self.is_word_of(row), _CHANGES.search(row["path"]) is not None))

    def is_word_of(self, row: Mapping[str, Any]) -> bool:
        """Return whether a line has the name as a word: Redis is none of "redistribution"."""
        word = re.compile(rf"(?<![a-z]){_pattern_of(self.subject)}(?:s|es|ed|ing)?(?![a-z])", re.IGNORECASE)
        return word.search(row["line"] or "") is not None

    @property
    def kinds(self) -> list[str]:
        """The nouns for where they are."""
        groups = {
            "comments": self.in_code, "documents": self.in_documents, "tests": self.in_tests,
            "lists of locked packages": self.in_locks,
        }  # fmt: skip
        return [noun for noun, rows in groups.items() if rows]


def _state(
    mentions: _Mentions, best: Mapping[str, Any], evidence: FileEvidence, large_files: Sequence[str],
    queries: Sequence[str],
) -> Finding:  # fmt: skip
    code_noun = "code outside of tests" if mentions.in_tests else "code"
    within = "in" if mentions.is_word_of(best) else "within other words of"
    text = (
        f"No line of {code_noun} has {code(mentions.subject)}: it occurs {within} {join_words(mentions.kinds)} alone, "
        f"such as in line {best['line_number']:,} of {code(best['path'])}"
    )
    finding = Finding(Statement(text, (evidence,)), "absence", queries=[join_queries(queries)], is_negative=True)
    finding.quotes = [evidence]
    finding.method = [
        "Read every line with these letters, in any case. Code may do it under another name.",
        *dict.fromkeys(large_files),
    ]
    return finding


def _leave_open(finding: Finding) -> Finding:
    """Add that a word of prose, such as "offline", isn't the only one for what a question asks for."""
    if NOT_DENIED not in finding.headline.text:
        finding.headline = Statement(f"{finding.headline.text}. {NOT_DENIED}", finding.headline.evidence)
    return finding


def _has_root(work: Work, word: str, *, in_documents: bool) -> bool:
    """Return whether code may have the root of a word, also in two parts: `stream` for streaming, `pretty_print`.

    With `in_documents`, other files may have it, too: what says "a pool of size 1" is about pooling.
    """
    root = ENDING.sub("", word)
    splits = [f"{root[:index]}[-_. ]{root[index:]}" for index in range(3, len(root) - 2)]
    pattern = "|".join(([root] if root != word else []) + splits)
    if len(root) < 3 or not pattern:
        return False

    return has_row(
        work,
        make_queries(work, f"case:no type:file /{pattern}/"),
        lambda row: in_documents or (not _is_text(row["path"]) and not is_test(row["path"])),
    )


def _pattern_of(subject: str) -> str:
    """Return a pattern for a name in each way of writing: PSR-15 may be psr15."""
    parts = [part for part in re.split(r"[-_./ ]+", subject) if part]
    return r"[-_.\/ ]?".join(escape_regexp(part) for part in parts)


def _is_text(path: str) -> bool:
    """Return whether a file has prose or locked packages, and no code."""
    is_document = DOCUMENTS.search(path) is not None or language_of(path) in _PROSE_LANGUAGES
    # A program may be listed in a text: CMake's lists and requirements of Python are code here.
    is_list = re.search(r"(?:^|/)(?:CMakeLists|[\w.-]*requirements[\w-]*)\.txt$", path, re.IGNORECASE) is not None
    return (is_document and not is_list) or _TEXTS.search(path) is not None or _LOCKS.search(path) is not None


def _affirms(line: str) -> bool:
    """Return whether a line may say that something is supported."""
    return _AFFIRMS.search(line) is not None and _DENIES.search(line) is None


def _has_related(work: Work, word: str, *, is_word: bool) -> bool:
    """Return whether code may have another name of the same thing, or of a word its meaning: `gzip` compresses."""
    meanings = related_terms({stem(word): 1.0}) if is_word else ()
    related = {term for term in meanings if len(term) > 3 and term not in _EVERYWHERE}
    aliases = aliases_of(word)
    if not related and not aliases:
        return False
    # A short name may begin any word.
    names = [escape_regexp(name) if len(name) > 3 else rf"{name}(?:\b|_)" for name in sorted(aliases)]
    words = "|".join([*(escape_regexp(term) for term in sorted(related)), *names])
    queries = make_queries(work, f"case:no type:file /(?:\\b|_)(?:{words})/")
    return has_row(work, queries, lambda row: not _is_text(row["path"]))


_EVERYWHERE = frozenset({"attempt", "repeat", "check", "call", "make", "find", "add", "set", "read", "open", "default"})
