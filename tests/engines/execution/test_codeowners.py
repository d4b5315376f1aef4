"""Rules of CODEOWNERS files: the forms of both hosts, and hostile ones."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sourcelight as sl
from sourcelight.core.errors import PatternError
from sourcelight.engines.execution.results.codeowners import CodeOwners, owned_by
from sourcelight.testing import RepositoryBuilder

RULES = r"""
# comment
*                 @all
*.js              @js   # said why
/build/logs/      @builder
docs/*            docs@example.org
apps/             @apps
**/logs           @logs
/scripts/a\ b.sh  @me
/apps/github
"""


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("readme", ("@all",)),
        ("x/y/z.js", ("@js",)),
        ("x/y/z.jsx", ("@all",)),
        ("build/logs/a", ("@logs",)),
        ("docs/a.md", ("docs@example.org",)),
        ("docs/more/a.md", ("@all",)),
        ("x/docs/a.md", ("@all",)),
        ("z/apps/deep/q", ("@apps",)),
        ("deep/logs/x", ("@logs",)),
        ("scripts/a b.sh", ("@me",)),
        ("apps/github/x", ()),
        ("apps/github", ()),
    ],
)
def test_the_last_rule_that_matches_counts(path: str, owners: tuple[str, ...]) -> None:
    assert CodeOwners(RULES).owners(path) == owners


def test_sections_are_united_and_give_defaults() -> None:
    rules = CodeOwners("* @root\n[Docs][2] @writers\ndocs/\n*.md @md\n^[Api]\n/api/ @api\n!/api/vendored/\n")
    assert rules.owners("docs/a.txt") == ("@root", "@writers")
    assert rules.owners("docs/a.md") == ("@root", "@md")
    assert rules.owners("api/a") == ("@root", "@api")
    assert rules.owners("api/vendored/a") == ("@root",)


def test_owners_are_compared_without_case_and_sign() -> None:
    assert owned_by(("@Ada", "Ops@Example.org"), "ada")
    assert owned_by(("@Ada",), "@ADA")
    assert owned_by(("Ops@Example.org",), "ops@example.ORG")
    assert owned_by(("@org/team",), "org/team")
    assert not owned_by(("@org/team",), "team")
    assert owned_by(("@x",), "")
    assert not owned_by((), "")


def test_hostile_patterns_take_no_time() -> None:
    started = time.monotonic()
    rules = CodeOwners("\n".join(["**/" * 50 + "a" + "*a" * 40 + " @x"] * 20))
    rules.owners("a/" * 400 + "b")
    assert time.monotonic() - started < 5


COMPLEX = "* @all\n" + "\n".join(f"/{number}{'?' * 500}/* @x" for number in range(600))
"""Rules that RE2 refuses to compile as a set."""


def test_rules_that_outgrow_the_memory_of_a_set_are_refused() -> None:
    with pytest.raises(PatternError, match="64 MiB"):
        CodeOwners(COMPLEX)


@pytest.mark.filterwarnings("ignore::sourcelight.IncompleteResultWarning")
@pytest.mark.parametrize("query", ["file:has.owner(@all)", "-file:has.owner(@all)"])
@pytest.mark.parametrize("kind", ["file", "diff"])
def test_a_search_names_a_codeowners_file_that_is_too_complex(tmp_path: Path, kind: str, query: str) -> None:
    RepositoryBuilder(tmp_path / "src" / "one").commit({"CODEOWNERS": COMPLEX, "a.txt": "needle\n"}, "needle")
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index") as code:
        result = code.search(f"type:{kind} needle {query}")
        assert result.status != "complete"
        (title,) = result.skipped.loc[result.skipped["reason"] == "document-missing", "title"]
        assert "CODEOWNERS" in title


@given(st.text(max_size=200), st.text(max_size=40))
def test_any_text_can_be_read(text: str, path: str) -> None:
    CodeOwners(text).owners(path)
