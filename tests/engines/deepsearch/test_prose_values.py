"""Values that a question describes in its own words: which one is stated, and which ones are left to the ranking."""

from __future__ import annotations

import re
import time

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.prose_values.bindings import MAX_LINE, read_bindings
from sourcelight.engines.deepsearch.lookups.prose_values.documents import read_stated
from sourcelight.engines.deepsearch.lookups.prose_values.names import words_in_name
from sourcelight.engines.deepsearch.lookups.prose_values.question import read_value_question
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

BAR = '''class ProgressBar:
    """Draws a progress bar."""

    def __init__(self, items, fill_char: str = "#", empty_char: str = " "):
        self.fill_char = fill_char
        draw(items, fill_char="=")
'''
MATCHING = """package mill

const (
\tdefaultPrefixMatching = false
)

var EnablePrefixMatching = defaultPrefixMatching

func (c *Mill) suggest() {
\tif c.SuggestionDistance <= 0 {
\t\tc.SuggestionDistance = 2
\t}
}
"""
DEFAULTS = """const defaults = {
  // Milliseconds until a request is given up.
  timeout: 0,
  xsrfCookieName: 'XSRF-TOKEN',
};
"""
CODES = """const HttpStatusCode = {
  RequestTimeout: 408,
  Gone: 410,
};
"""
METER = """function meter(samplesCount, min) {
  samplesCount = samplesCount || 10;
  const label = min ? "samples" : "none";
  return log("samplesCount: 77", label);
}
"""
CLOSURES = """/*
** maximum number of upvalues in a closure
*/
#define MAXUPVAL 255
/*
#define MAXUPVAL 3
*/
"""
MIRROR = """download() {
  mirror="${MILL_MIRROR:-${OLD_MIRROR:-https://mill.example}}"
}
"""
PROVIDER = """class Provider {
  init(stubClosure: @escaping StubClosure = Provider.neverStub,
       trackInflights: Bool = false) {
    self.trackInflights = trackInflights
  }
}
"""
WORKER = """class Worker
  def prepare
    self.term_timeout = (ENV['MILL_TERM_TIMEOUT'] || 4.0).to_f
  end

  def work(interval = 5.0)
  end
end
"""
GRINDER = """package Grinder;
sub new {
    my $max_turns = delete $cnf{max_turns};
    $max_turns = 7 unless defined $max_turns;
}
1;
"""
POOL = """class ConnectionPool
  def initialize(auto_reload_after_fork: true)
  end
end
"""
DIVIDED = """def main(arguments):
    if arguments.binary:
        arguments.setdefault("unit_divisor", 1024)


def bar(unit_divisor=1000):
    pass
"""
BOLTER = """-module(bolter).
-define(SIEVE_MESH, 17).
%% -define(SIEVE_MESH, 3).
stop(Opts) -> maps:get(bolt_stop_timeout, Opts, 3000).
"""
SACKS = """class Sacks {
  Future<void> fill(
    String name, {
    SackMode sackMode = SackMode.append,
  }) async {
    stitch(name);
  }
}
"""
FLAGS = """package mill

const DefaultChutePrefix = "no-"

func (c *Chute) start() {
\tif c.ChutePrefix == "" {
\t\tc.ChutePrefix = DefaultChutePrefix
\t}
}
"""
PORTS = """class Ftp
{
    public function __construct(private int $port = 21) {}
}
"""
SECURE_PORTS = """class Sftp
{
    public function __construct(private int $port = 22) {}
}
"""
WIDTHS = """#[cfg(target_pointer_width = "64")]
const WORD_WIDTH: usize = 64;
#[cfg(target_pointer_width = "32")]
const WORD_WIDTH: usize = 32;
"""
WRAP = """str_wrap <- function(string, exdent = 0) {
  fill(string, exdent = 2)
}
"""
CLOCK = "defmodule Mill.Clock do\n  @epoch {{1970, 1, 1}, {0, 0, 0}}\nend\n"
EMITTER = """<?php
class ResponseEmitter
{
    public function __construct(private int $responseChunkSize = 4096)
    {
    }
}
"""
FIRST = "STONE_WEIGHT = 3\n# GRAIN_LIMIT = 9\nTEXT = 'GRAIN_LIMIT = 8'\npool_size_hint = 7\n"
SECOND = "STONE_WEIGHT = 4\n\n\ndef fetch():\n    return connect(hopper_depth=99)\n"
GUIDE = """# Guide

- `grease_interval`: how often the gears are greased; defaults to `30` seconds.
"""


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("mill")
    repo = RepositoryBuilder(root / "mill")
    repo.commit(
        {
            "bar.py": BAR,
            "matching.go": MATCHING,
            "lib/defaults.js": DEFAULTS,
            "lib/codes.js": CODES,
            "lib/meter.js": METER,
            "closure.h": CLOSURES,
            "mirror.sh": MIRROR,
            "Provider.swift": PROVIDER,
            "worker.rb": WORKER,
            "wrap.R": WRAP,
            "src/bolter.erl": BOLTER,
            "lib/sacks.dart": SACKS,
            "chute.go": FLAGS,
            "roles/web/defaults/main.yml": "web_keepalive_pause: 5 5\nweb_zone: default:10m\nweb_limit: default 5\n",
            "src/Flags.php": "<?php\nclass Flags\n{\n    public const DEFAULT_SHED_FLAGS = ROOF\n        | WALL;\n}\n",
            "src/Option.php": "<?php\nclass Option\n{\n    public const OPTION_SHED_COLOR = 'shed_color';\n}\n",
            "src/Ftp.php": "<?php\n" + PORTS,
            "src/Sftp.php": "<?php\n" + SECURE_PORTS,
            "src/widths.rs": WIDTHS,
            "lib/Grinder.pm": GRINDER,
            "lib/pool.rb": POOL,
            "divided.py": DIVIDED,
            "lib/mill/clock.ex": CLOCK,
            "ResponseEmitter.php": EMITTER,
            "first.py": FIRST,
            "second.py": SECOND,
            "GUIDE.md": GUIDE,
            "vendor/gears/gears.js": "const spindleSpeed = 12;\n",
            "tests/test_bar.py": "LEVER_LENGTH = 12\n",
        },
        "Build a mill",
    )
    return open_engine([repo.path], index=root / "index", workers=1)


STATED = [
    ("What character fills the progress bar by default?", ['The default of `fill_char` of `__init__` is `"#"`']),
    ("Is prefix matching enabled by default?", ["`defaultPrefixMatching` is set to `false`"]),
    ("What is the distance of a suggestion when nothing is set?", ["`SuggestionDistance` is set to `2`"]),
    ("What's the default timeout of a request?", ["`timeout` is set to `0`", "lib/defaults.js`, line 3"]),
    ("What is the default name of the XSRF cookie?", ["`xsrfCookieName` is set to `'XSRF-TOKEN'`"]),
    ("How many samples does the meter use by default?", ["The default of `samplesCount` is `10`"]),
    ("How many upvalues can a closure have at most?", ["`MAXUPVAL` is set to `255`"]),
    ("What is the default of MILL_MIRROR?", ["`MILL_MIRROR` is `${OLD_MIRROR:-https://mill.example}`"]),
    ("Which stub closure does a provider use if I pass none?", ["`stubClosure` of `init` is `Provider.neverStub`"]),
    ("Does the provider track inflights by default?", ["The default of `trackInflights` of `init` is `false`"]),
    ("How many seconds does a worker wait for TERM by default?", ["`MILL_TERM_TIMEOUT` is `4.0`"]),
    ("What interval does Worker#work use if none is given?", ["The default of `interval` of `Worker#work` is `5.0`"]),
    ("What is exdent by default in str_wrap?", ["The default of `exdent` of `str_wrap` is `0`"]),
    ("What is @epoch set to in Mill.Clock?", ["`epoch` is set to `{{1970, 1, 1}, {0, 0, 0}}`"]),
    ("What's the default chunk size of the response emitter?", ["`$responseChunkSize` of `__construct` is `4096`"]),
    ("How many turns does the grinder make by default?", ["The default of `$max_turns` is `7`"]),
    ("Does the pool reload after a fork by default?", ["`auto_reload_after_fork` of `initialize` is `true`"]),
    ("What does unit_divisor default to?", ["The default of the parameter `unit_divisor` is `1000`"]),
    ("What's the default bolt_stop_timeout?", ["The default of `bolt_stop_timeout` is `3000`"]),
    ("What is SIEVE_MESH in the bolter?", ["`SIEVE_MESH` is set to `17`"]),
    ("Which sack mode does fill use by default?", ["The default of `sackMode` of `fill` is `SackMode.append`"]),
    ("What's the default prefix of a chute?", ['`DefaultChutePrefix` is set to `"no-"`']),
    ("What's web_keepalive_pause set to by default?", ["`web_keepalive_pause` is set to `5 5`"]),
    ("Which ftp port is used by default?", ["`$port` of `__construct` is `21`", "src/Ftp.php"]),
    ("What is WORD_WIDTH?", ["`WORD_WIDTH` is set to `64`", "other lines of the file set it, too"]),
    ("How often are the gears greased by default?", ["the default of `grease_interval` is `30"]),
]  # fmt: skip


@pytest.mark.parametrize(("question", "parts"), STATED)
def test_the_only_value_with_all_words_is_stated(mill: LocalEngine, question: str, parts: list[str]) -> None:
    answer = research(mill, question)
    lead = re.sub(r"\\([_*])", r"\1", answer.text.split("\n\n")[0])
    for part in parts:
        assert part in lead, answer.text
    assert answer.finished.rejected == ()


@pytest.mark.parametrize(
    ("question", "wrong"),
    [
        ("What is the default weight of a stone?", "is set to"),  # two files, two values
        ("What is the grain limit?", "set to `"),  # in a comment and in a text alone
        ("What is the default pool size?", "`7`"),  # the name has a word of its own
        ("How deep is the hopper by default?", "`99`"),  # an argument of one call
        ("What is the default spindle speed?", "is set to"),  # vendored
        ("What is the default length of a lever?", "is set to"),  # of a test
        ("What is the default timeout of a grinder?", "is set to"),  # no line says so of a grinder
        ("Why does a request time out?", "is set to"),
        ("what are the default flags of a shed", "is set to `ROOF`"),  # half of it
        ("what's the default color of sheds", "is set to"),  # the key of an option
        ("Which function fills the progress bar?", "The default of"),
    ],
)
def test_other_values_are_left_to_the_ranking(mill: LocalEngine, question: str, wrong: str) -> None:
    lead = research(mill, question).text.split("\n\n")[0]
    assert wrong not in lead or lead.startswith("Most relevant"), lead


@pytest.mark.parametrize(
    ("path", "text", "bindings"),
    [
        ("a.go", "const MaxTries int = 5", {("MaxTries", "5")}),
        ("a.js", 'x ? "_PROMPT" : "_PROMPT2"', set()),
        ("a.py", 'log("depth: 5, width = 7")', set()),
        ("a.py", "size = other.size", set()),
        ("a.ts", "timeout: number", set()),
        ("a.rb", "limit = opts[:limit] || 20", {("limit", "20")}),
        ("a.ex", "Keyword.get(opts, :depth, 3)", {("depth", "3")}),
        ("a.cpp", "  , m_width(76)", {("m_width", "76")}),
        ("a.rs", "            Proto::Socks5 => true,", set()),
        ("a.php", "'depth' => 5,", {("depth", "5")}),
    ],
)
def test_a_line_binds_what_can_be_read(path: str, text: str, bindings: set[tuple[str, str]]) -> None:
    assert {(binding.name, binding.value) for binding in read_bindings([text], 1, path)} >= bindings
    assert bindings or not list(read_bindings([text], 1, path))


def test_a_name_with_a_word_of_its_own_is_another_value() -> None:
    question = read_value_question("What is the default read timeout?")
    assert question is not None
    assert words_in_name(question, "DEFAULT_READ_TIMEOUT_MS") == frozenset({"read", "timeout"})
    assert words_in_name(question, "write_timeout") is None
    assert words_in_name(question, "max_read_timeout") is None
    assert words_in_name(question, "readtimeout") == frozenset({"read", "timeout"})


@pytest.mark.parametrize(
    "line",
    [
        "a" * MAX_LINE,
        "a.b" * 200,
        "a : " * 150,
        "`" * MAX_LINE,
        "${A:-" * 120,
        "'a' => " * 85,
        '"' * MAX_LINE,
        "f(a, " * 120,
        "- `a` " * 100,
        "default " * 75,
        "x = [" * 120,
        "#" * 5_000,
        "- " * 2_500,
    ],
)
def test_hostile_lines_are_read_in_linear_time(line: str) -> None:
    started_s = time.process_time()
    for path in ("a.py", "a.go", "a.cpp", "a.ex", "a.sh"):
        list(read_bindings([line] * 3, 2, path))
    for is_document in (False, True):
        read_stated([line, line, f"{line} defaults to 5"], 3, is_document=is_document)
    assert time.process_time() - started_s < 1.0


@pytest.mark.parametrize("question", ["What is `how many times` set to by default?", "default of `how many times`"])
def test_a_phrase_in_back_quotes_is_a_name(question: str) -> None:
    """The reading failed with an error, since the word "times" of the phrase was in no list."""
    reading = read_value_question(question)
    assert reading is not None
    assert reading.names == ("how many times",)
    assert not reading.further
