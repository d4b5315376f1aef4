"""Members of enums, imports of one file, and files that were renamed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.question.lookups import read_lookup
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

FILES: dict[str | bytes, str | bytes | None] = {
    "src/Tide.java": (
        "import java.util.List;\nimport static java.util.Map.*;\n// import java.nothing.Here;\n"
        "public enum Tide implements Runnable {\n  /** Low, and HIGH. */\n"
        "  LOW(1) { void run() { int NO = 1, NOR = 2; } },\n"
        '  @Deprecated("EBB") EBB(2),\n  HIGH(3);\n\n  private final int level;\n'
        "  Tide(int level) { this.level = level; }\n"
        "  enum Inner { ONE, TWO }\n}\n"
    ),
    "Sources/Lake.swift": (
        "import Foundation\n@testable import Pond\n\npublic enum Lake: Error {\n  // case dry\n  enum Bank {\n"
        "    case left, right\n  }\n  case open, closed(reason: String)\n  #if os(Linux)\n  case linux\n  #endif\n"
        "  var depth: Int {\n    switch self {\n    case .open:\n      return 1\n    default:\n"
        "      return 0\n    }\n  }\n}\n"
    ),
    "src/kinds.py": (
        '"""Kinds.\n\nimport nothing\n"""\nimport enum, sys as system\nfrom . import ponds\n'
        "from .lakes import (\n    Lake,\n)\n\n\n"
        'class Kind(enum.Enum):\n    """Kinds.\n\n    FAKE = 3\n    """\n\n    A = 1  # B = 2\n    C: int = 2\n\n'
        "    def d(self) -> int:\n        E = 3\n        return E\n\n\nclass Plain:\n    A = 1\n\n\n"
        "class Paired(enum.Enum):\n    A, B = 1, 2\n\n\n"
        "class Grown(enum.Enum):\n    A = 1\n    for name in ponds:\n        locals()[name] = name\n"
    ),
    "src/shore.rs": (
        "use std::{fmt, io};\nuse std::collections::HashMap;\nextern crate log;\n// use nothing::here;\n"
        'pub enum Shore {\n    #[doc = "Sand, or not"]\n    Sand(u8, u8),\n'
        "    Rock { height: u8, width: u8 },\n    Mud = 3,\n}\n"
    ),
    "src/traits.rs": (
        "#[derive(Debug, Clone)]\npub struct Reed;\n\n"
        "impl fmt::Display for Reed {}\nimpl<'a> From<&'a str> for Reed {}\n"
        "// impl Gone for Reed {}\nimpl Iterator for Reeds {}\nimpl<F: Fn(u8) -> u8> Run<F> for Reed {}\n"
    ),
    "vars.tf": 'variable "inlet" {\n  default = 1\n}\n\nresource "aws_lake" "outlet" {\n}\n',
    "src/Chase.java": (
        'class Chase {\n  void pursue(int a) { }\n  /* pursue(3); */\n  String s = "pursue(4)"; //pursue(5)\n}\n'
        "class Hunt extends Chase {\n  @Override void pursue(int a) { }\n}\n"
    ),
    "web/glide.js": "const glide = () => 1\nconst text = `\nglide(2)\n`\nclass Swan { glide() { return 3 } }"
    " //glide(4)\n",
    "src/Teal.java": (
        "class Nests {\n  static class Inner implements Teal {}\n}\n"
        "class Eggs {\n  static class Inner implements Teal {}\n}\n"
    ),
    "src/heron.h": (
        "class [[nodiscard]] Grebe : public Heron {\n};\nclass Bittern : public Heron {\n};\n"
        "// class Gone : public Heron {\nvoid fly(Heron &heron);\nclass Heron;\n"
    ),
    "src/stork.rs": (
        "impl Stork for Nest {}\nimpl<A, B> Stork for (A, B) {}\nimpl<T> Stork\n    for Vec<T> {}\n"
        "pub fn feed<T: Stork>(stork: T) {}\n"
    ),
    "samples/Run.java": "class Run {\n  void go() {\n    throw new SpillException();\n  }\n}\n",
    "src/shore.h": (
        '#include <stdio.h>\n/* #include "gone.h" */\n#include "pond.h"\n'
        "typedef enum {\n  SHORE_NEAR = 0, /* SHORE_LOST, */\n  SHORE_FAR\n} shore_kind;\n"
        "enum grown {\n#define ROW(name) GROWN_##name,\n  ROW(a)\n};\n"
    ),
    "lib/Shore.hs": (
        "module Shore where\nimport qualified Data.Map as Map\n\n-- | Beds.\ndata Bed\n  = Sand Int -- ^ | Silt\n"
        "  | Rock { height :: Int, kind :: Bed }\n  deriving (Eq)\n"
    ),
    "web/shore.ts": (
        "import { a } from './a'\nimport {\n  b,\n} from \"./b\"\nconst c = require('c')\n// import d from 'd'\n"
        "export enum Wind { North = 'n', South = 's' }\nexport const wind = \"import e from 'e'\"\n"
    ),
    "R/shore.R": (
        "library(dplyr)\n# library(gone)\nrequire('stats')\nfill <- function(x) x\n# fill(1)\n"
        'text <- "fill(2)"\npour <- function(y) fill(y)\n'
    ),
    "R/pond.R": "sink_to <- function(.x, na.rm = TRUE, .depth = c(1, 2)) NULL\n",
    "lib/pond.dart": (
        "class Pond {\n  void wade(Map<String, int> by, {bool slowly = false, String how = 'a, b'}) {\n  }\n}\n"
    ),
    "lib/pond.ex": "defmodule Pond do\n  def dive(name, opts \\\\ []), do: {name, opts}\nend\n",
    "Sources/Pond.swift": (
        "class Pond {\n  init(depth: Int,\n       isFrozen: Bool = true) {\n  }\n"
        "  func skate(at speed: Int = 3) {\n  }\n"
        "  func skate(at speed: Int = 4, on name: String) {\n  }\n}\n"
    ),
    "src/broken.c": (
        "void settle(int depth);\n#if A\nvoid settle(int depth) {\n#else\nvoid settle(long depth) {\n#endif\n}\n"
        "/* settle(1); */\nvoid calm(void) {\n  settle(2);\n}\n}}} ((\n"
    ),
    "lib/Fill.hs": (
        "module Fill(spill) where\n\n{-# NOINLINE spill #-}\nspill :: Int -> Int\nspill x = x -- spill it\n\n"
        "{- spill 3 -}\nlevel :: Int\nlevel = 12 -- level = 13\n\nwet :: [Int] -> [Int]\nwet = map spill\n"
    ),
    "lib/Flow.pm": (
        "package Flow;\n\n=head1 drain(1)\n\n=cut\n\nsub drain { 1 }\n\nsub run {\n    my $self = shift;\n"
        "    return $self->drain;\n}\n\n1;\n\n__END__\n\ndrain(2)\n"
    ),
    "lib/changeset.ex": (
        'defmodule Changeset do\n  @doc """\n      seep(1)\n  """\n  @spec seep(term) :: term\n'
        "  def seep(term), do: term\n\n  def leak(term), do: term |> seep()\nend\n"
    ),
    "src/reef.nim": "type\n  Surf* = enum\n    Swell, Chop = 2, # Old\n    Roll\n\n  Other = object\n    Gone: int\n\n"
    '  Odd = enum\n    Left = (1, "left"), Right\n',
    "src/Silt.ps1": "enum Silt { Fine; Coarse = 2; Mixed }\n\nenum Weed\n{\n    Long # Short\n    Wide\n}\n",
    "api/shoal.proto": "enum Shoal {\n  option allow_alias = true;\n  SMALL = 0; // TINY = 2;\n  LARGE = 1;\n}\n",
    "api/tides.graphql": "enum Ebb {\n  SLOW FAST\n}\n",
    "src/App.php": "<?php\nnamespace Shore;\n\nuse Shore\\Bed;\n"
    "use Shore\\{Sand, Rock};\n\nclass App {\n    use Walks;\n}\n",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    root = tmp_path_factory.mktemp("bodies")
    shore = RepositoryBuilder(root / "marsh")
    text = "".join(f"line {number} of the bed\n" for number in range(40))
    shore.commit({**FILES, "bed.txt": text, "lost.txt": "lost\n"}, "Plant", author="Ada <ada@example.org>")
    shore.commit({"bed.txt": None, "beds/bed.txt": text}, "Move the bed", author="Grace <grace@example.org>")
    shore.commit({"lost.txt": None}, "Remove what is lost", author="Lin <lin@example.org>")
    engine = open_engine([root], index=root / "index", workers=1)
    yield engine
    engine.close()


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (
            "What are the constants of the enum `Tide`?",
            "The body of `Tide` lists 3 members: `LOW`, `EBB` and `HIGH` in",
        ),
        (
            "What are the cases of `Lake`?",
            "The body of `Lake` lists 3 members: `open`, `closed` and `linux`, some of them under a condition, in",
        ),
        ("Which values does the enum Kind have?", "The body of `Kind` lists 2 members: `A` and `C` in"),
        ("List the variants of Shore", "The body of `Shore` lists 3 members: `Sand`, `Rock` and `Mud` in"),
        (
            "What are the values of shore_kind?",
            "The body of `shore_kind` lists 2 members: `SHORE_NEAR` and `SHORE_FAR` in",
        ),
        ("What are the constructors of `Bed`?", "The body of `Bed` lists 2 members: `Sand` and `Rock` in"),
        ("How many values does Kind have?", "The body of `Kind` lists 2 members: `A` and `C` in"),
        ("How many variants are there in the enum Shore?", "The body of `Shore` lists 3 members: `Sand`"),
        ("How many constructors does the type Bed have?", "The body of `Bed` lists 2 members: `Sand` and `Rock` in"),
        (
            "How many values does the Surf enum have?",
            "The body of `Surf` lists 3 members: `Swell`, `Chop` and `Roll` in",
        ),
        ("Which values does Silt have?", "The body of `Silt` lists 3 members: `Fine`, `Coarse` and `Mixed` in"),
        ("What are the values of Weed?", "The body of `Weed` lists 2 members: `Long` and `Wide` in"),
        ("What are the values of Shoal?", "The body of `Shoal` lists 2 members: `SMALL` and `LARGE` in"),
        ("What are the members of the Wind enum?", "The body of `Wind` lists 2 members: `North` and `South` in"),
        ("What does src/Tide.java import?", "`src/Tide.java` imports `java.util.List` and `java.util.Map.*` "),
        ("Which modules does Sources/Lake.swift import?", "`Sources/Lake.swift` imports `Foundation` and `Pond` "),
        ("What are the imports of src/kinds.py?", "`src/kinds.py` imports `enum`, `sys`, `.` and `.lakes` "),
        (
            "Which crates does src/shore.rs use?",
            "`src/shore.rs` imports `std::{fmt, io}`, `std::collections::HashMap` and `log` ",
        ),
        ("Which headers does src/shore.h include?", '`src/shore.h` imports `<stdio.h>` and `"pond.h"` '),
        ("Which modules does lib/Shore.hs import?", "`lib/Shore.hs` imports `Data.Map` "),
        ("What does web/shore.ts import?", "`web/shore.ts` imports `./a`, `./b` and `c` "),
        ("What calls `fill`?", "`fill` is called by name in `pour` (line 7 of `R/shore.R`)"),
        ("What calls `spill`?", "`spill` is called or referenced by name in `wet` (line 12 of `lib/Fill.hs`)"),
        ("What calls `drain`?", "`drain` is called by name in `run` (line 11 of `lib/Flow.pm`)"),
        ("What calls `seep`?", "`seep` is called by name in `leak` (line 8 of `lib/changeset.ex`)"),
        ("Where is `seep` defined?", "`seep` is defined in `lib/changeset.ex`, line 6, as a function"),
        ("What is the default of `na.rm` of `sink_to`?", "The default of `na.rm` of `sink_to` is `TRUE`, in"),
        ("What is the default of `.depth` of `sink_to`?", "The default of `.depth` of `sink_to` is `c(1, 2)`, in"),
        ("What is the default of `slowly` of `wade`?", "The default of `slowly` of `wade` is `false`, in"),
        ("What is the default of `how` of `wade`?", "The default of `how` of `wade` is `'a, b'`, in"),
        ("What is the default of `opts` of `dive`?", "The default of `opts` of `dive` is `[]`, in"),
        ("What is the default of `isFrozen`?", "The default of the parameter `isFrozen` is `true`, in"),
        ("What is the default of `speed` of `skate`?", "The default of `speed` of `skate` has several values: `3` in"),
        ("Where is `inlet` declared?", "`inlet` is defined in `vars.tf`, line 1"),
        ("Where is `outlet` defined?", "`outlet` is defined in `vars.tf`, line 5"),
        ("How many classes implement `Teal`?", "**2** classes name `Teal` as a base in their declarations"),
        ("Which classes derive from `Heron`?", "**2** classes name `Heron` as a base in their declarations: `Grebe` "),
        ("Which types implement `Stork`?", "At least **2** types name `Stork` as a base in their declarations"),
        (
            "What throws `SpillException`?",
            "`SpillException` is thrown by name in tests and examples on 1 line of 1 file: `go` of",
        ),
        ("What is the value of `level`?", "`level` is set to `12`, in `lib/Fill.hs`, line 9"),
        (
            "Which traits does `Reed` implement?",
            "`Reed` implements `fmt::Display`, `From<&'a str>` and `Run<F>` and derives `Debug` and `Clone`",
        ),
        ("Which packages does R/shore.R load?", "`R/shore.R` imports `dplyr` and `stats` "),
        ("What does src/App.php import?", "`src/App.php` imports `Shore\\Bed` and `Shore\\{Sand, Rock}` "),
        ("What was bed.txt renamed to?", "`bed.txt` was renamed to `beds/bed.txt` by Grace on "),
        ("Where was bed.txt moved?", "`bed.txt` was renamed to `beds/bed.txt` by Grace on "),
        ("Who removed lost.txt?", "`lost.txt` was removed by Lin on "),
        ("Who added beds/bed.txt?", "`beds/bed.txt` was added as `bed.txt` by Ada on "),
        ("When was beds/bed.txt renamed?", "`beds/bed.txt` was renamed from `bed.txt` by Grace on "),
    ],
)
def test_a_sentence_has_what_the_lines_have(engine: LocalEngine, question: str, sentence: str) -> None:
    text = re.sub(r"\\([_*<>\[\]])", r"\1", research(engine, question).text)
    assert text.startswith(sentence), text[:400]


@pytest.mark.parametrize(
    "question",
    [
        "What are the members of the enum grown?",  # a macro makes them
        "What are the members of Grown?",  # a loop makes further ones
        "What are the members of Plain?",  # no enum
        "What are the members of Paired?",  # several on one line
        "What are the members of the Odd enum?",  # values with commas of their own
    ],
)
def test_members_that_are_not_certain_are_not_stated(engine: LocalEngine, question: str) -> None:
    assert "The body of" not in research(engine, question).text


@pytest.mark.parametrize("question", ["What calls `pursue`?", "What calls `glide`?"])
def test_texts_comments_and_other_definitions_call_nothing(engine: LocalEngine, question: str) -> None:
    assert "is called" not in research(engine, question).text


def test_a_question_about_a_commit_may_name_its_repository(engine: LocalEngine) -> None:
    commit = re.search(r"\b[0-9a-f]{12}\b", research(engine, "Who removed lost.txt?").text)
    assert commit is not None
    assert ": “Remove what is lost”" in research(engine, f"What did commit {commit[0]} do in marsh?").text


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What are the options of curl?", "members"),
        ("what does a.py do", "purpose"),
        ("Which packages does it use?", "dependencies"),
    ],
)
def test_other_questions_keep_their_kind(question: str, kind: str) -> None:
    lookup = read_lookup(question)
    assert (lookup.kind if lookup is not None else "") == kind
