"""Answer who and when: commits that added, removed or changed something. Owners and people are in `ownership`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sourcelight.core.errors import RepositoryError, SourcelightError
from sourcelight.core.markup import code, count_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.facts.changes import (
    find_former_path,
    find_rename,
    former_patterns,
    removals_of,
    renames_of,
)
from sourcelight.engines.deepsearch.facts.commits import (
    among_commits,
    commit_arguments,
    conditions,
    count_commits,
    dates_of,
    day_of,
    describe_span,
    evidence_of,
    line_expression,
    revisions_of,
)
from sourcelight.engines.deepsearch.facts.model import Fact, Rows, Work, format_call, join_facts, limiting_notices
from sourcelight.engines.deepsearch.facts.ownership import concrete_paths, find_main_author, find_owners, find_people
from sourcelight.engines.deepsearch.facts.paths import PathNames, describe_missing_paths, is_file_of, test_files
from sourcelight.engines.deepsearch.facts.searches import (
    describe_terms,
    noun_for,
)
from sourcelight.engines.deepsearch.facts.texts import describe_remaining_lines, first_rows_of_code
from sourcelight.engines.deepsearch.markdown import inline, person_name
from sourcelight.engines.deepsearch.question.request import FactRequest, Term
from sourcelight.repos import resolve

_NO_MERGES = "Merges are left out, because they have no changes of their own."

_MAX_REPOSITORIES = 50
"""Repositories of a table whose commits are read for the clocks of their authors."""

_LINE_VERBS = {"added": ("added", "add"), "removed": ("removed", "remove")}
"""Verbs of an event of a line: what happened to it, and what a commit did."""

_WORD = re.compile(r"[a-z]{2,}")
"""A word in small letters, which prose may have."""

_OF_CODE = re.compile(r"\w`? (?:function|method|class|struct|trait|macro|enum|module)\b", re.IGNORECASE)

_MAX_SUBJECTS = 3
"""Names of one question whose events are looked up one by one."""


def find_event(work: Work, paths: PathNames) -> Fact | None:  # noqa: PLR0911 - one for each event
    """Answer a question for a person or a date; None if the history has no answer."""
    request = work.request
    if request.event in {"tag", "named"}:
        return _find_named(work)
    if request.event == "commit":
        return _find_commit(work)
    if request.event == "people":
        return find_people(work)
    if request.event == "owner":
        return find_owners(work, paths) or find_main_author(work, paths)
    if request.event == "most":
        return find_main_author(work, paths)
    if request.terms:
        return _find_line_changes(work)
    if request.paths or request.event == "changed":
        return _find_path_changes(work, paths)

    return None


def _find_path_changes(work: Work, paths: PathNames) -> Fact | None:
    """Find the change of each file or directory of a question: two of them may have different authors."""
    request = work.request
    if not 1 < len(request.paths) <= _MAX_SUBJECTS or request.event not in {"added", "removed", "changed"}:
        return _find_path_change(work, paths) if len(request.paths) < 2 else None

    works = [replace(work, request=replace(request, paths=(path,))) for path in request.paths]
    changes = [fact for work in works if (fact := _find_path_change(work, paths)) is not None]
    return join_facts(changes) if len(changes) == len(works) else None


def _find_named(work: Work) -> Fact | None:
    """Return the commit of a tag, or of an identifier."""
    name, is_tag = work.request.head, work.request.event == "tag"
    fact = Fact(None, "", "", unit="date")
    kind = "tag" if is_tag else "commit"
    table = Rows(f"{kind.capitalize()}s", ("repository", kind, "date", "author", "subject"))
    for target in work.targets:
        if target.repository.kind != "git":
            continue

        try:
            commit = resolve(target.repository, name)
        except RepositoryError:
            # A tag of one repository is missing in most others.
            continue

        arguments: dict[str, Any] = {"repos": [target.repository.name], "revisions": [commit], "count": 1}
        for row in work.call("commit_search", arguments, changes=False).table.to_pylist():
            fact.query = format_call("commit_search", {**arguments, "revisions": [name]})
            table.add(
                (target.repository.name, name, day_of(row), row["author"], row["subject"]),
                evidence_of(row, f"commit of {name}"),
            )
            fact.commits.append(evidence_of(row, f"commit of `{name}`"))
            about = "" if is_tag else f": “{inline(row['subject'])}”"
            fact.subject = f"The commit {'of ' if is_tag else ''}{code(name)} is by {byline(row)}{about}"

    if not table.total:
        return None

    if table.total > 1:
        fact.subject = f"{table.total:,} repositories have {code(name)}"

    if is_tag:
        fact.rule = "This is the date of the commit. The tag itself, or a release of a hosting service, may be later."

    fact.tables = [table]
    return fact


def _find_commit(work: Work) -> Fact | None:
    """Return the first or last commit of a repository, a person, a directory."""
    request = work.request
    fact = count_commits(work)
    rows = fact.tables[0]
    if not rows.total:
        fact.number, fact.subject = None, f"There is no commit{conditions(work, is_single=True)}"
        return fact

    arguments = commit_arguments(work, [])
    answer = work.call("commit_search", arguments, changes=False)
    all_rows = answer.table.to_pylist()
    if request.merges:
        all_rows = [row for row in all_rows if len(row["parents"] or ()) > 1]

    row = all_rows[0 if request.is_last else -1]
    which = "last" if request.is_last else "first"
    fact.number = None
    fact.subject = (
        f"The {which} {'merge' if request.merges else 'commit'}{conditions(work, is_single=True)} is "
        f"“{inline(row['subject'])}” by {byline(row)} ({row['commit'][:12]} of {code(row['repository'])})"
    )
    fact.commits.append(evidence_of(row, f"{which} of {len(all_rows):,}"))
    fact.sentences = [
        f"There {'are' if len(all_rows) != 1 else 'is'} {len(all_rows):,} such {noun_for('commit', len(all_rows))}."
    ]
    fact.unit = "date"
    return fact


def _find_path_change(work: Work, paths: PathNames) -> Fact | None:
    """Find who first, last or finally changed a file or directory."""
    request = work.request
    try:
        commit_fact = count_commits(work)
    except SourcelightError:
        return None

    table = commit_fact.tables[0]
    arguments = commit_arguments(work, [])
    rows = work.call("commit_search", arguments, changes=False).table.to_pylist()
    concrete = concrete_paths(work, paths)
    paths_text = _paths_text(request, concrete)
    rule = f"Counts changes under this name. {_NO_MERGES}" if request.paths else "Includes merges."
    fact = Fact(None, "", commit_fact.query, rule, notes=commit_fact.notes, unit="date")
    fact.unapplied = commit_fact.unapplied

    if not rows:
        fact.subject = f"No commit{describe_span(request)} changed {paths_text}"
        never = [path.source_text for path in request.paths if not (path.exists or path.was_there)]
        if never:
            fact.sentences.append(f"{describe_missing_paths(never)}.")
        return fact

    exists = bool(concrete)
    if request.event == "renamed":
        name = request.paths[0].glob.removeprefix("**/") if len(request.paths) == 1 else paths_text.strip("`")
        rename = find_rename(rows, _renames(work), name, exists=exists, target=request.value)
        if rename is None:
            return None
        _set_commit(fact, f"{code(rename.path)} {rename.verb}", rename.row, f"renamed {name}")
        fact.subject += f" ({rename.row['commit'][:12]} of {code(rename.row['repository'])})"
        table.title, fact.tables = "Commits", [table]
        return fact

    newest = request.is_last or request.event == "removed"
    is_whole = request.period.start is None and not request.base
    removals = removals_of(work, rows) if request.event == "removed" and request.paths and not exists else []
    row = removals[0] if removals else rows[0 if newest else -1]
    renames = _renames(work)
    if request.event == "added" and not request.is_last and is_whole and len(concrete) <= 1:
        origin = find_former_path(work, row, renames, concrete, paths)
        if origin is not None:
            return _state_origin(fact, paths_text, row, *origin)
        if renames and concrete and request.paths[0].glob.startswith("**/"):
            # A name without its directory means the file under its former paths, too.
            paths_text = code(request.paths[0].glob.removeprefix("**/"))

    subject = "The history" if not request.paths else paths_text
    verb = _verb_of(request.event, row, renames, is_newest=newest, is_removal=bool(removals), is_whole=is_whole)
    note = f"{'last' if newest else 'first'} to {'remove' if removals else 'change'} "
    note += ", ".join(path.source_text for path in request.paths) or "anything"
    _set_commit(fact, f"{among_commits(request)}{subject} {verb}", row, note)
    fact.subject += f" ({row['commit'][:12]} of {code(row['repository'])})"
    if request.event == "removed":
        _explain_removal(fact, exists=exists, is_removal=bool(removals))

    fact.sentences.append(f"{count_of(len(rows), 'commit')} changed it.")
    table.title, fact.tables = "Commits", [table]
    return fact


def _renames(work: Work) -> list[tuple[str, str, str, str]]:
    """Return the renames of the only file of a question, as `renames_of` has them; none for other questions."""
    request = work.request
    is_file = len(request.paths) == 1 and request.paths[0].is_file
    return renames_of(work, request.paths[0].pattern) if is_file and request.event != "changed" else []


def _explain_removal(fact: Fact, *, exists: bool, is_removal: bool) -> None:
    """Say why the newest commit of a path doesn't remove it, although the question says so."""
    if exists:
        fact.subject += "; it still exists in the searched commit"
    elif not is_removal:
        fact.unapplied.append("removed")
        fact.sentences.append("No commit except merges removed it.")


def _paths_text(request: FactRequest, concrete: Sequence[tuple[str, str]]) -> str:
    """Name the files or directories of a request; `concrete` are those that its paths mean."""
    if not request.paths:
        return "the history"

    names = [path.glob.removeprefix("**/") for path in request.paths]
    if len(request.paths) == 1 and not concrete and request.paths[0].glob.startswith("**/"):
        return f"a file named {code(names[0])}"  # one of several former files
    if len(request.paths) > 1 or not concrete:
        return " and ".join(map(code, names))
    if len(concrete) > 1 and request.paths[0].is_file:
        return f"one of {len(concrete):,} files named {code(names[0])}"

    # If a name means one file, its path is clearer than the search pattern.
    return code(concrete[0][1] if len(concrete) == 1 else names[0])


def _verb_of(
    event: str,
    row: dict[str, Any],
    renames: Sequence[tuple[str, str, str, str]],
    *,
    is_newest: bool,
    is_removal: bool,
    is_whole: bool,
) -> str:
    """Say what a commit did to a path; the first commit added it only if the whole history was searched."""
    key = row["repository"], row["commit"]
    new_path = next((new for *commit, _, new in renames if tuple(commit) == key), "")
    if event == "removed" and is_removal:
        return f"was renamed to {code(new_path)}" if new_path else "was removed"
    if event == "added" and not is_newest and is_whole:
        return "was added"

    # On another branch, the name may have been changed after it was removed: a later date alone isn't a removal.
    return "was last changed" if is_newest else "was first changed"


def _state_origin(fact: Fact, paths_text: str, renamed_row: dict[str, Any], former: str, row: dict[str, Any]) -> Fact:
    """State who added a file under its former path, and who gave it its name."""
    _set_commit(fact, f"{paths_text} was added as {code(former)}", row, f"first to change {former}")
    fact.subject += f" ({row['commit'][:12]} of {code(row['repository'])}), and renamed by {byline(renamed_row)}"
    fact.commits.append(evidence_of(renamed_row, "renamed it"))
    fact.rule = f"Renames are detected as in `git log -M`, which compares contents. {_NO_MERGES}"
    return fact


def _find_line_changes(work: Work) -> Fact | None:
    """Find the event of each name that a question joins by "and", else of any of them."""
    request = work.request
    if not request.every or not 1 < len(request.terms) <= _MAX_SUBJECTS:
        return _find_line_change(work)

    line_changes = []
    for term in request.terms:
        fact = _find_line_change(replace(work, request=replace(request, terms=(term,), every=False)))
        if fact is None:
            return None
        line_changes.append(fact)

    return join_facts(line_changes)


def _find_line_change(work: Work) -> Fact | None:
    """Find who first added, or last removed or changed, a line with a text."""
    request = work.request
    fact = Fact(None, "", "", unit="date")
    files = [path.pattern for path in request.paths]
    if request.event == "added":
        # A line of a file is as old as it was under the former names of the file.
        files += former_patterns(work)
    fact.unapplied += [*request.languages, *request.authors, *(path.source_text for path in request.without)]
    is_of_tests = request.tests is True and not files
    if is_of_tests:
        files = [test_files(request)]
    elif request.tests is not None:
        fact.unapplied.append("tests")

    if request.every and len(request.terms) > 1:
        fact.unapplied.append("and")

    arguments: dict[str, Any] = {
        "pattern": "|".join(_expression_of(term, request.value) for term in request.terms),
        "repos": work.names,
        **({request.event: True} if request.event in _LINE_VERBS else {}),
        **dates_of(work),
        **revisions_of(work),
        **({"files": files} if files else {}),
        "useRegex": True,
    }
    answer = work.call("diff_search", arguments)
    is_other_case = not answer.table.num_rows and not request.value
    if is_other_case:
        # People write names as a project does, and its code in small letters.
        arguments["pattern"] = f"(?i:{arguments['pattern']})"
        answer = work.call("diff_search", arguments)

    rows = answer.table.to_pylist()
    fact.query = format_call("diff_search", arguments)
    fact.notes = limiting_notices(answer)
    case = "in any case" if is_other_case else "case-sensitive"
    fact.rule = f"Searches changed lines for the text, {case}. A moved line counts as removed and added. {_NO_MERGES}"

    term_list = describe_terms(request, in_other_case=bool(rows) and is_other_case, of_tests=is_of_tests)

    past_verb, verb = _LINE_VERBS.get(request.event, ("changed", "change"))
    # It may be set in another form, such as an argument, and `Oven#open()` is written otherwise in code. A change in a
    # file may be told in other words.
    is_other_form = any(re.search(r"\w#\w|\(\)$", term.text) for term in request.terms)
    is_unsure = request.value or is_other_form or (request.event == "changed" and request.paths)
    # "When was the MSRV bumped?" names no text of code, and many lines speak of it.
    is_of_prose = is_other_case and request.event == "changed"
    if (not rows and is_unsure) or is_of_prose or _is_of_prose(work, rows):
        return None
    rows, restriction = (rows, "") if files or is_of_tests else first_rows_of_code(work, rows)
    if not rows:
        fact.subject = f"No commit{describe_span(request)} {past_verb} a line with {term_list}"
        return fact

    newest = request.is_last or request.event == "removed"
    order = _row_by_repository(rows, newest=newest)
    order = [{**row, **_commit_row(work, row)} for row in order[:_MAX_REPOSITORIES]] + order[_MAX_REPOSITORIES:]
    row = order[0]
    which = "last" if newest else "first"
    note = f"{which} to {verb} a line with `{request.terms[0].text}`"
    span = among_commits(request)
    _set_commit(
        fact, f"{span}{'a' if span else 'A'} line with {term_list} was {which} {past_verb}{restriction}", row, note
    )
    fact.subject += f", in {code(row['path'])} of {code(row['repository'])}"
    fact.tables = [_line_changes(order)] if len(order) > 1 else []
    # "Who added `open` to Gate": the line is in the file of this class, so that its name was understood.
    work.request = replace(
        request, ignored=tuple(word for word in request.ignored if not is_file_of(row["path"], word))
    )
    if request.event == "removed":
        fact.subject += describe_remaining_lines(work, fact.notes, case="no" if is_other_case else "yes")

    return fact


def _is_of_prose(work: Work, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a line with a word of English may be none of the thing that was added: a license says "merge".

    It is one if the subject or the path of its commit has the word, too.
    """
    if not rows or work.request.event != "added":
        return False
    names = [term.text for term in work.request.terms]
    is_prose = all(map(_WORD.fullmatch, names)) and _OF_CODE.search(work.inquiry.words) is None
    description = f"{rows[-1]['subject']} {rows[-1]['path']}".lower()
    return is_prose and not any(name in description for name in names)


def _expression_of(term: Term, value: str) -> str:
    """Write a line with a text as RE2; with a value, a line that sets it, and no comment or calculation with both."""
    if not value:
        return line_expression(term)
    # Nothing that opens a comment or a text precedes the name, except the keyword of a macro.
    before = r"^\s*(?:#\s*define\s+|[^#/;*\"'`=+-]*)"
    sign = r"[\"'\])]?\s*(?::\s*[\w.<>\[\]]+\s*)?(?:=|:=|:|=>|\s)\s*"
    return rf"{before}{line_expression(term)}{sign}[\"']?{escape_regexp(value)}(?:[^\w.]|\.?$)"


def _row_by_repository(rows: Sequence[dict[str, Any]], *, newest: bool) -> list[dict[str, Any]]:
    """Return the newest or the oldest row of each repository, sorted by date; `rows` are newest first."""
    row_by_repository: dict[str, dict[str, Any]] = {}
    for row in rows if newest else reversed(rows):
        row_by_repository.setdefault(row["repository"], row)
    return sorted(row_by_repository.values(), key=lambda row: row["commit_date"], reverse=newest)


def _line_changes(rows: Sequence[dict[str, Any]]) -> Rows:
    table = Rows("By repository", ("repository", "commit", "date", "author", "subject", "path"))
    for row in rows:
        values = (row["repository"], row["commit"][:12], day_of(row), row["author"], row["subject"], row["path"])
        table.add(values, evidence_of(row))
    return table


def _commit_row(work: Work, row: dict[str, Any]) -> dict[str, Any]:
    """Return the clocks of a commit's author and committer, which rows of changed lines don't have."""
    arguments = {"repos": [row["repository"]], "revisions": [row["commit"]], "count": 1}
    rows = work.call("commit_search", arguments, changes=False).table.to_pylist()
    return {name: rows[0][name] for name in ("author_utc_offset_min", "commit_utc_offset_min")} if rows else {}


def byline(row: dict[str, Any]) -> str:
    """Describe who wrote a commit and when: as `git log` shows it, and when it was committed if that is another day."""
    authored, committed = day_of(row), day_of(row, committed=True)
    later = f" (committed {committed})" if committed != authored else ""
    return f"{person_name(row['author'])} on {authored}{later}"


def _set_commit(fact: Fact, verb: str, row: dict[str, Any], note: str) -> None:
    fact.subject = f"{verb} by {byline(row)} in commit “{inline(row['subject'])}”"
    fact.commits.append(evidence_of(row, note))
