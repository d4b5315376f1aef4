"""The newest commit before a time, in shallow clones with merges and in histories whose clocks were wrong."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from sourcelight.core.batches import CommitId
from sourcelight.repos import Catalog
from sourcelight.repos.revisions import newest_before
from sourcelight.testing import RepositoryBuilder

START_S = 1_600_000_000


def write_history(repo: RepositoryBuilder, rng: random.Random, skew_s: int) -> str:
    """Write 14 commits with one to three parents each, and return the last one."""
    tree = repo.git("mktree", stdin=b"")
    commits: list[str] = []
    for number in range(14):
        parents = rng.sample(commits[-4:], min(len(commits), rng.choice([1, 1, 2, 3])))
        moment = START_S + number * 1000 + rng.randint(-skew_s, skew_s)
        who = b"Ada <ada@example.org> %d +0000" % moment
        lines = [b"tree %b" % tree.encode(), *(b"parent %b" % parent.encode() for parent in parents)]
        raw = b"\n".join([*lines, b"author %b" % who, b"committer %b" % who, b"", b"%d" % number])
        commits.append(repo.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=raw))
    repo.git("update-ref", "refs/heads/main", commits[-1])
    repo.git("symbolic-ref", "HEAD", "refs/heads/main")
    return commits[-1]


@pytest.mark.parametrize("skew_s", [0, 6000])
@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_it_is_the_newest_of_all_that_git_log_lists(tmp_path: Path, depth: int, skew_s: int) -> None:
    """`git rev-list -1 --before` itself stops too early where a parent is newer than its child, so it is no oracle."""
    rng = random.Random(depth * 10_000 + skew_s)  # noqa: S311 - repeatable histories, no secrets
    source = RepositoryBuilder(tmp_path / "source")
    tip = write_history(source, rng, skew_s)
    source.git("clone", "-q", "--depth", str(depth), f"file://{source.path}", str(tmp_path / "clone"))
    (repository,) = Catalog.open([tmp_path / "clone"]).repositories
    rows = source.git("-C", str(tmp_path / "clone"), "log", "--format=%H %ct").splitlines()
    times = {name: int(time_s) for name, time_s in (row.split() for row in rows)}
    assert depth >= 5 or len(times) < 14, "the clone is shallow"
    for before_s in sorted({time_s + later for time_s in times.values() for later in (-1, 0, 1)}):
        newest = newest_before(repository, CommitId(tip), before_s)
        expected = max((time_s for time_s in times.values() if time_s < before_s), default=None)
        assert (times[newest] if newest else None) == expected
