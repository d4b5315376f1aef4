"""Manifests of R and Perl: what they list, the version of the language, and files that only share their name."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.manifests import read_requirements, read_runtime
from sourcelight.testing import RepositoryBuilder

DESCRIPTION = """\
Package: reed
Version: 0.1
Description: A package that imports water
    and air.
Depends: R (>= 3.6), methods
Imports:
    cli,
    glue (>= 1.6.1)
Suggests: testthat (>= 3.0.0)
Encoding: UTF-8
"""
CPANFILE = """\
on 'configure' => sub {
    requires 'ExtUtils::MakeMaker';
};
requires 'perl' => '5.010001';
requires 'Try::Tiny';
requires "HTTP::Date", "6";
recommends 'Net::HTTP' => '6.18';
on test => sub {
    requires 'Test::More' => '0.96';
};
"""


def packages_of(path: str, text: str) -> list[tuple[str, str, str]]:
    """Name, version and group of each package that a manifest lists."""
    requirements = read_requirements(path, text.splitlines())
    assert requirements is not None
    lines = text.splitlines()
    assert all(requirement.name in lines[requirement.line - 1] for requirement in requirements)
    return [(requirement.name, requirement.version, requirement.group) for requirement in requirements]


def test_a_description_lists_packages_by_field() -> None:
    assert packages_of("DESCRIPTION", DESCRIPTION) == [
        ("methods", "", ""), ("cli", "", ""), ("glue", ">= 1.6.1", ""), ("testthat", ">= 3.0.0", "Suggests"),
    ]  # fmt: skip
    assert read_runtime("DESCRIPTION", DESCRIPTION.splitlines(), "r") == (">= 3.6", 5)


def test_a_cpanfile_lists_packages_by_phase() -> None:
    assert packages_of("cpanfile", CPANFILE) == [
        ("ExtUtils::MakeMaker", "", "configure"), ("Try::Tiny", "", ""), ("HTTP::Date", "6", ""),
        ("Net::HTTP", "6.18", "recommends"), ("Test::More", "0.96", "test"),
    ]  # fmt: skip
    assert read_runtime("cpanfile", CPANFILE.splitlines(), "perl") == ("5.010001", 4)


def test_another_file_of_the_name_is_no_manifest() -> None:
    assert read_requirements("DESCRIPTION", ["A kite for windy days.", "Depends: wind"]) is None


@pytest.mark.parametrize(
    ("path", "manifest", "question", "part"),
    [
        ("DESCRIPTION", DESCRIPTION, "minimum R version", "`DESCRIPTION` requires R `>= 3.6`"),
        ("DESCRIPTION", DESCRIPTION, "Does reed depend on glue?", "Yes: `DESCRIPTION` lists `glue` `>= 1.6.1`"),
        ("DESCRIPTION", DESCRIPTION, "Does reed use the glue package?", "Yes: `DESCRIPTION` lists `glue` `>= 1.6.1`"),
        ("DESCRIPTION", DESCRIPTION, "Is clay a direct dependency?", "No: no searched manifest lists `clay`"),
        ("cpanfile", CPANFILE, "minimum perl version", "`cpanfile` requires Perl `5.010001`"),
        ("cpanfile", CPANFILE, "what are the dependencies", "2 dependencies: `Try::Tiny` and `HTTP::Date`"),
    ],
)
def test_questions_are_answered_from_them(tmp_path: Path, path: str, manifest: str, question: str, part: str) -> None:
    RepositoryBuilder(tmp_path / "reed").commit({path: manifest}, "Plant")
    with closing(open_engine([tmp_path], index=tmp_path / "index", workers=1)) as engine:
        answer = research(engine, question)
    assert part in answer.text, answer.text
