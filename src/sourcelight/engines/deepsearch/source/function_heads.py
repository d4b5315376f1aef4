"""Heads of functions in languages without a grammar, by the form of a line.

They tell what a count counts there, and the function around a line. A form of a count is a search that anyone can run
again. Where several lines define one function, as clauses of Elixir and Erlang do, the name and the number of
parameters tell which belong together. An example stands above the form of each language.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sourcelight.engines.deepsearch.source.definition_forms import FORTRAN_WORDS

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
    # `local function open_gate(level)`
    "Lua": HeadForm(
        r"^[ \t]*(?:local[ \t]+)?(?:function[ \t]+[\w.:]+[ \t]*\(|[\w.]+[ \t]*=[ \t]*function\b)",
        "lines that begin with function and a name, or set a name to a function",
    ),
    # `sub open_gate {`
    "Perl": HeadForm(r"^[ \t]*sub[ \t]+[\w:']+", "lines that begin with sub and a name"),
    # `open_gate <- function(level)`
    "R": HeadForm(
        r"^(?:[ \t]*[`\"]?[\w.<%+\[-]+[`\"]?[ \t]*<<?-|[`\"]?[\w.]+[`\"]?[ \t]*=)[ \t]*(?:function\b|\x5c\()",
        "lines that set a name to a function",
    ),
    # `function Open-Gate`
    "PowerShell": HeadForm(
        r"^[ \t]*(?:[Ff]unction|[Ff]ilter|FUNCTION)[ \t]+[\w:-]+", "lines that begin with function or filter"
    ),
    # `function! s:OpenGate(level)`
    "Vim Script": HeadForm(
        r"^[ \t]*fu(?:n|nc|nct|nctio|nction)?!?[ \t]+[\w.:#<>{}]+[ \t]*\(", "lines that begin with function and a name"
    ),
    # `(cl-defun open-gate (level)`
    "Emacs Lisp": HeadForm(
        r"^[ \t]*\((?:cl-)?(?:defun|defsubst)\*?[ \t]+[^\s]", "lines that begin with (defun, (cl-defun or (defsubst"
    ),
    # `private def open_gate`
    "Crystal": HeadForm(
        r"^[ \t]*(?:(?:private|protected|abstract)[ \t]+)*def[ \t]+[^ \t]", "lines that begin with def and a name"
    ),
    # `proc openGate*(level: int)`
    "Nim": HeadForm(r"^[ \t]*(?:proc|func)[ \t]+[\w`]", "lines that begin with proc or func and a name"),
    # `pub fn openGate(level: u8)`
    "Zig": HeadForm(
        r"^[ \t]*(?:(?:pub|export|inline|noinline|extern)[ \t]+)*fn[ \t]+[\w@]", "lines that begin with fn and a name"
    ),
    # `private int openGate(int level) {`
    "D": HeadForm(
        r"^[ \t]*(?:(?:@\w+|public|private|protected|package|static|final|abstract|override|export|pure|nothrow|const)"
        r"[ \t]+)*"
        r"(?:(?:[A-Z]\w*|void|bool|u?byte|u?short|u?int|u?long|float|double|real|[dw]?char|[dw]?string|size_t|auto|ref)"
        r"(?:![\w.]+|!\([^()\n]*\))?(?:\[[^\[\]\n]*\])*\*?[ \t]+)+[A-Za-z_]\w*[ \t]*\((?:[^;{\n]*|[^{\n]*\{.*)$",
        "lines with a type, a name and a bracket, without a semicolon at their end",
    ),
    # `(defn- open-gate [level]`
    "Clojure": HeadForm(r"^[ \t]*\(defn-?[ \t]+[^\s]", "lines that begin with (defn or (defn-"),
    # `defp open_gate(level) do`
    "Elixir": HeadForm(
        r"^[ \t]*defp?[ \t]+[a-z_]\w*[?!]?",
        "names behind def and defp with their numbers of parameters",
        re.compile(r"\s*defp?\s+(?P<name>[a-z_]\w*[?!]?)(?P<rest>.*)", re.DOTALL),
    ),
    # `function open_gate(level)`
    "Julia": HeadForm(
        r"^[ \t]*(?:@\w+[ \t]+)*function[ \t]+[\w.(]"
        r"|^[ \t]*[A-Za-z_][\w.]*!?\([^()]*(?:\([^()]*\)[^()]*)*\)[ \t]*(?:::[^=()]*)?(?:where[ \t][^=]*)?=(?:[^=>]|$)",
        "lines that begin with function, or set a name with parameters",
    ),
    # `openGate : Int -> Gate`
    "Elm": HeadForm(r"^[a-z]\w*[ \t]*:(?:[^:]|$)", "names with a type at the beginning of a line, values included"),
    # `open_gate(Level) ->`
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
"""``param (``, also behind the head on its line: ``function Open-Gate { param (``."""
_HEAD_OF_BLOCK = re.compile(r"\s*+(?:(?:function|filter)\b|[{\[#]|using\b|$)", re.IGNORECASE)
"""A line that may be above the parameters: a head, a brace, an attribute, a comment, ``using``, or an empty one."""
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


_NO_STATEMENT = (
    r"(?!(?:if|for|foreach|foreach_reverse|while|switch|catch|with|version|scope|debug|synchronized|mixin)\b)"
)
"""Words of statements that a modifier may precede, as in `final switch (`: none is the name of a function."""
INDENTED_HEADS: Mapping[str, re.Pattern[str]] = {
    # `defp open_gate(level) do`
    "Elixir": re.compile(r"\s*(?:def|defp|defmacro|defmacrop)\s+(?P<name>[\w?!]+)"),
    # `public func openGate(level: Int)`
    "Swift": re.compile(
        r"\s*(?:(?:@\w+(?:\([^()]*\))?|public|private|fileprivate|internal|open|final|static|class|override|mutating"
        r"|required|convenience|nonisolated)\s+)*(?:func\s+(?P<name>\w+)|(?P<init>init)[?!]?\s*[(<])"
    ),
    # Behind a sign of equality it may be an argument of a call, unless it begins in the first column.
    # `open_gate <- function(level)`
    "R": re.compile(
        r"\s*[`\"]?(?P<name>[\w.]+)[`\"]?\s*<<?-\s*(?:function\b|\\\()|(?P<named>[\w.]+)\s*=\s*(?:function\b|\\\()"
    ),
    # `local function open_gate(level)`
    "Lua": re.compile(
        r"\s*(?:local\s+)?(?:function\s+(?:[\w.]+[.:])?(?P<name>\w+)|(?:\w+\.)*(?P<named>\w+)\s*=\s*function\b)"
    ),
    # `private def self.open_gate`
    "Crystal": re.compile(r"\s*(?:(?:private|protected)\s+)*(?:def|macro)\s+(?:self\.)?(?P<name>\w+[?!]?)"),
    # `sub open_gate {`
    "Perl": re.compile(r"\s*sub\s+(?:\w+(?:::|'))*(?P<name>\w+)"),
    # `open_gate(level)::Int = level`
    "Julia": re.compile(
        r"\s*(?:@\w+\s+)*(?:function|macro)\s+(?:\w+\.)*(?P<name>\w+!?)"
        r"|\s*(?:\w+\.)*(?P<short>\w+!?)\([^()]*(?:\([^()]*\)[^()]*)*\)\s*(?:::\s*[\w{},.]+\s*)?"
        r"(?:where\s[\w{},<: ]+)?=(?![=>])"
    ),
    # `proc openGate*(level: int)`
    "Nim": re.compile(
        r"\s*(?:proc|func|method|template|macro|iterator|converter)\s+(?:(?P<name>\w+)|`(?P<quoted>[^`]+)`)\s*\*?\s*[\[({:=]"
    ),
    # `pub fn openGate(level: u8)`
    "Zig": re.compile(r"\s*(?:(?:pub|export|inline|noinline|extern(?:\s+\"[^\"]*\")?)\s+)*fn\s+(?P<name>\w+)\s*\("),
    # `static Future<int> openGate(int level) {`
    "Dart": re.compile(
        r"\s*(?!(?:if|for|while|switch|case|catch|return|await|throw|else|assert|new|super|this)\b)"
        r"(?:(?:static|external|final|const|factory|late|abstract|covariant)\s+)*"
        # What follows a modifier alone is a call in a list: `const Padding(`.
        r"(?:(?!(?:static|external|final|const|factory|late|abstract|covariant)\b)[A-Za-z_][\w<>?,.\[\]]*\s+){1,3}"
        rf"(?:get\s+|set\s+)?{_NO_STATEMENT}(?P<name>(?!Function\b)\w+)\s*(?:<[^<>]*>)?\((?!.*;\s*$)"
    ),
    # `private int openGate(int level)`
    "D": re.compile(
        r"\s*(?!(?:if|for|foreach|while|switch|catch|return|throw|else|assert|new|version|static if|with|import)\b)"
        r"(?:(?:@\w+|public|private|protected|package|static|final|override|pure|nothrow|const|ref|auto)\s+)*"
        # Without a type, it is a call over several lines.
        r"(?:(?:(?!(?:new|return|else|in|is)\b)[\w.!\[\]]+\*?\s+){1,3}"
        rf"{_NO_STATEMENT}(?P<name>[A-Za-z_]\w*)|(?P<constructor>this))\s*\((?!.*;\s*$)"
        r"|\s*(?P<test>unittest)\b"
    ),
    # `open_gate(Level) ->`
    "Erlang": re.compile(r"(?P<name>[a-z][\w@]*)\("),
    # `function global:Open-Gate`
    "PowerShell": re.compile(r"(?i:\s*(?:function|filter)\s+(?:\w+:)?(?P<name>[\w-]+))"),
    # `open_gate() {`
    "Shell": re.compile(r"\s*(?:function\s+)?(?P<name>[\w:-]+)\s*\(\s*\)|\s*function\s+(?P<named>[\w:-]+)\s*\{?\s*$"),
    # `function openGate(uint level)`
    "Solidity": re.compile(
        r"\s*(?:(?:function|modifier)\s+(?P<name>\w+)|(?P<unnamed>constructor|fallback|receive)\s*\()"
    ),
    # `private int openGate(int level) {`
    "Groovy": re.compile(
        r"\s*(?!(?:if|for|while|switch|case|catch|return|throw|else|assert|new|synchronized)\b)"
        r"(?:(?:public|private|protected|static|final|abstract|synchronized)\s+)*"
        rf"(?:(?:(?!new\b)[A-Za-z_][\w.<>?,\[\]]*\s+){{1,3}}{_NO_STATEMENT}(?P<name>\w+)"
        r"|(?:(?:def|void)\s+(?P<quoted>\"[^\"]*\"|'[^']*')))\s*\([^;]*$"
        r"|\s*(?:(?:public|private|protected)\s+)?(?P<constructor>[A-Z]\w*)\s*\([^;()]*\)\s*\{\s*$"
    ),
    # `openGate: (level) ->`
    "CoffeeScript": re.compile(
        r"\s*(?:@|(?:\w+(?:\.|::))*(?:prototype\.)?)?(?P<name>[\w$]+)\s*[:=]\s*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)\s*)?[-=]>"
    ),
    # `def open_gate(level):`
    "Starlark": re.compile(r"\s*def\s+(?P<name>\w+)\s*\("),
    # `static func open_gate(level):`
    "GDScript": re.compile(r"\s*(?:static\s+)?func\s+(?P<name>\w+)\s*\("),
    # `pub fn open_gate(level) {`
    "Gleam": re.compile(r"\s*(?:pub\s+)?fn\s+(?P<name>\w+)\s*\("),
    # `public static function openGate(`
    "Haxe": re.compile(
        r"\s*(?:(?:public|private|static|inline|override|final|extern|macro)\s+)*function\s+(?P<name>\w+)"
    ),
    # `multi method open-gate(`
    "Raku": re.compile(r"\s*(?:(?:multi|proto|my|our)\s+)*(?:sub|method|submethod)\s+(?P<name>[\w-]+)"),
    # `function level = openGate(gate)`
    "MATLAB": re.compile(r"\s*function\s+(?:[^=()]*=\s*)?(?:\w+\.)*(?P<name>\w+)"),
    # `proc water::open_gate {level} {`
    "Tcl": re.compile(r"\s*(?:proc|method)\s+(?P<name>[\w:.-]+)\s"),
    # `function open_gate(level)`
    "Awk": re.compile(r"\s*function\s+(?P<name>\w+)\s*\("),
    # `function open_gate`
    "fish": re.compile(r"\s*function\s+(?P<name>[\w-]+)"),
}
"""Heads of functions, in languages whose bodies are indented."""


@dataclass(frozen=True, slots=True)
class MarkedBody:
    """The first and the last line of a function, in languages that mark both, so that one may be within another."""

    head: re.Pattern[str]
    end: re.Pattern[str]


MARKED_BODIES: Mapping[str, MarkedBody] = {
    # `function! s:OpenGate(level)`, `endfunction`
    "Vim Script": MarkedBody(
        re.compile(r"\s*fu(?:n|nc|nct|nctio|nction)?!?\s+(?P<name>[\w.:#<>]+)\s*\("),
        re.compile(r"\s*endf(?:u|un|unc|unct|uncti|unctio|unction)?\b"),
    ),
    # `recursive subroutine open_gate(level)`, `end subroutine open_gate`
    "Fortran": MarkedBody(
        re.compile(rf"(?i:\s*(?:{FORTRAN_WORDS}(?:subroutine|function)|program)\s+(?P<name>[a-z]\w*))"),
        re.compile(r"(?i:\s*end\s*(?:(?:subroutine|function|program|procedure)\b.*|(?:!.*)?)$)"),
    ),
    # `function(open_gate level)`, `endfunction()`
    "CMake": MarkedBody(
        re.compile(r"(?i:\s*(?:function|macro)\s*\(\s*(?P<name>[\w-]+))"),
        re.compile(r"(?i:\s*end(?:function|macro)\s*\()"),
    ),
}
"""By language. A function without its last line is a mistake of the program, so that nesting can be counted."""


_OF_SCRIPTS = frozenset({"JavaScript", "TSX", "TypeScript"})
_HEAD_LINES, _MAX_HEAD = 4, 500
"""Lines and characters of a head that are read."""


def has_function_head(lines: Sequence[str], name: str, language: str) -> bool:
    """Return whether some lines begin with the head of a function: in JavaScript, a list or an arrow before a brace."""
    if language not in _OF_SCRIPTS:
        return True

    behind = "\n".join(line[:_MAX_HEAD] for line in lines[:_HEAD_LINES]).partition(name)[2]
    head = behind.partition("{")[0]
    return "(" in head or "=>" in head
