import shutil
from pathlib import Path

import pytest

from repos.catalogs import only
from sourcelight.core.batches import CommitId
from sourcelight.core.errors import RepositoryNotFound, RevisionNotFound
from sourcelight.repos import WORKTREE, Catalog, Repository, resolve
from sourcelight.testing import RepositoryBuilder, make_repo


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> tuple[RepositoryBuilder, Repository, list[CommitId]]:
    path = tmp_path_factory.mktemp("history") / "app"
    repo = RepositoryBuilder(path)
    commits = [repo.commit({"a": str(n)}) for n in range(4)]
    repo.tag("v1", commit=commits[1])
    repo.tag("v1-signed", message="one", commit=commits[1])
    repo.tag("twice", message="twice", commit="v1-signed")
    repo.git("branch", "feature/x", commits[2])
    repo.git("branch", "both", commits[2])
    repo.git("tag", "both", commits[0])
    repo.git("update-ref", "refs/remotes/origin/upstream-only", commits[0])
    repo.git("tag", "a-blob", "HEAD:a")
    return repo, only(path), commits


@pytest.mark.parametrize(
    ("revision", "index"),
    [
        ("", 3), ("HEAD", 3), ("main", 3), ("refs/heads/main", 3), ("heads/main", 3), ("HEAD~2", 1), ("HEAD~", 2),
        ("main^", 2),
        ("HEAD^^", 1), ("main~1^1", 1), ("v1", 1), ("v1-signed", 1), ("v1-signed^{}", 1), ("v1^{commit}", 1),
        ("twice", 1), ("feature/x", 2), ("refs/heads/both", 2), ("refs/tags/both", 0), ("upstream-only", 0),
        ("origin/upstream-only", 0),
    ],
)  # fmt: skip
def test_a_revision_is_a_commit(
    history: tuple[RepositoryBuilder, Repository, list[CommitId]], revision: str, index: int
) -> None:
    repo, repository, commits = history
    assert resolve(repository, revision) == commits[index]
    if revision and "upstream" not in revision:
        assert repo.git("rev-parse", f"{revision}^{{commit}}") == commits[index]


def test_full_and_short_hashes_name_commits(history: tuple[RepositoryBuilder, Repository, list[CommitId]]) -> None:
    _, repository, commits = history
    for commit in commits:
        assert resolve(repository, commit) == commit
        assert resolve(repository, commit[:10]) == commit


@pytest.mark.parametrize(
    "revision",
    [
        "absent", "-", "--all", "-n1", "--upload-pack=touch x", ":/change", ":a", "HEAD:a", "HEAD^{/change}",
        "HEAD^{tree}", "@{upstream}", "@{-1}", "HEAD@{1}", "main@{yesterday}", "a..b", "a...b", "v1 v2",
        "ma\0in", "main\n",
        "*", "refs/heads/*", "a-blob", "0" * 40, "f" * 39, "HEAD~999999999", "x" * 5000, "HEAD" + "^" * 500,
        "é\udcff", "../config", "refs/heads/../../config", "^main", "~1", "[a]", "\\",
    ],
)  # fmt: skip
def test_what_is_no_commit_is_not_found(
    history: tuple[RepositoryBuilder, Repository, list[CommitId]], revision: str
) -> None:
    with pytest.raises(RevisionNotFound) as caught:
        resolve(history[1], revision)
    assert (caught.value.repository, caught.value.revision) == ("app", revision)


def test_refs_are_read_as_they_stand_now(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "app", {"a": "1"})
    repository = only(tmp_path)
    repo.branch("new")
    head = repo.commit({"a": "2"})
    assert resolve(repository, "new") == resolve(repository, "") == head
    repo.git("pack-refs", "--all")
    assert resolve(repository, "new") == head
    shutil.rmtree(tmp_path / "app")
    with pytest.raises(RepositoryNotFound):
        resolve(repository, "new")


def test_bare_repositories_of_one_name_get_more_of_their_path(tmp_path: Path) -> None:
    app = make_repo(tmp_path / "app", {"a": "1"})
    for location in ("one/redis/repo", "two/redis/repo"):
        app.clone(tmp_path / "mirrors" / location, "--bare")
    catalog = Catalog.open([tmp_path / "mirrors"])
    assert [repository.name for repository in catalog.repositories] == ["redis", "two/redis"]


def test_a_bare_repository_has_no_work_tree(tmp_path: Path) -> None:
    make_repo(tmp_path / "app", {"a": "1"}).clone(tmp_path / "bare.git", "--bare")
    repository = only(tmp_path / "bare.git")
    with pytest.raises(RevisionNotFound):
        resolve(repository, WORKTREE)
