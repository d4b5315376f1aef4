"""Versions of actions and reusable workflows: of the workflow that a question names, and of no other one."""

from __future__ import annotations

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

_COMMIT = "08c6903cd8c0fde910a37f88322edcfb5dd907a8"
FILES: dict[str | bytes, str | bytes | None] = {
    ".github/workflows/ci.yml": (
        "name: Unit Tests\njobs:\n  a:\n    steps:\n      - uses: mill/sow@v4\n      - uses: mill/reap/init@v2\n"
    ),
    ".github/workflows/release.yml": (
        "name: Release\njobs:\n  a:\n    steps:\n"
        f"      - uses: mill/sow@{_COMMIT} # v5.0.1\n"
        "      - uses: mill/thresh@v1\n      - uses: mill/thresh@v2\n"
    ),
    ".github/workflows/publish.yml": "jobs:\n  a:\n    uses: barn/ship-grain/.github/workflows/ship.yaml@v0.2.2\n",
    ".github/workflows/docs.yml": (
        "jobs:\n  a:\n    steps:\n      - uses: mill/setup-python@v5\n        with:\n          python-version: '3.14'\n"
    ),
    "pyproject.toml": '[project]\nname = "mill"\nrequires-python = ">=3.9"\n',
    "mill/grain.py": "GRAIN = 1\n",
}


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("actions")
    RepositoryBuilder(root / "mill").commit(FILES, "Add the workflows")
    return open_engine([root], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "beginning"),
    [
        ("Which version of mill/sow does the ci workflow use?", "`.github/workflows/ci.yml` lists `mill/sow` `v4` "),
        ("Which version of sow does the unit tests workflow use?", "`.github/workflows/ci.yml` lists `mill/sow` `v4` "),
        (
            "Which version of mill/sow does the release workflow use?",
            f"`.github/workflows/release.yml` lists `mill/sow` `{_COMMIT}` (`# v5.0.1`)",
        ),
        (
            "Which version of mill/thresh does the release workflow use?",
            "`.github/workflows/release.yml` lists `mill/thresh` `v1`; other lines of the file list `v2`",
        ),
        (
            "Which version of ship-grain does the publish workflow use?",
            "`.github/workflows/publish.yml` lists `barn/ship-grain/.github/workflows/ship.yaml` `v0.2.2`",
        ),
        ("Which version of mill/reap is used?", "`.github/workflows/ci.yml` lists `mill/reap/init` `v2`"),
        ("Which version of mill/sow is used in release.yml?", "`.github/workflows/release.yml` lists `mill/sow`"),
        (
            "Which Python version does the docs workflow need?",
            "`python-version` is set to `'3.14'` in `.github/workflows",
        ),
        ("Does the release workflow use mill/reap?", "No: `.github/workflows/release.yml` does not list `mill/reap`"),
    ],
)
def test_a_workflow_that_the_question_names_decides(mill: LocalEngine, question: str, beginning: str) -> None:
    """By the name of its file or the name that it gives itself; a comment beside a commit has the version."""
    assert lead_of(mill, question).startswith(beginning), lead_of(mill, question)


@pytest.mark.parametrize(
    "question",
    [
        "Which version of mill/reap does the release workflow use?",
        "Which version of mill/thresh does the publish workflow use?",
        "Which version of mill/sow does the nightly docs workflow use?",
    ],
)
def test_the_version_of_another_workflow_is_not_stated(mill: LocalEngine, question: str) -> None:
    """It would be taken for that of the named one."""
    assert " lists `mill" not in lead_of(mill, question), lead_of(mill, question)


def test_a_workflow_without_a_version_has_not_that_of_the_project(mill: LocalEngine) -> None:
    lead = lead_of(mill, "Which Python version does the release workflow need?")
    assert "requires Python" not in lead, lead
