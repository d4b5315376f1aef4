"""The function around a line, by the form of the lines before it, in languages without a grammar."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sourcelight.engines.symbols.definition_parser import Definition

_LISP_HEAD = re.compile(r"\((?:defn-?|defmacro|defmethod|deftest|defun|define)\s+(?:\^\S+\s+)*\(?(?P<name>[^\s()\"]+)")
_LISP_TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*\"|;[^\n]*|\\.", re.DOTALL)
_ELIXIR_HEAD = re.compile(r"\s*(?:def|defp|defmacro|defmacrop)\s+(?P<name>[\w?!]+)")
_C_HEAD = re.compile(
    r"(?!(?:else|return|typedef|static_assert)\b)[A-Za-z_][\w \t*]*[\s*](?P<name>[A-Za-z_]\w*)\s*\([^;]*$"
)
_HEAD_LINES = 40
"""Lines above a parameter in which the head of its function begins."""
_LISPS = frozenset({"Clojure", "Common Lisp", "Emacs Lisp", "Scheme", "Racket"})
_MAX_FUNCTION_LINES, _MAX_HEAD_CHARACTERS = 5_000, 500


def enclosing_function(lines: Sequence[tuple[int, str]], number: int, language: str) -> str:
    """Return the name of the function around a line, by the form of the lines before it; empty if that is uncertain.

    Parameters
    ----------
    lines
        The lines of code of the file with their numbers, without those in comments and texts of several lines.
    number
        The line, from 1.
    language
        Its language: one whose functions begin with a word, a Lisp, or C and C++ where no grammar knows the function.
    """
    before = [line for index, line in lines if number - _MAX_FUNCTION_LINES < index <= number]
    if language in _LISPS:
        text = "\n".join(line for index, line in lines if index <= number)
        blanked = _LISP_TEXT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text).split("\n")
        # A form at the beginning of a line is no part of another one.
        top = next((line for line in reversed(blanked) if line.startswith("(")), "")
        head = _LISP_HEAD.match(top[:_MAX_HEAD_CHARACTERS])
        return "" if head is None else head["name"]

    if language in _INDENTED_HEADS:
        return _by_indentation(before, _INDENTED_HEADS[language])

    return _c_function(before) if language in {"C", "C++"} else ""


def swift_head(lines: Sequence[str], number: int) -> Definition | None:
    """Return the function or initializer of Swift in whose head a line is; None if no head is near."""
    for line in range(number, max(0, number - _HEAD_LINES), -1):
        match = re.search(r"\b(?:func\s+(\w+)|(init)[?!]?)\s*(?:<[^<>]*>)?\(", lines[line - 1])
        if match is not None:
            return Definition(match[1] or match[2], "function", "", 0, line, line, number)
        if line < number and re.search(r"[{};]\s*$", lines[line - 1]) is not None:
            return None
    return None


def _c_function(before: Sequence[str]) -> str:
    """Return the function whose head is the nearest line in the first column; empty if another line is there."""
    for index in range(len(before) - 1, -1, -1):
        line = before[index]
        if not line.strip() or line[0] in " \t{#" or re.match(r"\w+:(?!:)", line) is not None:
            continue
        head = _C_HEAD.match(line) if len(line) <= _MAX_HEAD_CHARACTERS else None
        # A declaration over several lines ends before a body begins.
        next_sign = re.search(r"[{;]", "\n".join(before[index:]))
        return head["name"] if head is not None and next_sign is not None and next_sign[0] == "{" else ""

    return ""


def _by_indentation(before: Sequence[str], heads: re.Pattern[str]) -> str:
    """Return the name of the nearest function that is indented less than the last of some lines."""
    indentation = None
    for line in reversed(before):
        if not line.strip():
            continue

        width = len(line) - len(line.lstrip())
        # A bracket that closes a list of parameters is indented like the head that opened it.
        if indentation is not None and (width >= indentation or line.lstrip().startswith((")", "]"))):
            continue

        head = heads.match(line[:_MAX_HEAD_CHARACTERS])
        if head is not None:
            return next(group for group in head.groups() if group)
        if _OTHER_HEAD.match(line) is not None:
            return ""

        indentation = width

    return ""


_INDENTED_HEADS: Mapping[str, re.Pattern[str]] = {
    "Elixir": _ELIXIR_HEAD,
    "Swift": re.compile(
        r"\s*(?:(?:@\w+(?:\([^()]*\))?|public|private|fileprivate|internal|open|final|static|class|override|mutating"
        r"|required|convenience|nonisolated)\s+)*(?:func\s+(?P<name>\w+)|(?P<init>init)[?!]?\s*[(<])"
    ),
    "R": re.compile(r"\s*(?P<name>[\w.]+)\s*(?:<-|=)\s*function\b"),
    "Lua": re.compile(
        r"\s*(?:local\s+)?(?:function\s+(?:[\w.]+[.:])?(?P<name>\w+)|(?:\w+\.)*(?P<named>\w+)\s*=\s*function\b)"
    ),
    "Perl": re.compile(r"\s*sub\s+(?P<name>\w+)"),
    "Julia": re.compile(r"\s*(?:@\w+\s+)*(?:function|macro)\s+(?:\w+\.)*(?P<name>\w+!?)"),
    "Dart": re.compile(
        r"\s*(?!(?:if|for|while|switch|catch|return|await|throw|else|assert|new|super|this)\b)"
        r"(?:(?:static|external|final|const|factory|late|abstract|covariant)\s+)*(?:[\w<>?,.\[\]]+\s+){1,3}"
        r"(?:get\s+|set\s+)?(?P<name>\w+)\s*(?:<[^<>]*>)?\((?!.*;\s*$)"
    ),
    "Erlang": re.compile(r"(?P<name>[a-z][\w@]*)\("),
    "Shell": re.compile(r"\s*(?:function\s+)?(?P<name>[\w:-]+)\s*\(\s*\)|\s*function\s+(?P<named>[\w:-]+)\s*\{?\s*$"),
}
"""Heads of functions, in languages whose bodies are indented."""
_OTHER_HEAD = re.compile(
    r"\s*(?:defmodule|defimpl|defprotocol|test|describe|it|package|module|class|struct|enum|protocol|extension)\b"
)
