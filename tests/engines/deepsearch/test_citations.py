"""Citations are checked against git: what can't be verified is in no answer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engines.deepsearch.asking import CART, OPEN, SECRET
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.deepsearch.citations import CitationChecker
from sourcelight.engines.deepsearch.evidence import CommitEvidence, EvidenceLedger, FileEvidence
from sourcelight.engines.deepsearch.evidence.pins import pin
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos import Viewer
from sourcelight.testing import RepositoryBuilder

Fleet = tuple[RepositoryBuilder, RepositoryBuilder]


@pytest.fixture
def checker(engine: LocalEngine) -> CitationChecker:
    return CitationChecker(engine.catalog, Viewer.owner(), pin(engine, "", Viewer.owner(), Cancellation()))


def quote(fleet: Fleet, first: int, last: int) -> FileEvidence:
    text = "\n".join(CART.split("\n")[first - 1 : last])
    return FileEvidence(OPEN, fleet[0].head, "shop/cart.py", first, last, text)


def test_exact_quotes_are_verified(checker: CitationChecker, fleet: Fleet) -> None:
    """Also without the indentation that their lines share, and without blanks at their ends."""
    good = quote(fleet, 9, 12)
    assert checker.check(good).status == "verified"
    bare = "\n".join(line.removeprefix("    ") + "  " for line in good.text.split("\n"))
    assert checker.check(replace(good, text=bare)).status == "verified"


def test_moved_quotes_are_corrected(checker: CitationChecker, fleet: Fleet) -> None:
    """Text that stands once, on other lines of the same file, is cited there."""
    citation = checker.check(replace(quote(fleet, 9, 12), begin_line=2, end_line=5))
    assert citation.status == "moved"
    assert isinstance(citation.evidence, FileEvidence)
    assert (citation.evidence.begin_line, citation.evidence.end_line) == (9, 12)


@pytest.mark.parametrize(
    "change",
    [
        {"text": "total = sum(self.items) + 1"},
        {"path": "shop/nothing.py"},
        {"path": "../vault/vault/ledger.py"},
        {"path": "shop"},
        {"repository": "example.org/team/other"},
        {"commit": "0" * 40},
        {"begin_line": 0, "end_line": 3, "text": "x"},
        {"begin_line": 5, "end_line": 4, "text": "y"},
        {"begin_line": 1, "end_line": 5000, "text": "z"},
        {"text": ""},
    ],
    ids=["invented", "no file", "outside", "folder", "repository", "commit", "line 0", "backwards", "long", "empty"],
)
def test_everything_else_is_rejected(checker: CitationChecker, fleet: Fleet, change: dict[str, object]) -> None:
    """Invented text, files, repositories, commits and lines; a folder is no file."""
    assert checker.check(replace(quote(fleet, 9, 12), **change)).status == "rejected"  # type: ignore[arg-type]


def test_text_that_stands_twice_is_not_guessed(checker: CitationChecker, fleet: Fleet) -> None:
    """A line that occurs several times can't be moved to any of them."""
    assert (
        checker.check(replace(quote(fleet, 1, 1), begin_line=1, end_line=1, text="        return")).status == "rejected"
    )


def test_commits_must_be_behind_the_pin(checker: CitationChecker, fleet: Fleet, engine: LocalEngine) -> None:
    """An ancestor of the pinned commit counts; one of a later or foreign commit does not."""
    shop = fleet[0]
    first = shop.git("rev-list", "--max-parents=0", "HEAD").strip()
    good = CommitEvidence(OPEN, first, "Add prices", "Ada", "2020-01-01T00:00:00Z")
    assert checker.check(good).status == "verified"
    assert checker.check(replace(good, commit=fleet[1].head)).status == "rejected"
    old = pin(engine, f"repo:^{OPEN}$ rev:{first}", Viewer.owner(), Cancellation())
    earlier = CitationChecker(engine.catalog, Viewer.owner(), old)
    assert earlier.check(replace(good, commit=shop.head)).status == "rejected"


def test_invisible_repositories_cannot_be_cited(engine: LocalEngine, fleet: Fleet) -> None:
    """With a pin made for someone else, a reader who may not see the repository gets its citation rejected."""
    pins = pin(engine, "", Viewer.owner(), Cancellation())
    item = FileEvidence(SECRET, fleet[1].head, "vault/ledger.py", 1, 1, "def checkout_total(ledger):")
    assert CitationChecker(engine.catalog, Viewer.owner(), pins).check(item).status == "verified"
    assert CitationChecker(engine.catalog, Viewer.anonymous(), pins).check(item).status == "rejected"


def test_the_same_place_has_one_id(fleet: Fleet) -> None:
    """A ledger gives out an id once, and knows no other."""
    ledger = EvidenceLedger()
    item = quote(fleet, 1, 2)
    assert [ledger.add(item), ledger.add(item), ledger.add(quote(fleet, 3, 4))] == ["E1", "E1", "E2"]
    assert ledger.get("E1") == item
    assert [ledger.get(name) for name in ("E0", "E3", "7", "E", "E99999999", "E１")] == [None] * 6  # noqa: RUF001 - digits that are not ASCII
