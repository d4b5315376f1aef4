"""Importers of a module or a repository, and imports of a repository."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from sourcelight.core.markup import code, count_of, join_words
from sourcelight.core.markup.counts import join_names
from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.facts.declared.import_forms import has_forms, imports_in, names_module, reads_all
from sourcelight.engines.deepsearch.facts.model import CitedLine, Fact, Rows, Work, limiting_notices
from sourcelight.engines.deepsearch.facts.paths import is_named, is_of_files
from sourcelight.engines.deepsearch.facts.searches import (
    commit_of,
    file_conditions,
    files_noun,
    find_rows,
    join_queries,
    make_listing_queries,
    make_queries,
    noun_for,
    run_searches,
)
from sourcelight.engines.deepsearch.source.line_kinds import lines_of_code
from sourcelight.engines.search import Target
from sourcelight.engines.symbols import LANGUAGES

_IMPORT_WORDS = "(?:include|import|from|require|require_once|use|using|load|source)"
_TEXTS = frozenset({
    "", "AsciiDoc", "CSV", "Diff", "Dockerfile", "Go Checksums", "Go Module", "HTML", "INI", "JSON", "Jupyter Notebook",
    "Makefile", "Markdown", "Org", "reStructuredText", "SVG", "TeX", "Text", "TOML", "XML", "YAML",
})  # fmt: skip
"""Languages of documents, data and manifests, which import nothing."""


def count_importing(work: Work) -> Fact:
    """Count files (or repositories) that import a module, a package, a header or a repository's own modules.

    Where several are joined by "and", each of them must be imported. Where the question is negated, the files that
    import none of them (or not all) count.
    """
    request = work.request
    modules = [term.text.strip("/") for term in request.terms]
    fact = Fact(
        0, "", f"pd.concat([code.imports(name) for name in {work.names!r}])", notes=work.notes, unit=request.kind
    )
    visible = [entry.name for entry in work.inquiry.context.engine.catalog.visible(work.inquiry.context.viewer)]
    targets = {name for name in visible for text in modules if is_named(name, text)}
    files: Counter[tuple[str, str]] = Counter()
    imported: dict[tuple[str, str], set[str]] = defaultdict(set)
    lines = Rows("Imports", ("repository", "path", "line_number", "module"))
    by_form = [] if targets else list(_find_imports_by_form(work, modules))
    for target, row, texts in (*_find_imports(work, modules, targets), *by_form):
        key = target.repository.name, row["path"]
        files[key] += 1
        imported[key] |= texts
        values = (*key, row["line_number"], row["module"])
        lines.add(values, CitedLine(target.repository.name, target.commit, row["path"], row["line_number"] or 1))

    if not targets:
        fact.notes += _unread_imports(work, modules, set(files))

    every = request.every and len(modules) > 1
    term_list = (" and " if every else " or ").join(code(text) for text in modules)
    if every:
        _keep_every(files, imported, lines, set(modules), of_files=request.kind == "files")

    if request.is_negated:
        return _not_importing(work, fact, set(files), term_list)

    per = Counter(name for name, _ in files)
    fact.repositories = per
    # What imports a module of one repository is a file of it.
    of_files = request.kind == "files" or (request.kind == "dependents" and len(work.names) == 1)
    number = len(files) if of_files else len(per)
    fact.number, fact.unit = number, "files"
    if not of_files:
        fact.unit, fact.repositories = "repositories", Counter(dict.fromkeys(per, 1))

    noun = files_noun(work, number) if of_files else noun_for("repository", number)
    condition = file_conditions(work, languages=not of_files)
    fact.subject = f"{noun}{condition} {'import' if number != 1 else 'imports'} {term_list}"
    fact.sentences.append(
        f"In total: {count_of(lines.total, 'import')} in "
        f"{count_of(len(files), 'file')} of {count_of(len(per), 'repository')}."
    )
    fact.rule = "Counts imports of the module and of anything below it, as parsed by the grammar of each language."
    languages = sorted({language_of(row["path"]) for _, row, _ in by_form})
    if languages:
        fact.rule += f" In {join_words(languages)}, lines that have the form of an import count."
        fact.is_least = not all(map(reads_all, languages))

    table = Rows("Files", ("repository", "path", "imports"))
    for (repository, path), entry in sorted(files.items()):
        target_of = work.inquiry.pins.of(repository)
        table.add((repository, path, entry), CitedLine(repository, target_of.commit if target_of else "", path))

    fact.tables = [table, lines]
    return fact


def _find_imports(
    work: Work, modules: Sequence[str], owners: Collection[str]
) -> Iterator[tuple[Target, dict[str, Any], set[str]]]:
    """Yield the imports of modules: target, row of the import, and the modules that it is of.

    `owners` are the repositories that the question names: what imports their modules counts, except in themselves.
    """
    for target in work.targets:
        name = target.repository.name
        arguments = {"repo": name, **({"revision": target.commit} if target.revision else {})}
        answer = work.call("imports", arguments)
        work.notes += [f"{name}: {notice}" for notice in limiting_notices(answer)]

        for row in answer.table.to_pylist():
            if not is_of_files(work.request, row["path"]):
                continue
            # Nearly every file of the repository itself imports one of its modules.
            if name in owners and row["target_repository"] == name:
                continue
            texts = {text for text in modules if is_import_of(row, text, of_repository=bool(owners))}
            if texts:
                yield target, row, texts


_MAX_FILES = 300
"""Files without a grammar that are read line by line."""


def _find_imports_by_form(work: Work, modules: Sequence[str]) -> Iterator[tuple[Target, dict[str, Any], set[str]]]:
    """Yield the imports of modules in files of languages without a grammar, by the forms of their lines."""
    texts = work.texts
    words = "|".join(escape_regexp(text).replace("/", r"\/") for text in modules)
    lines = find_rows(work, make_queries(work, f"case:yes type:file /{words}/")).lines
    paths = {(row["repository"], row["path"]) for row in lines}
    unparsed = [(name, path) for name, path in sorted(paths) if language_of(path) not in LANGUAGES]
    for repository, path in unparsed[:_MAX_FILES]:
        target = work.inquiry.pins.of(repository)
        language = language_of(path)
        if target is None or not has_forms(language) or not is_of_files(work.request, path):
            continue

        for module in imports_in(list(lines_of_code(texts.lines(target, path), language)), language) or ():
            imported = {text for text in modules if names_module(module.name, text)}
            if imported:
                yield target, {"path": path, "line_number": module.line, "module": module.name}, imported


def _unread_imports(work: Work, modules: list[str], counted_files: set[tuple[str, str]]) -> list[str]:
    """Return a note of files without a grammar that import a module by the look of a line, such as ``lexer.l``."""
    texts = "|".join(escape_regexp(text).replace("/", r"\/") for text in modules)
    rows = find_rows(work, make_queries(work, rf"/^[ \t]*[#%@]?[ \t]*{_IMPORT_WORDS}\b.*(?:{texts})/")).rows
    unread = {
        (row["repository"], row["path"])
        for row in rows
        if language_of(row["path"]) not in LANGUAGES and not has_forms(language_of(row["path"]))
    } - counted_files

    # A sentence of a document may begin with such a word.
    paths = sorted(path for _, path in unread if language_of(path) not in _TEXTS)
    if not paths:
        return []

    verb, pronoun = ("have", "they don't") if len(paths) > 1 else ("has", "it doesn't")
    names = join_names(paths, 5)
    return [f"{names} {verb} such a line, but {pronoun} count, because the language has no grammar for imports."]


def _keep_every(
    files: Counter[tuple[str, str]],
    imported: dict[tuple[str, str], set[str]],
    lines: Rows,
    modules: set[str],
    *,
    of_files: bool,
) -> None:
    """Filter to importers of each of some modules: files, or repositories with any such file."""
    by_repository: dict[str, set[str]] = defaultdict(set)
    for (repository, _), texts in imported.items():
        by_repository[repository] |= texts

    for repository, path in list(files):
        texts = imported[repository, path] if of_files else by_repository[repository]
        if texts != modules:
            del files[repository, path]

    pairs = zip(lines.rows, lines.citations, strict=True)
    remaining = [(row, citations) for row, citations in pairs if (row[0], row[1]) in files]
    lines.rows, lines.citations = [row for row, _ in remaining], [citations for _, citations in remaining]
    lines.total = sum(files.values())


def _not_importing(work: Work, fact: Fact, importing: set[tuple[str, str]], term_list: str) -> Fact:
    """Count the searched files that don't import something."""
    queries = make_listing_queries(work)
    rows_by_file = {(row["repository"], row["path"]): row for row in run_searches(work, queries) if row["path"]}
    lacking = sorted(rows_by_file.keys() - importing)
    fact.number, fact.unit = len(lacking), "files"
    fact.repositories = Counter(name for name, _ in lacking)
    verb = "don't" if len(lacking) != 1 else "doesn't"
    fact.subject = f"{files_noun(work, len(lacking))}{file_conditions(work, languages=False)} {verb} import {term_list}"
    fact.sentences.append(
        f"These are the {count_of(len(rows_by_file), 'file')} of this search except the "
        f"{len(importing & rows_by_file.keys()):,} that import it: {code(join_queries(queries))}."
    )
    fact.rule = (
        "Counts imports of the module and of anything below it, as parsed by the grammar of each language. A file "
        "without a grammar imports nothing."
    )
    table = Rows("Files", ("repository", "path"))
    for repository, path in lacking:
        table.add((repository, path), CitedLine(repository, commit_of(work, rows_by_file[repository, path]), path))

    fact.tables = [table]
    return fact


def is_import_of(row: dict[str, Any], text: str, *, of_repository: bool = False) -> bool:
    """Return whether an import means a module, something below it, a file, or a module of a repository."""
    module = (row["module"] or "").strip('"<>')
    # In this order: Python and Java; Go, JavaScript and C; Rust and Ruby; PHP.
    for separator in (".", "/", "::", "\\"):
        if module == text or module.startswith(f"{text}{separator}"):
            return True

    member = row["member"] or ""
    if member and any(f"{module}{separator}{member}" == text for separator in (".", "/", "::")):
        return True
    if not of_repository and re.split(r"/|::", module)[-1].lstrip(".") == text:
        return True

    path, repository = row["target_path"] or "", row["target_repository"] or ""
    if path and (path == text or path.endswith(f"/{text}")):
        return True

    return is_named(repository, text)
