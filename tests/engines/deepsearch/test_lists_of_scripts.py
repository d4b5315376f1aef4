"""Versions that workflows and heads of scripts require, and options that a call or a program declares."""

from __future__ import annotations

import time

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.builds.actions import ACTION
from sourcelight.engines.deepsearch.lookups.initial_values import BEGINS_OPTIONS
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

WORKFLOW = """on: push
jobs:
  turn:
    steps:
    # - uses: mill/stone@v9
    - uses: mill/stone@v3
    - name: Lift
      uses: mill/lift/fast@v1.2 # pinned
    - run: echo "uses: mill/dry@v1"
"""
OTHER_WORKFLOW = "jobs:\n  stop:\n    steps:\n      - uses: 'mill/lift/fast@v2'\n"
ENGINE = """class Engine < Base
  define_options pretty: false,
                 sack_quote: '"',
                 generator: Generator
  parse_options stone_size: 4
end
"""
CLI = """import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--sack_width", dest="sack_width", default=2, type=int)
"""
FORMATTER = """def build(options):
    width = options.get("sack_width", 7)
    return width
"""
FILES: dict[str | bytes, str | bytes | None] = {
    ".github/workflows/turn.yml": WORKFLOW,
    ".github/workflows/stop.yml": OTHER_WORKFLOW,
    "lib/engine.rb": ENGINE,
    "mill/cli.py": CLI,
    "mill/formatter.py": FORMATTER,
    "Mill.psd1": "@{\n# PowerShellVersion = '2.0'\nPowerShellVersion = '5.1'\n}\n",
    "mill.el": ';;; mill.el\n;; Package-Requires: ((emacs "28.1") (dash "2"))\n(provide \'mill)\n',
    "test/other.el": ';; Package-Requires: ((emacs "24.1"))\n',
    "Makefile.PL": "WriteMakefile(\n  NAME => 'Mill-Runtime',\n  PREREQ_PM => {\n    'Moose' => '2.14',\n  },\n);\n",
    "DESCRIPTION": "Package: grinder\nSuggests:\n    rlang (>= 1.0.2),\n    dplyr\n",
}


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """A repository called ``mill-runtime``."""
    root = tmp_path_factory.mktemp("scripts")
    RepositoryBuilder(root / "mill-runtime").commit(FILES, "Add the mill")
    return open_engine([root], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "beginning"),
    [
        ("Which version of mill/stone does CI use?", "`.github/workflows/turn.yml` lists `mill/stone` `v3` "),
        (
            "Which version of mill/lift/fast is used?",
            "`.github/workflows/stop.yml` lists `mill/lift/fast` `v2`; other lines list it differently",
        ),
        ("Which PowerShell version does it need?", "`Mill.psd1` requires PowerShell `5.1`"),
        ("Which Emacs version is required?", "`mill.el` requires Emacs `28.1`"),
        ("Which version of Moose does Mill need?", "`Makefile.PL` lists `Moose` `2.14`"),
        ("Does it use rlang, and in which version?", "`DESCRIPTION` lists `rlang` `>= 1.0.2` (Suggests)"),
        ("What is the default sack_quote?", "`sack_quote` is set to `'\"'`, in `lib/engine.rb`, line 3"),
        (
            "What's the default of sack_width on the command line?",
            "The default of `sack_width` is `2`, in `mill/cli.py`, line 4",
        ),
    ],
)
def test_a_line_proves_the_version_or_the_default(mill: LocalEngine, question: str, beginning: str) -> None:
    """A comment and another program's option are none."""
    assert lead_of(mill, question).startswith(beginning), lead_of(mill, question)


@pytest.mark.parametrize(
    ("question", "absent"),
    [
        ("Which version of mill/dry does CI use?", "`v1`"),
        ("What is the default stone_size?", "is set to"),
        ("Which version of Moose does Miller need?", "lists `Moose`"),
    ],
)
def test_a_text_an_argument_and_another_name_prove_nothing(mill: LocalEngine, question: str, absent: str) -> None:
    """What a step prints, what a call passes, and a name that isn't the beginning of the repository's."""
    assert absent not in lead_of(mill, question)


def test_forms_are_read_in_linear_time() -> None:
    """Text of repositories is hostile."""
    for text in ("a/" * 20_000, "define_" + "a" * 20_000, " " * 20_000 + "default a:", "defaults" + " " * 20_000):
        start = time.process_time()
        ACTION.fullmatch(text)
        BEGINS_OPTIONS.match(text)
        assert time.process_time() - start < 0.5
