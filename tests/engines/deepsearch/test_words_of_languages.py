"""Words and forms of single languages: subs of Perl, `It` of Pester, R as a name, elements of hashes, long texts."""

from __future__ import annotations

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.source.line_kinds import lines_of_code
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

PERL = """package Mill;
sub turn_stone {
    my ($options) = @_;
    if ( !$options->{'sack-width'} ) {
        $options->{'sack-width'} = 1_000_000;
    }
    lift_stone($options);
}
sub lift_stone { 1 }
1;
"""
PESTER = """Describe 'Mill' {
    It 'turns' { }
    it "stops" { }
    It -Name 'lifts' { }
    # It 'is dry'
    Items 'none'
}
"""
VIM = '''let s:quote = '"""'
function! s:turn()
  return s:stop(1)
endfunction
function! s:stop(x)
endfunction
'''
LUA = """local session = {}
function session.new(configuration)
  local grain_safety = opt(configuration, "grain_safety", DEFAULT)
  if configuration then grain_safety = 2 end
  return grain_safety
end
return session
"""
FILES: dict[str | bytes, str | bytes | None] = {
    "lib/Mill.pm": PERL,
    "tst/Mill.Tests.ps1": PESTER,
    "autoload/mill.vim": VIM,
    "lib/mill.lua": LUA,
    "DESCRIPTION": "Package: grinder\nDepends:\n    R (>= 4.1.0)\n",
    "src/Mill.psd1": "@{\nPowerShellVersion = '5.1'\n}\n",
    "rules/Other.psd1": "@{\nPowerShellVersion = '3.0'\n}\n",
    "lib/check.rb": "def empty?\n  dry? && false\nend\n\ndef dry?\n  true\nend\n\ndef dry\n  1\nend\n",
    "test/io.jl": '@testset "a" begin\nend\n@testset "b" begin\nend\n',
}


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """A repository called ``mill``."""
    root = tmp_path_factory.mktemp("words")
    RepositoryBuilder(root / "mill").commit(FILES, "Add the mill")
    return open_engine([root], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "beginning"),
    [
        ("Where is the sub turn_stone?", "`turn_stone` is defined in `lib/Mill.pm`, line 2"),
        ("Which subs call lift_stone?", "`lift_stone` is called by name in `turn_stone` (line 7 of `lib/Mill.pm`)"),
        ("How many subs does lib/Mill.pm have?", "**2** functions are defined in `lib/Mill.pm`"),
        ("How many tests are in Mill.Tests.ps1?", "**3** tests are defined in `**/Mill.Tests.ps1`"),
        ("How many test sets are in test/io.jl?", "**2** tests are defined in `test/io.jl`"),
        ("Which R version does mill depend on?", "`DESCRIPTION` requires R `>= 4.1.0`"),
        ("Which PowerShell version does mill need?", "`src/Mill.psd1` requires PowerShell `5.1`"),
        ("What calls s:stop?", "`s:stop` is called by name in `s:turn` (line 3 of `autoload/mill.vim`)"),
        ("Where is dry? defined?", "`dry?` is defined in `lib/check.rb`, line 5"),
    ],
)
def test_words_of_a_language_are_read(mill: LocalEngine, question: str, beginning: str) -> None:
    """A sub is a function, `It` a test, R a language, and a mark within a question the end of a name."""
    assert lead_of(mill, question).startswith(beginning), lead_of(mill, question)


@pytest.mark.parametrize("question", ["What is the default sack-width?", "What's the default grain_safety?"])
def test_what_is_set_for_one_is_no_default(mill: LocalEngine, question: str) -> None:
    """An element of a hash that a condition sets, and a variable that a call sets, have no default there."""
    assert "is set to" not in lead_of(mill, question)


def test_three_marks_are_a_long_text_only_where_a_language_has_them() -> None:
    """In Vim script and Perl, three marks in a row end no line of code."""
    lines = ['let a = \'"""\'', "call b()"]
    assert [number for number, _ in lines_of_code(lines, "Vim Script")] == [1, 2]
    assert [number for number, _ in lines_of_code(['a = """', "b", '"""', "c"], "Python")] == [1, 4]
