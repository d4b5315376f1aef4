"""Answers of deep search on disk, so that a notebook that runs again need not ask the same question again.

`StoredAnswers` has the answers to one question of a client, in the files of an `AnswerCache`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from sourcelight.core.backend import Backend

Pin: TypeAlias = tuple[str, str]
"""Name of a repository, and the commit that an answer is about."""

_FORMAT = 2
"""Number of the format of the files; a file of another format is never read."""

_DIGEST_CHARS = 24
"""Hexadecimal digits of a name: 96 bits are plenty against two questions with one name by chance."""

_FORMER_COLUMNS = {"line_number": "start_line", "last_line_number": "end_line"}
"""Columns of `sources` in files that were written before the columns were renamed."""


_COMMIT_ID = re.compile(r"[0-9a-f]{40}")
"""A commit, which never moves as a branch does."""


def answers_folder() -> Path:
    """Return the directory of stored answers; it may be deleted at any time."""
    import platformdirs

    home = os.environ.get("SOURCELIGHT_HOME")
    directory = Path(home).expanduser() if home else Path(platformdirs.user_cache_dir("sourcelight"))
    return directory / "answers"


@cache
def installed_files() -> str:
    """Return a mark of the installed package, by sizes and times of its files.

    An answer of this process is made by the package's own rules, so that another version may give a better one. The
    version number alone isn't enough: it stays the same from one commit to the next.
    """
    files: list[tuple[str, int, int]] = []
    for directory, _, names in os.walk(Path(__file__).parent.parent):
        for name in names:
            if name.endswith(".py"):
                # Plain text: path objects for all files would take several times as long.
                path = os.path.join(directory, name)  # noqa: PTH118 - see above
                status = os.stat(path)  # noqa: PTH116 - see above
                files.append((path, status.st_size, status.st_mtime_ns))

    return _digest(sorted(files))


class AnswerCache:
    """Answers to one question of one asker.

    Parameters
    ----------
    asker
        The source of the answer: a service with a mark of the credential, or this process with its model and package.
    question
        The question with its filters.
    folder
        Where the files belong; None: `answers_folder`.
    """

    def __init__(self, asker: str, question: str, folder: Path | None = None) -> None:
        self._folder = folder or answers_folder()
        # With the format in the name, files of other formats are never found, and no reader has to convert them.
        self._digest = _digest([_FORMAT, asker, question])

    def _path(self, commits: Iterable[Pin]) -> Path:
        return self._folder / f"{self._digest}-{_digest(sorted(commits))}.json"

    def load(self, commits: Iterable[Pin]) -> Mapping[str, Any] | None:
        """Return the stored answer over these repositories and commits, or None without one."""
        return _read(self._path(commits))

    def newest(self) -> Mapping[str, Any] | None:
        """Return the newest answer to the question at any commits, for when the service can't be reached."""
        try:
            paths = sorted(self._folder.glob(f"{self._digest}-*.json"), key=lambda path: path.stat().st_mtime_ns)
        except OSError:
            return None
        # By time of writing: the order of commits doesn't tell which answer is newer.
        return _read(paths[-1]) if paths else None

    def store(self, commits: Iterable[Pin], value: Mapping[str, Any]) -> None:
        """Store an answer for its user alone; a directory that isn't writable stores nothing."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Written beside and renamed: another process reads the old answer or the new one. `mkstemp` creates the
            # file with mode 0600, and answers quote code.
            handle, name = tempfile.mkstemp(dir=self._folder, suffix=".tmp")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(value, file)
            Path(name).replace(self._path(commits))
        except OSError:
            return


class StoredAnswers:
    """The stored answers to one question of a client.

    Parameters
    ----------
    cache
        The files.
    commits
        The commits that an answer would be about; None if they aren't known before it.
    is_local
        Whether this process answers. Its answers hold for `commits`; a service names the commits in its answer.
    """

    def __init__(self, cache: AnswerCache, commits: Sequence[Pin] | None, *, is_local: bool) -> None:
        self._cache = cache
        self._commits = commits
        self._is_local = is_local

    @classmethod
    async def open(
        cls, backend: Backend, question: str, scope: Mapping[str, Any], *, revision: str | None
    ) -> StoredAnswers:
        """Find the files of a question, and the commits of the repositories that it is about."""
        question_in_scope = json.dumps([question, scope]) if scope else question
        cache = AnswerCache(_asker(backend), question_in_scope)
        commits = await _current_commits(backend, revision) if backend.local else None
        return cls(cache, commits, is_local=backend.local)

    def load(self) -> Mapping[str, Any] | None:
        """Return the answer over the current commits, or None without one."""
        return None if self._commits is None else self._cache.load(self._commits)

    def newest(self) -> Mapping[str, Any] | None:
        """Return the newest answer over any commits, or None without one."""
        return self._cache.newest()

    def store(self, answer: Mapping[str, Any], questions: Iterable[Mapping[str, Any]]) -> None:
        """Store an answer; `questions` name its commits. Without known commits, nothing is stored."""
        if not self._is_local:
            self._cache.store(_commits_of(questions), answer)
        elif self._commits is not None:
            self._cache.store(self._commits, answer)


def _asker(backend: Backend) -> str:
    """Return who answers: two askers with the same text give the same answer to a question."""
    if not backend.local:
        return f"{backend.name} {backend.features.credential_id}"
    return f"{backend.name} {os.environ.get('SOURCELIGHT_MODEL', '')} {installed_files()}"


async def _current_commits(backend: Backend, revision: str | None) -> list[Pin] | None:
    """Return names and commits of the repositories that a question would cover, or None if unknown."""
    if revision is not None and not _COMMIT_ID.fullmatch(revision):
        return None

    repositories = await backend.repositories()
    pins: list[Pin] = [(repository.name, repository.commit) for repository in repositories]
    return pins if all(commit for _, commit in pins) else None


def _commits_of(questions: Iterable[Mapping[str, Any]]) -> list[Pin]:
    """Return the repositories and commits that answers name as their source."""
    pins: set[Pin] = set()
    for question in questions:
        for pin in question.get("pins") or ():
            pins.add((str(pin.get("repository")), str(pin.get("commit"))))

    return sorted(pins)


def _read(path: Path) -> Mapping[str, Any] | None:
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None

    if not isinstance(value, dict):
        return None

    if value.get("rows"):
        value["rows"] = [_rename_columns(row) for row in value["rows"]]

    return value


def _rename_columns(row: Mapping[str, Any]) -> dict[str, Any]:
    return {_FORMER_COLUMNS.get(name, name): cell for name, cell in row.items()}


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:_DIGEST_CHARS]
