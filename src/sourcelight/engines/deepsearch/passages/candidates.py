"""Read the sentences and statements of a file that may answer a question, with what stands around them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.explanations.question import ExplanationQuestion
from sourcelight.engines.deepsearch.source.comments import MAX_LINE_CHARACTERS, MAX_LINES, has_prose_marks
from sourcelight.engines.deepsearch.source.documents import has_links_alone
from sourcelight.engines.deepsearch.source.line_kinds import ANY_COMMENT, TAB_SIZE, indent_width
from sourcelight.engines.deepsearch.source.paragraphs import (
    ProseParagraph,
    Sentence,
    comment_paragraphs,
    document_paragraphs,
)
from sourcelight.engines.search import Target
from sourcelight.engines.symbols.definition_parser import Definition

_MAX_DEFINITIONS = 2_000
"""Definitions of a file that are compared with a line."""

_ANCESTORS = 3
"""Lines of smaller indentation above a statement that say when it runs."""

_MAX_ABOVE = 60
"""Lines above a statement in which those are looked for."""

_DOCUMENTS = frozenset({"Markdown", "reStructuredText", "AsciiDoc", "Text", "Pod", ""})
_SHEBANG = re.compile(r"#!\s*\S*?(?:\benv\s+)?\b([a-z]+)[\d.]*\s*$")
_INTERPRETERS = {"python": "Python", "ruby": "Ruby", "perl": "Perl", "node": "JavaScript"}
_SIGNS = re.compile(r"[{}()\[\];=<>|$\\]")
_MAX_SIGNS = 0.09
"""Share of signs in a sentence from which it is code: documentation has examples, too."""

_STATEMENT = re.compile(
    r"\b(?:raise|throw|throws|return|exit|die|abort|panic|warn|warning|error|fail|assert|log|print|puts|reject|bail"
    r"|ensure|require|check|echo|stop|quit|fatal|notify|emit)\w*\b|=>|->",
    re.IGNORECASE,
)
"""Words of lines that end or report something."""
_TEXT = re.compile(r"\"[^\"\\]*(?:\\.[^\"\\]*)*\"|'[^'\\]*(?:\\.[^'\\]*)*'|`[^`]*`")
_MIN_TEXT = 8
"""Characters of a text between quotation marks that says something."""

_TEST_HEAD = re.compile(
    r"\b(?:def|func|fn|fun|function|void|Task|class|let|val)\s+`?\w*(?:[tT]est|[sS]pec|[sS]hould)"
    r"|^\s*(?:pub\s+)?(?:it|test|specify|scenario|describe|context|should|testCase|test_that|deftest|@test|property"
    r"|(?:TEST|SCENARIO|SECTION|BOOST_AUTO_TEST)\w*|(?:it|test|describe)\.\w+)\b\s*[({\"'`\w]",
)
"""The head of a test by the conventions of common frameworks."""

_LICENSE = re.compile(r"\b(?:copyright|licen[sc]e|warranty|permission is hereby|redistribut)", re.IGNORECASE)
_PARAMETER_TAG = re.compile(
    r"(?:[@\\](?:param|returns?|type|see|since|author|version|module|namespace|package|file|fileoverview)"
    r"|:(?:param|type|returns?|rtype))\b"
)
"""Tags of what a definition takes and gives, in words that explain nothing by themselves."""

_NO_STATEMENT = re.compile(r"\s*(?:[)\]}]|(?:return|yield)\s+[\w.$@]*\s*;?\s*$)")
"""The end of a head or a block, or a value that is only given back: such a line explains nothing by itself."""

_DEPRECATED = re.compile(r"\bdeprecated\b", re.IGNORECASE)
_MAX_COMMENT_LINES = 12
"""Lines above and below a sentence in which its comment is looked for."""

_HEADER_LINES = 5
"""Lines at the beginning of a file that may have its name, its project and its author."""

_DOCSTRING_MARKS = ('"""', "'''")
_MAX_HEAD = 14
"""Lines between a paragraph of documentation and the name that it is about."""

_DECLARES = re.compile(
    r"\s*(?:(?:public|private|static|export|pub|local|async|default|final|open|override|internal)\s+)*(?:def\w*|fn|func"
    r"|fun|function|sub|proc|class|struct|type|data|newtype|enum|let|val|var|const|module|macro|\(def\w*|@\w+)\b"
    r"|\s*[\w'.]+\s*(?:::|<-\s*function|=\s*function|\(\)\s*\{)",
)
"""The form of a line that declares a name, in languages that no grammar reads here."""

_NAME = re.compile(r"[A-Za-z_$][\w$]*[!?]?")
_FSHARP_ATTRIBUTE = re.compile(r"\[<[^<>\]]*>\]")
_LISP_NAME = re.compile(
    r"\((?:[\w.-]+/)?(?:def|ns\b)[\w*!?-]*\s+"
    # Metadata of Clojure may precede the name: `(def ^{:dynamic true} *size* 5)`, `(def ^:private size 5)`.
    r"(?:\^(?:\{[^{}]*\}|:?[\w./-]+)\s*)*(?P<name>[^\s()\[\]{}\"'`;^#,:][^\s()\[\]{}\"`;,]*)"
)
_COMMON_TEXT = """
public private protected internal static final abstract async const let var val fun func function def fn class struct
enum interface trait type void int bool boolean string override open sealed pub export default return self this new
suspend inline extern unsigned char long double float defn defmacro defp defmodule module object namespace data
instance where template typename virtual explicit constexpr auto readonly declare local end do if mutable rec
"""
_COMMON = frozenset(_COMMON_TEXT.split())


@dataclass(frozen=True)
class AskedFile:
    """A file with what is read of it."""

    target: Target
    path: str
    lines: Sequence[str]
    definitions: Sequence[Definition]
    kind: str
    score: float

    @classmethod
    def of(cls, texts: FileTexts, target: Target, path: str, kind: str, score: float) -> AskedFile:
        """Read a file."""
        lines = texts.lines(target, path)[:MAX_LINES]
        parsed = texts.engine.store.definitions_of(target, path)
        definitions = list(parsed.definitions())[:_MAX_DEFINITIONS] if parsed is not None else []
        # The parser read the whole file, here the first MAX_LINES lines count.
        within = [definition for definition in definitions if definition.line <= len(lines)]
        return cls(target, path, lines, within, kind, score)

    @property
    def language(self) -> str:
        """The display name of its language; of a script without an extension, by its first line."""
        language = language_of(self.path) or ""
        shebang = _SHEBANG.match(self.lines[0][:200]) if self.lines and not language else None
        return language if shebang is None else _INTERPRETERS.get(shebang[1], "Shell")

    def enclosing(self, line: int) -> Sequence[Definition]:
        """Return the definitions around a line, the innermost first."""
        borders, around = self._spans
        index = bisect_right(borders, line) - 1
        return around[index] if index >= 0 else ()

    def between(self, first: int, last: int) -> list[Definition]:
        """Return the definitions whose names are on some lines, both included, in the order of `definitions`."""
        lines, indices = self._name_lines
        selected = indices[bisect_left(lines, first) : bisect_right(lines, last)]
        return [self.definitions[index] for index in sorted(selected)]

    @cached_property
    def _spans(self) -> tuple[list[int], list[list[Definition]]]:
        """The lines at which a definition begins or has ended, and the definitions around the lines from each on."""
        by_begin = sorted(enumerate(self.definitions), key=lambda item: item[1].begin_line)
        ends = {definition.end_line + 1 for definition in self.definitions}
        borders = sorted(ends | {definition.begin_line for definition in self.definitions})
        around: list[list[Definition]] = []
        active: dict[int, Definition] = {}
        position = 0
        for border in borders:
            while position < len(by_begin) and by_begin[position][1].begin_line <= border:
                index, definition = by_begin[position]
                active[index] = definition
                position += 1

            active = {index: definition for index, definition in active.items() if definition.end_line >= border}
            in_order = [active[index] for index in sorted(active)]
            around.append(sorted(in_order, key=lambda item: (item.end_line - item.begin_line, -item.begin_line)))

        return borders, around

    @cached_property
    def _name_lines(self) -> tuple[list[int], list[int]]:
        """The lines of the names of all definitions, ascending, and the place of each definition in the file's."""
        indices = sorted(range(len(self.definitions)), key=lambda index: self.definitions[index].line)
        return [self.definitions[index].line for index in indices], indices

    def is_deprecated(self, candidate: AnswerCandidate) -> bool:
        """Return whether the comment around a sentence calls what it describes deprecated."""
        first, last = candidate.begin_line, candidate.end_line
        above = reversed(self.lines[max(0, first - 1 - _MAX_COMMENT_LINES) : first - 1])
        below = self.lines[last : last + _MAX_COMMENT_LINES]
        around = [*takewhile(ANY_COMMENT.match, above), *takewhile(ANY_COMMENT.match, below)]
        return any(_DEPRECATED.search(line) for line in [*self.lines[first - 1 : last], *around])

    @property
    def is_document(self) -> bool:
        """Whether it is prose as a whole."""
        return self.language in _DOCUMENTS


@dataclass(frozen=True, slots=True)
class AnswerCandidate:
    """A sentence or a statement that may answer.

    Attributes
    ----------
    file
        Its file.
    kind
        ``comment``, ``document``, ``code``, or ``test`` for the head of a test.
    text
        Its words.
    begin_line, end_line
        Its lines, from 1.
    paragraph
        Of a sentence, the sentences around it.
    unit
        The definition that it describes or is in; empty if unknown.
    describes
        Whether it belongs to the documentation of that definition.
    near_text, far_text
        Words of what it belongs to: its paragraph, definition and conditions; its headings, class and path.
    conditions
        Of a statement, the lines above that say when it runs, the nearest first.
    """

    file: AskedFile
    kind: str
    text: str
    begin_line: int
    end_line: int
    paragraph: ProseParagraph | None = None
    unit: str = ""
    describes: bool = False
    near_text: str = ""
    far_text: str = ""
    conditions: tuple[int, ...] = ()

    @property
    def following(self) -> str:
        """The next sentence of its paragraph; empty without one."""
        texts = [sentence.text for sentence in self.paragraph.sentences] if self.paragraph is not None else []
        if self.text not in texts:
            return ""
        return next(iter(texts[texts.index(self.text) + 1 :]), "")


def read_candidates(file: AskedFile, explanation: ExplanationQuestion) -> Iterator[AnswerCandidate]:
    """Yield the sentences and statements of a file that have a word of the question."""
    subject = explanation.subject
    if file.is_document:
        paragraphs: Iterator[ProseParagraph] = document_paragraphs(file.path, file.lines)
        kind = "document"
    else:
        paragraphs = comment_paragraphs(file.lines, file.language)
        kind = "comment"

    prose: set[int] = set()
    for paragraph in paragraphs:
        if not paragraph.is_trailing:
            prose.update(range(paragraph.begin_line, paragraph.end_line + 1))
        for index, sentence in enumerate(paragraph.sentences):
            if len(_SIGNS.findall(sentence.text)) > _MAX_SIGNS * len(sentence.text) and explanation.kind != "example":
                continue
            if _explains_nothing(file, sentence):
                continue
            candidate = _of_sentence(file, kind, paragraph, index, sentence)
            is_of_name = candidate.describes and candidate.unit in explanation.names
            if is_of_name or subject.terms_in(sentence.text):
                yield candidate

    if not file.is_document and has_prose_marks(file.language):
        for number, line in enumerate(file.lines, 1):
            if number not in prose and len(line) <= MAX_LINE_CHARACTERS and subject.terms_in(line):
                is_test = file.kind == "test" and _TEST_HEAD.search(line) is not None
                if is_test or (_says_something(line) and _NO_STATEMENT.match(line) is None):
                    yield _of_statement(file, number, line, "test" if is_test else "code")


def _explains_nothing(file: AskedFile, sentence: Sentence) -> bool:
    """Return whether a sentence is of a license, lists parameters or contents, or is a header of its file."""
    name = file.path.rpartition("/")[2]
    is_header = sentence.begin_line <= _HEADER_LINES and sentence.text.startswith(name)
    is_tag = _PARAMETER_TAG.match(sentence.text) is not None
    is_of_license = _LICENSE.search(sentence.text) is not None
    return is_header or is_tag or is_of_license or has_links_alone(sentence.text)


def _of_sentence(
    file: AskedFile, kind: str, paragraph: ProseParagraph, index: int, sentence: Sentence
) -> AnswerCandidate:
    other_texts = [other.text for position, other in enumerate(paragraph.sentences) if position != index]
    if kind == "document":
        titles = paragraph.titles
        return AnswerCandidate(
            file, kind, sentence.text, sentence.begin_line, sentence.end_line, paragraph,
            near_text=" ".join([*other_texts, *titles[-1:]]), far_text=" ".join([*titles[:-1], file.path]),
        )  # fmt: skip

    enclosing = file.enclosing(paragraph.begin_line)
    name = enclosing[0].name if enclosing else ""
    described = file.lines[paragraph.begin_line - 1] if paragraph.is_trailing else _next_code(file, paragraph.end_line)
    documented = "" if paragraph.is_trailing else _documented_name(file, paragraph, described)
    unit = documented or name
    return AnswerCandidate(
        file, kind, sentence.text, sentence.begin_line, sentence.end_line, paragraph, unit, bool(documented),
        near_text=" ".join([*other_texts, described, unit, *paragraph.titles]),
        far_text=f"{_container_at(file, paragraph.end_line)} {file.path}",
    )  # fmt: skip


def _of_statement(file: AskedFile, number: int, line: str, kind: str) -> AnswerCandidate:
    conditions = tuple(_ancestors_of(file.lines, number))
    unit = _enclosing_name(file, number)
    near = " ".join([*(file.lines[above - 1] for above in conditions), unit])
    far = f"{_container_at(file, number)} {file.path}"
    return AnswerCandidate(
        file, kind, line.strip(), number, number, unit=unit, near_text=near, far_text=far, conditions=conditions
    )


def _says_something(line: str) -> bool:
    """Return whether a line of code reports or ends something, or has a text of several words."""
    return _STATEMENT.search(line) is not None or has_words(line)


def has_words(line: str) -> bool:
    """Return whether a line of code has a text of several words, such as a message."""
    return any(len(match[0]) >= _MIN_TEXT and " " in match[0].strip() for match in _TEXT.finditer(line))


def _ancestors_of(lines: Sequence[str], number: int) -> Iterator[int]:
    """Yield the lines above with less indentation, the nearest first: a condition, a case, the head of a function."""
    indentation = indent_width(lines[number - 1], tab_size=TAB_SIZE)
    count = 0
    for above in range(number - 1, max(0, number - 1 - _MAX_ABOVE), -1):
        line = lines[above - 1]
        if not line.strip() or line.strip() in {"{", "}", "(", ")", "begin", "do", "else:", "} else {"}:
            continue
        width = indent_width(line, tab_size=TAB_SIZE)
        if width < indentation:
            indentation = width
            count += 1
            yield above
        if count == _ANCESTORS or indentation == 0:
            return


def _next_code(file: AskedFile, line: int) -> str:
    """Return the line below a comment that it may describe; empty without one near."""
    for text in file.lines[line : line + 12]:
        stripped = text.strip()
        is_mark = stripped in {"*/", '"""', "'''", "-}"} or stripped.startswith(("*", "//", "#", "--", ";", "%", "@"))
        if stripped and not is_mark:
            return stripped[:200]
    return ""


def _documented_name(file: AskedFile, paragraph: ProseParagraph, described: str) -> str:
    """Return the name of the definition whose documentation a comment is; empty if it is no documentation."""
    begin_line = paragraph.begin_line
    # A docstring stands below the head of its definition: the nearest one.
    heads = file.between(begin_line - _MAX_HEAD, begin_line - 1)
    nearest = max(heads, key=lambda definition: definition.line, default=None)
    if nearest is not None and nearest.name and _is_docstring(file.lines[nearest.line - 1 : begin_line]):
        return nearest.name

    end_line = paragraph.end_line
    for definition in file.between(end_line + 1, end_line + _MAX_HEAD) if described else ():
        if definition.name and described in file.lines[definition.line - 1]:
            lines_between = file.lines[end_line : definition.line - 1]
            # A comment before a blank line is about the lines above it, or about all that follows.
            return definition.name if all(line.strip() for line in lines_between) else ""

    if file.definitions:
        return ""
    return declared_name(described)


def declared_name(line: str) -> str:
    """Return the name that a line declares, behind its metadata and attributes; empty if it declares none."""
    if line.startswith("("):
        lisp_name = _LISP_NAME.match(line)
        return "" if lisp_name is None else lisp_name["name"]

    bare = _FSHARP_ATTRIBUTE.sub(" ", line)
    names = [name for name in _NAME.findall(bare) if name not in _COMMON]
    return names[0] if names and _DECLARES.match(line) is not None else ""


def _is_docstring(lines: Sequence[str]) -> bool:
    """Return whether the last of some lines, which begin with a head, is in its docstring."""
    text = "\n".join(lines[1:])
    if any(text.count(mark) % 2 for mark in _DOCSTRING_MARKS):
        return "\n    return " not in text

    # A docstring of one line opens and closes on it.
    return len(lines) > 1 and lines[-1].strip().startswith(_DOCSTRING_MARKS) and lines[-2].rstrip().endswith(":")


def _enclosing_name(file: AskedFile, line: int) -> str:
    return next((definition.name for definition in file.enclosing(line) if definition.name), "")


def _container_at(file: AskedFile, line: int) -> str:
    around = file.enclosing(line)
    return " ".join(definition.name for definition in around[1:3]) or (around[0].container if around else "")
