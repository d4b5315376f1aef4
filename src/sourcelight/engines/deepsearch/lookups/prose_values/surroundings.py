"""The code around a binding: file, class, function, the list of parameters or the literal that it is in, comments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.kinds import FUNCTION_KINDS
from sourcelight.engines.deepsearch.lookups.definitions.branches import is_of_one_case, is_set_again
from sourcelight.engines.deepsearch.lookups.initial_values import spreads
from sourcelight.engines.deepsearch.lookups.prose_values.bindings import MAX_LINE, Binding
from sourcelight.engines.deepsearch.lookups.prose_values.comments import comments_about
from sourcelight.engines.deepsearch.lookups.prose_values.names import (
    has_name,
    has_word,
    is_of_inner_type,
    is_written,
    last_part,
    sets_option,
)
from sourcelight.engines.deepsearch.lookups.prose_values.question import ValueQuestion
from sourcelight.engines.deepsearch.source.fallbacks import asks_whether_absent
from sourcelight.engines.deepsearch.source.functions import enclosing_function, types_around
from sourcelight.engines.deepsearch.source.line_kinds import ANY_COMMENT, indent_width, lines_of_code
from sourcelight.engines.deepsearch.source.literals import without_texts
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking.terms.tokenizer import parts_of
from sourcelight.engines.symbols.definition_parser import Definition
from sourcelight.engines.symbols.grammars import LANGUAGES

_MEASURE_NOUNS = frozenset({"size", "length", "duration", "interval", "period", "rate", "level", "factor"})
_CONSTRUCTORS = frozenset({"__init__", "initialize", "constructor", "__construct", "init", "new"})
_MAKER = re.compile(
    r"(?:^|_)(?:new|default|init|create|alloc|make)(?:_|$)|^(?:[nN]ew|[dD]efault|[cC]reate|[mM]ake)(?=[A-Z]|$)"
)
"""Names of functions that make a value with what it has at first."""
_ONE_CHARACTER, _COLOR = r"u?[\"'`](?:\\.|[^\\])[\"'`]", r"[\"'`](?:#[\da-f]{3,8}|[a-z_ -]{3,24})[\"'`]|0x[\da-f]{6,8}"
_KINDS_OF_VALUES = {
    "character": _ONE_CHARACTER, "char": _ONE_CHARACTER, "symbol": _ONE_CHARACTER, "sign": _ONE_CHARACTER,
    "url": r"[\"'`]\w{2,8}://.*", "address": r"[\"'`](?:\w{2,8}://.*|[\da-f.:]{3,40}|localhost)[\"'`]",
    "path": r"[\"'`][^\"'`]*/[^\"'`]*[\"'`]", "color": _COLOR, "colour": _COLOR,
}  # fmt: skip
"""Nouns that a value shows by its form."""
_BRACKET = re.compile(r"[()\[\]{}]")
_OF_LITERAL = re.compile(r"(?:[=:(,\[{]|=>|\breturn|(?<![\w.])[A-Z][\w.]*)$|^$")
"""The text before a bracket that opens a literal."""
_SET_IN_BRACES = re.compile(r"\.(?:lua|hs|elm|purs)$")
"""Languages whose tables and records have an equals sign between a key and its value."""
_LAID_OUT = re.compile(r"\.(?:hs|elm|purs)$")
_DASHES, _LITERAL_LINES, _MAX_OPENINGS = re.compile(r"--.*"), 200, 4
_STRUCT_LITERAL = re.compile(r"(?<!\w)(?:[a-z]\w*(?:\.|::))?[A-Z]\w*\s*\{|\b[a-z]\w*\{\s*$")
_OBJECTS = ((".pm", re.compile(r"\bbless\b|\$self\s*=")), (".hs", re.compile(r"^(?:new|empty|def)[A-Z]\w*\s*=")))
_MERGES = re.compile(r"\.\.\.\s*\w|\bassign\(|\bmerge\w*\(")
_OWN = re.compile(
    r"(?i:self|this|cls|that|me|super|[a-z]|.*(?:config|conf|cfg|option|opts?|setting|default|param|args?|props)\w*)"
)
"""Names whose members are the function's own: the object itself, and what someone may configure."""
_PREPARED = re.compile(r"default|dflt|setting|initial", re.IGNORECASE)
_HEAD_LINES, _BODY_LINES = 40, 400
_OWNER = re.compile(r"(?:[@$]?[A-Za-z_]\w*(?:\(\))?(?:\??\.|->|::)){1,4}$")
"""Names before a name that say whose it is."""
_WITHOUT_OWNER = re.compile(r"\.(?:java|cs|kts?|swift|scala|dart|cc|cpp|cxx|h|hh|hpp|hxx)$")
"""Languages in which a constructor sets a field by its name alone."""
_TYPE_HEAD = re.compile(
    r"\s*(?:@?\w+\s+){0,3}(?:struct|class|type|record|trait|interface|object|enum|union|data)\b(?!.*\bfunction\b)"
)
_BODY_HEAD = re.compile(
    r"\b(?:function|func|fun|fn|def(?!aults?\b)\w*|sub|proc|macro|method|let|where|lambda)\b"
    r"|^\s*[A-Za-z_][\w.]*[!?]?\([^()]*\)\s*(?:=|\{|do)?\s*$"
)


@dataclass(slots=True)
class BindingMatch:
    """A binding that may be the answer, with the words of the question that its names and its comments have."""

    binding: Binding
    target: Target
    path: str
    line: int
    in_name: frozenset[str]
    holders: list[Definition] = field(default_factory=list)
    parameter_of: Definition | None = None
    in_names_around: frozenset[str] = frozenset()
    is_prepared: bool = False
    is_called_default: bool = False
    is_whole: bool = False
    is_named: bool = False
    around: str = ""


def look_around(texts: FileTexts, question: ValueQuestion, item: BindingMatch) -> bool:
    """Set where a binding is, and whether the code around it has the other words; return whether it may be meant."""
    lines = texts.lines(item.target, item.path)
    around = texts.definitions_around(item.target, item.path, item.line)
    item.holders = [definition for definition in around if definition.name != item.binding.name]
    openings = _opening_texts(lines, item)
    if item.binding.form == "assigned" and openings and _SET_IN_BRACES.search(item.path) is not None:
        item.binding = replace(item.binding, form="entry")

    if item.binding.form in {"assigned", "entry"} and _read_bracket(lines, item):
        return False

    # In a list of parameters, what follows a colon is a type, but in Ruby.
    if item.parameter_of is not None and item.binding.form == "entry" and not item.path.endswith(".rb"):
        return False

    # An annotation of C# is given where it is written, and says nothing of code without it.
    if item.parameter_of is not None and item.parameter_of.name.endswith("Attribute") and not question.names:
        return False

    if item.parameter_of is not None and _is_of_neighbor(lines, question, item):
        return False

    names = [item.path, *(f"{holder.name} {holder.container}" for holder in item.holders)]
    if item.parameter_of is not None:
        names.append(item.parameter_of.name)

    # The names that hold it are meant, and not its neighbours on the line.
    owner = _OWNER.search(lines[item.line - 1][: item.binding.column])
    names.append(owner[0] if owner is not None else "")
    if (language := language_of(item.path) or "") not in LANGUAGES:
        code_above = list(lines_of_code(lines[: item.line], language))
        names += [enclosing_function(code_above, item.line, language), *types_around(code_above, item.line, language)]

    # The literals that it stands in have names, too; a body has that of its function.
    names += [opening for opening in openings if not opening.endswith("){")]
    name_text, item.around = " ".join(names), " ".join(names[1:])
    # The name of the repository, which may be in all of its names, tells no value apart.
    own_text = re.sub(_repository_name(item), " ", name_text, flags=re.IGNORECASE)
    item.in_names_around = frozenset(word for word in question.words if has_word(own_text, word))
    # Of `config.port`, the first part is an owner as any.
    bare = item.binding.name.lstrip("@$")
    owners = [_without_last(name) if is_written(name, bare) else name for name in question.names]
    owners = [owner for owner in owners if owner]
    is_owner_asked = bool(owners or item.in_names_around)
    item.is_prepared = _is_prepared(lines, item, names, openings, is_owner_asked=is_owner_asked)
    if not all(has_name(name_text, owner) and not is_of_inner_type(item.holders, owner) for owner in owners):
        return False

    missing = [word for word in question.words if word not in item.in_name and word not in item.in_names_around]
    if item.in_name:
        # "How long does it wait for a reply": the verb is the measure.
        missing = [word for word in missing if word not in question.nouns]

    missing = [word for word in missing if not _is_kind_of_value(word, item.binding.value)]
    if item.in_name:
        # "The allocation size" is ``INITIAL_ALLOC``, too.
        missing = [word for word in missing if word not in _MEASURE_NOUNS]

    # A comment that lists platforms doesn't say that a value is that of one of them.
    is_conditional = item.is_named and any(word in question.conditions for word in missing)
    comments = ""
    if missing and not is_conditional:
        is_parameter = item.parameter_of is not None
        comments = comments_about(lines, item.binding, item.line, item.holders, is_parameter=is_parameter)

    item.is_whole = not is_conditional and all(has_word(comments, word) for word in missing)
    return True


def _is_of_neighbor(lines: Sequence[str], question: ValueQuestion, item: BindingMatch) -> bool:
    """Return whether a parameter isn't of the functions of its file that a question names, but of another one."""
    functions = {last_part(name) for name in question.names} - {item.binding.name}
    asked_functions = {name for name in functions if _is_defined(lines, name)}
    return bool(asked_functions) and asked_functions.isdisjoint(_names_around(item))


def _is_defined(lines: Sequence[str], name: str) -> bool:
    """Return whether a line looks like the head of a function or a class of a name."""
    head = re.compile(
        rf"\b(?:def|defp|fn|func|fun|function|sub|proc|let|class|struct|interface|trait|object)\s+{re.escape(name)}(?!\w)"
        rf"|(?<!\w){re.escape(name)}\s*(?:<-|=|:)\s*(?:async\s+)?function\b"
    )
    return any(name in line and head.search(line[:MAX_LINE]) is not None for line in lines)


def _names_around(item: BindingMatch) -> set[str]:
    """Return the names of the functions and classes around a binding."""
    names = {name for holder in item.holders for name in (holder.name, *holder.container.split("."))}
    return names | ({item.parameter_of.name} if item.parameter_of is not None else set())


def _repository_name(item: BindingMatch) -> str:
    """Return a pattern for the last part of the name of a repository."""
    name = item.target.repository.name.rpartition("/")[2].removesuffix(".git")
    return re.escape(name) if len(name) > 2 else r"(?!)"


def _is_kind_of_value(word: str, value: str) -> bool:
    """Return whether a noun says what a value is by itself: "the comment character" is a text of one character."""
    pattern = _KINDS_OF_VALUES.get(word)
    return pattern is not None and re.fullmatch(pattern, value, re.IGNORECASE) is not None


def _without_last(name: str) -> str:
    """Return the owners of a name: ``Pool`` of ``Pool.limit``; empty for a name alone, and for the object itself."""
    owner = name[: len(name) - len(last_part(name))].rstrip(".:->#@$")
    return "" if owner.casefold() in {"self", "this"} else owner


_FUNCTION_HEAD = re.compile(
    r"\b(?:func|function|def|defp|defmacro|fn|fun|sub|proc)\s+(?:\([^()]*\)\s*)?(?:[\w.]+[.:])?(?P<name>\w+[!?]?)\s*"
    r"(?:<[^<>]*>|\[[^\[\]]*\])?\s*$|(?P<named>[\w.]+)\s*(?:<-|[:=])\s*(?:async\s+)?function\s*$"
    r"|\b(?:class|object|record|struct)\s+(?P<type>\w+)\s*(?:<[^<>]*>|\[[^\[\]]*\])?"
    r"(?:\s+(?:(?:private|public|internal|protected|@\w+)\s+)?constructor)?\s*$"
    r"|\b(?P<init>init|constructor|__construct)[?!]?\s*(?:<[^<>]*>)?\s*$"
)
_TYPED_HEAD = re.compile(
    r"\s*(?!return\b|await\b|throw\b|new\b|else\b|case\b)(?:[\w<>?,.\[\]]+\s+)+(?:get\s+|set\s+)?(?P<name>\w+)\s*(?:<[^<>]*>)?\s*$"
)
"""The head of a function after its type, in Dart."""
_CALLED = re.compile(r"[\w\])]\s*(?:<[^<>]*>)?\s*$")
_OF_CONDITION = re.compile(
    r"\b(?:if|elif|while|for|foreach|switch|unless|until|catch|return|when|in|and|or|not|const|var|let|import|type)\s*$"
)
_REGISTERING = re.compile(r"(?i)(?:option|config|setting|default|flag|attr|field|column|property|param)\w*[.!]?\s*$")


def _read_bracket(lines: Sequence[str], item: BindingMatch) -> bool:
    """Set the function in whose list of parameters a binding stands; return whether it is in a call instead.

    A call gives a value for itself alone, unless it registers a setting.
    """
    depth = 0
    for number in range(item.line, max(0, item.line - _HEAD_LINES), -1):
        text = without_texts(lines[number - 1][: item.binding.column if number == item.line else MAX_LINE])
        for position in range(len(text) - 1, -1, -1):
            letter = text[position]
            depth += (letter in ")]}") - (letter in "([{")
            if depth < 0:
                before = text[:position]
                if letter in "{[" and item.path.endswith(".dart") and before.rstrip().endswith(("(", ",")):
                    depth = 0  # named and optional parameters have brackets of their own
                    continue
                if letter != "(":
                    return False

                head = _FUNCTION_HEAD.search(before)
                head = head or (_TYPED_HEAD.match(before) if item.path.endswith(".dart") else None)
                name = next((group for group in head.groups() if group), "") if head is not None else ""
                holder = next(
                    (other for other in item.holders if other.kind in FUNCTION_KINDS and other.line == number), None
                )
                if holder is None and name:
                    holder = Definition(name, "function", "", 0, number, number, item.line)

                if holder is not None and (name or re.search(rf"{re.escape(holder.name)}\s*(?:<[^<>]*>)?\s*$", before)):
                    item.parameter_of = holder
                    return False
                if sets_option(before, item.path):
                    return True
                if _OF_CONDITION.search(before) is not None or _REGISTERING.search(before) is not None:
                    return False

                return _CALLED.search(before) is not None

    return False


def _is_prepared(
    lines: Sequence[str], item: BindingMatch, names: Sequence[str], openings: Sequence[str], *, is_owner_asked: bool
) -> bool:
    """Return whether a binding is what holds if no one sets another value.

    It is called a default or a setting, is a constant of the file or a class, or is set where the name has no value.
    """
    if item.parameter_of is not None or item.binding.form in {"fallback", "macro"} or _is_replaced(lines, item):
        return True

    opening = openings[0] if openings else ""
    # A member of an enum is one of several values.
    if _is_local(lines, item) or _is_of_another(lines, item) or re.search(r"\benum\b", opening) is not None:
        return False

    item.is_called_default = any("default" in text.lower() for text in (item.binding.name, *names[1:], opening))
    if any(_PREPARED.search(text) is not None for text in (item.binding.name, *names, opening)):
        return True

    around = next((holder for holder in item.holders if holder.kind in FUNCTION_KINDS), None)
    makes = around is not None and _MAKER.search(around.name) is not None
    if item.binding.form == "entry":
        # A function of Rust or Go that makes a value of a type sets its fields to what holds at first; a literal that
        # takes over what someone sets has the defaults; another one has values of any kind.
        is_made = makes and item.path.endswith((".rs", ".go")) and _STRUCT_LITERAL.search(opening) is not None
        # So do a constructor of Perl, and a value of Haskell that is called new or empty.
        is_made = is_made or any(item.path.endswith(end) and form.search(opening) for end, form in _OBJECTS)
        return is_made or spreads(lines, item.line - 1) or _MERGES.search(opening) is not None

    # What a function makes has no class here that says whose member it is.
    is_constructor = around is not None and (around.kind == "constructor" or around.name in _CONSTRUCTORS)
    if is_constructor or (makes and is_owner_asked):
        return True

    return not any(holder.kind in FUNCTION_KINDS or holder.kind == "enum" for holder in item.holders)


def _is_replaced(lines: Sequence[str], item: BindingMatch) -> bool:
    """Return whether a value is set where its name has none."""
    above = lines[max(0, item.line - 3) : item.line]
    bare = item.binding.name.lstrip("@$")
    return item.binding.form == "assigned" and any(asks_whether_absent(text, bare) for text in above)


def _is_local(lines: Sequence[str], item: BindingMatch) -> bool:
    """Return whether a binding is a variable of a function, which has its value for a moment alone."""
    if item.binding.form != "assigned" or item.binding.name.startswith("@"):
        return False

    before = lines[item.line - 1][: item.binding.column]
    if _OWNER.search(before) is not None:
        return False
    if language_of(item.path) not in LANGUAGES:
        return _is_in_body(lines, item.line)

    holder = next(iter(item.holders), None)
    if holder is None or holder.kind not in FUNCTION_KINDS:
        return False

    is_constructor = holder.kind == "constructor" or holder.name in _CONSTRUCTORS
    is_statement = re.fullmatch(r"\s*[:,]?\s*", before) is not None
    return not (is_constructor and is_statement and _WITHOUT_OWNER.search(item.path) is not None)


def _is_of_another(lines: Sequence[str], item: BindingMatch) -> bool:
    """Return whether a member is set of an object that the function only uses: ``handler.AllowRedirect = false``."""
    if item.binding.form != "assigned":
        return False

    owner = _OWNER.search(lines[item.line - 1][: item.binding.column])
    if owner is None or item.binding.name.startswith("@"):
        return False

    last = re.split(r"\??\.|->|::", re.sub(r"[@$]|\(\)", "", owner[0]).rstrip(".>:-?"))[-1].lstrip("_")
    if not last or last[0].isupper() or _OWN.fullmatch(last) is not None:
        return False

    around = " ".join([item.path, *(f"{holder.name} {holder.container}" for holder in item.holders)])
    return not all(has_word(around, part) for part in parts_of(last))


def _is_in_body(lines: Sequence[str], number: int) -> bool:
    """Return whether a line (from 1) is in a function by its indent, for languages without a grammar."""
    indent = indent_width(lines[number - 1])
    for text in reversed(lines[max(0, number - 1 - _BODY_LINES) : number - 1]):
        if not indent:
            return False
        if not text.strip() or indent_width(text) >= indent:
            continue
        if _TYPE_HEAD.match(text) is not None:
            return False
        if _BODY_HEAD.search(text) is not None:
            return True
        indent = indent_width(text)

    return bool(indent)


def _opening_texts(lines: Sequence[str], item: BindingMatch) -> list[str]:
    """Return the texts before the brackets around a binding: the nearest one, and those of the literals around it."""
    openings: list[str] = []
    depth = 0
    for number in range(item.line, max(0, item.line - _LITERAL_LINES), -1):
        text = without_texts(lines[number - 1][: item.binding.column if number == item.line else MAX_LINE])
        if number != item.line and ANY_COMMENT.match(text) is not None:
            continue

        text = _DASHES.sub("", text) if _SET_IN_BRACES.search(item.path) is not None else text
        for bracket in reversed(list(_BRACKET.finditer(text))):
            depth += 1 if bracket[0] in ")]}" else -1
            if depth >= 0:
                continue

            depth = 0
            before = text[: bracket.start()].rstrip()
            # The bracket of a record of Haskell is on the line below its name.
            before = before if before or number < 2 else lines[number - 2][:MAX_LINE].rstrip()
            if openings and _OF_LITERAL.search(before) is None:
                return openings
            openings.append(before + bracket[0])
            if _OF_LITERAL.search(before) is None or len(openings) >= _MAX_OPENINGS:
                return openings

        # A line without an indent begins a definition of Haskell.
        if _LAID_OUT.search(item.path) is not None and text[:1].isalpha():
            return openings

    return openings


def is_set_in_shell(best: BindingMatch, matches: Sequence[BindingMatch]) -> bool:
    """Return whether a script sets the variable for whose absence another one of its lines has a value.

    What replaces ``${unit:-C}`` in a text is no default where the script begins with ``unit="off"``. In Perl, another
    file may set it, too.
    """
    if best.binding.form != "fallback" or not re.search(r"\.(?:sh|bash|zsh|p[lm])$|(?:^|/)[^./]+$", best.path):
        return False

    return any(
        (item.path == best.path or best.path.endswith((".pl", ".pm")))
        and item.binding.form == "assigned"
        and item.binding.name == best.binding.name
        and item.binding.value.strip("\"'") != best.binding.value
        for item in matches
    )


def is_of_case(texts: FileTexts, item: BindingMatch) -> bool:
    """Return whether an assignment holds under a condition on something else than its name."""
    is_assigned = item.binding.form == "assigned" and item.parameter_of is None
    is_assigned = is_assigned and "default" not in item.binding.name.lower()
    return is_assigned and is_of_one_case(texts.lines(item.target, item.path), item.line, item.path, item.binding.name)


def without_second_readings(matches: Sequence[BindingMatch]) -> list[BindingMatch]:
    """Return one reading of each line: a fallback, as in ``SIZE="${SIZE:-5}"``, is a part of an assignment."""
    fallbacks = {
        (item.target.repository.name, item.path, item.line, item.binding.name)
        for item in matches
        if item.binding.form == "fallback"
    }
    return [
        item
        for item in matches
        if item.binding.form == "fallback"
        or (item.target.repository.name, item.path, item.line, item.binding.name) not in fallbacks
    ]


def sets_again(texts: FileTexts, item: BindingMatch, matches: Sequence[BindingMatch]) -> bool:
    """Return whether other lines assign the name, too: of the function around a variable, otherwise of the file."""
    if item.binding.form != "assigned":
        # A key may have another value in another map of the file, such as for one platform.
        bindings = [match.binding for match in matches if match.path == item.path and match.binding.form != "assigned"]
        name, value = item.binding.name, item.binding.value
        return item.is_named and any(binding.name == name and binding.value != value for binding in bindings)
    lines = texts.lines(item.target, item.path)
    is_member = re.search(r"(?:self|this)(?:\.|->)|@", lines[item.line - 1][:MAX_LINE]) is not None
    function = next((holder for holder in item.holders if holder.kind in FUNCTION_KINDS), None)
    begin_line, end_line = 1, len(lines)
    if function is not None and not is_member:
        begin_line, end_line = function.begin_line, function.end_line
    return is_set_again(lines, item.binding.name, item.line, begin_line, end_line)
