"""Counts of files, directories, lines, languages and repositories."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from sourcelight.core.markup import code, count_of, join_first, join_words
from sourcelight.core.query.file_kinds import BESIDE_TESTS, CODE_OF_TESTS, NAMED_LIKE_TESTS
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.core.query.syntax.quoting import quote_value
from sourcelight.engines.deepsearch.facts.model import CitedLine, Fact, Rows, Work
from sourcelight.engines.deepsearch.facts.paths import is_named
from sourcelight.engines.deepsearch.facts.searches import (
    commit_of,
    file_conditions,
    files_noun,
    format_terms,
    join_queries,
    make_listing_queries,
    make_queries,
    noun_for,
    run_searches,
)
from sourcelight.engines.deepsearch.facts.unparsed_definitions import PROGRAMMING_LANGUAGES
from sourcelight.engines.deepsearch.requests import ResearchRequest
from sourcelight.engines.search import Target
from sourcelight.engines.search.index.view import REASONS

_LISTED_ENDINGS = 5
_TEST_FILES = re.compile(
    r"\b(?:tests?|specs?)[\s-]+(?:source[\s-]+|code[\s-]+)?(?:files?|modules?|scripts?)\b", re.IGNORECASE
)
"""Words for files that have tests, rather than for all files in a directory of tests."""
_TOLD_BY_NAME = (".py", ".java", ".kt", ".cs", ".go", ".rb", ".dart", ".exs", ".php", ".swift", ".scala", ".vb", ".fs")
"""Endings of languages in which names tell tests from what helps them."""
_MIN_NAMED = 3

_MAX_LANGUAGES = 4
"""Maximum languages that a sentence names; the table has all."""


def count_files(work: Work) -> Fact:
    """Count files by language, directory and name; or the repositories that have such."""
    request = work.request
    if request.tests and not request.relation and _TEST_FILES.search(work.inquiry.question) is not None:
        return _count_test_files(work)

    text = "type:path"
    if request.relation in {"name", "prefix", "suffix", "part"}:
        names = "|".join(escape_regexp(term.text) for term in request.terms)
        text += {
            "name": rf" /(^|\/)(?:{names.replace('/', chr(92) + '/')})$/ case:yes",
            "prefix": rf" /(^|\/)(?:{names})[^\/]*$/ case:yes",
            "suffix": rf" /(?:{names})$/ case:yes",
            "part": rf" /(?:{names})[^\/]*$/",
        }[request.relation]

    queries = make_listing_queries(work) if text == "type:path" else make_queries(work, text)
    rows = run_searches(work, queries)
    unique = {(row["repository"], row["path"]): row for row in rows if row["path"]}
    if request.relation == "source":
        unique = {key: row for key, row in unique.items() if row["language"] in PROGRAMMING_LANGUAGES}
    headers = {key for key in unique if _HEADER.search(key[1])} if _is_of_sources(work) else set()
    unique = {key: row for key, row in unique.items() if key not in headers}
    condition = f" named {format_terms(request.terms)}" if request.relation == "name" else ""
    if request.relation in {"prefix", "suffix", "part"}:
        verb = {"prefix": "start with", "suffix": "end with", "part": "contain"}[request.relation]
        condition = f" whose names {verb} {format_terms(request.terms)}"

    fact = Fact(
        len(unique),
        "",
        join_queries(queries),
        "Counts the files of the searched commit, without symbolic links. Languages follow from name and extension, as "
        "for `lang:`.",
        notes=work.notes,
        unit="files",
    )
    fact.repositories = Counter(name for name, _ in unique)
    if request.kind == "repositories":
        _count_repositories(work, fact, unique, condition)
        return fact

    of_code = " of programming languages" if request.relation == "source" else ""
    beside = f", besides {count_of(len(headers), 'header')}" if headers else ""
    fact.subject = (
        f"{files_noun(work, len(unique))}{of_code}{file_conditions(work, languages=False)}{condition}"
        f"{_endings(work, [path for _, path in unique])}{_below(work, [path for _, path in unique])}"
        f"{_scripts(work, unique)}{beside}"
    )
    table = Rows("Files", ("repository", "path"))
    for repository, path in sorted(unique):
        table.add((repository, path), CitedLine(repository, commit_of(work, unique[repository, path]), path))

    fact.tables = [table]
    if request.subject:
        fact.sentences.append(
            f"Files count, because neither git nor the indexes have {code(request.subject)}; the table has their names."
        )

    return fact


_HEADER = re.compile(r"\.(?:h|hh|hpp|hxx|h\+\+|inl|ipp)$", re.IGNORECASE)


def _is_of_sources(work: Work) -> bool:
    """Return whether a question is for source files of a language that has headers, too, and not for these."""
    question = work.inquiry.question
    is_of_sources = re.search(r"\bsource files\b", question, re.IGNORECASE) is not None and "header" not in question
    return is_of_sources and bool({"C", "C++", "Objective-C", "Objective-C++"} & set(work.request.languages))


def _count_test_files(work: Work) -> Fact:
    """Count the files that are named like tests; where most have other names, all code in directories of tests.

    Fixtures, helpers and documents of such a directory are no test files.
    """
    work = replace(work, request=replace(work.request, tests=None))
    matches = {}
    queries = {}
    for key, pattern in (("name", NAMED_LIKE_TESTS), ("directory", CODE_OF_TESTS)):
        text = f"type:path file:{quote_value(pattern)} -file:{quote_value(BESIDE_TESTS)}"
        queries[key] = make_queries(work, text)
        rows = run_searches(work, queries[key])
        # In Go, only the end of a name makes a test: `test_routing.go` is code for a command that tests routes.
        matches[key] = {
            (row["repository"], row["path"]): row
            for row in rows
            if row["path"] and (not row["path"].endswith(".go") or row["path"].endswith("_test.go"))
        }

    named_count, all_count = len(matches["name"]), len(matches["directory"])
    of_names = sum(path.endswith(_TOLD_BY_NAME) for _, path in matches["name"])
    is_by_name = 2 * named_count >= all_count or 2 * of_names > max(named_count, _MIN_NAMED)
    files = matches["name" if is_by_name else "directory"]
    noun = files_noun(work, len(files))
    conditions = file_conditions(work, languages=False)
    other_count = all_count - named_count
    if is_by_name:
        verb = "is" if len(files) == 1 else "are"
        subject = f"{noun}{conditions} {verb} named like tests"
        remainder = f"{other_count:,} more {'is a file' if other_count == 1 else 'are files'} of code"
        subject += f", and {remainder} in directories of tests" if other_count else ""
    else:
        subject = f"{noun}{conditions} of code in directories of tests"
        subject += f", {named_count:,} of them named like tests" if named_count else ""

    fact = Fact(
        len(files),
        subject,
        join_queries(queries["name" if is_by_name else "directory"]),
        "Counts files of code by their paths: by names such as `test_x.py`, `x_test.go`, `x.spec.ts` or `XTest.java`. "
        "Fixtures, mocks, helpers such as `conftest.py`, and files that aren't code don't count.",
        notes=work.notes,
        unit="files",
    )
    fact.repositories = Counter(name for name, _ in files)
    table = Rows("Files", ("repository", "path"))
    for repository, path in sorted(files):
        table.add((repository, path), CitedLine(repository, commit_of(work, files[repository, path]), path))

    fact.tables = [table]
    return fact


def _count_repositories(work: Work, fact: Fact, files: Collection[tuple[str, str]], condition: str) -> None:
    """Count the repositories that have the files, each a repository and a path, instead of the files."""
    request = work.request
    counts = fact.repositories
    if request.every and request.relation == "name" and len(request.terms) > 1:
        present = {
            (name, term.text)
            for name, path in files
            for term in request.terms
            if path == term.text or path.endswith(f"/{term.text}")
        }
        counts = Counter(
            {name: n for name, n in counts.items() if all((name, term.text) in present for term in request.terms)}
        )
        condition = f" named {format_terms(request.terms, every=True)}"

    fact.number, fact.unit = len(counts), "repositories"
    fact.repositories = Counter(dict.fromkeys(counts, 1))
    verb = "have" if len(counts) != 1 else "has"
    fact.subject = f"{noun_for('repository', len(counts))} {verb} files{file_conditions(work)}{condition}"
    table = Rows("Repositories", ("repository", "files"))
    for name, number in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        table.add((name, number))

    fact.tables = [table]


def _below(work: Work, paths: Sequence[str]) -> str:
    """Return how many files are further down, for a question about the things of one directory."""
    scope = next(iter(work.request.paths), None)
    if not work.request.subject or scope is None:
        return ""

    beginning = re.compile(scope.pattern)
    below = sum("/" in beginning.sub("", path, count=1) for path in paths)
    return f", {below:,} of them in directories below" if below else ""


def _endings(work: Work, paths: Sequence[str]) -> str:
    """Return the endings by which files of a language were counted, if there are several: C has headers, too."""
    if not work.request.languages:
        return ""

    # `lang:C` counts headers too; without the endings, a reader who counts *.c gets another number.
    endings: Counter[str] = Counter()
    for path in paths:
        stem, dot, ending = path.rpartition("/")[2].rpartition(".")
        endings[f".{ending}" if stem and dot else path.rpartition("/")[2]] += 1

    if len(endings) < 2:
        return ""

    ordered = sorted(endings.items(), key=lambda item: (-item[1], item[0]))
    return f": {join_first([f'{number:,} {code(ending)}' for ending, number in ordered], _LISTED_ENDINGS)}"


_PROGRAMS = {
    "Shell": "(?:ba|da|k|z)?sh", "Python": "python", "Ruby": "ruby", "Perl": "perl", "JavaScript": "node", "PHP": "php",
    "Lua": "lua", "R": "Rscript",
}  # fmt: skip
_WITHOUT_ENDING = r"(^|/)[^/.]+$"


def _scripts(work: Work, files: Collection[tuple[str, str]]) -> str:
    """Return how many further files are of a language by their first line alone: their names don't tell it."""
    request = work.request
    program = _PROGRAMS.get(request.languages[0]) if len(request.languages) == 1 else None
    if program is None or any("." in path.glob.rpartition("/")[2] for path in request.paths):
        return ""

    search = rf"case:yes type:file file:{quote_value(_WITHOUT_ENDING)} /^#!.*\b{program}[\d.]*\b/"
    rows = run_searches(work, make_queries(work, search, languages=False))
    scripts = {(row["repository"], row["path"]) for row in rows if row["line_number"] == 1} - set(files)
    if not scripts:
        return ""
    verb = "begins" if len(scripts) == 1 else "begin"
    return f"; {count_of(len(scripts), 'script')} without an ending {verb} with `#!` for {request.languages[0]}, too"


def count_folders(work: Work) -> Fact:
    """Count directories that have files below them."""
    fact = count_files(work)
    unique_folders = set()
    scopes = work.request.paths

    # "Folders in src" are those below it: neither itself nor the ones above.
    parents = [re.compile(scope.pattern) for scope in scopes if not scope.is_file]
    is_below = len(parents) == len(scopes) > 0
    for repository, path, *_ in fact.tables[0].rows:
        folder = path.rpartition("/")[0]
        while folder:
            if not is_below or any(parent.search(folder) for parent in parents):
                unique_folders.add((repository, folder))
            folder = folder.rpartition("/")[0]

    table = Rows("Folders", ("repository", "folder"))
    for row in sorted(unique_folders):
        table.add(row)

    # Directories are derived from files: if these are truncated, so are directories, and the note tells.
    is_truncated = fact.tables[0].total > len(fact.tables[0].rows)
    fact.notes += (
        [f"Only folders of the first {len(fact.tables[0].rows):,} files were counted."] if is_truncated else []
    )
    fact.number, fact.unit, fact.tables = len(unique_folders), "folders", [table]
    direct = sum((repository, name.rpartition("/")[0]) not in unique_folders for repository, name in unique_folders)
    among = f", {direct:,} of them directly in it" if is_below and direct < len(unique_folders) else ""
    fact.repositories = Counter(name for name, _ in unique_folders)
    fact.subject = (
        f"{noun_for('folder', len(unique_folders))}{file_conditions(work)} "
        f"{'have' if len(unique_folders) != 1 else 'has'} files at any depth{among}"
    )
    fact.rule = "Counts folders at any depth that have files below them; the top level doesn't count" + (
        ", and neither does the folder that the question names." if is_below else "."
    )
    return fact


def count_languages(work: Work) -> Fact:
    """Count languages by files."""
    queries = make_listing_queries(work)
    rows = run_searches(work, queries)
    unique = {(row["repository"], row["path"]): row["language"] for row in rows if row["path"]}
    per = Counter(language for language in unique.values() if language)
    table = Rows("Languages", ("language", "files"))
    by_size = sorted(per.items(), key=lambda item: (-item[1], item[0]))
    for name, number in by_size:
        table.add((name, number))

    unknown = sum(1 for language in unique.values() if not language)
    have = "have" if len(per) != 1 else "has"
    texts = [f"{name} ({number:,})" for name, number in by_size[:_MAX_LANGUAGES]]
    language_list = join_words([*texts, f"{len(per) - len(texts):,} more"] if len(per) > len(texts) else texts)
    fact = Fact(
        len(per),
        f"{noun_for('language', len(per))}{file_conditions(work)} {have} files" + (f": {language_list}" if per else ""),
        join_queries(queries),
        notes=work.notes,
        unit="languages",
        adds_up=False,
    )
    have = "have" if unknown != 1 else "has"
    fact.rule = f"A file has one language, by name and extension. {count_of(unknown, 'file')} {have} no known language."
    fact.tables = [table]
    return fact


def count_lines(work: Work) -> Fact:
    """Count all lines of files, including a last line without a newline."""
    queries = make_listing_queries(work)
    rows = run_searches(work, queries)
    per: Counter[str] = Counter()
    table = Rows("Files", ("repository", "path", "lines"))
    counted_files = []
    for repository, path in sorted({(row["repository"], row["path"]) for row in rows if row["path"]}):
        work.inquiry.context.cancellation.check()
        target = work.inquiry.pins.of(repository)
        context = work.inquiry.context
        text = context.local.read_file(target, path, context.cancellation) if target is not None else None
        if text is None and target is not None and _is_binary(work, target, path):
            continue
        if text is None:
            work.notes.append(f"{repository}: {path} could not be read")
            continue

        # git's own test of binary contents: `buffer_is_binary` reads the first 8,000 bytes.
        if b"\0" in text[:8000]:
            continue

        # `wc -l` counts newlines only, and so would miss a last line without one.
        number = text.count(b"\n") + (not text.endswith(b"\n") and bool(text))
        per[repository] += number
        counted_files.append((repository, path, number))

    for repository, path, number in sorted(counted_files, key=lambda row: (-row[2], row[0], row[1])):
        target = work.inquiry.pins.of(repository)
        table.add((repository, path, number), CitedLine(repository, target.commit if target else "", path))

    total = sum(per.values())
    fact = Fact(
        total,
        f"{noun_for('line', total)} in "
        f"{len(counted_files):,} {files_noun(work, len(counted_files))}{file_conditions(work, languages=False)}",
        join_queries(queries),
        notes=work.notes,
        unit="lines",
    )
    fact.rule = (
        "Counts all lines of these files, including empty lines, comments and a last line without a newline. Binary "
        "files don't count."
    )

    # `+` drops repositories that have only empty files.
    fact.repositories = +per
    fact.tables = [table]
    return fact


def _is_binary(work: Work, target: Target, path: str) -> bool:
    """Return whether the index left out a file because it isn't text."""
    view = work.inquiry.context.local.store.open(target)[0].view
    position = view.file_number(path.encode())
    return position is not None and REASONS[int(view.reason[position])] == "binary"


def count_repositories(work: Work) -> Fact:
    """Count the repositories themselves."""
    names = work.names
    if not work.inquiry.filters:
        names = sorted({*names, *excluded_repositories(work.inquiry)})

    fact = Fact(
        len(names),
        noun_for("repository", len(names)),
        "code.list_repos()",
        unit="repositories",
    )
    fact.rule = "Counts the repositories that you can see, including forks and archived repositories."
    fact.repositories = Counter(dict.fromkeys(names, 1))
    return fact


def count_repositories_without(work: Work, counter: Callable[[Work], Fact]) -> Fact:
    """Count the searched repositories that `counter` doesn't count."""
    request = work.request
    having = counter(Work(replace(request, is_negated=False), work.inquiry, work.emit))
    is_import = request.relation == "import"

    # A repository that is the module neither imports nor lacks it.
    itself = {name for name in work.names for term in request.terms if is_import and is_named(name, term.text)}
    lacking = [name for name in work.names if name not in having.repositories and name not in itself]
    terms = format_terms(request.terms, every=request.every)
    verb = {"contain": "contain", "call": "call", "import": "import"}.get(request.relation, "have files named")
    negated = "don't" if len(lacking) != 1 else "doesn't"
    fact = Fact(
        len(lacking),
        f"{noun_for('repository', len(lacking))}{file_conditions(work)} {negated} {verb} {terms}",
        having.query,
        having.rule,
        notes=having.notes,
        unapplied=having.unapplied,
        search_notices=having.search_notices,
        unread=having.unread,
        unit="repositories",
    )
    fact.sentences.append(
        f"The query below finds the other {len(having.repositories):,} of the {len(work.names):,} "
        f"{noun_for('repository', len(work.names))}."
    )
    fact.repositories = Counter(dict.fromkeys(lacking, 1))
    if itself:
        fact.sentences.append(f"{' and '.join(code(name) for name in sorted(itself))} is left out of both numbers.")

    return fact


def excluded_repositories(inquiry: ResearchRequest) -> list[str]:
    """Return the repositories that are searched only when they are named: forks and archived ones."""
    names = {pin.repository for pin in inquiry.pins} | inquiry.pins.failed.keys()
    visible = inquiry.context.engine.catalog.visible(inquiry.context.viewer)
    return sorted(repository.name for repository in visible if repository.name not in names)
