"""Filters are defined once: whatever lists them derives its list from `FIELDS`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import sourcelight
from sourcelight.core.query import parse
from sourcelight.core.query.fields import ALIASES, FIELDS, PREDICATE_NAMES, Field, FilterScope, names_of
from sourcelight.core.query.syntax.predicates import PREDICATES, predicate
from sourcelight.engines.execution.natural_language import split_filters
from sourcelight.engines.execution.plan import SUPPORTED

PACKAGE = Path(sourcelight.__file__).parent
OFFERED = [field for field in FIELDS.values() if field.is_offered]
OWN_WORDS = frozenset({
    "rev", "case", "select", "timeout", "fork", "archived", "index", "visibility", "context", "patterntype",
    "repohasfile", "repohascommitafter",
})  # fmt: skip
"""Filters whose names are not columns, arguments or words of English as well."""


def names_in(node: ast.AST) -> set[str]:
    """Texts that a literal lists: items, keys, or words between bars."""
    if isinstance(node, ast.Set | ast.List | ast.Tuple):
        items: list[ast.expr | None] = [*node.elts]
    elif isinstance(node, ast.Dict):
        items = node.keys
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "|" in node.value:
        return set(re.findall(r"[a-z]+", node.value))
    else:
        return set()
    return {item.value.strip("-:") for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)}


def second_lists(path: Path) -> Iterator[str]:
    text = path.read_text("utf-8")
    # Most modules name no three of them at all, and need no tree.
    for node in ast.walk(ast.parse(text)) if sum(word in text for word in OWN_WORDS) > 2 else ():
        names = names_in(node) & OWN_WORDS
        if len(names) > 2:
            yield f"{path.relative_to(PACKAGE)}:{getattr(node, 'lineno', 0)} lists {', '.join(sorted(names))}"


def test_no_module_lists_filters_again() -> None:
    modules = (path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "core" / "query" / "fields.py")
    assert [duplicate for path in modules for duplicate in second_lists(path)] == []


def test_a_second_list_is_seen() -> None:
    for text in ('{"fork", "archived", "index"}', '{"fork": 1, "case": 2, "rev": 3}', '"-?(?:fork|case|context):"'):
        ast_names = [names_in(node) & OWN_WORDS for node in ast.walk(ast.parse(text))]
        assert max(map(len, ast_names)) == 3, text


def test_engines_answer_all_that_is_supported() -> None:
    assert {field.name for field in FIELDS.values() if field.supported} <= SUPPORTED
    assert not {"rule", "g"} & SUPPORTED
    assert PREDICATES <= SUPPORTED


def test_every_predicate_that_a_field_takes_can_be_read() -> None:
    read = {
        f"{on}:{predicate(on, name, 'x:y', negated=False).name}"
        for on, names in PREDICATE_NAMES.items()
        for name in names
    }
    assert read == PREDICATES


@pytest.mark.parametrize("field", [field for field in OFFERED if field.values], ids=lambda field: field.name)
def test_values_that_are_offered_are_accepted(field: Field) -> None:
    for value in field.values:
        assert parse(f"{field.name}:{value} x", "keyword").plan


@pytest.mark.parametrize("spelling", sorted(ALIASES))
def test_ranked_search_takes_what_narrows_repositories_and_files(spelling: str) -> None:
    name = ALIASES[spelling]
    narrows = name in names_of(FilterScope.REPOSITORY, FilterScope.FILE) | {"case"}
    filters, question = split_filters(f"how are {spelling}:x retries spaced")
    assert filters == (f"{spelling}:x" if narrows else "")
    assert question.split() == f"how are {'' if narrows else f'{spelling}:x '}retries spaced".split()


def test_a_field_that_a_predicate_replaces_names_one() -> None:
    assert {field.replaced_by for field in FIELDS.values()} - {""} <= PREDICATES


def test_every_field_says_what_it_does() -> None:
    assert [field.name for field in FIELDS.values() if not field.meaning] == []
