"""A cluster behind TLS: it answers whoever shows a certificate of its authority, and nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sourcelight as sl
from backends.cluster.certificates import certified
from backends.cluster.processes import Cell, wait_until
from backends.cluster.questions import QUERY, Line

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The files of the cluster."""
    return certified(tmp_path_factory.mktemp("tls") / "own")


@pytest.fixture(scope="module")
def cell(shards: str, files: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cell]:
    """A scheduler and one worker behind TLS."""
    cell = Cell(shards, tmp_path_factory.mktemp("caches"), ("w1",), tls=files)
    try:
        yield cell
    finally:
        cell.close()


def test_a_cluster_behind_tls_answers_whoever_shows_a_certificate(
    cell: Cell, files: dict[str, str], shards: str, all_lines: list[Line]
) -> None:
    assert cell.address.startswith("tls://")
    with sl.open_cluster(cell.address, shards, tls=files) as client:
        wait_until(lambda: set(client.cluster.workers) == {"w1"}, "the worker joins")
        assert all(address.startswith("tls://127.0.0.1:") for address in client.cluster.workers.values())
        result = client.search(QUERY)
        assert (result.status, len(result.matches)) == ("complete", len(all_lines))


def test_nobody_is_answered_without_a_certificate_of_its_authority(
    cell: Cell, files: dict[str, str], shards: str, tmp_path: Path
) -> None:
    other_files = certified(tmp_path / "other")
    for tls in (other_files, {**other_files, "ca": files["ca"]}):
        with sl.open_cluster(cell.address, shards, tls=tls) as client:
            assert not client.cluster.workers
            result = client.search(QUERY)
            assert (result.status, len(result.matches)) == ("limited", 0)
    with pytest.raises(sl.ConfigurationError, match="key is missing"):
        sl.open_cluster(cell.address, shards, tls={name: files[name] for name in ("ca", "cert")})
    with pytest.raises(sl.ConfigurationError, match="certificates"):
        sl.open_cluster(cell.address, shards)
