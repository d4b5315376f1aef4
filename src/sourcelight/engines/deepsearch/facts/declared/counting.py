"""Count what files declare: lines of one form, such as messages of Protocol Buffers, and entries of data."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sourcelight.core.markup import code, count_of, join_words, singular
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.facts.declared.forms import DECLARED_FORMS, DeclaredForm, noun_of
from sourcelight.engines.deepsearch.facts.model import CitedLine, Fact, Rows, Work
from sourcelight.engines.deepsearch.facts.searches import (
    cited_line,
    commit_of,
    file_conditions,
    join_queries,
    make_listing_queries,
    make_queries,
    noun_for,
    rows_of_code,
    run_searches,
)
from sourcelight.engines.deepsearch.facts.unparsed_definitions import PROGRAMMING_LANGUAGES, UNPARSED_LANGUAGES
from sourcelight.engines.deepsearch.source.line_kinds import DOCUMENTS
from sourcelight.engines.symbols.grammars import LANGUAGES

_OF_ANY_LANGUAGE = frozenset({"module", "package"})
"""Nouns with a meaning in nearly every language: only that of the language with the most files counts."""

_MAX_CHARS = 4_000_000
_MAX_DEPTH = 4
_OF_TOP = frozenset(["key", "entry", "item", "toplevelkey", "toplevelentry", "object", "record", "element"])
"""Nouns for whatever a file has at its top."""
_MAX_FILES = 3
"""Files that a sentence names."""


def count_declarations(work: Work) -> Fact | None:
    """Count the lines that declare what a question names; None if no searched language has a form for it.

    What a grammar knows, such as classes, is counted by the index wherever a grammar reads a searched file.
    """
    request = work.request
    is_of_index = request.kind == "definitions"
    if request.relation or (is_of_index and len(request.symbol_kinds) != 1):
        return None

    noun = request.symbol_kinds[0] if is_of_index else noun_of(request.subject)
    forms = DECLARED_FORMS.get(noun, {})
    files = run_searches(work, make_listing_queries(work))
    languages = {row["language"] for row in files if row["path"]}
    of_code = Counter(row["language"] for row in files if row["path"] and row["language"] in PROGRAMMING_LANGUAGES)
    if noun in _OF_ANY_LANGUAGE and (not of_code or of_code.most_common(1)[0][0] not in forms):
        return None
    if _is_beside_the_code(work, noun, forms, files):
        return None
    if not languages & forms.keys() or (is_of_index and languages & set(LANGUAGES)):
        return None

    rows: list[dict[str, Any]] = []
    queries: list[str] = []
    rules: list[str] = []
    unsure = 0
    for language in sorted(languages & forms.keys()):
        lines = _find_lines(work, language, forms[language])
        if not lines.rows:
            continue
        rows += lines.rows
        queries += lines.queries
        of_language = f" ({language})" if len(languages & forms.keys()) > 1 else ""
        rules.append(f"{forms[language].rule}{of_language}")
        unsure += lines.left_out

    if not rows:
        return None

    # "How many halt templates are there" asks for those with this name.
    name = request.ignored[0] if len(request.ignored) == 1 and request.paths and not is_of_index else ""
    with_name = [row for row in rows if name and re.match(rf"\s*\S+\s+`?{re.escape(name)}(?![\w-])", row["line"] or "")]
    if with_name:
        rows, work.request = with_name, replace(request, ignored=())

    fact = Fact(
        len(rows),
        f"{noun_for(noun, len(rows))}{f' called {code(name)}' if with_name else ''} "
        f"{'are' if len(rows) != 1 else 'is'} defined{file_conditions(work)}: "
        f"{join_words(rules)}",
        join_queries(queries),
        "Counts lines by their form, outside of comments.",
        notes=work.notes,
        unit=f"{noun_for(noun, 2)}",
    )
    fact.is_least = bool(unsure)
    if unsure:
        fact.sentences.append(f"Left out: {count_of(unsure, 'line')} that may be in a comment or a text.")
    if is_of_index:
        fact.unread = sorted(languages & UNPARSED_LANGUAGES - forms.keys())

    fact.repositories = Counter(row["repository"] for row in rows)
    table = Rows("Declarations", ("repository", "path", "line_number", "line"))
    for row in rows:
        line = (row["line"] or "").strip()
        table.add((row["repository"], row["path"], row["line_number"], line), cited_line(work, row))

    fact.tables = [table]
    return fact


def add_declarations(work: Work, fact: Fact) -> None:
    """Add to a count of the index the lines of languages without a grammar, where a form tells what is asked for."""
    request = work.request
    if request.kind != "definitions" or request.relation or len(request.symbol_kinds) != 1 or not fact.tables:
        return

    work = replace(work, notes=fact.notes)
    kind = request.symbol_kinds[0]
    forms = {} if kind in {"function", "method"} else DECLARED_FORMS.get(kind, {})
    for language in [name for name in fact.unread if name in forms]:
        lines = _find_lines(work, language, forms[language])
        fact.unread.remove(language)
        fact.number = (fact.number or 0) + len(lines.rows)
        fact.is_least = fact.is_least or bool(lines.left_out)
        fact.repositories.update(row["repository"] for row in lines.rows)
        fact.sentences.append(f"In {language}, {forms[language].rule} count.")
        for row in lines.rows:
            values = (row["repository"], row["path"], row["line_number"], (row["line"] or "").strip(), kind)
            fact.tables[0].add(values, cited_line(work, row))


_PLAIN_NOUNS = frozenset({
    "annotation", "extension", "index", "message", "mixin", "object", "option", "output", "procedure", "protocol",
    "provider", "record", "resource", "service", "stage", "table", "target", "template", "trigger", "view",
})  # fmt: skip
"""Nouns that mean something else in most programs: options of a command, services of an application."""
_MIN_SHARE = 0.2
"""Share of the files of code that must be in a language for such a noun to have its meaning there."""


def _is_beside_the_code(
    work: Work, noun: str, forms: Mapping[str, DeclaredForm], files: Sequence[Mapping[str, Any]]
) -> bool:
    """Return whether a plain noun is asked of a whole project that is written in other languages."""
    if noun not in _PLAIN_NOUNS or work.request.paths or work.request.languages:
        return False

    languages = [row["language"] for row in files if row["path"]]
    code_languages = [language for language in languages if language in forms or language in PROGRAMMING_LANGUAGES]
    return sum(language in forms for language in code_languages) < _MIN_SHARE * len(code_languages)


@dataclass(frozen=True, slots=True)
class _DeclaringLines:
    """The lines of a language that declare something: searches, rows, and how many may be comments or texts."""

    queries: list[str]
    rows: list[dict[str, Any]]
    left_out: int


def _find_lines(work: Work, language: str, form: DeclaredForm) -> _DeclaringLines:
    """Find the lines of code with a form; those that declare the same name in a file count once."""
    case = "no" if form.any_case else "yes"
    queries = make_queries(work, f"lang:{quote_value(language)} type:file case:{case} /{form.search}/", languages=False)
    matches = [row for row in run_searches(work, queries) if row["type"] == "content"]

    names: set[tuple[str, str, str]] = set()
    rows = []
    code_rows = rows_of_code(work, matches, language)
    for row in code_rows:
        file = (row["repository"], row["path"])
        match = None if form.name is None else form.name.match(row["line"] or "")
        name = f"line {row['line_number']}" if match is None else match[1]
        if (*file, name) in names:
            continue

        names.add((*file, name))
        rows.append(row)

    return _DeclaringLines(queries, rows, len(matches) - len(code_rows))


def count_entries(work: Work) -> Fact | None:
    """Count the entries below a key of a file of data, or lines that begin with a form; None if neither is certain."""
    if work.request.relation:
        return _count_form_lines(work)

    queries = make_listing_queries(work)
    rows = [row for row in run_searches(work, queries) if row["path"]]
    files = {(row["repository"], row["path"]): row for row in rows}
    target = work.inquiry.pins.of(rows[0]["repository"]) if len(files) == 1 else None
    if target is None or work.notes:
        return None

    row = rows[0]
    lines = work.texts.lines(target, row["path"])
    if sum(map(len, lines)) > _MAX_CHARS:
        return None

    blocks = list(_blocks_of(row["path"], lines, work.request.subject))
    # Of several objects with one key, that at the top is meant, else none of them.
    best = [block for block in blocks if len(block[0]) == 1] or blocks
    if len(best) != 1:
        return None

    keys, number, is_list = best[0]
    noun = noun_for("entry" if is_list else "key", number)
    holder = f"{code('.'.join(filter(None, keys)))} of " if keys else ("the list of " if is_list else "the object of ")
    fact = Fact(
        number,
        f"{noun} {'are' if number != 1 else 'is'} directly in {holder}{code(row['path'])}",
        join_queries(queries),
        f"Counts the {'entries of the list' if is_list else 'keys of the object'}, without what lies further down.",
        unit=noun_for("entry" if is_list else "key", 2),
    )
    fact.repositories = Counter({row["repository"]: number})
    table = Rows("Files", ("repository", "path"))
    table.add((row["repository"], row["path"]), CitedLine(row["repository"], commit_of(work, row), row["path"]))
    fact.tables = [table]
    return fact


def _letters(text: str) -> str:
    """Return the singular of a name, in small letters without signs."""
    return singular(re.sub(r"[^a-z\d]", "", text.lower()))


_Block = tuple[tuple[str, ...], int, bool]
"""The keys above some entries, their number, and whether they are those of a list."""


def _blocks_of(path: str, lines: Sequence[str], noun: str) -> Iterator[_Block]:
    """Yield the blocks of a file whose key is a noun; the whole file if its name is, or for a noun such as "keys"."""
    ending = path.rpartition(".")[2].lower()
    name = _letters(noun)
    is_top = name in _OF_TOP or name == _letters(path.rpartition("/")[2].partition(".")[0])
    load: Callable[[str], Any] | None = {"json": json.loads, "toml": tomllib.loads}.get(ending)
    if load is None:
        yield from _blocks_of_yaml(lines, name) if ending in {"yml", "yaml"} else ()
        return

    try:
        data = load("\n".join(lines))
    except (ValueError, RecursionError):
        return

    blocks = list(_blocks_below(data, name, ()))
    if blocks or not is_top:
        yield from blocks
    elif isinstance(data, dict | list):
        yield (), len(data), isinstance(data, list)


def _blocks_below(data: object, name: str, above: tuple[str, ...]) -> Iterator[_Block]:
    if not isinstance(data, Mapping) or len(above) >= _MAX_DEPTH:
        return
    for key, value in data.items():
        keys = (*above, str(key))
        if isinstance(value, dict | list) and _letters(str(key)) == name:
            yield keys, len(value), isinstance(value, list)
        yield from _blocks_below(value, name, keys)


_KEY_LINE = re.compile(r"(?P<indent> *)(?:[\"']?(?P<key>[\w./ -]{1,80}?)[\"']?):(?:\s+#.*|\s*)$")
_YAML_KEY = re.compile(r"(?:[\w./@$-][\w./@$ -]{0,120}|\"[^\"]{1,120}\"|'[^']{1,120}'):(?:\s|$)")


def _blocks_of_yaml(lines: Sequence[str], name: str) -> Iterator[_Block]:
    """Yield the blocks of YAML below a key that is alone in its line, if each of their lines is a key or an entry."""
    for number, line in enumerate(lines):
        head = _KEY_LINE.match(line)
        if head is None or _letters(head["key"]) != name:
            continue

        base = len(head["indent"])
        children: list[str] = []
        indent = -1
        for child in lines[number + 1 :]:
            text = child.lstrip(" ")
            if not text or text.startswith("#"):
                continue
            width = len(child) - len(text)
            # Entries of a list may stand right below their key.
            if width < base or (width == base and not (text.startswith("- ") and indent in {-1, base})):
                break
            indent = width if indent < 0 else indent
            if width < indent:
                return
            if width == indent:
                children.append(text)

        if indent == base and not all(child.startswith("- ") for child in children):
            continue
        is_list = all(child.startswith(("- ", "-\t")) or child.strip() == "-" for child in children)
        if children and (is_list or all(_YAML_KEY.match(child) for child in children)):
            # The depth by indentation, so that a key at the top is preferred.
            yield ("",) * (base // 2) + (head["key"],), len(children), is_list


def _count_form_lines(work: Work) -> Fact | None:
    """Count lines of code that begin with a form, or any lines that begin with a text."""
    request = work.request
    form = request.terms[0].text
    is_exact = request.relation == "exact"
    start = "" if is_exact else r"[ \t]*(?:[(@#][ \t]*)?"
    end = r"(?:[^\w-]|$)" if not is_exact and re.search(r"\w$", form) is not None else ""
    text = escape_regexp(form).replace("/", r"\/").replace(" ", r"[ \t]+")
    queries = make_queries(work, f"type:file case:yes /^{start}{text}{end}/")
    rows = [row for row in run_searches(work, queries) if row["type"] == "content"]
    if not is_exact:
        rows = rows_of_code(work, [row for row in rows if DOCUMENTS.search(row["path"]) is None])
    if not rows or (is_exact and not request.paths):
        return None

    verb = "begin" if len(rows) != 1 else "begins"
    behind = "" if is_exact or form[0] in "(@#" else ", after a bracket, a sign or nothing"
    paths = sorted({row["path"] for row in rows})
    in_files = join_words(list(map(code, paths))) if len(paths) <= _MAX_FILES else f"{len(paths):,} files"
    fact = Fact(
        len(rows),
        f"{noun_for('line', len(rows))} in {in_files} {verb} with {code(form)}{behind}",
        join_queries(queries),
        "Counts lines by their beginning" + ("." if is_exact else ", outside of comments and documents."),
        notes=work.notes,
        unit="lines",
    )
    fact.repositories = Counter(row["repository"] for row in rows)
    table = Rows("Lines", ("repository", "path", "line_number", "line"))
    for row in rows:
        values = (row["repository"], row["path"], row["line_number"], (row["line"] or "").strip())
        table.add(values, cited_line(work, row))
    fact.tables = [table]
    return fact
