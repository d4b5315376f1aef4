"""Defaults that bodies give: literals for absent parameters, and what shorter overloads and factories pass."""

from __future__ import annotations

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.prose_values.bindings import read_bindings
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

pytestmark = pytest.mark.timeout(90)

OPTIONS = """package yard;
public final class Options {
    private final boolean gaps;
    private final int depth;

    private Options(boolean gaps, int depth) {
        this.gaps = gaps;
        this.depth = depth;
    }

    public static Options defaults() {
        // return new Options(true, 1);
        return new Options(false, 42);
    }

    public Options withDepth(int depth) {
        return new Options(true, 7);
    }
}
"""
FACTORY = """package yard;
public class Factory {
    public Factory() {
        this("templates", 100);
    }
    public Factory(int limit) {
        this("templates", limit);
    }
    public Factory(String root, int limit) {
    }
    public void render(String name) {
        render(name, 33);
    }
    public void render(String name, int indent) {
    }
    public void both(String name) {
        both(name, 1);
    }
    public void both() {
        both("x", 2);
    }
    public void both(String name, int count) {
    }
}
"""
LUA = """local M = {}
function M.load(path, mode, count)
  -- count = count or 9
  mode = mode or "r"
  return path
end
function M.dump(path, count)
  count = count or 5
end
function M.twice(width)
  width = width or 1
  width = width or 2
end
return M
"""
PERL = """package Agent;
use Mojo::Base 'Mojo::EventEmitter';

has max_redirects => 6;
has grace => sub { $ENV{AGENT_GRACE} || 10 };
has label => 'agent/1.0';
has ioloop => sub { Loop->new(3) };
has workers => (is => 'ro', default => 4);
# has ghosts => 77;
1;
"""
GO = (
    'package yard\n\ntype Decoder struct {\n\t// TagName is the name of the tag. Defaults to "mapping".\n'
    "\tTagName string\n\n\tDepth int // Defaults to 3.\n}\n"
)
LEVELS = "class Levels:\n    DEFAULT_DEPTH = 12\n\n\ndef run(port=None):\n    return port\n"
HASKELL = """module Prefs where

data Prefs = Prefs
  { prefWide :: Bool      -- ^ whether lines are wide
                          -- (default: False)
  , prefColumns :: Int    -- ^ number of columns in the terminal, used to
                          -- format the help page (default: 80)
  , prefFill :: Int       -- ^ columns to fill
  -- the ones below are old (default: 7)
  , prefOld :: Int
  }
"""
SETTINGS = "class Settings\n  def initialize\n    @port = 3000\n  end\nend\n"


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    folder = tmp_path_factory.mktemp("yard")
    repo = RepositoryBuilder(folder / "yard")
    files = {
        "src/Options.java": OPTIONS, "src/Factory.java": FACTORY, "lib/m.lua": LUA, "lib/Agent.pm": PERL,
        "decode.go": GO, "levels.py": LEVELS, "src/settings.cr": SETTINGS, "Prefs.hs": HASKELL,
        "php/schema.php": "<?php\nreturn [\n  'html_input' => Expect::anyOf('strip')->default('allow'),\n];\n",
    }  # fmt: skip
    repo.commit(files, "Start")
    return open_engine([repo.path], index=folder / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What's the default of gaps in Options?", "The default of `gaps` of `Options` is `false`"),
        ("What's the default depth of Options?", "The default of `depth` of `Options` is `42`"),
        ("What's the default root of Factory?", 'The default of `root` of `Factory` is `"templates"`'),
        ("What's the default limit of Factory?", "The default of `limit` of `Factory` is `100`"),
        ("What's the default indent of render?", "The default of `indent` of `render` is `33`"),
        ("What's the default mode of load?", 'The default of `mode` of `load` is `"r"`'),
        ("What's the default count of dump?", "The default of `count` is `5`"),
        ("What's the default of max_redirects in Agent?", "The default of `max_redirects` is `6`"),
        ("What's the default grace of Agent?", "The default of `grace` is `10`"),
        ("What's the default workers of Agent?", "The default of `workers` is `4`"),
        ("What is the default label of Agent?", "The default of `label` is `'agent/1.0'`"),
        (
            "What's the default TagName of Decoder?",
            'The documentation says that the default of `TagName` is `"mapping"`',
        ),
        ("What's the default of prefColumns?", "The documentation says that the default of `prefColumns` is `80`"),
        ("What is prefWide by default?", "The documentation says that the default of `prefWide` is `False`"),
        ("What's the default of html_input?", "The default of `html_input` is `'allow'`"),
    ],
)
def test_what_a_body_passes_or_replaces_is_stated(yard: LocalEngine, question: str, expected: str) -> None:
    assert research(yard, question).text.startswith(expected)


@pytest.mark.parametrize(
    "question",
    [
        # A comment, two values, a call that takes the value from its caller, and one of a function for something else.
        "What's the default count of load?",
        "What's the default width of twice?",
        "What's the default count of both?",
        "What's the default ghosts of Agent?",
        "What's the default ioloop of Agent?",
        # A comment that isn't behind the member.
        "What's the default of prefFill?",
        # Another class has the only constant of this name.
        "What's the default depth of Widget?",
    ],
)
def test_comments_and_several_values_are_not_stated(yard: LocalEngine, question: str) -> None:
    head = research(yard, question).text.partition("\n\n")[0]
    assert " is `" not in head
    assert "is set to" not in head


def test_a_constant_of_another_class_does_not_answer_for_a_class_called_by_a_common_word(yard: LocalEngine) -> None:
    assert "DEFAULT_DEPTH" not in research(yard, "What's the default depth of Options?").text.partition("\n\n")[0]


def test_the_owner_in_a_dotted_name_counts(yard: LocalEngine) -> None:
    """The only default of a parameter `port` is that of a function that has nothing to do with settings."""
    assert "`run`" not in research(yard, "What is settings.port?").text.partition("\n\n")[0]


@pytest.mark.parametrize("path", ["src/settings.cr", "lib/m.lua"])
def test_files_of_all_languages_are_files(yard: LocalEngine, path: str) -> None:
    """The ending `.cr` was unknown: "No commit changed a line with `settings.cr`", though a commit added the file."""
    name = path.rpartition("/")[2]
    assert research(yard, f"Who last changed {name}?").text.startswith(f"`{path}` was last changed by")


@pytest.mark.parametrize("name", ["workers", "a", "s"])
def test_an_attribute_of_perl_has_the_place_of_its_name(name: str) -> None:
    """`has s => 5` has the letters of the name in its keyword."""
    (attribute,) = read_bindings([f"has {name} => 5;"], 1, "Agent.pm")
    assert (attribute.name, attribute.value, attribute.column) == (name, "5", 4)
