"""What git itself says of a repository: the oracle of tests in every room."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def git_bytes(folder: str | Path, *arguments: str) -> bytes:
    """The output of a git command in a folder; a failure is an error."""
    command = ["git", "-C", os.fspath(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, timeout=60, stdin=subprocess.DEVNULL).stdout


def git(folder: str | Path, *arguments: str) -> str:
    """The output as text."""
    return git_bytes(folder, *arguments).decode()


def git_lines(folder: str | Path, *arguments: str) -> list[str]:
    """The lines of the output that aren't empty."""
    return [line for line in git(folder, *arguments).splitlines() if line]
