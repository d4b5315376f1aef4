"""Who may see which repository of a cluster: as on one machine."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sourcelight.backends.cluster.build.generations import build_generation
from sourcelight.backends.cluster.connection import catalog_of
from sourcelight.backends.cluster.storage import ShardStorage
from sourcelight.backends.cluster.storage.generation import CURRENT, read_current
from sourcelight.repos import Catalog, Viewer
from sourcelight.testing import RepositoryBuilder, git_environment, make_repo

SETTINGS = "".join(
    f"[repositories.{name}]\nprivate = {private}\n"
    for name, private in (("secret", "true"), ("open", "false"), ("borrower", "false"))
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A private repository, one that borrows its objects, and a public one."""
    root = tmp_path / "src"
    secret = make_repo(root / "secret", {"secret.py": "token = 1\n"})
    make_repo(root / "open", {"open.py": "free = 1\n"})
    argv = ["git", "clone", "-q", "--shared", str(secret.path), str(root / "borrower")]
    subprocess.run(argv, check=True, env=git_environment())
    subprocess.run(["git", "remote", "remove", "origin"], cwd=root / "borrower", check=True, env=git_environment())
    (root / "repos.toml").write_text(SETTINGS)
    return root


def _seen(storage: ShardStorage, *granted: str) -> list[str]:
    generation = read_current(storage)
    assert generation is not None
    viewer = Viewer("ann", sees_private=False, granted=frozenset(granted))
    return [repository.name for repository in catalog_of(generation).visible(viewer)]


def test_a_grant_to_who_borrows_opens_nothing_of_the_lender(root: Path, tmp_path: Path) -> None:
    storage = ShardStorage(str(tmp_path / "shards"))
    report = build_generation(Catalog.open([root]), storage)
    assert not report.failures
    assert _seen(storage) == ["open"]
    assert _seen(storage, "borrower") == ["open"]
    assert _seen(storage, "secret") == ["open", "secret"]
    assert _seen(storage, "borrower", "secret") == ["borrower", "open", "secret"]


def test_a_lender_that_is_not_published_can_not_be_granted(root: Path, tmp_path: Path) -> None:
    storage = ShardStorage(str(tmp_path / "shards"))
    both = Catalog.open([root])
    catalog = Catalog.from_repositories([repository for repository in both.repositories if repository.name != "secret"])
    build_generation(catalog, storage)
    assert _seen(storage, "borrower", "secret", "") == ["open"]


def test_a_repository_whose_build_fails_is_as_private_as_it_is_now(root: Path, tmp_path: Path) -> None:
    storage = ShardStorage(str(tmp_path / "shards"))
    assert not build_generation(Catalog.open([root]), storage).failures
    (root / "repos.toml").write_text(SETTINGS.replace("false", "true"))
    RepositoryBuilder(root / "open").commit({"open.py": "free = 2\n"})
    report = build_generation(_failing(Catalog.open([root]), "open", "borrower"), storage)
    assert sorted(report.failures) == ["borrower", "open"]
    assert _seen(storage) == []
    assert _seen(storage, "open", "borrower") == ["open"]


def _failing(catalog: Catalog, *names: str) -> Catalog:
    """A catalog whose repositories of these names are gone when they are built."""
    return Catalog.from_repositories(
        [
            replace(repository, git_dir=f"{repository.git_dir}-gone") if repository.name in names else repository
            for repository in catalog.repositories
        ]
    )


def test_a_generation_that_does_not_say_who_borrows_shows_nothing_private(root: Path, tmp_path: Path) -> None:
    storage = ShardStorage(str(tmp_path / "shards"))
    build_generation(Catalog.open([root]), storage)
    _make_format_1(tmp_path / "shards")
    assert _seen(storage, "borrower", "secret") == ["open"]
    build_generation(Catalog.open([root]), storage)
    assert _seen(storage, "borrower", "secret") == ["borrower", "open", "secret"]


def _make_format_1(folder: Path) -> None:
    """Rewrite the current generation as the version before wrote it."""
    current = json.loads((folder / CURRENT).read_text())
    table = pq.read_table(folder / "generations" / f"{current['generation']}.parquet")
    about = json.loads(table.schema.metadata[b"sourcelight"]) | {"format": 1}
    table = table.drop_columns(["lenders"]).replace_schema_metadata({"sourcelight": json.dumps(about)})
    sink = io.BytesIO()
    pq.write_table(table, sink)
    name = hashlib.sha256(sink.getvalue()).hexdigest()
    (folder / "generations" / f"{name}.parquet").write_bytes(sink.getvalue())
    (folder / CURRENT).write_text(json.dumps(current | {"generation": name}))
