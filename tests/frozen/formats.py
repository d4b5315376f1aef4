"""What leaves the frozen files: a repository, and everything that writes files, used once.

Shared by the tests beside it and by scripts/freeze, which renews the files when a format is raised.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import sourcelight as sl
from sourcelight.backends.cluster.build.generations import build_generation
from sourcelight.backends.cluster.storage import ShardStorage
from sourcelight.repos import Catalog
from sourcelight.repos.state import ScryptCost, State
from sourcelight.testing import RepositoryBuilder, ScriptedReply, ScriptedService

LAMP = "class Lamp:\n    def light(self):\n        return 'a warm light'\n\n\ndef burn():\n    return Lamp().light()\n"
CHEAP = ScryptCost(n=2**4, r=8, p=1)
PASSWORD = "a long enough phrase"
STREAM: list[tuple[str, Any]] = [
    ("matches", [{"type": "path", "path": "lamp.py", "repositoryID": 1, "repository": "host/lamps"}]),
    ("progress", {"done": True, "matchCount": 1, "durationMs": 7, "skipped": [], "repositoriesCount": 1}),
    ("done", {}),
]  # fmt: skip


def make_repository(path: Path) -> RepositoryBuilder:
    """Three commits of two authors; the same hashes on every machine."""
    repository = RepositoryBuilder(path)
    repository.commit(
        {"lamp.py": "class Lamp:\n    pass\n", "README.md": "# Lamps\n\nThey give light.\n"}, "Make lamps"
    )
    repository.commit({"lamp.py": LAMP}, "Light them", author="Grace Example <grace@example.org>")
    repository.commit({"go/lamp.go": 'package lamp\n\nfunc Light() string { return "light" }\n'}, "Go, too")
    return repository


def use_all_once(repository: RepositoryBuilder, home: Path) -> None:
    """Leave an index with its tables, a history, a generation, a state file and a recording below `home`."""
    with sl.open(repository.path, index_dir=home / "index") as code:
        answer(code)
    report = build_generation(Catalog.open(repository.path.parent), ShardStorage(str(home / "shards")))
    assert not report.failures
    state = State(str(home / "state.sqlite"), cost=CHEAP)
    state.accounts.create("grace", PASSWORD)
    state.grants.add("host/lamps", account="grace")
    state.close()
    stream = b"".join(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode() for name, data in STREAM)
    recording = home / "session.jsonl"
    with (
        ScriptedService(ScriptedReply([stream])) as service,
        sl.record(recording),
        sl.connect(service.url, "a-token") as remote,
    ):
        remote.search("lamp")


def answer(code: sl.Client) -> dict[str, Any]:
    """What is asked of an index: text, a definition, words, and commits."""
    return {
        "text": code.search("warm").matches["path"].tolist(),
        "symbol": code.search("type:symbol Lamp count:all").matches["path"].tolist(),
        "words": code.nls_search("where do lamps give light").iloc[:1]["path"].tolist(),
        "commit": code.commit_search(message_terms=["Light them"])["subject"].tolist(),
        "diff": code.search("type:diff warm").matches["path"].tolist(),
    }
