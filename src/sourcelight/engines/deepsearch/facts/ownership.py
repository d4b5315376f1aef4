"""Owners of files by CODEOWNERS, authors of most lines by blame, and people by the number of their commits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Any

from sourcelight.core.markup import code, count_of
from sourcelight.core.markup.counts import join_names
from sourcelight.engines.deepsearch.facts.commits import commits_by_name, conditions, count_commits
from sourcelight.engines.deepsearch.facts.model import Fact, Rows, Work, format_call, limiting_notices
from sourcelight.engines.deepsearch.facts.paths import PathNames
from sourcelight.engines.deepsearch.facts.searches import make_queries, noun_for
from sourcelight.engines.deepsearch.markdown import person_name
from sourcelight.engines.execution.results.owners import OwnerPredicate
from sourcelight.engines.search.definition_lookup import is_missing

_MAX_OWNED = 5
"""Repositories that are blamed for one question: each may take minutes the first time."""


def find_owners(work: Work, paths: PathNames) -> Fact | None:
    """Find owners by CODEOWNERS; None if no file of the path has any."""
    engine = work.inquiry.context.local
    ownership = OwnerPredicate(engine.store.read, partial(is_missing, engine.store))
    counts: Counter[str] = Counter()
    matching = 0
    table = Rows("Owners", ("repository", "path", "owners"))
    for target in work.targets:
        rules = ownership.of(target)
        if rules is None:
            continue

        for path in paths.paths.get((target.repository.name, target.commit), ()):
            if any(re.search(scope.pattern, path) for scope in work.request.paths):
                owners = rules.owners(path)
                matching += 1
                counts.update(owners)
                if owners:
                    table.add((target.repository.name, path, " ".join(owners)))

    if not counts:
        return None

    first = max(counts.values())
    names = [name for name, number in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if number == first]
    of_files = "" if first == matching else f"{first:,} of the {count_of(matching, 'file')} of "
    fact = Fact(
        None,
        f"According to CODEOWNERS, {', '.join(code(name) for name in names)} {'own' if len(names) > 1 else 'owns'} "
        f"{of_files}{' and '.join(code(path.glob) for path in work.request.paths)}",
        "",
        unit="owners",
    )
    fact.query = make_queries(work, "select:file.owners")[0]
    fact.notes += [f"{name}: the CODEOWNERS file can't be read" for name in sorted(ownership.missing)]
    have = "have" if table.total != 1 else "has"
    fact.rule = f"Counts files by the rules of CODEOWNERS; {count_of(table.total, 'file')} {have} an owner."
    fact.tables = [table]
    return fact


def find_main_author(work: Work, paths: PathNames) -> Fact | None:
    """Find the author of most current lines, by blame."""
    request = work.request
    targets = concrete_paths(work, paths) if request.paths else [(name, "") for name in work.names]
    if not targets:
        return None

    notes = []
    if len(targets) > _MAX_OWNED:
        notes.append(
            f"Only the lines of the first {_MAX_OWNED} of {len(targets):,} paths were counted. Name a path to count "
            "its lines."
        )

    blame = _count_lines(work, targets[:_MAX_OWNED])
    if not blame.lines:
        return None

    names = " and ".join(
        code((f"{repository}/{path}" if len(work.inquiry.pins) > 1 else path) if path else repository)
        for repository, path in targets[:_MAX_OWNED]
    )
    subject, queries = _state_main_author(blame, names), "  +  ".join(blame.queries)
    fact = Fact(None, subject, queries, unit="lines", notes=[*notes, *blame.notes])
    fact.rule = "Counts current lines by author, as in `git blame`. An author is an address."
    if not blame.is_exact:
        fact.rule += " Not every line is compared with `git blame`; `exact=True` compares all."

    if request.event == "owner":
        fact.sentences.append("No CODEOWNERS file names an owner, so this is the main author.")

    fact.tables = [_lines_by_author(blame.lines)]
    fact.adds_up = False
    if request.period.text:
        fact.unapplied.append(request.period.text)

    # Blame is of whole files and directories: a note tells if narrower filters aren't applied.
    fact.unapplied += [*request.languages, *(path.source_text for path in request.without)]
    if request.tests is not None:
        fact.unapplied.append("tests")

    return fact


def find_people(work: Work) -> Fact:
    """Return everyone with commits, most commits first."""
    fact = count_commits(work)
    table = fact.tables[1]
    if not table.rows:
        fact.number, fact.subject = None, f"No author has commits{conditions(work)}"
        return fact

    is_fewest = work.request.is_fewest
    # "Who" asks for a person: programs are named after them, unless nobody else has commits.
    by_name = commits_by_name(table, is_bot=False) or commits_by_name(table)
    programs = {} if by_name == commits_by_name(table) else commits_by_name(table, is_bot=True)
    best = (min if is_fewest else max)(commits for commits, _ in by_name.values())
    first = [name for name, (commits, _) in by_name.items() if commits == best]
    addresses = max(by_name[name][1] for name in first)
    under = f", under {addresses:,} addresses" if len(first) == 1 and addresses > 1 else ""
    names = join_names([person_name(name) for name in first], 5)
    merges = "merge" if work.request.merges else "commit"
    fact.sentences.insert(
        0,
        f"{count_of(table.total, 'author')} {'have' if table.total != 1 else 'has'} "
        f"{fact.number:,} {noun_for(merges, fact.number or 0)}{conditions(work)}.",
    )
    fact.number = None
    busiest, (commits, _) = max(programs.items(), key=itemgetter(1), default=("", (0, 0)))
    is_beaten = bool(programs) and not is_fewest and commits >= best
    fact.subject = (
        f"{'Apart from bots, ' if is_beaten else ''}{names} {'have' if len(first) > 1 else 'has'} "
        f"the {'fewest' if is_fewest else 'most'} "
        f"{noun_for(merges, 2)}{conditions(work)}: {best:,}{' each' if len(first) > 1 else ''}{under}"
    )
    if is_beaten:
        fact.sentences.append(
            f"{person_name(busiest)}, a bot, has {'more' if commits > best else 'as many'}: {commits:,}."
        )

    fact.rule += (
        " The table has one row per address, after the mailmap; the first sentence adds up all addresses of a name."
    )
    # A truncated table has the people with the most commits: reversed, it would begin with the wrong ones.
    if is_fewest and table.total == len(table.rows):
        order = sorted(range(len(table.rows)), key=lambda index: (table.rows[index][2], table.rows[index][1]))
        table.rows, table.citations = (
            [table.rows[index] for index in order],
            [table.citations[index] for index in order],
        )

    fact.tables = [table]
    fact.unit, fact.per = "authors", "commits"
    fact.adds_up = False
    return fact


def _state_main_author(blame: _LineCounts, names: str) -> str:
    """State who wrote the most lines of `names`, which are files, directories or repositories."""
    # A person with two addresses that no mailmap joins is one person to a reader.
    by_name: Counter[str] = Counter()
    for (author, _), number in blame.lines.items():
        by_name[author] += number

    name, number = min(by_name.items(), key=lambda item: (-item[1], item[0]))
    addresses = sum(author == name for author, _ in blame.lines)
    under = f", under {addresses} addresses" if addresses > 1 else ""
    probably, about = ("", "") if blame.is_exact else ("probably ", "about ")
    return (
        f"{person_name(name)} {probably}wrote the most lines of {names}: {about}{number:,} of "
        f"{blame.lines.total():,}{under}"
    )


@dataclass(slots=True)
class _LineCounts:
    """Current lines by name and address of their author; `is_exact` if all were compared with `git blame`."""

    lines: Counter[tuple[str, str]] = field(default_factory=Counter)
    queries: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_exact: bool = True


def _count_lines(work: Work, targets: Sequence[tuple[str, str]]) -> _LineCounts:
    """Count the lines of targets, each a repository and a path; an empty path is the whole repository."""
    counts = _LineCounts()
    for repository, path in targets:
        arguments: dict[str, Any] = {
            "repo": repository,
            **({"path": path} if path else {}),
            **({"revision": work.revision} if work.revision else {}),
            # Comparing each line of a whole repository with `git blame` may take minutes.
            **({"exact": True} if path else {}),
        }
        answer = work.call("ownership", arguments)
        counts.is_exact = counts.is_exact and all(answer.table.column("exact").to_pylist())
        counts.queries.append(format_call("ownership", arguments))
        counts.notes += limiting_notices(answer)
        for row in answer.table.to_pylist():
            counts.lines[row["author"], row["author_email"]] += row["lines"]

    return counts


def _lines_by_author(counts: Counter[tuple[str, str]]) -> Rows:
    table = Rows("Lines by author", ("author", "address", "lines", "share"))
    for (name, address), number in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        table.add((name, address, number, f"{100 * number / counts.total():.1f} %"))
    return table


def concrete_paths(work: Work, paths: PathNames) -> list[tuple[str, str]]:
    """Return repository and path of the files that the paths of a request mean."""
    concrete: dict[tuple[str, str], None] = {}
    for scope in work.request.paths:
        for (repository, _), files in paths.paths.items():
            for path in files:
                match = re.search(scope.pattern, path)
                if match is not None:
                    concrete[repository, path if scope.is_file else path[: match.end()].rstrip("/")] = None

    return list(concrete)
