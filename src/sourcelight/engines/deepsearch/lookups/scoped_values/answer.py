"""Find the value of a name in a place that a question gives, where each line that gives the name one could be read.

Without a place, what types, records, tables and constructors give a name is its default, if they agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sourcelight.core.markup import code
from sourcelight.core.query.file_kinds import is_test
from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.evidence.model import MAX_NAMED, Finding, Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import PathRank, rank_of
from sourcelight.engines.deepsearch.facts.searches import make_queries, run_searches
from sourcelight.engines.deepsearch.lookups.defaults import follow_constant, state_values
from sourcelight.engines.deepsearch.lookups.definitions.branches import UNDER_CONDITION
from sourcelight.engines.deepsearch.lookups.definitions.location import ValueCandidate, verb_after
from sourcelight.engines.deepsearch.lookups.recount import code_lines
from sourcelight.engines.deepsearch.lookups.scoped_values.calls import LineValue
from sourcelight.engines.deepsearch.lookups.scoped_values.holders import (
    Head,
    heads_around,
    is_file_word,
    is_held,
    is_prepared,
    scope_words,
)
from sourcelight.engines.deepsearch.lookups.scoped_values.readings import read_value, sets_otherwise
from sourcelight.engines.deepsearch.redaction import is_hidden_file
from sourcelight.engines.deepsearch.source.line_kinds import DOCUMENTS
from sourcelight.engines.search import Target

_MAX_ROWS, _MAX_LINE, _MAX_WORDS = 400, 600, 4
_MARKED = re.compile(r"\w*(?:_\w|[a-z\d][A-Z]|[A-Z]{2})\w*")
"""A name that can't be a word of prose."""
_ALTERED = re.compile(r"\balter\s.*\b(?:set|drop)\s+default\b|^\s*alter\s+column\b", re.IGNORECASE)
"""A migration that changes the default of a column."""
_CONSTANT = re.compile(r"\s*(?:[\w@]+\s+)*?(?:const|constexpr|final|readonly)\s|\s*#\s*define\s")
_DECLARED = re.compile(r"\b(?:my|our|local|let|var|val|const)\s+[$@%]?$")
_MADE = re.compile(r"[^=!<>]=\s*[\w.:]*\s*\(|\btable\b|\brecord\b|-record", re.IGNORECASE)
_HOLDER = re.compile(
    r"\b(?:class|struct|record|interface|object|type|table|message|data|trait|protocol|actor|enum|contract|component"
    r"|defstruct|Config\w*|Options?|Settings|Defaults?)\b|[dD]efaults?\b|-record",
)
"""A head whose members have values at first."""
_OF_DEFAULTS = re.compile(
    r"(?:^|/)(?:[\w-]+[._-])?defaults?(?:/[\w.-]+)?\.(?:ya?ml|json|toml|ini|cfg|conf|properties)$"
)
"""Files of configuration that are called defaults, or are in a directory of this name."""
_OF_VARIABLES = re.compile(r"(?:^|/)vars/[\w.-]+\.ya?ml$")
"""Files of variables of Ansible, which replace what is in `defaults`."""
_WITH_INITIALIZERS = frozenset({"Objective-C", "Objective-C++"})
"""Languages without values of members in their declarations, which an initializer sets instead."""
_WITH_PLAIN_VALUES = frozenset({
    "Erlang", "CMake", "Makefile", "Shell", "Dockerfile", "YAML", "TOML", "INI", "JSON", "SQL", "PLpgSQL",
    "Protocol Buffer",
})  # fmt: skip
"""Languages in which a plain word is a value of its own."""
_WORDS_OF_LANGUAGES = frozenset(
    ["true", "false", "none", "nil", "null", "undefined", "nullptr", "nan", "inf", "infinity"]
)
_REPLACED = re.compile(
    r"\"?\$\{\w+:?[-=](?P<shell>[^{}\"]*+)\}\"?"
    r"|get\(\s*[gbtw]:\s*,\s*'[^']*+'\s*,\s*(?P<vim>'[^']*+'|\"[^\"]*+\"|-?\d[\d.]*|\[\]|\{\})\s*\)"
)
"""A value of a shell or of Vim with what replaces it where it isn't set."""
_LOCAL_LITERAL = re.compile(r"^\s*(?P<name>[a-z_]\w{0,60})\s*=\s*\{[^{}]{0,200}$")
"""A variable that a line gives a record, up to one of its members: ``options = {color: ``."""
_ATTRIBUTE = re.compile(r"\s*@\w+\s+[\w.]+\(")
_CALLED_PREPARED = re.compile(r"default|setting|config|initial", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _ScopedLine:
    """A line of the place that has the name: what it gives, and what is around it."""

    target: Target
    path: str
    number: int
    text: str
    line_value: LineValue | None
    heads: Sequence[Head]

    @property
    def value(self) -> str:
        """The value as written; empty if the line gives none that could be read."""
        return "" if self.line_value is None else self.line_value.value

    @property
    def column(self) -> int:
        """The column of the name that gets the value, from 0."""
        return 0 if self.line_value is None else self.line_value.column

    @property
    def is_called_default(self) -> bool:
        """Whether the language calls the value a default."""
        return self.line_value is not None and (
            self.line_value.is_default or _REPLACED.fullmatch(self.line_value.value) is not None
        )


def find_scoped_value(
    work: Work, name: str, scope: str, queries: list[str], *, is_default: bool = False
) -> Finding | None:
    """Return the value of a name in a file, a type, a record, a table, a literal or a function; None if unsure.

    Parameters
    ----------
    work
        The question, and the repositories.
    name
        The name as written; a sign of a variable before it isn't a part of it.
    scope
        The words of the question for the place, such as "the ref record" or "list.gleam". Each has to name the file or
        something around the line. Without one, a name that isn't a plain word must have one value in all of the code.
    queries
        Searches for the answer; the ones made here are added.
    is_default
        Whether what holds at first is asked for, so that a variable of a function doesn't count.
    """
    bare = _bare(name)
    words = scope_words(scope)
    if not bare or (not words and _MARKED.fullmatch(bare) is None):
        return None

    lines = list(_lines_in_scope(work, bare, words, queries))
    # A file may be called as a literal in it: `SETTINGS` of settings.py.
    names = {word.lower() for word in words if not is_file_word(word)}
    holder_lines = [line for line in lines if names and names <= {name for head in line.heads for name in head.names}]
    migration_lines = [line for line in lines if _ALTERED.search(line.text[:_MAX_LINE]) is not None]
    lines = [*holder_lines, *migration_lines] if holder_lines else lines
    if is_default and "test" not in scope.lower():
        lines = [line for line in lines if not is_test(line.path)]
    if not words:
        lines = [line for line in lines if rank_of(line.path).is_of_project]
        is_clear = len({line.value for line in lines if line.line_value is not None}) == 1
        lines = lines if is_clear else []
    return _state(work, bare, lines, queries, is_default=is_default)


def find_declared_default(work: Work, name: str, queries: list[str]) -> Finding | None:
    """Return what all types, records, tables, constructors and conventions outside of tests give a name at first.

    A name that may be a word of prose has none. A member may have it behind an underscore.
    """
    bare = _bare(name)
    if not bare or (bare.isalpha() and bare.islower()):
        return None

    for member in (bare, f"_{bare}", f"m_{bare}", f"{bare}_"):
        lines = [line for line in _lines_in_scope(work, member, (), queries) if _may_declare(line)]
        finding = _state(work, member, lines, queries, is_default=True, is_declared=True)
        if finding is not None:
            return finding

    return None


def find_worded_default(work: Work, phrase: str, scope: str) -> Finding | None:
    """Return the default in a place of what a phrase names: "cache policy" of `defaultCachePolicy`; None if unsure."""
    words = re.findall(r"[A-Za-z\d]+", phrase.lower())
    if not 0 < len(words) <= _MAX_WORDS or not scope:
        return None

    capitals = "".join(word.capitalize() for word in words)
    names = (
        f"default{capitals}",
        f"default_{'_'.join(words)}",
        f"kDefault{capitals}",
        f"DEFAULT_{'_'.join(words).upper()}",
    )
    findings = (find_scoped_value(work.without_notes(), name, scope, [], is_default=True) for name in names)
    return next((finding for finding in findings if finding is not None), None)


def _may_declare(line: _ScopedLine) -> bool:
    """Return whether a line is of the code itself, or of a file of defaults."""
    rank = rank_of(line.path)
    is_of_role = _OF_DEFAULTS.search(line.path) is not None or _OF_VARIABLES.search(line.path) is not None
    return rank.is_code or (rank is PathRank.TOOLS and is_of_role)


def _bare(name: str) -> str:
    """Return a name without quotation marks and signs of variables; empty if it is none."""
    bare = name.strip("`\"'").lstrip("@$%:-").removesuffix("()")
    return bare if re.fullmatch(r"[\w#*?!.-]+", bare) is not None else ""


def _state(
    work: Work,
    name: str,
    lines: Sequence[_ScopedLine],
    queries: list[str],
    *,
    is_default: bool,
    is_declared: bool = False,
) -> Finding | None:
    """State the values that lines give a name, if all of those that may be meant could be read.

    Parameters
    ----------
    work
        The question.
    name
        The name.
    lines
        The lines of the place that have the name.
    queries
        Searches for the answer.
    is_default
        Whether what holds at first is asked for.
    is_declared
        Whether only a declaration counts: the question gives no place.
    """
    # A constructor that stores a parameter of the same name gives it no value, and what a call passes is for that call.
    value_lines = [line for line in lines if line.line_value is not None and not _is_stored(line, name)]
    value_lines = [line for line in value_lines if not _is_argument(line)]
    if is_default:
        value_lines = [line for line in value_lines if _is_default(line)]
        value_lines = [line for line in value_lines if not _is_variable(line)]
    if is_declared:
        value_lines = [line for line in value_lines if _is_declaration(line)]

    is_unread = any(not line.value or _is_of_itself(line, name) for line in value_lines)
    is_changed = not is_default and any(line.line_value is None and _is_set(line, name) for line in lines)
    is_altered = any(_ALTERED.search(line.text[:_MAX_LINE]) is not None for line in lines)
    is_conditional = any(_is_conditional(line) for line in value_lines)
    may_depend = len(value_lines) == 1 and not is_default
    if not value_lines or is_unread or is_changed or is_altered or (is_conditional and not may_depend):
        return None

    lowest = min(rank_of(line.path) for line in value_lines)
    best = [line for line in value_lines if rank_of(line.path) == lowest]
    candidates = [_candidate(work.texts, line, name, is_default=is_default) for line in best]
    number = len({candidate.value for candidate in candidates})
    if number > MAX_NAMED or (is_declared and number > 1):
        return None

    subject = candidates[0].subject
    finding = state_values(work, candidates, subject, queries, verb=verb_after(subject))
    follow_constant(work, candidates, finding)
    other = next((line for line in lines if _is_override(line, best[0])), None) if is_default else None
    if other is not None:
        evidence = (*finding.headline.evidence, *_candidate(work.texts, other, name, is_default=is_default).evidence)
        finding.headline = Statement(f"{finding.headline.text}; {code(other.path)} has another value", evidence)
    if is_conditional and not finding.condition:
        finding.condition = UNDER_CONDITION
        text = f"{finding.headline.text}; {UNDER_CONDITION}"
        finding.headline = Statement(text, finding.headline.evidence)
    return finding


def _is_override(line: _ScopedLine, first: _ScopedLine) -> bool:
    """Return whether a file of variables of Ansible replaces a value of `defaults`, such as for one platform."""
    is_of_role = _OF_DEFAULTS.search(first.path) is not None and _OF_VARIABLES.search(line.path) is not None
    return is_of_role and line.text[:1].strip() != "" and line.value not in {"", first.value}


def _lines_in_scope(work: Work, name: str, words: Sequence[str], queries: list[str]) -> Iterator[_ScopedLine]:
    """Yield the lines of code that have a name, and are in the place that each of some words names."""
    files = [word for word in words if is_file_word(word)]
    file_filter = f"file:{quote_value(f'(^|/){escape_regexp(files[0])}$')} " if files else ""
    searches = make_queries(work, f"case:yes type:file {file_filter}/{escape_regexp(name)}/")
    queries += searches
    rows = [row for row in run_searches(work, searches) if row["type"] == "content"]
    whole_name = re.compile(rf"(?<![\w-])[@$%_]{{0,2}}{re.escape(name)}(?![\w-])")
    rows = [row for row in rows if whole_name.search((row["line"] or "")[:_MAX_LINE]) is not None]
    if len(rows) > _MAX_ROWS:
        return

    code_by_file: dict[tuple[str, str], set[int]] = {}
    for row in rows:
        target, path, number = work.inquiry.pins.of(row["repository"]), row["path"], row["line_number"]
        if target is None or is_hidden_file(path) or DOCUMENTS.search(path.removesuffix("CMakeLists.txt")) is not None:
            continue

        key = row["repository"], path
        if key not in code_by_file:
            code_by_file[key] = {line for line, _ in code_lines(work, *key)}

        lines = work.texts.lines(target, path)
        is_macro = 0 < number <= len(lines) and lines[number - 1].lstrip().startswith("#define")
        if not 0 < number <= len(lines) or (number not in code_by_file[key] and not is_macro):
            continue

        line_value = read_value(lines, number, name, path)
        column = line_value.column if line_value is not None else max(lines[number - 1].find(name), 0)
        heads = heads_around(lines, number, column)
        is_altered = _ALTERED.search(lines[number - 1][:_MAX_LINE]) is not None
        if is_altered or all(is_held(word, path, heads) for word in words):
            yield _ScopedLine(target, path, number, lines[number - 1], line_value, heads)


def _is_set(line: _ScopedLine, name: str) -> bool:
    return sets_otherwise(line.text, name, line.path)


def _is_stored(line: _ScopedLine, name: str) -> bool:
    """Return whether a line gives a name what has the same name elsewhere: `this.size = options.size`."""
    last = re.split(r"\.|->|::|%|\[", line.value)[-1]
    return last.strip("$@&*_ \"':]").lower() == name.strip("_").lower()


def _is_variable(line: _ScopedLine) -> bool:
    """Return whether a value is a plain name of a variable, which says nothing of what is there at first."""
    is_of_atoms = language_of(line.path) in _WITH_PLAIN_VALUES
    is_plain = re.fullmatch(r"\$?[a-z][A-Za-z\d]*", line.value) is not None
    return is_plain and not is_of_atoms and line.value.lower() not in _WORDS_OF_LANGUAGES


def _is_of_itself(line: _ScopedLine, name: str) -> bool:
    """Return whether a script passes on or changes the value of its variable: ``SIZE="${SIZE:-$(read_size)}"``."""
    return (
        re.search(rf"\$\{{?{re.escape(name)}(?!\w)", line.value) is not None and _REPLACED.fullmatch(line.value) is None
    )


def _is_argument(line: _ScopedLine) -> bool:
    """Return whether a line gives its value to a parameter of a call, rather than to a name of its own."""
    nearest = line.heads[0] if line.heads else None
    is_in_call = nearest is not None and nearest.has_list and not nearest.is_function and not _is_made(nearest)
    # What an attribute of Elixir is made with is an argument, too: `@test entry(size: 5)`.
    is_in_call = is_in_call or (line.path.endswith((".ex", ".exs")) and _ATTRIBUTE.match(line.text) is not None)
    return is_in_call and _DECLARED.search(line.text[: line.column]) is None and not line.is_called_default


def _is_made(head: Head) -> bool:
    """Return whether a head gives a name what a call makes, or is a table or a record, which have no arguments."""
    return _MADE.search(head.text) is not None


def _is_default(line: _ScopedLine) -> bool:
    """Return whether a line says what holds at first."""
    literal = _LOCAL_LITERAL.search(line.text[: line.column])
    is_local = literal is not None and _CALLED_PREPARED.search(literal["name"]) is None
    return line.is_called_default or _is_parameter(line) or (is_prepared(line.heads) and not is_local)


def _is_declaration(line: _ScopedLine) -> bool:
    """Return whether a line declares a member with its value, or sets one that a constructor makes ready."""
    is_of_defaults = _OF_DEFAULTS.search(line.path) is not None and line.text[:1].strip() != ""
    if line.is_called_default or is_of_defaults:
        return True

    nearest = line.heads[0] if line.heads else None
    # A constructor of Dart gives its fields values among its parameters.
    if _is_parameter(line) and line.path.endswith(".dart"):
        return line.text[: line.column].endswith("this.")
    if nearest is None or _is_parameter(line):
        return False
    if any(head.is_function for head in line.heads):
        return (
            language_of(line.path) in _WITH_INITIALIZERS and re.match(r"\s*(?:self\.|_)\w+\s*=", line.text) is not None
        )
    return _HOLDER.search(nearest.text) is not None


def _is_parameter(line: _ScopedLine) -> bool:
    nearest = line.heads[0] if line.heads else None
    return nearest is not None and nearest.has_list and nearest.is_function


def _is_conditional(line: _ScopedLine) -> bool:
    """Return whether a line gives its value under a condition, unless it is a constant, which has no other one."""
    return any(head.is_condition for head in line.heads) and _CONSTANT.match(line.text) is None


def _candidate(texts: FileTexts, line: _ScopedLine, name: str, *, is_default: bool) -> ValueCandidate:
    """Make the candidate of a value, with the lines that have it."""
    nearest = line.heads[0] if line.heads else None
    is_record = nearest is not None and nearest.text.lstrip().startswith("-record")
    value, end_line = line.value, line.number if line.line_value is None else line.line_value.end_line
    # A script that passes its own variable on has what replaces it as the default.
    is_passed_on = re.search(rf"\$\{{?{re.escape(name)}(?!\w)", value) is not None
    replaced = _REPLACED.fullmatch(value) if is_default or is_passed_on else None
    if replaced is not None:
        value = replaced["shell"] or replaced["vim"] or ""

    is_given = line.line_value is not None and line.line_value.is_default
    is_called_default = is_given or _is_parameter(line) or is_record or replaced is not None
    subject = f"The default of {code(name)}" if is_called_default else code(name)
    evidence = texts.evidence(line.target, line.path, line.number, end_line, "definition", 1.0, (name,))
    return ValueCandidate(value, subject, line.path, [evidence], rank_of(line.path), line.target.repository.name)
