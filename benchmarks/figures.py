"""Every figure of both reports and of the analyses of history, beside what plain git gives.

Run: ``python benchmarks/figures.py REPOSITORY… [--index FOLDER] [--since DAY] [--base REVISION] [--blamed N]``, where
each REPOSITORY is a git directory or a work tree. The figures of git are worked out by `git_figures`, which imports
nothing of sourcelight. It prints how many rows were compared for each question, and each row that differs, and exits
with 1 if any does. ``--blamed`` is how many files `git blame` is asked about (0: all): where a repository has more,
that many are chosen evenly, and whole sums of owned lines are not compared.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import Any

from git_figures import WRITTEN, Figures, Rows, address_of, bus_factor, folder, is_bot, period_start
from git_history import GitHistory, Kinds

import sourcelight as sl

PATTERNS = ("todo", "return", "self.")
# Read from the wording of messages, by rules of this project that git knows nothing of.
BY_WORDING = {"pull requests", "changelog", "commits with an assistant", "agents", "agent_activity"}
# Read from syntax: tests/engines/interfaces/test_api_changes.py compares it with Python's own `ast`.
BY_SYNTAX = {"api"}
# What a report leaves out where there is no time before it.
OPTIONAL = {
    "commits before", "commits by people before", "joined", "left", "commits by bots", "organizations", "reviewers",
    "integrators",
}  # fmt: skip
_SHOWN = 5


@dataclass(slots=True)
class Comparison:
    """Questions with their rows on both sides."""

    repository: str
    compared: int = 0
    different: list[str] = field(default_factory=list)

    def rows(self, question: str, git: Rows, ours: Rows) -> None:
        """Compare rows by key."""
        self.compared += len(git)
        keys = [*git, *(key for key in ours if key not in git)]
        wrong = [key for key in keys if key not in git or key not in ours or git[key] != ours[key]]
        print(f"  {question}: {len(git):,} rows{f', {len(wrong):,} DIFFER' if wrong else ''}")
        for key in wrong[:_SHOWN]:
            print(f"    {key}: git {git.get(key, 'no row')}, sourcelight {ours.get(key, 'no row')}")
        self.different += [f"{self.repository}: {question}: {key}" for key in wrong]

    def value(self, question: str, git: Any, ours: Any) -> None:
        """Compare one value."""
        self.rows(question, {"value": git}, {"value": ours})


def table(frame: Any, keys: Sequence[str], values: Sequence[str]) -> Rows:
    """Rows of a DataFrame by key, with plain values; raises if a key comes twice."""
    columns = {name: [plain_value(cell) for cell in frame[name].astype(object)] for name in (*keys, *values)}
    rows: Rows = {}
    for index in range(len(frame)):
        key = tuple(columns[name][index] for name in keys)
        key = key[0] if len(keys) == 1 else key
        if key in rows:
            raise ValueError(f"two rows have the key {key}")
        row = tuple(columns[name][index] for name in values)
        rows[key] = row[0] if len(values) == 1 else row
    return rows


def plain_value(cell: Any) -> Any:
    """A cell without the types of pandas; instants that are no starts of periods as seconds."""
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"} or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if hasattr(cell, "to_pydatetime"):
        return cell.to_pydatetime()
    if isinstance(cell, float):
        return round(cell, 9)
    return cell.item() if hasattr(cell, "item") else cell


def seconds(rows: Rows, *locations: int) -> Rows:
    """Rows with the instants at some places as seconds."""
    return {key: tuple(int(v.timestamp()) if index in locations else v for index, v in enumerate(row))
            for key, row in rows.items()}  # fmt: skip


PERSON = ("author", "author_email")
COUNTS = ("commits", "merges", "co_authored", "additions", "deletions", "files", "first_date", "last_date", "bot")
ACTIVITY = ("commits", "merges", "people", "additions", "deletions")
SIZES = ("files", "additions", "deletions")
DIFFS = ("old_path", "additions", "deletions", "binary", "status")
CHURN = ("additions", "deletions", "changes", "commits", "authors")


def analyses(code: sl.Client, name: str, git: GitHistory, comparison: Comparison) -> None:
    """The analyses over all of the history."""
    truth, unjoined = Figures(git), Figures(git, join=False)
    frame = code.contributors(name, progress=False)
    comparison.rows("contributors", truth.contributors(), seconds(table(frame, PERSON, COUNTS), 6, 7))
    frame = code.contributors(name, join_addresses=False, progress=False)
    comparison.rows("contributors, not joined", unjoined.contributors(), seconds(table(frame, PERSON, COUNTS), 6, 7))
    frame = frame[frame["commits"] > 0]
    rows = (line.strip().partition("\t") for line in git.text("shortlog", "-sne", "HEAD").splitlines())
    shortlog = {person: count for count, _, person in rows}
    ours = {f"{row.author} <{row.author_email}>": str(row.commits) for row in frame.itertuples()}
    comparison.rows("contributors, not joined, and git shortlog -sne", shortlog, ours)
    frame = code.contributors(name, by="year", file_kinds=WRITTEN, progress=False)
    comparison.rows("contributors by year, source alone", truth.contributors("year", WRITTEN),
               seconds(table(frame, ("period", *PERSON), COUNTS), 6, 7))  # fmt: skip
    for question, by, keys, key in (
        ("directory", ["directory"], ("directory",), lambda c: folder(c.path)),
        ("path", ["path"], ("path",), lambda c: c.path),
        ("author", ["author"], PERSON, truth.author),
        ("month", ["month"], ("period",), lambda c: period_start(truth.commits[c.commit].time, "month")),
        ("kind of file", ["file_kind"], ("file_kind",), lambda c: truth.kind(c.path)),
        ("commit", ["commit"], ("commit",), lambda c: c.commit),
    ):
        ours = table(code.churn(name, by=by, progress=False), keys, CHURN)
        comparison.rows(f"churn by {question}", truth.churn(key), ours)
    frame = code.churn(name, by="directory", depth=2, file_kinds=WRITTEN, progress=False)
    comparison.rows("churn by directory, two deep, source alone", truth.churn(lambda c: folder(c.path, 2), WRITTEN),
               table(frame, ("directory",), CHURN))  # fmt: skip
    names: tuple[str, ...] = (
        "commits", "authors", "additions", "deletions", "lines", "score", "first_date", "last_date",
    )  # fmt: skip
    comparison.rows(
        "hotspots", truth.hotspots(), seconds(table(code.hotspots(name, progress=False), ("path",), names), 6, 7)
    )
    for least, degree, max_files in ((5, 0.3, 30), (2, 0.0, 10)):
        frame = code.coupling(name, min_commits=least, min_degree=degree, max_files=max_files, progress=False)
        names = ("shared_commits", "commits", "other_commits", "degree", "last_date")
        comparison.rows(f"coupling, {least} commits, degree {degree}, {max_files} files",
                   truth.coupling(least, degree, max_files),
                   seconds(table(frame, ("path", "other_path"), names), 4))  # fmt: skip
    for pattern in PATTERNS:
        frame = code.pickaxe(pattern, name, by="quarter", progress=False)
        comparison.rows(f"pickaxe {pattern!r} by quarter", truth.pickaxe(pattern, "quarter"),
                   table(frame, ("period",), ("added", "removed", "net", "commits")))  # fmt: skip
        running = list(accumulate(int(net) for net in frame["net"]))
        comparison.value(f"pickaxe {pattern!r}, running totals", running, [int(total) for total in frame["total"]])


def ownership(
    code: sl.Client, name: str, git: GitHistory, blamed: int, comparison: Comparison
) -> Mapping[str, Counter[Any]]:
    """Owners of lines, all of them proven; gives the lines of the files that git was asked about."""
    truth, today = Figures(git), sorted(git.tree("HEAD"))
    step = max(1, len(today) // blamed) if blamed else 1
    owned = truth.ownership(today[::step])
    want = {(path, *person): count for path, lines in owned.items() for person, count in lines.items()}
    frame = code.ownership(name, by="file", exact=True, progress=False)
    selected = frame[frame["path"].astype(str).isin(set(owned))]
    comparison.rows(
        f"ownership of {len(owned):,} of {len(today):,} files", want, table(selected, ("path", *PERSON), ("lines",))
    )
    comparison.value("ownership, rows that are not proven", 0, int((~selected["exact"]).sum()))
    if step == 1:
        keys: tuple[tuple[str, Callable[[str], str]], ...] = (("total", lambda _: "/"), ("directory", folder))
        for question, key in keys:
            sums: Counter[Any] = Counter()
            for path, lines in owned.items():
                for person, count in lines.items():
                    sums[key(path), *person] += count
            frame = code.ownership(name, by=question, exact=True, progress=False)
            comparison.rows(f"ownership by {question}", dict(sums), table(frame, ("path", *PERSON), ("lines",)))
        ours = table(code.bus_factor(name, exact=True, progress=False), ("path",), ("bus_factor", "lines", "authors"))
        comparison.rows("bus_factor", bus_factor(owned), ours)
    return owned if step == 1 else {}


def contributor_report(
    code: sl.Client, name: str, git: GitHistory, since: str, owned: Mapping[str, Counter[Any]], comparison: Comparison
) -> None:
    """Every number and table of the contributor report of a time."""
    after = int(datetime.fromisoformat(since).replace(tzinfo=UTC).timestamp())
    truth = Figures(git, after=after)
    report = sl.reports.contributors(code, name, after=since, period="month", ownership=bool(owned), progress=False)
    people = truth.contributors()
    wrote = {key: row for key, row in people.items() if row[0] and not row[-1]}
    bots = {key: row for key, row in people.items() if row[-1]}
    helped = {key: (row[2], row[6], row[7]) for key, row in people.items() if not row[0] and not row[-1]}
    commits = truth.commits.values()
    source_lines = {path: lines for path, lines in owned.items() if truth.kind(path) in WRITTEN}
    numbers = {
        "commits": len(commits),
        "people": len(wrote),
        "co-authors": len(helped),
        "bots": sum(row[0] > 0 for row in bots.values()),
        "commits by people": sum(not is_bot(truth.person(commit.author)) for commit in commits),
        "merges": sum(commit.is_merge for commit in commits),
        "lines added": sum(change.additions for change in truth.changes),
        "lines removed": sum(change.deletions for change in truth.changes),
        "files changed": truth.files_changed(),
        "days with commits": len({datetime.fromtimestamp(commit.time, UTC).date() for commit in commits}),
    } | ({"bus factor": bus_factor(source_lines)["/"][0]} if owned else {})
    tables: dict[str, tuple[Rows, Callable[[Any], Rows]]] = {
        "contributors": (wrote, lambda frame: seconds(table(frame.assign(bot=False), PERSON, COUNTS), 6, 7)),
        "bots": (bots, lambda frame: seconds(table(frame.assign(bot=True), PERSON, COUNTS), 6, 7)),
        "co_authors": (
            helped, lambda frame: seconds(table(frame, PERSON, ("co_authored", "first_date", "last_date")), 1, 2),
        ),
        "activity": (truth.activity("month"), by(("period",), ACTIVITY)),
        "clock": (truth.clock(), by(("weekday", "hour"), ("commits",))),
        "time_zones": (truth.time_zones(), by(("author_utc_offset_min",), ("commits", "people"))),
        "reviewers": (
            truth.reviewers(),
            lambda frame: seconds(table(frame, ("reviewer",), ("commits", "first_date", "last_date")), 1, 2),
        ),
        "integrators": (truth.integrators(), by(("integrator",), ("merges", "commits_of_others"))),
        "file_kinds": (truth.churn(lambda c: truth.kind(c.path)), by(("file_kind",), CHURN)),
        "directories": (truth.churn(lambda c: folder(c.path), WRITTEN), by(("directory",), CHURN)),
        "files": (truth.churn(lambda c: c.path, WRITTEN), by(("path",), CHURN)),
        "other_files": (
            truth.churn(lambda c: (c.path, truth.kind(c.path)), ("vendored", "generated", "lock")),
            by(("path", "file_kind"), CHURN),
        ),
    }  # fmt: skip
    if owned:
        sums: Counter[Any] = Counter()
        for lines in source_lines.values():
            sums.update(lines)
        # Without exact=True a few lines in a thousand may be another commit's, and their rows say so.
        exact = {tuple(row) for row in report.tables["ownership"].query("exact")[[*PERSON]].astype(str).to_numpy()}
        tables["ownership"] = (
            {key: count for key, count in sums.items() if key in exact},
            lambda frame: table(frame[frame["exact"]], PERSON, ("lines",)),
        )
        comparison.value(
            "contributor report: owned lines", sum(sums.values()), int(report.tables["ownership"]["lines"].sum())
        )
        proven = set(report.tables["bus_factor"].query("exact")["path"].astype(str))
        tables["bus_factor"] = (
            {key: row for key, row in bus_factor(source_lines).items() if key in proven},
            lambda frame: table(frame[frame["exact"]], ("path",), ("bus_factor", "lines", "authors")),
        )
    newest = max(commit.time for commit in git.commits().values())
    then = Figures(git, after=after - (newest - after), before=after + 1)
    existing = {address_of(person) for person in Figures(git, before=after + 1).authors()}
    addresses = {address_of(person) for person in truth.authors()}
    merged = {key: row for key, row in truth.spans().items() if address_of(key) not in existing}
    remaining = {key: row for key, row in then.spans().items() if address_of(key) not in addresses}
    numbers["commits by people before"] = sum(
        not is_bot(then.person(commit.author)) for commit in then.commits.values()
    )
    numbers |= {"commits before": len(then.commits), "joined": len(merged), "left": len(remaining)}
    spans = ("commits", "first_date", "last_date")
    for table_name, rows in (("joined", merged), ("left", remaining)):
        tables[table_name] = rows, lambda frame: seconds(table(frame, PERSON, spans), 1, 2)
    if "organizations" in report.tables:
        frame = report.tables["organizations"]
        domains = [name for name in frame["organization"].astype(str) if "." in name]
        sizes = ("people", "commits", "additions", "deletions")
        tables["organizations"] = (
            {name: truth.organization(name) for name in domains},
            lambda frame: table(frame[frame["organization"].astype(str).isin(domains)], ("organization",), sizes),
        )
        comparison.value("contributor report: commits of all organizations", numbers["commits by people"],
                    int(frame["commits"].sum()))  # fmt: skip
    _report("contributor report", report, numbers, tables, comparison)
    folders = {f"{line}/" for oid in (*list(truth.commits)[:1], *list(truth.commits)[-1:])
               for line in git.text("ls-tree", "-d", "--name-only", oid).splitlines()}  # fmt: skip
    displayed = set(report.tables["directories"]["directory"].astype(str)) if "directories" in report.tables else set()
    never = {
        name
        for name in displayed - folders - {"/*"}
        if not git.git("log", "-1", "--full-history", "--format=%H", "HEAD", "--", name)
    }
    comparison.value("contributor report: directories that never were", set(), never)


def change_report(code: sl.Client, name: str, folder_of: Path, base: str, comparison: Comparison) -> None:
    """Every number and table of the change report from a commit to HEAD."""
    git, full = GitHistory(str(folder_of), without=base), GitHistory(str(folder_of))
    truth, earlier = Figures(git), Figures(GitHistory(str(folder_of), base))
    report = sl.reports.changes(code, name, base, "HEAD", period="month", progress=False)
    diffs, truth_base = _diffs(full, base), full.text("rev-parse", f"{base}^{{commit}}").strip()
    people = truth.authors()
    before = {address_of(commit.author) for commit in earlier.commits.values()}
    new = {key: row for key, row in people.items() if address_of(key) not in before}
    commits = truth.commits.values()
    numbers = {
        "files": len(diffs),
        "diff additions": sum(row[1] for row in diffs.values()),
        "diff deletions": sum(row[2] for row in diffs.values()),
        "binary files": sum(row[3] for row in diffs.values()),
        "commits": len(commits),
        "merges": sum(commit.is_merge for commit in commits),
        "people": len(people),
        "new people": len(new),
        "lines added": sum(change.additions for change in truth.changes),
        "lines removed": sum(change.deletions for change in truth.changes),
    }
    kind = Kinds(full, diffs)
    sources = {path: row for path, row in diffs.items() if kind(path) in WRITTEN}
    other_files = {path: row for path, row in diffs.items() if path not in sources}
    names = ("commits", "merges", "additions", "deletions", "first_date", "last_date")
    lines = truth.lines_by_commit()
    files = Counter(change.commit for change in truth.changes)
    tables: dict[str, tuple[Rows, Callable[[Any], Rows]]] = {
        "files": (sources, lambda frame: table(_old_names(frame), ("path",), DIFFS)),
        "other_files": (other_files, lambda frame: table(_old_names(frame), ("path",), DIFFS)),
        "file_kinds": (_grouped(diffs, kind), by(("file_kind",), SIZES)),
        "directories": (_grouped(sources, lambda path: f"{path.rpartition('/')[0]}/*"), by(("directory",), SIZES)),
        "endings": (_grouped(sources, _ending), by(("ending",), SIZES)),
        "people": (people, lambda frame: seconds(table(frame, PERSON, names), 4, 5)),
        "new_people": (new, lambda frame: seconds(table(frame, PERSON, names), 4, 5)),
        "log": ({c.oid: (c.subject, *truth.person(c.author)[:1], files[c.oid], *lines[c.oid])
                 for c in commits if not c.is_merge}, by(("commit",), ("subject", "author", *SIZES))),
        "activity": (truth.activity("month"), by(("period",), ACTIVITY)),
        "clock": (truth.clock(), by(("weekday", "hour"), ("commits",))),
    }  # fmt: skip
    started, newest = full.commits()[truth_base].time, max((c.time for c in commits), default=0)
    then = Figures(GitHistory(str(folder_of), base), after=started - (newest - started))
    numbers |= {
        "commits by bots": sum(is_bot(truth.person(commit.author)) for commit in commits),
        "commits before": len(then.commits),
        "commits by people before": sum(not is_bot(then.person(commit.author)) for commit in then.commits.values()),
    }
    _report("change report", report, numbers, tables, comparison)


def _old_names(frame: Any) -> Any:
    return frame.assign(old_path=frame["old_path"].astype(object).where(frame["old_path"].notna(), frame["path"]))


def _ending(path: str) -> str:
    name = path.rpartition("/")[2]
    return f".{name.rpartition('.')[2]}" if "." in name.lstrip(".") else "none"


def _grouped(diffs: Rows, key: Callable[[str], str]) -> Rows:
    sums: dict[str, list[int]] = {}
    for path, (_, added, removed, *_) in diffs.items():
        count = sums.setdefault(key(path), [0, 0, 0])
        for position, value in enumerate((1, added, removed)):
            count[position] += value
    return {position: tuple(row) for position, row in sums.items()}


def _diffs(git: GitHistory, base: str) -> Rows:
    """Old path, lines added and removed, binary, and status of each file between two revisions."""
    names = {"A": "added", "D": "deleted", "M": "modified", "R": "renamed", "C": "copied", "T": "type changed"}
    raw = git.text(
        "diff", "-z", "-M", "--raw", "--numstat", "--no-abbrev", "--no-ext-diff", "--no-textconv", base, "HEAD"
    )
    tokens, pending, rows = iter(raw.split("\0")), list[tuple[str, str, str]](), Rows()
    for token in tokens:
        if token.startswith(":"):
            status, old = token.split()[4][:1], next(tokens)
            pending.append((status, old, next(tokens) if status in "RC" else old))
        elif token:
            added, removed, path = token.split("\t", 2)
            if not path:
                next(tokens), next(tokens)
            status, old, new = pending.pop(0)
            binary = added == "-"
            rows[new] = (old, 0 if binary else int(added), 0 if binary else int(removed), binary, names[status])
    return rows


def by(keys: Sequence[str], values: Sequence[str]) -> Callable[[Any], Rows]:
    """A way to read rows of a table."""
    return lambda frame: table(frame, keys, values)


def _report(
    title: str, report: Any, numbers: Mapping[str, Any], tables: Mapping[str, tuple[Rows, Callable[[Any], Rows]]],
    comparison: Comparison,
) -> None:  # fmt: skip
    """Compare what a report has; what it has and git's side has not is a difference, too."""
    ours = {number.name: number.value for number in report.metrics if number.name not in BY_WORDING}
    required = {name: value for name, value in numbers.items() if name in ours or name not in OPTIONAL}
    comparison.rows(f"{title}: numbers", required, ours)
    for name, (rows, read) in tables.items():
        frame = report.tables.get(name)
        if frame is not None or name not in OPTIONAL:
            comparison.rows(f"{title}: {name}", rows, {} if frame is None else read(frame))
    for name in set(report.tables) - set(tables) - BY_WORDING - BY_SYNTAX:
        comparison.value(f"{title}: {name}", "no figures to compare with", "a table")


def check(path: Path, index: Path, since: str, base: str, blamed: int) -> Comparison:
    """All comparisons for one repository."""
    git_dir = path / ".git" if (path / ".git").exists() else path
    git = GitHistory(str(git_dir))
    commits = list(git.commits().values())
    print(f"{path}: {len(commits):,} commits")
    with sl.open(path, index_dir=index, background_index=False) as code:
        (name,) = code.list_repos()["repository"]
        comparison = Comparison(name)
        began = time.monotonic()
        analyses(code, name, git, comparison)
        owned = ownership(code, name, git, blamed, comparison)
        day = since or str(datetime.fromtimestamp(commits[len(commits) // 4].time, UTC).date())
        contributor_report(code, name, git, day, owned, comparison)
        chain = git.text("rev-list", "--first-parent", "HEAD").split()
        change_report(code, name, git_dir, base or chain[min(len(chain) - 1, max(1, len(chain) // 8))], comparison)
    print(f"  {comparison.compared:,} rows in {time.monotonic() - began:.0f} s, {len(comparison.different):,} differ")
    return comparison


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--index", type=Path, help="folder for indexes; a temporary one without it")
    parser.add_argument(
        "--since", default="", help="first day of the contributor report (the newest quarter of commits)"
    )
    parser.add_argument("--base", default="", help="base of the change report (the newest eighth of commits)")
    parser.add_argument("--blamed", type=int, default=0, help="files that git blame is asked about (0: all)")
    request = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        index = request.index or Path(temporary)
        results = [check(path, index, request.since, request.base, request.blamed) for path in request.repositories]
    different = [row for item in results for row in item.different]
    print(f"{sum(item.compared for item in results):,} rows of {len(results)} repositories, {len(different):,} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
