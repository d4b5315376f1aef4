"""What an explanation shows: sentences and code that say something, and nothing that only has the words."""

from __future__ import annotations

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.source.line_kinds import IMPORT_STATEMENT
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

README = """# Kiln

* [Handling broken tiles](#handling-broken-tiles)
* [Glazing bowls](#glazing-bowls)

## Handling broken tiles

A broken tile is handled by a sweep of the belt, which carries it to the bin.

## Glazing bowls

Bowls are dipped twice.
"""
GUIDE = """# Contributing

You may use a machine to write, but it must never waste our time when tiles are discussed.
"""
BELT = """import { Tile } from './tile'
import {
  sweepBroken,
  countBroken,
} from './broken'

/**
 * Move the tiles.
 *
 * The belt moves tiles by steps of one width. The belt moves tiles slowly when the kiln is hot.
 */
export function moveTiles(tiles: Tile[]): Tile[] {
  // The belt moves tiles in the order of their numbers.
  const moved = tiles.map((tile) => sweepBroken(tile))
  return moved
}

/**
 * The belt moves tiles by hand, where there is no motor to move them.
 *
 * @deprecated
 *
 * Use moveTiles.
 */
export function moveTilesByHand(tiles: Tile[]): Tile[] {
  return tiles
}

export function stampTile(
  tile: Tile,
): Promise<Stamped> => {
  const stamp = press(tile, "stamp the lower left corner of a tile")
  return stamp
}
"""
TEST = """import { stampTile } from '../belt'

it('stamps a tile in its corner', () => {
  stampTile({})
})
"""


@pytest.fixture(scope="module")
def kiln(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("explanations")
    repo = RepositoryBuilder(root / "kiln")
    repo.commit(
        {
            "README.md": README,
            "CONTRIBUTING.md": GUIDE,
            "src/belt.ts": BELT,
            "test/belt.test.ts": TEST,
            "test/fixtures/stamped.eml": "Subject: a stamped tile\n\nStamp the tile, and stamp the tile.\n",
        },
        "Build a kiln",
    )
    return open_engine([repo.path], index=root / "index", workers=1)


def test_an_entry_of_a_table_of_contents_is_no_answer(kiln: LocalEngine) -> None:
    """The section that it leads to is."""
    text = research(kiln, "How are broken tiles handled?").text
    assert "(\\#handling-broken-tiles)" not in text
    assert "carries it to the bin" in text.split("## ")[0]


def test_passages_of_one_definition_are_not_near_each_other(kiln: LocalEngine) -> None:
    lead = research(kiln, "How does the belt move tiles?").text.split("\n## ")[0]
    assert lead.count("`moveTiles` in") == 1


def test_what_is_deprecated_does_not_come_first(kiln: LocalEngine) -> None:
    current = research(kiln, "How does the belt move tiles?").text
    assert "moveTilesByHand" not in current.split("\n2. ")[0]
    second = research(kiln, "How does the deprecated function move tiles by hand?").text
    assert "moveTilesByHand" in second.split("\n2. ")[0]


def test_ends_of_heads_and_bare_results_are_not_shown_as_answers(kiln: LocalEngine) -> None:
    """What is shown is code, and written as code."""
    lead = research(kiln, "How is a tile stamped?").text.split("\n## ")[0]
    assert "Promise<Stamped>" not in lead
    assert "return stamp" not in lead
    assert '`const stamp = press(tile, "stamp the lower left corner of a tile")`' in lead


def test_a_fixture_is_no_test(kiln: LocalEngine) -> None:
    text = research(kiln, "How is a tile stamped?").text
    assert "stamped.eml" not in text.partition("## Tests")[2].partition("\n## ")[0]
    assert "- Test: `test/belt.test.ts`" in text


def test_an_overview_is_about_the_question(kiln: LocalEngine) -> None:
    text = research(kiln, "How does the belt move tiles?").text
    assert "never waste our time" not in text.partition("## At a glance")[2].partition("\n## ")[0]


def test_a_comment_in_a_body_does_not_describe_its_function(kiln: LocalEngine) -> None:
    text = research(kiln, "How does the belt keep the order of numbers?").text
    assert "- Definition: `moveTiles` in `src/belt.ts`: “The belt moves tiles in the order" not in text


def test_imports_are_not_quoted(kiln: LocalEngine) -> None:
    text = research(kiln, "How does the belt count and sweep what is broken?").text
    assert "countBroken," not in text
    assert "import {" not in text


@pytest.mark.parametrize(
    ("line", "is_import"),
    [
        ("from os import path", True),
        ("import os", True),
        ("import (", True),
        ("import { a } from './a'", True),
        ("#include <stdio.h>", True),
        ("use std::fs::File;", True),
        ("using System.Text;", True),
        ("const { join } = require('path')", True),
        ("require 'set'", True),
        ("export { a } from './a'", True),
        ("from here on, tiles are hot", False),
        ("import('./a').then(use)", False),
        ("using (var file = Open())", False),
        ("use the kiln", False),
        ("required = True", False),
        ("package_name = 'kiln'", False),
        ("export default function a() {", False),
    ],
)
def test_imports_are_told_from_lines_with_such_a_word(line: str, *, is_import: bool) -> None:
    assert (IMPORT_STATEMENT.match(line) is not None) == is_import
