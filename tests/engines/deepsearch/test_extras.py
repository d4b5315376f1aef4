"""Extras and features: what they need, whether they need a package, and that a project has none of a name."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.manifests import read_feature
from sourcelight.engines.deepsearch.question.lookups.build_fields import FIELDS
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

_PYPROJECT = """[project]
name = "mill"
dependencies = ["oat"]

[project.optional-dependencies]
docs = ["sphinx >= 3.5", "furo"]
all = ["mill[docs]"]
html = []

[project.entry-points]
windows = "mill.windows"
"""
_CARGO = """[package]
name = "mill"

[features]
default = []
yaml = [
    "serde",
    "dep:yaml-rust",
]
"""


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("extras")
    RepositoryBuilder(root / "mill").commit({"pyproject.toml": _PYPROJECT, "mill/nope.py": "NOPE = 1\n"}, "Add it")
    return open_engine([root], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "beginning"),
    [
        ("What does the docs extra need?", "`pyproject.toml` lists `sphinx>= 3.5` and `furo` for the extra `docs`"),
        ("What are the dependencies of the docs extra?", "`pyproject.toml` lists `sphinx>= 3.5` and `furo` for the"),
        ("What does `mill[docs]` install?", "`pyproject.toml` lists `sphinx>= 3.5` and `furo` for the extra `docs`"),
        (
            "What does the nope extra need?",
            "`pyproject.toml` defines no extra `nope`, only the extras `docs`, `all` and `html`",
        ),
        ("What does the html extra need?", "`pyproject.toml` defines the extra `html` without packages"),
        ("Which extras does it define?", "`pyproject.toml` defines the extras `docs`, `all` and `html`"),
        ("Does it need furo?", "`pyproject.toml` lists `furo` without a version (optional: docs)"),
        ("What does the windows extra need?", "`pyproject.toml` defines no extra `windows`, only the extras"),
        ("Does the nope extra need furo?", "`pyproject.toml` defines no extra `nope`, only the extras"),
        ("Does the docs extra need furo?", "Yes: `pyproject.toml` lists `furo` without a version (optional: docs)"),
        ("Is furo in the docs extra?", "Yes: `pyproject.toml` lists `furo` without a version (optional: docs)"),
        ("Does the docs extra need oat?", "No: `pyproject.toml` does not list `oat` for the extra `docs`"),
        ("Which version of sphinx does the docs extra need?", "`pyproject.toml` lists `sphinx>= 3.5` (optional: docs)"),
    ],
)
def test_an_extra_has_its_own_list(mill: LocalEngine, question: str, beginning: str) -> None:
    """What other lists have, and a name of another table, say nothing of it."""
    assert lead_of(mill, question).startswith(beginning), lead_of(mill, question)


def test_an_extra_of_extras_is_not_denied_a_package(mill: LocalEngine) -> None:
    assert "does not list" not in lead_of(mill, "Does the all extra need furo?")


@pytest.mark.parametrize(
    ("files", "question", "beginning"),
    [
        (
            {"Cargo.toml": _CARGO},
            "What does the yaml feature enable?",
            "`Cargo.toml` defines the feature `yaml`, which enables `serde` and `dep:yaml-rust`",
        ),
        (
            {"Cargo.toml": _CARGO},
            "Which crates does the yaml feature pull in?",
            "`Cargo.toml` defines the feature `yaml`",
        ),
        (
            {"setup.py": 'setup(extras_require={"fast": ["rye>=2"]})\n'},
            "What does the fast extra install?",
            "`setup.py` lists `rye>=2` for the extra `fast`",
        ),
        (
            {"pyproject.toml": '[project]\nname = "mill"\n'},
            "What does the docs extra install?",
            "`pyproject.toml` defines no extras",
        ),
        (
            {"pyproject.toml": '[project]\nname = "mill"\n[dependency-groups]\ndocs = ["furo"]\n'},
            "What does the docs extra install?",
            "`pyproject.toml` lists `furo` for the group `docs`",
        ),
        (
            {"pyproject.toml": f'{_PYPROJECT}\n[dependency-groups]\ndocs = ["rye>=2"]\n'},
            "What is in the docs dependency group?",
            "`pyproject.toml` lists `rye>=2` for the group `docs`",
        ),
    ],
)
def test_features_and_groups_answer_too(
    tmp_path: Path, files: dict[str | bytes, str | bytes | None], question: str, beginning: str
) -> None:
    RepositoryBuilder(tmp_path / "mill").commit(files, "Add the manifest")
    engine = open_engine([tmp_path / "mill"], index=tmp_path / "index", workers=1)
    assert lead_of(engine, question).startswith(beginning), lead_of(engine, question)


@pytest.mark.parametrize(
    "files",
    [
        {"setup.py": "setup(extras_require=read_extras())\n", "pyproject.toml": '[project]\nname = "mill"\n'},
        {"pyproject.toml": '[project]\nname = "mill"\ndynamic = ["optional-dependencies"]\n'},
    ],
)
def test_no_extra_is_denied_where_a_program_may_add_one(
    tmp_path: Path, files: dict[str | bytes, str | bytes | None]
) -> None:
    RepositoryBuilder(tmp_path / "mill").commit(files, "Add the manifest")
    engine = open_engine([tmp_path / "mill"], index=tmp_path / "index", workers=1)
    assert "defines no extra" not in lead_of(engine, "What does the nope extra need?")


def test_hostile_questions_and_manifests_take_no_time() -> None:
    """Text of repositories and of questions is hostile."""
    start = time.process_time()
    read_feature("Cargo.toml", ["[features]", "a = [", *['"b",'] * 2_900, "]"], "a")
    for text in ("what does the " + "in for " * 40 + "extra", "what does " + "a" * 280, "what " + "of " * 90):
        for _, patterns in FIELDS:
            for pattern in patterns:
                pattern.match(text)
    assert time.process_time() - start < 2
