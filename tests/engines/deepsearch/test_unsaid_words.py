"""Values whose questions have words that the code leaves unsaid, and lines that look like the value and aren't."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from engines.deepsearch.asking import engine_with, research
from sourcelight.engines.deepsearch.lookups.value_lines.request import read_request
from sourcelight.engines.execution import LocalEngine

FILES: dict[str | bytes, str | bytes | None] = {
    "lib/shelf.rb": (
        "class Shelf\n  def initialize\n    @default_per_tray = 25\n    @max_per_tray = nil\n    @tray_name = :tray\n"
        "  end\nend\n"
    ),
    "lib/label.h": "#define LABEL_EDITOR_MAX 128\n/* The text of a label editor. */\n",
    "src/serve.ml": "let default_port = 8080\nlet run ?(port = default_port) () = Server.listen port\n",
    "src/oven.ml": (
        "let back lifetime = {\n  load = load lifetime;\n}\n\nlet ovens ?(lifetime = Oven.two_weeks) =\n"
        "  back lifetime\n"
    ),
    "lua/pad.lua": (
        "-- pad tabs\nlocal M = {}\nfunction M.expandtabs(text, tabsize)\n  tabsize = tabsize or 8\n  return text\n"
        "end\nreturn M\n"
    ),
    "lib/Bake.pm": (
        "package Bake;\nsub new {\n    my $class = shift;\n    bless {\n        crumb_timeout => 1800,\n"
        "        cool => undef,\n    }, $class;\n}\n1;\n"
    ),
    "src/Knead.hs": (
        "module Knead where\n\nnewKneadOptions = KneadOptions\n    {\n        foNoteLinkCount = 3\n    }\n\n"
        'server = Serve\n    {gate = 4040 &= typ "INT" &= help "Gate number of the bakery"\n    }\n'
    ),
    "js/batch.js": (
        "class Batch {\n  constructor(options) {\n    this.batchInterval = options.batchInterval || 5000;\n"
        "    this.batchCount = options.batchCount || 10;\n    this.batchTimeoutID = -1;\n  }\n}\n"
    ),
    "js/pack.js": (
        "class Packer {\n  constructor(options) {\n    if (options) {\n      if (options.sequential) {\n"
        "        if (!options.maxSharedCrates)\n          options.maxSharedCrates = 0;\n      }\n    }\n  }\n}\n"
    ),
    "main.tf": (
        "locals {\n\n  defaults = {\n    # The `rack` label is not in it.\n"
        '    loaf_order = ["crust", "crumb"]\n  }\n}\n'
    ),
    "scala/Config.scala": (
        "object Config {\n  def DefaultGrainBufferSize = 16\n  def DefaultStopHookTimeout = Duration.Inf\n}\n"
    ),
    "scala/Ring.scala": "class GrainRingBuffer(logSize: Int) {\n  val length = 1 << logSize // size of the buffer\n}\n",
    "lua/setup.lua": (
        "local default = {\n  disable_graintype = { 'rye', 'oat' },\n  enable_moveright = true,\n}\nreturn default\n"
    ),
    "net/follow.ts": "export const settings = {\n  maxHops: 10,\n};\n",
}


@pytest.fixture(scope="module")
def bakery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    yield from engine_with(tmp_path_factory, "bakery", FILES)


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("How many items per tray do you get if nothing is configured?", "`@default_per_tray` is set to `25`"),
        ("How long can a text in the label editor get at most?", "`LABEL_EDITOR_MAX` is set to `128`"),
        ("What port does the server listen on if I don't give one?", "`default_port` is set to `8080`"),
        (
            "How many spaces does a tab become when expanding tabs and no size is passed?",
            "The default of `tabsize` is `8`",
        ),
        ("what's the default crumb_timeout?", "`crumb_timeout` is set to `1800`"),
        ("How many note links does it print if I don't change it?", "`foNoteLinkCount` is set to `3`"),
        ("Which gate number does it use by default?", "The default of `gate` is `4040`"),
        ("how long does it wait between batches unless configured?", "The default of `batchInterval` is `5000`"),
        ("default loaf order?", '`loaf_order` is set to `["crust", "crumb"]`'),
        ("What's the default grain buffer size?", "`DefaultGrainBufferSize` is set to `16`"),
        ("What's the stop hook timeout by default?", "`DefaultStopHookTimeout` is set to `Duration.Inf`"),
        ("which graintype is disabled by default?", "`disable_graintype` is set to `{ 'rye', 'oat' }`"),
        ("what's the hop cap out of the box", "`maxHops` is set to `10`"),
    ],
)
def test_words_that_the_code_leaves_unsaid_are_not_needed(bakery: LocalEngine, question: str, start: str) -> None:
    text = research(bakery, question).text
    assert text.startswith(start), text[:200]


def test_a_value_of_one_case_is_no_default(bakery: LocalEngine) -> None:
    assert (
        "is set to `0`"
        not in research(bakery, "How many shared crates are there at most by default?").text.split("\n")[0]
    )


def test_a_parameter_of_a_head_sets_nothing_again(bakery: LocalEngine) -> None:
    lead = research(bakery, "what is the default lifetime of the ovens?").text.split("\n")[0]
    assert "Oven.two_weeks" in lead
    assert re.search("other lines", lead) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("how long may a name of a tray be at most", "number"),
        ("how long may a name of a tray stay cached at most", "time"),
        ("how long is the shut down delay", "time"),
        ("what's the redirect cap by default", "number"),
    ],
)
def test_a_question_tells_a_length_from_a_time(text: str, kind: str) -> None:
    request = read_request(text)
    assert request is not None
    assert request.kind == kind


WRONG_FILES: dict[str | bytes, str | bytes | None] = {
    "lua/filter.lua": "local function filter()\n  timer.rest = view.open() and config.get().drag or 0\nend\n",
    "lib/stream.ex": "defmodule Stream do\n  @test entry(key: 1, shelf_life: 1000)\nend\n",
    "tools/task.go": 'package tools\n\nfunc init() {\n\tCmd.Flags().String("brake", "", "Brake of the task")\n}\n',
    "proto/task.proto": "message Task {\n  int64 brake = 8;\n  int64 glide = 9;\n}\n",
    "internal/testutil/build.go": "package testutil\n\nfunc makeDefaultTask() Task {\n\treturn Task{Glide: 1800}\n}\n",
    "src/ws.js": (
        "function setDefaultOpts(options) {\n  if (options.protocol === 'wss') {\n    options.gateway = 443\n"
        "  } else {\n    options.gateway = 80\n  }\n}\n"
    ),
    "src/stats.go": 'package src\n\ntype Stats struct {\n\t// Lane (e.g. "default", "slow").\n\tLane string\n}\n',
}


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    yield from engine_with(tmp_path_factory, "mill", WRONG_FILES)


@pytest.mark.parametrize(
    "question",
    [
        "What's the default shelf_life of an entry?",
        "What's the default brake of a task?",
        "What's the default glide of a task?",
        "What's the default gateway?",
        "What's the drag by default?",
        "Which lane is used by default?",
    ],
)
def test_what_looks_like_a_default_states_none(mill: LocalEngine, question: str) -> None:
    lead = research(mill, question).text.split("\n")[0]
    assert " is set to " not in lead
    assert "default of" not in lead
