"""Who sees which repository."""

from __future__ import annotations

import time

from sourcelight.core.batches import RepositoryInfo
from sourcelight.repos import Repository, RepositoryKey, Viewer
from sourcelight.repos.viewer import visible


def _repositories(count: int) -> tuple[Repository, ...]:
    return tuple(
        Repository(RepositoryInfo(f"example.org/team/{n:05}", private=n % 2 == 0), RepositoryKey(str(n)), "git", "")
        for n in range(count)
    )


def test_private_repositories_exist_for_those_who_were_granted_them() -> None:
    repositories = _repositories(6)
    granted = frozenset({"example.org/team/00002", "example.org/team/00099"})
    viewers = {
        "owner": (Viewer.owner(), [0, 1, 2, 3, 4, 5]),
        "anonymous": (Viewer.anonymous(), [1, 3, 5]),
        "ann": (Viewer("ann", sees_private=False, granted=granted), [1, 2, 3, 5]),
    }
    for viewer, numbers in viewers.values():
        assert [int(item.key) for item in visible(repositories, viewer)] == numbers
        assert [int(item.key) for item in repositories if viewer.may_see(item)] == numbers


def test_ten_thousand_repositories_cost_less_than_two_passes_over_them() -> None:
    repositories = _repositories(10_000)
    viewer = Viewer("ann", sees_private=False, granted=frozenset(repository.name for repository in repositories[::4]))

    def best_s(work: object) -> float:
        times = []
        for _ in range(15):
            began = time.perf_counter()
            assert callable(work)
            work()
            times.append(time.perf_counter() - began)
        return min(times)

    # A ratio within one run: the bare reading of both facts is the least that any filter has to do.
    bare = best_s(lambda: [(repository.info.private, repository.info.name) for repository in repositories])
    assert best_s(lambda: visible(repositories, viewer)) < 2 * bare
