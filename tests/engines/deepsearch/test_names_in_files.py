"""A name within a file or a module that a question names, with or without the sign that its language writes."""

from __future__ import annotations

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

SIEVE = """package Mill::Sieve;

our $VERSION = '1.20';
my $Mesh = 40;
use constant GRAINS => 3;

sub sift {
  my $mesh = shift || 7;
  my $VERSION_TEXT = "sift $VERSION";
  return $mesh;
}
1;
"""
HOPPER = """package Mill::Hopper;

our $VERSION = '1.21';

sub sift {
  return 2;
}
# our $DEPTH = 9;
1;
"""
CONFIG = """defmodule Mill.Config do
  @speeds ~w(slow fast)a
  @depth 3
  def speeds, do: @speeds
end
"""
SETTINGS = """defmodule Mill.Gear do
  @depth 8
  def depth, do: @depth
end
"""
WORKFLOW = """jobs:
  build:
    steps:
      - uses: actions/checkout@v{version}
      - uses: 'mill/grind-action@v9'
"""
FILES: dict[str | bytes, str | bytes | None] = {
    "lib/Mill/Sieve.pm": SIEVE,
    "lib/Mill/Hopper.pm": HOPPER,
    "lib/mill/config.ex": CONFIG,
    "lib/mill/gear.ex": SETTINGS,
    "src/wheel.jl": "const hub = Hub()\nspoke(x) = hub\n",
    ".github/workflows/build.yml": WORKFLOW.format(version=3),
    ".github/workflows/release.yml": WORKFLOW.format(version=4),
    "mix.exs": 'defmodule Mill.MixProject do\n  defp deps do\n    [{:jason, "~> 1.0"}]\n  end\nend\n',
    "lib/mill/selector.ex": "defmodule Mill.Selector do\n  def reselector, do: :slate_driver\nend\n",
    "lib/mill/notice.ex": 'defmodule Mill.Notice do\n  @notice "The mill " <>\n          "stops"\n  @rows 3\nend\n',
    "src/scan.jl": "const NROWS = Ref{Int}(0)\nfunction scan(buf, nrows=NROWS)\n    buf\nend\n",
    "lua/files.lua": "local files = require('files')\nreturn files\n",
    "tests/files_spec.lua": "local files = 5\n",
    "elm.json": '{\n  "type": "package",\n  "elm-version": "0.19.0 <= v < 0.20.0",\n  "dependencies": {}\n}\n',
}


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("files")
    repo = RepositoryBuilder(root / "wheel")
    repo.commit(FILES, "Build a wheel")
    return open_engine([repo.path], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Where is sift defined in Hopper.pm?", "`sift` is defined in `lib/Mill/Hopper.pm`, line 5"),
        ("Where is sift defined in lib/Mill/Sieve.pm?", "`sift` is defined in `lib/Mill/Sieve.pm`, line 7"),
        ("Where is sift defined in Mill::Sieve?", "`sift` is defined in `lib/Mill/Sieve.pm`, line 7"),
        ("What's $VERSION in Hopper.pm?", "`VERSION` is set to `'1.21'`, in `lib/Mill/Hopper.pm`, line 3"),
        (
            "What is VERSION set to in lib/Mill/Sieve.pm?",
            "`VERSION` is set to `'1.20'`, in `lib/Mill/Sieve.pm`, line 3",
        ),
        ("What is $VERSION set to?", "`VERSION` has several values"),
        ("What is $Mesh initially?", "`Mesh` is set to `40`, in `lib/Mill/Sieve.pm`, line 4"),
        ("What is GRAINS?", "`GRAINS` is set to `3`, in `lib/Mill/Sieve.pm`, line 5"),
        (
            "What is @speeds set to in Mill.Config?",
            "`speeds` is set to `~w(slow fast)a`, in `lib/mill/config.ex`, line 2",
        ),
        ("What is @depth in Mill.Config?", "`depth` is set to `3`, in `lib/mill/config.ex`, line 3"),
        ("What is @depth in lib/mill/gear.ex?", "`depth` is set to `8`, in `lib/mill/gear.ex`, line 2"),
        ("What is hub set to?", "`hub` is set to `Hub()`, in `src/wheel.jl`, line 1"),
    ],
)
def test_the_file_and_the_sign_decide(mill: LocalEngine, question: str, sentence: str) -> None:
    assert lead_of(mill, question).startswith(sentence)


@pytest.mark.parametrize(
    "question",
    [
        "Where is sift defined in gear.ex?",
        "What is $DEPTH in Hopper.pm?",
        "What is $mesh set to?",
        "What is @speeds in Mill.Gear?",
        "What is sift set to?",
        "What is @notice set to?",
        "What is files set to?",
    ],
)
def test_another_file_a_comment_and_a_function_have_no_value(mill: LocalEngine, question: str) -> None:
    assert " is set to " not in lead_of(mill, question)
    assert " is defined " not in lead_of(mill, question)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (
            "Which version of actions/checkout does the release workflow use?",
            "`.github/workflows/release.yml` lists `actions/checkout` `v4`",
        ),
        (
            "Which version of actions/checkout does the workflow use?",
            "`.github/workflows/build.yml` lists `actions/checkout` `v3`; other lines list it differently",
        ),
        (
            "Which version of grind-action does the build workflow use?",
            "`.github/workflows/build.yml` lists `mill/grind-action` `v9`",
        ),
        ("Which Elm version does it need?", "`elm.json` requires Elm `0.19.0 <= v < 0.20.0`"),
    ],
)
def test_workflows_and_versions_of_elm_are_read(mill: LocalEngine, question: str, sentence: str) -> None:
    assert lead_of(mill, question).startswith(sentence)


def test_a_part_of_a_word_is_no_package(mill: LocalEngine) -> None:
    assert lead_of(mill, "Does it use ecto?").startswith("No: no searched manifest lists `ecto`")
    assert not lead_of(mill, "Does it use slate?").startswith("No:")


def test_a_name_in_capitals_is_no_parameter_in_small_letters(mill: LocalEngine) -> None:
    assert "`nrows`" not in lead_of(mill, "What is the default of NROWS?")
