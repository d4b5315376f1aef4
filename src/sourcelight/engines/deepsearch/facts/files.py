"""Counts of files, folders, lines, languages and repositories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from sourcelight.core.markup import code
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.facts.model import Fact, LineOf, Rows, Work
from sourcelight.engines.deepsearch.facts.paths import is_named
from sourcelight.engines.deepsearch.facts.searches import (
    commit_of,
    files_noun,
    kinds_of_files,
    listing_of,
    plural,
    queries_of,
    run,
    said_terms,
    shown,
)
from sourcelight.engines.deepsearch.requests import ResearchRequest
from sourcelight.engines.search import Target
from sourcelight.engines.search.index.view import REASONS


def files(work: Work) -> Fact:
    """Count files by language, folder and name; or the repositories that have such."""
    request = work.request
    text = "type:path"
    if request.relation in {"name", "prefix", "suffix", "part"}:
        names = "|".join(escape_regexp(term.text) for term in request.terms)
        text += {
            "name": rf" /(^|\/)(?:{names.replace('/', chr(92) + '/')})$/ case:yes",
            "prefix": rf" /(^|\/)(?:{names})[^\/]*$/ case:yes",
            "suffix": rf" /(?:{names})$/ case:yes",
            "part": rf" /(?:{names})[^\/]*$/",
        }[request.relation]
    queries = listing_of(work) if text == "type:path" else queries_of(work, text)
    notes: list[str] = []
    rows = run(work, queries, notes)
    unique = {(row["repository"], row["path"]): row for row in rows if row["path"]}
    per = Counter(name for name, _ in unique)
    named = f" named {said_terms(request.terms)}" if request.relation == "name" else ""
    if request.relation in {"prefix", "suffix", "part"}:
        how = {"prefix": "start with", "suffix": "end with", "part": "contain"}[request.relation]
        named = f" whose names {how} {said_terms(request.terms)}"
    fact = Fact(
        len(unique),
        "",
        shown(queries),
        "Files of the commit count, by name and ending as `lang:` reads them.",
        notes=notes,
        unit="files",
    )
    fact.repositories = per
    if request.kind == "repositories":
        if request.every and request.relation == "name" and len(request.terms) > 1:
            having = {
                (name, term.text)
                for name, path in unique
                for term in request.terms
                if path == term.text or path.endswith(f"/{term.text}")
            }
            per = Counter(
                {name: n for name, n in per.items() if all((name, term.text) in having for term in request.terms)}
            )
            named = f" named {said_terms(request.terms, every=True)}"
        fact.number, fact.unit = len(per), "repositories"
        fact.repositories = Counter(dict.fromkeys(per, 1))
        fact.subject = (
            f"{plural('repository', len(per))} {'have' if len(per) != 1 else 'has'} files{kinds_of_files(work)}{named}"
        )
        table = Rows("Repositories", ("repository", "files"))
        for name, number in sorted(per.items(), key=lambda item: (-item[1], item[0])):
            table.add((name, number))
        fact.tables = [table]
        return fact
    fact.subject = (
        f"{files_noun(work, len(unique))}{kinds_of_files(work, languages=False)}{named} "
        f"{'exist' if len(unique) != 1 else 'exists'}"
    )
    table = Rows("Files", ("repository", "path"))
    for repository, path in sorted(unique):
        table.add((repository, path), LineOf(repository, commit_of(work, unique[repository, path]), path))
    fact.tables = [table]
    return fact


def folders(work: Work) -> Fact:
    """Count folders that have files below them."""
    fact = files(work)
    found = set()
    for repository, path, *_ in fact.tables[0].rows:
        folder = path.rpartition("/")[0]
        while folder:
            found.add((repository, folder))
            folder = folder.rpartition("/")[0]
    table = Rows("Folders", ("repository", "folder"))
    for row in sorted(found):
        table.add(row)
    cut = fact.tables[0].total > len(fact.tables[0].rows)
    fact.notes += [f"Folders of the first {len(fact.tables[0].rows):,} files count."] if cut else []
    fact.number, fact.unit, fact.tables = len(found), "folders", [table]
    fact.repositories = Counter(name for name, _ in found)
    fact.subject = (
        f"{plural('folder', len(found))}{kinds_of_files(work)} {'have' if len(found) != 1 else 'has'} files at "
        f"any depth"
    )
    fact.rule = "Folders on the way to a file count, at any depth; the top does not."
    return fact


def languages(work: Work) -> Fact:
    """Count languages by files."""
    queries = listing_of(work)
    notes: list[str] = []
    rows = run(work, queries, notes)
    unique = {(row["repository"], row["path"]): row["language"] for row in rows if row["path"]}
    per = Counter(language for language in unique.values() if language)
    table = Rows("Languages", ("language", "files"))
    for name, number in sorted(per.items(), key=lambda item: (-item[1], item[0])):
        table.add((name, number))
    unknown = sum(1 for language in unique.values() if not language)
    fact = Fact(
        len(per),
        f"{plural('language', len(per))}{kinds_of_files(work)} {'have' if len(per) != 1 else 'has'} files",
        shown(queries),
        notes=notes,
        unit="languages",
        adds_up=False,
    )
    fact.rule = (
        f"Each file has one language, by its name and ending; {unknown:,} {plural('file', unknown)} of no known one."
    )
    fact.tables = [table]
    return fact


def _is_binary(work: Work, target: Target, path: str) -> bool:
    """Tell whether the index left a file out since it is no text."""
    view = work.inquiry.context.engine.store.open(target)[0].view
    place = view.file_number(path.encode())
    return place is not None and REASONS[int(view.reason[place])] == "binary"


def lines(work: Work) -> Fact:
    """Count all lines of files, as ``wc -l`` does."""
    queries = listing_of(work)
    notes: list[str] = []
    rows = run(work, queries, notes)
    per: Counter[str] = Counter()
    table = Rows("Files", ("repository", "path", "lines"))
    found = []
    for repository, path in sorted({(row["repository"], row["path"]) for row in rows if row["path"]}):
        work.inquiry.context.cancellation.check()
        target = work.inquiry.pins.of(repository)
        text = work.inquiry.context.engine.store.read(target, path) if target is not None else None
        if text is None and target is not None and _is_binary(work, target, path):
            continue
        if text is None:
            notes.append(f"{repository}: {path} could not be read")
            continue
        if b"\0" in text[:8000]:
            continue
        number = text.count(b"\n") + (not text.endswith(b"\n") and bool(text))
        per[repository] += number
        found.append((repository, path, number))
    for repository, path, number in sorted(found, key=lambda row: (-row[2], row[0], row[1])):
        target = work.inquiry.pins.of(repository)
        table.add((repository, path, number), LineOf(repository, target.commit if target else "", path))
    total = sum(per.values())
    fact = Fact(
        total,
        f"{plural('line', total)} {'are' if total != 1 else 'is'} in "
        f"{len(found):,} {files_noun(work, len(found))}{kinds_of_files(work, languages=False)}",
        shown(queries),
        notes=notes,
        unit="lines",
    )
    fact.rule = (
        "All lines of the files of this query count, empty ones and comments too, a last one without a newline "
        "included; binary files don't."
    )
    fact.repositories = +per
    fact.tables = [table]
    return fact


def repositories(work: Work) -> Fact:
    """Count the repositories themselves."""
    names = work.names
    if not work.inquiry.filters:
        names = sorted({*names, *left_out(work.inquiry)})
    fact = Fact(
        len(names),
        f"{plural('repository', len(names))} {'are' if len(names) != 1 else 'is'} there",
        "code.list_repos()",
        unit="repositories",
    )
    fact.rule = "Repositories that you may see count, forks and archived ones too."
    fact.repositories = Counter(dict.fromkeys(names, 1))
    return fact


def repositories_without(work: Work, counter: Callable[[Work], Fact]) -> Fact:
    """Count the repositories that are searched and not among those that `counter` counts."""
    request = work.request
    having = counter(Work(replace(request, is_negated=False), work.inquiry, work.emit))
    is_import = request.relation == "import"
    itself = {name for name in work.names for term in request.terms if is_import and is_named(name, term.text)}
    others = [name for name in work.names if name not in having.repositories and name not in itself]
    terms = said_terms(request.terms, every=request.every)
    verb = {"contain": "contain", "call": "call", "import": "import"}.get(request.relation, "have files named")
    negated = "don't" if len(others) != 1 else "doesn't"
    fact = Fact(
        len(others),
        f"{plural('repository', len(others))}{kinds_of_files(work)} {negated} {verb} {terms}",
        having.query,
        having.rule,
        notes=having.notes,
        unapplied=having.unapplied,
        beside=having.beside,
        unit="repositories",
    )
    fact.more.append(
        f"The call gives the other {len(having.repositories):,} of the {len(work.names):,} "
        f"{plural('repository', len(work.names))}."
    )
    fact.repositories = Counter(dict.fromkeys(others, 1))
    if itself:
        fact.more.append(f"{' and '.join(code(name) for name in sorted(itself))} is left out of both.")
    return fact


def left_out(inquiry: ResearchRequest) -> list[str]:
    """Give the repositories that are searched only when they are named: forks and archived ones."""
    names = {pin.repository for pin in inquiry.pins} | inquiry.pins.failed.keys()
    visible = inquiry.context.engine.catalog.visible(inquiry.context.viewer)
    return sorted(each.name for each in visible if each.name not in names)
