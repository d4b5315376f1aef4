"""Real git repositories in a temporary directory, with the same commit hashes on every machine.

Authors and dates are fixed, and the host's git configuration is ignored, so that a test never depends on who runs it.
Needs the `git` command.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from sourcelight.core.batches import CommitId

AUTHOR = "Ada Example <ada@example.org>"
FIRST_DATE = 1_700_000_000  # 2023-11-14T22:13:20Z; each further commit is one hour later
Content = str | bytes | None
Files = Mapping[Any, Content]  # keys are str or bytes; a union would be refused, since the key type is invariant


def git_environment(**extra: str) -> dict[str, str]:
    """Return the environment for a git command that must not see the configuration or identity of this host.

    Parameters
    ----------
    extra
        Variables to add or to replace.
    """
    # In a hook of git, `GIT_DIR` and others name the repository of the hook.
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        # Tests read messages of git, which are translated otherwise.
        "LC_ALL": "C",
    }
    return env | extra


class RepositoryBuilder:
    r"""A git repository that grows by method calls.

    Parameters
    ----------
    path
        Directory to create. An existing repository there is continued.
    branch
        Name of the first branch.
    origin
        URL to record as remote `origin`, as a clone would; nothing is fetched. Empty: no remote.
    object_format
        ``sha1`` or ``sha256``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     repo = RepositoryBuilder(Path(folder) / "demo")
    ...     first = repo.commit({"hello.py": "print('hello')\n"}, "greet")
    ...     repo.head == first
    True
    """

    def __init__(
        self, path: str | os.PathLike[str], *, branch: str = "main", origin: str = "", object_format: str = "sha1"
    ) -> None:
        self.path = Path(path)
        self._date = FIRST_DATE
        if not (self.path / ".git").exists():
            self.path.mkdir(parents=True, exist_ok=True)
            self.git("init", "-q", "-b", branch, f"--object-format={object_format}", "--template=", ".")
        if origin:
            self.git("remote", "add", "origin", origin)

    def git(self, *arguments: str | bytes, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> str:
        """Run a git command in the work tree, and return its standard output without the last newline.

        Raises
        ------
        AssertionError
            If the command fails; the message has its standard error.
        """
        # Since 2.38.1, git refuses submodules with `file:` addresses by default. Maintenance would start in the
        # background, and still write while a test deletes its repository.
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", "-c", "maintenance.auto=false", *arguments],
            cwd=self.path,
            input=stdin,
            capture_output=True,
            env=git_environment(**(env or {})),
            timeout=60,
            check=False,
        )
        if done.returncode:
            raise AssertionError(f"git {arguments} failed: {done.stderr.decode(errors='replace')}")

        return done.stdout.decode(errors="surrogateescape").removesuffix("\n")

    def write(self, files: Files) -> None:
        """Write files into the work tree without a commit.

        Parameters
        ----------
        files
            Path below the work tree (str, or bytes for names that are not UTF-8) to content; text is written as
            UTF-8 with its newlines kept. None deletes the file or folder.
        """
        for name, content in files.items():
            path = self.file(name)
            if content is None:
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def file(self, name: str | bytes) -> Path:
        """Return the path of a work tree file on disk."""
        return self.path / os.fsdecode(name)

    def symlink(self, name: str, target: str) -> None:
        """Put a symbolic link into the work tree without a commit."""
        path = self.file(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    def commit(
        self,
        files: Files | None = None,
        message: str = "change",
        *,
        author: str = AUTHOR,
        committer: str = "",
        date: int | None = None,
    ) -> CommitId:
        """Write `files`, then commit everything in the work tree.

        Parameters
        ----------
        files
            Files as for `write`; None commits the work tree as it is (an empty commit is allowed).
        message
            Commit message.
        author, committer
            ``Name <email>``; an empty `committer` is the author.
        date
            Author and commit date in seconds since 1970, UTC; None for one hour after the previous commit.

        Returns
        -------
        CommitId
            The commit: 40 hex digits, or 64 in a repository with SHA-256.
        """
        self.write(files or {})
        when = self._date if date is None else date
        self._date = when + 3600

        # `--force` adds files that a `.gitignore` of the test excludes.
        self.git("add", "-A", "--force", ".")
        self.git("commit", "-q", "--allow-empty", "--no-verify", "-F", "-", stdin=message.encode(),
                 env=identity(author, committer or author, when))  # fmt: skip
        return self.head

    def branch(self, name: str, *, start: str = "HEAD") -> None:
        """Create a branch at `start` and switch to it."""
        self.git("checkout", "-q", "-B", name, start)

    def switch(self, name: str) -> None:
        """Switch the work tree to an existing branch or commit."""
        self.git("checkout", "-q", name)

    def tag(self, name: str, *, message: str = "", commit: str = "HEAD") -> None:
        """Tag a commit; with a `message` the tag is an annotated one."""
        kind = ["-a", "-m", message] if message else []
        self.git("tag", *kind, name, commit, env=identity(AUTHOR, AUTHOR, self._date))

    def merge(self, name: str, message: str = "merge") -> CommitId:
        """Merge a branch with a merge commit, and return that commit."""
        when = self._date
        self._date += 3600
        self.git("merge", "-q", "--no-ff", "--no-verify", "-m", message, name, env=identity(AUTHOR, AUTHOR, when))
        return self.head

    def clone(self, path: str | os.PathLike[str], *options: str) -> RepositoryBuilder:
        """Clone this repository into `path`, over ``file://``, so that options for depth and filters have an effect."""
        target = Path(path)
        self.git("config", "uploadpack.allowFilter", "true")
        self.git("clone", "-q", *options, self.path.as_uri(), os.fspath(target.absolute()))
        if (target / ".git").exists():
            return RepositoryBuilder(target)
        return BareBuilder(target)

    @property
    def head(self) -> CommitId:
        """The commit that is checked out, 40 hex digits, or 64 with ``sha256``."""
        return cast("CommitId", self._loose_head() or self.git("rev-parse", "HEAD"))

    def _loose_head(self) -> str:
        """Return the commit from the files that `commit` leaves, or nothing if git stores it in another way.

        This saves a process for each commit, and a run of tests makes thousands of them.
        """
        folder = self.path / ".git"
        with contextlib.suppress(OSError):
            text = (folder / "HEAD").read_text("utf-8", "surrogateescape").strip()
            if text.startswith("ref: "):
                text = (folder / text.removeprefix("ref: ")).read_text("utf-8").strip()
            if re.fullmatch(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", text):
                return text

        return ""


class BareBuilder(RepositoryBuilder):
    """A bare repository; only `git`, `tag` and `head` make sense."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._date = FIRST_DATE
        if not (self.path / "HEAD").exists():
            self.path.mkdir(parents=True, exist_ok=True)
            self.git("init", "-q", "--bare", "-b", "main", "--template=", ".")


def identity(author: str, committer: str, date: int) -> dict[str, str]:
    """Return environment variables that set the people and the date (seconds since 1970, UTC) of a commit."""
    names: dict[str, str] = {}
    for role, person in (("AUTHOR", author), ("COMMITTER", committer)):
        name, _, email = person.removesuffix(">").rpartition(" <")
        names |= {f"GIT_{role}_NAME": name, f"GIT_{role}_EMAIL": email, f"GIT_{role}_DATE": f"{date} +0000"}
    return names


def make_repo(
    path: str | os.PathLike[str],
    files: Files,
    *,
    origin: str = "",
    message: str = "first",
) -> RepositoryBuilder:
    """Make a repository of one commit that holds `files`, and give its builder."""
    repo = RepositoryBuilder(path, origin=origin)
    repo.commit(files, message)
    return repo
