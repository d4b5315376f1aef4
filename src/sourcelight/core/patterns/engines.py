r"""The RE2 engines of one pattern: matchers for single texts, for lines, and for many texts at once.

Counts such as that in ``\w.{50}x`` need more states than RE2 keeps, and classes such as ``\pL`` thousands of
instructions; it then reads some megabytes a second. So a weaker pattern in RE2's own syntax selects candidates: it
matches wherever the pattern does. Its classes hold every character beyond ASCII where those of the pattern hold many,
and ``{50}`` becomes "twice or more".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from sourcelight.core.errors import PatternError
from sourcelight.core.patterns.bulk import BulkMatcher
from sourcelight.core.patterns.class_runs import ClassRuns, class_runs
from sourcelight.core.patterns.exact import ExactMatcher, compile_re2, quote
from sourcelight.core.patterns.syntax import literal_tree, parse
from sourcelight.core.patterns.tree import (
    Alternate,
    Anchor,
    Chars,
    Concat,
    Node,
    ParsedPattern,
    Repeat,
    UnknownNode,
    anchors,
    matches_newline,
    never_empty,
    nullable,
)

PatternKind: TypeAlias = Literal["literal", "regexp"]

MAX_COUNT = 2
"""Maximum count that a weaker pattern keeps: from ``{3}`` on it says ``{2,}``, which needs few states."""

# Anchors in RE2's syntax.
_ANCHORS = {
    "line-start": "(?m:^)",
    "line-end": "(?m:$)",
    "text-start": r"\A",
    "text-end": r"\z",
    "word": r"\b",
    "not-word": r"\B",
}


@dataclass(frozen=True, slots=True, eq=False)
class PatternEngines:
    """Compiled engines of a pattern, built on first use; patterns that need no RE2 never build them.

    `source_tree` is the tree of the pattern as written. `tree` is that of the pattern that scans use, which can't match
    an empty text. `matcher` matches the pattern as written in one text; the other engines match `tree`.
    """

    source_tree: Node
    tree: Node
    multi_line: bool
    matcher: ExactMatcher
    finder: ExactMatcher
    bulk: BulkMatcher
    nullable: bool
    runs: ClassRuns | None
    unanchored: bool
    line_is_text: bool

    @classmethod
    def of(cls, text: str, kind: PatternKind, *, case_sensitive: bool, whole_text: bool) -> PatternEngines:
        """Compile a pattern; raises `PatternError`."""
        raw = text.encode()
        source = raw
        if kind == "literal":
            source = quote(raw)
        else:
            # Error messages quote the pattern without the added flags.
            compile_re2(source, case_sensitive=case_sensitive, quoted=text)

        # RE2 reads ^ and $ as the ends of the text unless (?m) is on.
        flagged = source if whole_text else b"(?m)" + source
        regexp = compile_re2(flagged, case_sensitive=case_sensitive, quoted=text)
        syntax = _parse(text, kind, source, case_sensitive=case_sensitive, whole_text=whole_text)
        source_tree = syntax.tree
        anchor_kinds = anchors(source_tree)
        anchored_ends = {"text-start", "text-end"} & anchor_kinds

        # \A and \z name the ends of the document, which a scan of single lines can't see.
        multi_line = matches_newline(source_tree) or (bool(anchored_ends) and not whole_text)
        matches_empty = nullable(source_tree)
        flags = ("" if case_sensitive else "i") + ("" if whole_text else "m")
        kernel = _with_flags(flags, syntax.source)

        # $ and \z look ahead only. Every other anchor, \b too, looks at the byte before a match, so a search that goes
        # on after a match must still see that byte.
        looks_behind = bool(anchor_kinds - {"line-end", "text-end"}) or isinstance(source_tree, UnknownNode)
        matcher = ExactMatcher(regexp, kernel, looks_behind=looks_behind, nullable=matches_empty)

        # Empty matches are dropped anyway. Excluding them here saves an attempt at every character.
        shorter = None
        if kind == "regexp" and not anchor_kinds:
            shorter = never_empty(syntax)

        # A pattern that begins with its flags needs no brackets, which an open ``\\Q`` would swallow.
        bulk_source = flagged if case_sensitive else b"(?i)" + flagged
        tree = source_tree
        if shorter is not None:
            tree = shorter.tree
            matches_empty = False
            kernel = _with_flags(flags, shorter.source)
            regexp = compile_re2(kernel or b"", case_sensitive=case_sensitive, quoted=text)
            bulk_source = kernel or bulk_source

        runs = None
        if not matches_empty and not anchor_kinds:
            runs = class_runs(tree, greedy=syntax.greedy)

        finder = ExactMatcher(regexp, kernel, looks_behind=looks_behind, nullable=matches_empty, runs=runs)
        return cls(
            source_tree=source_tree,
            tree=tree,
            multi_line=multi_line,
            matcher=matcher,
            finder=finder,
            bulk=BulkMatcher(bulk_source, lambda: weaker_patterns(tree)),
            nullable=matches_empty,
            runs=runs,
            unanchored=not anchor_kinds,
            line_is_text=bool(anchored_ends),
        )


def _parse(text: str, kind: PatternKind, source: bytes, *, case_sensitive: bool, whole_text: bool) -> ParsedPattern:
    if kind == "literal":
        # A literal needs no parser: its tree is its characters, and the quoted source has no captures.
        return ParsedPattern(literal_tree(text, fold=not case_sensitive), source)
    return parse(text, fold=not case_sensitive, multi_line=not whole_text)


def _with_flags(flags: str, source: bytes | None) -> bytes | None:
    if source is None:
        return None
    if flags:
        return b"(?" + flags.encode() + b":" + source + b")"
    return b"(?:" + source + b")"


class _Unwritable(Exception):
    """A part that has no weaker form here."""


def weaker_patterns(tree: Node) -> tuple[bytes, ...]:
    """Return patterns that match wherever the tree does, each weaker than the one before; case is written out."""
    try:
        sources = [_write(tree, count).encode() for count in (None, MAX_COUNT)]
        for source in sources:
            # RE2 may refuse the weaker form, as too large for one; the pattern is then used as it is.
            compile_re2(source, case_sensitive=True, quoted="")
    except (_Unwritable, PatternError, RecursionError):
        return ()

    return tuple(dict.fromkeys(sources))


def _write(node: Node, max_count: int | None) -> str:
    if isinstance(node, Chars):
        return _class(node)
    if isinstance(node, Anchor):
        return _ANCHORS[node.kind]
    if isinstance(node, Concat):
        return "".join(_write(part, max_count) for part in node.parts)
    if isinstance(node, Alternate):
        return "(?:" + "|".join(_write(part, max_count) for part in node.parts) + ")"
    if isinstance(node, Repeat):
        return _repeat(node, max_count)

    raise _Unwritable


def _class(node: Chars) -> str:
    ascii_part = _ascii_ranges(node.narrow)
    # All of ASCII stays exact: code is mostly ASCII, so the weaker class still rules most lines out.
    if node.wide is None:
        beyond = r"\x{80}-\x{10FFFF}"
    else:
        beyond = "".join(f"\\x{{{code:x}}}" for code in node.wide)

    if not ascii_part and not beyond:
        raise _Unwritable
    return f"[{ascii_part}{beyond}]"


@lru_cache(1_024)  # a long alternation of words has one class for each of its letters
def _ascii_ranges(narrow: int) -> str:
    r"""Return the bits set among the first 128 as ranges of a class: ``\x30-\x39\x5f`` for the digits and ``_``."""
    codes = [code for code in range(128) if narrow >> code & 1]
    starts = [code for code in codes if code - 1 not in codes]
    ends = [code for code in codes if code + 1 not in codes]

    ranges = ""
    for start, end in zip(starts, ends, strict=True):
        ranges += f"\\x{start:02x}"
        if end > start:
            ranges += f"-\\x{end:02x}"
    return ranges


def _repeat(node: Repeat, max_count: int | None) -> str:
    minimum, maximum = node.low, node.high
    # RE2 accepts {0}, of a part that never matches.
    if maximum == 0:
        return ""

    if max_count is not None and max(minimum, maximum or 0) > max_count:
        # {50} becomes {2,}: it matches wherever the exact count does, with few states.
        minimum, maximum = min(minimum, max_count), None

    return f"(?:{_write(node.part, max_count)}){_quantifier(minimum, maximum)}"


def _quantifier(minimum: int, maximum: int | None) -> str:
    """Return ``*``, ``{2,}`` or ``{2,5}``; empty for exactly once."""
    signs = {(0, None): "*", (1, None): "+", (0, 1): "?", (1, 1): ""}
    if (minimum, maximum) in signs:
        return signs[minimum, maximum]
    if maximum is None:
        return f"{{{minimum},}}"
    return f"{{{minimum},{maximum}}}"
