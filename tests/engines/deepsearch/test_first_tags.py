"""Questions for the release that first had something: the first tag that contains its commit."""

from __future__ import annotations

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

BOB = "Bob <bob@mill.example>"


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("mill")
    repo = RepositoryBuilder(root / "mill")
    repo.commit({"a.txt": "1\n"}, "Start")
    repo.tag("v1.0.0")
    repo.commit({"a.txt": "2\n"}, "Add the dim flag", author=BOB)
    repo.tag("v1.1.0-rc1")
    repo.commit({"a.txt": "3\n"}, "Fix")
    repo.tag("v1.1.0")
    repo.commit({"a.txt": "4\n"}, "Drop Nim 1 support", author=BOB)
    repo.tag("v2.0.0")
    repo.commit({"a.txt": "5\n"}, "Add the wheel option", author=BOB)
    return open_engine([repo.path], index=root / "index", workers=1)


@pytest.mark.parametrize(
    "question",
    [
        "Which release first had the dim flag?",
        "Which version was the first with the dim flag?",
        "In which version was the dim flag added?",
        "since which release is there a dim flag?",
        "in which version did the dim flag appear?",
    ],
)
def test_the_first_tag_with_the_commit_is_named(mill: LocalEngine, question: str) -> None:
    lead = lead_of(mill, question)
    assert lead.startswith("The first tag that contains the commit “Add the dim flag” by Bob on ")
    assert " is `v1.1.0-rc1`, of " in lead
    assert "the first without a suffix such as rc1 is `v1.1.0`" in lead


def test_a_removal_has_its_tag(mill: LocalEngine) -> None:
    lead = lead_of(mill, "Which version dropped support for Nim 1?")
    assert "“Drop Nim 1 support” by Bob on " in lead
    assert " is `v2.0.0`, of " in lead


@pytest.mark.parametrize(
    "question",
    ["Which release first had the wheel option?", "Which version added the rye option?", "Which version does it need?"],
)
def test_no_tag_is_named_without_proof(mill: LocalEngine, question: str) -> None:
    assert "The first tag" not in lead_of(mill, question)
