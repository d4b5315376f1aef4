"""Defaults that no operator behind a name gives: of expressions, arms, enums, labels, classes of Lisp, overloads."""

from __future__ import annotations

import pytest

from engines.deepsearch.asking import engine_for, research
from sourcelight.engines.deepsearch.lookups.prose_values.bindings import read_bindings
from sourcelight.engines.deepsearch.lookups.prose_values.documents import read_stated
from sourcelight.engines.execution import LocalEngine

pytestmark = pytest.mark.timeout(90)

PACKER = """package crate;
public class Packer {
  static final int NORMAL_STRENGTH = 6;
  public static void press(File crate, File lid) {
    press(crate, lid, NORMAL_STRENGTH);
  }
  public static void press(File crate, File lid, int strength) {
  }
}
"""
LABELS = """@implementation Fetcher
- (instancetype)initWithSession:(Session *)session {
    return [self initWithSession:session
                        priority:FetcherPriorityFirst
          maximumActiveFetches:4 // images
                           cache:[[Cache alloc] init]];
}
- (void)fetch {
    [self fetchImage:nil
             retries:3];
}
@end
"""
FILES: dict[str | bytes, str | bytes | None] = {
    "src/Packer.java": PACKER,
    "ios/Fetcher.m": LABELS,
    "lisp/gate.lisp": "(defclass iron-gate (gate)\n  ((height :initarg :height\n           :initform 12))\n"
    "  (:default-initargs\n   :port 443))\n",
    "src/style.rs": "pub enum DigitStyle { Bare, Dotted }\nimpl Default for DigitStyle {\n    fn default() -> Self {\n"
    "        Self::Bare\n    }\n}\n// The path of the files.\npub fn input(given: Option<&str>) -> &str {\n"
    '    match matches.get("input") {\n        Some(it) => it,\n        None => ".",\n    }\n}\n',
    "src/init.ts": "const run = (args) => {\n  const file = args._[0]?.trim() ?? 'stove.config.js'\n"
    "  load(options.smelter ?? 'gasoline')\n}\n",
    "src/Parser.fs": "module Parser\nlet parseModel cultureInfo data =\n"
    "    let culture = defaultArg cultureInfo CultureInfo.InvariantCulture\n    culture\n",
    "src/core.clj": "(ns core)\n\n(def default-opts\n  {:profile :home\n   :resolver find-nearest})\n\n"
    "(defn read-config [opts]\n  (merge default-opts opts))\n",
    "src/greet.php": "<?php\nfunction greet($name = 'you', $loud = false)\n{\n    return $name;\n}\n",
    "src/net.clj": '(ns net)\n\n(def ^:const default-connect-timeout\n  "Time to connect."\n  ;; milliseconds\n'
    "  30000)\n\n(defn proxy [{:keys [connection-timeout] :or {connection-timeout 60000}}]\n  connection-timeout)\n",
    "src/options.rs": "impl Inputs {\n    fn fill(&mut self) {\n        if self.record_types.is_empty() {\n"
    "            self.record_types.push(RecordType::A);\n        }\n    }\n}\n",
    "lib/kiln.ex": "defmodule Kiln do\n  def start_link(opts) do\n"
    "    {size, opts} = Keyword.pop(opts, :kiln_size, 10)\n"
    "    start(size, opts)\n  end\n\n"
    "  def glaze!(kiln, timeout \\\\ 5_000), do: {kiln, timeout}\nend\n",
    "plugin/rack.vim": "let options = [\n    \\ ['rack_depth', 40],\n    \\ ['autoclose', 0],\n    \\ ]\n",
    "include/mill.h": "#define MILL_GRIND_INTERVAL 15 /* seconds */\n#define MILL_FLOUR_MAX_BUF (1024*16)\n",
    "src/spin.js": "const settings = {\n\thideHandle: true,\n\t...options,\n};\n",
    "src/Handlers.php": "<?php\nclass CoalHandler\n{\n    const DATE_LAYOUT = 'Y-m';\n"
    "    public function __construct(int $maxCrates = 7, bool $bubble = true)\n    {\n    }\n}\n",
    "lua/ferry.lua": "local M = {}\n-- how many seconds the ferry waits\nM.PATIENCE_TIMEOUT = 60\n"
    "local HARBOR_PORT = 21\n-- connect to the harbor\nreturn M\n",
    "src/kiln.go": "package kiln\n\ntype Options struct {\n"
    '\tGlaze string `help:"Glaze of the tiles" default:"sea green"`\n}\n',
    "src/serve.py": '@click.option(\n    "--soot-level",\n    default=None,\n    help="Soot. [default: grey]",\n)\n'
    "def serve(soot_level):\n    pass\n",
    "eslint.config.mjs": "export default [{\n\tdialectOptions: {\n\t\tedition: 'latest',\n\t},\n}];\n",
    "src/probe.py": "class Probe:\n    def reach(self, patience_timeout=5):\n        return patience_timeout\n",
    "el/popup.el": '(defcustom popup-limit 10\n  "Most rows."\n  :type \'integer)\n\n'
    '(defcustom popup-maximum-width 90\n  "Most columns."\n  :type \'integer)\n\n'
    '(defcustom popup-echo-warning-text "warning"\n  "Mark of a warning."\n  :type \'string)\n',
}


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    return engine_for(tmp_path_factory.mktemp("yard"), FILES)


@pytest.mark.parametrize(
    ("question", "start"),
    [
        (
            "What strength does Packer.press use when I don't give one?",
            "The default of `strength` of `Packer.press` is `NORMAL_STRENGTH`",
        ),
        ("how many images does Fetcher fetch at once by default?", "The default of `maximumActiveFetches` is `4`"),
        ("Which port does an iron-gate listen on when you don't say anything?", "The default of `port` is `443`"),
        ("What digit style is printed if --digit-style isn't given?", "The default of `DigitStyle` is `Self::Bare`"),
        ("what path is counted if I give it no input argument?", 'The default of `input` is `"."`'),
        (
            "Which smelter module does it load if the smelter option isn't set?",
            "The default of `smelter` is `'gasoline'`",
        ),
        (
            "Which culture does model parsing use if none is passed in?",
            "The default of `cultureInfo` is `CultureInfo.InvariantCulture`",
        ),
        ("What profile does read-config use if I don't pass one?", "The default of `profile` is `:home`"),
        ("When no resolver is given, which resolver is used for files?", "The default of `resolver` is `find-nearest`"),
        (
            "What are the default values for the parameters of greet()?",
            "`greet` has the parameters `$name = 'you'` and `$loud = false`",
        ),
        # A constant that is called the default of all words is meant before another one that is spelled alike.
        ("What's the default connect timeout?", "`default-connect-timeout` is set to `30000`"),
        ("which record type is asked for if I give none?", "The default of `record_types` is `RecordType::A`"),
        ("what's the default kiln_size?", "The default of `kiln_size` is `10`"),
        ("how long may a glaze take by default?", "The default of `timeout` of `glaze!` is `5_000`"),
        ("what's the default rack depth?", "The default of `rack_depth` is `40`"),
        # A name of a library begins with that of its project.
        ("how many seconds is the grind interval by default?", "`MILL_GRIND_INTERVAL` is set to `15`"),
        ("how big may the flour buffer get by default?", "`MILL_FLOUR_MAX_BUF` is set to `(1024*16)`"),
        ("is the handle hidden by default?", "`hideHandle` is set to `true`"),
        # An option may be called what it does, and a member of a named class may be the requested thing.
        ("do coal handlers bubble by default?", "The default of `$bubble` of `__construct` is `true`"),
        (
            "how many crates does the CoalHandler keep by default?",
            "The default of `maxCrates` of `CoalHandler` is `7`",
        ),
        ("which harbor port does it connect to by default?", "`HARBOR_PORT` is set to `21`"),
        ("which glaze do tiles have by default?", 'The default of `Glaze` is `"sea green"`'),
        # Of two bounds, the one of the measured dimension is meant.
        ("How wide may the popup get at most out of the box?", "The default of `popup-maximum-width` is `90`"),
        # A value may be a word of the question if the name has all of its words.
        ("What's the text of an echo warning by default?", 'The default of `popup-echo-warning-text` is `"warning"`'),
    ],
)
def test_what_stands_in_for_an_absent_value_is_stated(yard: LocalEngine, question: str, start: str) -> None:
    assert research(yard, question).text.startswith(start)


@pytest.mark.parametrize(
    "question", ["which edition is assumed by default?", "which timeout do requests have by default?"]
)
def test_settings_of_a_tool_and_a_measure_alone_are_no_defaults(yard: LocalEngine, question: str) -> None:
    assert " is " not in research(yard, question).text.partition("\n")[0]


def test_nothing_is_no_text(yard: LocalEngine) -> None:
    assert '"None"' not in research(yard, "what soot level is used by default?").text.partition("\n")[0]


def test_a_constant_of_one_class_is_no_default_of_all(yard: LocalEngine) -> None:
    assert " is set to " not in research(yard, "which date layout is used by default?").text.partition("\n")[0]


def test_parameters_have_no_defaults_if_none_are_asked_for(yard: LocalEngine) -> None:
    assert research(yard, "What are the parameters of greet?").text.startswith("`greet` has the parameters `$name` and")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        # An argument of a call alone, a value that is compared, and a message that isn't one of an initializer.
        ("a.ts", "load(file, args[0]?.trim() ?? readDefault())"),
        ("a.ts", "const isDone = left.isDone() || right.isDone()"),
        ("a.m", "    [self fetchImage:nil retries:3];"),
        # An overload whose longer form has other names.
        ("a.java", "class A {\n  void f(int a) {\n    f(b, 5);\n  }\n  void f(int c, int d) {\n  }\n}"),
        ("a.rs", "match size {\n    Some(it) => it,\n    None => panic!(),\n}"),
        ("a.lisp", "(make-gate :port 443)"),
    ],
)
def test_other_lines_give_no_default(path: str, text: str) -> None:
    lines = text.split("\n")
    bindings = [binding for number in range(1, len(lines) + 1) for binding in read_bindings(lines, number, path)]
    assert not [binding for binding in bindings if binding.form == "fallback"]


def test_help_of_vim_states_a_default_below_the_name() -> None:
    lines = ["Racks", "", "      *g:rack_level*", "g:rack_level~", "Default: 99", "", "The level of racks."]
    stated = read_stated(lines, 5, is_document=True)
    assert stated is not None
    assert (stated.name, stated.value) == ("rack_level", "99")


def test_long_lines_are_read_in_linear_time() -> None:
    for path in ("a.ts", "a.rs", "a.fs", "a.m", "a.lisp", "a.java", "a.c"):
        for unit in ("a ", "a(", "a?.", "(:a ", "a:1 ", "a = ", "Option.", "|| "):
            lines = [unit * (590 // len(unit))] * 3
            assert len(list(read_bindings(lines, 2, path))) < 1_000
