"""What is kept of a query: for whoever asked, and while the repositories stay."""

from __future__ import annotations

from sourcelight.backends.cluster.connection import ClusterPlanCache
from sourcelight.core.batches import RepositoryInfo
from sourcelight.core.query import parse
from sourcelight.engines.execution.scope.contexts import ScopedAlternative
from sourcelight.repos import Repository, RepositoryKey, Viewer

OWNER, STRANGER = Viewer.owner(), Viewer.anonymous()


def scopes_of(query: str) -> list[ScopedAlternative]:
    return [ScopedAlternative(alternative) for alternative in parse(query).plan]


def test_plans_are_kept_for_one_viewer_and_the_same_repositories() -> None:
    cache = ClusterPlanCache()
    scopes, other_scopes = scopes_of("tide"), scopes_of("ebb")
    repository = Repository(RepositoryInfo("a"), RepositoryKey("a"), "git", "", "", "")
    repositories = (repository,)
    cache.put(scopes, OWNER, repositories, ([], ["private"]))
    assert cache.get(scopes, OWNER, repositories) == ([], ["private"])
    assert cache.get(scopes_of("tide"), OWNER, repositories) == ([], ["private"])
    assert cache.get(scopes, STRANGER, repositories) is None
    assert cache.get(scopes, Viewer("owner", sees_private=True, only=frozenset({"a"})), repositories) is None
    assert cache.get(other_scopes, OWNER, repositories) is None
    assert cache.get(scopes, OWNER, (*repositories, repository)) is None


def test_the_oldest_plans_are_let_go_of() -> None:
    cache = ClusterPlanCache()
    every = [scopes_of(f"tide{number}") for number in range(100)]
    for scopes in every:
        cache.put(scopes, OWNER, (), ([], []))
    results = [cache.get(scopes, OWNER, ()) is not None for scopes in every]
    assert results == sorted(results)
    assert 0 < sum(results) < len(every)
