"""One contract for both backends: the rows are git grep's, and the two can't be told apart."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from contract.oracles import Atom, Both, Case, Either, Found, Without, expected, ripgrep
from equal_frames import assert_frame_equal
from sourcelight.core.wire.events import Progress

CASES = [
    Case("retry", Atom("retry")),
    Case("crc16", Atom("crc16")),
    Case("CRC16 case:yes", Atom("CRC16"), case_sensitive=True),
    Case("decodeframe", Atom("decodeframe")),
    Case("DecodeFrame case:yes", Atom("DecodeFrame"), case_sensitive=True),
    Case("TODO", Atom("TODO")),
    Case("FIXME case:yes", Atom("FIXME"), case_sensitive=True),
    Case("e", Atom("e")),
    Case("func (s *Server)", Atom("func (s *Server)")),
    Case("return f, ErrShort", Atom("return f, ErrShort")),
    Case("0x1021", Atom("0x1021")),
    Case("->count", Atom("->count")),
    Case("🌊", Atom("🌊")),
    Case("検潮", Atom("検潮")),
    Case("no such text anywhere", Atom("no such text anywhere")),
    Case("board.min", Atom("board.min")),
    Case(r"/func \w+\(/", Atom(r"func \w+\(", regexp=True)),
    Case(r"/^import /", Atom(r"^import ", regexp=True)),
    Case(r"/;$/", Atom(r";$", regexp=True)),
    Case(r"/err(or)?s?\b/", Atom(r"err(or)?s?\b", regexp=True)),
    Case(r"/(TODO|FIXME|XXX):/ case:yes", Atom(r"(TODO|FIXME|XXX):", regexp=True), case_sensitive=True),
    Case(r"/[0-9]{4}-[0-9]{2}-[0-9]{2}/", Atom(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", regexp=True)),
    Case(r"/0x[0-9A-Fa-f]{4}\b/", Atom(r"0x[0-9A-Fa-f]{4}\b", regexp=True)),
    Case(r"/\t\tif/", Atom(r"\t\tif", regexp=True)),
    Case(r"/a.{20,40}z/", Atom(r"a.{20,40}z", regexp=True)),
    Case("retry OR backoff", Either((Atom("retry"), Atom("backoff")))),
    Case("retry AND jitter", Both((Atom("retry"), Atom("jitter")))),
    Case("crc16 AND NOT table", Both((Atom("crc16"), Without(Atom("table"))))),
    Case("(surge OR residual) AND alarm", Both((Either((Atom("surge"), Atom("residual"))), Atom("alarm")))),
    Case("suspect lang:python", Atom("suspect"), files=(r"\.py$",)),
    Case("Frame lang:go", Atom("Frame"), files=(r"\.go$",)),
    Case("error file:^src/", Atom("error"), files=(r"^src/",)),
    Case("test -file:test", Atom("test"), without_files=("test",)),
    Case("level -file:README -lang:go", Atom("level"), without_files=("README", r"\.go$")),
    Case("station repo:hub", Atom("station"), repositories="hub"),
    Case("fetch_levels repo:pytide|handbook", Atom("fetch_levels"), repositories="pytide|handbook"),
    Case("checksum repo:gauge file:\\.c$", Atom("checksum"), repositories="gauge", files=(r"\.c$",)),
    Case("retry delay", Both((Atom("retry"), Atom("delay"))), pattern_type="keyword"),
    Case("fra.es?_package", Atom("fra.es?_package", regexp=True), pattern_type="regexp"),
    Case("/not a regexp/", Atom("/not a regexp/"), pattern_type="literal"),
]
BY_QUERY = {case.query: case for case in CASES}
PLAIN = {
    case.query: case.tree
    for case in CASES
    if isinstance(case.tree, Atom)
    and (case.pattern_type, case.repositories, case.files, case.without_files) == ("standard", "", (), ())
}
LITERALS = {case.query: case.tree.text for case in CASES if isinstance(case.tree, Atom) and not case.tree.regexp}


# What events of the protocol say about the repository of a match; the rest is known to engines alone.
SENT = ["repository", "repository_id", "matches", "stars", "last_fetched"]


def lossy(path: bytes) -> str:
    return path.decode(errors="replace")


def found_by(result: sl.SearchResult) -> Found:
    rows = result.matches
    lines, names = rows[rows["type"] == "content"], rows[rows["type"] == "path"]
    return Found(
        {
            (row.repository, row.path.encode(), int(row.line_number))
            for row in lines[["repository", "path", "line_number"]].itertuples()
        },
        {(row.repository, row.path.encode()) for row in names[["repository", "path"]].itertuples()},
    )


def test_there_are_thirty_varied_queries() -> None:
    assert len(BY_QUERY) == len(CASES) >= 30


@pytest.mark.parametrize("query", BY_QUERY)
def test_rows_are_those_of_git_grep(code: sl.Client, fleet: Path, query: str) -> None:
    """Repository, path and line of every row, and the files that match by name alone."""
    case = BY_QUERY[query]
    result = code.search(f"{query} count:all", pattern_type=case.pattern_type)
    actual, oracle = found_by(result), expected(fleet, case)
    assert actual.lines == {(name, lossy(path).encode(), number) for name, path, number in oracle.lines}
    assert actual.names == {(name, lossy(path).encode()) for name, path in oracle.names}
    assert result.status == "complete"


@pytest.mark.ripgrep
@pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")
@pytest.mark.parametrize("query", PLAIN)
def test_lines_are_those_of_ripgrep(code: sl.Client, fleet: Path, query: str) -> None:
    """In the work trees; the handbook is bare, which ripgrep can't read."""
    case = BY_QUERY[query]
    results = {row for row in found_by(code.search(f"{query} count:all")).lines if not row[0].endswith("/handbook")}
    assert results == ripgrep(fleet, PLAIN[query], case_sensitive=case.case_sensitive)


@pytest.mark.parametrize("query", LITERALS)
def test_spans_lie_on_the_match(code: sl.Client, query: str) -> None:
    spans = code.search(f"{query} count:all", pattern_type=BY_QUERY[query].pattern_type).spans()
    assert {text.casefold() for text in spans["match"]} <= {LITERALS[query].casefold()}


@pytest.mark.parametrize(
    ("query", "options"),
    [
        *((case.query, {"pattern_type": case.pattern_type}) for case in CASES),
        ("retry", {"context_lines": 3}),
        ("decodeFrame", {"context_lines": 0}),
        ("retry type:path", {}),
        ("hub type:repo", {}),
        ("repo:tidewatch", {}),
        ("file:\\.md$", {}),
        ("retry fork:yes", {}),
        ("crc16 archived:only", {}),
        ("crc repo:^example\\.org/sol/hub$", {}),
        ("repo:nowhere retry", {}),
        ("lang:go", {}),
        ("Straße", {}),
        ("pegel-stra", {}),
        # Matches that go over the ends of lines, or begin there.
        (r"type:file /\s+$/", {}),
        (r"type:file /\)\s*\{\s*return/", {}),
        (r"type:file /(?s)retry.{1,80}retry/", {}),
        (r"type:file /[^a-z]return/ or crc16", {}),
        (r"type:file /\}\n\n/", {}),
    ],
    ids=str,
)
def test_both_backends_give_the_same_tables(
    embedded: sl.Client, other: sl.Client, query: str, options: dict[str, Any]
) -> None:
    """Every column of matches, the status with its reasons, and what was skipped, filtered and said."""
    local, remote = (client.search(f"{query} count:all", **options) for client in (embedded, other))
    assert_frame_equal(local.matches, remote.matches, check_categorical=False)
    assert (local.status, local.reasons, local.match_count) == (remote.status, remote.reasons, remote.match_count)
    assert_frame_equal(local.repositories[SENT], remote.repositories[SENT])
    for table in ("skipped", "filters", "alerts"):
        assert_frame_equal(getattr(local, table), getattr(remote, table))


def test_long_lines_of_chunks_are_cut_alike(embedded: sl.Client, other: sl.Client) -> None:
    """A service cuts what it sends, so `line` itself is whole only where nothing is sent."""
    local, remote = (
        client.search("decodeFrame count:all", context_lines=1, max_line_bytes=200).matches
        for client in (embedded, other)
    )
    assert local["truncated"].any()
    same = ["type", "repository", "path", "line_number", "match_count", "chunk", "truncated"]
    assert_frame_equal(local[same], remote[same])


@pytest.mark.parametrize("by", ["repository", ["repository", "language"], "path", None], ids=str)
def test_counts_are_the_sums_of_the_rows(code: sl.Client, by: Any) -> None:
    rows = code.search("level count:all").matches
    if by is None:
        assert code.count("level") == rows["match_count"].sum()
        return
    counts = code.count_by("level", by)
    summed = rows.groupby(by, observed=True, dropna=False)["match_count"].sum()
    assert summed.sort_index().to_dict() == counts.set_index(by)["matches"].sort_index().to_dict()


@pytest.mark.parametrize(
    "query",
    [
        "",
        "/(/",
        "/a(?=b)/",
        "a (b or c)",
        "not (a or b)",
        "a not -file:x",
        "-file:[ x",
        "lang:klingon x",
        "count:0 x",
        "case:perhaps x",
        "repo:a@b rev:c x",
        "context:nowhere x",
        "repo:has.commit.after(nonsense) x",
        "author:ada x",
    ],
)
def test_a_fault_in_the_query_is_the_same_error(embedded: sl.Client, other: sl.Client, query: str) -> None:
    errors = []
    for client in (embedded, other):
        with pytest.raises(sl.QueryError) as caught:
            client.search(query)
        errors.append(caught.value)
    # An alert's description starts with a capital letter.
    local, remote = map(str, errors)
    assert (local[:1].lower(), local[1:]) == (remote[:1].lower(), remote[1:])


@pytest.mark.parametrize(
    ("query", "advice"),
    [
        ("lang:pyhton x", "lang:Python"),
        ("file:*.go x", r"type \.py$"),
        ("/foo(/", "backslash"),
        ("type:diff x before:2020", "write 2020-01-01 for the start of 2020"),
    ],
)
def test_a_fault_in_the_query_has_the_same_advice(
    embedded: sl.Client, other: sl.Client, query: str, advice: str
) -> None:
    for client in (embedded, other):
        with pytest.raises(sl.QueryError) as caught:
            client.search(query)
        assert advice in caught.value.hint


def test_a_limit_is_told_alike(embedded: sl.Client, other: sl.Client) -> None:
    local, remote = (client.search("e count:25") for client in (embedded, other))
    assert local.status == remote.status == "partial"
    assert local.reasons == remote.reasons
    assert local.match_count == remote.match_count == 25


def test_display_limits_rows_and_not_the_count(embedded: sl.Client, other: sl.Client) -> None:
    local, remote = (client.search("level count:all", limit=10) for client in (embedded, other))
    assert local.matches["match_count"].sum() == remote.matches["match_count"].sum() == 10
    assert local.status == remote.status
    assert local.progress["match_count"].iloc[-1] == remote.progress["match_count"].iloc[-1] > 10


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_limit_keeps_all_lines_of_a_match(embedded: sl.Client, other: sl.Client, limit: int) -> None:
    query = f'repo:pytide file:client.py$ /:\\n +"""/ count:{limit}'
    local, remote = (client.search(query).matches for client in (embedded, other))
    assert local["line"].str.contains('"""').sum() == local["match_count"].sum() == limit
    columns = ["path", "line_number", "line", "start", "end", "match_count"]
    assert local[columns].to_numpy().tolist() == remote[columns].to_numpy().tolist()


@pytest.mark.parametrize("query", ["retry", "type:commit retry", "type:diff retry"])
def test_filters_narrow_to_what_they_count(code: sl.Client, query: str) -> None:
    filters = code.search(f"{query} count:all").filters
    by_kind = {kind: dict(zip(rows["value"], rows["count"], strict=True)) for kind, rows in filters.groupby("kind")}
    if query == "retry":
        assert by_kind["type"].keys() >= {"type:file", "type:path"}
        narrowing = by_kind["type"]
    else:
        narrowing = by_kind["author"]
        assert all(value.startswith("author:^") and "@" in value for value in narrowing)
        # The label is the name.
        assert not filters.loc[filters["kind"] == "author", "label"].str.contains("@").any()
    # Two services of the federation have one repository both, and count it twice.
    exhaustive = set(filters.loc[filters["exhaustive"], "value"])
    for value, count in narrowing.items():
        rows = code.search(f"{query} {value} count:all").matches
        matches = rows.drop_duplicates(["repository", "commit"]) if query != "retry" else rows
        total = len(matches) if query != "retry" else int(rows["match_count"].sum())
        assert total == count if value in exhaustive else 0 < total <= count


def test_authors_are_found_by_address_and_by_name(code: sl.Client) -> None:
    by_name = code.search("type:commit author:aiko count:all").matches
    (address,) = code.search("type:commit author:aiko count:all").filters.query("kind == 'author'")["value"]
    by_address = code.search(f"type:commit {address} count:all").matches
    assert len(by_name) > 3
    assert_frame_equal(by_address, by_name)


@pytest.mark.parametrize("backend", ["embedded", "clustered", "federated"])
def test_what_is_left_out_is_reported_while_a_search_goes_on(
    backend: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    code: sl.Client = request.getfixturevalue(backend)
    monkeypatch.setattr("sourcelight.engines.execution.run.PROGRESS_EVERY_S", 0.0)
    monkeypatch.setattr("sourcelight.client.federation.stream_merge.PROGRESS_EVERY_S", 0.0)
    progress = [event for event in code.stream("e count:all", limit=3) if isinstance(event, Progress)]
    reported = [{item.reason for item in event.skipped} for event in progress if not event.done and event.match_count]
    assert {"repository-fork", "excluded-archive"} <= set.union(*reported)
    assert "display" in reported[-1]
    (last,) = (event for event in progress if event.done)
    assert {"repository-fork", "excluded-archive", "display"} <= {item.reason for item in last.skipped}


def test_leaving_a_stream_leaves_the_client_usable(code: sl.Client) -> None:
    for event in code.stream("e count:all"):
        assert event is not None
        break
    assert code.search("TODO").status == "complete"


def test_forks_and_archived_are_left_out_and_counted(code: sl.Client) -> None:
    result = code.search("crc16 count:all")
    assert not set(result.matches["repository"]) & {"example.org/sol/hub", "example.org/tidewatch/collector"}
    assert {"repository-fork", "excluded-archive"} <= set(result.skipped["reason"])


def test_repositories_are_the_same_on_both(embedded: sl.Client, other: sl.Client) -> None:
    assert set(embedded.list_repos()["repository"]) >= set(other.list_repos()["repository"])
