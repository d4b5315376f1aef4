"""Calls by the form of a line, in languages that no grammar reads and where a grammar lost its way."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sourcelight.engines.deepsearch.source.definition_forms import SAME_FORMS
from sourcelight.engines.deepsearch.source.line_kinds import LISPS

_MAX_CALL_LINE = 1_000
"""Characters of a line in which a call is looked for."""
WITHOUT_BRACKETS = frozenset({"Haskell", "OCaml", "F#", "Elm", "PureScript"})
OPTIONAL_BRACKETS = frozenset({"Crystal", "Groovy", "Ruby", "Scala"})
"""Languages in which a name alone may be a call: no form of a line tells it from a variable."""
_CALL_FORMS: Mapping[str, str] = {
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
"""Forms of calls, by language; elsewhere a bracket follows the name."""
_NEVER = re.compile(r"(?!)")
_DECLARES: Mapping[str, re.Pattern[str]] = {
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
"""Beginnings of statements that name a function, with a bracket behind it, without calling it."""
_TEXTS = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_TEXTS_BESIDE_PRIMES = re.compile(r"\"(?:[^\"\\]|\\.)*\"|(?<![\w')\]])'(?:[^'\\]|\\[^'\s]{1,8}|\\')'")
"""Texts and characters where a prime may be a part of a name, a transposed matrix, a variable of a type or a quote."""
_WITH_PRIMES = frozenset({
    "Haskell", "PureScript", "Elm", "OCaml", "F#", "Julia", "Clojure", "Common Lisp", "Emacs Lisp", "Scheme", "Racket",
})  # fmt: skip
_HASH_BRACES, _DOLLAR_BRACES = re.compile(r"#\{([^{}]*)\}"), re.compile(r"\$\{([^{}]*)\}")
_IN_BRACKETS = r"\(((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+)\)"
_CODE_IN_TEXTS: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(("Ruby", "Crystal", "Elixir", "CoffeeScript"), _HASH_BRACES),
    **dict.fromkeys(("Dart", "Kotlin", "Groovy", "Scala", "Haxe"), _DOLLAR_BRACES),
    **dict.fromkeys(("PowerShell", "Julia"), re.compile(rf"\${_IN_BRACKETS}")),
    "Swift": re.compile(rf"\\{_IN_BRACKETS}"),
}
"""Code within texts in double quotation marks, by language."""
_SHELL_TEXTS = re.compile(r"\"(?:[^\"\\$`]|\\.|\$(?!\())*\"|'[^']*'")
"""Texts of a shell that run no command."""


_DASHED_COMMENT = r"\s--\s.*|\{-(?!#)[^-]*-\}"
_ML_COMMENT = r"\(\*(?!\))[^*]*\*\)"
_SLASHES, _HASH = r"(?:^|\s)//.*", r"(?:^|\s)#.*"
_COMMENTS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "C", "C++", "C#", "Cuda", "D", "Dart", "Go", "Groovy", "Haxe", "Java", "JavaScript", "Kotlin",
            "Objective-C", "Objective-C++", "Rust", "Scala", "Solidity", "Swift", "TSX", "TypeScript", "V", "Vala",
            "Zig",
        ),
        _SLASHES,
    ),
    **dict.fromkeys(
        (
            "Awk", "CMake", "CoffeeScript", "Crystal", "Elixir", "GDScript", "Julia", "Nim", "Perl", "PowerShell",
            "Python", "R", "Raku", "Ruby", "Shell", "Starlark", "Tcl", "fish",
        ),
        _HASH,
    ),
    "Haskell": _DASHED_COMMENT, "Elm": _DASHED_COMMENT, "PureScript": _DASHED_COMMENT, "Lua": r"\s--.*",
    "OCaml": _ML_COMMENT, "F#": rf"{_ML_COMMENT}|\s//.*", "Erlang": r"\s%.*", "Vim Script": r"\s\"(?!\").*",
    "Fortran": r"!.*", "Fortran Free Form": r"!.*", "SQL": r"\s--.*", "MATLAB": r"\s%.*", "Ada": r"\s--.*",
    "Clojure": r"\s;.*", "Common Lisp": r"\s;.*", "Emacs Lisp": r"\s;.*", "Scheme": r"\s;.*", "Racket": r"\s;.*",
}  # fmt: skip
"""Comments at the end of a line or within it, where neither a hash nor two slashes begin them."""


_STANDARD_MODULES: Mapping[str, str] = {
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


TEMPLATE_LANGUAGES = frozenset({
    "Blade", "EJS", "HTML", "HTML+EEX", "HTML+ERB", "Haml", "Handlebars", "Jinja", "Liquid", "Mustache", "Pug", "Slim",
    "Svelte", "Twig", "Vue",
})  # fmt: skip
"""Languages of documents with code between marks, or in the values of attributes."""
_TEMPLATE_COMMENT = re.compile(r"<%(?:#|--).*?%>|\{\{!?--.*?--\}\}|\{#.*?#\}|<!--.*?-->|\{\{!.*?\}\}")
_TEMPLATE_CODE = (
    r"(?:<%[^%]{{0,300}}?|\{{[{{!%][^{{}}]{{0,300}}?|(?<!\S)(?:[@:#]|v-)[\w:.-]+=\"[^\"]{{0,300}}?)"
    r"(?<![\w$.'-]){name}(?![\w$'-])"
)
_SCRIPT_LINE = r"\s*(?:%?[\w.#-]+(?:\([^()]*\))?)?[=-]{{1,2}}\s.*?(?<![\w$.'-]){name}(?![\w$'-])"
"""A line of Haml, Slim or Pug that runs code."""
_WITH_METHODS = frozenset({"HTML+EEX", "HTML+ERB", "Haml", "Slim"})
"""Templates in whose code a name alone calls a method."""


def _is_in_template(line: str, name: str, language: str, *, is_call: bool) -> bool:
    """Return whether the code of a line of a template has a name, or calls it."""
    bare, escaped = _TEMPLATE_COMMENT.sub("", line[:_MAX_CALL_LINE]), re.escape(name)
    # A page of documentation shows calls as its text.
    if language != "HTML" and re.search(rf"(?<![\w$-]){escaped}\s*\(", bare) is not None:
        return True
    if is_call and language not in _WITH_METHODS:
        return language == "HTML" and re.search(_TEMPLATE_CODE.format(name=rf"{escaped}(?=\s*\()"), bare) is not None
    if language != "HTML" and not is_call and re.search(rf"</?{escaped}(?=[\s/>])", bare) is not None:
        return True
    if language in {"Haml", "Pug", "Slim"} and re.match(_SCRIPT_LINE.format(name=escaped), bare) is not None:
        return True
    return re.search(_TEMPLATE_CODE.format(name=escaped), bare) is not None


def has_call(line: str, name: str, language: str) -> bool:  # noqa: PLR0911 - one for each family
    """Return whether a line of code has the form of a call, outside of texts and comments."""
    if language in TEMPLATE_LANGUAGES:
        return _is_in_template(line, name, language, is_call=True)

    escaped = re.escape(name)
    bare = _bare_code(line, language)
    if language in _STANDARD_MODULES:
        bare = re.sub(rf"(?<![\w.])(?:{_STANDARD_MODULES[language]})\.{escaped}(?![\w'?!])", "", bare)

    if language not in WITHOUT_BRACKETS:
        if re.match(r"\s*@\w", bare) and language == "Elixir":
            return False
        if language in WITH_TYPES_FIRST:
            bare = without_prototype(bare, name)

        if language == "Erlang":
            if bare.startswith("-"):
                return False  # a specification or an attribute
            # The head of a clause begins in the first column, and nothing else does.
            bare = re.sub(rf"^{escaped}\s*\(", "(", bare)

        if _DECLARES.get(SAME_FORMS.get(language, language), _NEVER).match(bare) is not None:
            return False

        form = _CALL_FORMS.get(SAME_FORMS.get(language, language), r"(?<![\w$]){name}\s*\(").format(name=escaped)
        return re.search(form, bare) is not None

    # A signature, an equation, a pragma or a list of exports doesn't call it.
    if re.match(r"\s*(?:(?:module|val|external|type|exception|infix[lr]?)\b|\{-#)", bare) or re.match(
        rf"\s*{escaped}\b[^=]*(?:::|(?<![=<>/]) ?=(?!=)|\|)|\s*+(?:[,(]\s*+)?{escaped}\s*+(?:[,)]\s*+)?$", bare
    ):
        return False

    return re.search(rf"(?<![\w.']){escaped}(?![\w'])|(?<=[A-Za-z]\.){escaped}(?![\w'])", bare) is not None


def has_construction(line: str, name: str, language: str) -> bool:
    """Return whether a line of code calls a type, makes an instance of it, or calls its constructor."""
    if has_call(line, name, language):
        return True

    word = rf"(?<![\w$]){re.escape(name)}(?![\w$])"
    form = (
        rf"\bnew\s+(?:\w*(?:\.|::|\\))*{word}|{word}(?:\.|::|->)new\b|\[\s*{word}\s+(?:alloc|new)\b"
        rf"|{word}::\w+\s*\("
    )
    return re.search(form, _bare_code(line, language)) is not None


_WITH_BARE_CALLS = frozenset({"Ruby", "Crystal", "Elixir"})
"""Languages in which a name on a line of its own calls a method."""
_WITH_LISTS = frozenset({"HCL", "Terraform"})
"""Languages in which a list of names refers to what they name, and in which each text may have code."""
_NAMES_ALONE = re.compile(r"\s*(?:type\s+)?[\w$.]+(?:\s+as\s+[\w$]+)?(?:\s*,\s*[\w$.]+)*\s*,?\s*")


def has_reference(line: str, name: str, language: str) -> bool:
    """Return whether a line of code has a name, other than in a list of names alone, as imports and exports have."""
    if language in TEMPLATE_LANGUAGES:
        return _is_in_template(line, name, language, is_call=False)

    bare = _bare_code(line, language)
    if _DECLARES.get(SAME_FORMS.get(language, language), _NEVER).match(bare) is not None:
        return False

    is_whole_line = bare.strip() == name and language in _WITH_BARE_CALLS
    if _NAMES_ALONE.fullmatch(bare) is not None and not is_whole_line and language not in _WITH_LISTS:
        return False

    letters = r"\w$*!?-" if language in LISPS else r"\w$.-" if language in _WITH_LISTS else r"\w$"
    return re.search(rf"(?<![{letters}]){re.escape(name)}(?![{letters.replace('.', '')}])", bare) is not None


def _bare_code(line: str, language: str) -> str:
    """Return the beginning of a line without its texts and comments."""
    texts = _SHELL_TEXTS if language == "Shell" else _TEXTS_BESIDE_PRIMES if language in _WITH_PRIMES else _TEXTS
    if language in _WITH_LISTS and "${" in line:
        texts = _NEVER
    code_in_text = _CODE_IN_TEXTS.get(language)
    without_texts = texts.sub(
        '""' if code_in_text is None else lambda text: _keep_code(text[0], code_in_text), line[:_MAX_CALL_LINE]
    )
    return re.sub(_COMMENTS.get(language, r"\s(?://|#).*"), "", without_texts)


_RUNS_TEXT = re.compile(r"\s*(?:\w+\s+)?(?:trap|eval)\b|.*\s-c\s")
"""Commands of a shell that run a text: `trap "stop" EXIT`, `sh -c "stop"`."""


def without_shell_texts(line: str) -> str:
    """Return a line of a shell script without the texts that nothing runs, such as those of messages."""
    if len(line) > _MAX_CALL_LINE or _RUNS_TEXT.match(line) is not None:
        return line
    return _SHELL_TEXTS.sub('""', line)


def _keep_code(text: str, form: re.Pattern[str]) -> str:
    """Return the code within a text, each part in brackets; a text in single quotation marks has none."""
    return " ".join(['""', *(f"({part})" for part in form.findall(text))]) if text.startswith('"') else '""'


_BEFORE_CALLS = frozenset([
    "return", "else", "do", "case", "throw", "co_await", "co_return", "not", "new", "await", "yield", "assert", "in",
    "is", "and", "or", "const",
])  # fmt: skip
"""Keywords that precede a call; any other word before a name is a type."""
WITH_TYPES_FIRST = frozenset({"C", "C++", "Cuda", "Objective-C", "Objective-C++", "Java", "C#", "D", "Dart"})
"""Languages that declare a function by its type and its name, without a keyword."""
_TYPE = re.compile(r"[\w\s*&:<>,]*[\w*&>]")


def without_prototype(line: str, name: str) -> str:
    """Return a line of C, Java or their like without the type and the name that it declares; others unchanged.

    What follows them may call a function of the same name: `int depth() { return tree.depth(); }`.
    """
    match = re.search(rf"(?<!\w){re.escape(name)}\s*\(", line[:_MAX_CALL_LINE])
    type_text = "" if match is None else line[: match.start()].rstrip()
    if match is None or _TYPE.fullmatch(type_text) is None or "&&" in type_text:
        return line

    words = re.findall(r"\w+", type_text)
    return line[match.end() :] if words and words[-1] not in _BEFORE_CALLS else line
