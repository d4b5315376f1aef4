"""Read the sentences and statements of a file that may answer a question, with the text around them.

Prose is read first: the paragraphs of a document, or the comments of code. Each of their sentences with a word of the
question is a candidate. Of the other lines of code, those count that report or end something or have a message, and the
heads of tests. To compare a candidate with a question, the text near it counts too: its paragraph, its definition, the
conditions above it; and with less weight the text far from it, such as headings and the path.

A comment documents the definition below it, or the one whose docstring it is. Definitions of a grammar are asked first.
In languages that no grammar reads, the line below a comment may declare a name by its form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sourcelight.engines.deepsearch.explanations.question import ExplanationQuestion
from sourcelight.engines.deepsearch.passages.asked_file import AskedFile
from sourcelight.engines.deepsearch.source.comments import MAX_LINE_CHARACTERS, has_prose_marks
from sourcelight.engines.deepsearch.source.documents import has_links_alone
from sourcelight.engines.deepsearch.source.line_kinds import TAB_SIZE, indent_width
from sourcelight.engines.deepsearch.source.paragraphs import (
    ProseParagraph,
    Sentence,
    comment_paragraphs,
    document_paragraphs,
)

_MAX_CONDITIONS, _MAX_CONDITION_DISTANCE = 3, 60
"""Lines of smaller indentation above a statement that say when it runs, and lines in which they are looked for."""

_HEADER_LINES = 5
"""Lines at the beginning of a file that may have its name, its project and its author."""

# Sentences.
_SIGNS = re.compile(r"[{}()\[\];=<>|$\\]")
_MAX_SIGN_SHARE = 0.09
"""Share of such signs in a sentence from which it is code: documentation has examples, too."""

_LICENSE = re.compile(r"\b(?:copyright|licen[sc]e|warranty|permission is hereby|redistribut)", re.IGNORECASE)
"""Words of sentences on licenses."""

_PARAMETER_TAG = re.compile(
    r"(?:[@\\](?:param|returns?|type|see|since|author|version|module|namespace|package|file|fileoverview)"
    r"|:(?:param|type|returns?|rtype))\b"
)
"""Tags of parameters and results, whose texts explain nothing by themselves: `@param`, `:returns`."""

# Statements.
_REPORT = re.compile(
    r"\b(?:raise|throw|throws|return|exit|die|abort|panic|warn|warning|error|fail|assert|log|print|puts|reject|bail"
    r"|ensure|require|check|echo|stop|quit|fatal|notify|emit)\w*\b|=>|->",
    re.IGNORECASE,
)
"""Words and signs of lines that end or report something: `raise Closed`, `=> "closed"`."""

_TEXT = re.compile(r"\"[^\"\\]*(?:\\.[^\"\\]*)*\"|'[^'\\]*(?:\\.[^'\\]*)*'|`[^`]*`")
"""A text between quotation marks."""

_MIN_TEXT = 8
"""Characters of such a text, with its marks, that says something."""

_TEST_HEAD = re.compile(
    r"\b(?:def|func|fn|fun|function|void|Task|class|let|val)\s+`?\w*(?:[tT]est|[sS]pec|[sS]hould)"
    r"|^\s*(?:pub\s+)?(?:it|test|specify|scenario|describe|context|should|testCase|test_that|deftest|@test|property"
    r"|(?:TEST|SCENARIO|SECTION|BOOST_AUTO_TEST)\w*|(?:it|test|describe)\.\w+)\b\s*[({\"'`\w]",
)
"""The head of a test by the conventions of common frameworks: `def test_lift(`, `it("lifts"`, `TEST(Gate, Lifts)`."""

_NO_STATEMENT = re.compile(r"\s*(?:[)\]}]|(?:return|yield)\s+[\w.$@]*\s*;?\s*$)")
"""The end of a head or a block, or a value that is only given back: such a line explains nothing by itself."""

_NO_CONDITIONS = frozenset({"{", "}", "(", ")", "begin", "do", "else:", "} else {"})
"""Lines with smaller indentation that say nothing of when a statement runs."""

_MAX_HEAD_DISTANCE = 14
"""Lines between a paragraph of documentation and the name that it is about."""

_MAX_CODE_DISTANCE, _MAX_CODE_CHARACTERS = 12, 200
"""Lines below a comment in which the code is looked for that it may describe, and characters of that code."""

_DOCSTRING_MARKS = ('"""', "'''")
_COMMENT_ENDS = frozenset({"*/", '"""', "'''", "-}"})
_COMMENT_STARTS = ("*", "//", "#", "--", ";", "%", "@")
"""Starts of lines between a comment and its code: further comments, decorators, attributes."""

_DECLARATION = re.compile(
    r"\s*(?:(?:public|private|static|export|pub|local|async|default|final|open|override|internal)\s+)*(?:def\w*|fn|func"
    r"|fun|function|sub|proc|class|struct|type|data|newtype|enum|let|val|var|const|module|macro|\(def\w*|@\w+)\b"
    r"|\s*[\w'.]+\s*(?:::|<-\s*function|=\s*function|\(\)\s*\{)",
)
"""A line that declares a name, in languages that no grammar reads here: `pub fn lift(`, `lift :: Gate`, `lift() {`."""

_NAME = re.compile(r"[A-Za-z_$][\w$]*[!?]?")
_FSHARP_ATTRIBUTE = re.compile(r"\[<[^<>\]]*>\]")
"""An attribute of F#: `[<Literal>]`."""

_LISP_NAME = re.compile(
    r"\((?:[\w.-]+/)?(?:def|ns\b)[\w*!?-]*\s+"
    # Metadata of Clojure may precede the name: `(def ^{:dynamic true} *size* 5)`, `(def ^:private size 5)`.
    r"(?:\^(?:\{[^{}]*\}|:?[\w./-]+)\s*)*(?P<name>[^\s()\[\]{}\"'`;^#,:][^\s()\[\]{}\"`;,]*)"
)
"""A definition of Lisp: `(defn lift`, `(ns dam.gate`."""

_KEYWORDS_TEXT = """
public private protected internal static final abstract async const let var val fun func function def fn class struct
enum interface trait type void int bool boolean string override open sealed pub export default return self this new
suspend inline extern unsigned char long double float defn defmacro defp defmodule module object namespace data
instance where template typename virtual explicit constexpr auto readonly declare local end do if mutable rec
"""
_KEYWORDS = frozenset(_KEYWORDS_TEXT.split())
"""Words before a name that are no names."""


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
        Its text.
    begin_line, end_line
        Its lines, from 1.
    paragraph
        Of a sentence, the sentences around it.
    unit
        The definition that it describes or is in; empty if unknown.
    describes
        Whether it belongs to the documentation of that definition.
    near_text, far_text
        Text around it: its paragraph, definition and conditions; its headings, class and path.
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
    prose_lines: set[int] = set()
    for paragraph in _paragraphs_of(file):
        if not paragraph.is_trailing:
            prose_lines.update(range(paragraph.begin_line, paragraph.end_line + 1))
        yield from _sentences_of(file, paragraph, explanation)

    if not file.is_document and has_prose_marks(file.language):
        for number, line in enumerate(file.lines, 1):
            is_read = number not in prose_lines and len(line) <= MAX_LINE_CHARACTERS
            if is_read and explanation.subject.terms_in(line):
                kind = _kind_of_statement(file, line)
                if kind:
                    yield _statement_candidate(file, number, line, kind)


def _paragraphs_of(file: AskedFile) -> Iterator[ProseParagraph]:
    if file.is_document:
        return document_paragraphs(file.path, file.lines)
    return comment_paragraphs(file.lines, file.language)


def _sentences_of(
    file: AskedFile, paragraph: ProseParagraph, explanation: ExplanationQuestion
) -> Iterator[AnswerCandidate]:
    """Yield the sentences of a paragraph that have a word of the question, or document a name of it."""
    for index, sentence in enumerate(paragraph.sentences):
        if (_is_code(sentence) and explanation.kind != "example") or _explains_nothing(file, sentence):
            continue
        candidate = _sentence_candidate(file, paragraph, index)
        is_of_name = candidate.describes and candidate.unit in explanation.names
        if is_of_name or explanation.subject.terms_in(sentence.text):
            yield candidate


def _is_code(sentence: Sentence) -> bool:
    return len(_SIGNS.findall(sentence.text)) > _MAX_SIGN_SHARE * len(sentence.text)


def _explains_nothing(file: AskedFile, sentence: Sentence) -> bool:
    """Return whether a sentence is of a license, lists parameters or contents, or is a header of its file."""
    name = file.path.rpartition("/")[2]
    is_header = sentence.begin_line <= _HEADER_LINES and sentence.text.startswith(name)
    is_tag = _PARAMETER_TAG.match(sentence.text) is not None
    is_of_license = _LICENSE.search(sentence.text) is not None
    return is_header or is_tag or is_of_license or has_links_alone(sentence.text)


def _sentence_candidate(file: AskedFile, paragraph: ProseParagraph, index: int) -> AnswerCandidate:
    """Return a sentence of a paragraph with the text around it."""
    sentence = paragraph.sentences[index]
    other_texts = [other.text for position, other in enumerate(paragraph.sentences) if position != index]
    titles = paragraph.titles
    if file.is_document:
        return AnswerCandidate(
            file, "document", sentence.text, sentence.begin_line, sentence.end_line, paragraph,
            near_text=" ".join([*other_texts, *titles[-1:]]), far_text=" ".join([*titles[:-1], file.path]),
        )  # fmt: skip

    enclosing = file.enclosing(paragraph.begin_line)
    if paragraph.is_trailing:
        code, documented = file.lines[paragraph.begin_line - 1], ""
    else:
        code = code_below(file, paragraph.end_line)
        documented = documented_name(file, paragraph, code)
    unit = documented or (enclosing[0].name if enclosing else "")
    return AnswerCandidate(
        file, "comment", sentence.text, sentence.begin_line, sentence.end_line, paragraph, unit, bool(documented),
        near_text=" ".join([*other_texts, code, unit, *titles]),
        far_text=f"{_container_at(file, paragraph.end_line)} {file.path}",
    )  # fmt: skip


def _kind_of_statement(file: AskedFile, line: str) -> str:
    """Return the kind of candidate that a line of code is: ``test``, ``code``, or empty for none."""
    if file.kind == "test" and _TEST_HEAD.search(line) is not None:
        return "test"
    says_something = _REPORT.search(line) is not None or has_words(line)
    return "code" if says_something and _NO_STATEMENT.match(line) is None else ""


def _statement_candidate(file: AskedFile, number: int, line: str, kind: str) -> AnswerCandidate:
    """Return a line of code with the conditions above it."""
    conditions = tuple(_conditions_above(file.lines, number))
    unit = next((definition.name for definition in file.enclosing(number) if definition.name), "")
    return AnswerCandidate(
        file, kind, line.strip(), number, number, unit=unit, conditions=conditions,
        near_text=" ".join([*(file.lines[above - 1] for above in conditions), unit]),
        far_text=f"{_container_at(file, number)} {file.path}",
    )  # fmt: skip


def has_words(line: str) -> bool:
    """Return whether a line of code has a text of several words, such as a message."""
    return any(len(match[0]) >= _MIN_TEXT and " " in match[0].strip() for match in _TEXT.finditer(line))


def _conditions_above(lines: Sequence[str], number: int) -> Iterator[int]:
    """Yield the lines above with less indentation, the nearest first: a condition, a case, the head of a function."""
    indentation = indent_width(lines[number - 1], tab_size=TAB_SIZE)
    count = 0
    for above in range(number - 1, max(0, number - 1 - _MAX_CONDITION_DISTANCE), -1):
        line = lines[above - 1]
        if not line.strip() or line.strip() in _NO_CONDITIONS:
            continue
        width = indent_width(line, tab_size=TAB_SIZE)
        if width < indentation:
            indentation = width
            count += 1
            yield above
        if count == _MAX_CONDITIONS or indentation == 0:
            return


def _container_at(file: AskedFile, line: int) -> str:
    """Return the names of what the definition around a line is in; empty for none."""
    around = file.enclosing(line)
    return " ".join(definition.name for definition in around[1:3]) or (around[0].container if around else "")


def documented_name(file: AskedFile, paragraph: ProseParagraph, code_below: str) -> str:
    """Return the name of the definition whose documentation a comment is; empty if it is no documentation.

    Parameters
    ----------
    file
        The file.
    paragraph
        The paragraph of the comment.
    code_below
        The line below the comment that it may describe; empty without one.
    """
    name = _name_of_docstring(file, paragraph.begin_line)
    if name or not code_below:
        return name

    end_line = paragraph.end_line
    for definition in file.between(end_line + 1, end_line + _MAX_HEAD_DISTANCE):
        if definition.name and code_below in file.lines[definition.line - 1]:
            lines_between = file.lines[end_line : definition.line - 1]
            # A comment before a blank line is about the lines above it, or about all that follows.
            return definition.name if all(line.strip() for line in lines_between) else ""

    return "" if file.definitions else declared_name(code_below)


def _name_of_docstring(file: AskedFile, line: int) -> str:
    """Return the name of the definition in whose docstring a line is; empty for another line."""
    # A docstring is below the head of its definition: the nearest one.
    heads = file.between(line - _MAX_HEAD_DISTANCE, line - 1)
    nearest = max(heads, key=lambda definition: definition.line, default=None)
    if nearest is None or not _is_docstring(file.lines[nearest.line - 1 : line]):
        return ""
    return nearest.name


def _is_docstring(lines: Sequence[str]) -> bool:
    """Return whether the last of some lines, which begin with a head, is in its docstring."""
    text = "\n".join(lines[1:])
    if any(text.count(mark) % 2 for mark in _DOCSTRING_MARKS):
        return "\n    return " not in text

    # A docstring of one line opens and closes on it.
    return len(lines) > 1 and lines[-1].strip().startswith(_DOCSTRING_MARKS) and lines[-2].rstrip().endswith(":")


def code_below(file: AskedFile, line: int) -> str:
    """Return the line below a comment that it may describe; empty without one near."""
    for text in file.lines[line : line + _MAX_CODE_DISTANCE]:
        stripped = text.strip()
        if stripped and stripped not in _COMMENT_ENDS and not stripped.startswith(_COMMENT_STARTS):
            return stripped[:_MAX_CODE_CHARACTERS]
    return ""


def declared_name(line: str) -> str:
    """Return the name that a line declares, behind its metadata and attributes; empty if it declares none."""
    if line.startswith("("):
        lisp_name = _LISP_NAME.match(line)
        return "" if lisp_name is None else lisp_name["name"]

    bare = _FSHARP_ATTRIBUTE.sub(" ", line)
    names = [name for name in _NAME.findall(bare) if name not in _KEYWORDS]
    return names[0] if names and _DECLARATION.match(line) is not None else ""
