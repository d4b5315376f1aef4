"""Find the condition that a line of code is under, so that no sentence states a value of one branch as the only one.

A branch is read from the indentation, the words on the line itself, and the lines of preprocessors, makefiles and
CMake, whose blocks need no indentation. Only the branches within the nearest function count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.facts.unparsed_definitions import PROGRAMMING_LANGUAGES
from sourcelight.engines.deepsearch.source.line_kinds import LISPS, TAB_SIZE, indent_width
from sourcelight.engines.deepsearch.source.literals import without_texts

_PREPROCESSED = frozenset(
    {"C", "C++", "C#", "Objective-C", "Objective-C++", "Cuda", "GLSL", "HLSL", "Swift", "Haskell"}
)
_OTHER_LANGUAGES = frozenset({"Batchfile", "CMake", "Cuda", "Gradle", "Makefile"})
_MAX_BLOCK_LINES, _MAX_LINES, _MAX_HEADS, _MAX_LINE = 20_000, 2_000, 12, 600
UNDER_CONDITION = "the line is under a condition"
"""Words of a sentence for a value that only a branch has."""
CONDITION = re.compile(
    # An initializer of Objective-C asks whether the object above it could be made.
    r"\s*(?!if\s*\(+\s*(?:!\s*\(\s*)?self\s*=)(?:[})\]]\s*)?(?:if|elif|elsif|elseif|else|unless|while|until|for|foreach|case|when|match|switch|cond|catch|except"
    r"|rescue|guard|#\s*(?:if|ifdef|ifndef|elif|else)|[A-Z\d]\S*\)\s*$|ifeq|ifneq|ifdef|ifndef)\b",
    re.IGNORECASE,
)
_NO_HEAD = re.compile(r"\s*(?:#(?!\[)|//|--(?:\s|$)|/\*|\*(?:\s|/|$)|!|%|;)")
SECTION = re.compile(r"\s*\[{1,2}\s*(?P<name>[^\[\]\n]{1,120}?)\s*\]{1,2}\s*(?:[#;].*)?$")
_FUNCTION = re.compile(
    r"(?<![\w.-])(?:def|defp|defn-?|defmacro|fn|func|function!?|fun|sub|proc|method|macro|procedure|subroutine"
    r"|constructor|init|initialize|this(?=\s*\()|create\s+(?:or\s+replace\s+)?(?:function|procedure))(?![\w-])|\)\s*(?:=>|->)\s*[{(]?\s*$"
    r"|^\s*[-+]\s*\(",
    re.IGNORECASE,
)
_FUNCTION_OF_C = re.compile(
    r"\s*(?!(?:return|new|else|throw|await|yield|case|delete|goto|in|not)\b)(?:[\w:<>,*&\[\]?~@]++\s++)+(?:\w++(?:\.|::))*"
    r"~?\w++\s*\("
)
_DIRECTIVE = re.compile(r"\s*#\s*(?P<word>if|ifdef|ifndef|else|elif|elseif|endif)\b\s*(?P<rest>.*)")
_MAKE_LINE = re.compile(r" *(?P<word>ifeq|ifneq|ifdef|ifndef|else|endif)\b(?P<rest>.*)")
_CMAKE_LINE = re.compile(r"\s*(?P<word>if|elseif|else|endif)\s*\((?P<rest>.*)", re.IGNORECASE)
_GUARDED = re.compile(r"\s*#\s*define\s+(\w+)\s*$")
_LISP_CONDITION = re.compile(r"\s*\(+(?:if|if-let|when|when-let|unless|cond|case|pcase|condition-case)(?=[\s(]|$)")
_ATTEMPT = re.compile(r"\s*(?:[})\]]\s*)?(?:try|do(?=\s*\{\s*$))\b(?!\s*[.=(])")
_BRANCH = re.compile(
    r"\s*(?:[})\]]\s*)?(?:if|elif|elsif|elseif|else|then|unless|case(?!\s+`?\w+`?\s*=(?!=))|when|default(?=\s*:)|catch|except|rescue)\b(?!\s*[.=:]=?\s*[\w\"'])",
    re.IGNORECASE,
)
_AFTERWARDS = re.compile(r"\S\s+(?:if|unless)\s+\S")
"""A condition behind its statement, as Ruby and Perl write it."""
_PROJECT = re.compile(r"\.(?:\w{1,6}proj|props|targets)$", re.IGNORECASE)
_CONDITION_OF_PROJECT = re.compile(r"<(?:When|Otherwise)\b|<[^<>]*\sCondition\s*=")


def begins_function(text: str) -> bool:
    """Return whether the line that begins what is around another one begins a function."""
    bare = without_texts(text)
    is_open = bare.count("(") > bare.count(")") or bare.rstrip().endswith(("{", ")"))
    is_head = _FUNCTION.search(bare) is not None or (is_open and _FUNCTION_OF_C.match(bare) is not None)
    return is_head and CONDITION.match(text) is None


def lines_around(lines: Sequence[str], number: int) -> Iterator[str]:
    """Yield the lines above that are indented less than the one before, and the section of a file with sections."""
    width = indent_width(lines[number - 1][:_MAX_LINE], tab_size=TAB_SIZE)
    is_bracket = False
    is_topmost = width == 0
    for index in range(number - 2, max(-1, number - 2 - _MAX_LINES), -1):
        line = lines[index][:_MAX_LINE]
        stripped = line.strip()
        if not stripped:
            continue
        if is_topmost:
            if SECTION.match(line) is not None and width == 0:
                yield line
                return
            # A literal or a list may begin in the first column, too.
            if index == number - 2 and stripped[-1] in "({[" and not stripped.startswith((")", "]", "}")):
                yield line
            continue

        # Comments and lines of a preprocessor have an indentation of their own.
        if _NO_HEAD.match(line) is not None:
            continue

        line_width = indent_width(line, tab_size=TAB_SIZE)
        if is_bracket and line_width <= width:
            yield line
            width, is_bracket = line_width, False
        elif line_width < width:
            is_closing = stripped[0] in ")]}" and len(stripped) < 3
            width = line_width
            # The end of a list, as in `) : Widget {`, belongs to the head that begins it.
            is_bracket = stripped in {"{", "(", "["} or (stripped[0] == ")" and stripped[-1] in "{:=>")
            if not (is_bracket or is_closing):
                yield line
        is_topmost = width == 0 and not is_bracket


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

    line = lines[number - 1][:_MAX_LINE]
    if is_project:
        heads = islice(lines_around(lines, number), _MAX_HEADS)
        is_conditional = any(_CONDITION_OF_PROJECT.search(text) for text in (line, *heads))
        return UNDER_CONDITION if is_conditional else ""

    if _is_in_open_block(lines, number, language):
        return UNDER_CONDITION

    if _BRANCH.match(line) is not None or (
        language in {"Ruby", "Perl"} and _AFTERWARDS.search(without_texts(line).partition("#")[0]) is not None
    ):
        return UNDER_CONDITION

    is_attempt = False
    for head in islice(lines_around(lines, number), _MAX_HEADS):
        is_branch = CONDITION.match(head) is not None or _BRANCH.match(head) is not None
        if is_branch or (language in LISPS and _LISP_CONDITION.match(head) is not None):
            return UNDER_CONDITION
        if begins_function(head):
            break
        is_attempt = is_attempt or _ATTEMPT.match(head) is not None
    return "the line is in a block that may fail" if is_attempt else ""


_NO_HEAD_OF_ML = r"(?!(?:let|and|method)[ \t]+(?!rec\b|mut\b|mutable\b|inline\b|private\b)\w+[ \t]+\w)"
"""Not the head of a function of OCaml or F#, whose last parameter is before the sign: ``let load size = 5``."""


def is_set_again(lines: Sequence[str], name: str, number: int, begin_line: int, end_line: int) -> bool:
    """Return whether a line of a range, other than the one of a value, assigns the same name at its beginning.

    Keywords of calls, such as ``run(size=size)``, and entries of literals assign nothing.
    """
    bare = re.escape(name.lstrip("$@"))
    assigned = re.compile(
        rf"[ \t]*{_NO_HEAD_OF_ML}(?:[}})\]] ?)?(?:\w++[ \t]++){{0,3}}[$@]{{0,2}}(?:(?:self|this)(?:\.|->))?{bare}[ \t]*"
        r"(?:[-+*/%|&^.]|<<|>>|\|\||&&|\?\?|:)?=(?![=>~])"
    )
    return any(
        index != number and not line.rstrip().endswith((",", "(")) and assigned.match(line[:_MAX_LINE]) is not None
        for index, line in enumerate(lines[begin_line - 1 : end_line], begin_line)
    )


_OF_OPTIONS = re.compile(r"\bif\b\s*\(?\s*!?\s*(?:options|opts|config|settings|params|args)\s*\)?\s*\{?\s*$")
"""A condition that there are options at all."""


def is_of_one_case(lines: Sequence[str], number: int, path: str, name: str) -> bool:
    """Return whether a line gives a name its value under a condition on something else, so that it is no default."""
    if not condition_text(lines, number, path):
        return False
    letters = re.sub(r"\W|_", "", name).casefold()
    heads = [text for text in lines_around(lines, number) if CONDITION.match(text) is not None]
    return any(
        letters not in re.sub(r"\W|_", "", text).casefold() and _OF_OPTIONS.search(text) is None for text in heads
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
    for index in range(max(0, number - 1 - _MAX_BLOCK_LINES), number - 1):
        match = pattern.match(lines[index][:_MAX_LINE])
        if match is None:
            continue
        word = match["word"].lower()
        if (word == "endif" or word.startswith("el")) and open_blocks:
            open_blocks.pop()
        if word.startswith("el"):
            open_blocks.append(True)
        elif word != "endif":
            open_blocks.append(pattern is not _DIRECTIVE or not _is_guard(lines, index, match))
    return any(open_blocks)


def _is_guard(lines: Sequence[str], index: int, match: re.Match[str]) -> bool:
    """Return whether a line keeps a header from being read twice: the next line defines the name, without a value."""
    if index + 1 >= len(lines):
        return False
    defined = _GUARDED.match(lines[index + 1][:_MAX_LINE])
    names = re.findall(r"\w+", match["rest"][:_MAX_LINE])
    return defined is not None and match["word"] in {"if", "ifndef"} and defined[1] in names
