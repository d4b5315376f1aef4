"""What git itself says of a repository: trees, contents, commits and changed lines. Knows nothing of the product."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

MAX_FILE_BYTES = 2 * 1024 * 1024


def environment() -> dict[str, str]:
    """An environment without this machine's configuration, and in which git fetches nothing."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return env | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",  # nothing follows them; that there are some is told
        "GIT_ALLOW_PROTOCOL": "file",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }


def git(
    folder: Path,
    *arguments: str | bytes,
    stdin: bytes = b"",
    accept: Sequence[int] = (0,),
    extra_env: dict[str, str] | None = None,
) -> bytes:
    """Standard output of a git command."""
    done = subprocess.run(
        ["git", "-c", "core.quotePath=false", "-c", "protocol.file.allow=always", *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        env=environment() | (extra_env or {}),
        timeout=120,
        check=False,
    )
    if done.returncode not in accept:
        raise AssertionError(f"git {arguments!r} failed: {done.stderr.decode(errors='replace')}")
    return done.stdout


@cache
def git_folder(folder: Path) -> Path:
    """The folder of git's own files."""
    return Path(os.fsdecode(git(folder, "rev-parse", "--absolute-git-dir").removesuffix(b"\n")))


def bare_git(folder: Path, *arguments: str | bytes, stdin: bytes = b"", accept: Sequence[int] = (0,)) -> bytes:
    """Output of a git command that sees no work tree, and so no attributes: as if the repository were bare."""
    # The index of a linked work tree would give attributes, too.
    return git(
        git_folder(folder), "--git-dir=.", "-c", "core.bare=true", *arguments, stdin=stdin, accept=accept,
        extra_env={"GIT_INDEX_FILE": str(git_folder(folder) / "no-index")},
    )  # fmt: skip


@dataclass(slots=True)
class Document:
    """A file of a commit. `searchable` is False where only its name is matched: binary, or too large."""

    path: bytes
    data: bytes
    searchable: bool
    display_path: str = ""
    starts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.display_path = self.path.decode(errors="replace")
        position = 0
        while position < len(self.data):
            self.starts.append(position)
            position = self.data.find(b"\n", position) + 1 or len(self.data)


def resolve(folder: Path, revision: str) -> str:
    """The commit that a revision names."""
    return git(folder, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").decode().strip()


def documents(folder: Path, commit: str) -> list[Document]:
    """Every regular file of a commit, by path."""
    rows = []
    for row in git(folder, "ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")[:-1]:
        attributes, _, path = row.partition(b"\t")
        mode, kind, blob = attributes.split()
        if kind == b"blob" and mode != b"120000":
            rows.append((path, blob))
    contents = blobs(folder, {blob for _, blob in rows})
    results = []
    for path, blob in rows:
        data = contents[blob]
        results.append(Document(path, data, searchable=b"\0" not in data and len(data) <= MAX_FILE_BYTES))
    return results


def blobs(folder: Path, names: set[bytes]) -> dict[bytes, bytes]:
    """Contents by object name."""
    required = sorted(names)
    out = git(folder, "cat-file", "--batch", "--buffer", stdin=b"".join(name + b"\n" for name in required))
    contents, position = {}, 0
    for name in required:
        end = out.index(b"\n", position)
        size = int(out[position:end].split()[2])
        contents[name] = out[end + 1 : end + 1 + size]
        position = end + 2 + size
    return contents
