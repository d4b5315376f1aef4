"""Find the lines with values in files that have all words of a question, and what covers each word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.facts.kinds import FUNCTION_KINDS
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import make_queries, run_searches
from sourcelight.engines.deepsearch.facts.unparsed_definitions import NO_CODE
from sourcelight.engines.deepsearch.lookups.prose_values.bindings import MAX_LINE, Binding, read_bindings
from sourcelight.engines.deepsearch.lookups.prose_values.comments import comments_about
from sourcelight.engines.deepsearch.lookups.prose_values.names import OF_TESTS, last_part
from sourcelight.engines.deepsearch.lookups.prose_values.question import ValueQuestion
from sourcelight.engines.deepsearch.lookups.prose_values.surroundings import (
    BindingMatch,
    look_around,
    without_second_readings,
)
from sourcelight.engines.deepsearch.lookups.recount import code_lines
from sourcelight.engines.deepsearch.lookups.value_lines.data import DataLine, data_reader, docker_words
from sourcelight.engines.deepsearch.lookups.value_lines.options import read_more_bindings
from sourcelight.engines.deepsearch.lookups.value_lines.request import ValueRequest
from sourcelight.engines.deepsearch.lookups.value_lines.texts import (
    FIELD,
    entry_about,
    entry_name,
    field_texts,
    texts_of,
)
from sourcelight.engines.deepsearch.lookups.value_lines.words import compile_pattern, pattern_of
from sourcelight.engines.deepsearch.redaction import is_hidden_file
from sourcelight.engines.deepsearch.source.functions import enclosing_function
from sourcelight.engines.deepsearch.source.line_kinds import ANY_COMMENT, DOCUMENTS, lines_of_code
from sourcelight.engines.search import Target

_MAX_FILES, _MAX_LINES_OF_FILE, _MAX_CANDIDATES = 120, 300, 400
_BELOW_COMMENT, _NEAR_LINES, _MAX_NAMES = 8, 10, 20
_MAX_USES = 20
_DEFAULTS = re.compile(r"[\w*-]{0,40}(?i:default)[\w*-]{0,40}")
_OF_TOOL = re.compile(
    r"(?:^|/)\.?[\w-]+(?:\.config|rc|\.conf)\.[cm]?[jt]s$|(?:^|/)(?:Gruntfile|gulpfile)\.[cm]?js$", re.IGNORECASE
)
"""Settings of tools of the project itself, in code."""
_OF_TAG = re.compile(r"\s*(?:</?[\w-]+[\s>]|[:@#]?[\w.:-]+=\"[^\"]*\"\s*/?>?\s*$)")
"""A tag of a template, or an attribute on a line of its own."""
_MACRO = re.compile(r"\s*#\s*define\b")
_MARKUP = re.compile(
    r"\.(?:razor|cshtml|html?|xhtml|xaml|axaml|xml|svg|erb|jsp|aspx|css|scss|proto|less|map|min\.js|tpl|j2)$",
    re.IGNORECASE,
)


@dataclass(slots=True)
class ValueLine:
    """A line that gives a name a value, with all that may describe it.

    Attributes
    ----------
    name, value
        As written.
    target, path, line, begin_line, end_line
        Where they are; lines count from 1.
    texts
        Comments and help texts, each with its line.
    keys
        The keys, literals, functions and classes around it, as one text.
    is_default
        Whether the value is used if nothing else is set.
    match
        The binding of a line of code; None for data.
    documentation, near
        The documentation of the function or class around it, and the lines near it.
    """

    name: str
    value: str
    target: Target
    path: str
    line: int
    begin_line: int
    end_line: int
    texts: list[tuple[int, str]]
    keys: str
    is_default: bool
    match: BindingMatch | None = None
    documentation: str = ""
    near: str = ""

    @property
    def text(self) -> str:
        """The comments and help texts as one text."""
        return " ".join(text for _, text in self.texts)


def find_value_lines(work: Work, request: ValueRequest, queries: list[str]) -> list[ValueLine]:
    """Return the lines with values in files that have all words of a request; none if there are too many files."""
    files = _files(work, request, queries)
    if len(files) > _MAX_FILES and request.names and request.words:
        files = _files(work, replace(request, names=()), queries)
    if len(files) > _MAX_FILES:
        return []

    pattern = compile_pattern((*request.words, *request.setting, *request.verbs) or request.optional, request.names)
    lines: list[ValueLine] = []
    for target, path in files:
        work.inquiry.context.cancellation.check()
        reader = data_reader(path)
        if reader is not None:
            file_lines = work.texts.lines(target, path)
            lines += [
                _of_data(item, target, path) for item in list(reader(file_lines, path)) if _has_word(pattern, item)
            ]
        else:
            lines += _of_code(work, request, target, path, pattern)
        if len(lines) > _MAX_CANDIDATES * 10:
            return []

    return lines


def _files(work: Work, request: ValueRequest, queries: list[str]) -> list[tuple[Target, str]]:
    terms = [_name_pattern(name) for name in request.names]
    # A name of code may be that of the value, whose line needs no other word.
    terms += [pattern_of(word) for word in request.words if not request.names]
    if not terms:
        return []

    text = " AND ".join(f"/{term}/" for term in terms)
    searches = make_queries(work, f"({text}) select:file" if len(terms) > 1 else f"{text} select:file")
    rows = run_searches(work, searches)
    queries += searches
    files = []
    for row in rows:
        path, target = row["path"] or "", work.inquiry.pins.of(row["repository"])
        if target is not None and path and _is_read(path) and (target, path) not in files:
            files.append((target, path))
    return files


def _name_pattern(name: str) -> str:
    last = re.split(r"\.|::?|->|#", name)[-1].lstrip("@$")
    if len(last) < 3:
        return f"[\"'-]{escape_regexp(last)}\\b"
    return escape_regexp(last).replace("\\-", "[-_]?").replace("-", "[-_]?")


def _is_read(path: str) -> bool:
    is_data = data_reader(path) is not None
    is_code = not is_data and language_of(path) not in NO_CODE and not _MARKUP.search(path)
    if path.endswith("CMakeLists.txt"):
        return rank_of(path).is_of_project
    if OF_TESTS.search(path) is not None or _OF_TOOL.search(path) is not None:
        return False
    return (
        (is_data or is_code) and rank_of(path).is_of_project and not is_hidden_file(path) and not DOCUMENTS.search(path)
    )


def _has_word(pattern: re.Pattern[str], item: DataLine) -> bool:
    if pattern.search(item.name) is not None or pattern.search(docker_words(item.name)) is not None:
        return True
    return any(pattern.search(text) is not None for _, text in item.texts)


def _of_data(item: DataLine, target: Target, path: str) -> ValueLine:
    texts = [*item.texts, *([(item.line, docker_words(item.name))] if docker_words(item.name) else [])]
    keys = " ".join(item.keys)
    begin_line, end_line = item.begin_line, item.line
    return ValueLine(item.name, item.value, target, path, end_line, begin_line, end_line, texts, keys, item.is_default)


def _of_code(
    work: Work, request: ValueRequest, target: Target, path: str, pattern: re.Pattern[str]
) -> Iterator[ValueLine]:
    """Yield the values of a file of code whose name, comment or help may have a word of the question."""
    lines = work.texts.lines(target, path)
    numbers = _lines_near(lines, pattern)
    if not numbers:
        return

    question = ValueQuestion(
        request.words, request.optional, frozenset(), request.mentioned, request.head, (), frozenset(),
        request.nouns, request.is_default, "",
    )  # fmt: skip
    matches: list[tuple[BindingMatch, Binding]] = []
    for number in _most_fitting(lines, numbers, request):
        seen: set[tuple[str, str]] = set()
        if path.endswith((".vue", ".svelte")) and _OF_TAG.match(lines[number - 1]) is not None:
            continue
        for binding in (*read_more_bindings(lines, number, path), *read_bindings(lines, number, path)):
            if (binding.name, binding.value) not in seen and not re.fullmatch(r"__\w+__", binding.name):
                seen.add((binding.name, binding.value))
                matches.append((BindingMatch(binding, target, path, number, frozenset()), binding))
    if not matches:
        return

    code = {number for number, _ in code_lines(work, target.repository.name, path)}
    usable = [item for item, _ in matches if item.line in code or item.binding.form in {"macro", "fallback"}]
    usable = [
        item
        for item in usable
        if ANY_COMMENT.match(lines[item.line - 1]) is None or item.binding.form == "macro" or item.binding.begin_line
    ]
    usable = [item for item in usable if look_around(work.texts, question, item)]
    for item in without_second_readings(usable):
        binding = item.binding
        begin_line = binding.begin_line or item.line
        before = lines[item.line - 1][: binding.column]
        item.around += " " + " ".join(re.findall(r"[@$]?[A-Za-z_]\w*", before)[-6:])
        keys = item.around if item.parameter_of is None else f"{item.around} {item.parameter_of.name}"
        keys = " ".join([keys, *_users_of_defaults(request, lines, item)])
        yield ValueLine(
            binding.name, binding.value, target, path, item.line, begin_line, max(binding.end_line, item.line),
            [*texts_of(lines, binding, item.line), *_read_entry(lines, item)], keys, _is_default(request, item), item,
            *_surroundings(lines, item),
        )  # fmt: skip


def _users_of_defaults(request: ValueRequest, lines: Sequence[str], item: BindingMatch) -> list[str]:
    """Return the functions that a question names and that use the constant of defaults around a value."""
    holder = _DEFAULTS.search(item.around)
    asked_names = {last_part(name) for name in request.names}
    if holder is None or not asked_names:
        return []
    language = language_of(item.path) or ""
    code = list(lines_of_code(lines, language))
    uses = [number for number, text in code if holder[0] in text and number != item.line][:_MAX_USES]
    users = {enclosing_function(code, number, language) for number in uses}
    return sorted(users & asked_names)


def _most_fitting(lines: Sequence[str], numbers: Sequence[int], request: ValueRequest) -> list[int]:
    """Return the numbers of the lines that are read: of too many, those that have the most words, in their order."""
    if len(numbers) <= _MAX_LINES_OF_FILE:
        return list(numbers)
    patterns = [compile_pattern((word,), ()) for word in (*request.words, *request.verbs)]

    def words_at(number: int) -> int:
        text = "\n".join(lines[number - 1 : number + 1])
        return -sum(pattern.search(text) is not None for pattern in patterns)

    return sorted(sorted(numbers, key=words_at)[:_MAX_LINES_OF_FILE])


def _lines_near(lines: Sequence[str], pattern: re.Pattern[str]) -> list[int]:
    """Return the numbers of lines that have a word, and of the next lines of code below comments that have one."""
    numbers: dict[int, None] = {}
    names: dict[str, None] = {}
    for number, text in enumerate(lines, 1):
        if len(text) > MAX_LINE or pattern.search(text) is None:
            continue
        numbers[number] = None
        name = entry_name(lines, number) if len(names) < _MAX_NAMES else ""
        if name:
            names[name] = None
        if ANY_COMMENT.match(text) is not None or text.lstrip()[:1] in {"@", "[", "#"}:
            below = number
            while below < min(number + _BELOW_COMMENT, len(lines)) and (
                (ANY_COMMENT.match(lines[below]) is not None and not _MACRO.match(lines[below]))
                or lines[below].lstrip()[:2] in {"#[", "@O"}
            ):
                below += 1
            if below < len(lines):
                numbers[below + 1] = None
                field = FIELD.match(lines[below][:MAX_LINE])
                if field is not None and len(names) < _MAX_NAMES:
                    names[field["name"]] = None
        elif re.search(r"[\"'`]", text) is not None:
            # A help text is below the name of its option.
            numbers |= dict.fromkeys(range(max(1, number - 6), number))
        if text.lstrip().startswith(("pub enum", "enum")):
            numbers |= {
                below + 1: None for below in range(number, min(number + 40, len(lines))) if "#[default]" in lines[below]
            }
    if names:
        documented = re.compile(rf"(?<![\w$])(?:{'|'.join(map(re.escape, names))})[\"']?\s*[:=]")
        numbers |= {
            number: None for number, text in enumerate(lines, 1) if len(text) <= MAX_LINE and documented.search(text)
        }
    return list(numbers)


def _is_default(request: ValueRequest, item: BindingMatch) -> bool:
    """Return whether a value of code holds if nothing is set; for another question, whether it is no variable."""
    return item.is_prepared or (not request.is_default and item.binding.form != "assigned")


def _read_entry(lines: Sequence[str], item: BindingMatch) -> list[tuple[int, str]]:
    """Return what the documentation of the function around a value says of it."""
    holders = [item.parameter_of] if item.parameter_of is not None else item.holders[:2]
    name = item.binding.name.lstrip("@$_")
    entries = [entry_about(lines, holder, name) for holder in holders if holder is not None]
    entry = next((entry for entry in entries if entry), [])
    return entry or (field_texts(lines, name, item.line) if item.binding.form == "entry" else [])


def _surroundings(lines: Sequence[str], item: BindingMatch) -> tuple[str, str]:
    """Return the documentation of the function or class around a value, and the lines near it."""
    is_parameter = item.parameter_of is not None
    documentation = comments_about(lines, item.binding, item.line, item.holders, is_parameter=is_parameter)
    function = next((holder for holder in item.holders if holder.kind in FUNCTION_KINDS), item.parameter_of)
    first, last = item.line - _NEAR_LINES, item.line + _NEAR_LINES
    if function is not None and function.end_line > function.begin_line:
        first, last = max(function.begin_line, item.line - 40), min(function.end_line, item.line + 40)
    # What else its own line has, such as other parameters, isn't about it.
    numbers = [number for number in range(max(1, first), min(last, len(lines)) + 1) if number != item.line]
    near = [lines[number - 1][:MAX_LINE] for number in numbers if ANY_COMMENT.match(lines[number - 1]) is None]
    return documentation, "\n".join(near)
