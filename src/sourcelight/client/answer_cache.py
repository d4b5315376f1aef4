"""Answers of deep search on disk: one more run of a notebook has the answer of the same question and commits."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

_FORMAT = 2

_FORMER_COLUMNS = {"line_number": "start_line", "last_line_number": "end_line"}
"""Columns of `sources` in files that were written before the columns were renamed."""


def answers_folder() -> Path:
    """Return the directory of stored answers; it may be deleted at any time."""
    import platformdirs

    home = os.environ.get("SOURCELIGHT_HOME")
    return (Path(home).expanduser() if home else Path(platformdirs.user_cache_dir("sourcelight"))) / "answers"


@cache
def installed_files() -> str:
    """Return a mark of the installed package, by sizes and times of its files.

    An answer of this process is made by the package's own rules, so that another version may give a better one. The
    version number alone isn't enough: it stays the same from one commit to the next.
    """
    # By directory entries: path objects for all files would take several times as long.
    files = [
        (os.path.join(directory, name), os.stat(os.path.join(directory, name)))  # noqa: PTH116, PTH118 - see above
        for directory, _, names in os.walk(Path(__file__).parent.parent)
        for name in names
        if name.endswith(".py")
    ]
    return _digest(sorted([name, status.st_size, status.st_mtime_ns] for name, status in files))[:24]


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
        # Files of other formats are never found, so no reader has to convert them. 96 bits are plenty against chance.
        self._digest = _digest([_FORMAT, asker, question])[:24]

    def _path(self, commits: Iterable[tuple[str, str]]) -> Path:
        return self._folder / f"{self._digest}-{_digest(sorted(commits))[:24]}.json"

    def load(self, commits: Iterable[tuple[str, str]]) -> Mapping[str, Any] | None:
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

    def store(self, commits: Iterable[tuple[str, str]], value: Mapping[str, Any]) -> None:
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


def _read(path: Path) -> Mapping[str, Any] | None:
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None

    if not isinstance(value, dict):
        return None

    if value.get("rows"):
        rows = ({_FORMER_COLUMNS.get(name, name): cell for name, cell in row.items()} for row in value["rows"])
        value["rows"] = list(rows)

    return value


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()
