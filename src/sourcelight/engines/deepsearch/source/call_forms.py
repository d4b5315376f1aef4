"""Calls by the form of a line, in languages that no grammar reads and where a grammar lost its way.

A line calls a name if its code, without texts and comments, has the form of a call of its language (`calls.forms`).
What has such a form and is none is taken out first: the head of a function, a prototype, a signature, an export. In
languages whose calls have no brackets, each occurrence is a call unless the line defines or lists the name.
"""

from __future__ import annotations

import re

from sourcelight.engines.deepsearch.source.calls.bare_code import MAX_LINE, WITH_LISTS, bare_code
from sourcelight.engines.deepsearch.source.calls.forms import (
    TEMPLATE_LANGUAGES,
    call_form,
    calls_in_template,
    declares,
    has_in_template,
    without_standard_calls,
)
from sourcelight.engines.deepsearch.source.line_kinds import LISPS

WITHOUT_BRACKETS = frozenset({"Haskell", "OCaml", "F#", "Elm", "PureScript"})
"""Languages whose calls have no brackets: ``lift gate``."""

OPTIONAL_BRACKETS = frozenset({"Crystal", "Groovy", "Ruby", "Scala"})
"""Languages in which a name alone may be a call: no form of a line tells it from a variable."""

_BEFORE_CALLS = frozenset([
    "return", "else", "do", "case", "throw", "co_await", "co_return", "not", "new", "await", "yield", "assert", "in",
    "is", "and", "or", "const",
])  # fmt: skip
"""Keywords that precede a call; any other word before a name is a type."""

WITH_TYPES_FIRST = frozenset({"C", "C++", "Cuda", "Objective-C", "Objective-C++", "Java", "C#", "D", "Dart"})
"""Languages that declare a function by its type and its name, without a keyword."""

_TYPE = re.compile(r"[\w\s*&:<>,]*[\w*&>]")
"""A type, with modifiers before it: ``static const char *``."""

_NO_CALL_IN_ML = re.compile(r"\s*(?:(?:module|val|external|type|exception|infix[lr]?)\b|\{-#)")
"""A signature, a pragma or a list of exports of a language without brackets: ``val lift : gate -> unit``."""

_ELIXIR_ATTRIBUTE = re.compile(r"\s*@\w")
"""An attribute of a module: ``@spec lift(gate) :: :ok``."""

_WITH_BARE_CALLS = frozenset({"Ruby", "Crystal", "Elixir"})
"""Languages in which a name on a line of its own calls a method."""

_NAMES_ALONE = re.compile(r"\s*(?:type\s+)?[\w$.]+(?:\s+as\s+[\w$]+)?(?:\s*,\s*[\w$.]+)*\s*,?\s*")
"""A line with names alone, as in a list of imports: ``lift, lower as sink,``."""


def has_call(line: str, name: str, language: str) -> bool:
    """Return whether a line of code has the form of a call, outside of texts and comments."""
    if language in TEMPLATE_LANGUAGES:
        return calls_in_template(line, name, language)

    bare = without_standard_calls(bare_code(line, language), name, language)
    if language in WITHOUT_BRACKETS:
        return _has_call_without_brackets(bare, name)

    bare = _without_heads(bare, name, language)
    return not declares(bare, language) and re.search(call_form(name, language), bare) is not None


def _without_heads(bare: str, name: str, language: str) -> str:
    """Return a line without the head of a function that has the form of a call."""
    if language in WITH_TYPES_FIRST:
        return without_prototype(bare, name)
    if language == "Elixir":
        return "" if _ELIXIR_ATTRIBUTE.match(bare) else bare
    if language == "Erlang":
        # A specification or an attribute begins with a dash, and the head of a clause in the first column.
        return "" if bare.startswith("-") else re.sub(rf"^{re.escape(name)}\s*\(", "(", bare)
    return bare


def _has_call_without_brackets(bare: str, name: str) -> bool:
    """Return whether a line has a name that it neither defines nor lists."""
    escaped = re.escape(name)
    definition = rf"\s*{escaped}\b[^=]*(?:::|(?<![=<>/]) ?=(?!=)|\|)|{_equation(name)}"
    listing = rf"\s*+(?:[,(]\s*+)?{escaped}\s*+(?:[,)]\s*+)?$"
    if _NO_CALL_IN_ML.match(bare) or re.match(rf"{definition}|{listing}", bare):
        return False
    # A module may precede the name.
    return re.search(rf"(?<![\w.']){escaped}(?![\w'])|(?<=[A-Za-z]\.){escaped}(?![\w'])", bare) is not None


def _equation(name: str) -> str:
    """Return a pattern of the head of an equation whose guards are on the lines below it: ``lift gate height``."""
    return rf"{re.escape(name)}(?: [\w'@~!_]++|\s*\([^()]*\)){{1,8}}\s*$"


def has_construction(line: str, name: str, language: str) -> bool:
    """Return whether a line of code calls a type, makes an instance of it, or calls its constructor."""
    if has_call(line, name, language):
        return True

    word = rf"(?<![\w$]){re.escape(name)}(?![\w$])"
    form = (
        rf"\bnew\s+(?:\w*(?:\.|::|\\))*{word}|{word}(?:\.|::|->)new\b|\[\s*{word}\s+(?:alloc|new)\b"
        rf"|{word}::\w+\s*\("
    )
    return re.search(form, bare_code(line, language)) is not None


def has_reference(line: str, name: str, language: str) -> bool:
    """Return whether a line of code has a name, other than in a list of names alone, as imports and exports have."""
    if language in TEMPLATE_LANGUAGES:
        return has_in_template(line, name, language)

    bare = bare_code(line, language)
    if declares(bare, language) or (language in WITHOUT_BRACKETS and re.match(_equation(name), bare) is not None):
        return False

    is_bare_call = bare.strip() == name and language in _WITH_BARE_CALLS
    if _NAMES_ALONE.fullmatch(bare) is not None and not is_bare_call and language not in WITH_LISTS:
        return False

    before, behind = _letters_of_names(language)
    if language in {"HCL", "Terraform"}:
        # `limit = 3` gives the name a value, and `local.limit` uses it.
        bare = re.sub(rf"^\s*{re.escape(name)}\s*=(?!=)", "", bare)
        before = r"\w$-"
    return re.search(rf"(?<![{before}]){re.escape(name)}(?![{behind}])", bare) is not None


VARIABLE_LANGUAGES = frozenset({"YAML", "Jinja", ""})
"""Languages of data whose values name variables, such as those of Ansible; templates may have no language."""


def has_variable(line: str, name: str, language: str) -> bool:
    """Return whether a line of data or of its templates names a variable, other than as the key that it sets."""
    if language not in VARIABLE_LANGUAGES:
        return False
    bare = re.sub(r"(?:^|\s)#(?!\})\s.*|^\s*#.*", "", line[:MAX_LINE])
    bare = re.sub(rf"^\s*(?:-\s+)?[\"']?{re.escape(name)}[\"']?\s*:(?=\s|$)", "", bare)
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", bare) is not None


def _letters_of_names(language: str) -> tuple[str, str]:
    """Return the letters that make a name a part of a longer one if they are before it, or behind it."""
    if language in LISPS:
        return r"\w$*!?-", r"\w$*!?-"
    if language in WITH_LISTS:
        return r"\w$.-", r"\w$-"
    return r"\w$", r"\w$"


def without_prototype(line: str, name: str) -> str:
    """Return a line of C, Java or their like without the type and the name that it declares; others unchanged.

    What follows them may call a function of the same name: `int depth() { return tree.depth(); }`.
    """
    match = re.search(rf"(?<!\w){re.escape(name)}\s*\(", line[:MAX_LINE])
    type_text = "" if match is None else line[: match.start()].rstrip()
    if match is None or _TYPE.fullmatch(type_text) is None or "&&" in type_text:
        return line

    words = re.findall(r"\w+", type_text)
    return line[match.end() :] if words and words[-1] not in _BEFORE_CALLS else line
