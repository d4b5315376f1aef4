"""The share of the long run that every change passes: a fixed seed, some hundred cases of each area.

`scripts/test thorough` draws two further fleets from fresh seeds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from oracles.areas import AREAS
from oracles.epoch import Epoch

SHARE = {
    "text": 250,
    "patterns": 300,
    "history": 150,
    "calls": 80,
    "analyses": 20,
    "incomplete": 60,
    "worktrees": 50,
    "scopes": 120,
    "limits": 100,
    "definitions": 60,
    "http": 60,
    "cluster": 30,
    "again": 40,
    "update": 4,
}


SEEDS = ("first", *filter(None, os.environ.get("SOURCELIGHT_SHARE_SEEDS", "").split(",")))


@pytest.fixture(scope="module", params=SEEDS)
def epoch(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Epoch]:
    epoch = Epoch(str(request.param), tmp_path_factory.mktemp("epoch"))
    yield epoch
    epoch.close()


@pytest.mark.timeout(300)
@pytest.mark.filterwarnings(
    "ignore::sourcelight.IncompleteResultWarning"
)  # shallow and replaced clones are there on purpose
@pytest.mark.filterwarnings("ignore::sourcelight.IncompleteCountWarning")
@pytest.mark.parametrize("area", SHARE)
def test_answers_are_those_of_plain_oracles(epoch: Epoch, area: str) -> None:
    if area == "cluster" and epoch.seed != "first":
        return  # one start of a cluster is enough here
    for case in range(SHARE[area]):
        outcome = AREAS[area](epoch, epoch.rng(area, case))
        assert not outcome.difference, f"case {case}: {outcome.subject}\n{outcome.difference}"


def test_every_area_has_its_share() -> None:
    assert set(SHARE) == set(AREAS)
