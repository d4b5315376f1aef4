"""Passages of documents about a project: the first paragraph of its README, and sections on how to use it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sourcelight.core.markup import code, join_first
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.evidence.model import MAX_DETAILS, MAX_NAMED, FileEvidence, Finding, Statement
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, run_searches
from sourcelight.engines.deepsearch.markdown import inline
from sourcelight.engines.deepsearch.redaction import is_hidden_file
from sourcelight.engines.deepsearch.source.documents import (
    DocumentParagraph,
    DocumentSection,
    first_paragraph,
    sections_of,
)
from sourcelight.engines.search import Target

_MAX_DOCUMENTS = 40
_QUOTED_LINES = 40
_MAX_DESCRIPTION, _MAX_QUOTE, _MAX_TITLE = 400, 300, 80
_DOCUMENTS = (
    r"^((docs?|documentation|\.github)/)?[^/]*(readme|install|build|compil|contribut|hacking|develop|testing|security|usage"
    r"|quick.?start|getting.?started|architecture|design|structure|internals|releas|maintain|authors|owners|support"
    r"|config|tutorial|overview|intro|guide|index|change|history|news)[^/]*$"
)
_DOCUMENT_NAME = re.compile(
    r"[\w -]+|[\w .-]+\.(?:md|markdown|mdx|mkd|mdown|rst|rdoc|adoc|asciidoc|txt|org|pod|textile|creole)", re.IGNORECASE
)
"""A document has an extension of text, or none."""
_TRANSLATED = re.compile(
    r"[._-](?:zh|cn|ja|jp|ko|kr|es|fr|de|ru|pt|br|it|tr|id|vi|fa|ar|uk|pl|tw)(?:[_-]\w{2,4})?(?:\.\w+)?$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class _Subject:
    """Titles of the sections about a subject, best first, and names of the documents about it as a whole."""

    titles: Sequence[str]
    document: str = ""
    is_document_first: bool = False


_INSTALL = r"(?:how to )?install(?:ing|ation)?\b"
_USAGE = r"(?:basic )?usage\b|how to use\b|using(?: \w+){0,2}$"
_QUICK_START = r"quick ?-?start\b|getting started\b|get started\b"
_EXAMPLES = r"(?:an? )?(?:\w+ )?examples?$|synopsis$"
_GUIDE = r"usage|^(?:user.?)?guide\b"
_DEVELOPMENT = r"(?:hacking|development|developing)\b"
_SUBJECTS: Mapping[str, _Subject] = {
    "install": _Subject(
        (_INSTALL, r"set(?:ting)? ?up\b|setup\b", r"download(?:ing|s)?\b|get(?:ting)? it\b", _QUICK_START, _USAGE),
        "install",
    ),
    "build": _Subject(
        (
            r"(?:how to )?build(?:ing)?\b(?! (?:status|tools?\b))",
            r"compil(?:e|ing|ation)\b",
            r"(?:install(?:ing|ation)? )?(?:from|the) (?:source|code)",
            _DEVELOPMENT,
            _INSTALL,
        ),
        "build|compil",
    ),
    "test": _Subject(
        (
            r"(?:how to )?run(?:ning)?(?: \w+){0,2} test(?:s|suite| suite)?\b|(?:unit )?test(?:s|ing)?(?: \w+)?$",
            r"test suite\b",
            _DEVELOPMENT,
            r"build(?:ing)?(?: \w+)?$",
        ),
        "testing",
    ),
    "start": _Subject(
        (_QUICK_START, _USAGE, r"tutorial\b|first steps", _INSTALL, _EXAMPLES),
        f"getting.?started|quick.?start|tutorial|{_GUIDE}",
    ),
    "run": _Subject(
        (r"(?:how to )?run(?:ning)?\b(?!.*tests?\b)|start(?:ing)?\b|launch", _USAGE, _QUICK_START, _EXAMPLES)
    ),
    "use": _Subject((_USAGE, _QUICK_START, _EXAMPLES), _GUIDE),
    "configure": _Subject(
        (r"configur(?:e|ing|ation)\b", r"(?:settings|options)\b"), r"^config\w*\.(?:md|rst|adoc|txt)$"
    ),
    "contribute": _Subject(
        (r"contribut(?:e|ing|ions?|ors? guide)\b", _DEVELOPMENT, r"pull requests?\b"),
        "contribut|hacking",
        is_document_first=True,
    ),
    "security": _Subject((r"(?:reporting )?(?:an? )?(?:security|vulnerabilit)",), "^security", is_document_first=True),
    "bugs": _Subject(
        (
            r"(?:report|fil)(?:ing)? (?:an? )?(?:bugs?|issues?)|bugs?\b|issues?\b|bug reports?",
            r"support\b|(?:getting )?help\b",
        ),
        "support",
    ),
    "release": _Subject(
        (
            r"(?:how to |making |cutting )?(?:an? )?(?:new )?releas(?:e|ing)(?: process| procedure| checklist|s)?$",
            r"publish(?:ing)?\b",
        ),
        "releas",
        is_document_first=True,
    ),
    "changelog": _Subject(
        (r"change ?-?log\b|release notes\b",),
        r"^(?:change|history|news|releases?\b|release.?notes)",
        is_document_first=True,
    ),
    "layout": _Subject(
        (
            r"(?:\w+ |high-level )?(?:architecture|structure|layout|organi[sz]ation)\b",
            r"(?:overview of the|source) (?:code|source|tree)|(?:code|codebase) overview|internals\b|how it works",
        ),
        "architecture|structure|internals",
    ),
    "docs": _Subject((r"documentation\b|docs\b|(?:user )?manual\b|(?:further|more) (?:reading|information)",)),
    "people": _Subject(
        (r"(?:current |core |project )?maintainers?\b|maintained by|(?:core )?team\b",),
        "maintainers",
        is_document_first=True,
    ),
}
"""Titles of sections by topic, and names of documents."""

_UNTITLED = {
    "install": "installing it", "build": "building it", "test": "running its tests", "contribute": "contributing",
    "security": "security", "bugs": "reporting bugs", "release": "releasing it",
}  # fmt: skip
"""Topics of which a missing section is worth saying: no code answers these instead."""
_FOR_USERS = frozenset({"install", "start", "use", "run", "configure", "layout", "changelog"})
_ABOUT_FILE = re.compile(r"(?:this|the) (?:readme|document|file|page)\b|note\b|warning\b|news\b", re.IGNORECASE)
_ABOUT_PROJECT = re.compile(r"\W*(?:what(?:'s| is)|about|overview|introduction|description)\b", re.IGNORECASE)
_MARK = re.compile(r"^[\W\d_]+")
_GENERAL = re.compile(r"readme|contribut|develop|hacking|index\.|introduction|overview", re.IGNORECASE)
"""Documents whose titles of sections speak of the project."""
_BLOCK = re.compile(r"\s*(?:[-*+] |\d{1,3}[.)] |```|~~~|\||<pre)|    \s*\S|\.\. (?:code|code-block|sourcecode)::")


@dataclass(frozen=True, slots=True)
class ProjectDocument:
    """A document of a repository."""

    target: Target
    path: str


_Candidate: TypeAlias = tuple[tuple[int, ...], ProjectDocument, DocumentSection]
"""A section of a document with its rank."""


def documents(work: Work, queries: list[str]) -> Iterator[ProjectDocument]:
    """Yield documents at the top and in directories of documentation, READMEs first."""
    searches = make_queries(work, f"type:path file:{quote_value(_DOCUMENTS)}")
    queries += searches
    paths = {(row["repository"], row["path"]) for row in run_searches(work, searches) if row["path"]}
    count = 0
    for repository, path in sorted(paths, key=lambda item: (item[0], _order(item[1]))):
        target = work.inquiry.pins.of(repository)
        name = path.rpartition("/")[2]
        is_document = not name.startswith(".") and _DOCUMENT_NAME.fullmatch(name)
        if target is None or not is_document or _TRANSLATED.search(name) or is_hidden_file(path):
            continue
        if count < _MAX_DOCUMENTS:
            count += 1
            yield ProjectDocument(target, path)


def _order(path: str) -> tuple[bool, int, bool, int, str]:
    name = path.rpartition("/")[2].casefold()
    # `README.md` before `README-dev.md`, and these before other documents.
    return not name.startswith("readme"), path.count("/"), "." in name.partition(".")[2], len(name), path


def find_overview(work: Work) -> Finding | None:
    """Return the first paragraph of each repository's README; None if none has one."""
    queries: list[str] = []
    statements: dict[str, Statement] = {}
    has_readme = False
    for document in documents(work, queries):
        key = document.target.repository.key
        if key in statements or not document.path.rpartition("/")[2].casefold().startswith("readme"):
            continue

        has_readme = True
        lines = work.texts.lines(document.target, document.path)
        paragraph = _find_description(document.path, lines)
        if paragraph is not None:
            evidence = work.texts.evidence(
                document.target, document.path, paragraph.begin_line, paragraph.end_line, "doc", 1.0
            )
            source = f"{code(document.path)}{of_repository(work, document.target)}"
            statements[key] = Statement(f"{source} says: “{inline(paragraph.text, _MAX_DESCRIPTION)}”", (evidence,))

    if not statements:
        if has_readme or not queries:
            return None
        text = "No file at the top is called README"
        return Finding(Statement(text), "document", queries=[join_queries(queries)], notes=work.notes, is_negative=True)

    headline, *further = statements.values()
    finding = Finding(
        headline, "document", queries=[join_queries(queries)], notes=work.notes, heading="Other repositories"
    )
    finding.details = further[:MAX_DETAILS]
    finding.method.append("Quotes the first paragraph of the README.")
    return finding


def _find_description(path: str, lines: Sequence[str]) -> DocumentParagraph | None:
    """Return the first paragraph of a README, or of a section about the project if the first is about the file."""
    first = first_paragraph(path, lines, 1, len(lines))
    if first is None or _ABOUT_FILE.match(first.text) is None:
        return first

    for section in sections_of(path, lines):
        if _ABOUT_PROJECT.match(section.title):
            paragraph = first_paragraph(path, lines, section.begin_line, section.end_line)
            if paragraph is not None:
                return paragraph

    return first


def find_section(work: Work, topic: str) -> Finding | None:
    """Return what the documents of a project say about a topic of `question.lookups.project`; None for nothing."""
    subject = _SUBJECTS.get(topic)
    if subject is None:
        return None

    queries: list[str] = []
    candidates: list[_Candidate] = []
    for order, document in enumerate(documents(work, queries)):
        lines = work.texts.lines(document.target, document.path)
        candidates += _candidates(topic, subject, document, lines, order)

    statements: dict[str, Statement] = {}
    for _, document, section in sorted(candidates, key=lambda candidate: candidate[0]):
        key = document.target.repository.key
        statement = None if key in statements else _state(work, document, section)
        if statement is not None:
            statements[key] = statement

    if not statements:
        return None

    headline, *further = statements.values()
    finding = Finding(
        headline, "document", queries=[join_queries(queries)], notes=work.notes, heading="Other repositories"
    )
    finding.quotes = [item for item in headline.evidence if isinstance(item, FileEvidence)]
    finding.details = further
    finding.method.append("Reads documents at the top and in directories of documentation; titles decide.")
    return finding


def _candidates(
    topic: str, subject: _Subject, document: ProjectDocument, lines: Sequence[str], order: int
) -> Iterator[_Candidate]:
    """Yield the sections of a document that a topic asks for, each with its rank; the least is the best."""
    name = document.path.rpartition("/")[2]
    is_about = bool(subject.document) and re.search(subject.document, name, re.IGNORECASE) is not None

    # A guide to testing or security among the documentation is about what users write.
    is_about = is_about and (topic in _FOR_USERS or "docs/" not in f"/{document.path}".casefold())
    if not is_about and _GENERAL.match(name) is None:
        # "Tests" in the notes on releases are other tests.
        return

    sections = sections_of(document.path, lines)
    if is_about and topic == "changelog":
        # The newest version comes first.
        versions = [section for section in sections if re.search(r"\d\.\d", section.title)]
        yield from (((-1, order), document, section) for section in versions[:1])

    if is_about and lines:
        rank = -1 if subject.is_document_first else len(subject.titles)
        yield (rank, order), document, DocumentSection("", 0, 1, len(lines))

    for section in sections:
        title = _MARK.sub("", section.title).strip()
        ranks = (rank for rank, form in enumerate(subject.titles) if re.match(form, title, re.IGNORECASE))
        rank = next(ranks, -1)
        if rank >= 0:
            yield (rank, order, section.level), document, section


def find_no_section(work: Work, topic: str) -> Finding | None:
    """Return that no title of a document is about a topic; None for other topics, or without documents."""
    noun = _UNTITLED.get(topic)
    queries: list[str] = []
    paths = [document.path for document in documents(work, queries)] if noun else []
    is_whole = len(paths) < _MAX_DOCUMENTS

    # Only of these are all titles read.
    paths = [path for path in paths if _GENERAL.match(path.rpartition("/")[2])]
    if not paths or not is_whole or len(work.inquiry.pins) > 1:
        return None

    names = join_first([code(path) for path in paths], MAX_NAMED)
    finding = Finding(
        Statement(f"No title in {names} is about {noun}"), "document", queries=[join_queries(queries)], notes=work.notes
    )
    finding.is_negative = True
    finding.method.append("Reads the titles of documents at the top and in directories of documentation.")
    return finding


def _state(work: Work, document: ProjectDocument, section: DocumentSection) -> Statement | None:
    """State what a section says first; None for an empty one."""
    lines = work.texts.lines(document.target, document.path)
    end = min(section.end_line, section.begin_line + _QUOTED_LINES - 1)
    while end > section.begin_line and not lines[end - 1].strip():
        end -= 1

    if end <= section.begin_line and section.title:
        return None

    # A paragraph after a list or a block of code isn't the first thing that the section says.
    paragraph = first_paragraph(document.path, lines, section.begin_line, section.end_line)
    if (
        paragraph is not None
        and section.title
        and _has_other_block(lines[section.begin_line : paragraph.begin_line - 1])
    ):
        paragraph = None

    evidence = work.texts.evidence(document.target, document.path, section.begin_line, end, "doc", 1.0)
    source = f"{code(document.path)}{of_repository(work, document.target)}"
    title = f" under “{inline(section.title, _MAX_TITLE)}”" if section.title else ""
    if paragraph is not None and paragraph.begin_line <= end:
        return Statement(f"{source} says{title}: “{inline(paragraph.text, _MAX_QUOTE)}”", (evidence,))

    return Statement(f"{source} has the section “{inline(section.title, _MAX_TITLE)}”", (evidence,)) if title else None


def _has_other_block(lines: Sequence[str]) -> bool:
    """Return whether some lines have a list, a block of code or a table."""
    return any(_BLOCK.match(line) for line in lines)


def of_repository(work: Work, target: Target) -> str:
    """Return the name of a repository for a sentence; empty if only one is searched."""
    return f" of {code(target.repository.name)}" if len(work.inquiry.pins) > 1 else ""
