"""A git on PATH that notes how it is started, and a repository whose author wants it to run commands."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sourcelight.testing import RepositoryBuilder

_WRAPPER = """#!{python} -IS
import json, os, sys
config = os.path.join(os.environ.get("GIT_DIR", ""), "config")
config = open(config).read() if os.path.isabs(config) and os.path.exists(config) else ""
call = dict(argv=sys.argv[1:], env=dict(os.environ), cwd=os.getcwd(), config=config)
with open({log!r}, "a") as file:
    file.write(json.dumps(call, ensure_ascii=True) + "\\n")
env = {{name: value for name, value in os.environ.items() if name != "GIT_NO_LAZY_FETCH"}}
os.execve({git!r}, ["git", *sys.argv[1:]], env)
"""


@dataclass(frozen=True)
class RecordingGit:
    """The git on PATH; like those before 2.45 it does not know ``GIT_NO_LAZY_FETCH``."""

    folder: Path

    @property
    def calls(self) -> list[dict[str, Any]]:
        """``argv``, ``env``, ``cwd`` and ``config`` of each start since the last `clear`, except for its version."""
        log = self.folder / "calls.jsonl"
        lines = log.read_text().splitlines() if log.exists() else []
        return [call for call in map(json.loads, lines) if call["argv"] != ["--version"]]

    def clear(self) -> None:
        """Forget the starts so far."""
        (self.folder / "calls.jsonl").unlink(missing_ok=True)


def record_git(folder: Path) -> RecordingGit:
    """Write the wrapper into a folder that is to stand first on PATH."""
    folder.mkdir(parents=True)
    git = shutil.which("git")
    assert git is not None
    script = folder / "git"
    script.write_text(_WRAPPER.format(python=sys.executable, log=str(folder / "calls.jsonl"), git=git))
    script.chmod(0o755)
    return RecordingGit(folder)


def plant(repo: RepositoryBuilder, canaries: Path) -> None:
    """Have every setting of a repository that can name a command name one that leaves a file in `canaries`."""

    def leave(name: str) -> str:
        return f"touch {shlex.quote(str(canaries / name))};"

    git_dir = repo.path / ".git"
    settings = {
        "core.fsmonitor": leave("fsmonitor"), "core.sshCommand": leave("ssh"), "core.pager": leave("pager"),
        "core.gitProxy": leave("proxy"), "core.editor": leave("editor"), "core.askPass": leave("askpass"),
        "core.alternateRefsCommand": leave("alternates"), "core.hooksPath": str(git_dir / "evil-hooks"),
        "diff.external": leave("external"), "diff.evil.command": leave("driver"),
        "diff.evil.textconv": leave("textconv"), "filter.evil.clean": leave("clean"),
        "filter.evil.smudge": leave("smudge"), "filter.evil.process": leave("process"),
        "merge.evil.driver": leave("merge"), "credential.helper": f"!{leave('credential')}",
        "gpg.program": leave("gpg"), "gpg.ssh.program": leave("gpg-ssh"), "log.showSignature": "true",
        "pager.log": leave("pager-log"), "uploadpack.packObjectsHook": leave("pack-objects"),
        "trailer.evil.command": leave("trailer"), "include.path": "evil-include",
        "remote.origin.promisor": "true",
        "remote.origin.partialCloneFilter": "blob:none", "remote.origin.url": str(repo.path),
        "remote.origin.uploadpack": leave("uploadpack"), "remote.origin.fetch": "+refs/heads/*:refs/remotes/origin/*",
        "protocol.allow": "always", "attr.tree": "HEAD",
    }  # fmt: skip
    settings |= {f"alias.{name}": f"!{leave('alias-' + name)}" for name in ("log", "blame", "diff-tree", "evil")}
    for name, value in settings.items():
        repo.git("config", name, value)
    (git_dir / "evil-include").write_text(f'[core]\n\tfsmonitor = "{leave("include")}"\n')
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "info" / "attributes").write_text("* diff=evil filter=evil merge=evil\n")
    for folder in ("hooks", "evil-hooks"):
        (git_dir / folder).mkdir(exist_ok=True)
        for name in (
            "post-index-change",
            "reference-transaction",
            "pre-auto-gc",
            "post-checkout",
            "fsmonitor-watchman",
        ):
            hook = git_dir / folder / name
            hook.write_text(f"#!/bin/sh\n{leave('hook-' + name)}\n")
            hook.chmod(0o755)


def hostile_repository(path: Path, canaries: Path) -> RepositoryBuilder:
    """A repository with commits, a work tree with changes, a missing content, and traps wherever git takes commands."""
    canaries.mkdir(exist_ok=True)
    repo = RepositoryBuilder(path)
    repo.commit({"kept.py": "def needle():\n    return 1\n", ".gitattributes": "* diff=evil filter=evil\n"}, "first")
    repo.commit({"lost.py": "def lost():\n    return 2\n"}, "second")
    blob = repo.git("rev-parse", "HEAD:lost.py")
    repo.commit({"lost.py": "def lost():\n    return 3\n", "kept.py": "def needle():\n    return 4\n"}, "third")
    repo.commit({"kept.py": "def needle():\n    return 5\n", ".mailmap": "Ada <ada@example.org>\n"}, "fourth")
    (repo.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    plant(repo, canaries)
    repo.write({"kept.py": "def needle():\n    return 6\n", "new.py": "needle = 7\n"})
    return repo


def first_on_path(folder: Path) -> str:
    """PATH with a folder in front."""
    return f"{folder}{os.pathsep}{os.environ['PATH']}"
