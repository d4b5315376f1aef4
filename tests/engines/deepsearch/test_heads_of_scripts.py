"""Blocks of parameters of PowerShell, files of a function, and spaces within values, as set questions showed them."""

from __future__ import annotations

import time

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.source.function_heads import ParameterBlock, parameter_block
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

BADGE = """function Set-MillBadge {
    <#
    .PARAMETER Status
        param( $Status = 9 )
    #>
    [CmdletBinding(SupportsShouldProcess)]
    param(
        [Parameter(Mandatory = $false)]
        [string]
        $Subject = 'Build',

        # The status: param($Status = 7)
        $Status = 0,

        [switch] $AsPercentage
    )
    process {
        $Status = 5
        Get-MillState -Speed 3
    }
}

function Get-MillState {
    $inner = { param($Speed = 8) $Speed }
    & $inner
}
"""
SCRIPT = """<#
.SYNOPSIS
    Installs a stone.
#>
[CmdletBinding()]
param(
    [Parameter(Position = 0)]
    [string] $Stone,

    [bool]$AllowClobber = $True
)
Install-Stone -AllowClobber:$AllowClobber
"""
FILES: dict[str | bytes, str | bytes | None] = {
    "Public/Set-MillBadge.ps1": BADGE,
    "Scripts/StoneModule.ps1": SCRIPT,
    "tests/badge.Tests.ps1": "It 'turns' { Set-MillBadge -Status 1 }\nIt 'stops' { Set-MillBadge }\n",
    "src/core.clj": '(ns core)\n(def ^:private sign-re\n  #"([^=  \t]+)=")\n',
    "mill.py": 'B_NAME = "a\tb"\n',
}


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("scripts")
    repo = RepositoryBuilder(root / "wheel")
    repo.commit(FILES, "Build a wheel")
    return open_engine([repo.path], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("What's the default Status of Set-MillBadge?", "The default of `Status` of `Set-MillBadge` is `0`"),
        ("What is the default Subject in Set-MillBadge?", "The default of `Subject` of `Set-MillBadge` is `'Build'`"),
        (
            "What's the default of AllowClobber in the StoneModule script?",
            "The default of the parameter `AllowClobber` is `$True`, in `Scripts/StoneModule.ps1`, line 10",
        ),
        (
            "Which file has the function Set-MillBadge?",
            "`Set-MillBadge` is defined in `Public/Set-MillBadge.ps1`, line 1",
        ),
        ("What is sign-re set to?", '`sign-re` is set to `#"([^=␣␣⇥]+)="`'),
        ("What is B_NAME set to?", '`B_NAME` is set to `"a⇥b"`, in `mill.py`, line 1 (⇥ is a tab)'),
    ],
)
def test_heads_and_values_are_read(mill: LocalEngine, question: str, sentence: str) -> None:
    assert lead_of(mill, question).startswith(sentence)


@pytest.mark.parametrize(
    "question", ["What's the default Speed of Get-MillState?", "What is the default Speed of Set-MillBadge?"]
)
def test_a_parameter_of_an_inner_block_is_none_of_the_function(mill: LocalEngine, question: str) -> None:
    assert "of `Get-MillState` is" not in lead_of(mill, question)
    assert "of `Set-MillBadge` is" not in lead_of(mill, question)


def test_the_block_of_parameters_of_a_script_is_its_first_statement() -> None:
    script = ["#Requires -Version 5", "using module Mill", "[CmdletBinding()]", "Param ($x = 1)"]
    assert parameter_block(script, 1) == ParameterBlock(4, 7)
    assert parameter_block(["$x = 1", "function f {", "param($y = 2)", "}"], 1) is None
    assert parameter_block(["function f {", "  $z = 1", "  param($y = 2)", "}"], 1) is None
    assert parameter_block(["function f($a) {", "  $z = 1", "}"], 1) is None


@pytest.mark.parametrize("part", ["param ", "(", "[", "<#", "#>", " ", "function f {"])
def test_hostile_heads_take_linear_time(part: str) -> None:
    text = part * (20_000 // len(part))
    began_at = time.process_time()
    parameter_block(["function f {", *[text] * 20], 1)
    parameter_block([part] * 2_000, 1)
    assert time.process_time() - began_at < 2
