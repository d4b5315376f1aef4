"""Forms of calls by language: templates of regular expressions, in which ``{name}`` is replaced by a name.

Each form is for a line without its texts and comments, and says what a call of the language looks like. A form isn't a
grammar, and only for languages that no grammar reads, or where one lost its way.

Templates of documents have code between marks, or in the values of attributes. There, a name counts if it is in the
code of a line, or followed by a bracket anywhere outside of comments. A document in HTML shows calls as its text, so
that only its code counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sourcelight.engines.deepsearch.source.calls.bare_code import MAX_LINE
from sourcelight.engines.deepsearch.source.definition_forms import SAME_FORMS

_BRACKET_BEHIND = r"(?<![\w$]){name}\s*\("
"""The form of most languages: ``lift(``."""

CALL_FORMS: Mapping[str, str] = {
    "Elixir": r"(?:(?<![\w@:]){name}\s*\(|\|>\s*(?:\w+\.)*{name}\b|&(?:\w+\.)*{name}/\d)",
    "Perl": r"(?:(?<![\w$@%]){name}\s*\(|->\s*{name}\b|&(?:\w+::)*{name}\b)",
    "Clojure": r"\((?:[\w.-]+/)?{name}(?=[\s)]|$)",
    "Lua": r"(?<![\w]){name}\s*[(\"{{]",
    "Objective-C": r"(?:(?<![\w$]){name}\s*\(|\[[^\]]*\s{name}[:\]])",
    "Swift": r"(?<![\w$]){name}\s*(?:<[^<>()]*>)?\s*[({{]",
    "Vim Script": r"(?<![\w:#.])(?:[sgl]:|<SID>|(?:\w+#)+)?(?:\w+\.)*{name}\s*\(",
    **dict.fromkeys(("Emacs Lisp", "Scheme"), r"\({name}(?=[\s)]|$)"),
    # A command is the first word of a statement, of a pipeline or between brackets.
    "PowerShell": (
        r"(?i:(?:^\s*|[;|({{=!,]\s*|&\s*|(?<!\S)(?:return|throw|else|do|in|[-]not|[-]and|[-]or)\s+|\$\(\s*)"
        r"{name}(?=[\s;)|}},]|$))"
    ),
    # Arguments of types precede those in brackets.
    "Scala": r"(?<![\w$]){name}\s*(?:\[[^\[\]()]*(?:\[[^\[\]()]*\][^\[\]()]*)*\]\s*)?\(",
    "Rust": r"(?<![\w$]){name}\s*(?:::<[^()]*>\s*)?\(",
    # Letters of either case are the same in these three.
    "Fortran": r"(?i:\bcall\s+(?:\w+(?:\([^()]*\))?\s*%\s*)*{name}\b|(?<![\w$]){name}\s*\()",
    "CMake": r"(?i:^\s*{name}\s*\()",
    "SQL": r"(?i:(?<![\w$]){name}[\"`\]]?\s*\(|\b(?:call|exec|execute)\s+(?:\w+\.)?{name}\b)",
    # Arguments of a template precede those in brackets, and a member without arguments needs none.
    "D": r"(?:(?<![\w$]){name}\s*(?:!\s*(?:\([^()]*\)|[\w.]+)\s*)?\(|[\w)\]]\.{name}\b(?!\s*=[^=]))",
    # A name, a space and an argument, which is neither an operator nor a word of the language.
    "CoffeeScript": (
        r"(?:(?<![\w$@]){name}\s*\(|(?<![\w$.\"'])(?:@|(?:\w+\.)*){name}[ ]+(?![-+*/=<>?:|&])"
        r"(?!(?:and|or|is|isnt|if|unless|then|in|of|for|when|not)\b)\S)"
    ),
    **dict.fromkeys(
        ("C#", "C++", "Java", "Kotlin"), r"(?<![\w$]){name}\s*(?:<[^<>();]*(?:<[^<>();]*>[^<>();]*)*>\s*)?\("
    ),
    # A routine of Nim may be the first word of a command, or behind its first argument.
    "Nim": r"(?:(?<![\w`]){name}\s*\(|(?:^\s*|[:=]\s+|\bawait\s+){name}\s+[\w\"&@\[(]|[\w)\]]\.{name}\b(?!\s*=[^=]))",
    "Dart": r"(?<![\w$]){name}\s*(?:<[^()]*>)?\(",
    # What follows a receiver and a dot is a call, except on the left of a sign of equality.
    **dict.fromkeys(
        ("Ruby", "Crystal"),
        (
            r"(?:(?<![\w$@.:]){name}\s*\("
            r"|(?:[\w)\]}}?!]|^\s*)&?\.{name}(?![\w?!])(?!\s*(?:[-+*/|&]{{0,2}}=[^=~>])))"
        ),
    ),
    # The first word of a command.
    "Shell": (
        r"(?:^\s*|[;&|({{!]\s*|\$\(\s*|`\s*|(?<!\S)(?:then|do|else|if|elif|while|until)\s+){name}(?=[\s;)&|`\"]|$)"
    ),
}
"""Forms of calls of languages with others than a bracket behind the name."""

DECLARATIONS: Mapping[str, re.Pattern[str]] = {
    "Elixir": re.compile(r"\s*@(?:spec|callback|macrocallback|optional_callbacks|type|doc)\b"),
    "Dart": re.compile(r"\s*case\s+\w+\("),
    "Fortran": re.compile(r"(?i:\s*(?:public|private|procedure|module\s+procedure|end)\b)"),
    "JavaScript": re.compile(r"\s*export\s*(?:type\s*)?\{"),
    "Julia": re.compile(r"\s*(?:export|public)\s"),
    "Erlang": re.compile(r"-(?:spec|callback|type|opaque|export|export_type|compile)\b"),
    "SQL": re.compile(
        r"(?i:\s*(?:drop|alter|comment\s+on|grant|revoke|create\s+(?:or\s+replace\s+)?(?:function|procedure|aggregate))\b)"
    ),
}
"""Beginnings of statements that name a function, with a bracket behind it, without calling it: ``-spec lift(…)``."""

STANDARD_MODULES: Mapping[str, str] = {
    "Elixir": (
        "Access|Agent|Application|Base|Code|Date|DateTime|Enum|File|Float|GenServer|IO|Integer|Kernel|Keyword|List|Logger"
        "|Macro|Map|MapSet|Module|NaiveDateTime|Path|Process|Regex|Registry|Stream|String|Supervisor|System|Task|Time"
        "|Tuple|URI"
    ),
    "F#": "Array|Async|List|Map|Option|Result|Seq|Set|String|Task",
    "OCaml": (
        "Arg|Array|Buffer|Bytes|Char|Filename|Float|Format|Fun|Hashtbl|Int|Lazy|List|Map|Option|Printexc|Printf|Queue"
        "|Result|Seq|Set|Stack|Str|String|Sys|Unix"
    ),
}
"""Modules of standard libraries: a function behind one of them is none of the project's."""


def call_form(name: str, language: str) -> str:
    """Return the regular expression for calls of a name in a language."""
    form = CALL_FORMS.get(SAME_FORMS.get(language, language), _BRACKET_BEHIND)
    return form.format(name=re.escape(name))


def declares(line: str, language: str) -> bool:
    """Return whether a line begins with a statement that names functions without calling them."""
    statement = DECLARATIONS.get(SAME_FORMS.get(language, language))
    return statement is not None and statement.match(line) is not None


def without_standard_calls(line: str, name: str, language: str) -> str:
    """Return a line without functions of a name that belong to a module of the standard library: ``List.map``."""
    modules = STANDARD_MODULES.get(language)
    if modules is None:
        return line
    return re.sub(rf"(?<![\w.])(?:{modules})\.{re.escape(name)}(?![\w'?!])", "", line)


TEMPLATE_LANGUAGES = frozenset({
    "Blade", "EJS", "HTML", "HTML+EEX", "HTML+ERB", "Haml", "Handlebars", "Jinja", "Liquid", "Mustache", "Pug", "Slim",
    "Svelte", "Twig", "Vue",
})  # fmt: skip
"""Languages of documents with code between marks, or in the values of attributes."""

_TEMPLATE_COMMENT = re.compile(r"<%(?:#|--).*?%>|\{\{!?--.*?--\}\}|\{#.*?#\}|<!--.*?-->|\{\{!.*?\}\}")
"""Comments: `<%# … %>`, `{{!-- … --}}`, `{# … #}`, `<!-- … -->`, `{{! … }}`."""

_CODE_WITH = (
    r"(?:<%[^%]{{0,300}}?|\{{[{{!%][^{{}}]{{0,300}}?|(?<!\S)(?:[@:#]|v-)[\w:.-]+=\"[^\"]{{0,300}}?)"
    r"(?<![\w$.'-]){name}(?![\w$'-])"
)
"""Code between marks, or in the value of an attribute: `<%= lift`, `{{ lift`, `@click="lift`, `v-if="lift`."""

_SCRIPT_LINE = r"\s*(?:%?[\w.#-]+(?:\([^()]*\))?)?[=-]{{1,2}}\s.*?(?<![\w$.'-]){name}(?![\w$'-])"
"""A line of Haml, Slim or Pug that runs code."""

_SCRIPTED = frozenset({"Haml", "Pug", "Slim"})
"""Templates with such lines."""

_WITH_METHODS = frozenset({"HTML+EEX", "HTML+ERB", "Haml", "Slim"})
"""Templates in whose code a name alone calls a method."""


def calls_in_template(line: str, name: str, language: str) -> bool:
    """Return whether the code of a line of a template calls a name."""
    bare, escaped = _TEMPLATE_COMMENT.sub("", line[:MAX_LINE]), re.escape(name)
    if language == "HTML":
        return _has_code(bare, rf"{escaped}(?=\s*\()")
    return _has_bracket(bare, escaped) or (language in _WITH_METHODS and _runs(bare, escaped, language))


def has_in_template(line: str, name: str, language: str) -> bool:
    """Return whether the code of a line of a template has a name, or its markup has an element of this name."""
    bare, escaped = _TEMPLATE_COMMENT.sub("", line[:MAX_LINE]), re.escape(name)
    if language == "HTML":
        return _has_code(bare, escaped)
    is_element = re.search(rf"</?{escaped}(?=[\s/>])", bare) is not None
    return is_element or _has_bracket(bare, escaped) or _runs(bare, escaped, language)


def _runs(bare: str, escaped_name: str, language: str) -> bool:
    """Return whether the code of a line has a name."""
    is_script = language in _SCRIPTED and re.match(_SCRIPT_LINE.format(name=escaped_name), bare) is not None
    return is_script or _has_code(bare, escaped_name)


def _has_code(bare: str, name_pattern: str) -> bool:
    return re.search(_CODE_WITH.format(name=name_pattern), bare) is not None


def _has_bracket(bare: str, escaped_name: str) -> bool:
    return re.search(rf"(?<![\w$-]){escaped_name}\s*\(", bare) is not None
