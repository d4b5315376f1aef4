"""Values that everyday words describe: which line is stated for them, and which questions are left to the ranking."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from engines.deepsearch.asking import engine_for, research
from sourcelight.engines.deepsearch.lookups.value_lines.data import data_reader
from sourcelight.engines.deepsearch.lookups.value_lines.request import read_request
from sourcelight.engines.deepsearch.lookups.value_lines.words import covered_by
from sourcelight.engines.execution import LocalEngine

LOADER = """package press

import "time"

const (
\t// DefaultSockets is the default amount of open idle sockets per tub.
\tDefaultSockets = 4000
\tDefaultMaxSockets = 0
)

func flags(fs *FlagSet) {
\tfs.BoolVar(&opts.steady, "steady", true, "Use persistent pipes")
\tfs.IntVar(&opts.sockets, "sockets", DefaultSockets, "Max open idle sockets per tub")
}

func (p *Press) Brake() int {
\tif p.status == 0 {
\t\tp.status = http.StatusTooManyRequests
\t}
\treturn p.status
}
"""
KNEAD = """#!/usr/bin/env node
const argv = yargs(process.argv)
  .usage('Kneads doughs.')
  .option('e', {
    type: 'string',
    description: 'Recipe extension.',
    alias: 'extension',
    default: 'dough',
  })
  .option('n', {
    type: 'string',
    description: 'Recipe namespace',
    alias: 'namespace',
    default: 'Bakery.recipes',
  });
"""
CHART = """# Days that crumbs are retained
server:
  ## Crumb data retention period
  retention: "15d"
  service:
    port: 9100
reloader:
  service:
    port: 8080
"""
UNITS = """#[derive(Default)]
pub enum OvenFamily {
    /// wood
    Wood,
    #[default]
    /// gas
    Gas,
}
"""
SESSIONS = """port: 5001
# the port of the oven

session-timeout: 60
# minutes of inactivity before a session expires
"""
VARIABLES = """variable "map_tray_on_launch" {
  description = "Specify true to assign trays in the public racks a public label"
  type        = bool
  default     = false
}
"""
CONFIG = """local append = function(name, val, doc)
end

append("sorting_strategy", "descending", [[Determines the direction]])
"""
SWITCHES = """option(ENABLE_UTILS "Enable building the utils library." OFF)
"""
COMMANDS = """module Loaf
  DEFAULT_COMMAND = "install"
end
"""
SCHEMA = """{
  "properties": {
    "oven.trayCount": {
      "type": "number",
      "default": 12,
      "description": "Number of trays that fit at once."
    },
    "oven.steam": {
      "type": "boolean",
      "default": true,
      "description": "Blow steam while baking."
    }
  }
}
"""
LIMIT = """/* Limits how deeply nested loaves can be before baking refuses them. */
#ifndef LOAF_NESTING_LIMIT
#define LOAF_NESTING_LIMIT 1000
#endif
"""
MAIN = """mod cli;
#[cfg(test)]
mod tests;

const CRUST_DELTA: Duration = Duration::from_millis(1000);
"""
JOBS = """OptionParser.parse do |opts|
  opts.on("--jobs N", "Number of ovens to heat in parallel (default: 8).") { |n| }
end
"""


@pytest.fixture(scope="module")
def bakery(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """Return an engine over a repository whose values have comments, help texts, keys and paths."""
    return engine_for(
        tmp_path_factory.mktemp("bakery"),
        {
            "lib/press.go": LOADER,
            "bin/knead.js": KNEAD,
            "charts/crumb/values.yaml": CHART,
            "charts/crumb-exporter/values.yaml": "service:\n  port: 9333\n",
            "src/cli.rs": UNITS,
            "data/default.conf": SESSIONS,
            "variables.tf": VARIABLES,
            "lua/config.lua": CONFIG,
            "CMakeLists.txt": SWITCHES,
            "src/commands.rb": COMMANDS,
            "editor/settings.schema.json": SCHEMA,
            "loaf.h": LIMIT,
            "src/main.rs": MAIN,
            "src/options.cr": JOBS,
            "lib/rack.go": "package press\n\nconst DefaultRackTimeout = 30 * time.Second\n",
            "lua/source.lua": "source.FETCHING = 2\n",
            "tests/values.yaml": "service:\n  port: 1\n",
        },
    )


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("How many idle sockets per tub does a press keep by default?", "`DefaultSockets` is set to `4000`"),
        ("Is -steady on unless I turn it off?", "The default of `steady` is `true`"),
        ("What recipe extension does the knead CLI assume when -e isn't given?", "The default of `e` is `'dough'`"),
        ("default namespace for kneaded recipes on the command line?", "The default of `n` is `'Bakery.recipes'`"),
        ("How long does the crumb chart retain data by default?", '`retention` is set to `"15d"`'),
        ("On which port does the service of the crumb-exporter chart listen?", "`port` is set to `9333`"),
        ("Which oven family is used if --oven-family isn't passed?", "The default of `OvenFamily` is `Gas`"),
        ("How long is a session valid out of the box?", "`session-timeout` is set to `60`"),
        (
            "Do trays in the public racks get a public label unless told otherwise?",
            "The default of `map_tray_on_launch`",
        ),
        ("What is the default sorting_strategy?", 'The default of `sorting_strategy` is `"descending"`'),
        ("Is the utils library built if I just run cmake?", "The default of `ENABLE_UTILS` is `OFF`"),
        ("What does it run when I start it with no command at all?", '`DEFAULT_COMMAND` is set to `"install"`'),
        ("How many trays fit at once by default?", "`oven.trayCount` is set to `12`"),
        ("Does it blow steam while baking if I change nothing?", "`oven.steam` is set to `true`"),
        ("how deeply may loaves be nested before baking refuses?", "`LOAF_NESTING_LIMIT` is set to `1000`"),
        ("How long is CRUST_DELTA?", "`CRUST_DELTA` is set to `Duration::from_millis(1000)`"),
        ("how many ovens get heated in parallel out of the box?", "The default of `jobs` is `8`"),
        (
            "If no status is configured, what does the press brake with?",
            "`status` is set to `http.StatusTooManyRequests`",
        ),
    ],
)
def test_a_value_is_stated_that_only_words_describe(bakery: LocalEngine, question: str, start: str) -> None:
    assert _headline(bakery, question).startswith(start)


@pytest.mark.parametrize(
    "question",
    [
        # Two services have a port.
        "What's the default port of the service in the chart?",
        # Nothing of this kind exists.
        "How long is a loaf valid by default?",
        "How many idle sockets per oven are kept by default?",
        "Which icon theme is used by default?",
        # A truth is no number, and a number no thing.
        "How many persistent pipes are used by default?",
        "Which steam does it blow while baking by default?",
        # A timeout is none of idle things, and a state is no time.
        "After how long is an idle rack dropped by default?",
        "How long may fetching take unless told otherwise?",
        # Another commit, a person, a count of things.
        "How many idle sockets did a press keep in 2019?",
        "Who set the session timeout?",
        "How many ports are there?",
    ],
)
def test_what_no_line_or_several_lines_describe_is_not_stated(bakery: LocalEngine, question: str) -> None:
    assert " is set to " not in _headline(bakery, question)
    assert "The default of" not in _headline(bakery, question)


def test_the_text_that_has_the_words_is_quoted(bakery: LocalEngine) -> None:
    headline = _headline(bakery, "How many trays fit at once by default?")
    assert "its description says “Number of trays that fit at once.”" in headline


@pytest.mark.parametrize(
    ("text", "words", "setting"),
    [
        ("how many sockets does a pool hold when no size is passed?", {"sockets", "pool"}, {"size"}),
        ("If I don't give a root, which folder are pages served from?", {"folder", "pages"}, {"root"}),
        ("which port is used unless I set --port", {"port"}, set()),
        ("In bake, how many tins are used by default?", {"bake", "tins"}, set()),
    ],
)
def test_a_question_is_read_into_content_words_and_what_is_not_given(
    text: str, words: set[str], setting: set[str]
) -> None:
    request = read_request(text)
    assert request is not None
    assert set(request.words) <= words
    assert set(request.setting) == setting


@pytest.mark.parametrize(
    "text",
    [
        "why is the port 80?",
        "who set the port?",
        "how many files are there?",
        "which commit changed the port?",
        "where is the port defined?",
        "what was the port before 2020?",
        "does it use yaml?",
        "which modules pull in the yaml package",
        "x" * 400,
    ],
)
def test_questions_for_no_value_are_left_alone(text: str) -> None:
    assert read_request(text) is None


def test_keys_of_data_have_their_keys_comments_and_descriptions() -> None:
    reader = data_reader("editor/settings.schema.json")
    assert reader is not None
    lines = list(reader(SCHEMA.splitlines(), "editor/settings.schema.json"))
    trays = next(line for line in lines if line.value == "12")
    assert "Number of trays that fit at once." in [text for _, text in trays.texts]
    assert (trays.name, trays.is_default) == ("oven.trayCount", True)

    reader = data_reader("values.yaml")
    assert reader is not None
    ports = [line for line in reader(CHART.splitlines(), "values.yaml") if line.name == "port"]
    assert [line.keys for line in ports] == [("server", "service"), ("reloader", "service")]
    assert data_reader("package-lock.json") is None


def test_words_are_compared_by_stem_short_form_and_joined_part() -> None:
    assert covered_by(("idle", "connections"), "max_idle_conns") == {"idle", "connections"}
    assert covered_by(("keep", "alive"), "keepalive") == {"keep", "alive"}
    assert covered_by(("port",), "support important") == frozenset()


@pytest.mark.clock
@pytest.mark.parametrize(
    "text", ["if " * 80, "how many " + "a b " * 60, "what is " + "does the " * 25, "unless, " * 30]
)
def test_long_questions_are_read_in_little_time(text: str) -> None:
    start = time.perf_counter()
    read_request(text[:250])
    assert time.perf_counter() - start < 0.2


def _headline(engine: LocalEngine, question: str) -> str:
    """Return the first paragraph of an answer, without links."""
    text = research(engine, question).text
    return re.sub(r"\[[^\]]*\]\([^)]*\)", "", text.strip().split("\n\n")[0])


RIVALS: dict[str | bytes, str | bytes | None] = {
    "src/press.ts": (
        "export interface Options {\n  /** The longest wait between retries. */\n  maxDelayMs: number;\n}\n"
        "export const press = ({ maxNumberAttempts = 2, maxDelayMs = limits() }) => 1;\n"
    ),
    "gradle.properties": "VERSION_NAME=5.1.0\n",
    "src/filter.h": "#define DEFAULT_SAMPLE_RATE_MULTIPLIER 4\n",
    "extras/press_example.c": "#define DEVICE_SAMPLE_RATE 0\n",
    "cmd/main.go": (
        'package main\n\nvar (\n\tsign = flag.String("sign", "", "path to the claim, or + to use only args")\n'
        '\tcompact = flag.Bool("compact", false, "output compact JSON")\n)\n'
    ),
}


@pytest.mark.parametrize(
    "question",
    [
        "what's the longest wait between retries?",  # no number of attempts
        "which tag is used if none is given?",  # no version, although a tag may be one
        "what's the default sample rate?",  # no multiplier of one, and none of an example
        "is the issued-at claim checked out of the box?",  # the help of another option has the word
    ],
)
def test_a_word_that_is_only_related_states_no_value(tmp_path: Path, question: str) -> None:
    engine = engine_for(tmp_path, RIVALS)
    assert " is set to " not in _headline(engine, question)
    assert "The default of" not in _headline(engine, question)


NEIGHBORS: dict[str | bytes, str | bytes | None] = {
    "lib/press.rb": "# Limits the size of a tray. Also fixes that of crumbs read from a tray.\nTRAY_LEN_MAX = 25\n",
    "variables.tf": (
        'variable "create_tray" {\n  description = "Whether to make one"\n  default = true\n}\n\n'
        'variable "skip_destroy_lid_block" {\n  description = "Whether lids are blocked"\n  default = true\n}\n'
    ),
    "oven.el": (
        '(defcustom oven-max-width 100\n  "Popup maximum width in columns."\n  :type \'natnum)\n'
        '(defcustom oven-popupinfo-max-width 80\n  "Widest popup with info."\n  :type \'natnum)\n'
        '(defcustom oven-popupinfo-max-height 12\n  "Tallest popup with info."\n  :type \'natnum)\n'
    ),
    "lib/oven.js": (
        "/**\n * @param {Object} options What is set\n * @param {Number} [options.coolTimeout=30] Time to wait for\n"
        " *     the last bread\n */\nfunction open(options) {\n  options = {\n    coolTimeout: 30,\n"
        "    ...options\n  };\n}\n"
    ),
    "src/Theme.java": 'class Theme {\n  private String crust = "#14615A";\n}\n',
    "src/theme.ts": "export const defaults = {\n  crust: '#42d3a5',\n};\n",
    "src/test/resources/oven.yml": "oven:\n  port: 8080\n",
}


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("How big are crumbs that are read from a tray?", ""),  # the comment of a limit of trays
        ("Is the lid blocked by default?", ""),  # what isn't destroyed with a block is none
        ("How wide can the popup get at most by default?", ""),  # two popups
        ("What's the main crust by default?", ""),  # two themes
        ("Which port does the oven use by default?", ""),  # that of a test
        ("How tall can the info popup get at most by default?", "The default of `oven-popupinfo-max-height` is `12`"),
        ("How long does it wait for the bread to cool by default?", "`coolTimeout` is set to `30`"),
    ],
)
def test_a_value_with_a_rival_is_not_stated(tmp_path: Path, question: str, start: str) -> None:
    headline = _headline(engine_for(tmp_path, NEIGHBORS), question)
    assert headline.startswith(start or "Most relevant")


DECLARED: dict[str | bytes, str | bytes | None] = {
    "config.go": (
        "package oven\n\ntype Config struct {\n\t// Number of racks, a power of two\n\tRacks int\n"
        "\t// Interval between removing burnt loaves (clean up).\n\tCleanWindow time.Duration\n}\n\n"
        "func DefaultConfig() Config {\n\treturn Config{\n\t\tRacks: 1024,\n\t\tCleanWindow: 1 * time.Second,\n\t}\n}\n"
    ),
    "server/server.go": (
        'package main\n\nfunc init() {\n\tflag.IntVar(&racks, "racks", 1024, "Number of racks.")\n'
        '\tflag.IntVar(&max, "max", 8192, "Megabytes of flour.")\n'
        '\tflag.IntVar(&port, "port", 9090, "The port to listen on.")\n}\n'
    ),
    "racks.go": "package oven\n\nfunc walk() *walker {\n\treturn &walker{currentRack: 0}\n}\n",
    "root.cnf.j2": "[root]\npassword = {{ root_password }}\n",
    "test/bread.js": "function bread(res) {\n  return res.headers;\n}\n",
}


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("How many racks does it have by default?", "`Racks` is set to `1024`"),
        ("How often are burnt loaves cleaned up by default?", "`CleanWindow` is set to `1 * time.Second`"),
        ("Which port does the server listen on by default?", "The default of `port` is `9090`"),
        ("What's the password of root by default?", "Most relevant"),
        ("What path does the bread have by default?", "Most relevant"),
    ],
)
def test_the_comment_of_a_field_is_about_its_value_elsewhere(tmp_path: Path, question: str, start: str) -> None:
    assert _headline(engine_for(tmp_path, DECLARED), question).startswith(start)
