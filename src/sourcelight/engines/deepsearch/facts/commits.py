"""Counts of commits and of the people behind them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from sourcelight.core.batches import persons
from sourcelight.core.markup import code, count_of
from sourcelight.core.markup.counts import join_names
from sourcelight.core.notices import repetition_notices
from sourcelight.core.query.languages import path_regex
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.model import CommitEvidence
from sourcelight.engines.deepsearch.facts.model import Fact, Rows, Work, format_call, limiting_notices
from sourcelight.engines.deepsearch.facts.paths import test_files
from sourcelight.engines.deepsearch.facts.searches import format_terms, noun_for
from sourcelight.engines.deepsearch.markdown import person_name
from sourcelight.engines.deepsearch.question.request import FactRequest, Term
from sourcelight.repos import matching_refs
from sourcelight.repos.objects.commits import at_offset

_MERGES_LEFT_OUT = (
    "Counts of commits by files or lines leave out merges, which have no changes of their own, as in `git log "
    "--no-merges --full-history`."
)

_MAX_PEOPLE = 4
"""Names of people that a sentence lists."""


_PERIODS = {
    "days": ("By day", "%Y-%m-%d"),
    # The week `%V` of ISO 8601 belongs to the year `%G`; `%Y` is another one around New Year.
    "weeks": ("By week", "%G-W%V"),
    "months": ("By month", "%Y-%m"),
    "years": ("By year", "%Y"),
}


def commit_arguments(work: Work, unapplied: list[str]) -> dict[str, Any]:
    """Make the arguments of `commit_search`; conditions without an argument are added to `unapplied`."""
    request = work.request
    arguments: dict[str, Any] = {"repos": work.names}
    files = [path.pattern for path in request.paths]
    if request.languages:
        # Paths of `commit_search` are alternatives, so they can't restrict languages as well.
        if files:
            unapplied += request.languages
        files = files or [path_regex(name) for name in request.languages]

    if request.tests is not None:
        if request.tests and not files:
            files = [test_files(request)]
        else:
            unapplied.append("tests")

    if request.without:
        unapplied += [path.source_text for path in request.without]

    if request.authors:
        arguments["authors"] = [author_expression(name) for name in request.authors]

    if request.messages:
        arguments["messageTerms"] = [message_expression(term) for term in request.messages]

    if request.terms and request.relation == "change":
        arguments["contentTerms"] = [line_expression(term) for term in request.terms]

    if files:
        arguments["files"] = files

    arguments |= dates_of(work) | revisions_of(work)
    # All of them are passed as regular expressions, so that literal text and patterns need one form.
    if any(name in arguments for name in ("authors", "messageTerms", "contentTerms", "files")):
        arguments["useRegex"] = True

    return arguments


def dates_of(work: Work) -> dict[str, str]:
    """Return the bounds of committer dates as arguments."""
    period = work.request.period
    bounds = {"after": period.after, "before": period.before}
    return {name: value for name, value in bounds.items() if value}


def revisions_of(work: Work) -> dict[str, list[str]]:
    """Return the revisions whose history counts as arguments."""
    request = work.request
    head = request.head or work.revision
    if not head and not request.base:
        return {}
    return {"revisions": [head or "HEAD", *([f"^{request.base}"] if request.base else [])]}


def message_expression(term: Term) -> str:
    """Write a text of a message as RE2, in any case."""
    return rf"(?i)\b{escape_regexp(term.text)}\b" if term.is_word else f"(?i){escape_regexp(term.text)}"


def author_expression(name: str) -> str:
    """Write a person's name as RE2, in any case: "Lee" is no part of "Kathleen"."""
    # A boundary of RE2 is one of ASCII, which a letter with an accent has on neither side.
    prefix = r"\b" if re.match(r"\w", name, re.ASCII) else ""
    right = r"\b" if re.search(r"\w$", name, re.ASCII) else ""
    return f"(?i){prefix}{escape_regexp(name)}{right}"


def line_expression(term: Term) -> str:
    """Write a text of a line as RE2: literally, or as a whole word."""
    escaped = escape_regexp(term.text)
    # "mill set" is no part of "a mill setup".
    is_whole = term.is_word or " " in term.text
    prefix = r"\b" if is_whole and re.match(r"\w", term.text) else ""
    right = r"\b" if is_whole and re.search(r"\w$", term.text) else ""
    return f"{prefix}{escaped}{right}"


def evidence_of(row: dict[str, Any], note: str = "") -> CommitEvidence:
    """Make evidence of a row of ``commits`` or ``diff_lines``."""
    when = row["author_date"] or row["commit_date"]
    return CommitEvidence(
        row["repository"],
        row["commit"],
        row["subject"],
        row["author"],
        at_offset(when, row.get("author_utc_offset_min") or 0).isoformat(),
        "",
        "history",
        0.0,
        note,
    )


def conditions(work: Work, *, is_single: bool = False) -> str:
    """Describe the conditions on commits; `is_single` for a sentence about a single commit."""
    request = work.request
    change = "changes" if is_single else "change"
    parts = []
    if request.is_by_bots:
        parts.append(" by bots")

    if request.authors:
        parts.append(f" by {' or '.join(code(name) for name in request.authors)}")

    if request.messages:
        parts.append(
            f" whose {'message has' if is_single else 'messages have'} "
            f"{format_terms(request.messages, every=request.every_message)}"
        )

    if request.terms and request.relation == "change":
        verb = {"added": "add", "removed": "remove"}.get(request.side, "add or remove")
        verb = " or ".join(f"{word}s" for word in verb.split(" or ")) if is_single else verb
        parts.append(f" that {verb} a line with {' or '.join(code(term.text) for term in request.terms)}")

    if request.languages:
        parts.append(f" that {change} files of {' or '.join(request.languages)}")

    if request.paths:
        parts.append(f" that {change} {' or '.join(code(path.glob) for path in request.paths)}")

    if request.tests:
        parts.append(f" that {change} tests")

    return "".join(parts) + describe_span(request)


def among_commits(request: FactRequest) -> str:
    """Begin a sentence that only holds for a span of the history; empty if all of it counts."""
    span = describe_span(request)
    return f"Among commits{span}, " if span else ""


def describe_span(request: FactRequest) -> str:
    """Describe the revisions and dates between which commits count; empty if all of them do."""
    ancestor_texts = [f"reachable from {code(request.head)}"] if request.head else []
    ancestor_texts += [f"not reachable from {code(request.base)}"] if request.base else []
    spans = [" and ".join(ancestor_texts), request.period.text]
    return "".join(f" {span}" for span in spans if span)


def count_commits(work: Work) -> Fact:
    """Count commits."""
    fact = Fact(0, "", "", unit="commits")
    rows = _find_commits(work, fact)
    noun = "merge" if work.request.merges else "commit"
    fact.number = len(rows)
    fact.subject = f"{noun_for(noun, len(rows))}{conditions(work, is_single=len(rows) == 1)}{_list_people(work, rows)}"
    fact.rule += (
        "Counts the searched commit and its ancestors. Periods use committer dates in UTC; days appear as in `git log`."
    )
    fact.repositories = Counter(row["repository"] for row in rows)
    table = Rows("Commits", ("repository", "commit", "date", "author", "subject"))
    for row in rows:
        table.add((row["repository"], row["commit"][:12], day_of(row), row["author"], row["subject"]), evidence_of(row))

    fact.tables = [table, people_table(rows)]
    if request_period := _PERIODS.get(work.request.group):
        fact.tables.insert(0, _period_table(rows, *request_period))

    fact.sentences += repetition_notices(len(rows), len({row["commit"] for row in rows}))
    if not rows and work.request.authors:
        fact.sentences.append("No author's name or address contains this text.")

    return fact


def _list_people(work: Work, rows: Sequence[dict[str, Any]]) -> str:
    """List the people whose commits a name counts, if they are several; empty for one: "Richard" may be two people."""
    by_name = Counter(row["author"] for row in rows) if work.request.authors else Counter()
    if len(by_name) < 2:
        return ""
    names = [f"{person_name(name)} ({number:,})" for name, number in by_name.most_common()]
    return f": {join_names(names, _MAX_PEOPLE)}"


def _find_commits(work: Work, fact: Fact) -> list[dict[str, Any]]:
    """Find the commits of a request, newest first, with, without or only merges as the request says."""
    request = work.request
    if request.terms and request.relation == "change" and request.side:
        rows = _find_by_side(work, fact)
    else:
        arguments = commit_arguments(work, fact.unapplied)
        fact.query = format_call("commit_search", arguments)
        answer = work.call("commit_search", arguments, changes=False)
        # Notices about missing changes matter only to conditions on changes.
        of_changes = {"files", "contentTerms"} & arguments.keys()
        fact.notes += [text for text in limiting_notices(answer) if of_changes or "the changes of" not in text]
        rows = answer.table.to_pylist()

    # A call finds messages with any of its texts.
    if request.every_message and len(request.messages) > 1:
        fact.sentences.append("Only rows whose messages have all of the texts count.")
        texts = [re.compile(message_expression(term)) for term in request.messages]
        rows = [row for row in rows if all(text.search(row.get("message") or "") for text in texts)]

    if request.is_by_bots:
        fact.sentences.append("Only commits of bots count: authors whose name or address matches a rule for bots.")
        rows = [row for row in rows if row.get("bot")]

    merges = [row for row in rows if len(row.get("parents") or ()) > 1]
    if request.merges is True:
        fact.sentences.append("Only commits with two or more parents count.")
        return merges

    if request.merges is False:
        fact.sentences.append(
            f"Only commits with at most one parent count; "
            f"{count_of(len(merges), 'merge')} {'are' if len(merges) != 1 else 'is'} left out."
        )
        return [row for row in rows if len(row.get("parents") or ()) <= 1]

    if merges:
        fact.rule = f"The count includes {count_of(len(merges), 'merge')}. "

    if request.paths or request.languages or request.terms or request.tests:
        fact.rule = f"{_MERGES_LEFT_OUT} "

    return rows


def _find_by_side(work: Work, fact: Fact) -> list[dict[str, Any]]:
    arguments: dict[str, Any] = {
        "pattern": "|".join(line_expression(term) for term in work.request.terms),
        "repos": work.names,
        work.request.side: True,
    }
    arguments_of_commits = commit_arguments(work, fact.unapplied)
    arguments |= {
        name: arguments_of_commits[name]
        for name in ("authors", "files", "after", "before", "revisions")
        if name in arguments_of_commits
    }
    arguments["useRegex"] = True
    fact.query = format_call("diff_search", arguments) + ".drop_duplicates(['repository', 'commit'])"
    answer = work.call("diff_search", arguments)
    fact.notes += limiting_notices(answer)

    # Rows are lines; a dictionary keeps one per commit, in order.
    return list({(row["repository"], row["commit"]): row for row in answer.table.to_pylist()}.values())


def _period_table(rows: Sequence[dict[str, Any]], title: str, form: str) -> Rows:
    """Make the table of months, years or days, by committer date in UTC."""
    table = Rows(title, (title.removeprefix("By "), "commits"))
    # The clock that `after` and `before` filter by: with authors' own days, commits would leave their period.
    counts = Counter((row["commit_date"] or row["author_date"]).strftime(form) for row in rows)
    for name, number in sorted(counts.items()):
        table.add((name, number))
    return table


def day_of(row: dict[str, Any], *, committed: bool = False) -> str:
    """Return the day on which a commit was written (or committed), by its author's own clock, as `git log` shows it."""
    when = row["commit_date"] if committed else row["author_date"]
    when = when or row["author_date"] or row["commit_date"]
    offset_min = row.get("commit_utc_offset_min" if committed else "author_utc_offset_min") or 0
    return str(at_offset(when, offset_min).strftime("%Y-%m-%d"))


def people_of(rows: Sequence[dict[str, Any]]) -> dict[persons.Pair, list[dict[str, Any]]]:
    """Return commits by person: by address after the mailmap, or by name without an address."""
    by_person: dict[persons.Pair, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_person[_person_of(row)].append(row)
    return by_person


def _person_of(row: dict[str, Any]) -> persons.Pair:
    return persons.person_key(row["author"], row["author_email"] or "")


def people_table(rows: Sequence[dict[str, Any]]) -> Rows:
    """Make the table of people, most commits first."""
    table = Rows("Authors", ("author", "address", "commits"))
    people = people_of(rows)
    for _, commits_of_person in sorted(people.items(), key=lambda item: (-len(item[1]), item[0])):
        names = Counter(row["author"] for row in commits_of_person)
        name = max(names.items(), key=lambda pair: (pair[1], pair[0]))[0]
        address = (commits_of_person[0]["author_email"] or name).casefold()
        table.add((name, address, len(commits_of_person)))
    return table


def commits_by_name(table: Rows, *, is_bot: bool | None = None) -> dict[str, tuple[int, int]]:
    """Return the commits and the number of addresses of each name of `people_table`, in its order.

    A person with several addresses that no mailmap joins is one person to a reader, as in owners of lines.

    Parameters
    ----------
    table
        Names, addresses and numbers of commits.
    is_bot
        Whether only names and addresses of programs count (True), or only other ones (False).
    """
    by_name: dict[str, tuple[int, int]] = {}
    for name, address, number in table.rows:
        if is_bot is not None and persons.is_bot(name, address) != is_bot:
            continue
        commits, addresses = by_name.get(name, (0, 0))
        by_name[name] = commits + number, addresses + 1
    return by_name


def count_authors(work: Work) -> Fact:
    """Count people with commits."""
    fact = Fact(0, "", "", unit="authors", adds_up=False)
    rows = _find_commits(work, fact)
    people = people_of(rows)
    pairs = {(row["author"], row["author_email"]) for row in rows}
    fact.number = len(people)
    names = {row["author"] for row in rows}
    by_address = f" ({count_of(len(names), 'name')})" if len(names) < len(people) else ""
    have = "have" if len(people) != 1 else "has"
    fact.subject = f"{noun_for('author', len(people))}{by_address} {have} commits{conditions(work)}"
    fact.rule += (
        "An author is an address after the mailmap, ignoring case. Co-authors without a commit of their own don't "
        "count."
    )
    if len(pairs) != len(people):
        fact.sentences.append(f"`git shortlog -sne` lists {count_of(len(pairs), 'combination')} of name and address.")

    bots = sum(all(row.get("bot") for row in commits_of_person) for commits_of_person in people.values())
    if bots:
        fact.sentences.append(f"{bots:,} of them {'match' if bots != 1 else 'matches'} a rule for bots.")

    # People can have commits in several repositories, so these counts don't add up (`adds_up`).
    per: dict[str, set[persons.Pair]] = defaultdict(set)
    for row in rows:
        per[row["repository"]].add(_person_of(row))

    fact.repositories = Counter({name: len(commits_of_person) for name, commits_of_person in per.items()})
    fact.tables = [people_table(rows)]
    return fact


def count_refs(work: Work) -> Fact:
    """Count branches or tags."""
    kind = work.request.kind
    prefix = "refs/tags/" if kind == "tags" else "refs/heads/"
    noun = "tag" if kind == "tags" else "branch"
    fact = Fact(0, "", f"git for-each-ref {prefix}", unit=kind)
    table = Rows(kind.capitalize(), ("repository", noun, "commit"))

    # A repository that is pinned at several revisions has its refs once.
    for target in {target.repository.key: target for target in work.targets}.values():
        if target.repository.kind != "git":
            continue
        cancellation = work.inquiry.context.cancellation
        for name, commit in matching_refs(target.repository, lambda name: name.startswith(prefix), cancellation):
            table.add((target.repository.name, name.removeprefix(prefix), commit[:12]))
            fact.repositories[target.repository.name] += 1

    fact.number = table.total
    fact.subject = noun_for(noun, table.total)
    fact.rule = (
        "Counts git tags. A release of a hosting service without a tag doesn't count."
        if kind == "tags"
        else "Counts the branches of the clone, including branches that only its remote has."
    )
    fact.tables = [table]
    return fact
