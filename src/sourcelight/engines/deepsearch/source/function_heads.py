"""Heads of functions in languages without a grammar, by the form of a line: what a count counts there.

A form is a search that anyone can run again. Where several lines define one function, as clauses of Elixir and Erlang
do, the name and the number of parameters tell which belong together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_MAX_LINE, _MAX_HEAD_LINES = 500, 12
"""Characters of a line that may be the head of a function, and lines of one head."""


@dataclass(frozen=True, slots=True)
class HeadForm:
    """The form of the lines that define the functions of a language.

    Attributes
    ----------
    search
        A regular expression for a search of lines, in the case as written.
    rule
        What it finds, in words: "lines that begin with …".
    clause
        Finds the name of a clause and the text behind it, as groups. None where each line defines a function.
    """

    search: str
    rule: str
    clause: re.Pattern[str] | None = None


HEAD_FORMS: Mapping[str, HeadForm] = {
    "Lua": HeadForm(
        r"^[ \t]*(?:local[ \t]+)?(?:function[ \t]+[\w.:]+[ \t]*\(|[\w.]+[ \t]*=[ \t]*function\b)",
        "lines that begin with function and a name, or set a name to a function",
    ),
    "Perl": HeadForm(r"^[ \t]*sub[ \t]+[\w:']+", "lines that begin with sub and a name"),
    "R": HeadForm(
        r"^(?:[ \t]*[`\"]?[\w.<%+\[-]+[`\"]?[ \t]*<<?-|[`\"]?[\w.]+[`\"]?[ \t]*=)[ \t]*(?:function\b|\x5c\()",
        "lines that set a name to a function",
    ),
    "PowerShell": HeadForm(
        r"^[ \t]*(?:[Ff]unction|[Ff]ilter|FUNCTION)[ \t]+[\w:-]+", "lines that begin with function or filter"
    ),
    "Vim Script": HeadForm(
        r"^[ \t]*fu(?:n|nc|nct|nctio|nction)?!?[ \t]+[\w.:#<>{}]+[ \t]*\(", "lines that begin with function and a name"
    ),
    "Emacs Lisp": HeadForm(
        r"^[ \t]*\((?:cl-)?(?:defun|defsubst)\*?[ \t]+[^\s]", "lines that begin with (defun, (cl-defun or (defsubst"
    ),
    "Crystal": HeadForm(
        r"^[ \t]*(?:(?:private|protected|abstract)[ \t]+)*def[ \t]+[^ \t]", "lines that begin with def and a name"
    ),
    "Nim": HeadForm(r"^[ \t]*(?:proc|func)[ \t]+[\w`]", "lines that begin with proc or func and a name"),
    "Zig": HeadForm(
        r"^[ \t]*(?:(?:pub|export|inline|noinline|extern)[ \t]+)*fn[ \t]+[\w@]", "lines that begin with fn and a name"
    ),
    "D": HeadForm(
        r"^[ \t]*(?:(?:@\w+|public|private|protected|package|static|final|abstract|override|export|pure|nothrow|const)"
        r"[ \t]+)*"
        r"(?:(?:[A-Z]\w*|void|bool|u?byte|u?short|u?int|u?long|float|double|real|[dw]?char|[dw]?string|size_t|auto|ref)"
        r"(?:![\w.]+|!\([^()\n]*\))?(?:\[[^\[\]\n]*\])*\*?[ \t]+)+[A-Za-z_]\w*[ \t]*\((?:[^;{\n]*|[^{\n]*\{.*)$",
        "lines with a type, a name and a bracket, without a semicolon at their end",
    ),
    "Clojure": HeadForm(r"^[ \t]*\(defn-?[ \t]+[^\s]", "lines that begin with (defn or (defn-"),
    "Elixir": HeadForm(
        r"^[ \t]*defp?[ \t]+[a-z_]\w*[?!]?",
        "names behind def and defp with their numbers of parameters",
        re.compile(r"\s*defp?\s+(?P<name>[a-z_]\w*[?!]?)(?P<rest>.*)", re.DOTALL),
    ),
    "Julia": HeadForm(
        r"^[ \t]*(?:@\w+[ \t]+)*function[ \t]+[\w.(]"
        r"|^[ \t]*[A-Za-z_][\w.]*!?\([^()]*(?:\([^()]*\)[^()]*)*\)[ \t]*(?:::[^=()]*)?(?:where[ \t][^=]*)?=(?:[^=>]|$)",
        "lines that begin with function, or set a name with parameters",
    ),
    "Elm": HeadForm(r"^[a-z]\w*[ \t]*:(?:[^:]|$)", "names with a type at the beginning of a line, values included"),
    "Erlang": HeadForm(
        r"^[a-z]\w*\(",
        "names at the beginning of a line with their numbers of parameters",
        re.compile(r"(?P<name>[a-z][\w@]*)(?P<rest>\(.*)", re.DOTALL),
    ),
}
"""The form of functions, by language. In languages that aren't here, a line alone doesn't tell a function."""


WITH_METHODS = frozenset({"Crystal"})
"""Languages among these whose functions are nearly all methods, so that a count of methods means them."""


def head_at(lines: Sequence[str], number: int) -> str:
    """Return the text of a head that begins on a line (from 1), with the lines on which its parameters may go on."""
    return "\n".join(line[:_MAX_LINE] for line in lines[number - 1 : number - 1 + _MAX_HEAD_LINES])


def function_of(language: str, head: str) -> tuple[str, int] | None:
    """Return the name and the number of parameters of a head; None if these don't end in its text."""
    clause = HEAD_FORMS[language].clause
    match = None if clause is None else clause.match(head)
    arity = None if match is None else _count_parameters(match["rest"])
    return None if match is None or arity is None else (match["name"], arity)


_PAIRS = {"(": ")", "[": "]", "{": "}"}
_TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|\$.|\?\S")
"""Texts, and letters that stand for themselves."""


def _count_parameters(text: str) -> int | None:
    """Return the number of parameters in the brackets that a text begins with; None if they don't end in it."""
    text = _TEXT.sub("_", text.replace("<<", "[").replace(">>", "]"))
    if not text.startswith("("):
        return 0

    open_brackets: list[str] = []
    commas = 0
    for position, letter in enumerate(text):
        if letter in _PAIRS:
            open_brackets.append(_PAIRS[letter])
        elif open_brackets and letter == open_brackets[-1]:
            open_brackets.pop()
            if not open_brackets:
                return commas + 1 if text[1:position].strip() else 0
        elif letter == "," and len(open_brackets) == 1:
            commas += 1

    return None


_PARAMETER_BLOCK = re.compile(r"\s*+(?:(?:function|filter)\b[^{#]{0,200}\{\s*+)?param\s*+\(", re.IGNORECASE)
_HEAD_OF_BLOCK = re.compile(r"\s*+(?:(?:function|filter)\b|[{\[#]|using\b|$)", re.IGNORECASE)
_MAX_BLOCK_LINES = 400
"""Lines of comments and attributes before the parameters of a function or a script of PowerShell."""


@dataclass(frozen=True, slots=True)
class ParameterBlock:
    """The block of the parameters of PowerShell: its line, from 1, and the column behind its bracket, from 0."""

    line: int
    column: int


def parameter_block(lines: Sequence[str], line: int) -> ParameterBlock | None:
    """Return the block of parameters behind the head on a line (from 1), or of a script; None without one."""
    is_comment = False
    for number in range(line, min(len(lines), line + _MAX_BLOCK_LINES) + 1):
        text = lines[number - 1][:_MAX_LINE]
        if is_comment:
            is_comment = "#>" not in text
            continue
        if text.lstrip().startswith("<#"):
            is_comment = "#>" not in text
            continue
        block = _PARAMETER_BLOCK.match(text)
        if block is not None:
            return ParameterBlock(number, block.end())
        head = _HEAD_OF_BLOCK.match(text)
        if head is None or (number > line and head[0].lstrip().lower() in {"function", "filter"}):
            return None

    return None
