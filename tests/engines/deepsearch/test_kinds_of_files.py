"""Counts of files by what people call them: endings that exist, workflows, Dockerfiles, and words that mean none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engines.deepsearch.asking import engine_with, research
from sourcelight.engines.execution import LocalEngine

FILES: dict[str | bytes, str | bytes | None] = {
    "src/Mill.fsproj": "<Project />\n",
    "tests/Mill.Tests.fsproj": "<Project />\n",
    "src/mill.fs": "let wheel = 1 // FIXME\n",
    "features/turn.feature": "Feature: turn\n",
    "features/stop.feature": "Feature: stop\n",
    "features/old/feature.txt": "feature files\n",
    ".github/workflows/ci.yml": "jobs:\n  a:\n    steps:\n      - uses: mill/setup@v3\n",
    ".github/workflows/release.yaml": "jobs: {}\n",
    ".github/workflows/README.md": "# Workflows\n",
    ".github/dependabot.yml": "version: 2\n",
    "Dockerfile": "FROM debian:12\n",
    "build/Dockerfile.alpine": "FROM alpine:3\n",
    "build/slim.Dockerfile": "FROM alpine:3\n",
    "tools/defs.bzl": "def turn():\n    pass\n\n# def old():\ndef stop(\n        name):\n    pass\n",
    "docs/Dockerfiles.md": "# Dockerfiles\n",
    "spec/wheel_spec.rb": "it 'turns' do\nend\n",
    "spec/spec_helper.rb": "require 'wheel'\n",
    "views/turn.slim": "p\n",
    "views/stop.slim": "p\n",
    "top.feature": "Feature: top\n",
    "top.yml": "a: 1\n",
}


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    yield from engine_with(tmp_path_factory, "mill", FILES)


@pytest.mark.parametrize(
    ("question", "lead"),
    [
        ("How many fsproj files are there?", "**2** files of `*.fsproj`."),
        ("How many md files are in docs?", "**1** file in `docs/**/*.md`."),
        ("How many yml files are there?", "**3** files of `*.yml`."),
        ("How many F# projects does mill have?", "**2** files of `*.fsproj`."),
        ("How many feature files does mill have?", "**3** files of `*.feature`."),
        ("How many slim templates do we ship?", "**2** files of `*.slim`."),
        ("How many slim views are bundled?", "**2** files of `*.slim`."),
        ("How many feature files are at the top level of the repo?", "**1** file of `*.feature` at the top level."),
        ("How many feature files are there in the root directory?", "**1** file of `*.feature` at the top level."),
        ("How many YAML files sit directly in the project root?", "**1** YAML file at the top level."),
        ("How many files are there at the root of the project?", "**3** files at the top level."),
        ("How many GitHub workflows does mill have?", "**2** files in `.github/workflows/*.y*ml`."),
        ("How many CI workflow files are there?", "**2** files in `.github/workflows/*.y*ml`."),
        ("How many workflows use mill/setup?", "**1** file in `.github/workflows/*.y*ml` contains `mill/setup`."),
        ("How many Dockerfiles are there?", "**3** files in `**/Dockerfile` or `**/Dockerfile.*` or `*.Dockerfile`."),
        ("How many functions are defined in tools/defs.bzl?", "**2** functions are defined in `tools/defs.bzl`"),
        ("Which base image does build/Dockerfile.alpine use?", "`build/Dockerfile.alpine` builds from `alpine:3`"),
        ("How many spec files are there?", "**1** file in `**/*_spec.rb`."),
        ("How many spec files are in the repository?", "**1** file in `**/*_spec.rb`."),
        ("How many F# files does the project have?", "**1** F# file."),
        ("How many FIXME comments are in the F# sources?", "**1** line in F# files contains `FIXME`."),
    ],
)
def test_what_people_call_files_is_counted_by_their_paths(mill: LocalEngine, question: str, lead: str) -> None:
    assert research(mill, question).text.startswith(lead)


@pytest.mark.parametrize(
    "question",
    [
        # No file has this ending, and these words aren't endings.
        "How many velvet files are there?",
        "How many config files are there?",
        "How many workflow jobs are there?",
        "How many Makefiles are there?",
        "How many haml templates are there?",
        # The top of a directory or of a file is another one.
        "How many feature files are in the root of features?",
        "How many functions are defined at the top level of tools/defs.bzl?",
    ],
)
def test_other_words_before_files_count_nothing(mill: LocalEngine, question: str) -> None:
    assert not research(mill, question).text.startswith("**")
