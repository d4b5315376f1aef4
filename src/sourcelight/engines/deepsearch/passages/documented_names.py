"""The name that a comment documents: of the definition below it, or of the one whose docstring it is in.

Definitions of a grammar are asked first. In languages that no grammar reads, the line below a comment may declare a
name by its form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.engines.deepsearch.passages.asked_file import AskedFile
from sourcelight.engines.deepsearch.source.paragraphs import ProseParagraph

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
