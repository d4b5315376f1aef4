"""Histories for tests, and what git says of them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

from sourcelight.core.patterns import CompiledPattern, compile_pattern
from sourcelight.engines.history import History, LocalHistoryStore
from sourcelight.repos import Catalog, Repository
from sourcelight.testing import RepositoryBuilder
from sourcelight.testing.repositories import git_environment, identity

HUNDRED_YEARS = 4_102_444_800  # 2100-01-01


def repository_of(path: str | os.PathLike[str]) -> Repository:
    """The one repository at a path."""
    return Catalog.open([os.fspath(path)]).repositories[0]


def open_history(store: LocalHistoryStore, path: str | os.PathLike[str], *refs: str) -> History:
    """The history of the repository at a path, brought up to date."""
    repository = repository_of(path)
    report = store.update([repository], refs=refs or ("HEAD",))
    assert not report.failures, report.failures
    return store.open(repository)


def git_log(path: Path, *arguments: str, revisions: Iterable[str] = ("HEAD",)) -> set[str]:
    """The commits that ``git log`` lists."""
    argv = ["git", "--git-dir", str(path / ".git"), "log", "--format=%H", *arguments, *revisions, "--"]
    done = subprocess.run(argv, capture_output=True, check=True, env=git_environment(), timeout=60)
    return set(done.stdout.decode().split())


def literal(text: str, *, case_sensitive: bool = True) -> CompiledPattern:
    """A plain text."""
    return compile_pattern(text, kind="literal", case_sensitive=case_sensitive)


def regexp(text: str, *, whole_text: bool = False) -> CompiledPattern:
    """A regular expression."""
    return compile_pattern(text, kind="regexp", case_sensitive=True, whole_text=whole_text)


def oids(history: History, commits: Iterable[int]) -> set[str]:
    """Names of commits by their numbers."""
    return {history.oid(int(commit)) for commit in commits}


def commit_at(repo: RepositoryBuilder, date: int, message: str) -> str:
    """Commit what stands in the work tree at a time that git's own dates don't reach."""
    repo.git("add", "-A")
    who = identity("Ada <a@x>", "Ada <a@x>", 0)
    when = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"@{date} +0000")
    repo.git("commit", "-q", "-m", message, env=who | when)
    return repo.head


def build_many_kinds(path: Path) -> RepositoryBuilder:
    """A history with everything that a commit can be."""
    repo = RepositoryBuilder(path)
    lines = [f"line {n} needle\n" if n % 7 == 0 else f"line {n}\n" for n in range(40)]
    repo.write({"a.py": "".join(lines), "docs/read me.md": "needle\n"})
    commit_at(repo, 86_400, "root: add needle")
    repo.commit({"a.py": "".join(lines[:20]) + "needle needle\n" + "".join(lines[21:])}, "twice\n\nSigned-off: ada")
    repo.git("mv", "a.py", "src.py")
    repo.commit(None, "move only", author="Bob Builder <bob@example.org>")
    repo.commit({"src.py": "".join(lines[5:])}, "cut\n\nneedle in the body\n", author="Zoë Ångström <zoe@example.com>")
    repo.commit({b"caf\xe9.txt": b"caf\xe9 needle\n", "naïve.txt": "naïve needle\n"}, "odd paths")
    repo.commit({"no newline": "needle", "empty": ""}, "no newline at the end")
    repo.commit({"no newline": "needle\nmore"}, "still none")
    repo.commit({"blob.bin": b"\0\1needle\0\n", "binary then link": b"\0"}, "binary")
    repo.commit({"kind": "needle target\n"}, "a file")
    repo.write({"kind": None, "binary then link": None})
    repo.symlink("kind", "src.py")
    repo.symlink("binary then link", "src.py")
    repo.commit(None, "type change")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{repo.head},module")
    repo.git("commit", "-q", "-m", "submodule needle", env=identity("Ada <a@x>", "Cy <c@x>", 1_700_100_000))
    main = repo.head
    for name in ("one", "two", "three"):
        repo.branch(name, start=main)
        repo.commit({f"{name}.txt": f"{name} needle\n"}, f"on {name}")
    repo.switch("main")
    repo.git("merge", "-q", "--no-ff", "-m", "octopus", "one", "two", "three", "-s", "octopus",
             env=identity("Ada <a@x>", "Ada <a@x>", 1_700_200_000))  # fmt: skip
    repo.git("checkout", "-q", "--orphan", "other")
    repo.commit({"other.txt": "needle of another root\n"}, "second root")
    repo.switch("main")
    repo.git("merge", "-q", "--no-ff", "--allow-unrelated-histories", "-s", "ours", "-m", "join roots", "other",
             env=identity("Ada <a@x>", "Ada <a@x>", 1_700_300_000))  # fmt: skip
    repo.commit(None, "empty commit")
    repo.write({"late.txt": "needle\n"})
    commit_at(repo, HUNDRED_YEARS, "in a hundred years")
    repo.git("-c", "i18n.commitEncoding=ISO-8859-1", "commit", "-q", "--allow-empty", "-F", "-",
             stdin=b"latin caf\xe9\n", env=identity("Ada <a@x>", "Ada <a@x>", 1_700_400_000))  # fmt: skip
    repo.git("commit", "-q", "--allow-empty", "-F", "-", stdin=b"broken \xff\xfe bytes\n",
             env=identity("Ada <a@x>", "Ada <a@x>", 1_700_400_100))  # fmt: skip
    return repo
