"""Parse unified diffs in the texts of a service, whole or cut; no I/O.

`parse_patch` reads line by line. The numbers in the header of a hunk say where it ends, so that a changed line which
looks like a header stays a line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sourcelight.core.batches.diff_text import HUNK
from sourcelight.core.batches.git_names import unquote_text

_GIT_NAMES = re.compile(r'diff --git ("(?:\\.|[^"\\])*"|a/.+?) ("(?:\\.|[^"\\])*"|b/.+)')
"""The first line of a file in a patch: ``diff --git a/old.py b/new.py``, with quotes around unusual names."""

_SIMILARITY = re.compile(r"similarity index (\d{1,3})%")
"""A line of the header of a renamed file: ``similarity index 97%``."""

_NO_FILE = "/dev/null"  # git's name for the missing side of a new or a deleted file


def parse_patch(lines: Sequence[str]) -> list[dict[str, Any]]:
    """Read the files of a unified diff, in the shape of typed payloads, with their hunks, line counts and texts."""
    reader = _PatchReader()
    for index, line in enumerate(lines):
        reader.add(line, lines[index + 1] if index + 1 < len(lines) else "")
    return [file.to_payload() for file in reader.files]


@dataclass(slots=True)
class _PatchFile:
    """A file of a diff; `hunks` have their lines as in typed payloads, `patch` all lines of the file."""

    old_path: str = ""
    new_path: str = ""
    status: str = "modified"
    additions: int = 0
    deletions: int = 0
    binary: bool = False
    similarity: int | None = None
    hunks: list[dict[str, Any]] = field(default_factory=list)
    patch: list[str] = field(default_factory=list)

    @classmethod
    def from_git_header(cls, line: str) -> _PatchFile:
        """Return the file of a line ``diff --git``; without names if the line can't be parsed."""
        names = _GIT_NAMES.fullmatch(line)
        if names is None:
            return cls()
        return cls(unquote_text(names[1]).removeprefix("a/"), unquote_text(names[2]).removeprefix("b/"))

    def read_header(self, line: str) -> None:
        """Read a line above the hunks."""
        name, _, value = line.partition(" ")
        value = value.partition("\t")[0]
        similarity = _SIMILARITY.fullmatch(line)
        if name == "---" and not self.hunks:
            self.old_path = unquote_text(value).removeprefix("a/")
        elif name == "+++" and not self.hunks:
            self.new_path = unquote_text(value).removeprefix("b/")
        elif line.startswith(("new file", "deleted file")):
            self.status = "added" if name == "new" else "deleted"
        elif line.startswith(("rename from ", "copy from ")):
            self.status = "renamed" if name == "rename" else "copied"
            self.old_path = unquote_text(value.removeprefix("from "))
        elif line.startswith(("rename to ", "copy to ")):
            self.status = "renamed" if name == "rename" else "copied"
            self.new_path = unquote_text(value.removeprefix("to "))
        elif similarity is not None:
            self.similarity = int(similarity[1])
        elif line.startswith(("Binary files ", "GIT binary patch")):
            self.binary = True

    def to_payload(self) -> dict[str, Any]:
        """Return the file with the keys of a typed payload; both paths are set."""
        old_path, new_path, status = self.old_path, self.new_path, self.status
        if old_path == _NO_FILE:
            old_path, status = new_path, "added"
        if new_path == _NO_FILE:
            new_path, status = old_path, "deleted"
        elif old_path != new_path and status == "modified":
            status = "renamed"

        text = "\n".join(self.patch).rstrip("\n")
        payload: dict[str, Any] = {
            "oldPath": old_path,
            "newPath": new_path,
            "status": status,
            "additions": self.additions,
            "deletions": self.deletions,
            "binary": self.binary,
            "hunks": self.hunks,
            "patch": f"{text}\n" if text else None,
        }
        if self.similarity is not None:
            payload["similarity"] = self.similarity
        return payload


class _PatchReader:
    """Reads a unified diff line by line; the numbers in the header of a hunk give its end."""

    def __init__(self) -> None:
        self.files: list[_PatchFile] = []
        self._old_remaining = 0
        self._new_remaining = 0

    def add(self, line: str, following: str) -> None:
        """Read a line; `following` is the next one."""
        in_hunk = self._old_remaining > 0 or self._new_remaining > 0
        if in_hunk and self._add_to_hunk(self.files[-1], line):
            return
        if self._starts_file(line, following):
            return
        if not self.files or line.startswith("```"):
            return

        file = self.files[-1]
        header = HUNK.match(line)
        if header is None:
            file.read_header(line)
        else:
            file.hunks.append({"oldStart": int(header[1]), "newStart": int(header[3]), "lines": []})
            self._old_remaining, self._new_remaining = int(header[2] or 1), int(header[4] or 1)

        file.patch.append(line)

    def _add_to_hunk(self, file: _PatchFile, line: str) -> bool:
        """Add a line to the last hunk, and return whether it belongs there."""
        sign = line[:1]
        if sign not in {"+", "-", " ", "", "\\"}:
            self._old_remaining = self._new_remaining = 0  # the hunk was cut
            return False

        file.patch.append(line)
        if sign != "\\":
            file.hunks[-1]["lines"].append(line or " ")
            self._old_remaining -= sign != "+"
            self._new_remaining -= sign != "-"
            file.additions += sign == "+"
            file.deletions += sign == "-"

        return True

    def _starts_file(self, line: str, following: str) -> bool:
        """Begin a file if one starts here, and return whether the line needs no further reading."""
        if line.startswith("diff --git "):
            self.files.append(_PatchFile.from_git_header(line))
        elif line.startswith("--- ") and following.startswith("+++ "):
            if not self.files or self.files[-1].hunks:
                self.files.append(_PatchFile())
        elif HUNK.match(following) and not line.startswith(("+++ ", "@@", "index ")) and " " in line.strip():
            old_path, _, new_path = line.strip().partition(" ")  # the preview of streams: both names on one line
            self.files.append(_PatchFile(old_path, new_path))
            return True

        return False
