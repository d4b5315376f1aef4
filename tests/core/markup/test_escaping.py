"""Hostile text can neither run nor hide."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcelight.core.markup import escape, highlight, link, one_line, visible, without_tags


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "' onmouseover='alert(1)",
        "<a href=javascript:alert(1)>",
    ],
    ids=["script", "event", "quote", "link"],
)
def test_markup_is_shown_not_run(text: str) -> None:
    displayed = escape(text)
    assert not re.search(r"[<>\"']", displayed)
    assert html.unescape(displayed) == text


@pytest.mark.parametrize(
    "character",
    ["\x1b", "\x9b", "\x00", "\x7f", "\r", "\u202e", "\u2066", "\u200b", "\ufeff", "\u2028", "\U000e0041", "\ud800"],
)
def test_unseen_characters_become_visible(character: str) -> None:
    displayed = visible(f"a{character}b")
    assert character not in displayed
    assert displayed.isprintable()
    assert len(displayed) > 2


def test_tab_newline_and_plain_text_stay() -> None:
    assert visible("a\tb\ncé🐍") == "a\tb\ncé🐍"


@given(
    st.text(max_size=60),
    st.lists(st.tuples(st.integers(0, 70), st.integers(0, 70)), max_size=8),
)
def test_highlight_loses_and_adds_no_text(text: str, spans: list[tuple[int, int]]) -> None:
    marked_text = highlight(text, [a for a, _ in spans], [b for _, b in spans])
    assert html.unescape(marked_text.replace("<mark>", "").replace("</mark>", "")) == html.unescape(escape(text))
    assert marked_text.count("<mark>") == marked_text.count("</mark>")
    covered = {i for a, b in spans for i in range(a, min(b, len(text)))}
    bold = "".join(re.findall(r"<mark>(.*?)</mark>", marked_text, re.DOTALL))
    assert html.unescape(bold) == html.unescape("".join(escape(text[i]) for i in sorted(covered)))


@given(st.text(max_size=60))
def test_without_tags_a_marked_text_is_as_it_is_shown(text: str) -> None:
    assert without_tags(highlight(text, [1, 5], [3, 9])) == visible(text)


def test_one_line_cuts_and_says_so() -> None:
    assert one_line("a\nb\tc", 10) == "a␊b c"
    assert one_line("x" * 20, 5) == "xxxx…"


def test_only_web_addresses_become_links() -> None:
    good = link("go", "https://host/a?b=1&c=2")
    assert good == '<a href="https://host/a?b=1&amp;c=2" target="_blank" rel="noopener noreferrer">go</a>'
    for url in ("javascript:alert(1)", "JaVaScRiPt://host/%0aalert(1)", "data:text/html,x", "/relative", "https:", ""):
        assert link("<go>", url) == "&lt;go&gt;"
    for url in ("https://host/ x", "https://host/\u202e", "http://[bad"):
        assert "href" not in link("go", url)
