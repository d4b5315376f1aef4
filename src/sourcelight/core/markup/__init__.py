"""Escape text of repositories, services and models for notebooks, pages and terminals.

Every cell of a result may come from an attacker; HTML from this room needs no further escaping. No layout, styles or
widgets: these are in `sourcelight.display`. Start with `escaping`; `markdown` renders answers of models.
"""

from sourcelight.core.markup.clean_markdown import clean_markdown, join_inline, literal, literal_line
from sourcelight.core.markup.counts import capitalize, count_of, join_first, join_words, plural, singular
from sourcelight.core.markup.escaping import (
    MAX_NAME_CHARS,
    NO_MATH,
    code,
    escape,
    fence_around,
    highlight,
    is_plain_name,
    link,
    link_label,
    name_in_sentence,
    one_line,
    own_address,
    single_marks,
    visible,
    without_tags,
)
from sourcelight.core.markup.markdown import to_html

__all__ = [
    "MAX_NAME_CHARS",
    "NO_MATH",
    "capitalize",
    "clean_markdown",
    "code",
    "count_of",
    "escape",
    "fence_around",
    "highlight",
    "is_plain_name",
    "join_first",
    "join_inline",
    "join_words",
    "link",
    "link_label",
    "literal",
    "literal_line",
    "name_in_sentence",
    "one_line",
    "own_address",
    "plural",
    "single_marks",
    "singular",
    "to_html",
    "visible",
    "without_tags",
]
