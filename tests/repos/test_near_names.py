"""An unknown name is answered with names like it, of what the reader may see alone."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from sourcelight.core.errors import RepositoryNotFound, RevisionNotFound
from sourcelight.repos import Catalog, Viewer, resolve
from sourcelight.repos.names import near_names
from sourcelight.testing import RepositoryBuilder

NAMES = [
    "example.org/a-long-organization/gauge",
    "github.com/encode/httpx",
    "github.com/pallets/click",
    "github.com/psf/requests",
]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("github.com/encode/httpxx", "github.com/encode/httpx"),
        ("httpx", "github.com/encode/httpx"),
        ("pallets/click", "github.com/pallets/click"),
        ("requets", "github.com/psf/requests"),
        ("Click", "github.com/pallets/click"),
        ("example.org/a-long-organization/pytide", ""),
        ("zzz", ""),
        ("", ""),
    ],
)
def test_the_nearest_name_comes_first(name: str, near: str) -> None:
    assert near_names(name, NAMES)[:1] == ((near,) if near else ())


@pytest.mark.clock
def test_many_and_hostile_names_cost_little_and_show_nothing() -> None:
    names = [f"example.org/team{i % 50}/service-{i}" for i in range(100_000)] + ["x\x1b[2J", "service\u202e", "s" * 500]
    began = time.process_time()
    result = near_names("servce-99999", names)
    assert time.process_time() - began < 0.5
    assert all(name.isprintable() and len(name) < 100 for name in result)


def test_repositories_and_revisions_name_what_is_near(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "ledger", origin="https://example.org/team/ledger.git")
    builder.commit({"a.txt": "a\n"})
    builder.tag("v1.0")
    builder.branch("release-notes")
    catalog = Catalog.open(tmp_path)
    with pytest.raises(RepositoryNotFound, match=r"did you mean example\.org/team/ledger\?") as wrong:
        catalog.get("ledgr")
    assert wrong.value.near == ("example.org/team/ledger",)
    repository = catalog.get("example.org/team/ledger")
    with pytest.raises(RevisionNotFound, match=r"did you mean v1\.0\?"):
        resolve(repository, "v1.1")
    with pytest.raises(RevisionNotFound, match=r"did you mean release-notes\?"):
        resolve(repository, "relase-notes")
    with pytest.raises(RevisionNotFound) as unlike:
        resolve(repository, "0123456789")
    assert unlike.value.near == ()


def test_a_hidden_repository_is_never_named(tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "secret", origin="https://example.org/team/secret.git").commit({"a.txt": "a\n"})
    RepositoryBuilder(tmp_path / "open", origin="https://example.org/team/open.git").commit({"a.txt": "a\n"})
    (tmp_path / "repos.toml").write_text('[repositories."example.org/team/secret"]\nprivate = true\n', encoding="utf-8")
    catalog = Catalog.open(tmp_path)
    viewer = Viewer("ann", sees_private=False)
    if catalog.get("example.org/team/secret") in catalog.visible(viewer):
        pytest.fail("the repository is not private: this test would prove nothing")
    for name in ("example.org/team/secret", "example.org/team/secre", "secret"):
        with pytest.raises(RepositoryNotFound) as wrong:
            catalog.get(name, viewer)
        assert "team/secret" not in str(wrong.value).removeprefix(f"repository not found: {name}")
        assert "example.org/team/secret" not in wrong.value.near
