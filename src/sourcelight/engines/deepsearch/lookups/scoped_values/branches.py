"""Find the condition that a line of code is under, so that no sentence states a value of one branch as the only one.

A branch is read from the indentation, the words on the line itself, and the lines of preprocessors, makefiles and
CMake, whose blocks need no indentation. Only the branches within the nearest function count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.facts.unparsed_definitions import PROGRAMMING_LANGUAGES
from sourcelight.engines.deepsearch.lookups.scoped_values.holders import heads_around
from sourcelight.engines.deepsearch.lookups.scoped_values.readings import MAX_LINE, without_texts
from sourcelight.engines.deepsearch.source.line_kinds import LISPS

_PREPROCESSED = frozenset(
    {"C", "C++", "C#", "Objective-C", "Objective-C++", "Cuda", "GLSL", "HLSL", "Swift", "Haskell"}
)
_OTHER_LANGUAGES = frozenset({"Batchfile", "CMake", "Cuda", "Gradle", "Makefile"})
_MAX_LINES = 20_000
_DIRECTIVE = re.compile(r"\s*#\s*(?P<word>if|ifdef|ifndef|else|elif|elseif|endif)\b\s*(?P<rest>.*)")
_MAKE_LINE = re.compile(r" *(?P<word>ifeq|ifneq|ifdef|ifndef|else|endif)\b(?P<rest>.*)")
_CMAKE_LINE = re.compile(r"\s*(?P<word>if|elseif|else|endif)\s*\((?P<rest>.*)", re.IGNORECASE)
_GUARDED = re.compile(r"\s*#\s*define\s+(\w+)\s*$")
_LISP_CONDITION = re.compile(r"\s*\(+(?:if|if-let|when|when-let|unless|cond|case|pcase|condition-case)(?=[\s(]|$)")
_ATTEMPT = re.compile(r"\s*(?:[})\]]\s*)?(?:try|do(?=\s*\{\s*$))\b(?!\s*[.=(])")
_BRANCH = re.compile(
    r"\s*(?:[})\]]\s*)?(?:if|elif|elsif|elseif|else|then|unless|case|when|default(?=\s*:)|catch|except|rescue)\b(?!\s*[.=:]=?\s*[\w\"'])",
    re.IGNORECASE,
)
_AFTERWARDS = re.compile(r"\S\s+(?:if|unless)\s+\S")
"""A condition behind its statement, as Ruby and Perl write it."""
_PROJECT = re.compile(r"\.(?:\w{1,6}proj|props|targets)$", re.IGNORECASE)
_CONDITION_OF_PROJECT = re.compile(r"<(?:When|Otherwise)\b|<[^<>]*\sCondition\s*=")


def condition_text(lines: Sequence[str], number: int, path: str) -> str:
    """Return what a sentence about the value on a line says of the condition around it; empty for none.

    Parameters
    ----------
    lines
        The lines of the file.
    number
        The line, from 1.
    path
        The path of the file, which tells its language.
    """
    language = language_of(path) or ""
    is_project = _PROJECT.search(path) is not None
    is_known = is_project or language in _OTHER_LANGUAGES or language in PROGRAMMING_LANGUAGES
    if not 0 < number <= len(lines) or not is_known:
        return ""

    line = lines[number - 1][:MAX_LINE]
    if is_project:
        heads = heads_around(lines, number, len(line) - len(line.lstrip()))
        is_conditional = any(_CONDITION_OF_PROJECT.search(text) for text in (line, *(head.text for head in heads)))
        return "the line is under a condition" if is_conditional else ""

    if _is_in_open_block(lines, number, language):
        return "the line is under a condition"

    if _BRANCH.match(line) is not None or (
        language in {"Ruby", "Perl"} and _AFTERWARDS.search(without_texts(line).partition("#")[0]) is not None
    ):
        return "the line is under a condition"

    is_attempt = False
    for head in heads_around(lines, number, len(line) - len(line.lstrip())):
        is_branch = head.is_condition or _BRANCH.match(head.text) is not None
        if is_branch or (language in LISPS and _LISP_CONDITION.match(head.text) is not None):
            return "the line is under a condition"
        if head.is_function:
            break
        is_attempt = is_attempt or _ATTEMPT.match(head.text) is not None
    return "the line is in a block that may fail" if is_attempt else ""


def is_set_again(lines: Sequence[str], name: str, number: int, begin_line: int, end_line: int) -> bool:
    """Return whether a line of a range, other than the one of a value, assigns the same name at its beginning.

    Keywords of calls, such as ``run(size=size)``, and entries of literals assign nothing.
    """
    bare = re.escape(name.lstrip("$@"))
    assigned = re.compile(
        rf"[ \t]*(?:[}})\]] ?)?(?:\w++[ \t]++){{0,3}}[$@]{{0,2}}(?:(?:self|this)(?:\.|->))?{bare}[ \t]*"
        r"(?:[-+*/%|&^.]|<<|>>|\|\||&&|\?\?|:)?=(?![=>~])"
    )
    return any(
        index != number and not line.rstrip().endswith((",", "(")) and assigned.match(line[:MAX_LINE]) is not None
        for index, line in enumerate(lines[begin_line - 1 : end_line], begin_line)
    )


def _is_in_open_block(lines: Sequence[str], number: int, language: str) -> bool:
    """Return whether a preprocessor, a makefile or CMake has an open condition above a line."""
    if language in _PREPROCESSED:
        pattern = _DIRECTIVE
    elif language == "Makefile":
        pattern = _MAKE_LINE
    elif language == "CMake":
        pattern = _CMAKE_LINE
    else:
        return False

    open_blocks: list[bool] = []
    for index in range(max(0, number - 1 - _MAX_LINES), number - 1):
        match = pattern.match(lines[index][:MAX_LINE])
        if match is None:
            continue
        word = match["word"].lower()
        if word == "endif":
            open_blocks = open_blocks[:-1]
        elif word.startswith("el"):
            open_blocks = [*open_blocks[:-1], True]
        else:
            open_blocks.append(pattern is not _DIRECTIVE or not _is_guard(lines, index, match))
    return any(open_blocks)


def _is_guard(lines: Sequence[str], index: int, match: re.Match[str]) -> bool:
    """Return whether a line keeps a header from being read twice: the next line defines the name, without a value."""
    if index + 1 >= len(lines):
        return False
    defined = _GUARDED.match(lines[index + 1][:MAX_LINE])
    names = re.findall(r"\w+", match["rest"][:MAX_LINE])
    return defined is not None and match["word"] in {"if", "ifndef"} and defined[1] in names
