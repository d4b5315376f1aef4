"""Values of names that a question has beside few other words, or in brackets behind what they are for."""

from __future__ import annotations

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.question.lookups import read_lookup
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    directory = tmp_path_factory.mktemp("oven")
    builder = RepositoryBuilder(directory / "oven")
    builder.commit(
        {
            "src/loaf/bake.py": "CRUST_LIMIT = 40\n\ndef proof(flour, rest_minutes=25):\n    return flour\n",
            "src/loaf/cool.ml": "let rack_slot_count = 12\n",
            "src/shelf/cool.ml": "let rack = 3\n",
            "cmd/main.go": 'package main\n\nfunc main() {\n\tflag.Bool("steam", true, "bake with steam")\n}\n',
            "lib/oven.clj": "(ns oven)\n(def ^:dynamic *heat-mode* :fan)\n",
            "lib/oven.el": '(defconst oven--least-heat "2.25")\n',
            "src/Rack.php": "<?php\nclass Rack {\n    protected $safeTrays = array(\n"
            + "".join(f"        'tray{number}',\n" for number in range(15))
            + "    );\n    const version = '1.8.0';\n}\n",
            "src/loaf/oven.js": "const _breadFileName = 'bread.json';\nlet trayCount = 0;\nlet rackWidth = 40;\n"
            "rackWidth = 50;\n",
            "lib/heat.ex": "defmodule Heat do\n  @max_heat 64 * 1024\nend\n",
            "config": "OVEN_PREFIX=/usr/bread\n",
            "Makefile": "include config\n\ninstall:\n\tcp oven $(OVEN_PREFIX)\n",
        }
    )
    return open_engine([builder.path])


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("CRUST_LIMIT value", "`40`"),
        ("CRUST_LIMIT - what is it?", "`40`"),
        ("what's CRUST_LIMIT at the moment", "`40`"),
        ("What does CRUST_LIMIT stand for?", "`40`"),
        ("What's the name of the bread file?", "`_breadFileName` is set to `'bread.json'`"),
        ("what's the maximum heat size?", "`max_heat` is set to `64 * 1024`"),
        ("What is the crust limit?", "`CRUST_LIMIT` is set to `40`"),
        # A counter and a variable that changes have no value to state.
        ("what's the tray count?", "Most relevant"),
        ("what's the rack width?", "Most relevant"),
        ("What is the crust limit of the cellar?", "Most relevant"),
        ("What is safeTrays set to?", "`array( 'tray0', 'tray1', "),
        ("What is the value of the version constant in oven?", "`version` is set to `'1.8.0'`"),
        ("CRUST_LIMIT in the bake code", "`40`"),
        ("What is the upper crust line CRUST_LIMIT?", "`40`"),
        ("Which limit does CRUST_LIMIT hold?", "`40`"),
        ("how thick is CRUST_LIMIT?", "`40`"),
        ("what limit is stored in CRUST_LIMIT", "`40`"),
        ("What's CRUST_LIMIT's value?", "`40`"),
        ("What is the type of CRUST_LIMIT?", "Most relevant"),
        ("What are the minutes of rest_minutes in proof?", "`25`"),
        ("What does proof use for rest_minutes if I don't pass it?", "`25`"),
        ("Which slots has the rack (rack_slot_count)?", "`12`"),
        ("What is rack_slot_count for loaf slices?", "`12`"),
        ("What is --steam when it's not given?", "`true`"),
        ("If I don't pass --steam, what's used?", "`true`"),
        ("what is *heat-mode* set to initially", "`:fan`"),
        ("What is the least heat it takes (oven--least-heat)?", '`"2.25"`'),
        ("what's the default OVEN_PREFIX for make install?", "`/usr/bread`"),
    ],
)
def test_names_with_few_words_around_them_have_their_values(engine: LocalEngine, question: str, value: str) -> None:
    assert value in lead_of(engine, question)


def test_a_name_in_a_file_of_other_words_is_no_value_of_the_place(engine: LocalEngine) -> None:
    assert "`12`" not in lead_of(engine, "What is rack_slot_count for baked pretzels?")


@pytest.mark.parametrize(
    "question",
    [
        "Who changed CRUST_LIMIT in the bake code?",
        "Which function calls it most (proof_flour)?",
        "How many commits touched the limit (CRUST_LIMIT)?",
    ],
)
def test_other_questions_with_a_name_ask_for_no_value(question: str) -> None:
    lookup = read_lookup(question)
    assert lookup is None or lookup.kind not in {"value", "configured", "default"}
