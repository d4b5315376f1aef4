"""Thirty varied queries on real repositories: our rows against what ripgrep and git grep find, put together.

Run: ``python benchmarks/oracle.py --corpus FOLDER [--index FOLDER] [--queries TEXT,TEXT] [--each]``.

Single patterns are answered by ripgrep in a checkout whose files are the repositories' blobs, and at other revisions
by git grep; AND, OR, NOT and filters are put together here, file by file, as the query language has them. Compared is
every row: repository, revision, path and line, and the files that match by their name alone. It prints counts and
digests (the start of the SHA-256 of all rows in order) by query and by repository commit, with --each for every pair
of them, and exits with 1 on any difference.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from corpus import Corpus, machine, markdown
from peers import ripgrep_rows

from sourcelight.engines.search.model import DEFAULT_MAX_FILE_SIZE
from sourcelight.repos import ObjectReader, Repository, resolve

Place = tuple[str, str, str, int]
"""Repository, revision, path, 1-based line; line 0: the file matches by its name."""


@dataclass(frozen=True, slots=True)
class Atom:
    """One pattern; `lines` makes it a regular expression that may cross lines."""

    text: str
    regexp: bool = False
    lines: bool = False


@dataclass(frozen=True, slots=True)
class Both:
    """Every part."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """At least one part."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Without:
    """Not the part."""

    part: Tree


Tree = Atom | Both | Either | Without


@dataclass(frozen=True, slots=True)
class Case:
    """A query, and the same question in the oracle's terms.

    `files`, `without_files` and `repositories` are regular expressions; no `tree` means every file that passes them.
    `where` is what is looked at: ``file`` for contents, ``path`` for names, or ``both``.
    """

    query: str
    tree: Tree | None
    case_sensitive: bool = False
    files: tuple[str, ...] = ()
    without_files: tuple[str, ...] = ()
    repositories: str = ""
    without_repositories: str = "(?!)"
    revisions: tuple[str, ...] = ("",)
    field: str = "both"
    kind: str = "standard"


def expression(text: str) -> Atom:
    """A regular expression."""
    return Atom(text, regexp=True)


def across(text: str) -> Atom:
    """A regular expression that may cross lines."""
    return Atom(text, regexp=True, lines=True)


CASES = (
    Case("ThreadPoolExecutor", Atom("ThreadPoolExecutor")),
    Case("errors.New( case:yes", Atom("errors.New("), case_sensitive=True),
    Case("segmentation fault", Atom("segmentation fault")),
    Case("naïve", Atom("naïve")),
    Case("kelvin", Atom("kelvin")),
    Case("0x7fffffff", Atom("0x7fffffff")),
    Case('content:"TODO(" case:yes', Atom("TODO("), case_sensitive=True, field="file"),
    Case(r"/func [a-z]\w+Handler\(/ case:yes", expression(r"func [a-z](?-u:\w)+Handler\("), case_sensitive=True),
    Case("/^package main$/", expression("^package main$")),
    Case(r"/(TODO|FIXME|XXX)\([a-z]+\)/ case:yes", expression(r"(TODO|FIXME|XXX)\([a-z]+\)"), case_sensitive=True),
    Case("/err.{5}nil/ case:yes", expression("err.{5}nil"), case_sensitive=True),
    Case(r'/"[^"\n]{80,}"/ lang:go case:yes', expression(r'"[^"\n]{80,}"'), case_sensitive=True, files=(r"(?i)\.go$",)),
    Case(
        r"/\bself\.assert[A-Z][A-Za-z]+\(/ case:yes",
        expression(r"(?-u:\b)self\.assert[A-Z][A-Za-z]+\("),
        case_sensitive=True,
    ),
    Case("deadlock OR livelock", Either((Atom("deadlock"), Atom("livelock")))),
    Case("goroutine AND context NOT mutex", Both((Atom("goroutine"), Atom("context"), Without(Atom("mutex"))))),
    Case("(socket OR pipe) AND ETIMEDOUT", Both((Either((Atom("socket"), Atom("pipe"))), Atom("ETIMEDOUT")))),
    Case(r"retry NOT backoff file:\.py$", Both((Atom("retry"), Without(Atom("backoff")))), files=(r"\.py$",)),
    Case(r"timeout file:_test\.go$ case:yes", Atom("timeout"), case_sensitive=True, files=(r"_test\.go$",)),
    Case(
        "asyncio lang:python -file:test",
        Atom("asyncio"),
        files=(r"\.(py|pyi|pyw)$",),
        without_files=("test",),
    ),
    Case("replication repo:redis/redis$", Atom("replication"), repositories="redis/redis$"),
    Case(
        "@Deprecated repo:apache/kafka$ lang:java",
        Atom("@Deprecated"),
        repositories="apache/kafka$",
        files=(r"\.(java|jav|jsh)$",),
    ),
    Case(
        r"deprecated -repo:kafka|loki file:\.(md|rst)$",
        Atom("deprecated"),
        files=(r"\.(md|rst)$",),
        without_repositories="kafka|loki",
    ),
    Case("type:path Dockerfile", Atom("Dockerfile"), field="path"),
    Case(r"type:path /_test\.go$/ repo:prometheus", expression(r"_test\.go$"), field="path", repositories="prometheus"),
    Case("type:file apache license", Atom("apache license"), field="file"),
    Case(r'/import \(\n\t"context"/ case:yes', across(r'import \(\n\t"context"'), case_sensitive=True),
    Case(r"/def [a-z_]+\(\n\s+self,/ case:yes", across(r"def [a-z_]+\(\n(?-u:\s)+self,"), case_sensitive=True),
    Case(
        r"type:file /^[ \t\n]*class [A-Z]/ case:yes", across(r"^[ \t\n]*class [A-Z]"), case_sensitive=True, field="file"
    ),
    Case(r"type:file /license[ \t\n]*$/", across(r"license[ \t\n]*$"), field="file"),
    Case("socket timeout", Both((Atom("socket"), Atom("timeout"))), kind="keyword", field="both"),
    Case("file:^doc/ repo:pytest-dev/pytest$", None, files=("^doc/",), repositories="pytest-dev/pytest$"),
    Case(
        "cluster repo:redis/redis$@7.2.4 case:yes",
        Atom("cluster"),
        case_sensitive=True,
        repositories="redis/redis$",
        revisions=("7.2.4",),
    ),
    Case(
        "/class [A-Z][A-Za-z]+Exception/ repo:apache/kafka$@3.8.0 case:yes",
        expression("class [A-Z][A-Za-z]+Exception"),
        case_sensitive=True,
        repositories="apache/kafka$",
        revisions=("3.8.0",),
    ),
    Case(
        "fixture repo:pytest-dev/pytest$@8.0.0:9.0.0",
        Atom("fixture"),
        repositories="pytest-dev/pytest$",
        revisions=("8.0.0", "9.0.0"),
    ),
)


class Oracle:
    """Answers cases with other programs."""

    def __init__(self, repositories: Iterable[Repository], tree: Path) -> None:
        self.repositories = {repository.name: repository for repository in repositories}
        self.tree = tree
        self._lines = lru_cache(maxsize=8)(self._ripgrep)
        self._files = lru_cache(maxsize=64)(self._list)

    def expected(self, case: Case) -> set[Place]:
        """Every row that the case must give."""
        rows: set[Place] = set()
        for name, repository in self.repositories.items():
            if re.search(case.repositories, name, re.IGNORECASE) and not re.search(
                case.without_repositories, name, re.IGNORECASE
            ):
                for revision in case.revisions:
                    self._collect(rows, repository, revision, case)
        return rows

    def _collect(self, rows: set[Place], repository: Repository, revision: str, case: Case) -> None:
        flags = re.NOFLAG if case.case_sensitive else re.IGNORECASE
        required = [re.compile(without_file, flags) for without_file in case.files]
        unwanted = [re.compile(without_file, flags) for without_file in case.without_files]
        atoms = [] if case.tree is None else _atoms(case.tree)
        lines: dict[Atom, dict[str, set[int]]] = {atom: {} for atom in atoms}
        if case.field != "path":
            lines = {atom: self._of(repository, revision, atom, case) for atom in atoms}
        names = {} if case.field == "file" else {atom: _name_pattern(atom, flags) for atom in atoms}
        displayed = [] if case.tree is None else _displayed_atoms(case.tree)
        for path in self._files(repository.name, revision):
            if not all(without_file.search(path) for without_file in required) or any(
                without_file.search(path) for without_file in unwanted
            ):
                continue

            def has(atom: Atom, path: str = path) -> bool:
                return path in lines[atom] or (atom in names and names[atom].search(path) is not None)

            if case.tree is not None and not _holds(case.tree, has):
                continue
            results = {number for atom in displayed for number in lines[atom].get(path, ())}
            if results:
                rows.update((repository.name, revision, path, number) for number in results)
            elif case.field != "file":
                rows.add((repository.name, revision, path, 0))

    def _of(self, repository: Repository, revision: str, atom: Atom, case: Case) -> dict[str, set[int]]:
        if revision:
            return self._git_grep(repository, revision, atom, case_sensitive=case.case_sensitive)
        return self._lines(atom, case.case_sensitive).get(repository.name, {})

    def _ripgrep(self, atom: Atom, case_sensitive: bool) -> dict[str, dict[str, set[int]]]:  # noqa: FBT001 - cached
        arguments = [] if case_sensitive else ["-i"]
        arguments += ["-U"] if atom.lines else []
        arguments += [] if atom.regexp else ["-F"]
        results: dict[str, dict[str, set[int]]] = {name: defaultdict(set) for name in self.repositories}
        for path, number in ripgrep_rows([*arguments, "-e", atom.text], self.tree):
            name = next(item for item in _folders(path) if item in results)
            results[name][path[len(name) + 1 :]].add(number)
        return {name: dict(lines) for name, lines in results.items()}

    def _git_grep(
        self, repository: Repository, revision: str, atom: Atom, *, case_sensitive: bool
    ) -> dict[str, set[int]]:
        kinds = ["-P" if atom.regexp else "-F", *([] if case_sensitive else ["-i"])]
        arguments = ["grep", "-z", "-n", "-a", "--no-color", *kinds, "-e", atom.text, revision]
        out = _git(repository, *arguments, accept=(0, 1))
        files = self._files(repository.name, revision)
        results: dict[str, set[int]] = {}
        for row in out.split(b"\n")[:-1]:
            location, _, remaining = row.partition(b"\0")
            path = location.removeprefix(f"{revision}:".encode()).decode("utf-8", "replace")
            if files.get(path):
                results.setdefault(path, set()).add(int(remaining.partition(b"\0")[0]))
        return results

    def _list(self, name: str, revision: str) -> dict[str, bool]:
        """Every regular file, and whether its content is searched."""
        repository = self.repositories[name]
        rows = _git(repository, "ls-tree", "-r", "-z", revision or "HEAD").split(b"\0")[:-1]
        files = {}
        with ObjectReader(repository) as reader:
            for row in rows:
                attributes, _, path = row.partition(b"\t")
                mode, _kind, blob = attributes.split()
                if not mode.startswith(b"100"):
                    continue
                data = reader.read(bytes.fromhex(blob.decode())) if revision else b""
                searched = data is not None and len(data) <= DEFAULT_MAX_FILE_SIZE and b"\0" not in data
                files[path.decode("utf-8", "replace")] = searched
        return files


def _folders(path: str) -> Iterable[str]:
    offset = path.find("/")
    while offset >= 0:
        yield path[:offset]
        offset = path.find("/", offset + 1)


def _git(repository: Repository, *arguments: str, accept: tuple[int, ...] = (0,)) -> bytes:
    environment = os.environ | {"LC_ALL": "C.UTF-8", "GIT_NO_LAZY_FETCH": "1"}
    command = ["git", "--git-dir", repository.git_dir, *arguments]
    done = subprocess.run(command, capture_output=True, check=False, timeout=600, env=environment)
    if done.returncode not in accept:
        sys.exit(f"{' '.join(command)}: {done.stderr.decode(errors='replace')}")
    return done.stdout


def _name_pattern(atom: Atom, flags: re.RegexFlag) -> re.Pattern[str]:
    text = re.sub(r"\(\?-u:((?:\\.|[^)])*)\)", r"\1", atom.text) if atom.regexp else re.escape(atom.text)
    return re.compile(text, flags)


def _atoms(tree: Tree) -> list[Atom]:
    match tree:
        case Atom():
            return [tree]
        case Without(part):
            return _atoms(part)
        case Both(parts) | Either(parts):
            return [atom for part in parts for atom in _atoms(part)]


def _displayed_atoms(tree: Tree) -> list[Atom]:
    match tree:
        case Atom():
            return [tree]
        case Without():
            return []
        case Both(parts) | Either(parts):
            return [atom for part in parts for atom in _displayed_atoms(part)]


def _holds(tree: Tree, has: Callable[[Atom], bool]) -> bool:
    match tree:
        case Atom():
            return has(tree)
        case Without(part):
            return not _holds(part, has)
        case Both(parts):
            return all(_holds(part, has) for part in parts)
        case Either(parts):
            return any(_holds(part, has) for part in parts)


def search_places(corpus: Corpus, case: Case) -> set[Place]:
    """Every row that we give; it ends for an answer that lacks more than contents that a repository does not hold."""
    result = corpus.client.search(f"{case.query} count:all", pattern_type=case.kind, progress=False)
    if not all(reason.startswith("document-missing") for reason in result.reasons):
        sys.exit(f"{case.query}: {result.status}: {'; '.join(result.reasons)}")
    table = result.arrow.select(["repository", "revision", "path", "line_number"])
    columns = [table[name].to_pylist() for name in table.column_names]
    return {(name, revision or "", path, line or 0) for name, revision, path, line in zip(*columns, strict=True)}


def digest(rows: Iterable[Place]) -> str:
    """The first 12 hex digits of the SHA-256 of all rows in order."""
    text = "".join("\0".join(map(str, row)) + "\n" for row in sorted(rows))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def main() -> int:
    """Compare and print; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", required=True, help="folder with git repositories")
    parser.add_argument("--index", default="", help="folder to keep the index and the checkout in")
    parser.add_argument("--queries", default="", help="parts of queries, with commas between")
    parser.add_argument("--each", action="store_true", help="print every pair of a query and a repository")
    options = parser.parse_args()
    words = [word for word in options.queries.split(",") if word]
    rows: dict[str, set[Place]] = {}
    different = 0
    with ExitStack() as stack:
        home = options.index or stack.enter_context(tempfile.TemporaryDirectory())
        corpus = Corpus(options.corpus, home)
        tree = Path(home, "tree")
        if not tree.exists():
            corpus.export(tree)
        oracle = Oracle(corpus.repositories, tree)
        table = []
        for case in CASES:
            if words and not any(word in case.query for word in words):
                continue
            ours, theirs = search_places(corpus, case), oracle.expected(case)
            rows[case.query] = ours
            for row in [*sorted(theirs - ours)[:3], *sorted(ours - theirs)[:3]]:
                print(f"{case.query}: {'only ours' if row in ours else 'only theirs'}: {row}", file=sys.stderr)
            different += ours != theirs
            verdict = "yes" if ours == theirs else f"**no**: {len(theirs - ours)} missing, {len(ours - theirs)} extra"
            names = sum(not row[3] for row in ours)
            lines = f"{len(ours) - names:,}"
            table.append([f"`{case.query}`", f"`{digest(ours)}`", lines, f"{names:,}", verdict])
        print(markdown(("query", "digest", "lines", "files by name", "equal"), table, left=2))
        print()
        print(markdown(("repository", "commit", "digest", "rows"), _by_repository(corpus, rows), left=3))
        if options.each:
            print()
            print(markdown(("query", "commit", "digest", "rows"), _result_rows(corpus, rows), left=3))
    print(f"\n{len(table) - different} of {len(table)} queries equal; {machine()}")
    return int(bool(different))


def _by_repository(corpus: Corpus, rows: dict[str, set[Place]]) -> Iterable[list[str]]:
    for repository in corpus.repositories:
        of = [
            (query, *location[1:])
            for query, locations in rows.items()
            for location in locations
            if location[0] == repository.name
        ]
        text = "".join("\0".join(map(str, row)) + "\n" for row in sorted(of))
        short = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:12]
        yield [repository.name, f"`{repository.info.commit[:12]}`", f"`{short}`", f"{len(of):,}"]


def _result_rows(corpus: Corpus, rows: dict[str, set[Place]]) -> Iterable[list[str]]:
    existing = {repository.name: repository for repository in corpus.repositories}
    for query, locations in rows.items():
        for name, revision in sorted({location[:2] for location in locations}):
            of = [location for location in locations if location[:2] == (name, revision)]
            commit = resolve(existing[name], revision) if revision else existing[name].info.commit
            yield [f"`{query}`", f"{name} `{commit[:12]}`", f"`{digest(of)}`", f"{len(of):,}"]


if __name__ == "__main__":
    sys.exit(main())
