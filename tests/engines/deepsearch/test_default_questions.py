"""Questions for defaults as people type them, over the forms in which languages write defaults."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.prose_values.bindings import read_bindings
from sourcelight.engines.deepsearch.lookups.prose_values.documents import contradicts, read_stated
from sourcelight.engines.deepsearch.lookups.prose_values.names import is_written
from sourcelight.engines.deepsearch.lookups.prose_values.question import read_value_question
from sourcelight.engines.deepsearch.question.lookups import read_lookup
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

FILES: dict[str | bytes, str | bytes | None] = {
    "src/Harbor/Config.hs": (
        "module Harbor.Config where\n\n"
        "-- | Colors of buoys.\n"
        "quietBuoyColor, loudBuoyColor :: String\n"
        'quietBuoyColor = "gray" -- "#dddddd", not "blue"\n'
        'loudBuoyColor  = "red"  -- never "green"\n'
    ),
    "src/config.rs": (
        "impl Default for Lookout {\n    fn default() -> Lookout {\n        Lookout {\n"
        "            limit_sightings: 30,\n            keep_watch: true,\n        }\n    }\n}\n\n"
        "#[cfg(test)]\nmod tests {\n    fn given() -> Lookout {\n"
        "        Lookout { limit_sightings: 99, keep_watch: false }\n    }\n}\n"
    ),
    "src/signals.js": (
        "// pennant: 'never', in a comment\nconst defaults = {\n  pennant: 'QUEBEC',\n  pennant_pole: 12,\n};\n"
        "module.exports = defaults;\n"
    ),
    "src/DetectTides.cs": (
        "class DetectTidesAttribute\n{\n    public DetectTidesAttribute(bool detectTides = true)\n    {\n    }\n}\n"
    ),
    "src/Harbor/Core.hs": (
        "module Harbor.Core where\n\n-- | What may be set.\ndata Quay = Quay\n"
        '    { lantern :: !String  -- ^ The lamp at night. Default: \\"oil\\"\n'
        "    , moorings :: Int     -- ^ (not the default 5 of others)\n    }\n\n"
        "standardQuay :: Quay\nstandardQuay = Quay { lantern = lanternOf, moorings = 12 }\n\n"
        "defaultQuay :: Quay\ndefaultQuay = Quay\n    { lantern = dim\n"
        "    , omitEmptyBerths = False -- never { or True\n    }\n"
    ),
    "lua/buoys.lua": (
        'local defaults = {\n  -- bell = "never", { in a comment\n  bell = "brass",\n  chain = {\n'
        '    links = 20, -- { more\n  },\n}\n'
        "local function ring()\n  local bell = 7\n  return { bell = bell, links = 99 }\nend\n"
    ),
    "src/mooring.ml": "let test_rope ?(strain = Mass.of_tons 2.) name =\n  name strain\n",
    "src/mooring_intf.ml": (
        "(** What a rope has:\n\n    - [tarred] (default [true]). Whether it is dark.\n"
        "    - [spliced] (see the default [x](y)). Whether it is long. *)\nmodule type S = sig end\n"
    ),
    "bin/hoist": (
        "#!/usr/bin/perl\n$ENV{HOIST_COLOR} ||= 'bold green';\n# $ENV{HOIST_COLOR} ||= 'red';\n"
        '$opt{speed} //= 4; # knots\nprint "$ENV{HOIST_COLOR}";\n'
    ),
    "bin/dock": (
        '#!/bin/sh\nif [ -z "${DOCK_ROOT}" ]; then\n  DOCK_ROOT="${HOME}/.dock"\nelse\n'
        '  DOCK_ROOT="${DOCK_ROOT%/}"\nfi\n'
        'export DOCK_ROOT="$DOCK_ROOT"\nDOCK_PREFIX="${DOCK_PREFIX-/usr/dock}"\n'
    ),
    "src/serve_boats.rs": (
        "fn serve() {\n    Command::new(\"boats\").arg(\n        Arg::new(\"jetty\")\n            .short('j')\n"
        '            .long("jetty")\n            .default_value("3000")\n            .help("Jetty"),\n    )\n'
        "    .arg(\n        Arg::new(\"pier\")\n            .short('p'),\n    );\n"
        '    other.default_value("4");\n}\n\nimpl Default for Shed {\n    fn default() -> Shed {\n        Shed {\n'
        '            paint_dir: PathBuf::from("paints"),\n        }\n    }\n}\n'
    ),
    "tides.go": (
        "package tides\n\nfunc DefaultBayConfig() *Config {\n\treturn &Config{\n"
        "\t\tTideInterval: 200 * time.Millisecond,\n"
        "\t}\n}\n\nfunc DefaultSeaConfig() *Config {\n\tconf := DefaultBayConfig()\n"
        "\tconf.TideInterval = 500 * time.Millisecond\n\treturn conf\n}\n\n"
        "func slow(conf *Config) {\n\tconf.TideInterval = 9 * time.Second\n}\n"
    ),
    "src/cranes.hpp": (
        "class Crane\n{\npublic:\n    bool lift_load(const char* path, unsigned int flags = lift_slow,\n"
        "        int height = 7) const;\n};\n"
        "inline bool all(Crane& c) { return c.lift_load(path, flags = 99); }\n"
    ),
    "src/cranes.cpp": (
        "bool Crane::lift_load(const char* path, unsigned int flags, int height) const\n"
        "{\n    return true;\n}\n"
    ),
    "src/Winch.fs": "member _.Pull(?tightly) =\n    let tightly = defaultArg tightly false\n    tightly\n",
    "src/nets.R": (
        "read_net <- function(file, trim_ws = FALSE, n_max = Inf) {\n  file\n}\n\n"
        "read_sea <- function(file, trim_ws = TRUE, trim_all = FALSE) {\n  file\n}\n"
    ),
    "src/store.py": (
        "class Store:\n    def query(self, text, fetchall=False, fetch_limit=True):\n        return text\n\n\n"
        "def moor(boat, timeout=30, retry_delays=True):\n    return boat\n\n\n"
        "def anchor(boat, timeout=30, delay=5):\n    return boat\n"
    ),
    "src/Knots.kt": (
        "sealed class Knots {\n    object Tight : Knots() {\n        override val maxLoops: Int = 0\n    }\n\n"
        "    data class Loose(override val maxLoops: Int = 100) : Knots()\n}\n\n"
        "fun use() = tie(Loose(maxLoops = 7))\n\n"
        "public data class KnotSettings\npublic constructor(\n    internal val ropeWidth: Int = 8,\n)\n"
    ),
    "src/Marks.cs": (
        "class Marks\n{\n    public virtual char Remark { get; set; } = '#';\n"
        '    public string Motto = "##";\n}\n'
    ),
    "src/paint.ml": '(* hull - [hullColor] (default ["white"]). *)\nlet hullColor = "black"\n',
    "src/sails.d.ts": (
        "export interface Sails {\n\t/**\n\tThe shade of the sail.\n\n\tSet it to a name.\n\n\t@default 'ochre'\n\t*/\n"
        "\treadonly shade?: string;\n\n\t/** Whether it is wide. */\n\treadonly width?: number;\n}\n"
    ),
    "src/Rings.php": (
        "<?php\nclass SmallRing\n{\n    public const DEFAULT_COPIES = 128;\n"
        "    public function add($node, $heft = 1) {}\n}\n"
        "class LargeRing\n{\n    public const DEFAULT_COPIES = 160;\n    public function put($text, $heft = 5) {}\n}\n"
    ),
    "src/Depths.java": (
        "class Depths {\n    public static final int DEFAULT_MAX_FATHOMS = 512;\n}\n\n"
        "class SeaDepths {\n    public static final int DEFAULT_MAX_FATHOMS = Depths.DEFAULT_MAX_FATHOMS;\n}\n"
    ),
    "src/age.rs": 'fn maxage() -> f64 {\n    env::var_os("BOAT_MAXAGE").map_or(Ok(10_000.0), |age| age)\n}\n',
    "src/IgnoreFogAttribute.cs": (
        "class IgnoreFogAttribute\n{\n    public IgnoreFogAttribute(bool ignoreFog = true)\n    {\n    }\n}\n"
    ),
    "src/Locks.scala": (
        "/** @param gateTimeout how long a gate waits\n  * @param sluice the sluice to use\n"
        "  *                before others */\n"
        "case class Locks(gateTimeout: Int = 10 * 1000, sluice: String = null)\n"
    ),
    "src/Piers.java": (
        "class Piers {\n    public static final int DEFAULT_MAX_SPARE = 8;\n"
        "    public static final Duration DEFAULT_MAX_SPARE_TIME = Duration.ofMinutes(5);\n}\n"
        "class Posts {\n    public static final int DEFAULT_MAX_OAKEN = 8;\n}\n"
    ),
    "features/steps/weather_steps.rb": "def blow(gusts = 9)\n  gusts\nend\n",
    "src/knots.R": (
        "tie_knot <- function(file, ...) {\n  file\n}\n\n"
        "knot_empty <- function(file, loops_of = 3, strands = 2) {\n  file\n}\n"
    ),
    "lib/harbor/version.rb": "module Harbormaster\n  RELEASE = '0.24.2'\nend\n",
    "src/Ebb.cs": "class Ebb\n{\n    public GetMarker GetMarker { get; set; } = EbbFunctions.GetMarker;\n}\n",
    "src/flags.ex": 'raise ArgumentError, ":ensign or :jack can\'t be passed"\n',
    "src/Hatch.cs": (
        "class HatchSettings\n{\n    public virtual bool SealHatches { get; set; } = true;\n}\n"
        "class Hatch\n{\n    private bool sealHatches;\n    void Start(HatchSettings s)\n    {\n"
        "        sealHatches = HatchSettings.SealHatches;\n    }\n}\n"
    ),
    "src/net.py": "def load_cargo(path, skip_empty_crates=True):\n    return path\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    root = tmp_path_factory.mktemp("harbors")
    RepositoryBuilder(root / "harbor").commit(FILES, "Open the harbor")
    engine = open_engine([root], index=root / "index", workers=1)
    yield engine
    engine.close()


def first_sentence(engine: LocalEngine, question: str) -> str:
    """What an answer states, without links; empty if it only shows places."""
    text = research(engine, question).text.split("\n## ")[0]
    stated = re.split(r"Most relevant:|No direct answer", text)[0]
    return re.sub(r"\s*\[[^\]]*\]|\s*\([^)]*@[^)]*\)", "", stated).strip()


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("What is the default of loudBuoyColor?", '`"red"`'),
        ("what does quietBuoyColor default to", '`"gray"`'),
        ("How many sightings are shown at most by default?", "`30`"),
        ("Is keep-watch on by default?", "`true`"),
        ("Is `keep-watch` enabled by default?", "`true`"),
        ("Which pennant does harbor send by default?", "`'QUEBEC'`"),
        ("Which pennant is picked by default?", "`'QUEBEC'`"),
        ("What's the default lantern?", "The documentation says that the default of `lantern` is `oil`"),
        ("What's the default of omitEmptyBerths?", "`omitEmptyBerths` is set to `False`"),
        ("What's the default bell?", '`bell` is set to `"brass"`'),
        ("How many links does the chain have by default?", "`links` is set to `20`"),
        ("What's the default strain of test_rope?", "`Mass.of_tons 2.`"),
        ("Is tarred on by default?", "The documentation says that the default of `tarred` is `true`"),
        ("What's the default of HOIST_COLOR?", "The default of `HOIST_COLOR` is `'bold green'`"),
        ("What's the default DOCK_ROOT?", '`DOCK_ROOT` is set to `"${HOME}/.dock"`'),
        ("What's the default DOCK_PREFIX?", "The default of `DOCK_PREFIX` is `/usr/dock`, in"),
        ("What's the default jetty of boats?", 'The default of `jetty` is `"3000"`'),
        ("What is the default paint directory?", '`PathBuf::from("paints")`'),
        ("What is the default tide interval?", "several values: `200 * time.Millisecond` in `tides.go`, line 5 (in"),
        ("What's the default of flags in lift_load?", "The default of `flags` of `lift_load` is `lift_slow`"),
        ("What's the default of height in lift_load?", "is `7`"),
        ("What's the default of tightly?", "The default of `tightly` is `false`"),
        ("Does read_net trim whitespace by default?", "The default of `trim_ws` of `read_net` is `FALSE`"),
        ("Does Store.query fetch all rows by default?", "The default of `fetchall` of `Store.query` is `False`"),
        ("How long does moor wait by default?", "The default of `timeout` of `moor` is `30`"),
        ("What happens if I don't pass timeout to moor?", "The default of `timeout` of `moor` is `30`"),
        ("How many loops are allowed at most by default when knots are loose?", "is `100`"),
        ("What's the default ropeWidth of KnotSettings?", "is `8`"),
        ("What is the default remark character?", "`Remark` is set to `'#'`"),
        (
            "What shade does the sail have by default?",
            "The documentation says that the default of `shade` is `'ochre'`",
        ),
        ("What is DEFAULT_COPIES of LargeRing?", "`DEFAULT_COPIES` is set to `160`"),
        ("What's the default maximum of fathoms?", "`DEFAULT_MAX_FATHOMS` is set to `512`"),
        ("What does BOAT_MAXAGE default to?", "The default of `BOAT_MAXAGE` is `10_000.0`"),
        ("What's the default heft of the small ring?", "is `1`"),
        ("What's the default gate timeout of the locks?", "`10 * 1000`"),
        ("What's the default maximum spare time?", "`DEFAULT_MAX_SPARE_TIME` is set to `Duration.ofMinutes(5)`"),
        ("What's the default of strands in knot_empty?", "is `2`"),
        ("Does harbor seal hatches by default?", "`SealHatches` is set to `true`"),
        ("what happens if fetch_limit isn't set", "`True`"),
    ],
)
def test_a_default_is_stated(engine: LocalEngine, question: str, value: str) -> None:
    assert value in first_sentence(engine, question)


@pytest.mark.parametrize(
    "question",
    [
        # A number and a thing aren't whether something is done.
        "How many crates does load_cargo read at most by default?",
        "Which tides does tide detection try by default?",
        "What tides does it detect by default?",
    ],
)
def test_true_is_no_number_and_no_thing(engine: LocalEngine, question: str) -> None:
    sentence = first_sentence(engine, question)
    assert "`true`" not in sentence
    assert "`True`" not in sentence


@pytest.mark.parametrize(
    "question",
    [
        "Does read_net fetch whitespace by default?",  # another verb than the parameter's
        "How long does anchor wait by default?",  # a timeout and a delay
        "Does Store.query fetch all old rows by default?",  # a condition that the parameter lacks
        "Is spliced on by default?",  # a link behind the word
        "What's the default heft of a castle?",  # no function has to do with castles
        "Is fog ignored by default?",  # an annotation says nothing of code without it
        "What is the default width of the sail?",  # the comment above it is of another member
        "What is the default gate timeout of the sluice?",  # a word of the comment on another parameter
        "What's the default max oaken time of a post?",  # a number of things
        "What are the default gusts?",  # a step of a test
        "What's the default of loops_of in tie_knot?",  # its neighbour has another one
        "What's the default harbor release?",  # a word that only the name of the repository has
        "What's the default marker?",  # a function
        "What's the default ensign?",  # words of a text
        "What is the default motto character?",  # two characters
        "What colour does the hull of boats have by default?",  # code and its documentation differ
        "How many loops are allowed at most by default when knots are wet?",
        "What's the default pier of boats?",  # the next option has it
    ],
)
def test_nothing_is_stated(engine: LocalEngine, question: str) -> None:
    assert "default of" not in first_sentence(engine, question)
    assert "is set to" not in first_sentence(engine, question)


def test_a_way_to_give_a_name_is_no_question_for_its_default() -> None:
    for text in (
        "What happens if I give max_size?",
        "What happens if the file is missing?",
        "What happens if it is set?",
    ):
        assert read_lookup(text) is None


@pytest.mark.parametrize(
    ("documented", "value", "differs"),
    [
        ("white", '"black"', True),
        ("5", "6", True),
        ("true", "False", True),
        ("5_000", "5000", False),
        ("30 seconds", "30000", False),
        ("5", "LIMIT", False),
        ("5", "None", False),
        ("auto", "detect(x)", False),
    ],
)
def test_code_contradicts_its_documentation(documented: str, value: str, differs: bool) -> None:  # noqa: FBT001 - a column of the table
    assert contradicts(documented, value) == differs


def test_texts_without_end_are_read_fast() -> None:
    start = time.process_time()
    for line in (
        "{" * 600,
        "a = {" * 100,
        "Arg::new('a'" + " " * 580,
        "x." * 290 + "unwrap_or(",
        "A." * 290,
        "[a" * 290,
    ):
        for path in ("a.lua", "a.hs", "a.rs", "a.ml", "a.fs", "a.md"):
            list(read_bindings([line] * 300, 250, path))
            read_stated([line + " default "] * 12, 9, is_document=path == "a.md")
    for text in (
        "does " * 60,
        "how long does " + "a" * 280,
        "what " + "ab " * 90,
        "does a " + "ab " * 90 + "by default",
    ):
        read_value_question(text[:300])
    assert time.process_time() - start < 5


def test_a_verb_that_says_nothing_is_no_word_of_a_value() -> None:
    for text in ("How many hits are shown by default?", "How many hits does it print at most by default?"):
        question = read_value_question(text)
        assert question is not None
        assert question.words == ("hits",)

    # Before a noun, the same word tells a value apart.
    question = read_value_question("What is the default send timeout?")
    assert question is not None
    assert "send" in question.words


def test_a_key_with_hyphens_is_written_in_other_ways() -> None:
    assert all(is_written("keep-watch", name) for name in ("keep_watch", "keepWatch", "KEEP_WATCH", "keep-watch"))
    assert not any(is_written("keep-watch", name) for name in ("keep_watches", "watch", "keep_watch_on"))
    # A name without hyphens is written in one way.
    assert not is_written("keepWatch", "keep_watch")
