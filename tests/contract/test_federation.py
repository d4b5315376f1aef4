"""Two services with a repository in common give the tables that one service over everything gives."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest

import sourcelight as sl
from contract.test_tools import ALL, CALLS, GAUGE, HANDBOOK, HUB, PYTIDE, frame, ids
from equal_frames import assert_frame_equal
from sourcelight.client.portal import call

QUERIES = [
    "retry count:all",
    "e count:all",
    "retry type:path count:all",
    "type:symbol retry count:all",
    "repo:tidewatch type:repo count:all",
    "type:commit fix count:all",
    "type:diff retry count:all",
    "lang:go count:all",
    "no such text anywhere count:all",
]
ACROSS = {"go_to_definition", "find_references"}
RANKED = {"keyword_search"}
SUMMED: list[tuple[str, Mapping[str, Any]]] = [
    ("contributors", {"repos": ALL, "by": ["repository", "year"], "after": "2022-01-01"}),
    ("contributors", {"repos": []}),
    ("churn", {"repos": ALL, "by": ["repository", "month"]}),
    ("churn", {"by": ["year"]}),
    ("churn", {"repos": [HUB, PYTIDE], "by": ["author"]}),
    ("pickaxe", {"pattern": "retry", "by": ["year"]}),
    ("identities", {}),
    ("hotspots", {"limit": 7}),
    ("coupling", {"minCommits": 2}),
]


def normalize(frame: Any) -> Any:
    """Rows without the service that they are of, and in an order that does not depend on ties."""
    rows = frame.drop(columns="service", errors="ignore")
    rows = rows.astype({name: str for name in rows if str(rows[name].dtype) in {"category", "object"}})
    keys = rows.map(str).agg("\0".join, axis=1) if len(rows) else pd.Series(dtype=str)
    return rows.loc[keys.sort_values(kind="stable").index].reset_index(drop=True)


@pytest.mark.parametrize("query", QUERIES)
def test_rows_stand_in_the_order_of_one_service(embedded: sl.Client, federated: sl.Client, query: str) -> None:
    expected, parts = embedded.search(query), federated.search(query)
    assert_frame_equal(
        expected.matches.drop(columns=["repository_id"]),
        parts.matches.drop(columns=["service", "repository_id"]),
        check_categorical=False,
    )
    assert (parts.status, parts.match_count) == (expected.status, expected.match_count)
    assert parts.services["rows"].sum() == len(expected)
    assert list(parts.services["status"]) == ["complete", "complete"]
    assert set(parts.matches["service"]) <= {"harbour", "office"}


def test_a_limit_is_of_the_answer_and_not_of_each_service(embedded: sl.Client, federated: sl.Client) -> None:
    expected, parts = (client.search("e count:25") for client in (embedded, federated))
    assert (parts.match_count, parts.status, parts.reasons) == (25, expected.status, expected.reasons)
    result = federated.search("level count:all", limit=10)
    assert result.matches["match_count"].sum() == 10
    assert "display" in set(result.skipped["reason"])
    assert result.progress["match_count"].iloc[-1] == embedded.count("level")


@pytest.mark.parametrize("by", ["repository", ["repository", "language"], None], ids=str)
def test_counts_count_a_shared_repository_once(embedded: sl.Client, federated: sl.Client, by: Any) -> None:
    clients = embedded, federated
    expected, parts = (code.count("retry") if by is None else code.count_by("retry", by) for code in clients)
    if by is None:
        assert expected == parts
    else:
        assert_frame_equal(normalize(expected), normalize(parts))
    assert federated.count_by("retry", "service")["matches"].sum() == embedded.count("retry")


@pytest.mark.filterwarnings("ignore::sourcelight.IncompleteResultWarning")
@pytest.mark.parametrize(("name", "arguments"), [*CALLS, *SUMMED], ids=ids([*CALLS, *SUMMED]))
def test_tools_give_the_tables_of_one_service(
    embedded: sl.Client, federated: sl.Client, name: str, arguments: Mapping[str, Any]
) -> None:
    expected, parts = frame(embedded, name, arguments), frame(federated, name, arguments)
    assert_frame_equal(normalize(expected), normalize(parts), check_categorical=False)
    if name not in ACROSS | RANKED:
        of_rows = () if (name, arguments) in SUMMED else ("repository", "commit")
        keys = [column for column in (*of_rows, "commits", "period", "score") if column in expected]
        assert_frame_equal(expected[keys].astype(str), parts[keys].astype(str))
    if name not in ACROSS:
        assert parts.attrs["status"] == expected.attrs["status"]


@pytest.mark.parametrize("repo", [HUB, PYTIDE, GAUGE, HANDBOOK])
def test_a_call_about_one_repository_goes_to_the_first_that_has_it(federated: sl.Client, repo: str) -> None:
    files = federated.list_files(repo)
    assert files.attrs["service"] == ("harbour" if repo in {HUB, GAUGE} else "office")
    assert set(files["service"]) == {files.attrs["service"]}


def test_pages_of_repositories_are_exact_and_stable(embedded: sl.Client, federated: sl.Client) -> None:
    names = list(embedded.list_repos()["repository"])
    seen, cursor = [], None
    for _ in names:
        page = federated.list_repos(limit=2, cursor=cursor)
        seen += list(page["repository"])
        if not page.attrs["has_next_page"]:
            break
        cursor = page.attrs["end_cursor"]
    assert seen == names
    back = call(federated.backend.call, "list_repos", {"limit": 2, "before": cursor}).table["repository"].to_pylist()
    assert back == seen[seen.index(back[0]) :][:2]
    with pytest.raises(sl.ToolError, match="is not a cursor"):
        federated.list_repos(cursor="é")


def test_a_comparison_goes_on_at_the_service_where_it_began(embedded: sl.Client, federated: sl.Client) -> None:
    requests: dict[str, Any] = {"repo": HUB, "base": "HEAD~10", "head": "HEAD"}
    first = federated.compare_revisions(**requests, limit=2)
    remaining = federated.compare_revisions(**requests, cursor=first.attrs["end_cursor"])
    everything = embedded.compare_revisions(**requests)
    assert [*first["path"], *remaining["path"]] == list(everything["path"])
    with pytest.raises(sl.ToolError, match="an unknown service"):
        federated.compare_revisions(**requests, cursor=f"nobody~{first.attrs['end_cursor']}")


def test_what_no_service_has_is_not_found(federated: sl.Client) -> None:
    for name, arguments, error in (
        ("read_file", {"repo": "example.org/absent", "path": "x"}, sl.RepositoryNotFound),
        ("read_file", {"repo": HUB, "path": "absent"}, sl.PathNotFound),
        ("read_file", {"repo": HUB, "path": "README.md", "revision": "absent"}, sl.RevisionNotFound),
        ("commit_search", {"repos": [HUB, "example.org/absent"]}, sl.RepositoryNotFound),
        ("commit_search", {"repos": [HUB], "after": "the day before never"}, sl.ToolError),
        ("no_such_call", {}, sl.UnsupportedTool),
    ):
        with pytest.raises(error):
            frame(federated, name, arguments)


def test_references_say_where_nobody_looked(federated: sl.Client) -> None:
    with pytest.warns(sl.IncompleteResultWarning, match="Only repositories of office were searched"):
        references = federated.find_references(PYTIDE, "src/pytide/client.py", "Hub")
    assert references.attrs["status"] == "limited"


def test_deep_search_is_refused_with_the_way_to_ask_one_service(federated: sl.Client) -> None:
    with pytest.raises(sl.UnsupportedTool, match=r"code\.services\['harbour'\]\.deepsearch"):
        federated.deepsearch("How long is waited?", cache=False)
    assert set(federated.services) == {"harbour", "office"}


def test_the_list_of_repositories_says_who_has_each(embedded: sl.Client, federated: sl.Client) -> None:
    listing = federated.list_repos().set_index("repository")["service"]
    assert sorted(listing.index) == sorted(embedded.list_repos()["repository"])
    assert listing[HUB] == "harbour, office"
    assert listing[PYTIDE] == "office"


def test_an_explanation_has_a_part_of_each_service(federated: sl.Client) -> None:
    explanation = federated.explain("retry lang:go")
    assert {"harbour", "office"} == set(explanation.data["services"])
    assert "harbour:" in explanation.text
    assert "office:" in explanation.text
    with pytest.raises(sl.QueryError):
        federated.explain("/(/")


def test_rows_lead_on_to_the_service_that_has_them(federated: sl.Client) -> None:
    rows = federated.search("repo:pytide$ retry count:3").matches
    blamed = rows.code.blame()
    assert blamed["blame_commit"].notna().all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = sl.reports.contributors(federated, [HUB, PYTIDE])
    assert "Aiko Tanaka" in report.to_html()
