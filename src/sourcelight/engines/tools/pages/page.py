"""Answers over MCP within a number of tokens: whole items, best first, and a cursor that continues exactly.

An answer is cut before it is rendered, so that text and structured content end at the same item. `Items` defines the
items of a tool's answer; by default these are the rows of its table. A cursor has the number of the next item, the
characters of it that were shown if it is too long for a page, and a digest of all items before it. The next call must
give the same digest, so that two pages never come from different answers.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import orjson

from sourcelight.core.answer_size import MAX_TOKENS, MIN_TOKENS
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import ToolError
from sourcelight.core.markup.counts import count_of, estimate_tokens
from sourcelight.core.tools.tool import CURSOR_ARGUMENT, MAX_TOKENS_ARGUMENT, PAGE_SCHEMA, WireArguments
from sourcelight.engines.tools.pages.items import ItemMark, Items

_RESERVE = 150
"""Tokens reserved for the sentence about omitted parts, and for names of commits."""

_FULL_ENOUGH = 0.9
"""Fraction of the allowed tokens from which on a page isn't measured again: each measurement renders it."""

_MAX_ATTRIBUTE_CHARS = 200
"""Characters of an attribute that is part of a truncated answer: names and commits, no lists and no long texts."""

_CURSOR_VERSION = "1"
_IDENTIFYING = ("repository", "commit", "base", "head", "path", "query", "pattern")
"""Attributes of an answer that a cursor belongs to."""

Rendered: TypeAlias = tuple[dict[str, Any], str]
"""Structured content and text of an answer."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The part of an answer that a caller requests.

    Parameters
    ----------
    max_tokens
        Maximum number of tokens; None without a limit.
    cursor
        The cursor of an earlier answer; empty for the start.
    with_structure
        Whether structured content is sent with the text, and must fit as well.
    """

    max_tokens: int | None = None
    cursor: str = ""
    with_structure: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether the whole answer is requested."""
        return self.max_tokens is None and not self.cursor


def split_page_arguments(
    tool: str, arguments: WireArguments, default: int | None, *, with_structure: bool = True
) -> tuple[PageRequest, WireArguments]:
    """Return the requested page, and the other arguments.

    Raises
    ------
    ToolError
        The number of tokens or the cursor is invalid.
    """
    remaining = {name: value for name, value in arguments.items() if name not in PAGE_SCHEMA}
    tokens, cursor = arguments.get(MAX_TOKENS_ARGUMENT), arguments.get(CURSOR_ARGUMENT)

    # Some clients send all JSON numbers as floats.
    if isinstance(tokens, float) and tokens.is_integer():
        tokens = int(tokens)

    # `True` is an int in Python, and would ask for one token.
    if tokens is not None and (isinstance(tokens, bool) or not isinstance(tokens, int)):
        raise _refusal(tool, f"{MAX_TOKENS_ARGUMENT} must be of type integer, not {type(tokens).__name__}")
    if tokens is not None and not MIN_TOKENS <= tokens <= MAX_TOKENS:
        raise _refusal(tool, f"{MAX_TOKENS_ARGUMENT} must be {MIN_TOKENS} to {MAX_TOKENS}, got {tokens}")

    if cursor is not None and not isinstance(cursor, str):
        raise ToolError(
            f"{tool}: {CURSOR_ARGUMENT} must be of type string, not {type(cursor).__name__}",
            tool=tool,
            argument=CURSOR_ARGUMENT,
        )

    return PageRequest(default if tokens is None else tokens, cursor or "", with_structure), remaining


def _refusal(tool: str, message: str) -> ToolError:
    return ToolError(f"{tool}: {message}", tool=tool, argument=MAX_TOKENS_ARGUMENT)


@dataclass(slots=True)
class _Pager:
    """Finds how much of an answer fits."""

    result: ToolResult
    items: Items
    request: PageRequest
    render: Callable[[ToolResult], Rendered]
    start: ItemMark
    _sizes: dict[ItemMark, int] = field(default_factory=dict)

    def size(self, end: ItemMark) -> int:
        """Return the number of tokens from the start of the page to `end`."""
        if end not in self._sizes:
            payload, text = self.render(self.items.part(self.result, self.start, end))
            self._sizes[end] = measure(payload, text, self.request)
        return self._sizes[end]

    def page_end(self, budget: int) -> ItemMark:
        """Return where a page of `budget` tokens ends: after whole items if one of them fits."""
        last = self.items.count(self.result)
        if last <= self.start.item:
            return ItemMark(last)

        total = self.size(ItemMark(last))
        if total <= budget:
            return ItemMark(last)

        fits, too_long = self.start.item, last
        size_so_far, size_over = 0, total

        # The guess assumes items of equal length, so that few pages are rendered.
        while too_long - fits > 1 and size_so_far < _FULL_ENOUGH * budget:
            guess = fits + (too_long - fits) * (budget - size_so_far) // max(1, size_over - size_so_far)
            guess = min(max(guess, fits + 1), too_long - 1)
            size = self.size(ItemMark(guess))
            if size <= budget:
                fits, size_so_far = guess, size
            else:
                too_long, size_over = guess, size

        if fits > self.start.item:
            return ItemMark(fits)

        return self._stop_within(budget)

    def _stop_within(self, budget: int) -> ItemMark:
        """Return where to cut the first item, which is too long for a page: after whole lines if one of them fits."""
        item, skip = self.start
        if self.size(ItemMark(item + 1)) <= budget:
            return ItemMark(item + 1)

        text = self.items.text(self.result, item)
        line_ends = [index + 1 for index in range(skip, len(text) - 1) if text[index] == "\n"]
        end = self._longest(item, line_ends, budget) or self._longest(item, range(skip + 1, len(text)), budget)

        # An item that can't be cut, or has no part that fits, is shown in full: otherwise no page would get past it.
        return ItemMark(item, end) if end else ItemMark(item + 1)

    def _longest(self, item: int, stops: Sequence[int], budget: int) -> int:
        """Return the last of the ascending `stops` within an item at which it fits; 0 if none does."""
        fits, too_long = -1, len(stops)
        while too_long - fits > 1:
            middle = (fits + too_long) // 2
            if self.size(ItemMark(item, stops[middle])) <= budget:
                fits = middle
            else:
                too_long = middle

        return stops[fits] if fits >= 0 else 0


def measure(payload: Mapping[str, Any], text: str, request: PageRequest) -> int:
    """Return the tokens of an answer: the larger of text and structured content, since a client shows one of them."""
    tokens = estimate_tokens(text)
    if request.with_structure:
        json = orjson.dumps(payload, default=str).decode("utf-8", "replace")
        tokens = max(tokens, estimate_tokens(json))
    return tokens


def render_page(
    tool: str, result: ToolResult, items: Items | None, request: PageRequest, render: Callable[[ToolResult], Rendered]
) -> Rendered:
    """Render the requested part of an answer.

    Parameters
    ----------
    tool
        Name of the tool.
    result
        The whole answer.
    items
        The items to divide it into; None to divide its text by lines, without structured content.
    request
        The requested part.
    render
        The function that renders an answer.

    Raises
    ------
    ToolError
        The cursor doesn't belong to this answer.
    """
    if request.is_whole:
        return render(result)
    if items is None:
        return _cut_text(tool, *render(result), request)

    start = _read_cursor(tool, request.cursor, result, items) if request.cursor else ItemMark(0)
    pager = _Pager(result, items, request, render, start)
    last = items.count(result)
    end = ItemMark(last) if request.max_tokens is None else pager.page_end(request.max_tokens - _RESERVE)
    if end == ItemMark(last):
        # A last page is complete only together with those before it.
        if start == ItemMark(0):
            return render(result)
        return render(items.part(result, start, end))

    # The page shows the start of an item that is too long for it, and the next page the rest.
    shown_end = end.item + 1 if end.offset else end.item
    partly = " and the rest of the last one" if end.offset else ""
    remaining = last - shown_end
    tokens = max(0, pager.size(ItemMark(last)) - pager.size(end))
    cursor = _write_cursor(result, items, end)
    payload, text = render(replace(items.part(result, start, end), complete=False))
    payload = {**payload, "nextCursor": cursor, "leftOut": {items.noun: remaining, "tokens": tokens}}
    note = (
        f"{items.noun.capitalize()} {start.item + 1:,} to {shown_end:,} of {last:,}; "
        f"{remaining:,} more{partly}, about {tokens:,} tokens, with the same arguments and cursor {cursor}"
    )
    return payload, f"{text.rstrip(chr(10))}\n\n({note})\n"


def _cut_text(tool: str, payload: dict[str, Any], text: str, request: PageRequest) -> Rendered:
    """Cut an answer that has no items after whole lines."""
    if request.cursor:
        raise ToolError(f"{tool}: its answers have no cursor", tool=tool, argument=CURSOR_ARGUMENT)

    budget = (request.max_tokens or MAX_TOKENS) - _RESERVE
    total = measure(payload, text, request)
    if total <= budget:
        return payload, text

    lines = text.split("\n")
    fits, too_long = 0, len(lines)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if estimate_tokens("\n".join(lines[:middle])) <= budget:
            fits = middle
        else:
            too_long = middle

    visible = "\n".join(lines[:fits])
    remaining = {"lines": len(lines) - fits, "tokens": estimate_tokens(text) - estimate_tokens(visible)}
    omission = f"{count_of(remaining['lines'], 'more line')}, about {remaining['tokens']:,} tokens,"
    note = f"({omission} are left out; pass a larger maxTokens.)"

    attributes = {
        name: value for name, value in payload.items() if isinstance(value, str) and len(value) <= _MAX_ATTRIBUTE_CHARS
    }
    content = {**attributes, "text": f"{visible}\n", "limitHit": True, "leftOut": remaining}
    return content, f"{visible}\n\n{note}\n"


def _write_cursor(result: ToolResult, items: Items, mark: ItemMark) -> str:
    text = f"{_CURSOR_VERSION}:{mark.item}:{mark.offset}:{_digest(result, items, mark)}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read_cursor(tool: str, cursor: str, result: ToolResult, items: Items) -> ItemMark:
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
        version, item, offset, digest = text.split(":")
        mark = ItemMark(int(item), int(offset))
    except (binascii.Error, ValueError):
        version, mark, digest = "", ItemMark(0), ""

    if version != _CURSOR_VERSION or mark.item < 0 or mark.offset < 0:
        message = f"{tool}: {CURSOR_ARGUMENT} is not a cursor; pass the one of an earlier answer unchanged"
        raise ToolError(message, tool=tool, argument=CURSOR_ARGUMENT)
    if mark.item >= items.count(result) or _digest(result, items, mark) != digest:
        message = f"{tool}: the answer has changed since this cursor, or the arguments differ; call it without a cursor"
        raise ToolError(message, tool=tool, argument=CURSOR_ARGUMENT)

    return mark


def _digest(result: ToolResult, items: Items, mark: ItemMark) -> str:
    """Return a digest of the items before a cursor, including the item that it divides."""
    digest = hashlib.sha256()
    digest.update(repr([result.attributes.get(name) for name in _IDENTIFYING]).encode("utf-8", "replace"))
    for item in range(mark.item + (1 if mark.offset else 0)):
        digest.update(items.key(result, item).encode("utf-8", "replace"))
    return digest.hexdigest()[:10]
