"""Analyses of history: hotspots, files that change together, the age of lines, changes of interfaces."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sourcelight.core.markup import code, count_of
from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.analyses.requests import AnalysisRequest
from sourcelight.engines.deepsearch.facts.model import CitedLine, Fact, Rows
from sourcelight.engines.deepsearch.facts.unparsed_definitions import PROGRAMMING_LANGUAGES

_MAX_PAIRS = 100
_MIN_PERCENT = 0.1
_RULE_OF_FILES = "Merges don't count, and a renamed file keeps its commits."


def rank_hotspots(request: AnalysisRequest) -> Fact | None:
    """Rank the source files that change most and are long; None without any."""
    fact = Fact(None, "", "", unit="files")
    rows = request.call_together(fact, "hotspots", **request.files, fileKinds=["source"])

    # A change log changes with each commit of some projects.
    rows = [row for row in rows if language_of(row["path"]) in PROGRAMMING_LANGUAGES]
    if not rows or not rows[0]["score"]:
        return None

    best = rows[0]
    fact.subject = (
        f"{request.name_place(best['repository'], best['path'])} is the first hotspot{request.path_clause}: "
        f"{count_of(best['commits'], 'commit')} changed it, and it has {count_of(best['lines'], 'line')}"
    )
    fact.rule = (
        "A hotspot is a file of a programming language that changes often and is long: files are ranked by commits "
        f"times the logarithm of lines. {_RULE_OF_FILES} It says where work goes, and nothing about faults."
    )
    columns = ("repository", "path", "commits", "authors", "lines", "score")
    table = Rows("Hotspots", columns)
    for row in rows:
        table.add(tuple(round(row[name], 3) if name == "score" else row[name] for name in columns))

    fact.tables = [table]
    fact.repositories = Counter(row["repository"] for row in rows)
    return fact


def rank_changed_files(request: AnalysisRequest) -> Fact | None:
    """Rank current files by the commits that changed them; None without any."""
    fact = Fact(None, "", "", unit="files")
    rows = request.call_together(fact, "hotspots", **request.files)
    if not rows:
        return None

    rows.sort(key=lambda row: (-row["commits"], row["repository"], row["path"]))
    best = [row for row in rows if row["commits"] == rows[0]["commits"]]
    names = request.list_names([request.name_place(row["repository"], row["path"]) for row in best])
    verb, suffix = ("were", " each") if len(best) > 1 else ("was", "")
    fact.subject = f"{names} {verb} changed by the most commits{request.path_clause}: {best[0]['commits']:,}{suffix}"
    fact.rule = f"Counts the commits that changed each current file. {_RULE_OF_FILES}"
    columns = ("repository", "path", "commits", "authors", "lines")
    table = Rows("Commits by file", columns)
    for row in rows:
        table.add(tuple(row[name] for name in columns))

    fact.tables = [table]
    fact.repositories = Counter(row["repository"] for row in rows)
    return fact


def rank_coupling(request: AnalysisRequest) -> Fact | None:
    """Rank the files that commits change together, or those that change with one file."""
    fact = Fact(None, "", "", unit="files")
    path = next((path for _, path in request.locations if path), "")

    # Of one file, any pair is an answer; of all, those that the analysis takes for coupled.
    least: dict[str, Any] = {"minCommits": 2, "minDegree": 0.0} if path else {"limit": _MAX_PAIRS}
    rows = request.call_together(fact, "coupling", **least)
    if path:
        pairs = set(request.locations)
        rows = [_turn(row, pairs) for row in rows if _has_file(row, pairs)]
        rows.sort(key=lambda row: (-row["shared_commits"], row["other_path"]))

    fact.rule = (
        f"{_RULE_OF_FILES} Commits with more than 30 files don't count, because they change too much at once. "
        + ("A pair needs 2 commits." if path else "A pair needs 5 commits and a share of 30 %.")
    )
    fact.repositories = Counter(request.repositories)
    if not rows:
        fact.subject = f"No file was changed together with {code(path)} in 2 commits" if path else ""
        fact.subject = fact.subject or "No files were changed together often enough in 5 commits"
        return fact

    best = [row for row in rows if row["shared_commits"] == rows[0]["shared_commits"]]
    names = (
        request.list_names([request.name_place(row["repository"], row["other_path"]) for row in best]) if path else ""
    )
    shared_commits, of_path = rows[0]["shared_commits"], rows[0]["commits"]
    if path:
        verb, both = ("change", "each of them") if len(best) > 1 else ("changes", "both")
        fact.subject = (
            f"{names} {verb} most often together with {code(path)}: {shared_commits:,} of the "
            f"{count_of(of_path, 'commit')} that changed {code(path)} changed {both}"
        )
    else:
        first = best[0]
        fact.subject = (
            f"{request.name_place(first['repository'], first['path'])} and "
            f"{request.name_place(first['repository'], first['other_path'])} change together most often: "
            f"{count_of(shared_commits, 'commit')} changed both"
        )

    columns = ("repository", "path", "other_path", "shared_commits", "commits", "other_commits", "degree")
    table = Rows("Files that change together", columns)
    for row in rows:
        table.add(tuple(round(row[name], 3) if name == "degree" else row[name] for name in columns))

    fact.tables = [table]
    return fact


def _has_file(row: dict[str, Any], locations: set[tuple[str, str]]) -> bool:
    return (row["repository"], row["path"]) in locations or (row["repository"], row["other_path"]) in locations


def _turn(row: dict[str, Any], locations: set[tuple[str, str]]) -> dict[str, Any]:
    """Return a pair with the requested file first."""
    if (row["repository"], row["path"]) in locations:
        return row
    turned = {"path": row["other_path"], "other_path": row["path"]}
    return {**row, **turned, "commits": row["other_commits"], "other_commits": row["commits"]}


def find_oldest_lines(request: AnalysisRequest) -> Fact | None:
    """Find the year of the oldest current lines; None without lines or for several repositories."""
    if len(request.locations) != 1:
        return None

    fact = Fact(None, "", "", unit="lines")
    rows = [row for row in request.call_each(fact, "survival") if row["surviving_lines"]]
    if not rows:
        return None

    rows.sort(key=lambda row: row["year"])
    total = sum(row["surviving_lines"] for row in rows)
    oldest = rows[0]
    about = "" if all(row["exact"] for row in rows) else "about "
    percent = 100 * oldest["surviving_lines"] / total
    share = f"{percent:.1f} %" if percent >= _MIN_PERCENT else f"less than {_MIN_PERCENT} %"
    fact.subject = (
        f"The oldest current lines{request.path_clause} are from {oldest['year']}: {about}"
        f"{oldest['surviving_lines']:,} of {total:,} lines ({share})"
    )
    fact.rule = "A line is as old as the commit that gave it its text, as in `git blame`, by committer date in UTC."
    table = Rows("Current lines by year", ("year", "surviving_lines", "share"))
    for row in rows:
        table.add((str(row["year"]), row["surviving_lines"], f"{100 * row['surviving_lines'] / total:.1f} %"))

    fact.tables = [table]
    fact.repositories = Counter({oldest["repository"]: total})
    return fact


def compare_interfaces(request: AnalysisRequest) -> Fact | None:
    """List the public symbols that two revisions differ in; None for several repositories."""
    if len(request.locations) != 1:
        return None

    fact = Fact(None, "", "", unit="definitions")
    repository = request.repositories[0]
    base, head = request.question.base, request.question.head
    answer = request.call(fact, "api_changes", {"repo": repository, "base": base, "head": head})
    rows = answer.table.to_pylist()
    fact.rule = "Compares the public symbols of Go, Java, Python and TypeScript; their bodies aren't compared."
    fact.repositories = Counter({repository: len(rows)})
    span = f"between {code(base)} and {code(head)}"
    if not rows:
        fact.subject = f"No public symbol of Go, Java, Python or TypeScript differs {span}"
        return fact

    counts = Counter(row["status"] for row in rows)
    numbers = request.list_names(
        [f"{counts[name]:,} {name}" for name in ("added", "removed", "changed", "moved") if counts[name]]
    )
    fact.subject = (
        f"**{len(rows):,}** public {'symbols differ' if len(rows) != 1 else 'symbol differs'} {span}: {numbers}"
    )
    table = Rows("Public symbols", ("status", "module", "symbol", "kind"))
    for row in rows:
        is_removed = row["path"] is None
        citation = CitedLine(
            repository,
            row["base" if is_removed else "head"],
            row["old_path" if is_removed else "path"],
            row["old_line_number" if is_removed else "line_number"],
        )
        table.add((row["status"], row["module"], row["symbol"], row["kind"]), citation)

    fact.tables = [table]
    return fact
