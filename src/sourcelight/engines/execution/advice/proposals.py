"""Find likely mistakes in a query, and suggest what to write instead."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sourcelight.core.boolean import ALWAYS, NEVER
from sourcelight.core.errors import PatternError, QueryError
from sourcelight.core.explanation import Advice
from sourcelight.core.patterns import compile_pattern
from sourcelight.core.query import Alternative, And, Filter, Node, Or, Pattern, Query, canonical, fields, parse
from sourcelight.core.query.alternatives import patterns_of
from sourcelight.core.query.languages import find_language
from sourcelight.core.query.narrowing import in_pattern_type, with_choice, with_pattern
from sourcelight.core.query.normalize import combine
from sourcelight.core.query.syntax.quoting import quote_value, slash_regexp
from sourcelight.engines.execution.advice.cut_filters import (
    cut_filters,
    doubled_backslashes,
    escaped_parentheses,
    unclosed_groups,
)
from sourcelight.engines.execution.scope.selection import finds_only_repositories

# Lower case only: in upper case, an operator is written on purpose.
_OPERATOR = re.compile(r"(?<=[\s)])(and|or)(?=[\s(])|(?:^|(?<=[\s()]))(not)(?=\s)")
_EDGE_OPERATOR = re.compile(r"^\s*(and|or)\b|(?<=\s)(and|or|not)\s*$", re.IGNORECASE)
"""An operator at the start or end of a query, where it has only one operand."""

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|/(?:[^/\\\s]|\\.)+/')
"""A text in quotes, or a regular expression between slashes."""

# No `::`, `:/` or `:\` after the name, as in `std::string`, addresses and paths of Windows.
_LIKE_FILTER = re.compile(r"(-?)([A-Za-z][A-Za-z.]{0,20}):(?![:/\\])(\S+)\Z")
_LOOKS_REGEXP = re.compile(r"\.[*+]|\\[wWdDsSb]|\[[^\]]+\][*+?]?|\w\|\w|\(\?|\w[+*]\w")
"""Signs of a regular expression: ``.*``, ``[a-z]+``, ``a|b``."""

# A dot between letters or digits, as in `setup.py`: such a dot is rarely meant as any character.
_BARE_DOT = re.compile(r"(?<=[A-Za-z0-9_-])\.(?=[A-Za-z0-9])")
_GLOB = re.compile(r"(?:^|/)\*|\*\.\w|\*\*")
"""Signs of a glob: ``**``, ``*.py``."""

_LIKE_PREDICATE = re.compile(r"(?i)(?<![^\s(])-?(repo|r|file|f|path):((?:has|contains)[\w.]*)\(")
"""A text in the form of a predicate: ``repo:has.owner(``."""

# Result types that each `select:` can convert (query-language reference, select).
_SELECTABLE = {
    ("repo",): frozenset(fields.RESULT_TYPES),
    ("file",): frozenset({"file", "path", "symbol"}),
    ("content",): frozenset({"file"}),
    ("symbol",): frozenset({"symbol"}),
    ("commit",): frozenset({"commit", "diff"}),
    ("commit", "diff"): frozenset({"diff"}),
}
_SELECTED = {
    "repo": ("repositories", "type:repo"),
    "file": ("files", "type:file"),
    "content": ("matched lines", "type:file"),
    "symbol": ("definitions", "type:symbol"),
    "commit": ("commits", "type:commit or type:diff"),
}
"""The results that ``select:`` keeps, in words, and the filter that finds them."""

_ENDINGS = frozenset({"ext", "extension", "filetype"})
"""Filters of other tools for the extension of a file."""

_DEFINITIONS = frozenset({"sym", "symbol", "def", "function", "class"})
"""Filters of other tools for definitions."""

_ELSEWHERE = {
    "branch": "rev",
    "tag": "rev",
    "filename": "file",
    "filepath": "file",
    "dir": "file",
    "folder": "file",
    "org": "repo",
    "user": "repo",
    "project": "repo",
}
"""Names of filters in other tools."""

_MAX_ADVICE = 20
"""Remarks about a query, which may repeat a mistake in thousands of alternatives."""

_TYPED = frozenset("\"'()/\\")
"""Characters with different meanings in the pattern types."""

_LINE_BORDERS = (
    (
        re.compile(r"(?<!\\)(?<!\\r\?)(?<!\\x0D\?)((?:\\\\)*)\$(?=$|[|)])"),
        r"\1\\x0D?$",
        "at line ends of Windows (CRLF)",
    ),
    (re.compile(r"(^|(?<=[|(]))\^"), r"\1^\\x{FEFF}?", "after a byte order mark"),
)
"""The ends and starts of lines in expressions, forms that match more files, and their difference."""

NO_KIND = "type: has no kind of result, so nothing is searched"


def advise(query: Query) -> tuple[Advice, ...]:
    """Return likely mistakes in `query`, without knowing any repository; at most twenty."""
    advice_by_key: dict[tuple[str, str], Advice] = {}
    for advice in _all(query):
        advice_by_key.setdefault((advice.kind, advice.message), advice)
        if len(advice_by_key) == _MAX_ADVICE:
            break
    return tuple(advice_by_key.values())


def _all(query: Query) -> Iterator[Advice]:
    yield from _operators(query)
    yield from cut_short(query)
    yield from read_as_text(query)

    for alternative in query.plan:
        yield from without_effect(alternative)
        yield from _unknown_types(alternative, query)
        yield from _contradictions(alternative, query)
        yield from _values(alternative)
        leaves = list(patterns_of(alternative.pattern)) if alternative.pattern is not None else []
        for leaf in leaves:
            yield from _pattern(leaf, query, sensitive=alternative.case_sensitive())

    yield from unknown_predicates(query.text)
    yield from _other_type(query)


def unknown_predicates(text: str) -> Iterator[Advice]:
    """Yield texts of a query that look like a predicate but are read as expressions."""
    for match in _LIKE_PREDICATE.finditer(text):
        on, name = fields.ALIASES[match[1].lower()], match[2].lower()
        if name not in fields.PREDICATE_NAMES[on]:
            near = difflib.get_close_matches(name, fields.PREDICATE_NAMES[on], 1, 0.5)
            yield Advice(
                "predicate-as-regexp",
                f"`{match[1]}:{match[2]}(` begins a regular expression: there is no predicate {on}:{name}()",
                f"did you mean {on}:{near[0]}()?"
                if near
                else f"there are {', '.join(sorted(fields.PREDICATE_NAMES[on]))}",
            )


def cut_short(query: Query) -> Iterator[Advice]:
    """Yield filters of which an unclosed parenthesis left only a part."""
    for message, fix in cut_filters(query):
        yield Advice("no-effect", message, fix)


def read_as_text(query: Query) -> Iterator[Advice]:
    """Yield advice about parentheses that are read as text, and backslashes of which two are one."""
    for kind, message, fix in (*escaped_parentheses(query), *unclosed_groups(query), *doubled_backslashes(query)):
        yield Advice(kind, message, fix)


def without_effect(alternative: Alternative) -> Iterator[Advice]:
    """Yield filters without an effect."""
    types = set(alternative.types)
    if alternative.all("committer") and not types & {"commit", "diff"}:
        yield Advice("no-effect", "committer: selects commits, but the query searches for none", "add type:commit")

    if (alternative.all("rev") or alternative.predicates("rev")) and not any(
        item.value and not item.negated for item in alternative.all("repo")
    ):
        yield Advice(
            "no-effect",
            "rev: applies to the repositories of a repo: filter, but the query has none",
            "add repo: with a name; repo:. names all",
        )

    for item in alternative.all("visibility"):
        if item.value and item.value.lower() not in fields.FIELDS["visibility"].values:
            fix = _did_you_mean(item, "write public or private")
            yield Advice("no-effect", f"visibility:{item.value} is read as any", fix)

    for item in alternative.all("type") if types else ():
        if item.value and item.value not in fields.RESULT_TYPES:
            yield Advice("no-effect", f"type:{item.value} isn't a kind of result", _type_fix(item))

    if any(item.value == fields.OTHER_STRUCTURE for item in alternative.all("patterntype")):
        message = "patternType:structural is ignored: structural search isn't supported in this form"
        yield Advice(
            "no-effect", message, f"use patternType:{fields.STRUCTURE}, with patterns of code such as foo($A, $$$)"
        )


def _did_you_mean(item: Filter, otherwise: str) -> str:
    near = fields.nearest_value(item.name, item.value)
    return f"did you mean {fields.label_of(item.name)}:{near}?" if near else otherwise


def _type_fix(item: Filter) -> str:
    return _did_you_mean(item, f"use {', '.join(fields.RESULT_TYPES)}")


def _unknown_types(alternative: Alternative, query: Query) -> Iterator[Advice]:
    """Yield values of ``type:`` that leave nothing to search for."""
    if alternative.types:
        return

    for item in alternative.all("type"):
        near = fields.nearest_value("type", item.value)
        try:
            intended = with_choice(query, "type", [near]) if near else ""
        except QueryError:
            intended = ""
        yield Advice("unknown-value", f"type:{item.value} isn't a kind of result", _type_fix(item), intended)


def _operators(query: Query) -> Iterator[Advice]:
    # Quoted text can't contain operators. It is replaced by a text of the same length, which keeps all positions.
    bare = _QUOTED.sub(lambda match: "_" * len(match.group()), query.text)
    words = {word for groups in _OPERATOR.findall(bare) for word in groups if word}
    for word in sorted(words):
        yield Advice(
            "operator",
            f"the word `{word}` is read as the operator {word.upper()}",
            f'write {word.upper()} to make that clear, or "{word}" to search for the word',
        )

    for groups in _EDGE_OPERATOR.finditer(bare):
        word = groups.group().strip()
        yield Advice(
            "operator-as-text", f"`{word}` is read as text: an operator needs a term on both sides", f'write "{word}"'
        )


def _contradictions(alternative: Alternative, query: Query) -> Iterator[Advice]:
    languages = alternative.all("lang")
    required_languages = sorted(
        {find_language(item.value) or item.value for item in languages if not item.negated and item.value}
    )
    if len(required_languages) > 1:
        alternatives = " or ".join(f"lang:{quote_value(name)}" for name in required_languages)
        yield Advice(
            "contradiction",
            f"a file must be in all of {', '.join(required_languages)}: several lang: filters are joined by AND",
            f"write ({alternatives})",
            _with_choice(query, required_languages),
        )

    for name in ("repo", *fields.FILE_FIELDS):
        values = alternative.all(name)
        refused = {item.value for item in values if item.negated}
        for value in sorted({item.value for item in values if not item.negated and item.value} & refused):
            yield Advice(
                "contradiction", f"{name}:{value} and -{name}:{value} exclude each other", "leave one of them out"
            )

    leaves = list(patterns_of(alternative.pattern)) if alternative.pattern is not None else []
    for kind, subject in (("path", "paths"), ("repo", "names of repositories")):
        if alternative.types == (kind,) and any(leaf.content for leaf in leaves):
            yield Advice(
                "contradiction",
                f"content: searches files, but type:{kind} searches only {subject}",
                f"leave type:{kind} out",
            )

    if leaves and all(leaf.negated for leaf in leaves) and alternative.types == ("symbol",):
        yield Advice("contradiction", "type:symbol needs a pattern that isn't negated", "add a name")

    yield from _kinds(alternative)
    if not alternative.types:
        yield Advice("contradiction", NO_KIND, "use file, path, repo or symbol")


def _kinds(alternative: Alternative) -> Iterator[Advice]:
    """Yield advice about types of results that other parts of the alternative exclude."""
    types = {"repo"} if finds_only_repositories(alternative) else set(alternative.types)
    select = alternative.select()
    if select and not types & _SELECTABLE[select[:2] if select[:2] == ("commit", "diff") else select[:1]]:
        selector = ".".join(select)
        subject, fix = _SELECTED[select[0]]
        yield Advice(
            "contradiction", f"select:{selector} keeps only {subject}, but the query searches for none", f"add {fix}"
        )

    files = [f"{name}:" for name in fields.FILE_FIELDS if alternative.all(name)]
    files += [f"file:{predicate.name}()" for predicate in alternative.predicates("file")]
    if types == {"repo"} and files:
        yield Advice(
            "contradiction",
            f"{files[0]} keeps only files, but type:repo searches only names of repositories",
            "use repo:has.path() or repo:has.file() to find repositories with a file",
        )

    commits = types & {"commit", "diff"}
    keeping = ""
    if commits:
        # Loads the queries of histories, which searches of text don't need.
        from sourcelight.engines.execution.commits.query import keeps_no_commits

        keeping = keeps_no_commits(alternative, "diff" if "diff" in types else "commit")

    if keeping and types == commits:
        kinds = "only files" if keeping == "has.contributor" else "files and changed lines, no commits"
        yield Advice(
            "contradiction",
            f"file:{keeping}() keeps {kinds}",
            "use author: to find the author of a commit" if keeping == "has.contributor" else "use type:diff",
        )

    for item in (*alternative.all("author"), *alternative.all("committer")):
        # On some code hosts, `@name` is an account, which a repository doesn't know.
        if item.value.startswith("@"):
            yield Advice(
                "account",
                f"{item.name}:{item.value} matches names and addresses, because there are no accounts here",
                f"use a name or an address, such as {item.name}:{item.value[1:] or 'ann'}",
            )


def _values(alternative: Alternative) -> Iterator[Advice]:
    for item in alternative.filters:
        if not isinstance(item, Filter) or item.name not in {"repo", "file"} or not item.value:
            continue
        filter_text = f"{'-' if item.negated else ''}{item.name}:{item.value}"
        if _GLOB.search(item.value) and not item.value.endswith(".*"):
            yield Advice("glob", f"{filter_text} is a regular expression, not a glob", r"write file:\.go$ for *.go")
        escaped = _BARE_DOT.sub(r"\\.", item.value)
        # A host such as github.com has a dot that users rarely escape.
        if escaped != item.value and not (item.name == "repo" and "/" in item.value):
            yield Advice("dot", f"a dot in {filter_text} stands for any character", f"write {item.name}:{escaped}")


def _pattern(leaf: Pattern, query: Query, *, sensitive: bool) -> Iterator[Advice]:
    if leaf.kind == "regexp":
        yield from _regexp(leaf, sensitive=sensitive)
        return

    # Quotes and `content:` mark text that is meant literally.
    if leaf.quoted or leaf.content:
        return

    if '"' in leaf.value and query.pattern_type in {"standard", "literal"}:
        yield Advice(
            "quotes",
            f"the quotes in {leaf.value} are part of the text to find",
            "use patternType:keyword, where quotes mark a phrase",
            _in_keyword(query.text),
        )

    if _LOOKS_REGEXP.search(leaf.value) and query.pattern_type != "literal":
        slashed = slash_regexp(leaf.value)
        proposal = _with_pattern(query, leaf, node=replace(leaf, kind="regexp"), typed=leaf.value, replacement=slashed)
        yield Advice(
            "regexp-as-text",
            f"{leaf.value} looks like a regular expression and is read as plain text",
            f"write {slashed}",
            proposal,
        )

    for word in leaf.value.split():
        match = _LIKE_FILTER.match(word)
        if match is not None:
            intended = _intended_filter(match[1], match[2].lower(), match[3])
            yield Advice(
                "filter-as-text",
                f"`{word}` is read as text: there is no filter {match[2]}:",
                f"did you mean {intended}?" if intended else f'write "{word}" if the text is meant',
                _with_filter(query, leaf, word, intended),
            )
        elif re.match(r"-\w", word):
            yield Advice("dash", f"`{word}` is read as text: a dash negates filters only", f"write NOT {word[1:]}")


def _with_choice(query: Query, languages: Sequence[str]) -> str:
    """Return the query with an `or` of languages; empty if it can't be written."""
    try:
        return with_choice(query, "lang", languages)
    except QueryError:
        return ""


def _with_pattern(query: Query, leaf: Pattern, *, node: Node, typed: str, replacement: str) -> str:
    """Return the query with one pattern replaced by `node`; empty if it can't be written or parsed."""
    try:
        proposed = with_pattern(query, leaf, node, typed, replacement)
        parse(proposed, query.pattern_type)
    except QueryError:
        return ""
    return proposed


def _with_filter(query: Query, leaf: Pattern, word: str, intended: str) -> str:
    """Return the query with the filters `intended` instead of a word that is read as text; empty if there is none."""
    try:
        root = parse(intended, query.pattern_type).root if intended else None
    except QueryError:
        return ""

    nodes = list(root.args if isinstance(root, And) else () if root is None else (root,))
    filters: list[Node] = [node for node in nodes if isinstance(node, Filter)]
    names = [node.value for node in nodes if isinstance(node, Pattern)]

    # Adjacent words without quotes are one literal.
    words: list[str] = []
    for word_of_pattern in leaf.value.split():
        words += names if word_of_pattern == word else [word_of_pattern]
    remaining_words = " ".join(words)
    if not filters or (leaf.negated and (remaining_words or len(filters) > 1)):
        return ""

    if leaf.negated:
        filters = [
            replace(node_filter, negated=not node_filter.negated)
            for node_filter in filters
            if isinstance(node_filter, Filter)
        ]

    node = combine("and", [*filters, *([replace(leaf, value=remaining_words)] if remaining_words else [])])
    return _with_pattern(query, leaf, node=node, typed=word, replacement=intended)


def at_other_line_borders(query: Query) -> Iterator[tuple[str, str]]:
    """Yield the query with expressions that match before a carriage return, or after a byte order mark.

    Both are characters of a line for RE2, and many files of Windows have them.
    """
    as_typed = slash_regexp if query.pattern_type != "regexp" else str
    for leaf in _leaves(query):
        explanations = {leaf.value: ""} if leaf.kind == "regexp" else {}
        for border, replacement, explanation in _LINE_BORDERS:
            for value, earlier in list(explanations.items()):
                both = f"{earlier} and {explanation}" if earlier else explanation
                explanations.setdefault(border.sub(replacement, value), both)

        for value, explanation in list(explanations.items())[1:]:
            node = replace(leaf, value=value)
            proposal = _with_pattern(query, leaf, node=node, typed=as_typed(leaf.value), replacement=as_typed(value))
            yield proposal, explanation


def _in_keyword(text: str) -> str:
    """Return the query in the keyword type; empty if it can't be parsed as such."""
    try:
        return in_pattern_type(text, "keyword")
    except QueryError:
        return ""


def _intended_filter(dash: str, name: str, value: str) -> str:
    """Return the filter that ``name:value`` probably means: another tool's spelling or a typo; empty if unknown."""
    if name in _ENDINGS:
        return rf"{dash}file:\.{re.escape(value.lstrip('.'))}$"
    if name in _DEFINITIONS and not dash:
        return f"type:symbol {value}"
    near = [_ELSEWHERE[name]] if name in _ELSEWHERE else difflib.get_close_matches(name, list(fields.ALIASES), 1, 0.6)
    return f"{dash}{near[0]}:{value}" if near else ""


def _regexp(leaf: Pattern, *, sensitive: bool) -> Iterator[Advice]:
    try:
        pattern = compile_pattern(leaf.value, kind="regexp", case_sensitive=sensitive)
    except PatternError:
        return

    quoted = f"/{leaf.value}/"
    if pattern.required == NEVER:
        yield Advice("never", f"{quoted} can't match any text", "check its character classes and anchors")
    # From the worst to the least: one advice for each pattern is enough.
    elif pattern.matches_empty:
        yield Advice(
            "empty", f"{quoted} matches the empty text, so it matches every file", "use + instead of *, or add a word"
        )
    elif pattern.required == ALWAYS:
        yield Advice(
            "unindexed", f"{quoted} has no text that every match contains, so all files are read", "add a word to it"
        )
    elif _BARE_DOT.search(leaf.value):
        escaped = _BARE_DOT.sub(r"\\.", leaf.value)
        yield Advice("dot", f"a dot in {quoted} stands for any character", f"write /{escaped}/")


def _other_type(query: Query) -> Iterator[Advice]:
    if query.pattern_type not in {"standard", "literal"} or "patterntype:" in query.text.lower():
        return

    # Without these characters, the types differ only in adjacent words, which are one pattern here.
    if _TYPED.isdisjoint(query.text) and not any(" " in leaf.value for leaf in _leaves(query)):
        return

    try:
        other = parse(query.text, "keyword")
    except QueryError:
        return

    # Most queries mean the same in both types; only a difference is worth a line.
    if canonical(other.root) == canonical(query.root):
        return

    words = next((leaf.value for leaf in _leaves(query) if " " in leaf.value), "")
    separate = " AND ".join(f"`{leaf.value}`" for leaf in _leaves(other))
    if words and not any(isinstance(alternative.pattern, Or) for alternative in other.plan):
        advice_text = (
            f"{query.pattern_type} search finds the text `{words}`; keyword search would find files with "
            f"{separate}, anywhere and in any order"
        )
    else:
        advice_text = f"keyword search reads this query differently from {query.pattern_type} search"
    yield Advice("keyword", advice_text, "add patternType:keyword for the other reading", _in_keyword(query.text))


def _leaves(query: Query) -> list[Pattern]:
    leaves: list[Pattern] = []
    for alternative in query.plan:
        if alternative.pattern is not None:
            leaves += patterns_of(alternative.pattern)
    return leaves
