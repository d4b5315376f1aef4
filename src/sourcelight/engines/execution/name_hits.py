"""Compile terms of a query, and match them against the names of repositories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from sourcelight.core.code_points import spans_in_text
from sourcelight.core.errors import PatternError, QueryError
from sourcelight.core.patterns import CompiledPattern, compile_pattern
from sourcelight.core.patterns.formula import satisfies
from sourcelight.core.patterns.ranges import disjoint_spans
from sourcelight.core.query import Alternative, And, Node, Or, Pattern
from sourcelight.engines.search import Target


def compile_term(pattern: Pattern, *, sensitive: bool, whole_text: bool = False) -> CompiledPattern:
    """Compile a literal or a regular expression; raises `QueryError`."""
    kind: Literal["regexp", "literal"] = "regexp" if pattern.kind == "regexp" else "literal"
    try:
        return compile_pattern(pattern.value, kind=kind, case_sensitive=sensitive, whole_text=whole_text)
    except PatternError as error:
        # The parser has let it pass: only with case folded does it outgrow RE2's memory.
        raise QueryError(str(error), query=pattern.value, hint="make the pattern smaller, or add case:yes") from error


def repository_hits(
    alternative: Alternative, targets: Sequence[Target]
) -> tuple[tuple[Target, tuple[tuple[int, int], ...]], ...]:
    """Return repositories whose name matches the pattern; the pattern ends at its first ``@``."""
    if _no_name_matches(alternative, targets):
        return ()

    matcher = _NameMatcher(alternative.case_sensitive())
    matches = []
    for target in targets:
        name = target.repository.info.name.encode()
        name_spans = matcher.spans(alternative.pattern, name)
        if name_spans is not None:
            matches.append((target, tuple(disjoint_spans(spans_in_text(name, name_spans)))))

    return tuple(matches)


def _no_name_matches(alternative: Alternative, targets: Sequence[Target]) -> bool:
    """Return whether one look at all names together shows that none matches."""
    pattern = alternative.pattern
    if not isinstance(pattern, Pattern) or pattern.negated:
        return False

    if pattern.kind == "literal":
        text = "" if pattern.content else pattern.value.split("@", 1)[0]
        if not text:
            return True
        names = "\n".join([target.repository.info.name for target in targets])
        return text.isascii() and names.isascii() and text.lower() not in names.lower()

    if "@" in pattern.value:
        return False

    # The expression is compiled for files anyway; for names, where ^ and $ mean something else, only if they may match.
    names = "\n".join([target.repository.info.name for target in targets])
    if not names.isascii():
        return False

    required = compile_term(pattern, sensitive=alternative.case_sensitive()).required
    return not satisfies(required, names.lower().encode())


class _NameMatcher:
    """Finds the pattern of a query in names; each expression is compiled once, for the first name that needs it."""

    def __init__(self, case_sensitive: bool) -> None:  # noqa: FBT001 - its only argument
        self._case_sensitive = case_sensitive
        self._compiled: dict[Pattern, CompiledPattern | None] = {}

    def spans(self, node: Node | None, name: bytes) -> list[tuple[int, int]] | None:
        """Return the spans in a name that matches, or None if it doesn't."""
        if isinstance(node, Pattern):
            return self._pattern_spans(node, name)
        if not isinstance(node, And | Or):
            return []

        arg_spans = [self.spans(arg, name) for arg in node.args]
        present_spans = [part for part in arg_spans if part is not None]
        enough = len(present_spans) == len(arg_spans) if isinstance(node, And) else bool(present_spans)
        return [span for part in present_spans for span in part] if enough else None

    def _pattern_spans(self, node: Pattern, name: bytes) -> list[tuple[int, int]] | None:
        text = "" if node.content else node.value.split("@", 1)[0]
        if not text:
            return None

        name_spans: list[tuple[int, int]] = []
        # A literal is checked by a plain search first: compiling a pattern for thousands of repositories costs more
        # than the match.
        is_ascii = text.isascii() and name.isascii()
        if node.kind == "regexp" or not is_ascii or text.encode().lower() in name.lower():
            if node not in self._compiled:
                self._compiled[node] = self._compile(node, text)
            pattern = self._compiled[node]
            name_spans = [] if pattern is None else pattern.find(name)

        if node.negated:
            return None if name_spans else []

        return name_spans or None

    def _compile(self, node: Pattern, text: str) -> CompiledPattern | None:
        try:
            return compile_term(replace(node, value=text), sensitive=self._case_sensitive, whole_text=True)
        except QueryError:
            if text == node.value:
                raise
            return None  # the text before an @ inside a group or class isn't an expression, and names no repository
