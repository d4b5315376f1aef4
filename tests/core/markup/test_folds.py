"""Sections of a long answer are folded below their headings."""

from __future__ import annotations

import re

from sourcelight.core.markup import to_html


def nowhere(_: str) -> str:
    return ""


def test_sections_beyond_a_screen_are_folded() -> None:
    text = "Lead.\n\n## First\n\n- a_b_c\n\n## Second\n\n```md\n## no heading\n```\n\n## Third\n\nEnd <b>\n"
    html = to_html(text, nowhere, top=1, open_lines=6)
    assert html.startswith("<p>Lead.</p>\n<h2>First</h2>")
    assert html.count("<details><summary>") == 2
    assert "<summary>Second</summary>" in html
    assert "## no heading" in html
    assert "&lt;b&gt;" in html
    assert "a_b_c" in html
    assert to_html(text, nowhere) == to_html(text, nowhere, open_lines=100)


def test_a_stop_stands_in_the_line_of_the_link_that_unfolds() -> None:
    def unfolding(label: str, _: str, __: str) -> str:
        return f"<details><summary>{label}</summary><pre>code</pre></details>"

    html = to_html("See [a](/x). It has (as [b](/y)), [c](/z) too", nowhere, show_link=unfolding)
    assert re.findall(r"<summary>(.*?)</summary>", html) == ["a.", "b),", "c"]
    assert re.findall(r"</details>(.{4})", html) == [" It ", " <de", " too"]
    linked = to_html("See [a](/x). It", nowhere, show_link=lambda label, _, __: f"<b>{label}</b>")
    assert "<b>a</b>. It" in linked


def test_a_text_without_sections_is_not_folded() -> None:
    assert "<details>" not in to_html("a\n\n" * 50, nowhere, open_lines=5)


def test_names_with_underscores_stand_as_they_are() -> None:
    label = "r@1 src/__init__.py#L1-L2 of _private_name_"
    assert label in to_html(f"see [{label.replace('_', chr(92) + '_')}](/x)", lambda url: url)
