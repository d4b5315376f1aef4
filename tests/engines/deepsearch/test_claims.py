"""First sentences claim no more than lines prove: languages without a grammar, other spellings, manifests, people."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engines.deepsearch.asking import Researched, research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.facts.unparsed_definitions import reader_of
from sourcelight.engines.deepsearch.lookups.absence.spellings import is_one_edit, make_edit_pattern
from sourcelight.engines.deepsearch.lookups.manifests import read_requirements, read_runtime
from sourcelight.engines.deepsearch.question.lookups import read_lookup
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder


def lead_of(answer: Researched) -> str:
    """Return the first paragraph of an answer, without escapes of Markdown."""
    return re.sub(r"\\([_*])", r"\1", answer.text.split("\n\n")[0])


_FILES = {
    "Sources/Store.swift": (
        "public protocol Keeper {\n    func keep(_ item: Int)\n}\n\npublic struct Shelf: Keeper {\n"
        "    func keep(_ item: Int) {}\n}\n\nextension Int: Keeper {}\n"
    ),
    "lib/parcel.ex": (
        'defmodule Parcel do\n  @doc """\n      def weigh_all(list)\n  """\n  @limit 12\n\n'
        "  defp weigh_all(list) do\n    list\n  end\n\n  def total(list), do: weigh_all(list)\nend\n"
    ),
    "bin/parcel": "#!/usr/bin/env bash\nunpack_all() {\n  echo all\n}\nunpack_all\n",
    "src/errors.py": (
        "class SealError(Exception):\n    pass\n\n\ndef check(seal):\n    if seal:\n        raise (\n"
        '            SealError("wet")\n        )\n    raise TypeError("no SealError")\n'
    ),
    "src/Base.kt": (
        "abstract class Base<T : Base<T>>(\n    /** the name */\n    name: String? = null,\n) : Holder {\n}\n"
    ),
    "src/sign.rs": (
        "macro_rules! sign {\n    ($name:ident) => {\n        impl Signer for $name {}\n    };\n}\n\n"
        "pub struct Ed;\n\nimpl Signer for Ed {}\n"
    ),
    "src/limits.c": "#ifdef SMALL\n#define MAX_ITEMS 8\n#else\n#define MAX_ITEMS 64\n#endif\n",
    "src/paint.py": "def set_colour(canvas, colour):\n    return canvas, colour\n",
    "Package.swift": (
        '// swift-tools-version:5.9\nlet package = Package(dependencies: [\n    .package(url: "https://h.example/apple/'
        'swift-nio.git", from: "2.0.0"),\n])\n'
    ),
}


@pytest.fixture(scope="module")
def depot(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """A repository of several languages, two of them without a grammar."""
    folder = tmp_path_factory.mktemp("depot")
    repo = RepositoryBuilder(folder / "depot")
    repo.commit(_FILES, "Add the depot")
    return open_engine([repo.path], index=folder / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Where is weigh_all defined?", ["`weigh_all` is defined in `lib/parcel.ex`, line 7, as a function"]),
        ("Where is unpack_all defined?", ["`unpack_all` is defined in `bin/parcel`, line 2, as a function"]),
        ("Where is Shelf defined?", ["`Sources/Store.swift`, line 5, as a struct"]),
        ("who calls weigh_all", ["`weigh_all` is called by name in `total` (line 11 of `lib/parcel.ex`)"]),
        ("what conforms to Keeper", ["**2** types name `Keeper` as a base in their declarations", "`Shelf`", "`Int`"]),
        ("Where is SealError raised?", ["`SealError` is raised by name on 1 line of 1 file: `check`"]),
        ("What is the value of MAX_ITEMS?", ["`MAX_ITEMS` has several values", "`8`", "`64`"]),
        ("What does Base inherit from?", ["names the base `Holder` in `src/Base.kt`"]),
        (
            "which types implement Signer",
            [
                "**1** type names `Signer` as a base",
                "1 more line does so in a macro or a template",
                "`src/sign.rs`, line 3",
            ],
        ),
        ("Is there a class called weigh_all?", ["`weigh_all` is defined in"]),
        ("what does it depend on", ["`Package.swift` lists 1 dependency: `swift-nio`"]),
        ("swift tools version?", ["`Package.swift` requires Swift tools `5.9`"]),
        ("How many functions are defined?", ["functions are defined", "; Swift files were not read"]),
    ],
)
def test_the_first_sentence_says_what_a_line_proves(depot: LocalEngine, question: str, parts: list[str]) -> None:
    lead = lead_of(research(depot, question))
    assert [part for part in parts if part not in lead] == [], lead


def test_a_count_without_some_languages_does_not_cover_everything(depot: LocalEngine) -> None:
    """Below "Swift files were not read" stood "The count covers everything that was searched"."""
    answer = research(depot, "How many functions are defined?")
    assert "The first sentence says what could not be counted." in answer.text
    assert "covers everything" not in answer.text
    assert answer.draft.stats["complete"] is False


def test_yes_is_said_of_what_was_asked(depot: LocalEngine) -> None:
    assert not lead_of(research(depot, "Is there a class called weigh_all?")).startswith("Yes")
    assert lead_of(research(depot, "Is there a class called SealError?")).startswith("Yes: `SealError` is defined in")


def test_another_spelling_is_no_absence(depot: LocalEngine) -> None:
    """Color is nowhere, colour is: to say that no file has the word would mislead."""
    answer = research(depot, "how is the color of the canvas set").text
    assert answer.startswith("Most relevant:"), answer
    assert "No file has `color`, so the search used `colour`." in answer
    assert lead_of(research(depot, "where is set_color defined")).startswith("No searched file has `set_color`")


def test_letters_swapped_in_the_middle_are_another_spelling(depot: LocalEngine) -> None:
    """Neither half of "cavnas" is one of "canvas": the swapped letters are on both sides of the middle."""
    answer = research(depot, "how is the colour of the cavnas set").text
    assert "No file has `cavnas`, so the search used `canvas`." in answer


def test_a_name_that_a_path_has_is_not_absent(depot: LocalEngine) -> None:
    assert "No searched file has" not in research(depot, "what is in Store.swift").text.partition("\n## ")[0]


@pytest.mark.parametrize(
    ("language", "line", "name", "kind"),
    [
        ("Haskell", "parseLoad :: [String] -> [Load]", "parseLoad", "function"),
        ("Haskell", "data Load = Loading | Done", "Load", "type"),
        ("Dart", "int mapHash(Iterable<Object?>? props) {", "mapHash", "function"),
        ("Dart", "  return mapHash(props);", "mapHash", None),
        ("Zig", "pub fn parse(text: []const u8) !void {", "parse", "function"),
        ("Zig", "pub const Names = struct {", "Names", "struct"),
        ("Swift", "    public private(set) var count: Int", "count", "variable"),
        ("Swift", "        case .count:", "count", None),
        ("Elixir", "  @limit 12", "limit", "constant"),
        ("Elixir", "  limit(12)", "limit", None),
        ("Lua", "function M.inspect(root)", "inspect", "function"),
        ("Clojure", "(defn- ring-size [ring]", "ring-size", "function"),
        ("Shell", "unpack() {", "unpack", "function"),
        ("Shell", "unpack all", "unpack", None),
    ],
)
def test_lines_that_define_a_name(language: str, line: str, name: str, kind: str | None) -> None:
    read = reader_of(language, name)
    assert read is not None
    assert read(line) == kind


def test_manifests_without_a_format_for_data() -> None:
    def names(path: str, text: str) -> list[tuple[str, str, str]]:
        read = read_requirements(path, text.split("\n"))
        return [(item.name, item.version, item.group) for item in read or ()]

    mix = '  defp deps do\n    [\n      {:jason, "~> 1.0"},\n      {:ex_doc, ">= 0.1", only: :dev}\n    ]\n  end\n'
    assert names("mix.exs", mix) == [("jason", "~> 1.0", ""), ("ex_doc", ">= 0.1", "dev")]
    cabal = (
        "library\n  build-depends:\n      base >= 4.7 && < 5,\n      filepath\n  if os(windows)\n    ghc-options: -O"
    )
    assert names("a.cabal", cabal) == [("base", ">= 4.7 && < 5", ""), ("filepath", "", "")]
    pubspec = "dependencies:\n  meta: ^1.0.0\ndev_dependencies:\n  test: ^1.0.0\n"
    assert names("pubspec.yaml", pubspec) == [("meta", "^1.0.0", ""), ("test", "^1.0.0", "dev_dependencies")]
    project = '<ItemGroup>\n<PackageReference Include="xunit" Version="2.7.1" />\n</ItemGroup>'
    assert names("A.csproj", project) == [("xunit", "2.7.1", "")]
    zon = '.{\n    .name = .a,\n    .dependencies = .{\n        .clap = .{\n            .url = "x"\n},\n},\n}'
    assert names("build.zig.zon", zon) == [("clap", "", "")]
    cargo = '[dependencies]\nserde = { version = "1.0", optional = true }\n'
    assert names("Cargo.toml", cargo) == [("serde", "1.0", "optional")]
    package = ["{", '  "volta": {"node": "20"},', '  "engines": {', '    "node": ">=18"', "  }", "}"]
    assert read_runtime("package.json", package, "node") == (">=18", 4)
    assert read_runtime("mix.exs", ['      elixir: "~> 1.9",'], "elixir") == ("~> 1.9", 1)


def test_words_of_one_edit() -> None:
    assert all(map(is_one_edit, ("enviroment", "defualt", "color"), ("environment", "default", "colour")))
    assert is_one_edit("serialise", "serialize")
    assert not is_one_edit("color", "color")
    assert not is_one_edit("window", "widows")


@pytest.mark.parametrize("word", ["swtich", "sevrer", "tiemout", "cavnas", "a-b-c", "color"])
def test_lines_with_a_word_of_one_edit_are_found(word: str) -> None:
    """Every word that `is_one_edit` accepts is found: letters added, left out, replaced and swapped at any place."""
    letters = "abcdefghijklmnopqrstuvwxyz-"
    halves = [(word[:index], word[index:]) for index in range(len(word) + 1)]
    added = {f"{left}{letter}{right}" for left, right in halves for letter in letters}
    removed = {f"{left}{right[1:]}" for left, right in halves if right}
    replaced = {f"{left}{letter}{right[1:]}" for left, right in halves if right for letter in letters}
    swapped = {f"{left}{right[1]}{right[0]}{right[2:]}" for left, right in halves if len(right) > 1}
    edits = (added | removed | replaced | swapped) - {word}
    pattern = re.compile(make_edit_pattern(word))
    assert [edit for edit in sorted(edits) if not is_one_edit(word, edit)] == []
    assert [edit for edit in sorted(edits) if pattern.fullmatch(edit) is None] == []


def test_commits_of_one_name_are_joined(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "duo")
    authors = [
        "Ann <a@x.example>",
        "Ann <ann@y.example>",
        "Bob <b@x.example>",
        "Ann <ann@y.example>",
        "Bob <b@x.example>",
    ]
    for number, author in enumerate(authors):
        repo.commit({f"{number}.txt": "x\n"}, f"Add {number}", author=author)
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    assert "Ann has the most commits: 3, under 2 addresses" in lead_of(research(engine, "who has the most commits"))
    assert "**3** authors (2 names) have commits" in lead_of(research(engine, "how many authors are there"))


@pytest.mark.parametrize(
    ("question", "kind", "name"),
    [
        ("does it have any dependencies", "dependencies", "dependencies"),
        ("MAX_LINE default", "default", "MAX_LINE"),
        ("is USE_STACK on by default", "default", "USE_STACK"),
        ("params of encode_body", "parameters", "encode_body"),
        ("msrv?", "runtime", "rust"),
        ("which packages are optional", "dependencies", "dependencies"),
    ],
)
def test_short_questions_have_a_form(question: str, kind: str, name: str) -> None:
    lookup = read_lookup(question)
    assert lookup is not None
    assert (lookup.kind, lookup.name) == (kind, name)


def test_a_name_in_prose_is_not_thrown(tmp_path: Path) -> None:
    """A scenario of Gherkin says "raise", and throws nothing."""
    repo = RepositoryBuilder(tmp_path / "pump")
    code = "class PumpError < StandardError; end\n\ndef check\n  raise Pump::PumpError.new(1), 'dry'\nend\n"
    repo.commit({"lib/pump.rb": code, "features/dry.feature": "Then it should raise a PumpError exception\n"})
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    lead = lead_of(research(engine, "Where is PumpError raised?"))
    assert lead.startswith("`PumpError` is raised by name on 1 line of 1 file: "), lead
    assert "`lib/pump.rb`" in lead


def test_a_head_that_the_grammar_misses_counts(tmp_path: Path) -> None:
    """An example in a docstring is no class; an annotated constructor of Kotlin is, which the index lacks."""
    repo = RepositoryBuilder(tmp_path / "faults")
    kotlin = "class Lost @JvmOverloads constructor(\n    val name: String,\n) : Fault(name) {\n}\n"
    python = 'def explain():\n    """Explain.\n\n    class Sample(Fault):\n        pass\n    """\n'
    repo.commit({"faults.kt": kotlin, "explain.py": python})
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    lead = lead_of(research(engine, "which classes extend Fault"))
    assert lead.startswith("**1** class names `Fault` as a base in its declaration: `Lost`"), lead
