"""Contexts, predicates on repositories, and who may see what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engines.execution.running_queries import alert, rows, run
from sourcelight.backends.embedded import open_engine
from sourcelight.core.errors import QueryError
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos import Viewer
from sourcelight.testing.repositories import FIRST_DATE, RepositoryBuilder

REPOS_TOML = r"""
[repositories."example.org/team/api"]
description = "A Go package\nfor payments"
topics = ["payments", "go"]
metadata = { team = "checkout", reviewed = true }
[repositories."example.org/team/web"]
description = "The shop"
topics = ["shop"]
metadata = { team = "front:end" }
[repositories."example.org/team/fork"]
fork = true
[repositories."example.org/team/old"]
archived = true
[repositories."example.org/team/secret"]
private = true
topics = ["payments"]

[contexts.shop]
repositories = ["example.org/team/web", "example.org/team/api@v1"]
[contexts.hidden]
repositories = ["example.org/team/secret"]
[contexts.mixed]
repositories = ["example.org/team/secret", "example.org/team/web"]
[contexts.typo]
repositories = ["example.org/team/webb", "example.org/team/web"]
[contexts.payments]
query = 'repo:has.topic(payments) lang:go'
[contexts.either]
query = 'repo:team/api@v1 or repo:team/web$'
[contexts.vault]
query = 'repo:team/secret$'
[contexts.wrong]
query = 'repo:team foo'
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repositories")
    for number, name in enumerate(("api", "web", "fork", "old", "secret")):
        repo = RepositoryBuilder(root / name, origin=f"https://example.org/team/{name}.git")
        repo.commit({"main.go": "package main // retry v1\n"}, date=FIRST_DATE + number * 86_400)
        repo.tag("v1")
        files = {"main.go": "package main // retry\n", "src/name.py": f"# {name}\nimport os  # retry\n"}
        if name in {"api", "secret"}:
            files |= {"go.mod": "module Payments\n", "docs/read.md": "os\n"}
        repo.commit(files, date=FIRST_DATE + (100 + number) * 86_400)
    (root / "repos.toml").write_text(REPOS_TOML)
    return root


def repositories_of(events: list[Any]) -> set[str]:
    return {r["repository"].rsplit("/", 1)[-1] + (f"@{r['revision']}" if r["revision"] else "") for r in rows(events)}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("repo:has.path(go\\.mod)", {"api", "secret"}),
        ("repo:has.path(GO\\.mod)", {"api", "secret"}),
        ("repo:has.path(GO\\.mod) case:yes", set()),
        ("-repo:has.path(go\\.mod)", {"web"}),
        ("repo:contains.path(^docs/)", {"api", "secret"}),
        ("repohasfile:go\\.mod", {"api", "secret"}),
        ("-repohasfile:go\\.mod", {"web"}),
        ("repo:has.content(payments)", {"api", "secret"}),
        ("repo:has.content(payments) case:yes", set()),
        ("-repo:contains.content(Payments)", {"web"}),
        ("repo:has.file(path:go\\.mod content:Payments)", {"api", "secret"}),
        ("repo:has.file(path:main content:Payments)", set()),
        ("repo:has.file(go\\.mod)", {"api", "secret"}),
        ("repo:contains(file:go\\.mod content:pay)", {"api", "secret"}),
        ("-repo:has.file(path:name content:web)", {"api", "secret"}),
        ("repo:has.topic(payments)", {"api", "secret"}),
        ("repo:has.topic(pay)", set()),
        ("-repo:has.topic(payments)", {"web"}),
        ("repo:has.description(go package)", {"api"}),
        ("repo:has.description(GO payments)", {"api"}),
        ("repo:has.meta(team)", {"api", "web"}),
        ("repo:has.meta(team:checkout)", {"api"}),
        ('repo:has.meta(team:"front:end")', {"web"}),
        ("repo:has.meta(/^te/:/check/)", {"api"}),
        ("repo:has.meta(reviewed:)", {"api"}),
        ("repo:has.meta(team:)", set()),
        ("-repo:has.meta(team)", {"secret"}),
        ("repo:has(team:checkout)", {"api"}),
        ("repo:has.tag(reviewed)", {"api"}),
        ("repo:has.key(team)", {"api", "web"}),
        ("repo:has.topic(payments) -repo:secret", {"api"}),
        ("visibility:private", {"secret"}),
        ("visibility:public", {"api", "web"}),
        ("fork:only", {"fork"}),
        ("archived:only", {"old"}),
        ("fork:only archived:only", set()),
        ("fork:yes archived:yes visibility:public", {"api", "web", "fork", "old"}),
    ],
)
def test_filters_choose_repositories(engine: LocalEngine, query: str, expected: set[str]) -> None:
    assert repositories_of(run(engine, f"{query} retry type:file")) == expected
    assert repositories_of(run(engine, f"{query} type:repo")) == expected


def test_a_predicate_alone_lists_repositories(engine: LocalEngine) -> None:
    result = rows(run(engine, "repo:has.path(go\\.mod)"))
    assert {(r["type"], r["repository"].rsplit("/", 1)[-1]) for r in result} == {("repo", "api"), ("repo", "secret")}


def test_predicates_on_files_look_at_the_revision_searched(engine: LocalEngine) -> None:
    assert repositories_of(run(engine, "repo:api@v1 repo:has.path(go\\.mod) retry")) == set()
    assert repositories_of(run(engine, "repo:api@v1:main repo:has.path(go\\.mod) retry")) == {"api@main"}
    assert repositories_of(run(engine, "repo:api@v1 -repo:has.path(go\\.mod) retry")) == {"api@v1"}


def test_a_commit_after_a_date_is_one_reachable_from_the_revision(engine: LocalEngine) -> None:
    between = FIRST_DATE + 100 * 86_400 + 5
    assert repositories_of(run(engine, f"repo:has.commit.after({between}) retry type:file")) == {"web", "secret"}
    assert repositories_of(run(engine, f"-repo:has.commit.after({between}) retry type:file")) == {"api"}
    assert repositories_of(run(engine, f"repohascommitafter:{between} retry type:file")) == {"web", "secret"}
    assert repositories_of(run(engine, f"repo:web@v1 repo:has.commit.after({between}) retry")) == set()
    with pytest.raises(QueryError, match="invalid date format"):
        run(engine, "repo:has.commit.after(nonsense) retry")


def test_a_listed_context_searches_its_repositories_at_their_revisions(engine: LocalEngine) -> None:
    assert repositories_of(run(engine, "context:shop retry type:file")) == {"web", "api@v1"}
    assert repositories_of(run(engine, "context:shop repo:web retry type:file")) == {"web"}
    assert repositories_of(run(engine, "context:global retry type:file")) == {"api", "web", "secret"}
    assert repositories_of(run(engine, "context:shop")) == {"web", "api@v1"}


def test_a_context_by_query_is_put_in_its_place(engine: LocalEngine) -> None:
    result = rows(run(engine, "context:payments retry type:file"))
    assert {r["path"] for r in result} == {"main.go"}
    assert {r["repository"].rsplit("/", 1)[-1] for r in result} == {"api", "secret"}
    assert repositories_of(run(engine, "context:either retry type:file")) == {"api@v1", "web"}
    assert repositories_of(run(engine, "(context:payments or context:either) retry type:file")) == {
        "api",
        "secret",
        "api@v1",
        "web",
    }


def test_unknown_and_faulty_contexts_are_refused(engine: LocalEngine) -> None:
    for name in ("nowhere", "@ada", "@ada/shop"):
        with pytest.raises(QueryError, match="not found"):
            run(engine, f"context:{name} retry")
    with pytest.raises(QueryError, match="a pattern"):
        run(engine, "context:wrong retry")


def test_what_a_context_names_in_vain_is_said_to_the_owner(engine: LocalEngine) -> None:
    output = alert(run(engine, "context:typo retry type:file"))
    assert output is not None
    assert "example.org/team/webb" in output.description
    assert alert(run(engine, "context:typo retry type:file", viewer=Viewer.anonymous())) is None


def test_an_invisible_repository_leaves_no_trace_in_contexts_and_predicates(engine: LocalEngine) -> None:
    viewer = Viewer.anonymous()
    for query in (
        "context:mixed retry type:file",
        "repo:has.path(go\\.mod) retry type:file",
        "repo:has.topic(payments)",
        "visibility:private retry",
        "repo:.*@v9 retry",
    ):
        events = run(engine, query, viewer=viewer)
        assert "secret" not in str(events).replace(query, "")
    assert repositories_of(run(engine, "context:mixed retry type:file", viewer=viewer)) == {"web"}


def test_unknown_and_invisible_contexts_are_told_alike(engine: LocalEngine) -> None:
    """A context's name may tell what it is about: of one whose repositories are all invisible nothing is told."""
    viewer = Viewer.anonymous()

    def alert_text(name: str, query: str) -> str:
        with pytest.raises(QueryError) as error:
            run(engine, query.format(name), viewer=viewer)
        return f"{error.value} {error.value.hint}".replace(name, "NAME")

    for query in ("context:{} retry", "context:{} repo:web retry", "context:{} type:repo", "context:{}"):
        assert len({alert_text(name, query) for name in ("nowhere", "hidden", "vault")}) == 1
    assert repositories_of(run(engine, "context:vault retry type:file")) == {"secret"}
    granted = Viewer("ann", sees_private=False, granted=frozenset({"example.org/team/secret"}))
    assert repositories_of(run(engine, "context:hidden retry type:file", viewer=granted)) == {"secret"}
    assert repositories_of(run(engine, "context:vault retry type:file", viewer=granted)) == {"secret"}
    assert repositories_of(run(engine, "context:shop repo:nowhere retry type:file", viewer=viewer)) == set(), (
        "there, and empty"
    )


def test_facts_that_nobody_gave_are_named(tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "src" / "one").commit({"a.txt": "retry\n"})
    engine = open_engine([tmp_path / "src"], index=tmp_path / "index")
    for query, field in (
        ("has.topic(x)", "topics"),
        ("has.meta(x)", "metadata"),
        ("has.description(x)", "description"),
    ):
        output = alert(run(engine, f"repo:{query} retry"))
        assert output is not None
        assert output.title == f"No repository has {field}"


def test_an_empty_match_counts_for_names(engine: LocalEngine) -> None:
    assert repositories_of(run(engine, "repo:^ retry type:file")) == {"api", "web", "secret"}
    assert repositories_of(run(engine, "repo:^$ retry type:file")) == set()
