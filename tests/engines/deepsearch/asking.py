"""A fleet of two small repositories, and short ways to ask it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.conversations import ConversationService
from sourcelight.engines.deepsearch.requests import open_inquiry
from sourcelight.engines.deepsearch.research import Draft, ExtractiveResearcher, PreviousTurn, ResearchEvent
from sourcelight.engines.deepsearch.research.answer import FinishedAnswer, finish, join_segments
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.execution.natural_language import split_filters
from sourcelight.engines.tools import ToolContext
from sourcelight.repos import Viewer
from sourcelight.repos.state import State
from sourcelight.testing import RepositoryBuilder

OPEN, SECRET = "example.org/team/shop", "example.org/team/vault"

CART = '''"""Shopping carts."""

from shop.prices import round_price


class Cart:
    """What a customer is about to buy."""

    def add_item(self, name, price):
        """Put an item into the cart. Prices are rounded first."""
        self.items[name] = round_price(price)
        return self.items

    def checkout_total(self):
        """Add up the prices of everything in the cart."""
        total = sum(self.items.values())
        if total < 0:
            raise ValueError("negative total")
        return total
'''
PRICES = '''"""Prices."""


def round_price(price):
    """Round a price to whole cents, half a cent to the even one."""
    return round(price, 2)


def format_price(price):
    # TODO: currencies
    return f"{price:.2f}"
'''
TESTS = '''from shop.cart import Cart


def test_checkout_total_adds_prices():
    """The total is the sum of the prices in the cart."""
    cart = Cart()
    cart.add_item("tea", 2.5)
    assert cart.checkout_total() == 2.5
'''
DOCS = """# Carts

The checkout total of a cart is the sum of its rounded prices.

## Other

Nothing here. TODO: write.
"""
SHOP: dict[str | bytes, str | bytes | None] = {
    "shop/cart.py": CART,
    "shop/prices.py": PRICES,
    "tests/test_cart.py": TESTS,
    "docs/carts.md": DOCS,
    ".env": "SHOP_CHECKOUT_TOTAL_PASSWORD=hunter2secret\n",
}
LEDGER = '''def checkout_total(ledger):
    """Add up the ledger of the vault."""
    return sum(ledger)
'''
VAULT: dict[str | bytes, str | bytes | None] = {
    "vault/ledger.py": LEDGER,
}


def make_fleet(root: Path) -> tuple[RepositoryBuilder, RepositoryBuilder]:
    """Make the two repositories below `root`; the second one is private."""
    shop = RepositoryBuilder(root / "shop", origin=f"https://{OPEN}.git")
    shop.commit({"shop/prices.py": PRICES}, "Add prices", author="Ada <ada@example.org>")
    shop.commit(SHOP, "Introduce carts with a checkout total", author="Grace <grace@example.org>")
    vault = RepositoryBuilder(root / "vault", origin=f"https://{SECRET}.git")
    vault.commit(VAULT, "Add the ledger", author="Mallory <mallory@example.org>")
    (root / "repos.toml").write_text(f'[repositories."{SECRET}"]\nprivate = true\n')
    return shop, vault


def engine_of(root: Path, home: Path) -> LocalEngine:
    """Open the fleet."""
    return open_engine([root], index=home / "index", config=root / "repos.toml", workers=1)


def engine_with(
    factory: pytest.TempPathFactory, name: str, files: dict[str | bytes, str | bytes | None]
) -> Iterator[LocalEngine]:
    """Yield an engine over one repository with one commit."""
    root = factory.mktemp(name)
    RepositoryBuilder(root / name).commit(files, "Set up")
    engine = open_engine([root], index=root / "index", workers=1)
    yield engine
    engine.close()


def engine_for(folder: Path, files: dict[str | bytes, str | bytes | None]) -> LocalEngine:
    """Open one repository with one commit, in a folder of a single test."""
    repo = RepositoryBuilder(folder / "mill")
    repo.commit(files, "Set up")
    return open_engine([repo.path], index=folder / "index", workers=1)


@dataclass(frozen=True, slots=True)
class Researched:
    """A question answered without a conversation around it."""

    draft: Draft
    finished: FinishedAnswer
    happenings: list[ResearchEvent]

    @property
    def text(self) -> str:
        """The answer."""
        return join_segments(self.finished.segments)


def research(
    engine: LocalEngine, question: str, *, viewer: Viewer | None = None, previous: tuple[PreviousTurn, ...] = ()
) -> Researched:
    """Ask the extractive researcher."""
    filters, words = split_filters(question)
    context = ToolContext(engine, viewer or Viewer.owner())
    happenings: list[ResearchEvent] = []
    inquiry = open_inquiry(words, filters, context, previous)
    draft = ExtractiveResearcher().research(inquiry, None, happenings.append)
    return Researched(draft, finish(draft, inquiry, happenings.append), happenings)


def lead_of(engine: LocalEngine, question: str) -> str:
    """Ask, and return the first paragraph of the answer, without escapes of Markdown."""
    return re.sub(r"\\([_*#|<>\[\]])", r"\1", research(engine, question).text.split("\n\n")[0])


def desk_context(
    engine: LocalEngine, desk: ConversationService, viewer: Viewer | None = None, *, served: bool = False
) -> ToolContext:
    """A context as tools are called with."""
    return ToolContext(
        engine, viewer or Viewer.owner(), conversations=desk, base_url="https://code.example.org", served=served
    )


def add_account(state: State, name: str) -> Viewer:
    """An account that sees public repositories only."""
    state.accounts.create(name, "a password of some length")
    return Viewer(name, sees_private=False)


def engine_of_subjects(root: Path, subjects: Sequence[tuple[str, str]]) -> LocalEngine:
    """Open a repository `mill` with a commit for each subject and author."""
    repo = RepositoryBuilder(root / "mill")
    for number, (subject, author) in enumerate(subjects):
        repo.commit({"log.txt": f"entry {number}\n"}, subject, author=author)
    return open_engine([repo.path], index=root / "index", workers=1)


def first_place(engine: LocalEngine, question: str) -> str:
    """Return the line of the first place of an answer, with its path."""
    text = research(engine, question).text
    match = re.search(r"^1\. (.*)$", text, re.MULTILINE)
    assert match is not None, text
    return match[1]
