"""Figures of a history from plain git, for `figures.py`: nothing of sourcelight is imported here.

Each function gives rows by key. What a figure means is written in docs/history.md and docs/reports.md; here it is
worked out once more, from the commits and changes that `git_history` reads.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import combinations
from typing import Any

from git_files import FileChanges
from git_history import Change, Commit, GitHistory, Kinds, Layout, Person

Rows = dict[Any, Any]
WRITTEN = ("source", "documentation")
_SERVICES = [
    "dependabot", "renovate", "greenkeeper", "snyk", "pre-commit-ci", "github-action", "github-actions", "codecov",
    "weblate", "transifex", "pyup", "mergify", "allcontributors", "semantic-release", "jenkins", "travis",
]  # fmt: skip
_SUFFIX = r"([\s._-]?(ci|io|preview|robot|bot|user|service))*"
# Accounts of coding assistants, as docs/agents.md has them. Those with [bot] need no mention.
_ASSISTANTS = re.compile(
    r"(noreply|aider)@aider\.(chat|dev)|amp@ampcode\.com|(noreply|claude|claude-(\d|opus|sonnet|haiku)[\w.-]*)@anthropic\.com|"
    r"(noreply|codex)@openai\.com|crush@charm\.land|cursoragent@cursor\.com|agent@cursor\.com|copilot@github\.com|"
    r"(267193182\+codex|(198982749|223556219|175728472)\+copilot|244629292\+kiro-agent)@users\.noreply\.github\.com|"
    r"noreply@opencode\.ai|openhands@all-hands\.dev|qwen-coder@alibabacloud\.com|oz-agent@warp\.dev",
    re.IGNORECASE,
)


def is_bot(person: Person) -> bool:
    """Whether a name or an address says that it is a program."""
    name, email = person[0].strip(), person[1].strip()
    local = email.partition("@")[0]
    local = local.partition("+")[2] or local
    for text in (name, local.strip()):
        lower = text.lower()
        if lower.endswith(("[bot]", "(bot)")) or re.search(r"(^|[\s._+-])(ro)?bot$", lower):
            return True
        if re.search(r"[a-z](Bot|BOT|Robot)$", text) and (text == name or " " not in name):
            return True
        if any(re.fullmatch(re.escape(service) + _SUFFIX, lower) for service in _SERVICES):
            return True
    return _ASSISTANTS.fullmatch(email) is not None


def address_of(person: Person) -> Any:
    """What people with one address have in common; the name where there is no address."""
    return person[1].strip().casefold() or person


class Figures:
    """All figures of the commits behind one revision.

    Parameters
    ----------
    history
        The commits that count.
    whole
        The history that decides about names of people, kinds of files and subtrees; `history` where it is all.
    after, before
        Bounds of the committer date in seconds, exclusive.
    join
        Whether identities with one address are one person.
    """

    def __init__(
        self,
        history: GitHistory,
        full_history: GitHistory | None = None,
        *,
        after: int | None = None,
        before: int | None = None,
        join: bool = True,
    ) -> None:
        self.history, self.join = history, join
        self._layout = Layout(history)
        self.commits: dict[str, Commit] = {
            oid: commit
            for oid, commit in history.commits().items()
            if (after is None or commit.time > after) and (before is None or commit.time < before)
        }
        self.raw_changes = [change for change in history.changes() if change.commit in self.commits]
        self.changes = [self._by_layout(change) for change in self.raw_changes]
        self._display = self._names((full_history or history).commits().values())
        self._kinds: Kinds | None = None

    def _names(self, commits: Iterable[Commit]) -> dict[Any, Person]:
        spellings: dict[Any, Counter[Person]] = defaultdict(Counter)
        for commit in commits:
            spellings[address_of(commit.author)][commit.author] += 1
            for helper in commit.co_authors:
                spellings[address_of(helper)][helper] += 0
        return {key: min(group, key=lambda pair: (-group[pair], pair)) for key, group in spellings.items()}

    def person(self, pair: Person) -> Person:
        """The person of a name and address, as shown."""
        return self._display.get(address_of(pair), pair) if self.join else pair

    def kind(self, path: str) -> str:
        """The kind of a file."""
        if self._kinds is None:
            paths = {path for change in self.changes for path in (change.path, change.old_path)}
            self._kinds = Kinds(self.history, paths | set(self.history.tree(self.history.revision)))
        return self._kinds(path)

    def author(self, change: Change) -> Person:
        """Who wrote the commit of a change."""
        return self.person(self.commits[change.commit].author)

    def contributors(self, period: str = "", kinds: tuple[str, ...] = ()) -> Rows:
        """Commits, merges, further co-authored commits, lines, files, first and last second, bot; by period, person."""
        sums: dict[Any, dict[str, Any]] = defaultdict(lambda: {"n": [0] * 5, "files": set(), "times": []})
        key: dict[str, Any] = {}
        for commit in self.commits.values():
            writer = self.person(commit.author)
            start = (period_start(commit.time, period),) if period else ()
            key[commit.oid] = (*start, *writer)
            totals = sums[key[commit.oid]]
            totals["n"][0] += 1
            totals["n"][1] += commit.is_merge
            totals["times"].append(commit.time)
            for helper in {self.person(helper) for helper in commit.co_authors} - {writer}:
                theirs = sums[*start, *helper]
                theirs["n"][2] += 1
                theirs["times"].append(commit.time)
        for change in self.changes:
            if kinds and self.kind(change.path) not in kinds:
                continue
            totals = sums[key[change.commit]]
            totals["n"][3] += change.additions
            totals["n"][4] += change.deletions
            totals["files"].add(change.path)
        return {position: (*row["n"], len(row["files"]), min(row["times"]), max(row["times"]), is_bot(position[-2:]))
                for position, row in sums.items()}  # fmt: skip

    def churn(self, key: Callable[[Change], Any], kinds: tuple[str, ...] = ()) -> Rows:
        """Added and removed lines, changed files, commits and authors by what `key` tells apart."""
        groups: dict[Any, list[Change]] = defaultdict(list)
        for change in self.changes:
            if not kinds or self.kind(change.path) in kinds:
                groups[key(change)].append(change)
        return {
            group: (sum(c.additions for c in changes), sum(c.deletions for c in changes), len(changes),
                    len({c.commit for c in changes}), len({self.author(c) for c in changes}))
            for group, changes in groups.items()
        }  # fmt: skip

    @cached_property
    def changes_of_files(self) -> dict[str, list[Change]]:
        """The changes of each of today's files under all of its names."""
        all_changes = [self._by_layout(change) for change in self.history.changes()]
        files = FileChanges(self.history.commits(), all_changes)
        changes = {path: files.of(path) for path in self.history.tree(self.history.revision)}
        return {
            path: selection
            for path, of_file in changes.items()
            if (selection := [change for change in of_file if change.commit in self.commits])
        }

    def _by_layout(self, c: Change) -> Change:
        paths = self._layout(c.commit, c.old_path), self._layout(c.commit, c.path)
        return Change(c.commit, c.status, *paths, c.additions, c.deletions, c.binary)

    def hotspots(self) -> Rows:
        """Commits, authors, added and removed lines, lines today, score, first and last second of today's files."""
        today, groups = self.history.tree(self.history.revision), self.changes_of_files
        contents = self.history.contents(today[path] for path in groups)
        lines = {path: line_count(contents[today[path]]) for path in groups}
        commits = {path: {c.commit for c in changes} for path, changes in groups.items()}
        weights = {path: len(commits[path]) * math.log1p(lines[path] or 0) for path in groups}
        maximum = max(weights.values(), default=0.0) or 1.0
        times = {path: [self.commits[oid].time for oid in oids] for path, oids in commits.items()}
        return {
            path: (len(commits[path]), len({self.author(c) for c in changes}), sum(c.additions for c in changes),
                   sum(c.deletions for c in changes), lines[path], round(weights[path] / maximum, 9), min(times[path]),
                   max(times[path]))
            for path, changes in groups.items()
        }  # fmt: skip

    def coupling(self, min_commits: int, min_degree: float, max_files: int) -> Rows:
        """Commits together, commits of each, degree, and the newest second of pairs of today's files."""
        files: dict[str, dict[str, set[Change]]] = defaultdict(lambda: defaultdict(set))
        for path, changes in self.changes_of_files.items():
            for change in changes:
                files[change.commit][path].add(change)
        sizes = Counter(change.commit for change in self.changes)
        commit_counts: Counter[str] = Counter()
        together: dict[tuple[str, str], list[int]] = defaultdict(list)
        for oid, paths in files.items():
            commit_counts.update(paths.keys())
            if sizes[oid] <= max_files:
                for item, other in combinations(sorted(paths), 2):
                    # One change may belong to two files: a renamed one, and a later one with its former path.
                    if len(paths[item] | paths[other]) > 1:
                        together[item, other].append(self.commits[oid].time)
        results = {}
        for (item, other), times in together.items():
            degree = 2 * len(times) / (commit_counts[item] + commit_counts[other])
            if len(times) >= min_commits and degree >= min_degree:
                results[item, other] = (
                    len(times),
                    commit_counts[item],
                    commit_counts[other],
                    round(degree, 9),
                    max(times),
                )
        return results

    def pickaxe(self, text: str, period: str) -> Rows:
        """Added and removed lines with a text in any case, their difference, and commits, by period."""
        sums: dict[Any, list[int]] = defaultdict(lambda: [0, 0])
        commits: dict[Any, set[str]] = defaultdict(set)
        needle, position, in_hunk = text.lower().encode(), "", False
        raw = self.history.git("log", "-M", "-p", "-U1", "--root", "--no-ext-diff", "--no-textconv", "--no-color",
                               "--format=%x01%H", *self.history._range)  # noqa: SLF001 - the truth's own other half  # fmt: skip
        for line in raw.split(b"\n"):
            if line.startswith(b"\1") and len(line) == 41:
                position, in_hunk = line[1:].decode(), False
            elif line.startswith(b"diff --git "):
                in_hunk = False
            elif line.startswith(b"@@ "):
                in_hunk = True
            elif in_hunk and line[:1] in (b"+", b"-") and needle in line[1:].lower() and position in self.commits:
                key = period_start(self.commits[position].time, period)
                sums[key][line[:1] == b"-"] += 1
                commits[key].add(position)
        return {key: (added, removed, added - removed, len(commits[key])) for key, (added, removed) in sums.items()}

    def ownership(self, paths: Iterable[str]) -> dict[str, Counter[Person]]:
        """Lines of each text file of the revision by author, as git blame gives them."""
        every, today = self.history.commits(), self.history.tree(self.history.revision)
        required = [path for path in paths if path in today]
        contents = self.history.contents(today[path] for path in required)
        results = {}
        for path in required:
            count = line_count(contents[today[path]])
            if count is not None:
                lines = self.history.blame(path) if count else []
                results[path] = Counter(self.person(every[oid].author) for oid in lines)
        return results

    def files_changed(self) -> int:
        """Distinct paths, of renamed files both."""
        return len(
            {path for c in self.raw_changes for path in ((c.path, c.old_path) if c.status == "R" else (c.path,))}
        )

    def activity(self, period: str) -> Rows:
        """Commits, merges, people, added and removed lines by period."""
        groups: dict[datetime, list[Commit]] = defaultdict(list)
        for commit in self.commits.values():
            groups[period_start(commit.time, period)].append(commit)
        lines = self.lines_by_commit()
        return {
            position: (len(members), sum(c.is_merge for c in members),
                 len({p for p in (self.person(c.author) for c in members) if not is_bot(p)}),
                 sum(lines[c.oid][0] for c in members), sum(lines[c.oid][1] for c in members))
            for position, members in groups.items()
        }  # fmt: skip

    def authors(self) -> Rows:
        """Commits, merges, added and removed lines, first and last second of the commits that people wrote; no bots."""
        groups: dict[Person, list[Commit]] = defaultdict(list)
        for commit in self.commits.values():
            groups[self.person(commit.author)].append(commit)
        lines = self.lines_by_commit()
        return {
            person: (len(members), sum(c.is_merge for c in members), sum(lines[c.oid][0] for c in members),
                     sum(lines[c.oid][1] for c in members), min(c.time for c in members), max(c.time for c in members))
            for person, members in groups.items() if not is_bot(person)
        }  # fmt: skip

    def spans(self) -> Rows:
        """Commits, first and last second of each person who is no bot."""
        return {person: (row[0], row[4], row[5]) for person, row in self.authors().items()}

    def organization(self, domain: str) -> tuple[int, int, int, int]:
        """People, commits, added and removed lines of addresses of a domain or one below it; no bots.

        Addresses that code hosts give out, such as ``users.noreply.github.com``, are of no organization.
        """
        people = {c.oid: self.person(c.author) for c in self.commits.values()}
        oids = []
        for oid, (name, email) in people.items():
            address = f".{email.rpartition('@')[2].strip().rstrip('.').lower()}"
            given_out = ".noreply." in address or address in {".users.sf.net", ".users.sourceforge.net"}
            if address.endswith(f".{domain}") and not given_out and not is_bot((name, email)):
                oids.append(oid)
        lines = self.lines_by_commit()
        added, removed = (sum(lines[oid][side] for oid in oids) for side in (0, 1))
        return len({people[oid] for oid in oids}), len(oids), added, removed

    def lines_by_commit(self) -> Mapping[str, tuple[int, int]]:
        """Added and removed lines of each commit."""
        sums: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
        for change in self.changes:
            added, removed = sums[change.commit]
            sums[change.commit] = added + change.additions, removed + change.deletions
        return sums

    def clock(self) -> Rows:
        """Commits by weekday and hour of the author's clock."""
        moments = (c.author_time + 60 * c.zone for c in self.commits.values())
        times = [datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=moment) for moment in moments]
        return dict(Counter((time.weekday(), time.hour) for time in times))

    def time_zones(self) -> Rows:
        """Commits and people by minutes east of UTC; no bots."""
        groups: dict[int, list[Person]] = defaultdict(list)
        for commit in self.commits.values():
            if not is_bot(person := self.person(commit.author)):
                groups[commit.zone].append(person)
        return {zone: (len(people), len(set(people))) for zone, people in groups.items()}

    def reviewers(self) -> Rows:
        """Commits, and first and last second, by the people whom trailers of reviews name."""
        times: dict[str, list[int]] = defaultdict(list)
        for commit in self.commits.values():
            for name, email in commit.reviewers:
                times[f"{name} <{email}>"].append(commit.time)
        return {name: (len(moments), min(moments), max(moments)) for name, moments in times.items()}

    def integrators(self) -> Rows:
        """Merges by their authors, and other commits by committers with another address than the author's."""
        rows: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for commit in self.commits.values():
            author = self.person(commit.author)
            if commit.is_merge:
                rows[_text(author)][0] += 1
            elif commit.committer[1].lower() != author[1].lower():
                rows[_text(self.person(commit.committer))][1] += 1
        return {name: tuple(counts) for name, counts in rows.items()}


def _text(person: Person) -> str:
    return f"{person[0]} <{person[1]}>"


def folder(path: str, depth: int = 1) -> str:
    """``src/`` with all below it, ``src/*`` where a path is less deep than asked for."""
    names = path.split("/")[:-1]
    return "/".join(names[:depth]) + "/" if len(names) >= depth else "/".join([*names, "*"]) if names else "/*"


def line_count(data: bytes) -> int | None:
    """Lines of a text; None for what git takes for binary."""
    if b"\0" in data[:8000]:
        return None
    return data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))


def period_start(seconds: int, period: str) -> datetime:
    """Start of a period in UTC; a week begins on Monday."""
    day = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).replace(hour=0, minute=0, second=0)
    if period == "week":
        return day - timedelta(days=day.weekday())
    if period == "day":
        return day
    month = {"year": 1, "quarter": (day.month - 1) // 3 * 3 + 1}.get(period, day.month)
    return day.replace(month=month, day=1)


def bus_factor(owned: Mapping[str, Counter[Person]]) -> Rows:
    """Fewest people with more than half of the lines, lines, and people, for the whole and for each top folder."""
    groups: dict[str, Counter[Person]] = defaultdict(Counter)
    groups["/"] = Counter()
    for path, lines in owned.items():
        for person, count in lines.items():
            if not is_bot(person):
                groups["/"][person] += count
                groups[folder(path)][person] += count
    results = {}
    for position, counts in groups.items():
        total, running, factor = sum(counts.values()), 0, 0
        for _, count in counts.most_common():
            running, factor = running + count, factor + 1
            if 2 * running > total:
                break
        results[position] = factor, total, len(counts)
    return results
