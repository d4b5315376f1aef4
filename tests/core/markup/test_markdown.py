"""Markdown of anyone as HTML: nothing acts, links stay with us, and time is bounded."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcelight.core.markup import own_address, to_html

BASE = "https://code.example/base"
TAGS = {
    "p",
    "ul",
    "ol",
    "li",
    "a",
    "code",
    "pre",
    "strong",
    "em",
    "br",
    "blockquote",
    "hr",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
}


def rendered(text: str) -> str:
    return to_html(text, lambda url: own_address(url, BASE))


class _Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.problems: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"hr", "br"}:
            self.open.append(tag)
        of_tags = {"a": {"href"}, "code": {"class"}, "pre": {"tabindex"}, "th": {"scope"}, "ol": {"start"}}
        allowed = of_tags.get(tag, set())
        if tag not in TAGS or {name for name, _ in attrs} - allowed:
            self.problems.append(f"{tag} {attrs}")
        for name, value in attrs:
            if name == "href" and not (value or "").startswith((f"{BASE}/", "#")):
                self.problems.append(f"href {value}")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"/{tag}")


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "<script>alert(1)</script>",
                "[a](javascript:alert(1))",
                "[a](/x)",
                "![a](https://evil.example/x.png)",
                "`",
                "```",
                "**",
                "*",
                "_",
                "\n",
                "\n\n",
                "- ",
                "1. ",
                "> ",
                "| a | b |\n|---|---|\n| c |",
                "# ",
                "\\",
                "[",
                "](",
                ")",
                "<a href='x'>",
                "&lt;",
                "&#x6a;avascript:",
                "\t",
                "   ",
                "word",
                "//evil.example",
                "\x1b[31m",
                "\u202e",
                '"onmouseover="x',
                "~~~",
                "---",
            ]
        ),
        max_size=30,
    ).map("".join)
)
def test_only_known_tags_and_own_links_come_out(text: str) -> None:
    seen = _Seen()
    seen.feed(rendered(text))
    seen.close()
    assert seen.problems == []
    assert seen.open == []


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:x",
        "data:text/html,x",
        "//evil.example/x",
        "/\\evil.example",
        "https://evil.example",
        "https://code.example.evil.example/base/x",
        "https://code.example@evil.example/base/",
        "http://code.example/base/x",
        "https://code.example/other",
        "https://code.example/base/../x",
        "/a/%2e%2e/%2E%2e/x",
        "../x",
        "x",
        "?q",
        "\tjavascript:x",
        "https://code.example:8443/base/x",
        "vbscript:x",
        "file:///etc/passwd",
        "https://[bad/base/",
    ],
)
def test_other_addresses_are_not_followed(url: str) -> None:
    assert own_address(url, BASE) == ""
    assert "<a" not in rendered(f"[label]({url})")


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("/r@0/-/blob/a.py?L1-2", f"{BASE}/r@0/-/blob/a.py?L1-2"),
        (f"{BASE}/x", f"{BASE}/x"),
        ("https://CODE.example:443/base/x", "https://CODE.example:443/base/x"),
        ("#part", "#part"),
    ],
)
def test_own_addresses_are(url: str, target: str) -> None:
    assert own_address(url, BASE) == target
    assert own_address(url) == (url if url[0] in "/#" else "")


def test_the_known_forms() -> None:
    text = (
        "# A `b`\n\none **two** *three* a_b_c \\*x\\*\n\n- x\n- y\n  1. z\n\n"
        "| a | `p\\|q` |\n|---|:-:|\n| \\| | 2 |\n\n```py\n<x>\n```\n> q\n"
    )
    assert rendered(text) == (
        "<h1>A <code>b</code></h1>\n<p>one <strong>two</strong> <em>three</em> a_b_c *x*</p>\n"
        "<ul>\n<li>x</li>\n<li>y\n<ol>\n<li>z</li>\n</ol></li>\n</ul>\n"
        '<table>\n<thead><tr><th scope="col">a</th><th scope="col"><code>p|q</code></th></tr></thead>\n<tbody>\n'
        "<tr><td>|</td><td>2</td></tr>\n</tbody>\n</table>\n"
        '<pre tabindex="0"><code class="language-py">&lt;x&gt;</code></pre>\n<blockquote>\n<p>q</p>\n</blockquote>\n'
    )
    assert to_html("# x", lambda _: "", top=3) == "<h3>x</h3>\n"


@pytest.mark.parametrize(
    "block",
    [
        "[",
        "[a](",
        "]",
        "`",
        "``a`",
        "**",
        "*a ",
        "_",
        "> ",
        "- ",
        "|",
        "|-",
        "\\",
        "# ",
        "```\n",
        "0",
        "[[]",
        "a\n\n",
        "~",
    ],
)
def test_hostile_texts_take_bounded_time(block: str) -> None:
    began = time.process_time()
    rendered(block * (60_000 // len(block)))
    assert time.process_time() - began < 5.0, "some quadratic step would take minutes"


def test_hidden_characters_are_shown() -> None:
    assert re.search("[\x1b\u202e]", rendered("a\x1b[31m \u202eb `\u202e`")) is None


def test_a_table_is_one_up_to_a_width_that_takes_bounded_time() -> None:
    def table(columns: int) -> str:
        return f"|{'a|' * columns}\n|{'-|' * columns}\n"

    assert rendered(table(255)).startswith("<table>")
    began = time.process_time()
    assert rendered(table(20_000)).startswith("<p>|a|")
    assert time.process_time() - began < 5.0
