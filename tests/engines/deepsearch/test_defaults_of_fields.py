"""Defaults that fields, records, tags, columns and build files give, in languages that no grammar reads."""

from __future__ import annotations

import time

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.source.option_defaults import read_option_defaults
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

ZIG = """const std = @import("std");
const GateView = @This();

wants_cursor: bool = false,

pub const Lock = struct {
    // depth: u8 = 9,
    depth: u8 = 4,
    pub const Inner = struct {
        width: u8 = 1,
    };
};
"""
OTHER_ZIG = "pub const Sluice = struct {\n    depth: u8 = 7,\n};\n"
SWIFT = """struct LockView {
    var title: String = "lock"
    private let depth = 4
    var computed: Int { 3 }
    /*
    var hidden = 2
    */
}
struct WeirView {
    var title: String = "weir"
}
"""
DART = """class Pump {
  final int speed = 3;
  int twice = 1;
  void run() {
    var other = 2;
  }
}
class Valve {
  factory Valve.open({bool wide = true}) {
    return Valve();
  }
  int speed = 9;
}
"""
FSHARP = """module Canal
let defaultGate =
  { height = 12 // metres
    label = "gate" }
let tallGate =
  { height = 40
    label = "tall" }
"""
HASKELL = """module Canal where

defaultWeir :: Weir
defaultWeir = Weir
  { weirDepth = 3
  , weirName = "weir"
  }

deepWeir :: Weir
deepWeir = defaultWeir { weirDepth = 9 }
"""
GO = """package canal

type Flags struct {
	Port int `help:"The port." default:"8080"`
	// Old int `default:"1"`
	Host string `env:"HOST" envDefault:"localhost"`
	Name string `json:"name"`
}
"""
SQL = """CREATE TABLE lock_keeper (
    id int PRIMARY KEY,
    depth int DEFAULT 3 NOT NULL,
    label text DEFAULT 'gate'
);
CREATE FUNCTION fill_lock (depth_limit int, note text DEFAULT NULL) RETURNS int AS $$ select 1 $$;
"""
CSS = ":root {\n  --gate-color: #351c75;\n  /* --old-color: red; */\n  --gap: 1px; --width: 2px;\n}\n"
DOCKER = "ARG BASE_IMAGE=alpine:3.20\nFROM $BASE_IMAGE\nARG PLAIN\n"
MAKE = "timeout ?= 30s\nGATE_DEPTH ?= 4 # metres\nFIXED := 3\n"
PODSPEC = "Pod::Spec.new do |s|\n  s.ios.deployment_target = '9.0'\n  s.osx.deployment_target = '10.10'\nend\n"
CONSTANTS = "const int minus = 45;\nconst plus = 43;\n"
OBJECTIVE_C = "@implementation Gate\n- (void)raiseGate {\n}\n@end\n"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """Files whose fields, records and keys have values."""
    folder = tmp_path_factory.mktemp("fields")
    repository = RepositoryBuilder(folder / "canal")
    repository.commit(
        {
            "src/GateView.zig": ZIG,
            "src/sluice.zig": OTHER_ZIG,
            "Sources/Lock.swift": SWIFT,
            "lib/pump.dart": DART,
            "lib/letters.dart": CONSTANTS,
            "src/Canal.fs": FSHARP,
            "src/Canal.hs": HASKELL,
            "flags.go": GO,
            "db/lock.sql": SQL,
            "db/later.sql": "ALTER TABLE lock_keeper ALTER COLUMN label SET DEFAULT 'sluice';\n",
            "web/gate.css": CSS,
            "Dockerfile": DOCKER,
            "Makefile": MAKE,
            "Canal.podspec": PODSPEC,
            "Gate.m": OBJECTIVE_C,
            "project/build.properties": "sbt.version=1.9.9\n",
            "gradle/libs.versions.toml": '[libraries]\nturbine = { module = "app.cash:turbine", version = "1.2.0" }\n',
            "gradle.properties": "kotlinxGateVersion=0.4.17\nserializationVersion=1.6.2\nother=3\n",
            "project/Dependencies.scala": 'object Version {\n  val scalaGate = "3.2.20"\n}\n',
        },
        "Add a canal",
    )
    return open_engine([repository.path], index=folder / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("What's the default of wants_cursor in GateView?", "is `false`, in `src/GateView.zig`, line 4"),
        ("What's the default of depth in Lock?", "is `4`, in `src/GateView.zig`, line 8"),
        ("What's the default title of LockView?", 'is `"lock"`, in `Sources/Lock.swift`, line 2'),
        ("What's the default speed of Pump?", "is `3`, in `lib/pump.dart`, line 2"),
        ("What's the default of wide in Valve.open?", "The default of `wide` of `Valve.open` is `true`"),
        ("Where is Valve.open defined?", "line 9, as a constructor"),
        # Another record of the file has the field, too.
        ("What's the default height in defaultGate?", "`height` is set to `12`, in `src/Canal.fs`, line 3"),
        ("What's the default weirName?", '`weirName` is set to `"weir"`, in `src/Canal.hs`, line 6'),
        ("What's the default Port?", "`8080`"),
        ("What's the default of depth in lock_keeper?", "The default of `depth` is `3`, in `db/lock.sql`, line 3"),
        ("What's the default of note in fill_lock?", "is `NULL`, in `db/lock.sql`, line 6"),
        ("What is --gate-color set to?", "`--gate-color` is set to `#351c75`, in `web/gate.css`, line 2"),
        ("What's the default BASE_IMAGE?", "The default of `BASE_IMAGE` is `alpine:3.20`, in `Dockerfile`, line 1"),
        ("What's the default of GATE_DEPTH?", "The default of `GATE_DEPTH` is `4`, in `Makefile`, line 2"),
        ("What is minus set to in letters.dart?", "`minus` is set to `45`"),
        ("Which iOS version does the podspec require?", "`Canal.podspec` gives `.ios.deployment_target = '9.0'`"),
        ("Which version of kotlinx-gate is used?", "`kotlinxGateVersion` is set to `0.4.17` in `gradle.properties`"),
        ("Which kotlinx.serialization version is used?", "`serializationVersion` is set to `1.6.2`"),
        (
            "Which version of turbine do the tests use?",
            "`gradle/libs.versions.toml` lists `turbine` `1.2.0` (catalog) [",
        ),
        ("Which sbt version does the build use?", "`project/build.properties` sets the sbt version to `1.9.9`"),
        ("Which version of scalagate is used?", "`scalaGate` is set to `3.2.20` in `project/Dependencies.scala`"),
        ("Where is raiseGate implemented?", "`raiseGate` is defined in `Gate.m`, line 2, as a method"),
    ],
)
def test_a_line_gives_the_default(engine: LocalEngine, question: str, sentence: str) -> None:
    assert sentence in lead_of(engine, question)


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("What's the default of hidden in LockView?", "`2`"),
        ("What's the default of other in Pump?", "The default of `other`"),
        ("What's the default Old?", "`1`"),
        ("What's the default of FIXED?", "default of `FIXED`"),
        ("What's the default of PLAIN?", "default of `PLAIN`"),
        ("What is --old-color set to?", "`red`"),
        ("Which version of gate is used?", "`0.4.17`"),
        ("What's the default of id in lock_keeper?", "is set to"),
        # A later migration alters the column.
        ("What's the default of label in lock_keeper?", "gate"),
        # The parameter of a function isn't what the Makefile waits for.
        ("What's the default timeout?", "The default of `timeout`"),
        # Another package of its own has the rest of the name.
        ("Which version of netty-serialization is used?", "`1.6.2`"),
    ],
)
def test_what_is_no_default_is_not_stated(engine: LocalEngine, question: str, value: str) -> None:
    assert value not in lead_of(engine, question)


def test_a_tag_is_read_in_time() -> None:
    lines = ["Port int `" + 'default:"' * 60, "Port int `" + "a " * 250, "Port " + "int " * 140, "A" * 600]
    began = time.perf_counter()
    for line in lines:
        list(read_option_defaults([line], 1, "a.go"))

    assert time.perf_counter() - began < 1
