"""Build the sample fleet: ``python datasets/build.py DEST``.

Five git repositories of one made-up product, a network of tide gauges, with a fork and an archived forerunner
beside them (both left out of a search unless it asks for them). Same commits, same hashes on every machine:
authors, dates and contents are fixed, and the configuration of the host's git is shut out.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from weave import Entry, State, WovenFile, read_files, read_history

FLEET = Path(__file__).resolve().parent / "fleet"
Tree = dict[bytes, tuple[str, bytes]]


def shut_environment() -> dict[str, str]:
    """Environment in which the host's git configuration has no say."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def run_git(folder: Path, *arguments: str, stdin: bytes = b"") -> str:
    """Run git in a folder.

    Raises
    ------
    SystemExit
        If git fails, with its last words.
    """
    done = subprocess.run(
        ["git", "-c", "core.autocrlf=false", "-c", "core.symlinks=false", *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        env=shut_environment(),
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)} failed in {folder}:\n{done.stderr.decode(errors='replace')}")
    return done.stdout.decode(errors="replace").strip()


class ImportStream:
    """Commits of one repository as input of ``git fast-import``.

    Parameters
    ----------
    files
        Woven files.
    people
        Key to ``Name <email>``.
    """

    def __init__(self, files: Sequence[WovenFile], people: Mapping[str, str]) -> None:
        self._files = files
        self._people = people
        self._out: list[bytes] = []
        self._contents: dict[bytes, int] = {}
        self._marks = 0
        self._branches: dict[str, tuple[int, State, Tree]] = {}
        self._places: dict[str, tuple[int, State, Tree]] = {}
        self._starts: dict[str, Mapping[str, str]] = {}

    def render(self, entries: Sequence[Entry]) -> bytes:
        """Give the whole stream."""
        known = {entry.name for entry in entries}
        if len(known) != len(entries):
            raise ValueError("two commits have one name")
        for entry in entries:
            self._commit(entry)
        return b"".join(self._out) + b"done\n"

    def _commit(self, entry: Entry) -> None:
        branch = entry.order("branch", "main")
        start = self._branches.get(branch) or self._places.get(entry.order("from")) or self._branches.get("main")
        parent, state, tree = start or (0, State(), {})
        others = [self._branches[name] for name in entry.order("merge").split()]
        self._starts.setdefault(branch, state.settings)
        for name in entry.order("merge").split():
            other, start_settings = self._branches[name][1], self._starts[name]
            changed = {key: value for key, value in other.settings.items() if start_settings.get(key) != value}
            state = State(state.names | other.names, {**state.settings, **changed})
        state = entry.apply(state)
        after = self._tree(state)
        changes = self._changes(tree, after)
        if not changes and not others and not entry.order("empty", "no").startswith("yes"):
            raise ValueError(f"{entry.name} changes nothing")
        encoding = entry.order("encoding")
        author, committer = (self._people[key] for key in (entry.author, entry.order("committer", entry.author)))
        self._marks += 1
        mark = self._marks
        self._line(f"commit refs/heads/{branch}")
        self._line(f"mark :{mark}")
        self._line(f"author {author} {entry.date}")
        self._line(f"committer {committer} {entry.date}")
        if encoding:
            self._line(f"encoding {encoding}")
        self._data(entry.message.encode(encoding or "utf-8"))
        if parent:
            self._line(f"from :{parent}")
        for other_mark, _, _ in others:
            self._line(f"merge :{other_mark}")
        self._out += changes
        self._branches[branch] = self._places[entry.name] = (mark, state, after)
        self._tags(entry, mark, committer)

    def _tags(self, entry: Entry, mark: int, tagger: str) -> None:
        for order, argument in entry.orders:
            name, _, message = argument.partition(" ")
            if order == "tag":
                self._line(f"tag {name}")
                self._line(f"from :{mark}")
                self._line(f"tagger {tagger} {entry.date}")
                self._data(message.encode() + b"\n")
            elif order == "mark":
                self._line(f"reset refs/tags/{name}")
                self._line(f"from :{mark}\n")

    def _tree(self, state: State) -> Tree:
        tree: Tree = {}
        for file in self._files:
            path = file.path_in(state.names)
            if path is not None:
                tree[path] = ("100755" if "executable" in file.kinds else "100644", file.content_in(state))
        return tree

    def _changes(self, before: Tree, after: Tree) -> list[bytes]:
        changes = [b"D " + quoted(path) + b"\n" for path in sorted(before.keys() - after.keys())]
        for path in sorted(after):
            mode, content = after[path]
            if before.get(path) == (mode, content):
                continue
            changes.append(f"M {mode} :{self._blob(content)} ".encode() + quoted(path) + b"\n")
        return changes

    def _blob(self, content: bytes) -> int:
        if content not in self._contents:
            self._marks += 1
            self._contents[content] = self._marks
            self._line("blob")
            self._line(f"mark :{self._marks}")
            self._data(content)
        return self._contents[content]

    def _line(self, text: str) -> None:
        self._out.append(text.encode() + b"\n")

    def _data(self, content: bytes) -> None:
        self._out.append(b"data %d\n" % len(content) + content + b"\n")


def quoted(path: bytes) -> bytes:
    """Quote a path for the stream: bytes outside printable ASCII as octal."""
    plain = all(0x20 < byte < 0x7F and byte not in b'"\\' for byte in path)
    if plain:
        return path
    return b'"' + b"".join(b"\\%03o" % byte if byte < 0x20 or byte > 0x7E or byte in b'"\\' else bytes((byte,))
                           for byte in path) + b'"'  # fmt: skip


def read_repository(name: str, facts: Mapping[str, Any]) -> tuple[list[WovenFile], list[Entry]]:
    """Files and commits of one repository; a fork has its parent's up to the commit where it left."""
    files = read_files(FLEET / name / "files")
    entries = read_history((FLEET / name / "history.txt").read_text(encoding="utf-8"))
    if "fork_of" in facts:
        parent_files, parent_entries = read_repository(facts["fork_of"], {})
        names = [entry.name for entry in parent_entries]
        files = parent_files + files
        entries = parent_entries[: names.index(facts["fork_at"]) + 1] + entries
    return files, entries


def build_repository(folder: Path, name: str, facts: Mapping[str, Any], people: Mapping[str, str]) -> str:
    """Build one repository and give its newest commit on main, 40 hex digits."""
    files, entries = read_repository(name, facts)
    stream = ImportStream(files, people).render(entries)
    bare = bool(facts.get("bare"))
    folder.mkdir(parents=True)
    run_git(folder, "init", "--quiet", "--template=", *(["--bare"] if bare else []), ".")
    run_git(folder, "symbolic-ref", "HEAD", "refs/heads/main")
    run_git(folder, "config", "core.autocrlf", "false")
    run_git(folder, "remote", "add", "origin", facts["origin"])
    run_git(folder, "fast-import", "--quiet", "--done", "--date-format=raw", stdin=stream)
    if not bare:
        run_git(folder, "reset", "--quiet", "--hard")
    return run_git(folder, "rev-parse", "HEAD")


def build(destination: Path) -> dict[str, str]:
    """Build the fleet.

    Parameters
    ----------
    destination
        Folder to fill; it is made, and must not hold a fleet yet.

    Returns
    -------
    dict of str to str
        Folder of each repository to its newest commit.

    Raises
    ------
    SystemExit
        If a repository of the fleet stands there already, or git is missing or fails.
    """
    fleet = tomllib.loads((FLEET / "fleet.toml").read_text(encoding="utf-8"))
    heads = {}
    for name, facts in fleet["repositories"].items():
        folder = destination / (f"{name}.git" if facts.get("bare") else name)
        if folder.exists():
            raise SystemExit(f"{folder} exists: choose an empty folder")
        heads[folder.name] = build_repository(folder, name, facts, fleet["people"])
    (destination / "repos.toml").write_bytes((FLEET / "repos.toml").read_bytes())
    return heads


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the fleet for the command line and print each newest commit."""
    parser = argparse.ArgumentParser(description="Build the sample repositories of the tutorials and tests.")
    parser.add_argument("destination", type=Path, metavar="DEST", help="folder to fill")
    for name, head in build(parser.parse_args(arguments).destination).items():
        sys.stdout.write(f"{head} {name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
