"""Projects whose class has the name of the repository, two manifests, or comments for documentation tools."""

from __future__ import annotations

import pytest

from engines.deepsearch.asking import lead_of, research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.manifests import read_requirements
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

HELP = """namespace Tally
{
    /// <summary>
    /// Writes the <see cref="Tally.Board"/> as text, i.e. one line for each row. It never fails.
    /// </summary>
    /// <param name="width">The width.</param>
    public class BoardWriter
    {
    }

    /// <summary>Reads a board.</summary> <param name="path">Where it is.</param>
    public class BoardReader
    {
    }
}
"""
JAVA = """/**
 * {@inheritDoc}
 */
class Plain {
}

/**
 * Turns a {@link Board} into a {@code String}; see {@link Row the rows of it}.
 */
class FancyRow {
}
"""
KOTLIN = """open class BoardError(message: String)

class Narrow(
    val width: Int,
) : BoardError("narrow") {
}

class Wide(val width: Int) : BoardError("wide")

class Holder(
    val error: BoardError,
) {
}

fun raise(): Int {
    val x = 1
    return x
}
"""
SCALA = """class Scaled(x: Int)
  extends Other
  with BoardError {
}
"""
BLACK = """class Late(
    Mixin,
    BoardError,
):
    pass


ERRORS = [
    BoardError,
]
"""
LISTING = "public final class com/acme/Narrow : com/acme/BoardError {\n"
HEADER = "#define TALLYBOARD_MAX_ROW_COUNT 12\nstatic const int TALLYBOARD_MAX_ROW_DEPTH = 500;\n"
GEMFILE = "gem 'jruby', platforms: :jruby\n\ngroup :development, :test do\n  gem 'rake'\nend\n\ngem 'pry'\n"
GEMSPEC = "Gem::Specification.new do |spec|\n  spec.add_dependency 'json'\n  spec.add_dependency 'logger'\nend\n"
BOARD = """class Base:
    pass


class TallyBoard(Base):
    def __init__(self, rows=4):
        self.rows = rows
"""
PHP = """<?php
class Loader
{
    public static function create($paths, bool $shortCircuit = true)
    {
    }
}
"""
FILES: dict[str | bytes, str | bytes | None] = {
    "board.py": BOARD,
    "Gemfile": GEMFILE,
    "tally.gemspec": GEMSPEC,
    "src/Loader.php": PHP,
    "src/BoardWriter.cs": HELP,
    "src/Fancy.java": JAVA,
    "src/errors.kt": KOTLIN,
    "src/scaled.scala": SCALA,
    "late.py": BLACK,
    "api/board.api": LISTING,
    "docs/errors.md": "```kotlin\nclass Example : BoardError()\n```\n",
    "src/tally.h": HEADER,
    "other.kt": "class Other\n",
    "src/Split.cs": "public partial class SplitBoard : BoardWriter\n{\n}\n",
    "src/SplitMore.cs": "public partial class SplitBoard\n{\n}\n",
    "samples/run.py": "import os\n\nos.environ['SAMPLE_ROWS']\n",
    "board_env.py": "import os\n\nROWS = os.environ['BOARD_ROWS']\n",
    "docs/rows.md": "# An example of a custom row\n\nDerive from it, and pass the custom row to the board.\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("project")
    repo = RepositoryBuilder(root / "tallyboard")
    repo.commit(FILES, "Add a board")
    return open_engine([repo.path], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("What are the base classes of TallyBoard in tallyboard?", "names the base `Base`"),
        ("What is the superclass of TallyBoard?", "names the base `Base`"),
        ("runtime dependencies of tallyboard", "`tally.gemspec` lists 2 dependencies: `json` and `logger`"),
        ("What are the development dependencies?", "`Gemfile` lists 1 dependency (development, test): `rake`"),
        # PHP writes `$shortCircuit`.
        ("What is the default of shortCircuit in create?", "The default of `shortCircuit` of `create` is `true`"),
        ("What does BoardWriter do?", "“Writes the Tally.Board as text, i.e. one line for each row.”"),
        ("What does BoardReader do?", "“Reads a board.”"),
        ("Which classes extend BoardError?", "**4** classes name `BoardError` as a base in their declarations: `Wide`"),
        # An ending and a directory both have to hold.
        ("how many .kt files are in src", "**1** file"),
        # One part of a class of C# names the bases for all.
        ("what does SplitBoard extend", "names the base `BoardWriter` in `src/Split.cs`"),
        ("which environment variables are read", "Code reads this environment variable by name: `BOARD_ROWS`"),
        ("maximum row depth", "`TALLYBOARD_MAX_ROW_DEPTH` is set to `500`"),
        ("What does FancyRow do?", "“Turns a Board into a String; see the rows of it.”"),
    ],
)
def test_the_first_sentence_reads_the_project(project: LocalEngine, question: str, part: str) -> None:
    lead = lead_of(project, question)
    assert part in lead, lead


def test_the_repository_is_still_named_in_prose(project: LocalEngine) -> None:
    """A name in another case is the repository, where nothing says that it is a class."""
    assert "**4** Python files" in lead_of(project, "How many Python files are in TallyBoard?")


def test_a_word_before_the_noun_makes_it_another_noun(project: LocalEngine) -> None:
    text = lead_of(project, "List all base classes in tallyboard")
    assert text.startswith("This can't be listed as asked, because `base` was not understood.")


def test_what_decides_how_many_is_no_count(project: LocalEngine) -> None:
    assert "counted" not in lead_of(project, "how does it decide how many rows a board has")


def test_documents_show_examples(project: LocalEngine) -> None:
    assert "docs/rows.md" in research(project, "Give me an example of a custom row").text.split("\n## ")[0]


def test_groups_of_a_gemfile_end() -> None:
    requirements = read_requirements("Gemfile", GEMFILE.split("\n")) or []
    assert [(item.name, item.group) for item in requirements] == [
        ("jruby", ""),
        ("rake", "development, test"),
        ("pry", ""),
    ]


def test_a_table_of_one_repository_has_its_places_as_sources_alone(project: LocalEngine) -> None:
    """The same path in four columns makes a table wider than a page; as data, it has all of them."""
    answer = research(project, "Which classes extend BoardError?")
    assert "| symbol | line | source |" in answer.text
    assert answer.text.count("?L") >= 4
    table = next(table for table in answer.finished.tables if table.title == "Classes")
    assert table.columns == ("repository", "path", "line_number", "symbol", "line")
