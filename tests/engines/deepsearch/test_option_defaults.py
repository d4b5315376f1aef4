"""Defaults by the forms in which languages give them: options of calls, annotations, choices, made values."""

from __future__ import annotations

import re
import time

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.prose_values.bindings import read_bindings
from sourcelight.engines.deepsearch.source.fallbacks import asks_whether_absent, read_choice
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

FORMS = [
    ("a.js", "const n = options.size !== undefined ? options.size : 5;", ("size", "5")),
    ("a.js", "const n = size === undefined ? 5 : size", ("size", "5")),
    ("a.cs", "Retries = o.Retries > 0 ? o.Retries : 3,", ("Retries", "3")),
    ("a.py", "self.depth = depth if depth is not None else 7", ("depth", "7")),
    ("a.js", "const { depth = 5, width: w = 3 } = options", ("depth", "5")),
    ("a.ts", "function mill({ depth = 5 }: Options = {}) {", ("depth", "5")),
    ("a.lua", "chunksize = chunksize or 65536", ("chunksize", "65536")),
    ("a.R", "realm <- failure_realm %||% 'x'", ("failure_realm", "'x'")),
    ("a.cs", "    public bool FollowRedirects { get; set; } = true;", ("FollowRedirects", "true")),
    ("a.rs", "    idle_timeout: Some(Duration::from_secs(90)),", ("idle_timeout", "Some(Duration::from_secs(90))")),
    ("a.py", "UPDATE_PERIOD = timedelta(days=14)", ("UPDATE_PERIOD", "timedelta(days=14)")),
    ("a.go", "\t\tTimeout: 30 * time.Second,", ("Timeout", "30 * time.Second")),
    ("a.rb", "  environment: 'development'.freeze,", ("environment", "'development'.freeze")),
    ("a.py", 'parser.add_argument("--dest", type=str, default="mill.pyz")', ("dest", '"mill.pyz"')),
    ("a.js", "  .option('-p, --port <n>', 'Port to use', 3000)", ("port", "3000")),
    ("a.rb", "  method_option :depth, type: :numeric, default: 5", ("depth", "5")),
    ("a.ts", "  port: z.number().default(3000),", ("port", "3000")),
    ("a.js", "  retries: { type: Number, default: 5 },", ("retries", "5")),
    ("a.kt", "private val sizeKey = Extras.Key(default = 4)", ("sizeKey", "4")),
    ("a.php", "  'css' => Expect::string('mill'),", ("css", "'mill'")),
    ("a.php", "  'depth' => Expect::int(0)->min(0)->default(16),", ("depth", "16")),
    ("a.php", "  ->booleanNode('safe')->info('Safe?')->defaultTrue()->end()", ("safe", "true")),
    ("a.c", 'g->indent = "    ";', ("indent", '"    "')),  # spaces in a text stay
]
NONE = [
    ("a.rb", "  max_threads: Mill.fast? ? 5 : 16,"),  # a choice by something else
    ("a.c", "x = a > b ? a : 5;"),
    ("a.js", "n = size > 10 ? 10 : size;"),  # a limit
    ("a.js", "if (ready ? fast : 5) {"),
    ("a.py", 'log("the default: 5, of --dest", 3)'),
    ("a.php", "  'depth' => Expect::int(5)->required(),"),
    ("a.php", "  ->scalarNode('a')->end()->defaultValue(5)"),
    ("a.php", "  ->scalarNode('a')->info(\"use ->defaultValue(5)\")"),
    ("a.py", "# parser.add_argument('--dest', defaulted='x')"),
]
BLOCKS = [
    ("a.ex", ["  count: [", '    doc: """', "    M [", '    """,', "    default: 3", "  ]"], 1, ("count", "3", 0, 5)),
    ("a.rs", ["  #[arg(short, long, default_value_t = 8080)]", "  pub port: u16,"], 2, ("port", "8080", 1, 2)),
    ("a.rs", ["#[clap(", "  long,", '  default_value = "x"', ")]", "pub name: String,"], 5, ("name", '"x"', 1, 5)),
    ("a.java", ['  @Value("${server.depth:12}")', "  private int depth;"], 2, ("depth", "12", 1, 2)),
    ("a.py", ["@click.option(", '    "--workers",', '    "-w",', "    default=4,", ")"], 2, ("workers", "4", 2, 4)),
    ("a.php", ["->scalarNode('dsn')", "    ->info('A text.')", "    ->defaultValue('x')"], 1, ("dsn", "'x'", 1, 3)),
    ("a.js", ["yargs.option('port', {", "  alias: 'p',", "  default: 3000", "})"], 1, ("port", "3000", 1, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("path", "text", "binding"), FORMS)
def test_a_form_of_a_default_is_read(path: str, text: str, binding: tuple[str, str]) -> None:
    assert binding in {(read.name, read.value) for read in read_bindings([text], 1, path)}


@pytest.mark.parametrize(("path", "text"), NONE)
def test_another_form_gives_no_default(path: str, text: str) -> None:
    assert not [read for read in read_bindings([text], 1, path) if read.value in {"5", "16", "10"}]


@pytest.mark.parametrize(("path", "lines", "number", "binding"), BLOCKS)
def test_a_default_of_several_lines_is_read(
    path: str, lines: list[str], number: int, binding: tuple[str, str, int, int]
) -> None:
    read = {(item.name, item.value, item.begin_line, item.end_line) for item in read_bindings(lines, number, path)}
    assert binding in read


@pytest.mark.parametrize(
    ("lines", "number"),
    [
        (["  count: [", "    max: 3", "  ],", "  default: 5"], 1),  # the default is that of another option
        (["#[arg(default_value_t = 8080)]", "pub port: u16,", "pub depth: u16,"], 3),  # the attribute is another's
        (["@click.option('--workers')", "@click.option('--depth', default=4)"], 1),
    ],
)
def test_the_default_of_a_neighbor_is_not_read(lines: list[str], number: int) -> None:
    for path in ("a.ex", "a.rs", "a.py"):
        assert not [read for read in read_bindings(lines, number, path) if read.value in {"5", "8080", "4"}]


@pytest.mark.parametrize(
    "line",
    [
        "\tif c.depth == 0 {",
        "if depth is None:",
        "  if (!options.depth) {",
        "unless depth",
        'if [ -z "$depth" ]; then',
        "if (depth === undefined) {",
    ],
)
def test_a_condition_for_an_absent_value_makes_a_default(line: str) -> None:
    assert asks_whether_absent(line, "depth")


@pytest.mark.parametrize(
    "line", ["\tif c.depth > 10 {", "if depth == 10:", "if depth:", "if (!depth.ready()) {", "if (!depths) {"]
)
def test_another_condition_makes_no_default(line: str) -> None:
    assert not asks_whether_absent(line, "depth")


def test_a_choice_is_a_default_only_if_it_keeps_the_name() -> None:
    assert read_choice("o.size != null ? o.size : 5") == ("size", "5")
    assert read_choice("o.size != null ? o.width : 5") is None
    assert read_choice("o.width != null ? o.size : 5") is None
    assert read_choice("size > 10 ? size : 10") is None


CLIENT = """use std::time::Duration;
pub struct GrinderBuilder { config: Config }
impl GrinderBuilder {
    pub fn new() -> Self {
        GrinderBuilder {
            config: Config {
                stone_idle_timeout: Some(Duration::from_secs(90)),
            },
        }
    }
    pub fn fast() -> Self {
        GrinderBuilder { config: Config { grit_depth: 3 } }
    }
}
"""
BREAKER = """package mill;
public class SieveBreakerBuilder {
  SieveBreakerBuilder() {
    config.meshDelay = Duration.ofMinutes(1);
  }
  void prepare(Handler handler) {
    handler.meshWidth = 4;
  }
}
"""
OPTIONS = """namespace Mill;
public class ChuteOptions {
    public Encoding ChuteEncoding { get; set; } = Encoding.UTF8;
    public bool FollowBelts { get; set; } = true;
}
public class Chute {
    public Chute(Handler handler) { handler.AllowAutoSlide = false; }
}
"""
ENUM = """typedef enum {
    mill_belt_speed = 0x02,
} mill_option;
"""
BELT = """belt * mill_belt_alloc(void) {
    g->beltMark = "    ";
    return g;
}
"""
SCREEN = """local _M = {}
function _M.open_screen(_, gap)
    gap = gap or 65536
    return gap
end
return _M
"""
DSL = """module Mill
  class DSL
    # The gate that grain leaves by.
    #
    # The default is +9292+.
    def gate(number)
      @options[:gate] = number
    end
  end
end
"""
POOLS = """DEFAULTS = {
  hopper_threads: Mill.fast? ? 5 : 16,
  climate: 'dry'.freeze,
}
def start(clim = ENV)
end
def stop(clim = nil)
end
"""
SUM = """export function read(res) {
  // by default only text/*, not sacks
  const left = this._maxSackSize || 200000000;
  return left;
}
"""
VERSIONED = """return {
  _EDITION = '0.17.2',
}
"""
EDITIONS = """local DEFAULT_PARAMS = {
  edition = 1.1,
}
"""
RETRIES = '''def regrind(stone, coat=2, rounds=3, weight=1.5):
    """Grind again.

    Args:
        stone: What grinds.
        coat: The number of coarse layers.
        weight: In tons.
    """


def coarsen(layers=1, rounds=2):
    pass


def spread(flour_state: "FlourState", belt_name_a="x", reply_to="y"):
    tally = 0


class Loader:
    def __init__(self, chutes=None):
        if chutes:
            self.chutes = chutes
        else:
            self.chutes = pick()
'''
SCHEMA = """defmodule Mill.Silo do
  @silo_schema [
    layers: [
      type: {:list, :atom},
      default: [:rye]
    ]
  ]
end
"""


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("options")
    repo = RepositoryBuilder(root / "mill")
    repo.commit(
        {
            "src/client.rs": CLIENT,
            "src/SieveBreakerBuilder.java": BREAKER,
            "src/ChuteOptions.cs": OPTIONS,
            "src/option.h": ENUM,
            "src/belt.c": BELT,
            "lib/screen.lua": SCREEN,
            "lib/dsl.rb": DSL,
            "lib/pools.rb": POOLS,
            "lib/sacks.js": SUM,
            "lib/versioned.lua": VERSIONED,
            "lib/editions.lua": EDITIONS,
            "lib/silo.ex": SCHEMA,
            "regrind.py": RETRIES,
            "pages/Trigger.razor": '<Column TriggerText="TriggerName" />\n',
            "src/Sieve.cs": "class Sieve {\n    private int _notch = 0;\n    bool MeshOnly = true;\n}\n",
        },
        "Build a mill",
    )
    return open_engine([repo.path], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("How long may a stone be idle by default?", "`stone_idle_timeout` is set to `Some(Duration::from_secs(90))`"),
        ("What's the default mesh delay of a sieve breaker?", "`meshDelay` is set to `Duration.ofMinutes(1)`"),
        ("What's the default meshDelay of a SieveBreaker?", "`meshDelay` is set to `Duration.ofMinutes(1)`"),
        ("Does the mill follow belts by default?", "`FollowBelts` is set to `true`"),
        ("Which encoding does ChuteOptions use by default?", "`ChuteEncoding` is set to `Encoding.UTF8`"),
        ("What's the default mark of a belt?", '`beltMark` is set to `"\u2423\u2423\u2423\u2423"`'),
        ("What's the default gap of open_screen?", "The default of `gap` of `open_screen` is `65536`"),
        ("What gate does the mill use by default?", "the default of `gate` is `9292`"),
        ("Which climate is used by default?", "`climate` is set to `'dry'.freeze`"),
        ("What's the default max sack size?", "The default of `_maxSackSize` is `200000000`"),
        ("Which edition does the mill use by default?", "`edition` is set to `1.1`"),
        ("How many rounds does regrind make by default?", "The default of `rounds` of `regrind` is `3`"),
        ("How many coarse layers does regrind() add by default?", "The default of `coat` of `regrind` is `2`"),
        ("Which layers does a silo have by default?", "The default of `layers` is `[:rye]`"),
    ],
)
def test_a_default_in_words_is_stated(mill: LocalEngine, question: str, part: str) -> None:
    answer = research(mill, question)
    assert part in re.sub(r"\\([_*])", r"\1", answer.text.split("\n\n")[0]), answer.text
    assert answer.finished.rejected == ()


@pytest.mark.parametrize(
    "question",
    [
        "How deep is the grit by default?",  # of one way to make it
        "What's the default mesh width?",  # of an object that a function only uses
        "Does the chute slide by default?",
        "What's the default belt speed?",  # a member of an enum
        "What's the default hopper_threads?",  # a choice by something else
        "What's the default flour state?",  # a type
        "What's the default belt name?",
        "What's the default replace?",  # no form of "reply"
        "What's the default trigger text?",  # an argument in a page
        "What's the default notch?",  # a counter, as far as one word says
        "What's the default mesh of a sieve?",  # "only" makes it another name
    ],
)
def test_what_is_no_default_is_not_stated(mill: LocalEngine, question: str) -> None:
    assert research(mill, question).text.startswith(("Most relevant", "No direct answer", "No searched file")), question


def test_a_parameter_that_its_body_replaces_has_a_default(mill: LocalEngine) -> None:
    assert "has no default" not in research(mill, "What's the default of gap in open_screen?").text.split("\n\n")[0]


@pytest.mark.parametrize(
    "line",
    [
        "default " * 75, "default=" * 75, "(default:" * 66, '"a", ' * 120, ":a, " * 150, "@A(" * 200, "${a:" * 150,
        "x ? y : " * 75, "a if b else " * 50, ".default(" * 66, "{" * 600, "#[a" * 200, "pub " * 150, "a::" * 200,
        "Some(" * 120, "a || " * 120,
    ],
)  # fmt: skip
def test_hostile_descriptions_are_read_in_bounded_time(line: str) -> None:
    started_s = time.process_time()
    for path in ("a.py", "a.js", "a.rs", "a.cs", "a.rb"):
        list(read_bindings([line] * 100, 50, path))
    read_choice(line[:240])
    asks_whether_absent(f"if {line}", "a")
    assert time.process_time() - started_s < 1.5
