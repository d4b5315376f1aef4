"""Looking at the files of a git directory before libgit2 reads them whole: it would wait for a pipe for ever."""

from __future__ import annotations

import os
import re
import stat

MAX_BYTES = {
    "HEAD": 4 << 10, "commondir": 4 << 10, "gitdir": 4 << 10, "config": 4 << 20, "config.worktree": 4 << 20,
    "shallow": 16 << 20, "packed-refs": 256 << 20, "index": 512 << 20, "info/attributes": 4 << 20,
    "info/exclude": 4 << 20, "info/grafts": 4 << 20, "objects/info/alternates": 1 << 20, "description": 1 << 20,
}  # fmt: skip
"""Bytes of each file of a git directory above which it is none that git writes; a million refs take 80 MB."""

_MAX_INCLUDES = 32
_CONTINUATION = re.compile(r"\\\r?\n")
_PATH = re.compile(r"(?im)(?:^|\])\s*path\s*=([^\n]*)")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


def unfit_file(git_dir: str, shared: str) -> str:
    """Name the first file of a git directory that must not be read, and why; empty when all may be.

    Parameters
    ----------
    git_dir, shared
        The git directory, and the one that holds objects and refs (the same but for a linked work tree).
    """
    for name, limit in MAX_BYTES.items():
        for directory in dict.fromkeys((git_dir, shared)):
            problem = _problem(os.path.join(directory, name), limit)
            if problem:
                return f"{name} {problem}"
    return _unfit_include([os.path.join(shared, "config"), os.path.join(git_dir, "config.worktree")])


def _problem(path: str, limit: int) -> str:
    try:
        info = os.stat(path)
    except OSError:
        return ""
    if not (stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode)):
        return "is no regular file"
    return f"has {info.st_size:,} bytes; at most {limit:,} are read" if info.st_size > limit else ""


def _unfit_include(configs: list[str]) -> str:
    """What configurations include is read too, wherever it is, and as often as it is included.

    Every ``path`` of a configuration that includes anything counts, of whatever section: what stands around a section's
    name can be written in too many ways. Files count once for each time that they are read, since nine files that
    include the next one ten times each would be read a thousand million times.
    """
    count = 0
    while configs:
        config = configs.pop()
        count += 1
        if count > _MAX_INCLUDES:
            return f"config includes more than {_MAX_INCLUDES} files"
        problem = _problem(config, MAX_BYTES["config"])
        if problem:
            return f"a file that config includes {problem}"
        try:
            with open(config, encoding="utf-8", errors="surrogateescape", newline="") as file:
                text = file.read(MAX_BYTES["config"])
        except OSError:
            continue
        if "include" in text.lower():
            values = map(_plain_value, _PATH.findall(_CONTINUATION.sub("", text)))
            configs += [os.path.join(os.path.dirname(config), os.path.expanduser(value)) for value in values]
    return ""


def _plain_value(text: str) -> str:
    """A value of a configuration as git reads it: without quotes, escapes, and a comment (git-config, "Syntax")."""
    value: list[str] = []
    is_quoted = False
    characters = iter(text.strip())
    for character in characters:
        if character == "\\":
            escaped = next(characters, "")
            value.append(_ESCAPES.get(escaped, escaped))
        elif character == '"':
            is_quoted = not is_quoted
        elif character in "#;" and not is_quoted:
            break
        else:
            value.append(character)
    return "".join(value).strip().replace("\0", "")
