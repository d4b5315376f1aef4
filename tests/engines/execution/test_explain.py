"""What a query means is told: its tree, its filters, what the index saves, and what looks mistaken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engines.execution.running_queries import alert, final, run
from sourcelight.backends.embedded import open_engine
from sourcelight.core.errors import QueryError
from sourcelight.core.query import parse
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution import Explanation, LocalEngine
from sourcelight.engines.execution.advice.proposals import advise
from sourcelight.repos import Viewer
from sourcelight.testing.repositories import RepositoryBuilder

REPOS_TOML = """
[repositories."example.org/team/fork"]
fork = true
[repositories."example.org/team/secret"]
private = true
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repositories")
    for name in ("api", "web", "fork", "secret"):
        files = {f"src/part{n}.py": f"import part{n}\nvalue = {n}\n" * 400 for n in range(10)}
        files |= {"src/main.go": "package main\n\nfunc main() { handleError(err) }\n", "main_go.txt": "say hello\n"}
        RepositoryBuilder(root / name, origin=f"https://example.org/team/{name}.git").commit(files)
    (root / "repos.toml").write_text(REPOS_TOML)
    return root


def explained(
    engine: LocalEngine, query: str, pattern_type: str = "keyword", viewer: Viewer | None = None
) -> Explanation:
    return engine.explain(SearchRequest(query, pattern_type=pattern_type), viewer or Viewer.owner())


def kinds(query: str, pattern_type: str = "keyword") -> set[str]:
    return {advice.kind for advice in advise(parse(query, pattern_type))}


def test_filters_are_resolved(engine: LocalEngine) -> None:
    part = explained(engine, r"repo:team lang:go file:\.go$ -file:test handleError").alternatives[0]
    assert part.names == ("example.org/team/api", "example.org/team/secret", "example.org/team/web")
    assert (part.repositories, part.forks_left_out, part.archived_left_out) == (3, 1, 0)
    assert (part.files, part.passing) == (36, 3)
    assert {f.text: f.files for f in part.filters if f.files is not None} == {
        "lang:go": 3,
        r"file:\.go$": 3,
        "-file:test": 36,
    }


def test_only_visible_repositories_are_named(engine: LocalEngine) -> None:
    created = explained(engine, "repo:team handleError", viewer=Viewer.anonymous())
    assert "secret" not in str(created)
    assert created.alternatives[0].repositories == 2


def test_the_index_leaves_what_may_match(engine: LocalEngine) -> None:
    part = explained(engine, "repo:api handleError").alternatives[0]
    (pattern,) = part.patterns
    assert pattern.required == '"handleerror"'
    assert (pattern.kind, pattern.fields, pattern.evaluated) == ("literal", ("content", "path"), "line")
    assert 0 < pattern.candidate_units < pattern.units
    assert 0 < part.read_bytes < part.text_bytes
    everything = explained(engine, "repo:api /[a-z]+/").alternatives[0]
    assert everything.read_bytes == everything.text_bytes == part.text_bytes


def test_a_pattern_across_lines_is_evaluated_per_document(engine: LocalEngine) -> None:
    part = explained(engine, r"repo:api /main\n\nfunc/").alternatives[0]
    assert part.patterns[0].evaluated == "document"


def test_filters_narrow_what_is_read(engine: LocalEngine) -> None:
    everything = explained(engine, "repo:api value").alternatives[0]
    narrow = explained(engine, "repo:api file:part1 value").alternatives[0]
    assert 0 < narrow.read_bytes < everything.read_bytes


def test_every_alternative_is_explained(engine: LocalEngine) -> None:
    created = explained(engine, "(repo:api value) or (repo:web file:main)")
    assert [part.names for part in created.alternatives] == [("example.org/team/api",), ("example.org/team/web",)]
    assert created.alternatives[1].patterns == ()
    assert "Alternative 2 of 2" in str(created)


def test_an_explanation_is_plain_data(engine: LocalEngine) -> None:
    created = explained(engine, 'repo:api (hello or "good bye") count:5 timeout:3s select:file')
    data = json.loads(json.dumps(created.to_dict()))
    assert data["tree"]["op"] == "and"
    part = data["alternatives"][0]
    assert (part["limit"], part["timeout_s"], part["select"]) == (5, 3.0, "file")
    assert "OR" in created.tree_text
    assert str(created).startswith(created.query)


@pytest.mark.parametrize(
    ("query", "pattern_type", "source"),
    [
        ("x patternType:regexp", "keyword", "patternType: in the query"),
        ("x patternType:structural", "keyword", "requested beside the query"),
        ("x", "keyword", "requested beside the query"),
        ("x", "", "the default"),
        ("x", "standard", "the default"),
    ],
)
def test_the_choice_of_pattern_type_is_told(engine: LocalEngine, query: str, pattern_type: str, source: str) -> None:
    assert explained(engine, query, pattern_type).pattern_type_source == source


def test_a_filter_without_effect_is_an_alert_beside_the_results(engine: LocalEngine) -> None:
    for query, part in [
        ("-repo:web rev:nowhere handleError", "rev: applies to the repositories"),
        ("visibility:privat handleError", "visibility:privat is read as any; did you mean visibility:private?"),
        ("patternType:structural handleError", "use patternType:ast-grep"),
        ("type:File type:file handleError", "type:File isn't a kind of result"),
    ]:
        events = run(engine, query)
        reply = alert(events)
        assert final(events).match_count
        assert reply is not None
        assert (reply.title, reply.kind) == ("A filter has no effect", "warning")
        assert part.lower() in reply.description.lower()


@pytest.mark.parametrize(
    "query", ["(handleError or b", "patternType:keyword (handleError and repo:web", "b or (handleError"]
)
def test_a_group_that_is_never_closed_is_told(engine: LocalEngine, query: str) -> None:
    """With `or`, such a query matched nearly everything, and said nothing."""
    reply = alert(run(engine, query))
    assert reply is not None
    assert "`(handleError` is read as text: its parenthesis is never closed" in reply.description


@pytest.mark.parametrize("query", ["(handleError", "handleError( or b", "(handleError or b)", '"(handleError" or b'])
def test_other_parentheses_need_no_word(engine: LocalEngine, query: str) -> None:
    reply = alert(run(engine, query))
    assert reply is None or "never closed" not in reply.description


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("repo:( handleError", "`repo:` is followed by a parenthesis that is never closed, so it is ignored"),
        ("-file:a(b handleError", "only `a` is its value"),
        ("patternType:keyword (repo:web handleError", "`(repo:web` is read as text"),
    ],
)
def test_a_filter_that_an_unclosed_parenthesis_cuts_is_told(engine: LocalEngine, query: str, part: str) -> None:
    output = alert(run(engine, query))
    assert output is not None
    assert output.kind == "warning"
    assert part in output.description
    assert any(part in warning.message for warning in explained(engine, query).warnings)


@pytest.mark.parametrize(
    ("query", "pattern_type"),
    [("handleError(", "regexp"), ("handleError( patternType:regexp", "standard"), ("nowhere( type:file", "regexp")],
)
def test_a_parenthesis_of_an_expression_that_is_text_is_told(
    engine: LocalEngine, query: str, pattern_type: str
) -> None:
    output = alert(run(engine, query, pattern_type=pattern_type))
    name = query.partition("(")[0]
    part = rf"`{name}(` is read as `{name}\(`"
    assert output is not None
    assert output.kind == "info"
    assert part in output.description
    assert any(part in warning.message for warning in explained(engine, query, pattern_type).warnings)


@pytest.mark.parametrize(
    ("text", "regexp"), [(r"\\w", r"\w"), (r"handle\\b", r"handle\b"), (r"\\\\\\w|handleError", r"\\\w|handleError")]
)
def test_two_backslashes_between_slashes_are_told_to_be_one(engine: LocalEngine, text: str, regexp: str) -> None:
    output = alert(run(engine, f"/{text}/"))
    part = f"`/{text}/` is the regular expression `{regexp}`"
    assert output is not None
    assert part in output.description
    assert any(part in warning.message for warning in explained(engine, f"/{text}/").warnings)


@pytest.mark.parametrize(
    "query", [r"/\w/", r"/a\\\w|handleError/", r"/\\\\n|handleError/", r"handleError\\w patternType:regexp"]
)
def test_backslashes_that_are_read_as_written_are_not_told(engine: LocalEngine, query: str) -> None:
    assert not [warning for warning in explained(engine, query).warnings if warning.kind == "doubled-backslash"]


@pytest.mark.parametrize(
    ("query", "pattern_type"), [("handleError(", "standard"), (r"handleError\(", "regexp"), ("(handleError)", "regexp")]
)
def test_a_parenthesis_that_is_read_as_written_is_not_told(engine: LocalEngine, query: str, pattern_type: str) -> None:
    assert not [warning for warning in explained(engine, query, pattern_type).warnings if "is text" in warning.message]


def test_what_is_no_predicate_is_said_where_no_repository_is_found(engine: LocalEngine) -> None:
    output = alert(run(engine, "repo:has.paths(main.go) x"))
    assert output is not None
    assert "there is no predicate repo:has.paths(); did you mean repo:has.path()?" in output.description


def test_predicates_are_explained_in_words(engine: LocalEngine) -> None:
    part = explained(engine, "repo:has.path(go) file:has.owner() index:only x").alternatives[0]
    assert {f.text: f.meaning for f in part.filters} == {
        "repo:has.path(go)": "repositories with path: go",
        "file:has.owner()": "files with owner: anyone",
        "index:only": "whether revisions that are not indexed yet are searched too",
    }
    part = explained(engine, "repo:team rev:at.time(2024-01-01) -repo:has.content(x)").alternatives[0]
    assert [f.meaning for f in part.filters[1:]] == [
        "the newest commit before 2024-01-01 behind HEAD",
        "repositories without content: x",
    ]


def test_a_query_that_is_wrong_raises(engine: LocalEngine) -> None:
    with pytest.raises(QueryError):
        explained(engine, "/(/")


def test_no_repository_is_a_warning(engine: LocalEngine) -> None:
    assert "no-repositories" in {w.kind for w in explained(engine, "repo:nowhere x").warnings}


@pytest.mark.parametrize(
    ("query", "pattern_type", "kind"),
    [
        ("/x*/", "keyword", "empty"),
        ("/.*/", "keyword", "empty"),
        ("/[a-z]+/", "keyword", "unindexed"),
        ("lang:go lang:rust x", "keyword", "contradiction"),
        ("lang:go -lang:go x", "keyword", "contradiction"),
        ("repo:a -repo:a x", "keyword", "contradiction"),
        ("type:path content:x", "keyword", "contradiction"),
        ("type:nonsense x", "keyword", "contradiction"),
        ("foo or bar", "keyword", "operator"),
        ("not bar", "keyword", "operator"),
        ("foo or", "keyword", "operator-as-text"),
        ("(foo or bar", "standard", "unclosed-as-text"),
        ("foo AND (bar", "standard", "unclosed-as-text"),
        ('"foo bar"', "standard", "quotes"),
        ("foo bar", "standard", "keyword"),
        ("foo:bar", "keyword", "filter-as-text"),
        ("lnag:go x", "standard", "filter-as-text"),
        ("-foo", "keyword", "dash"),
        ("foo.*bar", "keyword", "regexp-as-text"),
        ("file:main.go x", "keyword", "dot"),
        ("/main.go/", "keyword", "dot"),
        ("file:src/*.go x", "keyword", "glob"),
        ("repo:has.topics(x) y", "keyword", "predicate-as-regexp"),
        ("-file:has.contributors(x) y", "keyword", "predicate-as-regexp"),
        ("author:@ann type:commit", "keyword", "account"),
        ("-repo:a rev:v1 x", "keyword", "no-effect"),
        ("repo:has.path(x) rev:v1 y", "keyword", "no-effect"),
        ("visibility:privat x", "keyword", "no-effect"),
        ("type:File type:path x", "keyword", "no-effect"),
        ("type:comit x", "keyword", "unknown-value"),
        ("type:repo file:x", "keyword", "contradiction"),
    ],
)
def test_mistakes_are_warned_of(query: str, pattern_type: str, kind: str) -> None:
    assert kind in kinds(query, pattern_type)


@pytest.mark.parametrize(
    ("query", "pattern_type"),
    [
        ("foo OR bar", "keyword"),
        (r"repo:^github\.com/a/b$ file:\.go$ foo", "keyword"),
        ('"foo or bar"', "keyword"),
        ("http://example.org", "keyword"),
        ("std::vector", "keyword"),
        ("foo", "standard"),
        ("a.b()", "keyword"),
        ("NOT foo bar", "keyword"),
        ("repo:a rev:v1 x", "keyword"),
        ("visibility:Public patternType:keyword type:file x", "keyword"),
        ("repo:contains.path(x) file:has.owner() y", "keyword"),
    ],
)
def test_plain_queries_are_left_alone(query: str, pattern_type: str) -> None:
    assert kinds(query, pattern_type) == set()


@pytest.mark.parametrize(
    ("query", "pattern_type", "proposed"),
    [
        ("handleerror case:yes", "keyword", ["handleerror"]),
        ('"say hello"', "standard", ['"say hello" patternType:keyword']),
        ("hello say", "standard", ["hello say patternType:keyword"]),
        ("handle.*err", "keyword", ["/handle.*err/"]),
        ("lnag:go handleError", "keyword", ["lang:go handleError"]),
        ("type:flie handleError", "keyword", ["type:file handleError"]),
        ("lang:go lang:python main", "keyword", ["(lang:Go or lang:Python) main"]),
    ],
)
def test_a_search_without_results_proposes_what_finds(
    engine: LocalEngine, query: str, pattern_type: str, proposed: list[str]
) -> None:
    for _ in range(20):  # a busy machine may not try a query out in time
        output = alert(run(engine, query, pattern_type=pattern_type))
        if output is not None and output.proposed_queries:
            break
    assert output is not None
    assert (output.title, output.kind) == ("No results", "info")
    assert [q.query for q in output.proposed_queries] == proposed
    for text in proposed:
        assert alert(run(engine, text, pattern_type=pattern_type)) is None


@pytest.mark.parametrize(
    ("query", "proposed"),
    [
        (r"/^using System;$/", r"/^\x{FEFF}?using System;\x0D?$/"),
        (r"/^using/", r"/^\x{FEFF}?using/"),
        (r"/(class A|enum B)$/ lang:c#", r"/(class A|enum B)\x0D?$/ lang:c#"),
        (r"patternType:regexp ^class.A$", r"patternType:regexp ^class.A\x0D?$"),
        (r"/A\$/", None),
        (r"/absent$/", None),
    ],
)
def test_expressions_for_files_of_windows_are_proposed(tmp_path: Path, query: str, proposed: str | None) -> None:
    files = {"a.cs": "\ufeffusing System;\r\nclass A\r\n"}
    RepositoryBuilder(tmp_path / "src" / "one").commit(files)
    engine = open_engine([tmp_path / "src"], index=tmp_path / "index")
    for _ in range(20):  # a busy machine may not try a query out in time
        output = alert(run(engine, query, pattern_type="standard"))
        if proposed is None or (output is not None and output.proposed_queries):
            break

    if proposed is None:
        assert output is None
    else:
        assert output is not None
        assert proposed in [proposal.query for proposal in output.proposed_queries]
        assert alert(run(engine, proposed, pattern_type="standard")) is None


@pytest.mark.parametrize("query", ["nowhere", "nowhere case:yes", "handleError"])
def test_nothing_is_said_where_nothing_helps(engine: LocalEngine, query: str) -> None:
    assert alert(run(engine, query, pattern_type="keyword")) is None


@pytest.mark.parametrize(
    ("query", "pattern_type", "proposed"),
    [
        ("file:foo.*bar foo.*bar", "keyword", "file:foo.*bar /foo.*bar/"),
        ("x.*y x.*y", "keyword", "/x.*y/ /x.*y/"),
        ("NOT a.*b x", "keyword", "NOT /a.*b/ x"),
        (r"a\/b.*c", "standard", r"/a\\\/b.*c/"),
        ("repo:lnag:go lnag:go x", "standard", "repo:lnag:go lang:go x"),
        ("file:lnag:go (lnag:go or y)", "keyword", "file:lnag:go (lang:go or y)"),
        ("function:parse x", "standard", "type:symbol parse x"),
        ("NOT ext:py x", "keyword", r"NOT file:\.py$ x"),
        ('lang:go lang:c "lang:go x"', "keyword", '(lang:C or lang:Go) "lang:go x"'),
        ("lang:go lang:c (x or y)", "keyword", "(lang:C or lang:Go) (x or y)"),
    ],
)
def test_a_proposed_query_differs_in_what_was_meant_alone(query: str, pattern_type: str, proposed: str) -> None:
    results = [
        advice.query for advice in advise(parse(query, pattern_type)) if advice.query and advice.kind != "keyword"
    ]
    assert results == [proposed]
    assert parse(proposed, pattern_type).pattern_type == pattern_type
