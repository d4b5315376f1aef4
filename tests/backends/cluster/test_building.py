"""Shards built by the workers of a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.cluster.processes import Cell, wait_until
from sourcelight.backends.cluster.build.generations import BuildProgress, build_generation
from sourcelight.backends.cluster.storage import ShardStorage
from sourcelight.backends.cluster.transport.connections import dask_client
from sourcelight.repos import Catalog
from sourcelight.testing import RepositoryBuilder

NAMES = ("one", "two", "three")


@pytest.mark.timeout(240)  # whole processes start and build; a busy machine takes minutes for it
def test_workers_build_all_shards_though_one_of_them_is_killed(tmp_path: Path) -> None:
    """A second run has nothing to do."""
    for name in NAMES:
        RepositoryBuilder(tmp_path / "src" / name).commit({f"{name}.py": f"def {name}(): pass\n"})
    catalog = Catalog.open([tmp_path / "src"])
    storage = ShardStorage(str(tmp_path / "shards"))
    cell = Cell(storage.url, tmp_path / "caches", ("b1", "b2"))
    try:
        client = dask_client(cell.address, None)
        wait_until(lambda: len(client.nthreads()) == 2, "workers join")
        client.close()
        messages: list[BuildProgress] = []

        def note(progress: BuildProgress) -> None:
            messages.append(progress)
            if len(messages) == 1:
                cell.kill("b1")

        report = build_generation(catalog, storage, cluster=cell.address, progress=note)
        repeated = build_generation(catalog, storage, cluster=cell.address)
    finally:
        cell.close()
    assert not report.failures
    assert sorted(report.built) == sorted(repository.name for repository in catalog.repositories)
    assert [item.done for item in messages] == [1, 2, 3]
    assert sorted(repeated.current) == sorted(report.built)
    assert not repeated.built
