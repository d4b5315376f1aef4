"""Analyses of people: the bus factor, who is no longer active, authors by year."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sourcelight.core.markup import code, count_of, plural
from sourcelight.core.markup.counts import join_names
from sourcelight.engines.deepsearch.analyses.requests import AnalysisRequest, Row, make_table
from sourcelight.engines.deepsearch.facts.model import Fact, Rows
from sourcelight.engines.deepsearch.markdown import person_name

MIN_COMMITS = 10
"""Minimum commits of an author whose absence is mentioned: most contributors of a project have one or two."""

_INACTIVE_DAYS = 365
"""Days without a commit, up to the newest commit of all, after which an author counts as inactive."""

_RECENT_YEARS = 3
"""Last years whose numbers the sentence has, beside the greatest of all."""

_MAX_OWNERS = 3
"""Maximum owners of a directory that a row of the table names."""


def find_bus_factor(request: AnalysisRequest) -> Fact | None:
    """State the bus factor of each repository or path; None without lines."""
    answer = request.call_each("bus_factor")
    paths = dict(request.locations)
    totals = [row for row in answer.rows if row["lines"] and _is_of_path(row, paths.get(row["repository"], ""))]
    if not totals:
        return None

    subject = "; ".join(_state_bus_factor(request, row, paths[row["repository"]]) for row in totals)
    directories = [{**row, "owners": _list_owners(row["owners"] or ())} for row in answer.rows]
    columns = ("repository", "path", "bus_factor", "lines", "authors", "owners")
    return answer.fact(
        subject[:1].upper() + subject[1:],
        unit="authors",
        rule="The bus factor is the fewest authors who wrote more than half of the current lines together, by blame. "
        "Lines of bots don't count.",
        table=make_table("Bus factor by directory", columns, directories),
        repositories=Counter({row["repository"]: row["bus_factor"] for row in totals}),
    )


def _is_of_path(row: Row, path: str) -> bool:
    """Return whether a row is about a path as a whole, not about a directory below."""
    return bool(row["path"].rstrip("/") == path.rstrip("/"))


def _state_bus_factor(request: AnalysisRequest, row: Row, path: str) -> str:
    subject = code(row["repository"])
    if path:
        subject = request.name_place(row["repository"], path)
    people = join_names([person_name(_name_of(owner)) for owner in row["owners"] or ()])
    about = "" if row["exact"] else "about "
    share = f"{about}{100 * row['share']:.1f} %"
    of_lines = count_of(row["lines"], "current line")
    return f"the bus factor of {subject} is **{row['bus_factor']:,}**: {people} wrote {share} of {of_lines}"


def _list_owners(owners: Sequence[str]) -> str:
    """Return the names of the first owners, and how many more there are."""
    names = ", ".join(_name_of(owner) for owner in owners[:_MAX_OWNERS])
    if len(owners) > _MAX_OWNERS:
        return f"{names} and {len(owners) - _MAX_OWNERS} more"
    return names


def _name_of(person: str) -> str:
    """Return the name of ``Ada <ada@example.org>``."""
    return person.partition(" <")[0]


def list_inactive(request: AnalysisRequest) -> Fact | None:
    """List the authors with several commits but none in the year before the newest commit; None without a commit."""
    answer = request.call_together("contributors", lines=False)
    people = [row for row in answer.rows if not row["bot"] and row["last_date"] is not None and row["commits"]]
    authors = _merge_addresses(people)
    if not authors:
        return None

    newest = max(row["last_date"] for row in authors)
    since = newest - timedelta(days=_INACTIVE_DAYS)
    regular = [row for row in authors if row["commits"] >= MIN_COMMITS]
    inactive = [row for row in regular if row["last_date"] < since]
    inactive.sort(key=lambda row: (-row["commits"], row["author"]))

    table = Rows("Authors without a recent commit", ("author", "commits", "first", "last"))
    for row in inactive:
        table.add((row["author"], row["commits"], f"{row['first_date']:%Y-%m-%d}", f"{row['last_date']:%Y-%m-%d}"))

    return answer.fact(
        _state_inactive(regular, inactive, f"{since:%Y-%m-%d}"),
        unit="authors",
        rule=f"An author counts with at least {MIN_COMMITS} commits, merges included, under all addresses of the name; "
        f"bots don't count. The year ends with the newest commit of an author, {newest:%Y-%m-%d}. That somebody has "
        "left isn't known here.",
        table=table,
        repositories=Counter(request.repositories),
    )


def _state_inactive(regular: Sequence[Row], inactive: Sequence[Row], since: str) -> str:
    """Return how many of the regular authors have no commit since a day, and their names."""
    condition = f"with at least {MIN_COMMITS} commits"
    if not inactive and len(regular) > 1:
        return f"Each of **{len(regular):,}** authors {condition} has one since {since}"

    has = "has" if len(inactive) == 1 else "have"
    subject = f"**{len(inactive):,}** of {count_of(len(regular), 'author')} {condition} {has} none since {since}"
    if not inactive:
        return subject
    names = [f"{person_name(row['author'])} (last on {row['last_date']:%Y-%m-%d})" for row in inactive]
    return f"{subject}: {join_names(names)}"


def _merge_addresses(rows: Sequence[Row]) -> list[Row]:
    """Return one row for each name: who writes under a new address hasn't left."""
    by_name: dict[str, Row] = {}
    for row in rows:
        name = row["author"].casefold()
        previous = by_name.get(name)
        if previous is None:
            by_name[name] = row
            continue
        by_name[name] = {
            **previous,
            "commits": previous["commits"] + row["commits"],
            "first_date": min(previous["first_date"], row["first_date"]),
            "last_date": max(previous["last_date"], row["last_date"]),
        }

    return list(by_name.values())


def count_people_by_year(request: AnalysisRequest) -> Fact | None:
    """Count authors, or commits, of each year; None without a commit."""
    answer = request.call_together("contributors", by=["year"], lines=False)
    numbers = _count_years(answer.rows)
    if not numbers.commits:
        return None

    noun, counts = "author", numbers.authors
    if request.question.unit == "commit":
        noun, counts = "commit", numbers.commits

    years = range(min(numbers.authors), max(numbers.authors) + 1)
    table = Rows("By year", ("year", "authors", "new_authors", "commits"))
    for year in years:
        table.add((str(year), numbers.authors[year], numbers.new_authors[year], numbers.commits[year]))

    return answer.fact(
        _state_best_year(years, counts, noun),
        unit=f"{noun}s",
        rule="Years are those of committer dates, in UTC. Merges count. An author is a name with all of its addresses; "
        "bots don't count. The last year may not be over.",
        table=table,
        repositories=Counter(request.repositories),
    )


@dataclass(frozen=True, slots=True)
class _YearNumbers:
    """Numbers by year: authors, those whose first commit is of that year, and commits."""

    authors: Counter[int]
    new_authors: Counter[int]
    commits: Counter[int]


def _count_years(rows: Sequence[Row]) -> _YearNumbers:
    people: set[tuple[int, str]] = set()
    commits: Counter[int] = Counter()
    first_years: dict[str, int] = {}
    for row in rows:
        if row["bot"] or not row["commits"] or row["period"] is None:
            continue
        year = row["period"].year
        person = row["author"].casefold()
        people.add((year, person))
        commits[year] += row["commits"]
        first_years[person] = min(first_years.get(person, year), year)

    return _YearNumbers(Counter(year for year, _ in people), Counter(first_years.values()), commits)


def _state_best_year(years: range, counts: Counter[int], noun: str) -> str:
    """Return the year with the most authors or commits, and the numbers of the last years."""
    best = min(counts, key=lambda year: (-counts[year], year))
    number = f"**{counts[best]:,}** {noun if counts[best] == 1 else plural(noun)}"
    if noun == "author":
        number += " has commits" if counts[best] == 1 else " have commits"

    subject = f"{number} in {best}, the most of a year"
    if len(years) == 1:
        return subject
    recent = [f"{counts[year]:,} in {year}" for year in years[-_RECENT_YEARS:] if year != best]
    return f"{subject}; {join_names(recent)}"
