"""The RE2 engines of one pattern: matchers for single texts, for lines, and for many texts at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from sourcelight.core.patterns.bulk import BulkMatcher
from sourcelight.core.patterns.class_runs import ClassRuns, class_runs
from sourcelight.core.patterns.exact import ExactMatcher, compile_re2, quote
from sourcelight.core.patterns.relaxed import weaker_patterns
from sourcelight.core.patterns.syntax import literal_tree, parse
from sourcelight.core.patterns.tree import (
    Node,
    ParsedPattern,
    UnknownNode,
    anchors,
    matches_newline,
    never_empty,
    nullable,
)

PatternKind: TypeAlias = Literal["literal", "regexp"]


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
