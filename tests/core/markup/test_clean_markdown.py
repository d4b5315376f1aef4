"""Attacks by Markdown: whatever a text holds, no renderer makes an image, a script or a link of it."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings

from core.markup.rendered_harm import ATTACKS, COMMONMARK, RENDERERS, TEXTS, harm
from sourcelight.core.markup import clean_markdown, literal, literal_line, one_line

OURS = "/ours/-/blob/a.py?L1-2"


def shown_text(source: str) -> str:
    """Return the text that a reader of CommonMark sees."""
    parser = HTMLParser()
    messages: list[str] = []
    parser.handle_data = messages.append  # type: ignore[method-assign, assignment]
    parser.feed(COMMONMARK.render(source))
    parser.close()
    return "".join(messages)


@pytest.mark.parametrize("renderer", RENDERERS)
@pytest.mark.parametrize("text", ATTACKS)
def test_the_attacks_that_patterns_let_through(text: str, renderer: str) -> None:
    cleaned = clean_markdown(text)
    assert harm(cleaned, renderer) == []
    assert harm(f"{cleaned}\n{clean_markdown(text)}", renderer) == [], "nor by what follows it"


@settings(max_examples=1_000, deadline=None, derandomize=True)
@given(TEXTS)
def test_nothing_of_any_text_acts_in_any_renderer(text: str) -> None:
    cleaned = clean_markdown(text)
    for renderer in RENDERERS:
        assert harm(cleaned, renderer) == [], (renderer, cleaned)


@settings(max_examples=500, deadline=None, derandomize=True)
@given(TEXTS)
def test_links_of_ours_are_the_only_ones(text: str) -> None:
    """Where ids are replaced by links of ours, these stand and no others do; none turns into an image."""

    def render_text(text: str) -> str:
        return "".join(f"[ours]({OURS})" if part == "[E1]" else literal(part) for part in re.split(r"(\[E1\])", text))

    cleaned = clean_markdown(text, render_text)
    for renderer in RENDERERS:
        assert harm(cleaned, renderer, frozenset({OURS})) == [], (renderer, cleaned)


@settings(max_examples=1_000, deadline=None, derandomize=True)
@given(TEXTS)
def test_a_literal_line_is_shown_verbatim_and_does_nothing(text: str) -> None:
    """In a paragraph, in a list, and where it begins like another block."""
    line = one_line(text, 2_000).strip()
    for prefix in ("", "- ", "3. "):
        source = f"{prefix}{literal_line(line)}\n"
        for renderer in RENDERERS:
            assert harm(source, renderer) == [], (renderer, source)
        assert "".join(shown_text(source).split()) == "".join(line.split()), source


@settings(max_examples=300, deadline=None, derandomize=True)
@given(TEXTS)
def test_cleaning_twice_changes_no_text(text: str) -> None:
    """What was written is read as the same text again: escapes neither pile up nor get lost."""

    def words(source: str) -> str:
        return re.sub(r"[\s*_]+", "", shown_text(source))

    once = clean_markdown(text)
    assert words(clean_markdown(once)) == words(once)


def test_what_is_harmless_stays() -> None:
    text = (
        "# A *b* `c|d`\n\npara_graph **two**\nlines\n\n- x\n- y\n  1. z\n\n> q\n\n| a | `p\\|q` |\n| --- | :-: |\n"
        "| \\| | 2 |\n\n```py\nif a < b: ![x](y)\n```\n\n***\n"
    )
    assert clean_markdown(text) == text
    assert clean_markdown("") == ""
    assert clean_markdown("x" * 300_000).endswith("more than 100,000 characters.)\n")


@pytest.mark.parametrize(
    "block", ["[", "[a](", "![", "`", "``a`", "**a ", "*", "_", "> ", "- ", "|", "<a ", "&", "\\", "~"]
)
def test_hostile_texts_take_bounded_time(block: str) -> None:
    began = time.process_time()
    clean_markdown(block * (60_000 // len(block)))
    assert time.process_time() - began < 5.0


@pytest.mark.parametrize("character", ["-", "=", "#", "1", " "])
def test_lines_that_almost_start_a_block_take_bounded_time(character: str) -> None:
    """An underline of a heading with a letter behind it took 11 seconds."""
    began = time.process_time()
    clean_markdown(character * 60_000 + "x")
    assert time.process_time() - began < 5.0
