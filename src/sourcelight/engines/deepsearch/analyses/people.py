"""Analyses of people: the bus factor, who is no longer active, authors by year."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sourcelight.core.markup import code, count_of
from sourcelight.engines.deepsearch.analyses.requests import AnalysisRequest
from sourcelight.engines.deepsearch.facts.model import Fact, Rows
from sourcelight.engines.deepsearch.markdown import person_name

MIN_COMMITS = 10
"""Minimum commits of an author whose absence is mentioned: most contributors of a project have one or two."""

_INACTIVE_DAYS = 365
_SHOWN_PEOPLE = 3


def find_bus_factor(request: AnalysisRequest) -> Fact | None:
    """State the bus factor of each repository or path; None without lines."""
    fact = Fact(None, "", "", unit="authors")
    rows = request.call_each(fact, "bus_factor")
    paths = dict(request.locations)
    totals = [
        row for row in rows if row["lines"] and row["path"].rstrip("/") == paths.get(row["repository"], "").rstrip("/")
    ]
    if not totals:
        return None

    fact.subject = "; ".join(_state_bus_factor(request, row, paths[row["repository"]]) for row in totals)
    fact.subject = fact.subject[:1].upper() + fact.subject[1:]
    fact.rule = (
        "The bus factor is the fewest authors who wrote more than half of the current lines together, by blame. Lines "
        "of bots don't count."
    )
    table = Rows("Bus factor by directory", ("repository", "path", "bus_factor", "lines", "authors", "owners"))
    for row in rows:
        owners = list(row["owners"] or ())
        owner_names = ", ".join(_name_of(owner) for owner in owners[:_SHOWN_PEOPLE])
        suffix = f" and {len(owners) - _SHOWN_PEOPLE} more" if len(owners) > _SHOWN_PEOPLE else ""
        table.add(
            (row["repository"], row["path"], row["bus_factor"], row["lines"], row["authors"], owner_names + suffix)
        )

    fact.tables = [table]
    fact.repositories = Counter({row["repository"]: row["bus_factor"] for row in totals})
    return fact


def _state_bus_factor(request: AnalysisRequest, row: dict[str, Any], path: str) -> str:
    owners = [person_name(_name_of(owner)) for owner in row["owners"] or ()]
    people = request.list_names(owners)
    about = "" if row["exact"] else "about "
    subject = request.name_place(row["repository"], path) if path else code(row["repository"])
    share = f"{about}{100 * row['share']:.1f} %"
    of_lines = count_of(row["lines"], "current line")
    return f"the bus factor of {subject} is **{row['bus_factor']:,}**: {people} wrote {share} of {of_lines}"


def _name_of(person: str) -> str:
    return person.partition(" <")[0]


def list_inactive(request: AnalysisRequest) -> Fact | None:
    """List the authors with several commits but none in the year before the newest commit; None without a commit."""
    fact = Fact(None, "", "", unit="authors")
    rows = [row for row in request.call_together(fact, "contributors", lines=False) if not row["bot"]]
    dated = _join_names([row for row in rows if row["last_date"] is not None and row["commits"]])
    if not dated:
        return None

    newest = max(row["last_date"] for row in dated)
    since = newest - timedelta(days=_INACTIVE_DAYS)
    regular = [row for row in dated if row["commits"] >= MIN_COMMITS]
    inactive = sorted(
        (row for row in regular if row["last_date"] < since), key=lambda row: (-row["commits"], row["author"])
    )
    fact.rule = (
        f"An author counts with at least {MIN_COMMITS} commits, merges included, under all addresses of the name; bots "
        f"don't count. The year ends with the newest commit of an author, {newest:%Y-%m-%d}. That somebody has left "
        "isn't known here."
    )
    fact.repositories = Counter(request.repositories)
    has = "has" if len(inactive) == 1 else "have"
    if inactive or len(regular) < 2:
        of_people = f"**{len(inactive):,}** of {count_of(len(regular), 'author')}"
        fact.subject = f"{of_people} with at least {MIN_COMMITS} commits {has} none since {since:%Y-%m-%d}"
    else:
        of_people = f"Each of **{len(regular):,}** authors"
        fact.subject = f"{of_people} with at least {MIN_COMMITS} commits has one since {since:%Y-%m-%d}"

    if inactive:
        dated_names = [f"{person_name(row['author'])} (last on {row['last_date']:%Y-%m-%d})" for row in inactive]
        fact.subject += f": {request.list_names(dated_names)}"

    table = Rows("Authors without a recent commit", ("author", "commits", "first", "last"))
    for row in inactive:
        first, last = f"{row['first_date']:%Y-%m-%d}", f"{row['last_date']:%Y-%m-%d}"
        table.add((row["author"], row["commits"], first, last))

    fact.tables = [table]
    return fact


def _join_names(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each name: who writes under a new address hasn't left."""
    by_name: dict[str, dict[str, Any]] = {}
    for row in rows:
        before = by_name.setdefault(row["author"].casefold(), row)
        if before is not row:
            by_name[row["author"].casefold()] = {
                **before,
                "commits": before["commits"] + row["commits"],
                "first_date": min(before["first_date"], row["first_date"]),
                "last_date": max(before["last_date"], row["last_date"]),
            }

    return list(by_name.values())


def count_people_by_year(request: AnalysisRequest) -> Fact | None:
    """Count authors, or commits, of each year; None without a commit."""
    fact = Fact(None, "", "", unit="authors")
    people: set[tuple[int, str]] = set()
    commits: Counter[int] = Counter()
    first_years: dict[str, int] = {}
    for row in request.call_together(fact, "contributors", by=["year"], lines=False):
        if row["bot"] or not row["commits"] or row["period"] is None:
            continue
        year = row["period"].year
        person = row["author"].casefold()
        people.add((year, person))
        commits[year] += row["commits"]
        first_years[person] = min(first_years.get(person, year), year)

    if not people:
        return None

    authors = Counter(year for year, _ in people)
    newcomers = Counter(first_years.values())
    of_commits = request.question.unit == "commit"
    counts = commits if of_commits else authors
    years = range(min(authors), max(authors) + 1)
    best = min(counts, key=lambda year: (-counts[year], year))
    noun = "commit" if of_commits else "author"
    have = "" if of_commits else " has commits" if counts[best] == 1 else " have commits"
    fact.unit = f"{noun}s"
    fact.subject = f"**{counts[best]:,}** {noun}{'' if counts[best] == 1 else 's'}{have} in {best}, the most of a year"
    if len(years) > 1:
        recent = [year for year in years[-3:] if year != best]
        fact.subject += f"; {request.list_names([f'{counts[year]:,} in {year}' for year in recent])}"

    fact.rule = (
        "Years are those of committer dates, in UTC. Merges count. An author is a name with all of its addresses; "
        "bots don't count. The last year may not be over."
    )
    table = Rows("By year", ("year", "authors", "new_authors", "commits"))
    for year in years:
        table.add((str(year), authors[year], newcomers[year], commits[year]))

    fact.tables = [table]
    fact.repositories = Counter(request.repositories)
    return fact
