"""Commits whose author or committer libgit2 can't make out are resolved, walked and compared like any other."""

from __future__ import annotations

import pytest

from engines.history.hostile import ADA, raw_commit
from sourcelight.core.batches import CommitId
from sourcelight.engines.history.compare import compare
from sourcelight.repos import Catalog, Repository, matching_refs, resolve
from sourcelight.repos.revisions import has_commit_after, is_ancestor, newest_before
from sourcelight.testing import RepositoryBuilder

BROKEN = b"No Address 1700000000 +0000"


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> RepositoryBuilder:
    repo = RepositoryBuilder(tmp_path_factory.mktemp("broken") / "repo")
    for number in range(6):
        who = b"Ada <ada@example.org> %d +0000" % (1_700_000_000 + 3600 * number)
        author, committer = (BROKEN, who) if number in {1, 5} else (who, BROKEN) if number == 3 else (who, who)
        raw_commit(repo, b"message\n", author=author, committer=committer, files={b"a": b"%d\n" % number})
    repo.git("update-ref", "refs/heads/side", "main~4")
    repo.git("tag", "light", "main~2")
    tag = b"object %b\ntype commit\ntag heavy\ntagger %b\n\nx\n" % (repo.head.encode(), ADA)
    repo.git("update-ref", "refs/tags/heavy", repo.git("hash-object", "-t", "tag", "-w", "--stdin", stdin=tag))
    return repo


@pytest.fixture(scope="module")
def repository(repo: RepositoryBuilder) -> Repository:
    (repository,) = Catalog.open([repo.path]).repositories
    return repository


@pytest.mark.parametrize(
    "revision",
    ["HEAD", "main", "side", "light", "heavy", "heavy^{}", "heavy~1", "refs/heads/main", "main~2", "main^^", "main~2^1",
     "heads/side", "tags/heavy", "main^0", "main~0"],
)  # fmt: skip
def test_revisions_lead_where_git_says(repo: RepositoryBuilder, repository: Repository, revision: str) -> None:
    assert resolve(repository, revision) == repo.git("rev-parse", f"{revision}^{{commit}}")
    for name in ("main~1", "main~2"):
        oid = repo.git("rev-parse", name)
        assert resolve(repository, oid) == resolve(repository, oid[:12]) == oid


def test_all_refs_are_listed(repo: RepositoryBuilder, repository: Repository) -> None:
    displayed = repo.git("for-each-ref", "--format=%(refname) %(objectname) %(*objectname)").split("\n")
    expected = {line.split()[0]: line.split()[-1] for line in displayed}
    assert dict(matching_refs(repository, lambda _: True)) == expected


def test_walks_go_on_behind_such_commits(repo: RepositoryBuilder, repository: Repository) -> None:
    log = [CommitId(oid) for oid in repo.git("log", "--format=%H").split("\n")]
    for index, oid in enumerate(log):
        assert is_ancestor(repository, oid, repo.head), index
    assert not is_ancestor(repository, repo.head, log[-1])
    assert newest_before(repository, repo.head, 1_700_000_000 + 1) in log[-4:]
    assert newest_before(repository, log[3], 1_700_000_000 + 1) == log[5]
    assert has_commit_after(repository, repo.head, 1_700_000_000 + 3600 * 4)


def test_each_of_them_is_compared_with_its_parent(repo: RepositoryBuilder, repository: Repository) -> None:
    for oid in repo.git("log", "--format=%H").split("\n")[:-1]:
        result = compare(repository, repo.git("rev-parse", f"{oid}^"), oid)
        (diff,) = result.all_diffs()
        displayed = repo.git("diff", "--full-index", f"{oid}^", oid)
        assert (diff.patch or b"").decode() == displayed + "\n"
