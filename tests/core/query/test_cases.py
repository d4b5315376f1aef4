"""Every row of the case file: tree, errors, result types, boost and plan."""

import json
from pathlib import Path
from typing import Any

import pytest

from sourcelight.core.errors import QueryError
from sourcelight.core.query import Query, canonical, parse

CASES: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("query-cases.jsonl").read_text("utf-8").splitlines()
]

# Rows marked as accidents of the reference that we read differently on purpose: query -> (our tree, reason).
DIFFERENCES: dict[str, tuple[Any, str]] = {
    "x (a)or c": (
        {
            "op": "or",
            "args": [
                {"op": "and", "args": [{"pattern": "x", "kind": "literal"}, {"pattern": "a", "kind": "literal"}]},
                {"pattern": "c", "kind": "literal"},
            ],
        },
        "a closing parenthesis ends its group, whether or not a space follows",
    ),
    "R:has.path(x) y": (
        {
            "op": "and",
            "args": [
                {"filter": "repo", "predicate": "has.path", "args": {"path": "x"}},
                {"pattern": "y", "kind": "literal"},
            ],
        },
        "field names are read in any case everywhere, before predicates too",
    ),
    "REPO:has.path(x) y": (
        {
            "op": "and",
            "args": [
                {"filter": "repo", "predicate": "has.path", "args": {"path": "x"}},
                {"pattern": "y", "kind": "literal"},
            ],
        },
        "field names are read in any case everywhere, before predicates too",
    ),
}


def unordered(form: Any) -> Any:
    """Return a canonical form in which the order of operands no longer counts."""
    if isinstance(form, dict):
        result = {key: unordered(value) for key, value in form.items()}
        if "op" in result:
            result["args"] = sorted(result["args"], key=repr)
        return result
    return [unordered(part) for part in form] if isinstance(form, list) else form


def plan_of(query: Query) -> list[dict[str, Any]]:
    return [
        {
            "filters": [canonical(node) for node in alternative.filters],
            "pattern": canonical(alternative.pattern),
            "types": list(alternative.types),
            **({} if alternative.boost is None else {"boost": alternative.boost}),
        }
        for alternative in query.plan
    ]


@pytest.mark.parametrize("case", CASES, ids=[f"{number}-{case['query'][:40]}" for number, case in enumerate(CASES)])
def test_a_case_reads_as_the_reference_reads_it(case: dict[str, Any]) -> None:
    if "error" in case:
        with pytest.raises(QueryError) as caught:
            parse(case["query"], case["patternType"])
        assert (caught.value.message, caught.value.stage) == (case["error"], case["stage"])
        assert caught.value.query == case["query"]
        return
    query = parse(case["query"], case["patternType"])
    if case["query"] in DIFFERENCES:
        assert case["quirk"]
        assert unordered(canonical(query.root)) == unordered(DIFFERENCES[case["query"]][0])
        return
    assert unordered(canonical(query.root)) == unordered(case["parse"])
    assert query.pattern_type == case.get("effectivePatternType", case["patternType"])
    plan = plan_of(query)
    if "plan" in case:
        assert unordered(plan) == unordered(case["plan"])
    elif query.root is None:
        assert plan == []
    else:
        assert len(plan) == 1
        assert plan[0]["types"] == case.get("types", ["file", "path", "repo"])
        assert plan[0].get("boost") == case.get("boost")


def test_only_rows_marked_as_accidents_differ() -> None:
    marked_text = {case["query"] for case in CASES if case.get("quirk")}
    assert set(DIFFERENCES) <= marked_text
