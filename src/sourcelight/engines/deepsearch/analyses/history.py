"""Analyses of history: hotspots, files that change together, the age of lines, changes of interfaces.

Each function calls one analysis of the engine, whose columns `columns_of` of the client describes, and says its first
rows in a sentence:

    `src/gate.py` is the first hotspot: 41 commits changed it, and it has 310 lines
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet

from sourcelight.core.markup import code, count_of
from sourcelight.core.markup.counts import join_names
from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.analyses.requests import (
    AnalysisRequest,
    AnalysisRows,
    Row,
    count_repositories,
    leading,
    make_table,
)
from sourcelight.engines.deepsearch.facts.model import CitedLine, Fact, Rows
from sourcelight.engines.deepsearch.facts.unparsed_definitions import PROGRAMMING_LANGUAGES
from sourcelight.engines.tools.history.changed_files import MAX_PAIRED_FILES, MIN_PAIR_COMMITS, MIN_PAIR_DEGREE

_MAX_PAIRS = 100
"""Maximum pairs of files that are listed: the sentence names the first, and a table has the others."""

_MIN_PARTNER_COMMITS = 2
"""Commits from which a file changes together with the one that the question names: one commit may be chance."""

_MIN_PERCENT = 0.1
"""Percentage below which a share is said to be less than this, as 0.0 % would say that there is none."""

_RULE_OF_FILES = "Merges don't count, and a renamed file keeps its commits."

_RULE_OF_PAIRS = (
    f"{_RULE_OF_FILES} Commits with more than {MAX_PAIRED_FILES} files don't count, because they change too much at "
    "once."
)

_PAIR_COLUMNS = ("repository", "path", "other_path", "shared_commits", "commits", "other_commits", "degree")


def rank_hotspots(request: AnalysisRequest) -> Fact | None:
    """Rank the source files that change most and are long; None without any."""
    answer = request.call_together("hotspots", **request.files, fileKinds=["source"])

    # A change log changes with each commit of some projects.
    rows = [row for row in answer.rows if language_of(row["path"]) in PROGRAMMING_LANGUAGES]
    if not rows or not rows[0]["score"]:
        return None

    first = rows[0]
    name = request.name_place(first["repository"], first["path"])
    return answer.fact(
        f"{name} is the first hotspot{request.path_clause}: {count_of(first['commits'], 'commit')} changed it, and it "
        f"has {count_of(first['lines'], 'line')}",
        unit="files",
        rule="A hotspot is a file of a programming language that changes often and is long: files are ranked by "
        f"commits times the logarithm of lines. {_RULE_OF_FILES} It says where work goes, and nothing about faults.",
        table=make_table("Hotspots", ("repository", "path", "commits", "authors", "lines", "score"), rows),
        repositories=count_repositories(rows),
    )


def rank_changed_files(request: AnalysisRequest) -> Fact | None:
    """Rank current files by the commits that changed them; None without any."""
    answer = request.call_together("hotspots", **request.files)
    if not answer.rows:
        return None

    rows = sorted(answer.rows, key=lambda row: (-row["commits"], row["repository"], row["path"]))
    best = leading(rows, "commits")
    names = join_names([request.name_place(row["repository"], row["path"]) for row in best])
    commits = f"{best[0]['commits']:,}"
    if len(best) > 1:
        subject = f"{names} were changed by the most commits{request.path_clause}: {commits} each"
    else:
        subject = f"{names} was changed by the most commits{request.path_clause}: {commits}"

    return answer.fact(
        subject,
        unit="files",
        rule=f"Counts the commits that changed each current file. {_RULE_OF_FILES}",
        table=make_table("Commits by file", ("repository", "path", "commits", "authors", "lines"), rows),
        repositories=count_repositories(rows),
    )


def rank_coupling(request: AnalysisRequest) -> Fact | None:
    """Rank the files that commits change together, or those that change with one file."""
    if request.paths:
        return _rank_partners(request, request.paths[0])
    return _rank_pairs(request)


def _rank_partners(request: AnalysisRequest, path: str) -> Fact:
    """Rank the files that change together with the one at `path`: any pair is an answer."""
    answer = request.call_together("coupling", minCommits=_MIN_PARTNER_COMMITS, minDegree=0.0)
    locations = set(request.locations)
    rows = [_turn(row, locations) for row in answer.rows if _has_file(row, locations)]
    rows.sort(key=lambda row: (-row["shared_commits"], row["other_path"]))

    subject = f"No file was changed together with {code(path)} in {_MIN_PARTNER_COMMITS} commits"
    if rows:
        best = leading(rows, "shared_commits")
        names = join_names([request.name_place(row["repository"], row["other_path"]) for row in best])
        verb, both = "changes", "both"
        if len(best) > 1:
            verb, both = "change", "each of them"
        subject = (
            f"{names} {verb} most often together with {code(path)}: {best[0]['shared_commits']:,} of the "
            f"{count_of(best[0]['commits'], 'commit')} that changed {code(path)} changed {both}"
        )

    return _coupling_fact(request, answer, subject, rows, f"A pair needs {_MIN_PARTNER_COMMITS} commits.")


def _rank_pairs(request: AnalysisRequest) -> Fact:
    """Rank all pairs that the analysis takes for coupled."""
    answer = request.call_together("coupling", limit=_MAX_PAIRS)
    subject = f"No files were changed together often enough in {MIN_PAIR_COMMITS} commits"
    if answer.rows:
        first = answer.rows[0]
        name = request.name_place(first["repository"], first["path"])
        other_name = request.name_place(first["repository"], first["other_path"])
        commits = count_of(first["shared_commits"], "commit")
        subject = f"{name} and {other_name} change together most often: {commits} changed both"

    threshold = f"A pair needs {MIN_PAIR_COMMITS} commits and a share of {100 * MIN_PAIR_DEGREE:.0f} %."
    return _coupling_fact(request, answer, subject, answer.rows, threshold)


def _coupling_fact(
    request: AnalysisRequest, answer: AnalysisRows, subject: str, rows: list[Row], threshold: str
) -> Fact:
    return answer.fact(
        subject,
        unit="files",
        rule=f"{_RULE_OF_PAIRS} {threshold}",
        table=make_table("Files that change together", _PAIR_COLUMNS, rows) if rows else None,
        repositories=Counter(request.repositories),
    )


def _has_file(row: Row, locations: AbstractSet[tuple[str, str]]) -> bool:
    return (row["repository"], row["path"]) in locations or (row["repository"], row["other_path"]) in locations


def _turn(row: Row, locations: AbstractSet[tuple[str, str]]) -> Row:
    """Return a pair with the requested file first."""
    if (row["repository"], row["path"]) in locations:
        return row
    return {
        **row,
        "path": row["other_path"],
        "other_path": row["path"],
        "commits": row["other_commits"],
        "other_commits": row["commits"],
    }


def find_oldest_lines(request: AnalysisRequest) -> Fact | None:
    """Find the year of the oldest current lines; None without lines or for several repositories."""
    if len(request.locations) != 1:
        return None

    answer = request.call_each("survival")
    rows = [row for row in answer.rows if row["surviving_lines"]]
    if not rows:
        return None

    rows.sort(key=lambda row: row["year"])
    total = sum(row["surviving_lines"] for row in rows)
    oldest = rows[0]
    about = "about " if any(not row["exact"] for row in rows) else ""
    percent = 100 * oldest["surviving_lines"] / total
    share = f"{percent:.1f} %"
    if percent < _MIN_PERCENT:
        share = f"less than {_MIN_PERCENT} %"

    table = Rows("Current lines by year", ("year", "surviving_lines", "share"))
    for row in rows:
        table.add((str(row["year"]), row["surviving_lines"], f"{100 * row['surviving_lines'] / total:.1f} %"))

    return answer.fact(
        f"The oldest current lines{request.path_clause} are from {oldest['year']}: {about}"
        f"{oldest['surviving_lines']:,} of {total:,} lines ({share})",
        unit="lines",
        rule="A line is as old as the commit that gave it its text, as in `git blame`, by committer date in UTC.",
        table=table,
        repositories=Counter({oldest["repository"]: total}),
    )


def compare_interfaces(request: AnalysisRequest) -> Fact | None:
    """List the public symbols that two revisions differ in; None for several repositories."""
    if len(request.locations) != 1:
        return None

    repository = request.repositories[0]
    base = request.question.base
    head = request.question.head
    answer = request.call("api_changes", {"repo": repository, "base": base, "head": head})
    rows = answer.rows
    span = f"between {code(base)} and {code(head)}"
    subject = f"No public symbol of Go, Java, Python or TypeScript differs {span}"
    if rows:
        symbols = "public symbol differs" if len(rows) == 1 else "public symbols differ"
        subject = f"**{len(rows):,}** {symbols} {span}: {_count_statuses(rows)}"

    return answer.fact(
        subject,
        unit="definitions",
        rule="Compares the public symbols of Go, Java, Python and TypeScript; their bodies aren't compared.",
        table=make_table("Public symbols", ("status", "module", "symbol", "kind"), rows, _cite_symbol)
        if rows
        else None,
        repositories=Counter({repository: len(rows)}),
    )


def _count_statuses(rows: list[Row]) -> str:
    """Return how many symbols have each status: ``2 added, 1 removed and 4 changed``."""
    counts = Counter(row["status"] for row in rows)
    statuses = ("added", "removed", "changed", "moved")
    return join_names([f"{counts[status]:,} {status}" for status in statuses if counts[status]])


def _cite_symbol(row: Row) -> CitedLine:
    """Return the line of a symbol in the newer revision, or in the older one if it was removed."""
    if row["path"] is None:
        return CitedLine(row["repository"], row["base"], row["old_path"], row["old_line_number"])
    return CitedLine(row["repository"], row["head"], row["path"], row["line_number"])
