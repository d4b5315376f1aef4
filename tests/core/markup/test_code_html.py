"""Colours of code: whatever the text is, it is shown as it stands and nothing in it acts."""

from __future__ import annotations

import html
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcelight.core.markup import visible
from sourcelight.core.markup.highlighting import code_html

LANGUAGES = ["python", "go", "sql", "ruby", "bash", "typescript", "nothing", ""]
PIECES = st.sampled_from(
    ['"', "'", "`", '"""', "#", "//", "/*", "*/", "--", "\\", "<b>", "&", "if", "x1", "0x1F", "\n", " "]
)


@given(st.lists(PIECES | st.text(max_size=4), max_size=40).map("".join), st.sampled_from(LANGUAGES))
def test_text_stays_as_it_is(text: str, language: str) -> None:
    displayed = code_html(text, language)
    bare = re.sub(r'<span class="sl-[csnk]">|</span>', "", displayed)
    assert "<" not in bare
    assert html.unescape(bare) == visible(text)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("python", "def f():  # if", ["k def", "c # if"]),
        ("py", "x = '''a\\n\"b''' + 1.5", ["s '''a\\n\"b'''", "n 1.5"]),
        ("go", "return `a` /* b */ // c", ["k return", "s `a`", "c /* b */", "c // c"]),
        ("ts", "const iffy = x2 + 3", ["k const", "n 3"]),
        ("rust", "fn f<'a>(x: &'a str) {}", ["k fn"]),
        ("sql", "select 1 -- all", ["k select", "n 1", "c -- all"]),
        # A quotation that begins within a comment: its words are no code.
        ("java", " * if it is new */ int x;", ["c  * if it is new */", "k int"]),
        ("c", "*p = new; /* if */", ["k new", "c /* if */"]),
        ("python", " * if it is */", ["k if", "k is"]),
        ("brainfuck", "if 1", []),
    ],
)
def test_what_is_coloured(language: str, text: str, expected: list[str]) -> None:
    spans = re.findall(r'<span class="sl-([csnk])">(.*?)</span>', code_html(text, language))
    assert [f"{kind} {html.unescape(token)}" for kind, token in spans] == expected


@pytest.mark.clock
@pytest.mark.parametrize("before", ["", "`", '"', "'"])
def test_time_is_bounded(before: str) -> None:
    """Whatever is opened again and again and never closed."""
    for block in ('"', "\\", "'", "`", "/*", "`\\", '\\"', "\\'", "'a", "'''"):
        for language in ("python", "go", "rust"):
            began = time.process_time()
            code_html(before + block * (20_000 // len(block)), language)
            assert time.process_time() - began < 2.0, (block, language)
