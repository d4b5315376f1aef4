"""Colored lines show the text as it is, whatever crosses what."""

from __future__ import annotations

import html
import re

from hypothesis import given
from hypothesis import strategies as st

from sourcelight.core.markup.highlighting import code_tokens, highlight_code, line_tokens

TEXT = st.text(alphabet="ab1 \"'#/*\n<&>", max_size=60)


@given(TEXT, st.lists(st.tuples(st.integers(0, 70), st.integers(0, 70)), max_size=4), st.sampled_from(["Python", "Go"]))
def test_tags_removed_the_text_is_left(text: str, spans: list[tuple[int, int]], language: str) -> None:
    starts, ends = [a for a, _ in spans], [b for _, b in spans]
    result = highlight_code(text, code_tokens(text, language), starts, ends)
    assert html.unescape(re.sub(r"</?(?:span|mark)[^>]*>", "", result)) == text
    assert result.count("<span") == result.count("</span>")
    # Tags close in the order in which they opened.
    assert not re.search(r"<span[^>]*>[^<]*<(?!/span)", result)


@given(TEXT)
def test_lines_have_the_tokens_of_the_whole_text(text: str) -> None:
    lines = text.split("\n")
    everything = {
        index for start, end, _ in code_tokens(text, "Python") for index in range(start, end) if text[index] != "\n"
    }
    offset, indices = 0, set()
    for line, tokens in zip(lines, line_tokens(lines, "Python"), strict=True):
        indices |= {offset + index for start, end, _ in tokens for index in range(start, end)}
        offset += len(line) + 1
    assert indices == everything


def test_a_docstring_over_several_lines_is_one_text() -> None:
    lines = ['"""First', "if not code", '"""', "if code:"]
    kinds = [[kind for *_, kind in tokens] for tokens in line_tokens(lines, "Python")]
    assert kinds == [["s"], ["s"], ["s"], ["k"]]


def test_an_unknown_language_stays_plain() -> None:
    assert line_tokens(["if x", "y"], "Klingon") == [[], []]
