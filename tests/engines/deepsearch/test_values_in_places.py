"""Values and defaults in a place that a question gives: a file, a record, a table, a literal, a function, a section."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from engines.deepsearch.asking import engine_with, research
from sourcelight.engines.deepsearch.lookups.scoped_values.holders import heads_around, is_held, scope_words
from sourcelight.engines.deepsearch.lookups.scoped_values.readings import read_value
from sourcelight.engines.deepsearch.question.lookups import read_lookup
from sourcelight.engines.execution import LocalEngine

FILES: dict[str | bytes, str | bytes | None] = {
    "include/kiln.hrl": (
        "-record(glaze, {name,\n\tlayers = 3,\n\t% layers = 9,\n\tfinish = matt,\n\ton_top}).\n"
        "-record(clay, {layers = 8}).\n"
    ),
    "deploy/apk/push.sh": "#!/bin/sh\nreadonly KILN_URL='https://apk.example.org'\nport=${2:-8080}\n",
    "deploy/rpm/push.sh": "#!/bin/sh\nreadonly KILN_URL='https://rpm.example.org'\n",
    ".clang-format": "BasedOnStyle: LLVM\nPackArguments: false\n",
    "proto/kiln.proto": (
        'syntax = "proto3";\noption java_outer_classname = "KilnProto";\nenum Stage {\n  RAW = 0;\n  FIRED = 4;\n}\n'
        "message Kiln {\n  string label_text = 7;\n}\n"
    ),
    "proto/other.proto": 'syntax = "proto3";\noption java_outer_classname = "OtherProto";\n',
    "src/fire.gleam": "const heat_limit = 1200\n\npub const empty = Oven(\n  door: None,\n  rack_count: 4,\n)\n",
    "src/wheel.go": (
        "package wheel\n\ntype Wheel struct {\n\tspeed int\n}\n\nfunc New() *Wheel {\n\tw := &Wheel{\n"
        "\t\tspeed: DefaultSpeed,\n\t}\n\treturn w\n}\n\nfunc (w *Wheel) Turn() {\n\tif w.speed > 0 {\n"
        "\t\tconst turns = 64 << 2\n\t\tjolt := 7\n\t\t_ = jolt\n\t\t_ = turns\n\t}\n}\n"
    ),
    "lib/Kiln/Shelf.pm": (
        "package Kiln::Shelf;\nuse Mojo::Base -base;\n\nhas depth => 10;\nhas [qw(stack_after drop_after)] => 172800;\n"
        "sub run {\n  getopt \\@args,\n    'l|limit=i' => \\(my $limit = 100);\n}\n1;\n"
    ),
    "cmake/wood.toolchain.cmake": (
        "#[[\n  set(KILN_ROOT_MODE NEVER)\n]]\nset(KILN_ROOT_MODE ONLY)\nif(WIN32)\n  set(KILN_SHELL cmd)\nendif()\n"
    ),
    "plugin/kiln.vim": (
        "function! kiln#open() abort\n  let mark = get(g:, 'kiln#mark', 'K:')\n  let tries = 3\nendfunction\n"
    ),
    "build/Publish.kt": (
        "class Publish {\n    fun configure() {\n        with(extension) {\n"
        "            pauseTimeout.convention(Duration.ofMinutes(5))\n        }\n    }\n"
        "    fun copy() { task.pauseTimeout.convention(extension.pauseTimeout) }\n}\n"
    ),
    "ios/Gauge.m": (
        "static GaugeSwing defaultSwingAngle = GaugeSwingWide;\n"
        "@implementation Gauge\n- (instancetype)initWithFrame:(CGRect)frame {\n"
        "    if ((self = [super initWithFrame:frame])) {\n        _cornerWidth = 14.0f;\n        _swing = 2;\n    }\n"
        "    return self;\n}\n- (void)setCornerWidth:(CGFloat)cornerWidth {\n    _cornerWidth = cornerWidth;\n}\n@end\n"
    ),
    "sql/tables.sql": (
        "CREATE TABLE oven_log (\n    id int NOT NULL\n    , max_heat int NOT NULL DEFAULT 30\n"
        "    , shelf_count int DEFAULT 2\n);\n"
    ),
    "sql/later.sql": "ALTER TABLE oven_log ALTER COLUMN shelf_count SET DEFAULT 6;\n",
    "app/settings.py": (
        "import os\n\nSETTINGS = {\n    'replay_dir': os.path.expanduser('~/.kiln/'),\n    'soak_time': 5,\n}\n"
        "OTHERS = {\n    'soak_time': 9,\n}\n"
    ),
    "app/stove.py": (
        "class Stove:\n    burners = 4\n\n    def light(self):\n        fuel_kind = 'gas'\n        return fuel_kind\n"
        "\n    def grow(self):\n        cook(ember_size=3)\n"
    ),
    "src/oven_data.f90": (
        "module oven_data\n  type :: oven\n#ifdef WIDE\n    integer :: racks\n#endif\n"
        "    logical :: vent_open=.false. !< vent_open = .true.\n  end type\nend module\n"
    ),
    "src/oven/hours.clj": "(ns oven.hours)\n(def NOON oven.time/noon)\n",
    "lib/oven/setup.rb": "class Setup\n  def initialize\n    configure :whiny_doors, true\n  end\nend\n",
    "roles/defaults/main.yml": 'oven_worker_count: "1024"\n',
    "net/Oven.csproj": (
        "<Project>\n  <PropertyGroup>\n    <LangVersion>latest</LangVersion>\n  </PropertyGroup>\n</Project>\n"
    ),
    "ml/server.ml": (
        "let serve\n    ?(tls_ready = false)\n    ?(backlog = 5)\n    handler =\n  handler backlog tls_ready\n"
    ),
    "ml/alias.ml": "let start = Server.serve\n",
    "src/segment.erl": "-record(segment, {\n  compactions = 0 :: non_neg_integer()\n}).\n",
    "java/Schema.java": "public @interface Schema {\n  boolean makeTypes() default true;\n}\n",
    "bin/heat": '#!/bin/bash\nheat_unit="off"\nreadonly HEAT_MODE=0755\necho "${deg}${heat_unit:-C}"\n',
    "deploy/values.yaml": "livenessProbe:\n  periodSeconds: 10\nreadinessProbe:\n  periodSeconds: 20\n",
    "lib/stoker.dart": (
        "class Stoker extends Worker {\n  Stoker({\n    required this.name,\n    this.shovelSize = 26,\n  });\n"
        "  final int shovelSize;\n}\n"
    ),
    "src/Bar.kt": (
        "class Bar private constructor(\n    private val parts: List<Part>,\n) : Widget {\n    constructor(\n"
        "        totalHeat: Long = 100,\n    ) : this(listOf())\n}\n"
    ),
    "phpstan.neon": "parameters:\n  level: 5\n",
    "configure.ac": "AC_PREREQ([2.53])\nAC_INIT([kiln], [1.0])\n",
    "docs/index.md": "Set `heat_limit = 900`.\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    yield from engine_with(tmp_path_factory, "kilns", FILES)


def lead_of(engine: LocalEngine, question: str) -> str:
    """The first sentence of an answer."""
    return research(engine, question).text.split("\n\n")[0].replace("\\", "")


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("What's the default of layers in the glaze record?", "The default of `layers` is `3`, in `include/kiln.hrl`"),
        ("What does finish default to in the record glaze?", "The default of `finish` is `matt`, in `include/kiln"),
        ("What is KILN_URL set to in deploy/rpm/push.sh?", "`KILN_URL` is set to `'https://rpm.example.org'`, in `de"),
        ("What's the default port in deploy/apk/push.sh?", "The default of `port` is `8080`, in `deploy/apk/push.sh`"),
        ("What's the value of PackArguments in .clang-format?", "`PackArguments` is set to `false`, in `.clang-form"),
        ("What is java_outer_classname in proto/kiln.proto?", '`java_outer_classname` is set to `"KilnProto"`, in `p'),
        ("What value has FIRED in Stage?", "`FIRED` is set to `4`, in `proto/kiln.proto`"),
        ("What is heat_limit set to in fire.gleam?", "`heat_limit` is set to `1200`, in `src/fire.gleam`"),
        ("What does rack_count default to in the empty Oven?", "`rack_count` is set to `4`, in `src/fire.gleam`"),
        ("Which speed does New use if none is given?", "`speed` is set to `DefaultSpeed`, in `src/wheel.go`"),
        ("What is turns set to in wheel.go?", "`turns` is set to `64 << 2`, in `src/wheel.go`"),
        ("What's the value of depth in Kiln::Shelf?", "`depth` is set to `10`, in `lib/Kiln/Shelf.pm`"),
        ("How long is stack_after by default?", "The default of `stack_after` is `172800`, in `lib/Kiln/Shelf.pm`"),
        ("What does the limit option of the shelf default to?", "The default of `limit` is `100`, in `lib/Kil"),
        ("What is KILN_ROOT_MODE set to in wood.toolchain.cmake?", "`KILN_ROOT_MODE` is set to `ONLY`, in `cmake/wood"),
        ("What does kiln#mark default to?", "The default of `kiln#mark` is `'K:'`, in `plugin/kiln.vim`"),
        ("What's the default mark of the kiln plugin?", "The default of `mark` is `'K:'`, in `plugin/kiln.vim`"),
        ("What is the default pauseTimeout?", "The default of `pauseTimeout` is `Duration.ofMinutes(5)`, in `build/P"),
        ("What's the default cornerWidth?", "`_cornerWidth` is set to `14.0f`, in `ios/Gauge.m`, line 5"),
        ("What's the default of max_heat in oven_log?", "The default of `max_heat` is `30`, in `sql/tables.sql`"),
        ("What is replay_dir in SETTINGS?", "`replay_dir` is set to `os.path.expanduser('~/.kiln/')`, in `app/settin"),
        ("What is soak_time set to in OTHERS?", "`soak_time` is set to `9`, in `app/settings.py`"),
        ("What is fuel_kind set to in Stove?", "`fuel_kind` is set to `'gas'`, in `app/stove.py`"),
        ("What's the default of vent_open?", "`vent_open` is set to `.false.`, in `src/oven_data.f90`, line 6"),
        ("What's NOON in oven.hours?", "`NOON` is set to `oven.time/noon`, in `src/oven/hours.clj`"),
        ("What does whiny_doors default to?", "`whiny_doors` is set to `true`, in `lib/oven/setup.rb`"),
        ("What's the default oven_worker_count?", '`oven_worker_count` is set to `"1024"`, in `roles/defaults/main'),
        ("What is LangVersion set to in Oven.csproj?", "`LangVersion` is set to `latest`, in `net/Oven.csproj`"),
        ("What does tls_ready default to in server.ml?", "The default of `tls_ready` is `false`, in `ml/server.ml`"),
        ("What's the default of compactions in the segment record?", "The default of `compactions` is `0`, in `src/s"),
        ("What does makeTypes default to in Schema?", "The default of `makeTypes` is `true`, in `java/Schema"),
        ("What's HEAT_MODE?", "`HEAT_MODE` is set to `0755`, in `bin/heat`"),
        ("What's the default periodSeconds of the readinessProbe?", "`periodSeconds` is set to `20`, in `deploy/v"),
        ("What does shovelSize default to?", "The default of `shovelSize` is `26`, in `lib/stoker.dart`, line 4"),
        ("What's the default totalHeat of a Bar?", "The default of `totalHeat` of `constructor` is `100`, in `src/Bar"),
        ("What is level set to in phpstan.neon?", "`level` is set to `5`, in `phpstan.neon`, line 2"),
        ("What is the default swing angle of the gauge?", "`defaultSwingAngle` is set to `GaugeSwingWide`, in `ios"),
        ("What does soak_time equal in OTHERS?", "`soak_time` is set to `9`, in `app/settings.py`"),
        ("Which version does AC_PREREQ ask for in configure.ac?", "`AC_PREREQ` is set to `2.53`, in `configure.ac`"),
    ],
)  # fmt: skip
def test_a_value_is_found_where_the_question_says(engine: LocalEngine, question: str, sentence: str) -> None:
    assert lead_of(engine, question).startswith(sentence)


@pytest.mark.parametrize(
    ("question", "value"),
    [
        # The number of a field, what a call passes, a migration, a variable of a function.
        ("What is label_text set to in kiln.proto?", "`7`"),
        ("What is ember_size set to in Stove?", "`3`"),
        ("What's the default of shelf_count in oven_log?", "`2`"),
        ("What's the default tries of the kiln plugin?", "`3`"),
        # What replaces an absent variable in a text, where the script sets it; another name for the owner.
        ("What does heat_unit default to?", "`C`"),
        ("What's the default port of Alias.start?", "`Server.serve`"),
        # Another record, another literal, a document, a file that has no such name.
        ("What's the default of layers in the clay record?", "`3`"),
        ("What is soak_time set to in SETTINGS?", "`9`"),
        ("What is heat_limit set to in index.md?", "`900`"),
        ("What is KILN_URL set to in deploy/deb/push.sh?", "example.org"),
    ],
)
def test_another_value_is_not_stated(engine: LocalEngine, question: str, value: str) -> None:
    assert value not in lead_of(engine, question)


@pytest.mark.parametrize(
    ("line", "name", "path", "value"),
    [
        ("  private static final int SIZE = 5; // SIZE = 6", "SIZE", "A.java", "5"),
        ("let size = 4 in size + 1", "size", "a.ml", "4"),
        ("   logical :: strict = .true. !! strict = .false.", "strict", "a.f90", ".true."),
        ("size: 5, color: 6", "color", "a.rb", "6"),
        ("ARG KILN_TAG=3.2", "KILN_TAG", "Dockerfile", "3.2"),
        ("size = 5 unless size", "size", "a.rb", ""),
        ("size = [", "size", "a.py", ""),
        ("FLAG = -O2 # fast", "FLAG", "Makefile", "-O2"),
        ("key: &anchor", "key", "a.yml", ""),
    ],
)
def test_a_line_gives_a_name_its_value(line: str, name: str, path: str, value: str) -> None:
    line_value = read_value([line], 1, name, path)
    assert line_value is not None
    assert line_value.value == value


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("if size == 5:", "a.py"), ("if size = 5", "a.rb"), ("// size = 5", "a.js"), ("x = y - size", "a.py"),
        ('print("size = 5")', "a.py"), ("size: number;", "a.ts"), ("size => size + 1", "a.js"),
        ("return size = 5", "a.c"),
        ("self.child.size = 5", "a.py"),
        ("resize = 5", "a.py"), ("size_t = 5", "a.c"), ("size(5) = 5", "a.jl"), ("# size = 5", "a.toml"),
    ],
)  # fmt: skip
def test_a_line_gives_nothing(line: str, path: str) -> None:
    assert read_value([line], 1, "size", path) is None


@pytest.mark.parametrize(
    ("question", "value", "ending"),
    [
        ("What is KILN_SHELL set to in wood.toolchain.cmake?", "`cmd`", "line 6; the line is under a condition"),
        ("What is jolt set to in wheel.go?", "`7`", "line 17; the line is under a condition"),
    ],
)
def test_a_condition_around_a_line_is_said(engine: LocalEngine, question: str, value: str, ending: str) -> None:
    lead = lead_of(engine, question)
    assert value in lead
    assert ending in lead


def test_heads_declare_names() -> None:
    lines = ["impl Default for Kiln {", "    fn default() -> Self {", "        Self { size: 5 }", "    }", "}"]
    heads = heads_around(lines, 3, 15)
    assert "kiln" in {name for head in heads for name in head.names}
    assert heads[1].is_function
    assert scope_words("the glaze record") == ["glaze"]
    assert is_held("Kiln", "src/lib.rs", heads)
    assert not is_held("Oven", "src/lib.rs", heads)


@pytest.mark.parametrize(
    ("question", "kind", "name", "owner"),
    [
        ("Which value does retries have in Client if I don't pass it?", "default", "retries", "Client"),
        ("Which logger does New use if none is given?", "default", "logger", "New"),
        ("What value has the constant bits in dict.mjs?", "value", "bits", "dict.mjs"),
        ("How large is max_size by default?", "default", "max_size", ""),
        ("What does offset default to in peek of peek.hpp?", "default", "offset", "peek of peek.hpp"),
        ("If I don't set length in get_jobs, what is used?", "default", "length", "get_jobs"),
        ("What's LinePrinter's default lineLength?", "default", "lineLength", "LinePrinter"),
        ("What's log_parts.erl's default part_count?", "default", "part_count", "log_parts.erl"),
        ("In transport.gleam, what is mount_kind?", "value", "mount_kind", "transport.gleam"),
        ("What value is LangVersion given in Oven.csproj?", "value", "LangVersion", "Oven.csproj"),
        ("OUTPUT_DIR in Makefile?", "value", "OUTPUT_DIR", "Makefile"),
        ("What's the default arch in utils/build.sh?", "default", "arch", "utils/build.sh"),
    ],
)
def test_ways_to_ask_for_a_value_are_read(question: str, kind: str, name: str, owner: str) -> None:
    lookup = read_lookup(question)
    assert lookup is not None
    assert (lookup.kind, lookup.name, lookup.owner) == (kind, name, owner)


def test_hostile_lines_are_read_in_time() -> None:
    lines = [
        "a " * 290 + "size", "a." * 290 + "size = 5", "(" * 590 + "size = 5", "size " + ": a" * 180,
        '"' * 300 + "size = 5",
        "set(size " + "a " * 280, "size = " + "[" * 500, "a, " * 190 + "size = 5", "size" + " " * 500 + "x",
        "get(g:, '" * 60,
    ]  # fmt: skip
    start = time.perf_counter()
    for path in ("a.py", "a.sh", "a.cmake", "a.vim", "a.yml", "a.kt", "a.sql", "a.pm", "Makefile", "a.ml"):
        for number in range(1, len(lines) + 1):
            line_value = read_value(lines, number, "size", path)
            heads_around(lines, number, 0 if line_value is None else line_value.column)
    assert time.perf_counter() - start < 5
