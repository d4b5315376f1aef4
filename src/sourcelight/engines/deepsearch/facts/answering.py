"""Answer questions for facts: read the question, run the matching count, name the words that it didn't apply."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sourcelight.core.errors import QueryError, RepositoryError, ToolError, UnsupportedTool
from sourcelight.core.markup import code, join_words, singular
from sourcelight.core.markup.counts import join_names
from sourcelight.engines.deepsearch.evidence.claims import claim_of
from sourcelight.engines.deepsearch.facts import changes, commits, definitions, files, imports, subclasses, texts
from sourcelight.engines.deepsearch.facts.declared.counting import add_declarations, count_declarations, count_entries
from sourcelight.engines.deepsearch.facts.declared.exports import count_exports
from sourcelight.engines.deepsearch.facts.declared.parts import count_listed_parts, count_parts
from sourcelight.engines.deepsearch.facts.declared.tests import count_tests
from sourcelight.engines.deepsearch.facts.events import find_event
from sourcelight.engines.deepsearch.facts.model import Fact, Rows, Work
from sourcelight.engines.deepsearch.facts.paths import PathNames
from sourcelight.engines.deepsearch.facts.searches import is_readable, noun_for
from sourcelight.engines.deepsearch.question.counts import read_entries
from sourcelight.engines.deepsearch.question.reading import read_request
from sourcelight.engines.deepsearch.question.request import FactRequest, Term, Threshold
from sourcelight.engines.deepsearch.question.vocabulary import is_path
from sourcelight.engines.deepsearch.requests import Emit, ResearchRequest

_FILES = frozenset({"languages", "paths", "tests"})
_HISTORY = frozenset({"period", "authors", "range"})
_APPLIED: Mapping[Callable[[Work], Fact], frozenset[str]] = {
    texts.count_texts: _FILES | {"terms"},
    files.count_files: _FILES | {"terms"},
    files.count_lines: _FILES,
    files.count_folders: _FILES,
    files.count_languages: _FILES,
    files.count_repositories: frozenset(),
    definitions.count_definitions: _FILES | {"terms"},
    subclasses.count_subclasses: _FILES | {"terms"},
    count_tests: _FILES | {"terms"},
    # A search of commits reports itself which files it can't search.
    commits.count_commits: _FILES | _HISTORY | {"terms", "messages"},
    commits.count_authors: _FILES | _HISTORY | {"terms", "messages"},
    changes.count_changed_files: _FILES | _HISTORY,
    changes.count_changed_folders: _FILES | _HISTORY,
    changes.count_changed_lines: _FILES | _HISTORY,
    commits.count_refs: frozenset(),
    imports.count_importing: _FILES | {"terms"},
    count_exports: _FILES,
}
"""Conditions of a question that each count applies; the answer names all others as not applied."""

_ONE_COMMIT = re.compile(r"\W*(?:in\s+)?(?:which|what)\s+commit\b", re.IGNORECASE)
_CLIPPED = re.compile(
    r"^\W*(?:what(?:'s| is| was)\s+)?(?:the\s+)?(first|last|latest|newest|oldest|most recent)\s+commit\W*$",
    re.IGNORECASE,
)
"""A question for a commit without its verb: "latest commit?"."""
_COVERING = re.compile(
    r"\W*(?:which|what|how\s+many|list(?:\s+all)?(?:\s+the)?)\s+(?:unit\s+)?(?:tests?|test\s+(?:files?|cases?))\s+"
    r"(?:that\s+|which\s+)?(?:cover|exercise|check|test|verify|verifies)(?:s|ing)?\b",
    re.IGNORECASE,
)
_CONTENT = {"contain", "call"}


def find_facts(  # noqa: PLR0911 - one for each form of question
    inquiry: ResearchRequest, emit: Emit
) -> tuple[FactRequest, Fact | None] | None:
    """Read a question and run its count.

    Returns
    -------
    tuple of FactRequest and Fact, or None
        None for a question that asks for no facts. The fact is None if the question asks for some that can't be
        counted; its request names the kind.
    """
    paths = PathNames(inquiry)
    of_entries = read_entries(inquiry.words, paths)
    entries = None if of_entries is None else count_entries(Work(of_entries, inquiry, emit))
    if of_entries is not None and entries is not None:
        return of_entries, entries

    text = _CLIPPED.sub(r"when was the \1 commit", inquiry.words)
    if inquiry.pins.short_names:
        # "How many plugins ship with Mill" asks for those of the repository.
        names = "|".join(map(re.escape, sorted(inquiry.pins.short_names)))
        text = re.sub(rf"(?i)(?<=\w)(?: \w+)? (?:with|by) (?:the )?(?:{names})(?=\W*$)", " are there", text)
    request = read_request(text, paths, datetime.now(UTC))
    if request is None:
        return None
    if request.kind == "commits" and request.ignored and _ONE_COMMIT.match(inquiry.question):
        # "Which commit moved the parser?" asks for one by its subject, and for no number.
        return None
    if request.kind in {"tests", "files"} and _COVERING.match(inquiry.question) is not None:
        # "Which tests cover a.go?" asks for those of its code, and not for those in it.
        return None

    request = _without_words_of_paths(_within_file_of_name(request, inquiry, paths))
    work = Work(request, inquiry, emit)
    try:
        fact = count_listed_parts(work) if request.kind == "parts" else _count(work, paths)
    except (ToolError, QueryError, RepositoryError, UnsupportedTool):
        inquiry.context.cancellation.check()
        return request, None

    if fact is not None:
        fact.notes += paths.notes
        _apply_group(work, fact)
        _add_folder_of_repository(work, fact)
        sentence = fact.subject if fact.number is None else f"**{fact.number:,}** {fact.subject}"
        if claim_of(sentence, ("count", "commit")) is None:
            return work.request, None

    return work.request, fact


def name_folder_of_repository(inquiry: ResearchRequest, *, is_bare: bool = False) -> ResearchRequest:
    """Return a question with a directory that is called as its repository: `mill/` of "in mill/" and "the mill folder".

    The name is scope, as that of a repository. Without the directory, that is all it can mean. With `is_bare`, "in
    mill" at the end of a question is read so, and what says itself that it is a directory isn't.
    """
    parts = inquiry.scope.parts
    if len(parts) != 1 or parts[0].kind != "repository" or len(parts[0].values) != 1:
        return inquiry
    name = parts[0].source_text
    form = rf"(?P<in>\b(?:in|inside|under|within|below) ){re.escape(name)}(?=[ ?.!]*$)"
    if not is_bare:
        form = rf"(?P<in>(?<![\w./-])){re.escape(name)}(?:/(?!\w)|\s+(?:folder|directory|dir|package)\b)"
    words, count = re.subn(form, rf"\g<in>{name}/", inquiry.question)
    return inquiry.with_words(words) if count and PathNames(inquiry).is_folder(name) else inquiry


def _add_folder_of_repository(work: Work, fact: Fact) -> None:
    """Say how many are in the directory that is called as the repository: "in mill" may mean either."""
    if fact.number is None or work.request.kind not in {*_OF_FILES, "files"}:
        return
    within = name_folder_of_repository(work.inquiry, is_bare=True)
    # The words of this recount say the directory, so that it ends here.
    fact_request = find_facts(within, work.emit) if within.words != work.inquiry.words else None
    if fact_request is None:
        return
    request, part = fact_request
    if part is not None and part.number is not None and not request.ignored and part.number != fact.number:
        repository = code(work.inquiry.scope.parts[0].values[0])
        names = join_words([code(path.glob) for path in request.paths])
        fact.subject += f" in the repository {repository}, **{part.number:,}** of them in {names}"


_OF_FILES = frozenset({"declared", "definitions", "exports", "lines", "tests"})
"""Things that one file has, so that a name of a file and of the repository means the file."""


def _within_file_of_name(request: FactRequest, inquiry: ResearchRequest, paths: PathNames) -> FactRequest:
    """Restrict a count to the file that is called as the only searched repository, such as ``inspect.lua``."""
    if request.kind not in _OF_FILES or request.paths or len(inquiry.pins) != 1:
        return request

    for part in inquiry.scope.parts:
        scope = paths.find(part.source_text) if is_path(part.source_text, strict=True) else None
        if part.kind == "repository" and scope is not None and scope.is_file:
            return replace(request, paths=(scope,))

    return request


def _without_words_of_paths(request: FactRequest) -> FactRequest:
    """Return a request for tests of a file without words that the file is called by: "integration tests" of it."""
    if request.kind != "tests" or not request.ignored or len(request.paths) != 1:
        return request
    parts = set(re.findall(r"[a-z]+", request.paths[0].glob.lower()))
    return replace(request, ignored=tuple(word for word in request.ignored if word.lower() not in parts))


def _count(work: Work, paths: PathNames) -> Fact | None:  # noqa: PLR0911, PLR0912 - one for each kind
    request = work.request
    if request.kind in {"who", "when"}:
        is_named = request.terms or request.paths or request.authors or request.messages or request.head
        # "Who worked on the retry logic?" is for words of messages, not for everyone with a commit.
        if request.ignored and not is_named and not request.is_top and request.event != "commit":
            return None
        return find_event(work, paths)

    # Dependencies are in the manifest, which a lookup reads; imports also have the standard library.
    if request.kind in {"unsupported", "unknown", "dependencies"} or not is_readable(work):
        return None

    # "How many functions handle refunds?" describes functions in words that no index knows; with one unknown word, as
    # in "public functions of a.py", the number is still useful.
    vague = request.kind in {"definitions", "declared", "lines", "occurrences", "files", "tests", "repositories"}
    narrow = request.paths or request.languages or request.is_of_history or work.inquiry.scope.parts
    if request.ignored and vague and not request.terms and (not narrow or len(request.ignored) > 1):
        return None

    counting = work.without_notes()
    declarations = count_declarations(counting) if request.kind in {"declared", "definitions"} else None
    if declarations is not None:
        # A word of the question may be the name of what was counted.
        work.request = request = counting.request
        declarations.unapplied += unapplied_fields(request, _FILES)
        return declarations
    if request.kind == "declared":
        return None

    counter = _find_counter(request)
    # The complement is one of repositories: files or lines without a text would answer another question.
    if request.is_negated and request.kind == "repositories":
        fact = files.count_repositories_without(work, counter)
        fact.unapplied += unapplied_fields(request, _APPLIED[counter])
        return fact

    is_of_parts = counter is files.count_files and request.kind == "files" and bool(request.subject)
    fact = counter(work.without_notes())
    # "How many languages are in languages.json?" is about what the file lists, and not about its own language.
    if counter is files.count_languages and request.paths and [number for _, number in fact.tables[0].rows] == [1]:
        return None
    if is_of_parts:
        return count_parts(work, fact)
    if counter is definitions.count_definitions:
        add_declarations(work, fact)
    # No definition in the index is none in a language with a grammar: zero would be said of all.
    is_unsure = fact.unread or counter is definitions.count_definitions
    if not fact.number and is_unsure and not (counter is count_tests and fact.is_open):
        return None
    if counter is subclasses.count_subclasses and request.is_list and not fact.number:
        # That no head names it proves nothing: in some languages, types implement without saying so.
        return None

    first = _with_first_word(work) if counter is texts.count_texts else None
    if first is not None:
        work.request = first
        fact = counter(work.without_notes())

    fact.unapplied += unapplied_fields(request, _APPLIED[counter])
    return fact


def _with_first_word(work: Work) -> FactRequest | None:
    """Return the request for the first word alone, if several unquoted words never occur together.

    The rest, such as "sometimes" in "files that mention isatty sometimes", is named as not applied.
    """
    request = work.request
    if len(request.terms) != 1 or not request.terms[0].is_bare or " " not in request.terms[0].text:
        return None
    if texts.count_texts(Work(replace(request, is_negated=False), work.inquiry, work.emit)).number:
        return None

    first, *remaining = request.terms[0].text.split(" ")
    return replace(
        request, terms=(Term(first, is_word=True),), ignored=tuple(dict.fromkeys((*request.ignored, *remaining)))
    )


def unapplied_fields(request: FactRequest, applied: frozenset[str]) -> list[str]:
    """Name the parts of a question that a count does not apply."""
    by_field = {
        "period": [request.period.text] if request.period.text else [],
        "authors": list(request.authors),
        "messages": [term.text for term in request.messages],
        "range": [text for text in (request.base, request.head) if text],
        "languages": list(request.languages),
        "paths": [path.source_text for path in (*request.paths, *request.without)],
        "tests": [] if request.tests is None else ["tests"],
        "terms": [term.text for term in (*request.terms, *request.lacking)],
    }
    unapplied = [text for name, texts in by_field.items() if name not in applied for text in texts]
    if request.relation in {"inherit", "change"} and request.every and len(request.terms) > 1:
        # These count files with any of the texts, which is another question.
        unapplied.append("and")

    if len({path.repositories for path in request.paths}) > 1:
        # A search has one filter of paths, for all repositories.
        unapplied += [path.source_text for path in request.paths if path.is_of_repository]

    return unapplied


def _find_counter(request: FactRequest) -> Callable[[Work], Fact]:  # noqa: PLR0911 - one for each kind
    kind, relation = request.kind, request.relation
    if kind == "commits" and request.group in {"files", "folders"}:
        return changes.count_changed_files if request.group == "files" else changes.count_changed_folders
    if relation == "import" and kind in {"files", "repositories", "dependents"}:
        return imports.count_importing

    if kind in {"files", "repositories"} and (
        relation == "change" or (request.is_of_history and relation not in _CONTENT)
    ):
        return changes.count_changed_files

    if kind in {"lines", "occurrences", "files", "repositories"} and relation in _CONTENT:
        return texts.count_texts
    if kind in {"files", "repositories"} and relation == "define":
        return definitions.count_definitions
    if kind == "repositories" and not (relation or request.languages or request.paths or request.tests):
        return files.count_repositories
    if kind == "definitions" and relation == "inherit":
        return subclasses.count_subclasses
    if kind == "definitions" and relation in _CONTENT:
        return texts.count_texts

    simple: Mapping[str, Callable[[Work], Fact]] = {
        "files": files.count_files,
        "repositories": files.count_files,
        "lines": files.count_lines,
        "occurrences": files.count_lines,
        "folders": files.count_folders,
        "languages": files.count_languages,
        "definitions": definitions.count_definitions,
        "tests": count_tests,
        "commits": commits.count_commits,
        "authors": commits.count_authors,
        "branches": commits.count_refs,
        "tags": commits.count_refs,
        "dependents": imports.count_importing,
        "exports": count_exports,
        "changed_lines": changes.count_changed_lines,
    }
    return simple[kind]


def _apply_group(work: Work, fact: Fact) -> None:
    """Answer for "which author has the most" and "how many authors have more than ten"."""
    request = work.request
    if not request.group or request.group in {"days", "weeks", "months", "years"}:
        if request.group and request.kind != "commits":
            fact.unapplied.append(f"by {request.group}")
        return

    is_of_several = len(work.inquiry.pins) > 1
    groups = _count_groups(request.group, fact, is_of_several=is_of_several)
    if groups is None:
        fact.unapplied.append(f"by {request.group}")
        return

    measure = request.kind
    has_repositories = any(repository for _, repository in groups)
    columns = (request.group, "repository", measure) if has_repositories else (request.group, measure)
    table = Rows(f"By {request.group}", columns)

    # Ties by name, so that an answer is the same in each run.
    order = sorted(groups.items(), key=lambda item: (item[1] if request.is_fewest else -item[1], item[0]))
    if request.threshold is not None:
        order = [item for item in order if request.threshold.passes(item[1])]

    for (name, repository), number in order:
        table.add((name, repository, number) if has_repositories else (name, number))

    fact.tables.insert(0, table)
    before = f"{fact.number:,} {fact.subject}." if fact.number is not None else ""
    if request.threshold is not None:
        fact.number = len(order)
        fact.subject = (
            f"{noun_for(singular(request.group), len(order))} {'have' if len(order) != 1 else 'has'} "
            f"{request.threshold.text} {_measure_name(measure, request.threshold)}"
        )
        # The counts per repository are of the measure, not of the groups that pass.
        fact.repositories = Counter()
    elif request.is_top and order:
        best = order[0][1]
        names = [name for name, number in order if number == best]
        fact.number = None
        name_list = join_names(
            [f"{code(name)} of {code(repository)}" if repository else code(name) for name, repository in names], 5
        )
        fact.subject = (
            f"{name_list} {'have' if len(names) > 1 else 'has'} the "
            f"{'fewest' if request.is_fewest else 'most'} {measure}: {best:,}{' each' if len(names) > 1 else ''}"
        )

    fact.sentences.insert(0, f"In total: {before}" if before else "")
    fact.sentences = [text for text in fact.sentences if text]


def _count_groups(group: str, fact: Fact, *, is_of_several: bool) -> Mapping[tuple[str, str], int] | None:
    """Return the count of each group, by its name and, for a path of one of several repositories, by theirs."""
    if group == "repositories":
        return {(name, ""): number for name, number in fact.repositories.items()}

    column = {"authors": "author", "files": "path", "folders": "folder", "languages": "language"}[group]
    counts: Counter[tuple[str, str]] = Counter()
    for table in fact.tables:
        # A truncated table can't be summed by group.
        if table.total > len(table.rows):
            continue

        columns: dict[str, Any] = {name: number for number, name in enumerate(table.columns)}
        if column in columns and columns.keys() & {"commits", "lines", "matches", "files"}:
            value = columns[next(name for name in ("commits", "lines", "matches", "files") if name in columns)]
            for row in table.rows:
                name = (
                    row[columns[column]]
                    if column != "author"
                    else f"{row[columns['author']]} <{row[columns['address']]}>"
                )
                # A path belongs to its repository; a person and a language are the same in all of them.
                # Joined with a slash, the two would read as one path.
                counts[name, row[0] if is_of_several and column in {"path", "folder"} else ""] += row[value]

            return counts

    return None


def _measure_name(measure: str, threshold: Threshold) -> str:
    """Name the unit of a threshold, singular or plural: "exactly 1 commit"."""
    number = threshold.minimum if threshold.minimum is not None else threshold.maximum
    return singular(measure) if number == 1 else measure
