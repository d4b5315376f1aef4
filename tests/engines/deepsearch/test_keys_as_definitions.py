"""A name that no code defines is defined by the only lines of data that have it as a key."""

from __future__ import annotations

from pathlib import Path

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

_FILES = {
    ".github/workflows/ci.yml": "on: push\njobs:\n  lint-docs:\n    runs-on: ubuntu\n    steps: []\n",
    "conf/limits.yml": "base: &shared_limits\n  hard: 3\nworker:\n  <<: *shared_limits\n",
    "main.tf": 'locals {\n  common_tags = {}\n}\nresource "x_y" "z" {\n  tags = local.common_tags\n}\n',
    "run.sh": "#!/bin/sh\nexport CACHE_HOME=/var/cache\nLOG_ROOT=/var/log\necho $LOG_ROOT\n",
    "hosts.yml": "".join(f"host{number}:\n  ssh_port: {number}\n" for number in range(5)),
    "gate.py": "def open_gate():\n    return 1\n",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    folder: Path = tmp_path_factory.mktemp("keys")
    repository = RepositoryBuilder(folder / "dam")
    repository.commit(_FILES, "Add a dam")
    return open_engine([repository.path], index=folder / "index", workers=1)


@pytest.mark.parametrize(
    ("name", "location"),
    [
        ("lint-docs", "`.github/workflows/ci.yml`, line 3"),
        ("shared_limits", "`conf/limits.yml`, line 1"),
        ("common_tags", "`main.tf`, line 2"),
        ("CACHE_HOME", "`run.sh`, line 2"),
        ("LOG_ROOT", "`run.sh`, line 3"),
        ("open_gate", "`gate.py`, line 1"),
    ],
)
def test_a_key_is_where_its_name_is_defined(engine: LocalEngine, name: str, location: str) -> None:
    assert f"`{name}` is defined in {location}" in lead_of(engine, f"Where is {name} defined?")


def test_a_key_of_many_entries_is_no_definition(engine: LocalEngine) -> None:
    assert "is defined" not in lead_of(engine, "Where is ssh_port defined?")
