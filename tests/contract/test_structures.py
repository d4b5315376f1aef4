"""Patterns of code answer alike on every backend, in a stream and over MCP."""

from __future__ import annotations

import pytest

import sourcelight as sl
from sourcelight.core.errors import QueryError
from sourcelight.engines.structure.pattern import LANGUAGES

pytest.importorskip("ast_grep_py", reason="the extra `structural` is not installed")

QUERIES = [
    "patternType:ast-grep lang:python $F($$$A)",
    "patternType:ast-grep lang:go func $F($$$) $R { $$$ }",
    "patternType:ast-grep $A = $B",
    "patternType:ast-grep lang:go if err != nil { $$$ } AND NOT panic($$$)",
    "patternType:ast-grep lang:typescript select:file return $X",
    "patternType:ast-grep type:diff lang:python print($$$)",
    "patternType:ast-grep type:commit lang:go return $$$",
]
COLUMNS = ["type", "repository", "path", "commit", "line_number", "line", "start", "end", "match_count", "side"]


def answer(client: sl.Client, query: str) -> tuple[list[dict[str, object]], str, set[str]]:
    result = client.search(query, progress=False)
    frame = result.matches[COLUMNS].astype(object)
    records = frame.where(frame.notna(), None).to_dict("records")
    rows = [{k: v if v is None or k not in {"start", "end"} else list(v) for k, v in r.items()} for r in records]
    return rows, result.status, set(result.skipped["reason"])


@pytest.mark.parametrize("query", QUERIES)
def test_a_pattern_of_code_gives_the_same_rows(embedded: sl.Client, other: sl.Client, query: str) -> None:
    expected, status, reasons = answer(embedded, f"{query} count:all")
    assert expected
    assert answer(other, f"{query} count:all") == (expected, status, reasons)


def test_a_limit_is_the_same(code: sl.Client) -> None:
    result = code.search("patternType:ast-grep count:5 return $X", progress=False)
    assert (result.match_count, result.status) == (5, "partial")


def test_a_federation_gives_them_too(embedded: sl.Client, federated: sl.Client) -> None:
    query = "patternType:ast-grep lang:python $F($$$A) count:all"
    locations = [
        {(row["repository"], row["path"], row["line_number"]) for row in answer(client, query)[0]}
        for client in (embedded, federated)
    ]
    assert locations[0] == locations[1]


def test_a_call_names_the_type_beside_the_query(code: sl.Client) -> None:
    beside = code.search("lang:python $F($$$A)", pattern_type="ast-grep", progress=False)
    within = code.search(QUERIES[0], progress=False)
    assert beside.match_count == within.match_count > 0


def test_counts_are_the_sums_of_the_rows(embedded: sl.Client, other: sl.Client) -> None:
    frame = embedded.search(f"{QUERIES[0]} count:all", progress=False).matches
    sums = frame.groupby("repository", observed=True)["match_count"].sum()
    for client in (embedded, other):
        counts = client.count_by(QUERIES[0], "repository")
        assert dict(zip(counts["repository"], counts["matches"], strict=True)) == sums[sums > 0].to_dict()


def test_the_tool_takes_them(embedded: sl.Client, other: sl.Client) -> None:
    tables = [client.keyword_search(QUERIES[1]) for client in (embedded, other)]
    assert len(tables[0]) > 0
    assert set(tables[0]["path"]) == set(tables[1]["path"])


def test_what_is_no_pattern_is_the_same_error(code: sl.Client) -> None:
    with pytest.raises(QueryError, match="isn't a pattern of code in Python: Multiple AST nodes are detected"):
        code.search("patternType:ast-grep lang:python a b c", progress=False)


def test_a_query_that_excludes_every_language_is_the_same_error(code: sl.Client) -> None:
    excluded = " ".join(f'-lang:"{name}"' for name in LANGUAGES)
    with pytest.raises(QueryError, match="excludes every language"):
        code.search(f"patternType:ast-grep {excluded} $A = $B", progress=False)
