"""What `git grep` and ripgrep find in the fleet, put together as the query language asks: oracles of the contract."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

MAX_FILE_BYTES = 2 * 1024 * 1024
VISIBLE = ["board", "gauge", "handbook.git", "hub", "pytide"]
Row = tuple[str, bytes, int]


@dataclass(frozen=True, slots=True)
class Atom:
    """One pattern: a literal, or with `regexp` a regular expression that RE2 and PCRE read alike."""

    text: str
    regexp: bool = False


@dataclass(frozen=True, slots=True)
class Both:
    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Either:
    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Without:
    part: Tree


Tree = Atom | Both | Either | Without


@dataclass(frozen=True, slots=True)
class Case:
    """A query, and the same question in the oracle's terms; `files` and `repositories` are regular expressions."""

    query: str
    tree: Tree
    case_sensitive: bool = False
    files: tuple[str, ...] = ()
    without_files: tuple[str, ...] = ()
    repositories: str = ""
    pattern_type: str = "standard"


@dataclass
class Found:
    """Content rows, and files that match by their name alone."""

    lines: set[Row] = field(default_factory=set)
    names: set[tuple[str, bytes]] = field(default_factory=set)


def git(repository: Path, *arguments: str, accept: tuple[int, ...] = (0,)) -> bytes:
    done = subprocess.run(
        ["git", *arguments], cwd=repository, capture_output=True, check=False, timeout=60, stdin=subprocess.DEVNULL
    )
    assert done.returncode in accept, done.stderr.decode(errors="replace")
    return done.stdout


@cache
def paths(repository: Path) -> dict[bytes, bool]:
    """Every path at HEAD, and whether its content is searched: neither binary nor too large."""
    results = {}
    for row in git(repository, "ls-tree", "-r", "-l", "-z", "HEAD").split(b"\0")[:-1]:
        header, _, path = row.partition(b"\t")
        _mode, _kind, blob, size = header.split()
        searched = int(size) <= MAX_FILE_BYTES and b"\0" not in git(repository, "cat-file", "blob", blob.decode())
        results[path] = searched
    return results


@cache
def lines_of(repository: Path, atom: Atom, *, case_sensitive: bool) -> dict[bytes, set[int]]:
    """Line numbers by path."""
    flags = ["-P" if atom.regexp else "-F", *([] if case_sensitive else ["-i"])]
    out = git(repository, "grep", "-z", "-n", "-a", "--no-color", *flags, "-e", atom.text, "HEAD", accept=(0, 1))
    results: dict[bytes, set[int]] = {}
    for row in out.split(b"\n")[:-1]:
        location, number, _line = row.split(b"\0", 2)
        path = location.removeprefix(b"HEAD:")
        if paths(repository)[path]:
            results.setdefault(path, set()).add(int(number))
    return results


def in_name(path: bytes, atom: Atom, *, case_sensitive: bool) -> bool:
    pattern = atom.text if atom.regexp else re.escape(atom.text)
    return re.search(pattern, path.decode(errors="replace"), 0 if case_sensitive else re.IGNORECASE) is not None


def positive(tree: Tree) -> list[Atom]:
    match tree:
        case Atom():
            return [tree]
        case Without():
            return []
        case Both(parts) | Either(parts):
            return [atom for part in parts for atom in positive(part)]


def holds(tree: Tree, has: Callable[[Atom], bool]) -> bool:
    match tree:
        case Atom():
            return has(tree)
        case Without(part):
            return not holds(part, has)
        case Both(parts):
            return all(holds(part, has) for part in parts)
        case Either(parts):
            return any(holds(part, has) for part in parts)


@cache
def expected(fleet: Path, case: Case) -> Found:
    """Answer a case by `git grep`, file by file; callers must not change the answer."""
    result = Found()
    sensitive = case.case_sensitive
    flags = 0 if sensitive else re.IGNORECASE
    for folder in VISIBLE:
        name = f"example.org/tidewatch/{folder.removesuffix('.git')}"
        if not re.search(case.repositories, name, re.IGNORECASE):
            continue
        repository = fleet / folder
        for path in paths(repository):
            text = path.decode(errors="replace")
            if not all(re.search(pattern, text, flags) for pattern in case.files):
                continue
            if any(re.search(pattern, text, flags) for pattern in case.without_files):
                continue
            collect(result, repository, name, path, case)
    return result


def collect(result: Found, repository: Path, name: str, path: bytes, case: Case) -> None:
    sensitive = case.case_sensitive

    def numbers(atom: Atom) -> set[int]:
        return lines_of(repository, atom, case_sensitive=sensitive).get(path, set())

    def has(atom: Atom) -> bool:
        return bool(numbers(atom)) or in_name(path, atom, case_sensitive=sensitive)

    if not holds(case.tree, has):
        return
    rows = {(name, path, number) for atom in positive(case.tree) for number in numbers(atom)}
    result.lines |= rows
    if not rows:
        result.names.add((name, path))


@cache
def ripgrep(fleet: Path, atom: Atom, *, case_sensitive: bool) -> frozenset[Row]:
    """Lines of one pattern in the work trees, as ripgrep finds them."""
    results = set()
    for folder in VISIBLE:
        if folder.endswith(".git"):
            continue
        command = ["rg", "--no-config", "--no-ignore", "--hidden", "--glob=!.git", "--max-filesize=2M", "--color=never"]
        command += ["--line-number", "--no-heading", "--with-filename", "--null"]
        command += [*([] if atom.regexp else ["--fixed-strings"]), *([] if case_sensitive else ["--ignore-case"])]
        done = subprocess.run(
            [*command, "--regexp", atom.text, "."], cwd=fleet / folder, capture_output=True, check=False, timeout=60
        )
        assert done.returncode in {0, 1}, done.stderr.decode(errors="replace")
        for row in done.stdout.split(b"\n")[:-1]:
            path, _, remaining = row.partition(b"\0")
            number = remaining.partition(b":")[0]
            results.add((f"example.org/tidewatch/{folder}", path.removeprefix(b"./"), int(number)))
    return frozenset(results)
